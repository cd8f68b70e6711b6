"""A faiss index that repairs and normalizes what it is given, so that it ranks by the cosine of repaired vectors."""

from __future__ import annotations

from pathlib import Path

import faiss
import numpy as np

from uncone.data.batch import Matrix
from uncone.exports.affine_form import AffineForm, check, need_affine
from uncone.exports.export import temporary_output
from uncone.repairs.repair import Repair

__all__ = ["export_faiss"]

_INSTEAD = "Repair the vectors before they are added (uncone apply), or export to onnx."


def export_faiss(repair: Repair, out: Path) -> list[str]:
    """Write an empty, trained `IndexPreTransform` before an index of inner products; the notes for the user.

    Rows are centered first and multiplied then, as in `transform`: float32 keeps its digits on a narrow cone. They are
    normalized last, whether the repair ends so or not: inner products of unit vectors are cosines.

    Raises:
        ExportError: the repair is no affine map, or the index does not give what `transform` gives.
    """
    form = need_affine(repair, "A faiss transform", _INSTEAD)
    steps = _steps(form)
    error = check(repair, lambda rows: form.unit(_apply(steps, rows)), "The faiss index")
    index = faiss.IndexPreTransform(faiss.IndexFlatIP(form.matrix.shape[1]))
    unit = faiss.NormalizationTransform(form.matrix.shape[1], 2.0)
    unit.is_trained = True
    for step in (unit, *steps[::-1]):
        index.prepend_transform(step)
    index.is_trained = True
    with temporary_output(out, folder=False, ours=_holds_nothing) as file:
        file.write_bytes(faiss.serialize_index(index).data)  # faiss itself says nothing when the disk is full
    return [
        f"{out} is empty: add raw vectors of dimension {len(form.mean)}, and search with raw vectors. It repairs and "
        "normalizes both, so its scores are cosines of repaired vectors.",
        f"Checked on rows like the data: the largest difference to the repair is {error:.1e} of the largest value.",
    ]


def _steps(form: AffineForm) -> list[faiss.VectorTransform]:
    d, m = form.matrix.shape
    centering = faiss.CenteringTransform(d)
    faiss.copy_array_to_vector(form.mean.astype(np.float32), centering.mean)
    # The bias corrects what float32 loses of the mean.
    lost = (form.mean - form.mean.astype(np.float32)) @ form.matrix
    linear = faiss.LinearTransform(d, m, True)
    faiss.copy_array_to_vector(np.ascontiguousarray(form.matrix.T, np.float32).ravel(), linear.A)
    faiss.copy_array_to_vector((form.offset - lost).astype(np.float32), linear.b)
    steps = [centering, linear]
    for step in steps:
        step.is_trained = True
    return steps


def _apply(steps: list[faiss.VectorTransform], rows: Matrix) -> Matrix:
    for step in steps:
        rows = step.apply(rows)
    return rows


def _holds_nothing(path: Path) -> bool:
    """Whether the file is an index that we may have written: a transform, and no vectors."""
    try:
        index = faiss.read_index(str(path))
    except RuntimeError:
        return False
    return isinstance(faiss.downcast_index(index), faiss.IndexPreTransform) and index.ntotal == 0
