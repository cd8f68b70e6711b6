"""The rows most similar to one text, against a loop."""

from __future__ import annotations

import numpy as np
import pytest

from uncone.analysis.cosine.units import units_of
from uncone.analysis.similarity.pairs import near
from uncone.errors import NoUsableRowsError, OptionError, OtherSpaceError


@pytest.fixture(scope="module")
def units():
    return units_of(np.random.default_rng(0).normal(size=(400, 8)) + 0.4)[0]


def naive(units, vector):
    pairs = []
    for i, row in enumerate(units.astype(np.float64)):
        pairs.append((-float(row @ vector) / float(np.linalg.norm(vector)), i))
    return sorted(pairs)


def test_the_most_alike_come_first(units):
    vector = np.random.default_rng(1).normal(size=8) * 7
    found = near(units, vector, top=25, percentile=lambda cosines: 50 + cosines)
    expected = naive(units, vector)[:25]
    assert found.other.tolist() == [i for _, i in expected]
    np.testing.assert_allclose(found.cosines, [-c for c, _ in expected], atol=1e-6)
    np.testing.assert_array_equal(found.percentiles, 50 + found.cosines)
    assert (found.one == -1).all() and found.found == 400


def test_a_range_is_counted_exactly(units):
    vector = np.ones(8)
    found = near(units, vector, top=5, low=0.2, high=0.6)
    inside = [(c, i) for c, i in naive(units, vector) if 0.2 <= -c <= 0.6]
    assert found.found == len(inside) > 5
    assert found.other.tolist() == [i for _, i in inside[:5]]
    none = near(units, -vector, low=0.999)
    assert none.found == len(none.other) == 0


def test_ties_and_copies(units):
    table = np.concatenate([units[:3], units[:3]])
    found = near(table, units[1], low=1.0)
    assert found.other.tolist() == [1, 4] and found.found == 2


def test_bad_input(units):
    with pytest.raises(OtherSpaceError, match="9 dimensions and the table has 8"):
        near(units, np.ones(9))
    with pytest.raises(NoUsableRowsError, match="no direction"):
        near(units, np.zeros(8))
    with pytest.raises(OptionError, match="at least 1 text"):
        near(units, np.ones(8), top=0)
    with pytest.raises(OptionError, match="Swap"):
        near(units, np.ones(8), low=0.5, high=0.1)
