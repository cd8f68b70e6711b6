import numpy as np
import onnx
import onnxruntime
import pytest

from uncone.errors import ExportError
from uncone.exports import onnx as onnx_graph
from uncone.exports.export import export


def run(path, **inputs):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options).run(None, inputs)[0]


def test_onnxruntime_gives_what_transform_gives(any_kind, rows, tmp_path, close):
    out = tmp_path / "repair.onnx"
    export(any_kind, "onnx", out)
    expected = any_kind.transform(rows.astype(np.float64))
    close(run(out, vectors=rows.astype(np.float32)), expected)
    close(run(out, vectors=rows[:1].astype(np.float32)), expected[:1])
    graph = onnx.load(out)
    assert graph.ir_version == 8 and [opset.version for opset in graph.opset_import] == [17]


def test_memory_does_not_grow_with_the_directions(fitted):
    """No node makes a direction for every row: the widest has k x p numbers a row."""
    graph = onnx.shape_inference.infer_shapes(onnx_graph.repair_graph(fitted("clustered")))
    for info in graph.graph.value_info:
        assert len(info.type.tensor_type.shape.dim) <= 2


def test_a_row_of_zeros_stays_one(fitted, tmp_path):
    export(fitted("normalize"), "onnx", tmp_path / "repair.onnx")
    assert not run(tmp_path / "repair.onnx", vectors=np.zeros((2, 24), np.float32)).any()


def test_a_graph_that_is_wrong_is_not_kept(fitted, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_graph, "_affine", lambda graph, step: graph.add("Neg", graph.last))
    with pytest.raises(ExportError, match="differs from the repair"):
        export(fitted("whiten"), "onnx", tmp_path / "repair.onnx")
    assert not list(tmp_path.iterdir())


def test_a_stranger_is_not_replaced(fitted, tmp_path):
    out = tmp_path / "repair.onnx"
    export(fitted("center"), "onnx", out)
    export(fitted("whiten"), "onnx", out)
    out.write_bytes(b"precious")
    with pytest.raises(ExportError, match="stays"):
        export(fitted("whiten"), "onnx", out)
    assert out.read_bytes() == b"precious"
