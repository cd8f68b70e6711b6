"""Pairs of texts by label, against loops and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from uncone.analysis.intervals.intervals import student
from uncone.analysis.similarity.two_columns import two_columns
from uncone.errors import NoUsableRowsError, ShapeError


def pairs_of(n=300, shift=(1.5, 0.7, 0.0), seed=0, d=6):
    """Two vectors a row; the second is the more like the first, the larger the shift of its label."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % len(shift)
    left = rng.normal(size=(n, d)) + 0.3
    right = np.array(shift)[codes][:, None] * left + rng.normal(size=(n, d))
    return left, right, [("entailment", "neutral", "contradiction")[code] for code in codes]


def test_cosines_and_table_equal_a_loop():
    left, right, labels = pairs_of()
    found = two_columns(left, right, labels, 0.25)
    each = [float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)) for a, b in zip(left, right, strict=True)]
    np.testing.assert_allclose(found.cosines, each, atol=1e-12)
    assert found.labels == labels
    assert [row.one for row in found.table] == ["contradiction", "entailment", "neutral"]
    for row in found.table:
        values = np.array([c for c, label in zip(each, labels, strict=True) if label == row.one])
        assert row.other == row.one and row.cosine.pairs == len(values) == 100
        assert row.cosine.mean == pytest.approx(values.mean())
        assert row.cosine.sd == pytest.approx(values.std())
        reach = 1.984217 * values.std(ddof=1) / 10  # Student's t with 99 degrees of freedom
        assert row.cosine.low == pytest.approx(values.mean() - reach, abs=1e-5)
        assert row.cosine.high == pytest.approx(values.mean() + reach, abs=1e-5)
        assert row.above.mean == pytest.approx(values.mean() - 0.25) and row.above.sd == row.cosine.sd
        assert row.above.high - row.above.low == pytest.approx(2 * reach, abs=1e-5)


def test_auc_of_every_two_labels_is_that_of_scikit_learn():
    left, right, labels = pairs_of()
    found = two_columns(left, right, labels)
    assert list(found.auc) == ["entailment over contradiction", "neutral over contradiction", "entailment over neutral"]
    for name, (value, low, high) in found.auc.items():
        one, other = name.split(" over ")
        mask = np.isin(labels, (one, other))
        truth = (np.array(labels) == one)[mask]
        assert value == pytest.approx(roc_auc_score(truth, found.cosines[mask]), abs=1e-4)
        assert 0.5 < low < value < high < 1
    assert found.differs.startswith("All labels differ: most entailment over contradiction (AUC 0.97")


def test_ties_count_half():
    left = np.eye(40)
    found = two_columns(left, left, ["a", "b"] * 20)
    assert found.auc["a over b"][0] == 0.5 and "doesn't separate the labels" in found.differs
    few = two_columns(left[:20], left[:20], ["a", "b"] * 10)
    assert "20 pairs that share no text are too few to say whether the labels differ" in few.differs
    same = np.ones((40, 3))
    assert two_columns(same, same, ["a", "b"] * 20).auc == {}, "one text is one pair, however often it stands there"


def delong(one, other):
    """DeLong's variance by a double loop (DeLong, DeLong and Clarke-Pearson 1988)."""
    over = np.array([[1.0 if a > b else 0.5 if a == b else 0.0 for b in other] for a in one])
    return over.mean(axis=1).var(ddof=1) / len(one) + over.mean(axis=0).var(ddof=1) / len(other)


def test_interval_is_that_of_delong_on_the_log_odds():
    left, right, labels = pairs_of(600, (0.5, 0.0))
    found = two_columns(left, right, labels)
    mask = np.array(labels) == "entailment"
    value, low, high = found.auc["entailment over neutral"]
    se = np.sqrt(delong(found.cosines[mask], found.cosines[~mask])) / (value * (1 - value))
    center = np.log(value / (1 - value))
    for bound, side in ((low, -1), (high, 1)):
        assert bound == pytest.approx(1 / (1 + np.exp(-(center + side * 1.9645 * se))), abs=1e-3)


def test_copies_of_rows_are_one_sampling_unit():
    left, right, labels = pairs_of(300, (0.6, 0.0))
    once = two_columns(left, right, labels)
    # Each row three times over: no more is known than before.
    many = two_columns(*(np.repeat(table, 3, axis=0) for table in (left, right)), np.repeat(labels, 3).tolist())
    for a, b in zip(once.table, many.table, strict=True):
        assert b.cosine.mean == pytest.approx(a.cosine.mean) and b.cosine.pairs == 3 * a.cosine.pairs
        assert b.cosine.high - b.cosine.low == pytest.approx(a.cosine.high - a.cosine.low, rel=1e-6)
    assert many.auc["entailment over neutral"] == pytest.approx(once.auc["entailment over neutral"], abs=1e-9)
    assert many.units == once.units == {"entailment over neutral": 300}


def by_texts(each, texts):
    """The variance of a sum of rows that vary together where they share a text, by a double loop over rows."""
    shared = [(i, j) for i, one in enumerate(texts) for j, other in enumerate(texts) if set(one) & set(other)]
    return sum(each[i] * each[j] for i, j in shared)


def test_rows_that_share_a_text_vary_together():
    """First texts that stand several times, second ones too, and texts that stand in both columns."""
    rng = np.random.default_rng(0)
    pool = rng.normal(size=(80, 6)) + 0.5
    texts = list(zip(rng.integers(0, 40, 120).tolist(), rng.integers(20, 80, 120).tolist(), strict=True))
    left, right = (pool[[pair[side] for pair in texts]] for side in (0, 1))
    (row,) = two_columns(left, right).table
    each = (found := two_columns(left, right).cosines) - found.mean()
    n = 120**2 / by_texts(np.ones(120), texts)
    reach = student(n - 1) * np.sqrt(by_texts(each, texts) / 120**2 * n / (n - 1))
    assert row.cosine.high - row.cosine.low == pytest.approx(2 * reach, rel=1e-6)


def over_a(auc):
    """The interval of b over a, whichever way round it was told."""
    _, low, high = auc.get("b over a") or auc["a over b"]
    return (low, high) if "b over a" in auc else (1 - high, 1 - low)


@pytest.mark.parametrize("grouped", [False, True])
def test_intervals_cover_the_truth(grouped):
    def draw(rng, n):
        """Pairs that share their first text, when they are grouped, and then vary together."""
        groups = np.arange(n) // 3 if grouped else np.arange(n)
        common = rng.normal(size=n)[groups] if grouped else np.zeros(n)
        first = (6.28 * rng.random(n))[groups]
        second = first + 0.8 + 0.4 * rng.normal(size=n) + 0.4 * common - 0.25 * (np.arange(n) % 2)
        return *(np.stack([np.cos(side), np.sin(side)], axis=1) for side in (first, second)), ["a", "b"] * (n // 2)

    left, right, labels = draw(np.random.default_rng(10**6), 300_000)
    large = two_columns(left, right, labels)
    truth = [*(row.cosine.mean for row in large.table), large.auc["b over a"][0]]
    hits = np.zeros(3)
    for seed in range(200):
        found = two_columns(*draw(np.random.default_rng(seed), 120))
        bounds = [(row.cosine.low, row.cosine.high) for row in found.table] + [over_a(found.auc)]
        hits += [low <= value <= high for (low, high), value in zip(bounds, truth, strict=True)]
    # 190 of 200 are meant; three standard errors of that are nine.
    assert (hits >= 181).all() and (hits <= 199).all(), hits


def test_sentences():
    left, right, labels = pairs_of(600, (0.6, 0.6, 0.0))
    assert "2 of 3 pairs of labels differ: most" in (said := two_columns(left, right, labels).differs)
    assert said.endswith("No difference found: entailment and neutral.")
    same = two_columns(*pairs_of(300, (0.5, 0.5))).differs
    assert same.startswith("Cosine doesn't separate the labels; the largest difference is entailment over neutral")
    little = two_columns(*pairs_of(9000, (0.5, 0.4))).differs
    assert little.startswith("The two labels differ, but little: entailment over neutral (AUC 0.5")
    assert "only one label" in two_columns(left, right, ["x"] * 600).differs
    assert "too few pairs" in two_columns(left[:3], right[:3], labels[:3]).differs
    assert "nothing to compare" in two_columns(left, right, [None] * 600).differs


def test_without_labels_all_rows_are_one():
    left, right, _ = pairs_of(50)
    found = two_columns(left, right)
    assert found.labels is None and found.auc == {} and found.differs == ""
    assert len(found.table) == 1 and found.table[0].cosine.mean == pytest.approx(found.cosines.mean())


def test_rows_without_a_direction_or_label_are_left_out():
    left, right, labels = pairs_of(30)
    left[3] = 0.0
    right[4] = np.nan
    given = [None if i == 5 else label for i, label in enumerate(labels)]
    found = two_columns(left, right, given)
    assert np.flatnonzero(np.isnan(found.cosines)).tolist() == [3, 4]
    assert sum(row.cosine.pairs for row in found.table) == 27
    assert found.labels[5] == ""


def test_many_labels_are_bounded():
    left, right, _ = pairs_of(400)
    found = two_columns(left, right, [i % 40 for i in range(400)])
    assert len(found.table) == 12 and len(found.auc) == 66
    assert "The table has the 12 largest of 40 labels." in found.differs


def test_perfect_order_has_a_bound_that_is_not_one():
    angles = np.arange(20) / 5
    beside = angles + np.where(angles < 2, 0.01 * angles, 1.5)
    left, right = (np.stack([np.cos(side), np.sin(side)], axis=1) for side in (angles, beside))
    value, low, high = two_columns(left, right, ["a"] * 10 + ["b"] * 10).auc["a over b"]
    assert value == high == 1 and 0.5 < low < 0.9


def test_bad_input_is_one_line():
    left, right, labels = pairs_of(9)
    with pytest.raises(ShapeError, match="one shape"):
        two_columns(left, right[:8], labels)
    with pytest.raises(ShapeError, match="one label per pair: there are 2 for 9"):
        two_columns(left, right, labels[:2])
    with pytest.raises(NoUsableRowsError, match="None of the 9 pairs"):
        two_columns(0 * left, right, labels)
