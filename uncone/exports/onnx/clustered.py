"""The cluster-based repair as ONNX nodes: scores, argmax, and the means and directions of each row's own cluster."""

from __future__ import annotations

from uncone.extras import require

require("onnx", extra="onnx")

import numpy as np  # noqa: E402
from onnx import TensorProto  # noqa: E402

from uncone.exports.onnx.graph import Graph, centred  # noqa: E402
from uncone.repairs.clustered import Clustered  # noqa: E402

__all__ = ["add_clustered"]


def add_clustered(graph: Graph, step: Clustered) -> None:
    """Add the nodes of a fitted repair.

    The rows are centred before they are compared with the centroids, or float32 has no digits left for it. Directions
    are not gathered for every row, p x d numbers each: all of them are multiplied, and those of other clusters masked,
    which takes k x p numbers a row.
    """
    rows = graph.last
    labels = _labels(graph, rows, step)
    high = step.means_.astype(np.float32)
    fixed = graph.add("Sub", rows, graph.add("Gather", graph.constant(high), labels, axis=0))
    fixed = graph.add("Sub", fixed, graph.add("Gather", graph.constant(step.means_ - high), labels, axis=0))
    held = [(cluster, i) for cluster, count in enumerate(step.counts_.tolist()) for i in range(count)]
    if not held:
        return
    directions = np.stack([step.directions_[one] for one in held])
    owners = graph.constant(np.array([[cluster for cluster, _ in held]], np.int64))
    column = graph.add("Unsqueeze", labels, graph.constant(np.array([1])))
    own = graph.add("Cast", graph.add("Equal", owners, column), to=TensorProto.FLOAT)
    parts = graph.add("Mul", graph.add("MatMul", fixed, graph.constant(directions.T)), own)
    graph.add("Sub", fixed, graph.add("MatMul", parts, graph.constant(directions)))


def _labels(graph: Graph, rows: str, step: Clustered) -> str:
    """The cluster of each row (n,): the largest of z.linear + z².quadratic + bias."""
    cells = step.cells_
    z = graph.add("Mul", centred(graph, rows, cells.centre), graph.constant(1.0 / cells.scale))
    score = graph.add("MatMul", z, graph.constant(cells.linear.T))
    score = graph.add("Add", score, graph.constant(cells.bias))
    if cells.quadratic is not None:
        squares = graph.add("Mul", z, z)
        score = graph.add("Add", score, graph.add("MatMul", squares, graph.constant(cells.quadratic.T)))
    return graph.add("ArgMax", score, axis=1, keepdims=0)
