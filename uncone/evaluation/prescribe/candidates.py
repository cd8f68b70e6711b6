"""The repairs that are tried, and their fits on the same rows, which the affine ones need measured only once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from uncone.data.batch import Matrix
from uncone.data.vectors.memory import ArrayVectors
from uncone.errors import FitError
from uncone.evaluation.table import Method
from uncone.repairs.affine.affine import Affine
from uncone.repairs.affine.rounding import rounding
from uncone.repairs.registry import make_seeded
from uncone.repairs.repair import Repair
from uncone.run.measure import Plan, measure
from uncone.stats.bundle import Bundle
from uncone.stats.sums.moments import Moments
from uncone.stats.sums.unit_sum import UnitSum

__all__ = ["candidates_for", "fit_all"]

_TOPS = (1, 3, 7, 15)
_NARROW = 256
_PER_CLUSTER = 100
_FEWEST_CLUSTERS = 5


def candidates_for(dim: int, n: int, *, with_flow: bool = False) -> list[Method]:
    """The family for `n` rows of `dim` dimensions, simplest first: of two that do equally well the first is taken.

    The clusters are as many as 100 rows each allow, at most the 27 of the paper, and there are none under 500 rows. A
    flow takes minutes, so it is tried only when asked for.

    >>> [method.name for method in candidates_for(8, 300)]
    ['center', 'standardize', 'mute', 'droptop 1', 'droptop 3', 'droptop 7', 'whiten']
    """
    candidates: list[tuple[str, str, dict[str, Any]]] = [(kind, kind, {}) for kind in ("center", "standardize", "mute")]
    candidates += [(f"droptop {k}", "droptop", {"k": k}) for k in _TOPS if k < dim]
    candidates += [("whiten", "whiten", {})]
    if dim > _NARROW:
        candidates += [(f"whiten {_NARROW}", "whiten", {"dim": _NARROW})]
    if n >= _FEWEST_CLUSTERS * _PER_CLUSTER:
        k, p = min(27, n // _PER_CLUSTER), min(12, dim // 8)
        candidates += [(f"clustered {k}, {p}", "clustered", {"k": k, "p": p})]
    if with_flow:
        candidates += [("flow", "flow", {})]
    return [Method(name, repair, options, protocol="inductive") for name, repair, options in candidates]


def fit_all(methods: Sequence[Method], rows: Matrix, seed: int) -> list[Repair | FitError]:
    """Each method fitted on the rows (n, d), or why it cannot be."""
    repairs = [make_seeded(method.repair, method.options, seed) for method in methods]
    dim = rows.shape[1]
    # In float64, so that none of them has to measure again.
    plan = Plan(dtype=np.float64)
    shared = measure(ArrayVectors(rows), Bundle(units=UnitSum(dim), moments=Moments(dim, dtype=np.float64)), plan)
    noise = rounding(shared["moments"], rows.dtype)
    found: list[Repair | FitError] = []
    for repair in repairs:
        try:
            found.append(repair.fit_stats(shared, noise=noise) if isinstance(repair, Affine) else repair.fit(rows))
        except FitError as error:
            found.append(error)
    return found
