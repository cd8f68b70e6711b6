"""Every repair is a scikit-learn transformer, and keeps the laws that are shipped for third parties."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from uncone.repairs.affine import Collapsed
from uncone.repairs.chain import Chain
from uncone.repairs.dimensions import Center, Mute, Normalize, Standardize
from uncone.repairs.laws import check_repair
from uncone.repairs.spectral import DropTop, Whiten
from uncone.repairs.weighted import Sif, Zipf
from uncone.stats.laws import LawBroken

REPAIRS = [
    Sif(),
    Zipf(),
    Center(),
    Standardize(),
    DropTop(),
    Whiten(),
    Whiten(rotation="zca", shrinkage=0.1),
    Mute(),
    Mute(how="zscore", dimensions=[0]),
    Normalize(),
    Chain([Center(), Whiten(), Normalize()]),
]
CHECKS = [(estimator, check) for repair in REPAIRS for estimator, check in estimator_checks_generator(repair)]


def named(value: object) -> str:
    return value.func.__name__ if hasattr(value, "func") else str(value)


@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=named)
def test_scikit_learn_accepts_it(estimator, check):
    if check.func.__name__ == "check_array_api_input":
        pytest.skip("for estimators that say they support the array API")
    check(estimator)


@pytest.mark.parametrize("repair", REPAIRS, ids=str)
def test_laws(repair, cone):
    check_repair(repair)
    check_repair(repair, cone(n=70, d=9, mean=50.0))


def test_a_repair_that_breaks_a_law_is_caught():
    class Careless(Center):
        def _map(self, rows):
            rows -= self.mean_.astype(rows.dtype)
            return rows

    with pytest.raises(LawBroken, match="left alone"):
        check_repair(Careless())

    class Forgetful(Center):
        def restore(self, arrays):
            return super().restore({**arrays, "mean": arrays["mean"] + 1e-3})

    with pytest.raises(LawBroken, match="restoring"):
        check_repair(Forgetful())


@pytest.mark.parametrize("repair", REPAIRS, ids=str)
def test_precision_is_kept(repair, cone):
    rows = cone()
    model = clone(repair).fit(rows)
    assert model.transform(rows).dtype == np.float32
    assert model.transform(rows.astype(np.float64)).dtype == np.float64
    half = rows.astype(np.float16)
    assert model.transform(half).dtype == np.float32
    np.testing.assert_array_equal(model.transform(half), model.transform(half.astype(np.float32)))
    widened = clone(repair).fit(half.astype(np.float32)).transform(half)
    np.testing.assert_array_equal(clone(repair).fit(half).transform(half), widened)


@pytest.mark.parametrize("repair", REPAIRS, ids=str)
def test_a_table_with_names_gives_a_table_with_names(repair, cone):
    rows = cone(d=5)
    table = pd.DataFrame(rows, columns=list("abcde"), index=np.arange(len(rows)) + 7)
    model = clone(repair).set_output(transform="pandas").fit(table)
    mapped = model.transform(table)
    assert list(mapped.columns) == list(model.get_feature_names_out())
    assert list(mapped.index) == list(table.index)
    np.testing.assert_array_equal(mapped.to_numpy(), clone(repair).fit(rows).transform(rows))
    with pytest.raises(ValueError, match="feature names"):
        model.transform(table[list("edcba")])


def test_in_a_pipeline(cone):
    rows = cone().astype(np.float64)
    result = make_pipeline(StandardScaler(), Whiten(shrinkage=None), Normalize()).fit(rows).transform(rows)
    by_hand = Whiten(shrinkage=None).fit_transform((rows - rows.mean(axis=0)) / rows.std(axis=0))
    np.testing.assert_allclose(result, by_hand / np.linalg.norm(by_hand, axis=1, keepdims=True), atol=1e-9)


def test_a_chain_is_cloned_with_its_steps():
    chain = Chain([DropTop(k=2), Whiten(dim=3)])
    copy = clone(chain)
    assert copy.steps is not chain.steps and copy.steps[0] is not chain.steps[0]
    assert [step.get_params() for step in copy.steps] == [step.get_params() for step in chain.steps]


def test_an_affine_map_is_composed_and_not_fitted(cone):
    with pytest.raises(ValueError, match="composed"):
        Collapsed().fit(cone())


@pytest.mark.parametrize("repair", REPAIRS, ids=str)
def test_bad_tables(repair, cone):
    rows = cone()
    with pytest.raises(ValueError, match="NaN"):
        clone(repair).fit(np.where(np.arange(12) == 3, np.nan, rows))
    model = clone(repair).fit(rows)
    with pytest.raises(ValueError, match="12 features"):
        model.transform(rows[:, :5])
    with pytest.raises(ValueError, match="NaN"):
        model.transform(np.full((2, 12), np.nan))
    assert np.isnan(model.map(np.full((2, 12), np.nan, np.float32))).any()
