"""A repair as an ONNX file: alone, of vectors to vectors, or behind its encoder, of token ids to vectors."""

from __future__ import annotations

from pathlib import Path

from uncone.extras import require

require("onnx", "onnxruntime", extra="onnx")

import onnx  # noqa: E402

from uncone.errors import ExportError  # noqa: E402
from uncone.exports.fitted import Fitted  # noqa: E402
from uncone.exports.onnx.graph import PRODUCER, check_repair, repair_graph  # noqa: E402
from uncone.exports.place import placed  # noqa: E402
from uncone.repairs.repair import Repair  # noqa: E402

__all__ = ["export_onnx"]

_LARGEST = 2_000_000_000  # bytes of one protobuf


def export_onnx(repair: Repair, out: Path, *, model: Path | None = None, fitted: Fitted | None = None) -> list[str]:
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

        graph, more = behind_encoder(graph, repair, model, fitted or Fitted())
        notes += more
    if graph.ByteSize() > _LARGEST:
        raise ExportError("The graph is larger than the 2 GB that one ONNX file may have. Export the repair alone.")
    with placed(out, folder=False, ours=_ours) as file:
        onnx.save(graph, str(file))
    return notes


def _ours(path: Path) -> bool:
    try:
        return bool(onnx.load(str(path), load_external_data=False).producer_name == PRODUCER)
    except Exception:  # protobuf's errors have no common class; whatever it is, we did not write it
        return False
