"""The affine form of a repair, which most targets hold, and the check of an export before it is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from uncone.data.batch import Matrix, Vector
from uncone.errors import ExportError
from uncone.repairs.affine import Affine
from uncone.repairs.chain import Chain
from uncone.repairs.dimensions import Normalize
from uncone.repairs.repair import Repair

__all__ = ["TOLERANCE", "AffineForm", "affine_form", "check", "need_affine", "primitive_steps", "probe_rows"]

TOLERANCE = 1e-5
"""The largest difference allowed, as a share of the largest value."""
_AS_GOOD = 4
"""How much more than the repair's own error in float32 is allowed, where that is larger."""


@dataclass(frozen=True)
class AffineForm:
    """x becomes (x - mean) @ matrix + offset in float64, then perhaps scaled to length one; (d), (d, m) and (m)."""

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
    """The steps of a repair, one after the other, with neighbors that are affine merged."""
    if not isinstance(repair, Chain):
        return [repair]
    return [inner for step in repair.collapsed().steps for inner in primitive_steps(step)]


def affine_form(repair: Repair) -> AffineForm | None:
    """The repair as one affine map, perhaps normalized at the end; None if it is not affine."""
    steps = primitive_steps(repair)
    normalize = isinstance(steps[-1], Normalize)
    affine = steps[:-1] if normalize else steps
    if len(affine) == 1 and isinstance(affine[0], Affine):
        only = affine[0]
        mean, matrix, offset = (np.asarray(part, np.float64) for part in (only.mean_, only.matrix_, only.offset_))
        return AffineForm(mean, matrix, offset, normalize)
    if not affine:
        d = int(repair.n_features_in_)
        return AffineForm(np.zeros(d), np.eye(d), np.zeros(d), normalize=True)
    return None


def need_affine(repair: Repair, target: str, instead: str) -> AffineForm:
    """The affine form for a target that supports nothing else.

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


def probe_rows(repair: Repair, n: int = 1000) -> Matrix:
    """Seeded random rows (n, d), float32.

    Behind an affine step they are standard normal where it keeps anything, as whitened rows are. Otherwise they lie
    about the centroids that the repair knows, as far from one as these are from each other.
    """
    rng = np.random.default_rng(0)
    d = int(repair.n_features_in_)
    first = primitive_steps(repair)[0]
    if isinstance(first, Affine):
        back = np.linalg.pinv(first.matrix_, rcond=1e-10)
        return np.asarray(first.mean_ + rng.normal(size=(n, len(back))) @ back, np.float32)
    arrays = first.arrays()
    centers = arrays.get("centroids", arrays.get("centre", np.zeros(d)))
    around = np.asarray(centers, np.float64).reshape(-1, d)
    reach = np.sqrt(((around - around.mean(axis=0)) ** 2).mean()) or float(arrays.get("scale", np.ones(1))[0])
    return np.asarray(around[rng.integers(len(around), size=n)] + rng.normal(size=(n, d)) * reach, np.float32)


def check(repair: Repair, run: Callable[[Matrix], Matrix], target: str, allowed: float = TOLERANCE) -> float:
    """Run an export on rows like the data: the largest difference, as a share of the largest value.

    Where the repair's own answer in float32 is further from that in float64 than is allowed, as in a whitening of
    hardly any variance, the export has to be about as good.

    Raises:
        ExportError: it differs by more.
    """
    rows = probe_rows(repair)
    exact, single = repair.map(rows.astype(np.float64)), repair.map(rows)
    largest = max(float(np.abs(exact).max()), 1e-30)
    output = run(rows)
    # A row on the border of two clusters may go to either in float32.
    difference = float(np.minimum(_by_row(output, exact), _by_row(output, single)).max() / largest)
    own = float(np.median(_by_row(single, exact)) / largest)
    if not difference <= max(allowed, _AS_GOOD * own):
        raise ExportError(
            f"{target} differs from the repair by {difference:.1e} of the largest value, and {allowed:.0e} is allowed: "
            "its numbers are beyond float32. Fit it on more rows, with more shrinkage, or to fewer dimensions."
        )
    return difference


def _by_row(output: Matrix, expected: Matrix) -> Matrix:
    return np.asarray(np.abs(output - expected).max(axis=1))
