"""Units of pairs that share texts: who is drawn with whom, how sure that leaves us, and which folds are clean."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, spearmanr
from simulations import KINDS, REPEATED

from uncone.analysis.intervals.bootstrap import bootstrap, differences
from uncone.analysis.intervals.labeled_pairs import PairCurve, score_pairs
from uncone.analysis.intervals.pair_units import item_units, pair_units
from uncone.analysis.intervals.resampling import bounds
from uncone.errors import ShapeError


def test_pairs_that_share_a_text_are_one_unit():
    n = 120
    left = [f"query {row // 3}" for row in range(n)]
    right = [f"document {row}" for row in range(n)]
    right[0] = " query 39 "  # ties the first unit to the last; texts are compared stripped
    units = pair_units(n, (left, right))
    together = [0 if row // 3 == 39 else row // 3 for row in range(n)]
    assert units.unit.tolist() == together and len(units) == units.independent == 39 and units.distinct == n
    assert not units.by_texts and units.note == ""
    assert units.effective == pytest.approx(n**2 / (38 * 9 + 36))
    truth = (np.arange(n) % 3 == 0).astype(float)
    fold = units.folds(truth, 5, seed=1)
    assert all(len({int(f) for f, unit in zip(fold, together, strict=True) if unit == one}) == 1 for one in range(39))
    assert np.bincount(fold).min() >= 21 and np.bincount(fold, weights=truth).min() >= 7
    assert (units.folds(truth, 5, seed=1) == fold).all() and (units.folds(truth, 5, seed=2) != fold).any()
    for one in range(5):
        assert (units.clear_of(fold == one) == (fold != one)).all()
    drawn = units.replicate(lambda counts: counts.T.astype(float), 30, 0)
    assert drawn.shape == (n, 30) and (drawn[0] == drawn[119]).all() and (drawn[0] != drawn[3]).any()
    with pytest.raises(ShapeError, match="two texts for each of 3 pairs"):
        pair_units(3, (["a"], ["b"]))


def test_folds_hold_both_kinds_in_equal_shares():
    truth = (np.random.default_rng(0).random(1003) < 0.13).astype(float)
    fold = pair_units(1003).folds(truth, 5, 0)
    assert np.ptp(np.bincount(fold)) <= 1 and np.ptp(np.bincount(fold, weights=truth)) <= 1


def test_copies_are_one_unit_whichever_text_stands_first():
    units = pair_units(60, (["a", "b", "c"] * 20, ["x", "y", "z"] * 20))
    turned = pair_units(60, ([*"abcxyz"] * 10, [*"xyzabc"] * 10))
    assert len(units) == len(turned) == units.distinct == turned.distinct == 3
    assert item_units(["a", "b", "a "]).unit.tolist() == [0, 1, 0]


def test_where_texts_link_most_pairs_texts_are_drawn():
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 60, 300), rng.integers(60, 120, 300)
    units = pair_units(300, (left.tolist(), right.tolist()))
    assert units.by_texts and len(units) < 5
    assert units.distinct == len(set(zip(left.tolist(), right.tolist(), strict=True)))
    assert 30 <= units.independent <= 60 and f"{units.independent} pairs share no text" in units.note
    weights = np.concatenate(list(units._weights(4000, 0)))
    assert weights.mean() == pytest.approx(1, abs=0.02) and weights.min() == 0
    # Pairs that share a text have covariance 1, others none.
    of_two = np.cov(weights[:, :40], rowvar=False)
    shared = (left[:40, None] == left[:40]).astype(int) + (right[:40, None] == right[:40])
    for count in (0, 1, 2):
        assert of_two[shared == count].mean() == pytest.approx(count, abs=0.1)


def test_one_text_in_all_pairs_is_one_unit():
    units = pair_units(50, (["q"] * 50, [f"d{row}" for row in range(50)]))
    assert units.by_texts and units.independent == 1
    values = np.random.default_rng(0).normal(size=50)
    low, high = bounds(units.replicate(lambda w: w @ values / w.sum(axis=1), 1000, 0))
    assert high - low > 3.92 * values.std() / np.sqrt(50)  # given the text, and wider for there is only one
    assert not units.clear_of(np.arange(50) < 10).any()


def test_a_component_that_is_cut_leaves_clean_folds():
    rows = np.arange(400)
    units = pair_units(400, (rows.tolist(), (rows + 1).tolist()))  # a chain
    fold = units.folds((rows % 3 == 0).astype(float), 5, 0)
    assert np.bincount(fold).tolist() == [80] * 5 and units.independent == 200
    for one in range(5):
        clear = units.clear_of(fold == one)
        touched = {text for row in rows[fold == one] for text in (row, row + 1)}
        assert clear.tolist() == [not {row, row + 1} & touched for row in rows.tolist()]
        assert clear.sum() >= 310
    copies = pair_units(800, ([*rows] * 2, [*(rows + 1)] * 2))
    dealt = copies.folds(np.ones(800), 5, 0)
    assert (dealt[:400] == dealt[400:]).all()


def test_datasets_that_share_pairs_are_drawn_together():
    rng = np.random.default_rng(0)
    gold, noise = rng.normal(size=300), rng.normal(size=300)
    names = [f"a{row}" for row in range(200)], [f"b{row}" for row in range(200)]
    both = [[*side, *side[:100]] for side in names]
    units = pair_units(300, (both[0], both[1]), [0] * 200 + [1] * 100)
    gold[200:], noise[200:] = gold[:100], noise[:100]
    whole, part = (
        bootstrap(gold[rows], (gold + noise)[rows], replicates=300, units=units.select(rows)).values[0]
        for rows in (np.arange(200), np.arange(200, 300))
    )
    assert np.corrcoef(whole, part)[0, 1] > 0.4  # apart it would be none
    small = pair_units(220, (["q"] * 20 + names[0], [f"d{row}" for row in range(20)] + names[1]), [0] * 20 + [1] * 200)
    assert small.by_texts  # the small set hangs together, however large the other is


def simulated(kind, n, seed):
    """Scores of people and similarities of two methods; the figures are known from many such pairs."""
    rng = np.random.default_rng(seed)
    truth = {
        "heavy tails": lambda: rng.standard_t(2, n),
        "clusters": lambda: rng.integers(0, 4, n) + 0.2 * rng.normal(size=n),
    }[kind]()
    gold = truth + 0.7 * (rng.standard_t(2.5, n) if kind == "heavy tails" else rng.normal(size=n))
    return gold, truth + rng.normal(size=n), truth + 0.8 * rng.normal(size=n)


def figures(gold, one, other):
    labels = gold > 0.5
    order = np.argsort(np.argsort(one))
    auc = (order[labels].mean() - (labels.sum() - 1) / 2) / (~labels).sum()
    first, second = spearmanr(gold, one).statistic, spearmanr(gold, other).statistic
    return np.array([first, second, second - first, auc])


@REPEATED
@KINDS
def test_intervals_cover_where_pairs_repeat(kind, n, copies):
    """A hundred sets: correlations, their difference, an AUC; drawn by rows they covered half of the time."""
    right = figures(*simulated(kind, 200_000, 999))
    names = [f"a{row}" for row in range(n)] * copies, [f"b{row}" for row in range(n)] * copies
    units = pair_units(n * copies, names)
    assert units.independent == n
    covered = np.zeros(4)
    for seed in range(100):
        gold, one, other = (np.tile(column, copies) for column in simulated(kind, n, seed))
        drawn = bootstrap(gold, np.stack([one, other]), replicates=200, seed=seed, units=units)
        auc = score_pairs(gold > 0.5, one, replicates=200, seed=seed, units=units).roc_auc
        gain = differences(drawn)[1]
        ends = [bounds(drawn.values[0]), bounds(drawn.values[1]), (gain.low, gain.high), (auc.low, auc.high)]
        covered += [low <= value <= high for (low, high), value in zip(ends, right, strict=True)]
    assert (covered >= 90).all(), covered


def linked(seed, texts=60, n=480, effect=1.0):
    """Pairs of random texts whose effects are in all their pairs."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, texts, n)
    right = (left + rng.integers(1, texts, n)) % texts
    shared = effect * rng.normal(size=(3, texts))
    gold = rng.normal(size=n) + shared[0][left] + shared[0][right]
    own = shared[1:, left] + shared[1:, right]
    return gold + 0.7 * rng.normal(size=n), gold + own + rng.normal(size=(2, n)), left, right


def test_intervals_cover_where_texts_are_linked():
    gold, values, _, _ = linked(999, 200_000, 200_000)
    right = np.array([spearmanr(gold, row).statistic for row in values])
    right = np.append(right, right[1] - right[0])
    covered, alone = np.zeros(3), np.zeros(3)
    for seed in range(60):
        gold, values, one, other = linked(seed)
        for units, hits in ((pair_units(480, (one.tolist(), other.tolist())), covered), (pair_units(480), alone)):
            drawn = bootstrap(gold, values, replicates=200, seed=seed, units=units).values
            ends = [bounds(row) for row in (drawn[0], drawn[1], drawn[1] - drawn[0])]
            hits += [low <= value <= high for (low, high), value in zip(ends, right, strict=True)]
    assert (covered >= 53).all() and alone.min() < 50, (covered, alone)


def test_intervals_are_wider_where_texts_repeat():
    """Over 200 sets of 40 queries with 10 documents each, whose scores hang together, by queries and by pairs."""
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(40), 10)
    held = {True: 0, False: 0}
    truth = np.tile([1.0, 0.0], 200)
    grouped, single = pair_units(400, (unit.tolist(), range(100, 500))), pair_units(400)
    for _ in range(200):
        values = truth * (1.0 + 2 * rng.normal(size=40)[unit]) + rng.normal(size=400)
        # Each alike pair exceeds each unlike one with variance 4 + 1 + 1 and mean 1.
        right = norm.cdf(1 / np.sqrt(6))
        cuts = PairCurve(truth, values)
        for units in (grouped, single):
            low, high = bounds(units.replicate(lambda counts, cuts=cuts: cuts(counts)[0], 100, 0))
            held[units is grouped] += bool(low <= right <= high)
    assert held[True] > 175 and held[False] < 150


def test_the_interval_of_an_average_over_sets():
    """Twenty sets of 25 pairs, forty times: the average of the draws covers the mean of such sets, and is narrow."""
    sets = [simulated("clusters", 25, 10_000 + seed) for seed in range(1500)]
    right = np.mean([spearmanr(gold, one).statistic for gold, one, _ in sets])
    n = 20 * 25
    units = pair_units(n, (range(n), range(n, 2 * n)), np.repeat(np.arange(20), 25))
    covered, widths, of_ends = 0, [], []
    for seed in range(40):
        values, ends = np.zeros(150), []
        for at in range(20):
            gold, one, _ = simulated("clusters", 25, (seed, at))
            rows = np.arange(25 * at, 25 * at + 25)
            drawn = bootstrap(gold, one, replicates=150, seed=seed, units=units.select(rows)).values[0]
            values += drawn / 20
            ends.append(bounds(drawn))
        low, high = bounds(values)
        covered += low <= right <= high
        widths.append(high - low)
        of_ends.append(np.diff(np.mean(ends, axis=0))[0])
    assert covered >= 36 and np.mean(of_ends) / np.mean(widths) == pytest.approx(np.sqrt(20), rel=0.1)
