"""How much a word's vector depends on its context, and how similar the words of a sentence are (Ethayarajh 2019).

And how similar the occurrences of one type are, and those of different types (Cai et al. 2021).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.context.matched import matched_intrasim
from uncone.analysis.cosine.baseline import COLLAPSED, CROWDED
from uncone.analysis.intervals.intervals import around, jackknife_variance, weighted_deviations
from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.number_format import cosine, count
from uncone.analysis.space.geometry import LayerGeometry
from uncone.data.batch import IntVector, Vector
from uncone.stats.hashing import hash_keys

__all__ = [
    "Estimate",
    "baseline_of",
    "clustered",
    "intra_sentence",
    "self_similarity",
    "type_similarity",
    "word_pairs",
]

_TYPE_CONTEXTS = 2
"""Different sentences that a type stands in for S_intra."""


@dataclass(frozen=True)
class Estimate:
    """A number with its variance, the units it is a mean over, and its values without each bucket of sentences."""

    value: float
    variance: float
    units: int
    replicates: NDArray[np.float64] | None = None

    @classmethod
    def of_mean(cls, values: Vector) -> Estimate:
        """The mean of independent units."""
        n = len(values)
        variance = float(values.var(ddof=1)) / n if n > 1 else math.nan
        return cls(float(values.mean()) if n else math.nan, variance, n)

    @classmethod
    def of_jackknife(cls, value: float, replicates: NDArray[np.float64]) -> Estimate:
        """A function of all sentences, with its values without each bucket of them."""
        return cls(value, jackknife_variance(replicates), int(np.isfinite(replicates).sum()), replicates)

    def minus(self, other: Estimate) -> Estimate:
        """The difference: bucket by bucket where both depend on the same sentences, else as if independent."""
        if self.replicates is not None and other.replicates is not None:
            return Estimate.of_jackknife(self.value - other.value, self.replicates - other.replicates)
        units = min(self.units, other.units)
        return Estimate(self.value - other.value, self.variance + other.variance, units)

    def finding(
        self, name: str, n: int, meaning: str, *, least: float = -2.0, most: float = 2.0, paired: bool = False
    ) -> Finding:
        """As a finding; the interval stays within what is possible. `paired` findings carry their replicates."""
        replicates = self.replicates if paired else None
        if not math.isfinite(self.value):
            return Finding(name, None, n, meaning, replicates=replicates)
        low, high = around(self.value, self.variance, self.units)
        low = None if low is None else min(max(low, least), self.value)
        high = None if high is None else max(min(high, most), self.value)
        return Finding(name, self.value, n, meaning, low=low, high=high, replicates=replicates)


def _baseline(layer: LayerGeometry) -> Estimate:
    """Mean cosine of two rows from different sentences, exact."""
    units = layer.units
    return Estimate.of_jackknife(min(units.baseline, 1.0), units.jackknife())


def baseline_of(layer: LayerGeometry) -> Finding:
    """The baseline; its interval leaves out sentences, never pairs."""
    estimate = layer.derived(_baseline)
    value = estimate.value
    level = Level.COLLAPSED if value >= COLLAPSED else Level.CROWDED if value >= CROWDED else Level.HEALTHY
    finding = estimate.finding(
        "baseline",
        layer.n,
        f"Two random vectors from different sentences have a cosine of {cosine(value)} on average.",
        least=-1.0,
        most=1.0,
        paired=True,
    )
    return replace(finding, threshold=CROWDED, level=level)


def self_similarity(layer: LayerGeometry) -> list[Finding]:
    """SelfSim: a plain mean over the words that stand in enough sentences; words and sentences are sampling units."""
    baseline = layer.derived(_baseline)
    raw, by_words, each, n = _word_mean(layer, layer.least)
    # What a row adds to the baseline: what a text adds to both does not count in the difference.
    to_baseline = 2 * (layer.sample.dot(layer.units.total) / layer.sample.norms / layer.n - baseline.value)
    adjusted = Estimate(raw.value - baseline.value, _two_way(layer, by_words, each, to_baseline), raw.units)
    over = f"over {count(n, 'word')} in at least {layer.least} sentences"
    return [
        raw.finding("selfsim", n, f"Two occurrences of a word have a cosine of {_text(raw)}, {over}.", most=1.0),
        adjusted.finding(
            "selfsim_adjusted", n, f"That is {_text(adjusted)} above two random words; 0 is no trace of the word."
        ),
    ]


def _word_mean(layer: LayerGeometry, least: int) -> tuple[Estimate, float, Vector, int]:
    """The mean self-similarity of the words in at least so many different sentences.

    With its variance over words alone, what each sampled row adds to it, and the number of words. Pairs from copies of
    a sentence count in the value and not in the spread over words: they are all 1.
    """
    words = layer.words
    values, apart = words.selfsim(), words.selfsim(apart=True)
    eligible = np.flatnonzero((words.contexts >= least) & np.isfinite(values))
    spread = Estimate.of_mean(apart[eligible])
    each = _selfsim_influence(layer, apart, eligible)
    units = min(len(eligible), layer.texts)
    value = float(values[eligible].mean()) if len(eligible) else math.nan
    return Estimate(value, _two_way(layer, spread.variance, each), units), spread.variance, each, len(eligible)


def intra_sentence(layer: LayerGeometry) -> list[Finding]:
    """IntraSim: mean over sentences; minus the baseline as published, and minus unrelated words of the same number."""
    similarity, n = layer.sentences, layer.sentences.n
    matched = layer.derived(matched_intrasim)
    raw = Estimate.of_jackknife(similarity.mean, similarity.jackknife())
    published = raw.minus(layer.derived(_baseline))
    meaning = f"A word has a cosine of {_text(raw)} with the mean of its sentence."
    findings = [
        raw.finding("intrasim", n, meaning, most=1.0, paired=True),
        published.finding(
            "intrasim_adjusted",
            n,
            f"That is {_text(published)} above the baseline, as published. It isn't zero for unrelated words.",
        ),
    ]
    if matched is None:
        reason = "There are too few sentences to draw unrelated words from."
        missing = [Finding(name, None, n, reason) for name in ("intrasim_matched", "intrasim_adjusted_matched")]
        return [*findings, *missing]
    expected = Estimate.of_jackknife(matched.value, matched.replicates)
    difference = raw.minus(expected)
    return [
        *findings,
        expected.finding(
            "intrasim_matched",
            matched.n,
            f"As many unrelated words have a cosine of {_text(expected)} with their mean.",
            most=1.0,
            paired=True,
        ),
        difference.finding(
            "intrasim_adjusted_matched",
            n,
            f"The words of a sentence are {_text(difference)} more similar than as many unrelated ones.",
            paired=True,
        ),
    ]


def type_similarity(layer: LayerGeometry) -> list[Finding]:
    """S_intra over the types in two sentences or more, S_inter over all pairs; types and sentences are units."""
    within, _, _, n = _word_mean(layer, _TYPE_CONTEXTS)
    between, t = _between(layer)
    return [
        within.finding("s_intra", n, f"Within a type: {_text(within)}, over {n:,} types.", most=1.0),
        between.finding("s_inter", t, f"Between types: {_text(between)}, over {t:,} types."),
    ]


def _between(layer: LayerGeometry) -> tuple[Estimate, int]:
    """(|sum m|^2 - sum |m|^2)/(T^2 - T) and T; its variance from the mean cosine of each type with all others.

    Types that occur once are only there as a sum, so their part in the variance is read off those in the sample.
    """
    words = layer.words
    counts = np.maximum(words.counts, 1)  # a word that was not met has a sum of zero, and so a mean of zero
    met = int(np.count_nonzero(words.counts))
    total = (1 / counts) @ words.totals + words.single_total
    t = met + words.singles
    if t < 3:
        return Estimate(math.nan, math.nan, t), t
    squares = np.vecdot(words.totals, words.totals) / counts**2
    value = (float(total @ total) - float(squares.sum()) - words.singles) / (t * (t - 1))
    each = [((words.totals @ total / counts - squares) / (t - 1))[words.counts > 0]]
    shares = [met / t]
    sample = layer.sample
    alone = np.flatnonzero(sample.words == -1) if sample.words is not None else np.empty(0, np.int64)
    if len(alone) > 1:
        units = sample.vectors_at(alone) / sample.norms[alone, None]
        each.append((units @ total - 1) / (t - 1))
        shares.append(words.singles / t)
    mean = sum(share * float(part.mean()) for share, part in zip(shares, each, strict=True) if len(part))
    square = sum(share * float((part**2).mean()) for share, part in zip(shares, each, strict=True) if len(part))
    by_types = 4 * max(square - mean**2, 0.0) / t
    return Estimate(
        value, _two_way(layer, by_types, _type_influence(layer, total, squares, value, t)), min(t, layer.texts)
    ), t


def _type_influence(layer: LayerGeometry, total: Vector, squares: Vector, value: float, t: int) -> Vector:
    """What each sampled row adds to S_inter, times the number of rows.

    A row whose type stands in one text alone adds its type, any other its context.
    """
    words, sample = layer.words, layer.sample
    each = np.zeros(sample.n)
    if sample.words is None:
        return each
    towards = sample.dot(total) / sample.norms
    single, rows = np.flatnonzero(sample.words == -1), np.flatnonzero(sample.words >= 0)
    each[single] = 2 * layer.n / t * ((towards[single] - 1) / (t - 1) - value)
    word = sample.words[rows]
    counts, contexts = words.counts[word], words.contexts[word]
    means = (words.totals @ total)[word] / counts
    by_type = (means - squares[word]) / (t - 1) - value
    # The mean of few contexts lies too close to each of them.
    by_context = (towards[rows] - means) / (t - 1) * np.sqrt(contexts / np.maximum(contexts - 1, 1))
    each[rows] = 2 * layer.n / t * np.where(contexts > 1, by_context, by_type) / counts
    return each


def _two_way(layer: LayerGeometry, by_words: float, each: Vector, other: Vector | float = 0.0) -> float:
    """The variance of a mean over words, from its variance `by_words` and from what each sampled row adds to it.

    The spread over words holds what every word's own occurrences do by chance, as if those of two words were
    independent. But a text moves all of its words. So the part of occurrences is taken out (each word in each text on
    its own), and put back text by text. `other` is what the rows add to a number that is subtracted.
    """
    sample = layer.sample
    texts, pairs = layer.shared_draw(
        3, lambda _: (_codes(layer.sample_groups), _codes(word_pairs(layer.sample_groups, sample.words, sample.rows)))
    )
    own = _mean_variance(layer, each, pairs)
    return max(by_words - own, 0.0) + _mean_variance(layer, np.asarray(each - other), texts)


def _mean_variance(layer: LayerGeometry, each: Vector, codes: IntVector) -> float:
    """As `mean_spread`, with groups that are numbered from 0 on: so they need not be sorted for every measure."""
    centered = weighted_deviations(each, layer.sample.weights)
    sums, square = np.bincount(codes, weights=centered), float(centered @ centered)
    return square / len(each) / layer.effective + max(float(sums @ sums) - square, 0.0) / len(each) ** 2


def _codes(groups: IntVector) -> IntVector:
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def word_pairs(groups: IntVector, words: IntVector | None, rows: IntVector) -> IntVector:
    """The same number for the same word in the same text; a word that occurs once is one of its own."""
    if words is None:
        return rows
    mixed = hash_keys(groups, 1).astype(np.int64) + hash_keys(words, 2).astype(np.int64)
    return np.where(words == -1, hash_keys(rows, 3).astype(np.int64), mixed)


def clustered(each: Vector, groups: IntVector) -> float:
    """The sum of the squares of what the rows of a group add together.

    >>> clustered(np.array([1.0, 2.0, 3.0]), np.array([7, 7, 9]))
    18.0
    """
    _, place = np.unique(groups, return_inverse=True)
    sums = np.bincount(place, weights=each)
    return float(sums @ sums)


def _selfsim_influence(layer: LayerGeometry, selfsim: Vector, eligible: IntVector) -> Vector:
    """What each sampled row adds to the mean self-similarity of the `eligible` words, times the number of rows.

    A row counts against those in other texts; the occurrences in one text are taken for copies.
    """
    words, sample = layer.words, layer.sample
    each = np.zeros(sample.n)
    if sample.words is None or not len(eligible):
        return each
    is_eligible = np.zeros(words.words, np.bool_)
    is_eligible[eligible] = True
    rows = np.flatnonzero((sample.words >= 0) & is_eligible[sample.words])
    word = sample.words[rows]
    counts = words.counts[word]
    own = counts / words.contexts[word]
    others = counts - own
    # Against the mean of all words: of a word with two occurrences nothing else is known.
    mean = float(selfsim[eligible].mean())
    towards = layer.towards_words[rows]
    each[rows] = 2 * layer.n / len(eligible) * (towards - own - others * mean) / (counts * others)
    return each


def _text(estimate: Estimate) -> str:
    return cosine(estimate.value) if math.isfinite(estimate.value) else "an unknown amount"
