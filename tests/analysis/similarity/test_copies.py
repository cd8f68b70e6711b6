"""Intervals of a similarity when data repeat: distinct texts are the sampling units, copies weigh in the value alone.

The simulations draw distinct rows from spaces with heavy tails and with clusters, repeat them, and count how often the
intervals hold the truth, which comes from large draws without copies.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from simulations import KINDS, REPEATED, one_daily

from uncone.analysis.cosine.units import units_of
from uncone.analysis.intervals.intervals import student
from uncone.analysis.similarity.per_label import label_auc, per_label
from uncone.analysis.similarity.sampling_units import background_error, copies_of
from uncone.analysis.similarity.two_columns import two_columns, unrelated_pairs

TIMES = 60
LEAST = 52
"""Of 60: 90 in 100 are asked for, less what chance takes from a rate of 95 % one time in a hundred."""


def space(kind, rng, n, d=6):
    """Rows of two labels, in turn: with heavy tails, or in five clusters of which the labels have unequal shares."""
    codes = np.arange(n) % 2
    if kind == "heavy tails":
        rows = rng.standard_t(2.5, size=(n, d))
    else:
        centers = 2 * np.random.default_rng(99).normal(size=(5, d))
        rows = centers[(5 * rng.random(n) ** (1 + codes)).astype(int)] + 0.5 * rng.normal(size=(n, d))
    rows[:, 0] += 1.0
    rows[:, 1] += 0.8 * codes
    return units_of(rows)[0], codes


def own_share(n, k):
    """Of the pairs of n rows that stand k times each, those of copies."""
    return (k - 1) / (n * k - 1)


@cache
def truth(kind):
    """The mean cosine within both labels and between them, and the AUC, without copies."""
    found = [per_label(*space(kind, np.random.default_rng(10**6 + seed), 2000), 0.0) for seed in range(6)]
    return np.mean([[*(row.cosine.mean for row in one.table), one.auc] for one in found], axis=0)


def expected(kind, n, copies):
    """The same with copies of n rows, whose pairs score 1 and are within a label; and what is above background."""
    first, second, between, auc = truth(kind)
    half, more = n // 2, own_share(n // 2, copies)
    background = (half * (half - 1) / 2 * (first + second) + half**2 * between) / (n * (n - 1) / 2)
    labels = [first + more * (1 - first), second + more * (1 - second)]
    means = [*labels, between, np.mean(labels), between, auc + more * (1 - auc)]
    return [*means, *(one - background for one in (*labels, between))]


def intervals(found):
    """The intervals of a table of two labels: both, between them, overall, the AUC, and above the background."""
    cosines = [row.cosine for row in found.table]
    above = [(row.above.low, row.above.high) for row in found.table]
    means = [(one.low, one.high) for one in (*cosines, found.within, found.between)]
    return [*means, (found.auc_low, found.auc_high), *above]


def labeled(units, codes, **options):
    """The table with the error of the background of the same rows."""
    return per_label(units, codes.tolist(), 0.0, background=background_error(units, copies_of(units)), **options)


def shifted(found, background):
    """The intervals above the background, whose mean was not taken off."""
    return [*intervals(found)[:6], *((low - background, high - background) for low, high in intervals(found)[6:])]


def background_mean(units):
    """The mean cosine of rows that differ, by the whole matrix."""
    distinct, weights = np.unique(units, axis=0, return_counts=True)
    cosines, both = distinct.astype(float) @ distinct.T.astype(float), np.outer(weights, weights).astype(float)
    np.fill_diagonal(both, 0)
    return float((cosines * both).sum() / both.sum())


@KINDS
@REPEATED
def test_intervals_of_labels_cover_the_truth_when_rows_repeat(kind, n, copies):
    wanted, hits = np.array(expected(kind, n, copies)), np.zeros(9)
    for seed in range(TIMES):
        units, codes = space(kind, np.random.default_rng(seed), n)
        units, codes = np.repeat(units, copies, axis=0), np.repeat(codes, copies)
        bounds = np.array(shifted(labeled(units, codes), background_mean(units)))
        hits += (bounds[:, 0] <= wanted) & (wanted <= bounds[:, 1])
    assert (hits >= LEAST).all(), hits


def pairs(kind, rng, n, shared=False):
    """Two rows side by side: the second is like the first, more so with label 1. `shared`: each first stands thrice."""
    codes = np.arange(n) % 2
    left = space(kind, rng, n)[0].astype(float)
    left = left[3 * (np.arange(n) // 3)] if shared else left
    noise = space(kind, rng, n)[0].astype(float)
    return left, units_of((0.6 + 0.5 * codes)[:, None] * left + noise)[0].astype(float), codes


@cache
def pair_truth(kind, shared):
    """The mean cosine of the pairs of both labels and their AUC, and the mean of unrelated ones."""
    left, right, codes = pairs(kind, np.random.default_rng(10**6), 90_000, shared)
    found = two_columns(left, right, codes.tolist())
    apart = left.mean(axis=0) @ right.mean(axis=0)
    means = [row.cosine.mean for row in found.table]
    return np.array([*means, found.auc["1 over 0"][0], apart, *(mean - apart for mean in means)])


def over(auc):
    """The interval of label 1 over label 0, whichever is named first."""
    _, low, high = auc.get("1 over 0") or auc["0 over 1"]
    return (low, high) if "1 over 0" in auc else (1 - high, 1 - low)


def pair_intervals(left, right, codes):
    background, error = unrelated_pairs(left.astype(np.float32), right.astype(np.float32))
    found = two_columns(left, right, codes.tolist(), background.mean, background=error)
    means = [(row.cosine.low, row.cosine.high) for row in found.table]
    above = [(row.above.low, row.above.high) for row in found.table]
    return np.array([*means, over(found.auc), (background.mean_low, background.mean_high), *above])


@one_daily("shared", True, False)
@KINDS
@REPEATED
def test_intervals_of_two_columns_cover_the_truth_when_rows_repeat(kind, n, copies, shared):
    wanted, hits = pair_truth(kind, shared), np.zeros(6)
    for seed in range(TIMES):
        sides = (np.repeat(part, copies, axis=0) for part in pairs(kind, np.random.default_rng(seed), n, shared))
        bounds = pair_intervals(*sides)
        hits += (bounds[:, 0] <= wanted) & (wanted <= bounds[:, 1])
    assert (hits >= LEAST).all(), hits


def repeated(n=36, labels="ab", seed=5):
    """Rows that stand one to four times, some under two labels; the text of each row as a number."""
    rng = np.random.default_rng(seed)
    text = np.repeat(np.arange(n), rng.integers(1, 5, n))
    units = space("clusters", rng, n)[0][text]
    return units, [labels[code] for code in (text + (rng.random(len(text)) < 0.3)) % len(labels)], text


def pair_means(units, labels, keep, text):
    """The mean cosine of every two labels, within, between and of rows that differ, by the whole matrix."""
    rows = units[keep].astype(float)
    cosines, codes = rows @ rows.T, np.array(labels)[keep]
    upper, same = np.triu(np.ones_like(cosines, bool), 1), codes[:, None] == codes
    masks = {}
    for a in sorted(set(labels)):
        for b in sorted(set(labels)):
            if a <= b:
                two = (codes[:, None] == a) & (codes == b) | (codes[:, None] == b) & (codes == a)
                masks[a, b] = upper & two
    masks |= {"within": upper & same, "between": upper & ~same}
    masks["background"] = upper & (text[keep][:, None] != text[keep])
    return {key: cosines[mask].mean() for key, mask in masks.items()}


def reach(values):
    """Half the interval by leaving out one text in turn."""
    n = len(values)
    return student(n - 1) * np.sqrt((n - 1) * np.var(values))


def test_intervals_are_those_of_leaving_out_a_text_with_all_its_copies():
    units, labels, text = repeated(labels="abc")
    found = labeled(units, np.array(labels))
    left = {t: pair_means(units, labels, text != t, text) for t in range(36)}
    for key, one in (("within", found.within), ("between", found.between)):
        assert one.high - one.low == pytest.approx(2 * reach([means[key] for means in left.values()]), rel=1e-5)
    for row in found.table[:3]:
        of_label = [t for t in range(36) if row.one in {labels[i] for i in np.flatnonzero(text == t)}]
        without = np.array([left[t][row.one, row.one] for t in of_label])
        assert row.cosine.high - row.cosine.low == pytest.approx(2 * reach(without), rel=1e-5)
        # Above the background: both means move when a text goes.
        moved, others = np.zeros(36), np.array([left[t]["background"] for t in range(36)])
        n = len(of_label)
        moved[of_label] = (without - without.mean()) * np.sqrt((n - 1) / n)
        moved -= (others - others.mean()) * np.sqrt(35 / 36)
        assert row.above.high - row.above.low == pytest.approx(2 * student(n - 1) * np.sqrt(moved @ moved), rel=1e-5)
    # Between two labels the jackknife differs from the two-sample variance by a share of 1/n.
    for row in found.table[3:]:
        both = {row.one, row.other}
        held = [t for t in range(36) if both & {labels[i] for i in np.flatnonzero(text == t)}]
        width = 2 * reach([left[t][row.one, row.other] for t in held])
        assert row.cosine.high - row.cosine.low == pytest.approx(width, rel=0.12)


def test_the_same_pairs_have_the_same_interval():
    for rows in (4, 40):
        units, codes = space("heavy tails", np.random.default_rng(0), rows)
        found = labeled(units, codes)
        assert found.between == found.table[-1].cosine and found.between.low is not None
    alone = labeled(units[:21], np.array([0] * 20 + [1]))
    assert alone.within.low == pytest.approx(alone.table[0].cosine.low)


def test_one_label_of_all_texts_is_nothing_above_their_background():
    units, _ = space("clusters", np.random.default_rng(0), 50)
    (row,) = per_label(units, ["a"] * 50, background_mean(units), background=background_error(units, None)).table
    assert row.above.low == pytest.approx(0, abs=1e-6) and row.above.high == pytest.approx(0, abs=1e-6)


def test_very_many_copies_are_drawn_by_text():
    """The AUC looks at 3,000 texts at most; copies of them cost nothing, so repeating a table leaves it the same."""
    units, codes = space("clusters", np.random.default_rng(0), 1500)
    once = label_auc(units, codes)
    thrice = label_auc(np.repeat(units, 3, axis=0), np.repeat(codes, 3), groups=np.repeat(np.arange(1500), 3))
    assert thrice.rows == 4500 and thrice.texts == once.texts == 1500
    assert thrice.high - thrice.low == pytest.approx(once.high - once.low, rel=0.02)
