"""Near-duplicates: a count that a reader believes, or a sentence that cosines cannot tell."""

from __future__ import annotations

import numpy as np
import pytest

from uncone.analysis.calibration.background import survey
from uncone.analysis.cosine.units import units_of
from uncone.analysis.similarity.filters import crowd_at, duplicate_bound, equal_pairs, same_text
from uncone.data.vectors.memory import ArrayVectors


def crowd_of(rows):
    background = survey(ArrayVectors(rows.astype(np.float32), "rows"), name="rows").background
    return crowd_at(background, duplicate_bound(background.mean), len(rows))


def crowded(n=300):
    """Rows along one direction and a little of others: cosines from -1 to 1, and most of them near 1."""
    rng = np.random.default_rng(0)
    return np.hstack([np.abs(rng.normal(size=(n, 1))) * 10, rng.normal(size=(n, 7))])


def test_a_bound_amid_unrelated_pairs_tells_nothing():
    rows = crowded()
    found = crowd_of(rows)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    naive = [units[i] @ units[j] for i in range(300) for j in range(i)]
    mean = np.mean(naive)
    assert found is not None and found.bound == pytest.approx(mean + 0.98 * (1 - mean), abs=1e-6)
    assert found.share == pytest.approx(np.mean(np.array(naive) >= found.bound), rel=0.05)
    assert found.per_row == pytest.approx(found.share * 299)


def test_a_healthy_space_tells_its_near_duplicates():
    rows = np.random.default_rng(1).normal(size=(300, 32))
    rows[7] = rows[3] + 0.01 * rows[5]
    assert crowd_of(rows) is None
    assert crowd_of(rows + 1.0) is None  # crowded, but no pair comes near the bound by chance


@pytest.mark.parametrize("n", [3, 10, 400])
def test_many_copies_of_a_few_templates_leave_a_gap(n):
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(max(n // 20, 2), 32))[np.arange(n) % max(n // 20, 2)] + 1e-3 * rng.normal(size=(n, 32))
    assert crowd_of(rows) is None


def test_pairs_of_the_same_text_are_counted_and_listed():
    texts = ["A  b", "c", "a b ", "caf\u0065\u0301", "CAF\u00c9", "a B", "d"]
    units = units_of(np.random.default_rng(3).normal(size=(7, 4)).astype(np.float32))[0]
    keys = [same_text(text) for text in texts]
    found = equal_pairs(keys, units, most=2, percentile=lambda cosines: 100 * cosines, reason="the same text")
    naive = {(i, j): float(units[i] @ units[j]) for j in range(7) for i in range(j) if keys[i] == keys[j]}
    assert found.found == len(naive) == 4 and len(found.one) == 2
    assert set(naive) >= set(zip(found.one.tolist(), found.other.tolist(), strict=True))
    every = equal_pairs(keys, units, most=9, percentile=lambda cosines: 100 * cosines, reason="")
    assert list(every.cosines) == sorted(every.cosines, reverse=True)
    for one, other, cosine in zip(every.one, every.other, every.cosines, strict=True):
        assert cosine == pytest.approx(naive[one, other], abs=1e-6)
    nothing = equal_pairs("abc", units[:3], most=9, percentile=lambda cosines: cosines, reason="")
    assert nothing.found == len(nothing.one) == 0
