"""Running a graph once before it is kept: what it gives has to be what the repair gives."""

from __future__ import annotations

from uncone.extras import require

require("onnx", "onnxruntime", extra="onnx")

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402

from uncone.errors import ExportError  # noqa: E402
from uncone.exports.probe import check  # noqa: E402
from uncone.repairs.repair import Repair  # noqa: E402

__all__ = ["check_repair", "session"]


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
