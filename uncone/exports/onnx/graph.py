"""Repairs as ONNX graphs, built by hand: each step adds its nodes behind those of the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from uncone.extras import require

require("onnx", extra="onnx")

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from uncone._version import __version__  # noqa: E402
from uncone.errors import ExportError  # noqa: E402
from uncone.exports.affine_form import primitive_steps  # noqa: E402
from uncone.repairs.affine.affine import Affine  # noqa: E402
from uncone.repairs.repair import Repair  # noqa: E402

__all__ = ["IR_VERSION", "OPSET", "PRODUCER", "Graph", "add_normalize", "centred", "repair_graph"]

OPSET = 17
IR_VERSION = 8
"""What onnxruntime takes; the defaults of the onnx package are newer than that."""
PRODUCER = "uncone"


class Graph:
    """Nodes and constants of a graph in the making; `last` is the name of what came out of the last node."""

    def __init__(self, first: str, prefix: str) -> None:
        self.last = first
        self.prefix = prefix
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, values: Any) -> str:  # noqa: ANN401 - whatever numpy makes an array of
        """A constant by its name: floats become float32, and integers stay int64."""
        array = np.asarray(values)
        array = np.ascontiguousarray(array, np.float32 if array.dtype.kind == "f" else array.dtype)
        name = f"{self.prefix}constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:  # noqa: ANN401 - as the operator wants them
        """A node; what comes out of it by its name, which is also `last` from now on."""
        name = f"{self.prefix}{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        self.last = name
        return name

    def model(self, first: str, last: str, d: int, m: int) -> onnx.ModelProto:
        """The finished model, of rows (batch, d) to rows (batch, m), checked."""
        return self.model_of([helper.make_tensor_value_info(first, TensorProto.FLOAT, ["batch", d])], last, m)

    def model_of(self, inputs: Sequence[onnx.ValueInfoProto], last: str, m: int) -> onnx.ModelProto:
        """The same of any inputs."""
        self.nodes.append(helper.make_node("Identity", [self.last], [last], name=f"{self.prefix}out"))
        outputs = [helper.make_tensor_value_info(last, TensorProto.FLOAT, ["batch", m])]
        model = helper.make_model(
            helper.make_graph(self.nodes, "repair", inputs, outputs, self.constants),
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name=PRODUCER,
            producer_version=__version__,
        )
        onnx.checker.check_model(model, full_check=True)
        return model


def repair_graph(repair: Repair, first: str = "vectors", last: str = "repaired", prefix: str = "") -> onnx.ModelProto:
    """The graph of a repair, of any kind: rows (batch, d) to rows (batch, m), float32.

    Raises:
        ExportError: a kind that has no graph.
    """
    graph = Graph(first, prefix)
    width = d = int(repair.n_features_in_)
    for step in primitive_steps(repair):
        width = _add(graph, step, width)
    return graph.model(first, last, d, width)


def _add(graph: Graph, step: Repair, d: int) -> int:
    """Add the nodes of one step to rows of width d; the width of its rows."""
    if isinstance(step, Affine):
        _affine(graph, step)
        return int(step.matrix_.shape[1])
    if step.kind == "normalize":
        add_normalize(graph)
        return d
    if step.kind == "clustered":
        from uncone.exports.onnx.clustered import add_clustered

        add_clustered(graph, step)
        return d
    if step.kind == "flow":
        from uncone.exports.onnx.flow import add_flow

        add_flow(graph, step)
        return d
    raise ExportError(f"There is no ONNX graph for a repair of kind {step.kind!r}. Try --to numpy, or uncone apply.")


def centred(graph: Graph, rows: str, mean: NDArray[Any]) -> str:
    """The rows without their mean, which is subtracted in two parts: float32 alone would cut it."""
    high = np.asarray(mean, np.float32)
    low = np.asarray(mean, np.float64) - high
    found = graph.add("Sub", rows, graph.constant(high))
    return graph.add("Sub", found, graph.constant(low)) if low.any() else found


def _affine(graph: Graph, step: Affine) -> None:
    """(x - mean) @ matrix + offset, in this order: centred, float32 keeps its digits."""
    rows = centred(graph, graph.last, step.mean_) if step.mean_.any() else graph.last
    if step.matrix_.shape[0] != step.matrix_.shape[1] or not np.array_equal(step.matrix_, np.eye(len(step.matrix_))):
        rows = graph.add("MatMul", rows, graph.constant(step.matrix_))
    if step.offset_.any():
        graph.add("Add", rows, graph.constant(step.offset_))


def add_normalize(graph: Graph) -> None:
    """X / |x|; a row of zeros stays one."""
    rows = graph.last
    lengths = graph.add("ReduceL2", rows, axes=[1], keepdims=1)
    empty = graph.add("Equal", lengths, graph.constant(0.0))
    graph.add("Div", rows, graph.add("Where", empty, graph.constant(1.0), lengths))
