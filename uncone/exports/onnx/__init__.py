"""Repairs as ONNX graphs, alone or behind their encoder: each step appends its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uncone.errors import require

require("onnx", "onnxruntime", extra="onnx")

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from uncone import __version__  # noqa: E402
from uncone.errors import ExportError  # noqa: E402
from uncone.exports.affine_form import check, primitive_steps  # noqa: E402
from uncone.exports.export import temporary_output  # noqa: E402
from uncone.exports.vector_spec import VectorSpec  # noqa: E402
from uncone.repairs.affine import Affine  # noqa: E402
from uncone.repairs.clustered import Clustered  # noqa: E402
from uncone.repairs.repair import Repair  # noqa: E402

if TYPE_CHECKING:
    from uncone.repairs.flow import Flow, Step


OPSET = 17
IR_VERSION = 8
"""What onnxruntime takes; the defaults of the onnx package are newer than that."""
PRODUCER = "uncone"
_LARGEST = 2_000_000_000  # bytes of one protobuf
_END = np.iinfo(np.int64).max


class Graph:
    """Nodes and constants of a graph under construction; `last` is the name of the last output."""

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
        """Add a node, and return the name of its output, which becomes `last`."""
        name = f"{self.prefix}{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        self.last = name
        return name

    def model(self, first: str, last: str, d: int, m: int) -> onnx.ModelProto:
        """The finished model, of rows (batch, d) to rows (batch, m), checked."""
        return self.model_of([helper.make_tensor_value_info(first, TensorProto.FLOAT, ["batch", d])], last, m)

    def model_of(self, inputs: Sequence[onnx.ValueInfoProto], last: str, m: int) -> onnx.ModelProto:
        """The model with the given inputs."""
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
    elif step.kind == "clustered":
        _clustered(graph, step)
    elif step.kind == "flow":
        _flow(graph, step)
    else:
        raise ExportError(
            f"There is no ONNX graph for a repair of kind {step.kind!r}. Try --to numpy, or uncone apply."
        )
    return d


def centered(graph: Graph, rows: str, mean: NDArray[Any]) -> str:
    """The rows without their mean, subtracted in two parts because float32 alone would lose digits."""
    high = np.asarray(mean, np.float32)
    low = np.asarray(mean, np.float64) - high
    rows = graph.add("Sub", rows, graph.constant(high))
    return graph.add("Sub", rows, graph.constant(low)) if low.any() else rows


def _affine(graph: Graph, step: Affine) -> None:
    """(x - mean) @ matrix + offset, in this order: centered, float32 keeps its digits."""
    rows = centered(graph, graph.last, step.mean_) if step.mean_.any() else graph.last
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


def _clustered(graph: Graph, step: Clustered) -> None:
    """Add the nodes of a fitted repair.

    The rows are centered before they are compared with the centroids, or float32 has no digits left for it. Directions
    are not gathered for every row, p x d numbers each: all of them are multiplied, and those of other clusters masked,
    which takes k x p numbers a row.
    """
    rows = graph.last
    labels = _labels(graph, rows, step)
    high = step.means_.astype(np.float32)
    fixed = graph.add("Sub", rows, graph.add("Gather", graph.constant(high), labels, axis=0))
    fixed = graph.add("Sub", fixed, graph.add("Gather", graph.constant(step.means_ - high), labels, axis=0))
    places = [(cluster, i) for cluster, count in enumerate(step.counts_.tolist()) for i in range(count)]
    if not places:
        return
    directions = np.stack([step.directions_[owner] for owner in places])
    owners = graph.constant(np.array([[cluster for cluster, _ in places]], np.int64))
    column = graph.add("Unsqueeze", labels, graph.constant(np.array([1])))
    own = graph.add("Cast", graph.add("Equal", owners, column), to=TensorProto.FLOAT)
    parts = graph.add("Mul", graph.add("MatMul", fixed, graph.constant(directions.T)), own)
    graph.add("Sub", fixed, graph.add("MatMul", parts, graph.constant(directions)))


def _labels(graph: Graph, rows: str, step: Clustered) -> str:
    """The cluster of each row (n,): the largest of z.linear + z².quadratic + bias."""
    cells = step.cells_
    z = graph.add("Mul", centered(graph, rows, cells.center), graph.constant(1.0 / cells.scale))
    score = graph.add("MatMul", z, graph.constant(cells.linear.T))
    score = graph.add("Add", score, graph.constant(cells.bias))
    if cells.quadratic is not None:
        squares = graph.add("Mul", z, z)
        score = graph.add("Add", score, graph.add("MatMul", squares, graph.constant(cells.quadratic.T)))
    return graph.add("ArgMax", score, axis=1, keepdims=0)


def _flow(graph: Graph, flow: Flow) -> None:
    """Add the nodes of a trained flow, in the order of its network."""
    network = flow.network()
    rows = graph.add("Mul", centered(graph, graph.last, flow.center_), graph.constant(1.0 / flow.scale_))
    outputs: list[str] = []
    for steps, width, after in zip(network.steps, network.widths, [*network.widths[1:], network.dim], strict=True):
        for step in steps:  # type: ignore[attr-defined]
            rows = _step(graph, rows, step)
        if after < network.dim:
            outputs.append(_columns(graph, rows, 0, width - after))
            rows = _columns(graph, rows, width - after, _END)
    graph.last = rows
    if outputs:
        graph.add("Concat", *outputs, rows, axis=1)


def _step(graph: Graph, rows: str, step: Step) -> str:
    """Actnorm, reversal, additive coupling."""
    scale = np.exp(step.log_scale.double().numpy())
    rows = graph.add("Add", rows, graph.constant(step.shift.numpy()))
    rows = graph.add("Mul", rows, graph.constant(scale))
    ends = (graph.constant(np.array([value])) for value in (-1, -_END, 1, -1))
    rows = graph.add("Slice", rows, *ends)
    weights = [layer.numpy() for layer in step.layers]
    if not weights:
        return rows
    front, back = _columns(graph, rows, 0, step.front), _columns(graph, rows, step.front, _END)
    moved = front
    for i in range(0, len(weights), 2):
        moved = graph.add("MatMul", moved, graph.constant(weights[i].T))
        moved = graph.add("Add", moved, graph.constant(weights[i + 1]))
        if i + 2 < len(weights):
            moved = graph.add("Relu", moved)
    return graph.add("Concat", front, graph.add("Add", back, moved), axis=1)


def _columns(graph: Graph, rows: str, start: int, stop: int) -> str:
    return graph.add("Slice", rows, *(graph.constant(np.array([value])) for value in (start, stop, 1)))


def session(graph: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """A graph that can be run, on one thread and without chatter.

    Raises:
        ExportError: onnxruntime refuses it.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    try:
        return onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no common class
        reason = " ".join(str(error).split())[:160]
        raise ExportError(f"onnxruntime does not take the graph ({reason}). Is it older than 1.15?") from error


def check_repair(graph: onnx.ModelProto, repair: Repair) -> float:
    """Run a graph on rows like the data: the largest difference, as a share of the largest value."""
    running = session(graph)
    return check(repair, lambda rows: np.asarray(running.run(None, {"vectors": rows})[0]), "The ONNX graph")


def export_onnx(repair: Repair, out: Path, *, model: Path | None = None, spec: VectorSpec | None = None) -> list[str]:
    """Write a graph with a free batch size; the notes for the user.

    Without a model it takes `vectors` (batch, d), float32, and gives `repaired` (batch, m). With one it takes
    `input_ids` and `attention_mask` (batch, sequence) and gives the same. It is run before it is kept.

    Raises:
        ExportError: it does not give what `transform` gives, to 1e-5 of the largest value (1e-4 with the model).
    """
    graph = repair_graph(repair, prefix="repair_")
    error = check_repair(graph, repair)
    notes = [f"Checked in onnxruntime: the largest difference to the repair is {error:.1e} of the largest value."]
    if model is not None:
        from uncone.exports.onnx.encoder import behind_encoder

        graph, more = behind_encoder(graph, repair, model, spec or VectorSpec())
        notes += more
    if graph.ByteSize() > _LARGEST:
        raise ExportError("The graph is larger than the 2 GB that one ONNX file may have. Export the repair alone.")
    with temporary_output(out, folder=False, ours=_ours) as file:
        onnx.save(graph, str(file))
    return notes


def _ours(path: Path) -> bool:
    try:
        return bool(onnx.load(str(path), load_external_data=False).producer_name == PRODUCER)
    except Exception:  # protobuf's errors have no common class; whatever it is, we did not write it
        return False
