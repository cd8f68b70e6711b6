"""The flow as ONNX nodes: actnorm and reversal by arithmetic, each coupling by three small layers."""

from __future__ import annotations

from uncone.extras import require

require("onnx", extra="onnx")

import numpy as np  # noqa: E402

from uncone.exports.onnx.graph import Graph, centred  # noqa: E402
from uncone.repairs.flow.flow import Flow  # noqa: E402
from uncone.repairs.flow.glow import Step  # noqa: E402

__all__ = ["add_flow"]

_END = np.iinfo(np.int64).max


def add_flow(graph: Graph, flow: Flow) -> None:
    """Add the nodes of a trained flow, as its network goes through them."""
    network = flow.network()
    rows = graph.add("Mul", centred(graph, graph.last, flow.centre_), graph.constant(1.0 / flow.scale_))
    done: list[str] = []
    for steps, width, after in zip(network.steps, network.widths, [*network.widths[1:], network.dim], strict=True):
        for step in steps:  # type: ignore[attr-defined]
            rows = _step(graph, rows, step)
        if after < network.dim:
            done.append(_columns(graph, rows, 0, width - after))
            rows = _columns(graph, rows, width - after, _END)
    graph.last = rows
    if done:
        graph.add("Concat", *done, rows, axis=1)


def _step(graph: Graph, rows: str, step: Step) -> str:
    """Actnorm, reversal, additive coupling."""
    scale = np.exp(step.log_scale.double().numpy())
    rows = graph.add("Add", rows, graph.constant(step.shift.numpy()))
    rows = graph.add("Mul", rows, graph.constant(scale))
    ends = (graph.constant(np.array([one])) for one in (-1, -_END, 1, -1))
    rows = graph.add("Slice", rows, *ends)
    weights = [one.numpy() for one in step.layers]
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
    return graph.add("Slice", rows, *(graph.constant(np.array([one])) for one in (start, stop, 1)))
