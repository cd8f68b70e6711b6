"""Many repairs fitted on the same rows, which the affine ones need measured only once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uncone.data.batch import Matrix
from uncone.data.vectors.memory import ArrayVectors
from uncone.errors import FitError
from uncone.evaluation.table import Method
from uncone.repairs.affine.affine import Affine
from uncone.repairs.affine.rounding import rounding
from uncone.repairs.registry import make
from uncone.repairs.repair import Repair
from uncone.run.measure import Plan, measure
from uncone.stats.bundle import Bundle
from uncone.stats.sums.moments import Moments
from uncone.stats.sums.unit_sum import UnitSum

__all__ = ["fit_all", "unfitted"]


def unfitted(method: Method, seed: int) -> Repair:
    """The repair of a method; `seed` is for those that draw, unless their options have one."""
    repair = make(method.repair, **method.options)
    for step in getattr(repair, "steps", [repair]):
        if "seed" in step.get_params(deep=False) and "seed" not in method.options:
            step.set_params(seed=seed)
    return repair


def fit_all(methods: Sequence[Method], rows: Matrix, seed: int) -> list[Repair | FitError]:
    """Each method fitted on the rows (n, d), or why it cannot be."""
    repairs = [unfitted(method, seed) for method in methods]
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
