import numpy as np
import pytest

from uncone.data.batch import Batch
from uncone.stats.unit_vectors import GroupedUnitSum, UnitSum


def naive(rows, groups):
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
    expected = naive(rows, range(60))
    np.testing.assert_allclose(units.contributions, expected, rtol=1e-12)
    assert units.baseline == pytest.approx(expected.sum(), rel=1e-12)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_groups_equal_a_double_loop(cone, size):
    rows, groups = cone(60, 7).astype(np.float64), np.arange(60) // size
    units = GroupedUnitSum(7, buckets=10)
    units.update(Batch.of(rows, groups=groups))
    np.testing.assert_allclose(units.contributions, naive(rows, groups), rtol=1e-11)


def test_groups_need_not_lie_together(cone):
    rows, groups = cone(40, 4).astype(np.float64), np.arange(40) % 8
    units = GroupedUnitSum(4)
    units.update(Batch.of(rows, groups=groups))
    np.testing.assert_allclose(units.contributions, naive(rows, groups), rtol=1e-11)


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
        assert value == pytest.approx(naive(rows[kept], groups[kept]).sum(), rel=1e-10)
