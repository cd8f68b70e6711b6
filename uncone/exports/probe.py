"""Rows like those that a repair was fitted on, made up from what it learnt: to check an export before it is kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from uncone.data.batch import Matrix
from uncone.errors import ExportError
from uncone.exports.affine_form import primitive_steps
from uncone.repairs.affine import Affine
from uncone.repairs.repair import Repair

__all__ = ["TOLERANCE", "check", "probe_rows"]

TOLERANCE = 1e-5
"""The largest difference allowed, as a share of the largest value."""
_AS_GOOD = 4
"""How much more than the repair's own error in float32 is allowed, where that is larger."""


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
    known = first.arrays()
    centres = known.get("centroids", known.get("centre", np.zeros(d)))
    around = np.asarray(centres, np.float64).reshape(-1, d)
    reach = np.sqrt(((around - around.mean(axis=0)) ** 2).mean()) or float(known.get("scale", np.ones(1))[0])
    return np.asarray(around[rng.integers(len(around), size=n)] + rng.normal(size=(n, d)) * reach, np.float32)


def check(repair: Repair, run: Callable[[Matrix], Matrix], what: str, allowed: float = TOLERANCE) -> float:
    """Run an export on rows like the data: the largest difference, as a share of the largest value.

    Where the repair's own answer in float32 is further from that in float64 than is allowed, as in a whitening of
    hardly any variance, the export has to be about as good.

    Raises:
        ExportError: it differs by more.
    """
    rows = probe_rows(repair)
    exact, single = repair.map(rows.astype(np.float64)), repair.map(rows)
    largest = max(float(np.abs(exact).max()), 1e-30)
    found = run(rows)
    # A row on the border of two clusters may go to either: float32 has no say in it.
    difference = float(np.minimum(_by_row(found, exact), _by_row(found, single)).max() / largest)
    own = float(np.median(_by_row(single, exact)) / largest)
    if not difference <= max(allowed, _AS_GOOD * own):
        raise ExportError(
            f"{what} differs from the repair by {difference:.1e} of the largest value, and {allowed:.0e} is allowed: "
            "its numbers are beyond float32. Fit it on more rows, with more shrinkage, or to fewer dimensions."
        )
    return difference


def _by_row(found: Matrix, expected: Matrix) -> Matrix:
    return np.asarray(np.abs(found - expected).max(axis=1))
