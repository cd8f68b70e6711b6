"""The family that is tried."""

from __future__ import annotations

import numpy as np
import pytest

from uncone.errors import FitError
from uncone.evaluation.prescribe.candidates import candidates_for, fit_all
from uncone.evaluation.table import Method
from uncone.repairs.registry import make, make_seeded


def test_the_family_fits_the_space():
    names = [method.name for method in candidates_for(384, 5000)]
    assert {"droptop 15", "whiten", "whiten 256", "clustered 27, 12"} <= set(names) and len(names) == 10
    assert "whiten 256" not in [method.name for method in candidates_for(256, 5000)]
    assert [m.options for m in candidates_for(64, 800) if m.repair == "clustered"] == [{"k": 8, "p": 8}]
    assert {method.repair for method in candidates_for(4, 99)} == {"center", "standardize", "mute", "droptop", "whiten"}
    assert [m.options["k"] for m in candidates_for(4, 99) if m.repair == "droptop"] == [1, 3]
    assert candidates_for(8, 99, with_flow=True)[-1].repair == "flow"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [60, 700])
def test_shared_statistics_give_what_each_fit_gives(cone, n, dtype):
    rows = cone(n=n, d=20, seed=1).astype(dtype)
    methods = [*candidates_for(20, n), Method("z", "mute", {"how": "zscore"}), Method("both", "center,whiten")]
    for method, repair in zip(methods, fit_all(methods, rows, 0), strict=True):
        alone = make(method.repair, **method.options).fit(rows)
        assert repair.map(rows) == pytest.approx(alone.map(rows), abs=2e-4 if dtype == np.float32 else 1e-8)


def test_what_cannot_be_fitted_is_told():
    found = fit_all([Method("d", "droptop", {"k": 9}), Method("c", "center")], np.eye(5, 10), 0)
    assert isinstance(found[0], FitError) and not isinstance(found[1], FitError)


def test_seeds():
    assert make_seeded("clustered", {}, 5).seed == 5
    assert make_seeded("center,clustered", {"seed": 2}, 5).steps[1].seed == 2
