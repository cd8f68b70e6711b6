"""What most targets can hold of a repair: one mean, one matrix, one offset, perhaps followed by a normalisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from uncone.data.batch import Matrix, Vector
from uncone.errors import ExportError
from uncone.repairs.affine import Affine
from uncone.repairs.chain import Chain
from uncone.repairs.dimensions import Normalize
from uncone.repairs.repair import Repair

__all__ = ["AffineForm", "affine_form", "need_affine", "primitive_steps"]


@dataclass(frozen=True)
class AffineForm:
    """x becomes (x - mean) @ matrix + offset in float64, and then perhaps has length one; (d), (d, m) and (m)."""

    mean: Vector
    matrix: Matrix
    offset: Vector
    normalize: bool = False

    @property
    def dense(self) -> tuple[Matrix, Vector]:
        """Matrix (d, m) and bias (m) of the form x @ matrix + bias, in float32, which loses digits on a narrow cone.

        The bias is that of the matrix as it was rounded, so that the two still cancel at the mean.
        """
        matrix = self.matrix.astype(np.float32)
        return matrix, (self.offset - self.mean @ matrix.astype(np.float64)).astype(np.float32)

    def unit(self, rows: Matrix) -> Matrix:
        """Rows at length one, if the repair ends so."""
        if not self.normalize:
            return rows
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(lengths > 0, lengths, 1))


def primitive_steps(repair: Repair) -> list[Repair]:
    """The steps of a repair, one after the other, with neighbours that are affine merged."""
    if not isinstance(repair, Chain):
        return [repair]
    return [inner for step in repair.collapsed().steps for inner in primitive_steps(step)]


def affine_form(repair: Repair) -> AffineForm | None:
    """The repair as one affine map, perhaps normalised at the end; None when it is more than that."""
    steps = primitive_steps(repair)
    normalize = isinstance(steps[-1], Normalize)
    affine = steps[:-1] if normalize else steps
    if len(affine) == 1 and isinstance(affine[0], Affine):
        only = affine[0]
        mean, matrix, offset = (np.asarray(one, np.float64) for one in (only.mean_, only.matrix_, only.offset_))
        return AffineForm(mean, matrix, offset, normalize)
    if not affine:
        d = int(repair.n_features_in_)
        return AffineForm(np.zeros(d), np.eye(d), np.zeros(d), normalize=True)
    return None


def need_affine(repair: Repair, target: str, instead: str) -> AffineForm:
    """The same for a target that holds nothing else.

    Raises:
        ExportError: the repair is more than an affine map.
    """
    form = affine_form(repair)
    if form is None:
        names = ", ".join(step.kind for step in primitive_steps(repair))
        raise ExportError(
            f"{target} holds one matrix and one offset, and {names} is not one: it treats rows by where they lie. "
            f"{instead}"
        )
    return form
