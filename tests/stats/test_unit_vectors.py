import numpy as np
import pytest

from uncone.data.batch import Batch
from uncone.data.vectors.memory import ArrayVectors
from uncone.run.measure import Plan, measure
from uncone.stats.unit_vectors import CosineSums, GroupedUnitSum, UnitScatter, UnitSum


def units_of(rows):
    rows = rows.astype(np.float64)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def naive(rows, left_out=()):
    """A double loop over all pairs in float64."""
    units = units_of(rows)
    n = len(rows)
    return np.array([units[i] @ units[j] for i in range(n) for j in range(i + 1, n) if (i, j) not in left_out])


def cone_of(mean_cosine, n, d, seed=0):
    """Rows whose mean cosine is about this, of different lengths."""
    rng = np.random.default_rng(seed)
    spread = np.sqrt((1 / mean_cosine - 1) / d)
    rows = np.eye(d)[0] + spread * rng.normal(size=(n, d))
    return rows * rng.uniform(0.5, 20, size=(n, 1))


@pytest.mark.parametrize("mean_cosine", [0.01, 0.5, 0.9, 0.999, 0.99999])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_mean_and_deviation_equal_a_double_loop(mean_cosine, dtype):
    rows = cone_of(mean_cosine, 400, 24).astype(dtype)
    expected = naive(rows)
    assert expected.mean() == pytest.approx(mean_cosine, rel=0.3)
    found = measure(ArrayVectors(rows), UnitScatter(24, dtype=dtype), Plan(dtype=dtype)).among()
    single = dtype == np.float32
    assert found.pairs == len(expected)
    assert found.mean == pytest.approx(expected.mean(), abs=2e-7 if single else 1e-14)
    assert found.sd == pytest.approx(expected.std(), abs=1e-7 if single else 1e-14, rel=1e-5 if single else 1e-9)


def test_float32_keeps_the_digits_over_many_blocks():
    """A cone of mean cosine .999 whose deviation is 2e-4: |U'U|^2 in float32 would have no digit of it."""
    rows = cone_of(0.999, 40_000, 16, seed=3).astype(np.float32)
    found = measure(ArrayVectors(rows), UnitScatter(16)).among()
    units = units_of(rows)
    n, total, gram = len(rows), units.sum(axis=0), units.T @ units
    mean = (total @ total - n) / (n * n - n)
    second = ((gram**2).sum() - n) / (n * n - n)
    assert found.mean == pytest.approx(mean, abs=1e-7)
    assert found.sd == pytest.approx(np.sqrt(second - mean**2), rel=1e-4)
    careless = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    lost = float(((careless.T @ careless) ** 2).sum(dtype=np.float32)) / n**2 - float(mean) ** 2
    assert abs(lost - found.sd**2) > 0.1 * found.sd**2


@pytest.mark.parametrize("mean_cosine", [0.3, 0.999])
def test_pairs_left_out_are_left_out_exactly(mean_cosine):
    rows = cone_of(mean_cosine, 90, 7)
    left_out = {(i, j) for i in range(0, 90, 5) for j in range(i + 1, min(i + 5, 90))}
    units = units_of(rows)
    cosines = np.array([units[i] @ units[j] for i, j in left_out])
    scatter = UnitScatter(7, dtype=np.float64)
    scatter.update(Batch.of(rows))
    found = scatter.among(CosineSums(len(cosines), cosines.sum(), (cosines**2).sum()))
    expected = naive(rows, left_out)
    assert found.pairs == len(expected)
    assert (found.mean, found.sd) == pytest.approx((expected.mean(), expected.std()), rel=1e-9)


@pytest.mark.parametrize("mean_cosine", [0.1, 0.999])
def test_two_sides_equal_a_double_loop(mean_cosine):
    queries, documents = cone_of(mean_cosine, 60, 9, seed=1), cone_of(mean_cosine, 110, 9, seed=2) + 0.05
    expected = units_of(queries) @ units_of(documents).T
    sides = [UnitScatter(9, dtype=np.float64) for _ in range(2)]
    for side, rows in zip(sides, (queries, documents), strict=True):
        side.update(Batch.of(rows))
    found = sides[0].between(sides[1])
    assert (found.pairs, found.mean, found.sd) == pytest.approx((6_600, expected.mean(), expected.std()), rel=1e-10)
    gone = expected[:10, :10]
    fewer = sides[0].between(sides[1], CosineSums(100, gone.sum(), (gone**2).sum()))
    kept = np.delete(expected.ravel(), [i * 110 + j for i in range(10) for j in range(10)])
    assert (fewer.pairs, fewer.mean, fewer.sd) == pytest.approx((6_500, kept.mean(), kept.std()), rel=1e-9)


def test_the_variance_of_the_mean_is_the_jackknife():
    rows = cone_of(0.4, 40, 6)
    scatter = UnitScatter(6, dtype=np.float64)
    scatter.update(Batch.of(rows))
    without = np.array([naive(np.delete(rows, i, axis=0)).mean() for i in range(40)])
    assert scatter.among().variance == pytest.approx(39 / 40 * ((without - without.mean()) ** 2).sum(), rel=1e-9)


@pytest.mark.parametrize("n", [0, 1])
def test_no_pairs(n):
    scatter = UnitScatter(3)
    scatter.update(Batch.of(np.ones((n, 3))))
    assert scatter.among().pairs == 0 and np.isnan(scatter.among().mean)


def naive_products(rows, groups):
    """A double loop over all pairs of rows from different groups."""
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    total, pairs = np.zeros(rows.shape[1]), 0
    for i in range(len(rows)):
        for j in range(len(rows)):
            if i != j and groups[i] != groups[j]:
                total += units[i] * units[j]
                pairs += 1
    return total / pairs


def test_baseline_and_contributions_equal_a_double_loop(cone):
    rows = cone(60, 7).astype(np.float64)
    units = UnitSum(7)
    units.update(Batch.of(rows))
    expected = naive_products(rows, range(60))
    np.testing.assert_allclose(units.contributions, expected, rtol=1e-12)
    assert units.baseline == pytest.approx(expected.sum(), rel=1e-12)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_groups_equal_a_double_loop(cone, size):
    rows, groups = cone(60, 7).astype(np.float64), np.arange(60) // size
    units = GroupedUnitSum(7, buckets=10)
    units.update(Batch.of(rows, groups=groups))
    np.testing.assert_allclose(units.contributions, naive_products(rows, groups), rtol=1e-11)


def test_groups_need_not_lie_together(cone):
    rows, groups = cone(40, 4).astype(np.float64), np.arange(40) % 8
    units = GroupedUnitSum(4)
    units.update(Batch.of(rows, groups=groups))
    np.testing.assert_allclose(units.contributions, naive_products(rows, groups), rtol=1e-11)


def test_jackknife_leaves_out_whole_groups(cone):
    rows, groups = cone(60, 5).astype(np.float64), np.arange(60) // 3
    units = GroupedUnitSum(5, buckets=4)
    units.update(Batch.of(rows, groups=groups))
    values = units.jackknife()
    assert len(values) == np.count_nonzero(units.counts)
    # Independently: which groups share a bucket is seen by adding them one by one.
    place = []
    for group in range(20):
        one = GroupedUnitSum(5, buckets=4)
        one.update(Batch.of(rows[groups == group], groups=groups[groups == group]))
        place.append(int(one.counts.argmax()))
    for value, bucket in zip(values, np.flatnonzero(units.counts), strict=True):
        kept = np.array([place[g] != bucket for g in groups])
        assert value == pytest.approx(naive_products(rows[kept], groups[kept]).sum(), rel=1e-10)
