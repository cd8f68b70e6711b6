"""How much a word's vector depends on its context, and how alike the words of a sentence are (Ethayarajh 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.context.matched import matched_intrasim
from uncone.analysis.context.word_variance import selfsim_influence, two_way
from uncone.analysis.cosine.baseline import COLLAPSED, CROWDED
from uncone.analysis.intervals.intervals import around, jackknife_variance
from uncone.analysis.layers.geometry import LayerGeometry
from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.number_format import cosine, count
from uncone.data.batch import Vector

__all__ = ["Estimate", "baseline_estimate", "baseline_of", "intra_sentence", "self_similarity", "word_mean"]


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
        if not math.isfinite(self.value):
            return Finding(name, None, n, meaning, replicates=self.replicates if paired else None)
        low, high = around(self.value, self.variance, self.units)
        low = None if low is None else min(max(low, least), self.value)
        high = None if high is None else max(min(high, most), self.value)
        replicates = self.replicates if paired else None
        return Finding(name, self.value, n, meaning, low=low, high=high, replicates=replicates)


def baseline_estimate(layer: LayerGeometry) -> Estimate:
    """Mean cosine of two rows from different sentences, exact."""
    units = layer.grouped
    return Estimate.of_jackknife(min(units.baseline, 1.0), units.jackknife())


def baseline_of(layer: LayerGeometry) -> Finding:
    """The baseline; its interval leaves out sentences, never pairs."""
    estimate = layer.derived(baseline_estimate)
    value = estimate.value
    level = Level.COLLAPSED if value >= COLLAPSED else Level.CROWDED if value >= CROWDED else Level.HEALTHY
    finding = estimate.finding(
        "baseline",
        layer.n,
        f"Two random rows of different sentences have a cosine of {cosine(value)} on average.",
        least=-1.0,
        most=1.0,
        paired=True,
    )
    return replace(finding, threshold=CROWDED, level=level)


def self_similarity(layer: LayerGeometry) -> list[Finding]:
    """SelfSim: a plain mean over the words that stand in enough sentences; words and sentences are sampling units."""
    assert layer.words is not None
    baseline = layer.derived(baseline_estimate)
    raw, by_words, each, n = word_mean(layer, layer.least)
    # What a row adds to the baseline: what a text adds to both does not count in the difference.
    to_baseline = 2 * (layer.sample.dot(layer.grouped.total) / layer.sample.norms / layer.n - baseline.value)
    adjusted = Estimate(raw.value - baseline.value, two_way(layer, by_words, each, to_baseline), raw.units)
    over = f"over {count(n, 'word')} in at least {layer.least} sentences"
    return [
        raw.finding("selfsim", n, f"Two occurrences of a word have a cosine of {_said(raw)}, {over}.", most=1.0),
        adjusted.finding(
            "selfsim_adjusted", n, f"That is {_said(adjusted)} above two random words: 0 would be no trace of the word."
        ),
    ]


def word_mean(layer: LayerGeometry, least: int) -> tuple[Estimate, float, Vector, int]:
    """The mean self-similarity of the words in at least so many different sentences.

    With its variance over words alone, what each sampled row adds to it, and the number of words. Pairs from copies of
    a sentence count in the value and not in the spread over words: they are all 1.
    """
    words = layer.words
    assert words is not None
    values, apart = words.selfsim(), words.selfsim(apart=True)
    chosen = np.flatnonzero((words.contexts >= least) & np.isfinite(values))
    spread = Estimate.of_mean(apart[chosen])
    each = selfsim_influence(layer, apart, chosen)
    units = min(len(chosen), layer.texts)
    value = float(values[chosen].mean()) if len(chosen) else math.nan
    return Estimate(value, two_way(layer, spread.variance, each), units), spread.variance, each, len(chosen)


def intra_sentence(layer: LayerGeometry) -> list[Finding]:
    """IntraSim: mean over sentences; minus the baseline as published, and minus unrelated words of the same number."""
    assert layer.sentences is not None
    similarity, n = layer.sentences, layer.sentences.n
    matched = layer.derived(matched_intrasim)
    raw = Estimate.of_jackknife(similarity.mean, similarity.jackknife())
    published = raw.minus(layer.derived(baseline_estimate))
    meaning = f"A word has a cosine of {_said(raw)} with the mean of its sentence."
    found = [
        raw.finding("intrasim", n, meaning, most=1.0, paired=True),
        published.finding(
            "intrasim_adjusted", n, f"That is {_said(published)} above the baseline, as published; not zero for chance."
        ),
    ]
    if matched is None:
        why = "There are too few sentences to put unrelated words together."
        missing = [Finding(name, None, n, why) for name in ("intrasim_matched", "intrasim_adjusted_matched")]
        return [*found, *missing]
    expected = Estimate.of_jackknife(matched.value, matched.replicates)
    difference = raw.minus(expected)
    return [
        *found,
        expected.finding(
            "intrasim_matched",
            matched.n,
            f"As many unrelated words have {_said(expected)} with their mean.",
            most=1.0,
            paired=True,
        ),
        difference.finding(
            "intrasim_adjusted_matched",
            n,
            f"The words of a sentence are {_said(difference)} more alike than as many unrelated ones.",
            paired=True,
        ),
    ]


def _said(estimate: Estimate) -> str:
    return "an unknown amount" if not math.isfinite(estimate.value) else cosine(estimate.value)
