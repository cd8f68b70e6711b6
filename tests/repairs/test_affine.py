"""The affine family against naive routes: numpy, and scikit-learn's PCA and LedoitWolf."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.covariance import LedoitWolf
from sklearn.decomposition import PCA

from uncone.data.open import open_source
from uncone.data.vectors.memory import ArrayVectors, BlockStream
from uncone.errors import FitError, NoInverseError, UnconeError
from uncone.repairs.affine import Collapsed
from uncone.repairs.chain import Chain
from uncone.repairs.dimensions import Center, Mute, Normalize, Standardize
from uncone.repairs.spectral import DropTop, Whiten, ledoit_wolf
from uncone.run.measure import Plan, measure
from uncone.stats.moments import Moments
from uncone.stats.statistic import Bundle


def narrow(n: int = 3000, d: int = 24, ratio: float = 1e5, times: float = 100.0, seed: int = 0) -> np.ndarray:
    """A turned cone in float32 whose mean is `times` its spread, and whose variances differ by `ratio`."""
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(rng.normal(size=(d, d)))
    rows = rng.normal(size=(n, d)) * np.geomspace(1, ratio**-0.5, d) @ turn
    return (rows + times * rng.normal(size=d)).astype(np.float32)


def covariance(rows: np.ndarray) -> np.ndarray:
    return np.cov(rows.astype(np.float64), rowvar=False)


def test_center(cone):
    rows = cone(mean=100.0)
    result = Center().fit(rows).transform(rows)
    np.testing.assert_allclose(result, rows.astype(np.float64) - rows.astype(np.float64).mean(axis=0), atol=2e-5)
    assert abs(result.astype(np.float64).mean(axis=0)).max() < 1e-5


def test_standardize_leaves_constant_dimensions_their_scale(cone):
    for dtype in (np.float32, np.float64):
        rows = cone(n=10).astype(dtype)
        rows[:, 3] = 0.1
        repair = Standardize().fit(rows)
        result = repair.transform(rows).astype(np.float64)
        expected = np.ones(12)
        expected[3] = 0.0
        np.testing.assert_allclose(result.std(axis=0, ddof=1), expected, atol=1e-5)
        assert abs(result.mean(axis=0)).max() < 1e-5
        assert repair.matrix_[3, 3] == 1.0 and "1 of 12" in repair.note_


@pytest.mark.parametrize("k", [None, 1, 5])
def test_droptop_is_centered_and_orthogonal(k):
    rows = narrow(d=110)
    repair = DropTop(k).fit(rows)
    result = repair.transform(rows).astype(np.float64)
    exact = rows.astype(np.float64) - rows.astype(np.float64).mean(axis=0)
    top = np.linalg.eigh(covariance(rows))[1][:, ::-1][:, : k or 1]
    np.testing.assert_allclose(result, exact - exact @ top @ top.T, atol=2e-5)
    assert abs(result.mean(axis=0)).max() < 1e-5
    assert abs(result @ top).max() < 1e-5
    assert repair.directions_.shape == (110, k or 1)


@pytest.mark.parametrize("rotation", ["pca", "zca"])
@pytest.mark.parametrize(
    "rows",
    [narrow(), narrow(40_000, ratio=1e6), narrow(40_000, ratio=1e6, times=0)],
    ids=["float64 products", "measured again", "measured again, no mean"],
)
def test_whitened_rows_have_identity_covariance(rows, rotation):
    repair = Whiten(shrinkage=None, rotation=rotation).fit(rows)
    result = repair.transform(rows)
    assert result.dtype == np.float32
    np.testing.assert_allclose(covariance(result), np.eye(24), atol=1e-4)
    assert abs(result.mean(axis=0, dtype=np.float64)).max() < 1e-4
    assert repair.note_.startswith("Not shrunk")


def test_whitening_with_zca_stays_near_the_rows():
    rows = narrow(ratio=1.5, times=0.0).astype(np.float64)
    turned = Whiten(rotation="zca", shrinkage=None).fit(rows).matrix_
    np.testing.assert_allclose(turned, turned.T, atol=1e-12)
    assert (np.linalg.eigvalsh(turned) > 0).all()


@pytest.mark.parametrize("dim", [None, 6])
def test_whiten_is_the_whitening_of_pca(dim):
    rows = narrow().astype(np.float64)
    ours = Whiten(dim, shrinkage=None).fit_transform(rows)
    theirs = PCA(dim, whiten=True, svd_solver="full").fit_transform(rows)
    signs = np.sign((ours * theirs).sum(axis=0))
    np.testing.assert_allclose(ours, theirs * signs, atol=1e-6)


@pytest.mark.parametrize(("n", "d"), [(20, 50), (60, 12), (400, 12), (3, 8)])
def test_ledoit_wolf_is_that_of_scikit_learn(n, d, cone):
    rows = cone(n=n, d=d, mean=30.0).astype(np.float64)
    oracle = LedoitWolf().fit(rows)
    moments = measure(ArrayVectors(rows), Moments(d, dtype=np.float64), Plan(dtype=np.float64))
    assert ledoit_wolf(moments) == pytest.approx(oracle.shrinkage_, rel=1e-9)
    repair = Whiten(shrinkage="ledoit-wolf").fit(rows)
    assert repair.shrinkage_ == pytest.approx(oracle.shrinkage_, rel=1e-9)
    shrunk = oracle.covariance_ * n / (n - 1)
    np.testing.assert_allclose(repair.matrix_.T @ shrunk @ repair.matrix_, np.eye(d), atol=1e-8)


def test_auto_shrinks_only_where_rows_are_few(cone):
    few, enough = Whiten().fit(cone(n=59)), Whiten().fit(cone(n=60))
    assert few.shrinkage_ > 0 and "Ledoit-Wolf" in few.note_ and "59 vectors for 12 dimensions" in few.note_
    assert enough.shrinkage_ == 0 and "Not shrunk" in enough.note_
    repair = Whiten(shrinkage=0.25).fit(cone(n=5))
    c = covariance(cone(n=5))
    shrunk = 0.75 * c + 0.25 * np.trace(c) / 12 * np.eye(12)
    np.testing.assert_allclose(repair.matrix_.T @ shrunk @ repair.matrix_, np.eye(12), atol=1e-6)


def test_whiten_after_droptop_works_on_what_remains(cone):
    rows = cone(n=500)
    dropped = DropTop(3).fit_transform(rows)
    for repair, batch in (
        (Chain([DropTop(3), Whiten()]), rows),
        (Whiten(), dropped),
        (Whiten(rotation="zca"), dropped),
    ):
        result = repair.fit_transform(batch)
        values = np.linalg.eigvalsh(covariance(result))
        np.testing.assert_allclose(values, [0.0] * 3 + [1.0] * 9, atol=1e-4)
        assert abs(result).max() < 10
        assert "3 directions become zero" in repair.note_


def test_a_rogue_dimension_does_not_hide_the_others():
    """Its rounding is not theirs: with 40,000 rows the first look is in float32."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40_000, 16)).astype(np.float32)
    rows[:, 5] = 3000 + 1000 * rows[:, 5]
    np.testing.assert_allclose(covariance(Whiten(shrinkage=None).fit_transform(rows)), np.eye(16), atol=1e-4)
    assert np.abs(DropTop(2).fit(rows).directions_[5]).max() == pytest.approx(1.0, abs=1e-3)


def naive_shares(rows: np.ndarray) -> np.ndarray:
    """What each dimension adds to the sum of all cosines of different rows, by a double loop."""
    units = rows.astype(np.float64) / np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    shares = np.zeros(rows.shape[1])
    for i in range(len(units)):
        for j in range(len(units)):
            if i != j:
                shares += units[i] * units[j]
    return shares / shares.sum()


def test_mute_finds_the_rogue_dimensions():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(80, 20)).astype(np.float32)
    rows[:, [4, 11]] += np.array([9, -7])
    shares = naive_shares(rows)
    rogue = [j for j in np.argsort(-shares)[:5] if shares[j] > 3 / 20]
    repair = Mute().fit(rows)
    assert repair.dimensions_.tolist() == sorted(rogue) == [4, 11]
    expected = rows.copy()
    expected[:, rogue] = 0
    np.testing.assert_array_equal(repair.transform(rows), expected)
    scored = Mute("zscore").fit(rows).transform(rows)
    np.testing.assert_allclose(scored[:, rogue].mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(scored[:, rogue].std(axis=0, ddof=1), 1, atol=1e-5)
    others = [j for j in range(20) if j not in rogue]
    np.testing.assert_array_equal(scored[:, others], rows[:, others])


def test_mute_mutes_nothing_where_nothing_stands_out_and_what_is_named():
    rows = np.random.default_rng(2).normal(size=(500, 20))
    repair = Mute().fit(rows)
    assert repair.dimensions_.size == 0 and "none muted" in repair.note_
    np.testing.assert_array_equal(repair.transform(rows), rows)
    assert (Mute(dimensions=[7, 2]).fit_transform(rows)[:, [2, 7]] == 0).all()
    for wrong in ([20], [-1], [0.5], "ab", [[1]]):
        with pytest.raises(FitError, match="from 0 to 19"):
            Mute(dimensions=wrong).fit(rows)
    with pytest.raises(FitError, match="'zero' or 'zscore'"):
        Mute(how="loud").fit(rows)


def test_normalize_at_every_scale():
    rows = np.array([[3.0, 4.0], [0.0, 0.0], [3e30, 4e30], [3e-30, -4e-30]], np.float32)
    result = Normalize().fit(rows).transform(rows)
    np.testing.assert_allclose(result, [[0.6, 0.8], [0, 0], [0.6, 0.8], [0.6, -0.8]], rtol=1e-6)


AFFINE = [Center(), Standardize(), DropTop(2), Whiten(dim=5), Whiten(rotation="zca", shrinkage="ledoit-wolf"), Mute()]


@pytest.mark.parametrize("repair", [*AFFINE, Chain([Center(), DropTop(2), Whiten(), Normalize()])], ids=str)
def test_table_stream_and_workers_learn_the_same(repair, tmp_path):
    rows = narrow(40_000, d=10, ratio=100)
    np.save(tmp_path / "rows.npy", rows)
    table = type(repair)(**repair.get_params()).fit(rows).transform(rows[:500])
    on_disk = open_source(tmp_path / "rows.npy")
    for source, plan in (
        (on_disk, Plan()),
        (on_disk, Plan(workers=4)),
        (BlockStream(np.array_split(rows, 7)), Plan()),
    ):
        streamed = type(repair)(**repair.get_params()).fit_source(source, plan).transform(rows[:500])
        np.testing.assert_allclose(streamed, table, atol=1e-6 * np.abs(table).max())


def test_unusable_rows_of_a_stream_are_left_out(cone):
    rows = cone()
    flawed = np.concatenate([rows, np.full((2, 12), np.nan, np.float32), np.zeros((1, 12), np.float32)])
    np.testing.assert_allclose(Center().fit_source(ArrayVectors(flawed)).mean_, rows.mean(axis=0), atol=1e-5)


def test_progress_is_told(cone):
    reports = []
    Whiten().fit_source(ArrayVectors(cone()), progress=lambda *what: reports.append(what))
    assert sum(n for _, n, _ in reports) == 300 and reports[0][2] == 300


def test_fit_stats_takes_merged_shards(cone):
    rows = cone()
    shards = [measure(ArrayVectors(part), Whiten().statistics(12, np.float64)) for part in (rows[:100], rows[100:])]
    repair = Whiten().fit_stats(shards[0].merge(shards[1]))
    np.testing.assert_allclose(repair.transform(rows), Whiten().fit_transform(rows), atol=1e-5)


@pytest.mark.parametrize(
    "repair",
    [Center(), Standardize(), Whiten(), Whiten(rotation="zca"), Mute("zscore"), Chain([Standardize(), Whiten()])],
    ids=str,
)
def test_inverse_returns_the_rows(repair):
    rows = narrow(ratio=100, times=10)
    for table, tolerance in ((rows, 1e-4), (rows.astype(np.float64), 1e-10)):
        back = repair.fit(table).inverse_transform(repair.transform(table))
        assert back.dtype == table.dtype
        np.testing.assert_allclose(back, table, atol=tolerance)


@pytest.mark.parametrize(
    ("repair", "why"),
    [
        (DropTop(2), "removed 2 directions"),
        (Whiten(dim=5), "5 of 12 dimensions"),
        (Mute(dimensions=[1, 2]), "set 2 dimensions to zero"),
        (Chain([DropTop(2), Whiten()]), "10 of 12 directions"),
        (Chain([Whiten(), Normalize()]), "normalize has no inverse"),
        (Chain([DropTop(2), Whiten(rotation="zca")]), "10 of 12 directions"),
    ],
    ids=str,
)
def test_where_there_is_no_inverse(repair, why, cone):
    rows = cone()
    with pytest.raises(NoInverseError, match=why):
        repair.fit(rows).inverse_transform(repair.transform(rows))


def test_inverse_of_another_width(cone):
    with pytest.raises(ValueError, match="5 features"):
        Center().fit(cone()).inverse_transform(cone()[:, :5])


@pytest.mark.parametrize("first", [Center(), Standardize(), DropTop(2), Whiten(dim=7)], ids=str)
@pytest.mark.parametrize("second", [Center(), Standardize(), Whiten(dim=4), Whiten(rotation="zca")], ids=str)
def test_then_is_one_after_the_other(first, second):
    rows = narrow(d=12, ratio=10).astype(np.float64)
    between = first.fit(rows).transform(rows)
    both = first.then(second.fit(between))
    assert isinstance(both, Collapsed)
    np.testing.assert_allclose(both.transform(rows), second.transform(between), atol=1e-9)


EQUAL = np.tile(np.array([[1.5, -2.0, 0.1]]), (9, 1))


@pytest.mark.parametrize(
    ("repair", "rows", "message"),
    [
        (Whiten(shrinkage=None), "few", "20 vectors for 30 dimensions.*shrinkage='auto'"),
        (Whiten(shrinkage=0), "few", "shrinkage='auto'"),
        (Whiten(dim=31), "few", "1 to the 30"),
        (Whiten(dim=0), "few", "1 to the 30"),
        (Whiten(dim=2.5), "few", "1 to the 30"),
        (Whiten(dim=3, rotation="zca"), "few", "zca keeps all 30"),
        (Whiten(rotation="ica"), "few", "'pca' or 'zca'"),
        (Whiten(shrinkage="much"), "few", "'much'"),
        (Whiten(shrinkage=1.5), "few", "0 to 1"),
        (Whiten(), "equal", "all 9 vectors are equal"),
        (DropTop(), "equal", "all 9 vectors are equal"),
        (DropTop(30), "few", "cannot remove 30 directions of 30"),
        (DropTop(0), "few", "from 1 on"),
        (DropTop("auto"), "few", "from 1 on"),
        (DropTop(19), "few", "vary in 19 of 30 directions"),
        (Chain([]), "few", "at least one repair"),
        (Chain(["center"]), "few", "at least one repair"),
        (Center(), "zero", "n_samples=0"),
        (Mute(), "zero", "n_samples=0"),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_cannot_be_fitted(repair, rows, message, dtype, cone):
    table = {"few": cone(n=20, d=30), "equal": EQUAL, "zero": np.zeros((4, 3))}[rows].astype(dtype)
    with pytest.raises(FitError, match=message) as error:
        repair.fit(table)
    assert isinstance(error.value, UnconeError) and "\n" not in str(error.value)


def test_equal_rows_can_be_centered_and_standardized():
    for repair in (Center(), Standardize()):
        np.testing.assert_allclose(repair.fit_transform(EQUAL), 0, atol=1e-15)


def test_statistics_are_a_bundle_that_says_what_is_needed():
    assert set(Center().statistics(3).members) == {"moments"}
    assert set(Mute().statistics(3).members) == {"units"}
    assert isinstance(Mute("zscore").statistics(3), Bundle)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_rows_of_which_few_are_usable_are_measured_again_for_ledoit_wolf(dtype):
    """So many rows promise not to need a fourth moment; when nearly all are NaN, whiten needs it after all."""
    rows = np.full((70_000, 8), np.nan, dtype)
    good = np.random.default_rng(0).normal(size=(30, 8)).astype(dtype) * np.arange(1, 9, dtype=dtype)
    rows[::2400] = good[: len(rows[::2400])]
    usable = rows[::2400]
    result = Whiten().fit_source(ArrayVectors(rows), Plan(dtype=dtype))
    expected = Whiten().fit(usable)
    assert 0 < result.shrinkage_ < 1
    assert result.shrinkage_ == pytest.approx(expected.shrinkage_, rel=1e-6)
    np.testing.assert_allclose(
        np.abs(result.transform(usable)), np.abs(expected.transform(usable)), rtol=1e-3, atol=1e-4
    )
    repair = Whiten(shrinkage="ledoit-wolf").fit_source(ArrayVectors(rows), Plan(dtype=dtype))
    assert repair.shrinkage_ == pytest.approx(expected.shrinkage_, rel=1e-6)
