"""A chain is its steps one after the other, in as few passes as can be; and the names it is made from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from sklearn.base import clone

from uncone.data.batch import Batch
from uncone.data.source import Rows
from uncone.data.vectors.memory import ArrayVectors, BlockStream
from uncone.errors import FitError, OptionError
from uncone.repairs.affine import Affine, Collapsed
from uncone.repairs.chain import Chain, push_moments
from uncone.repairs.dimensions import Center, Mute, Normalize, Standardize
from uncone.repairs.registry import KINDS, make
from uncone.repairs.repair import Mapped
from uncone.repairs.spectral import DropTop, Whiten
from uncone.run.measure import Plan
from uncone.stats.moments import Moments


class Counted(ArrayVectors):
    """An array that counts how often each row is read."""

    def __init__(self, array: np.ndarray) -> None:
        super().__init__(array)
        self.read_rows = 0

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        for rows in super().read(start, stop):
            self.read_rows += len(rows.vectors)
            yield rows


CHAINS = [
    ([Center(), Whiten()], 1),
    ([Center(), DropTop(2), Standardize(), Whiten(dim=5, shrinkage=None), Normalize()], 1),
    ([Mute(), Whiten()], 2),
    ([Center(), Mute("zscore", [1]), Standardize()], 3),
    ([Center(), Normalize(), Whiten()], 2),
    ([Center(), Whiten(shrinkage="ledoit-wolf")], 1),
    ([DropTop(2), Whiten(shrinkage="ledoit-wolf")], 2),
    ([Chain([Center(), DropTop(1)]), Normalize()], 1),
]


def step_by_step(steps, rows):
    for step in steps:
        rows = clone(step).fit(rows).transform(rows)
    return rows


@pytest.mark.parametrize(("steps", "passes"), CHAINS, ids=str)
def test_a_chain_is_its_steps(steps, passes, cone):
    rows = cone(n=500, mean=20.0).astype(np.float64)
    source = Counted(rows)
    chain = Chain(steps).fit_source(source, Plan(dtype=np.float64))
    assert source.read_rows == passes * len(rows)
    expected = step_by_step(steps, rows)
    np.testing.assert_allclose(chain.transform(rows), expected, atol=1e-8)
    np.testing.assert_allclose(chain.collapsed().transform(rows), expected, atol=1e-8)
    one_by_one = rows
    for step in chain.steps_:
        one_by_one = step.transform(one_by_one)
    np.testing.assert_allclose(chain.transform(rows), one_by_one, atol=1e-9)


def test_steps_are_left_unfitted(cone):
    steps = [Center(), Whiten()]
    Chain(steps).fit(cone())
    assert not hasattr(steps[0], "mean_") and not hasattr(steps[1], "mean_")


def test_runs_of_affine_steps_collapse(cone):
    chain = Chain([Center(), DropTop(2), Whiten(), Normalize()]).fit(cone())
    merged = chain.collapsed()
    assert [type(step) for step in merged.steps] == [Collapsed, Normalize]
    only = Chain([Chain([Center(), Standardize()]), Whiten()]).fit(cone()).collapsed()
    assert len(only.steps) == 1 and isinstance(only.steps[0], Affine)
    np.testing.assert_array_equal(chain.transform(cone()), merged.transform(cone()))


def test_a_shift_and_a_common_scale_keep_the_fourth_moment(cone):
    """Otherwise Ledoit-Wolf could not be had from one pass; the oracle is a fit on the mapped rows themselves."""
    rows = cone(n=40).astype(np.float64)
    result = Chain([Center(), Whiten(shrinkage="ledoit-wolf")]).fit(rows).steps_[1].shrinkage_
    assert result == pytest.approx(Whiten(shrinkage="ledoit-wolf").fit(rows - rows.mean(axis=0)).shrinkage_, rel=1e-9)


@pytest.mark.parametrize("scale", [2.0, np.linspace(1, 2, 12)], ids=["common", "by dimension"])
def test_moments_pushed_through_a_step_are_those_of_the_mapped_rows(scale, cone):
    rows = cone().astype(np.float64)
    step = Collapsed.of(rows[0], np.full(12, 1.0) * scale, rows[1])
    before, after = Moments(12, dtype=np.float64), Moments(12, dtype=np.float64)
    before.update(Batch.of(rows))
    after.update(Batch.of(step.transform(rows)))
    result, _ = push_moments(before, step)
    np.testing.assert_allclose(result.mean, after.mean, rtol=1e-9)
    np.testing.assert_allclose(result.covariance, after.covariance, atol=1e-9)
    assert result.fourth == pytest.approx(after.fourth if np.ndim(scale) == 0 else np.nan, rel=1e-9, nan_ok=True)


def test_ill_conditioned_rows_are_measured_again_in_float64():
    rng = np.random.default_rng(0)
    turn, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    rows = (rng.normal(size=(33_000, 8)) * np.geomspace(1, 1e-3, 8) @ turn + 30).astype(np.float32)
    source = Counted(rows)
    result = Chain([Center(), Whiten(shrinkage=None)]).fit_source(source).transform(rows)
    assert source.read_rows == 2 * len(rows)
    np.testing.assert_allclose(np.cov(result.astype(np.float64), rowvar=False), np.eye(8), atol=1e-4)


def test_a_direction_that_was_removed_has_blurred_the_others():
    """Float32 products of a direction a thousand times longer: what remains has to be measured again."""
    rng = np.random.default_rng(0)
    turn, _ = np.linalg.qr(rng.normal(size=(32, 32)))
    rows = rng.normal(size=(40_000, 32))
    rows[:, 3] *= 1000
    rows = (rows @ turn + 5).astype(np.float32)
    result = Chain([DropTop(1), Whiten()]).fit(rows).transform(rows)
    values = np.linalg.eigvalsh(np.cov(result.astype(np.float64), rowvar=False))
    np.testing.assert_allclose(values, [0.0] + [1.0] * 31, atol=1e-4)


def test_what_a_step_removed_is_no_reason_to_measure_again():
    rows = np.random.default_rng(0).normal(size=(33_000, 8)).astype(np.float32)
    source = Counted(rows)
    result = Chain([DropTop(2), Whiten()]).fit_source(source).transform(rows)
    assert source.read_rows == len(rows)
    values = np.linalg.eigvalsh(np.cov(result.astype(np.float64), rowvar=False))
    np.testing.assert_allclose(values, [0.0] * 2 + [1.0] * 6, atol=1e-4)


def test_a_stream_that_can_be_read_once(cone):
    rows = cone()
    once = Chain([Center(), DropTop(1), Whiten(), Normalize()]).fit_source(BlockStream(np.array_split(rows, 3)))
    np.testing.assert_allclose(once.transform(rows), step_by_step(once.steps, rows), atol=1e-5)
    for steps in ([Center(), Mute()], [DropTop(1), Whiten(shrinkage="ledoit-wolf")]):
        with pytest.raises(FitError, match=r"needs pass 2 .* only once: save it to a file"):
            Chain(steps).fit_source(BlockStream(np.array_split(rows, 3)))


def test_mapped_rows_keep_their_texts():
    class Told(ArrayVectors):
        def read(self, start=0, stop=None):
            for rows in super().read(start, stop):
                yield Rows(rows.vectors, ["a", "b"], ["x", "y"])

    rows = np.array([[1.0, 2.0], [3.0, 8.0]], np.float16)
    mapped = Mapped(Told(rows), Center().fit(rows))
    (result,) = mapped.read()
    assert result.texts == ["a", "b"] and result.labels == ["x", "y"] and result.vectors.dtype == np.float32
    assert result.vectors.tolist() == [[-1, -3], [1, 3]]
    assert (mapped.dim, mapped.rows, mapped.dtype, mapped.random_access) == (2, 2, "float32", True)


def test_make_gives_each_option_to_those_that_have_it():
    assert isinstance(make("center"), Center)
    repair = make(" center, droptop,whiten,normalize ", k=3, dim=9, shrinkage=None)
    assert [step.kind for step in repair.steps] == ["center", "droptop", "whiten", "normalize"]
    assert repair.steps[1].k == 3 and repair.steps[2].dim == 9 and repair.steps[2].shrinkage is None
    assert make("mute", how="zscore").how == "zscore"


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("whitten", {}, "no method 'whitten'; choose from center, .*flow"),
        ("center,", {}, "no method ''"),
        ("", {}, "no method ''"),
        ("center", {"dim": 3}, "center does not take 'dim'; it takes no options"),
        ("center,whiten", {"k": 3}, "does not take 'k'; it takes dim, rotation, shrinkage"),
        ("normalize,whiten", {}, "normalize has to be the last step"),
    ],
)
def test_what_cannot_be_made(method, options, message):
    with pytest.raises(OptionError, match=message):
        make(method, **options)


def test_names_are_the_kinds():
    for name in set(KINDS) - {"flow", "clustered"}:
        assert make(name).kind == name
