"""How much a word's vector depends on its context, and how alike the words of a sentence are (Ethayarajh 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import Vector
from uncone.diagnosis.baseline import COLLAPSED, CROWDED
from uncone.diagnosis.finding import Finding, Level
from uncone.diagnosis.intervals import around, jackknife_variance
from uncone.diagnosis.layer_geometry import LayerGeometry
from uncone.diagnosis.matched import Matched
from uncone.diagnosis.word_variance import selfsim_influence, two_way
from uncone.diagnosis.words import cosine, count

__all__ = ["Estimate", "baseline_of", "intra_sentence", "self_similarity", "word_mean"]


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

    def finding(self, name: str, n: int, meaning: str, *, least: float = -2.0, most: float = 2.0) -> Finding:
        """As a finding; the interval stays within what is possible."""
        if not math.isfinite(self.value):
            return Finding(name, None, n, meaning)
        low, high = around(self.value, self.variance, self.units)
        low = None if low is None else min(max(low, least), self.value)
        high = None if high is None else max(min(high, most), self.value)
        return Finding(name, self.value, n, meaning, low=low, high=high)


def baseline_of(layer: LayerGeometry) -> tuple[Estimate, Finding]:
    """Mean cosine of two rows from different sentences, exact; the interval leaves out sentences, never pairs."""
    units = layer.grouped
    estimate = Estimate.of_jackknife(min(units.baseline, 1.0), units.jackknife())
    value = estimate.value
    level = Level.COLLAPSED if value >= COLLAPSED else Level.CROWDED if value >= CROWDED else Level.HEALTHY
    plain = estimate.finding(
        "baseline",
        layer.n,
        f"Two random rows of different sentences have a cosine of {cosine(value)} on average.",
        least=-1.0,
        most=1.0,
    )
    return estimate, Finding(plain.name, plain.value, plain.n, plain.meaning, "", plain.low, plain.high, CROWDED, level)


def self_similarity(layer: LayerGeometry, baseline: Estimate) -> list[Finding]:
    """SelfSim: a plain mean over the words that stand in enough sentences; words and sentences are sampling units."""
    assert layer.words is not None
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


def intra_sentence(
    layer: LayerGeometry, baseline: Estimate, matched: Matched | None
) -> tuple[list[Finding], dict[str, NDArray[np.float64]]]:
    """IntraSim: mean over sentences; minus the baseline as published, and minus unrelated words of the same number."""
    assert layer.sentences is not None
    similarity, n = layer.sentences, layer.sentences.n
    raw = Estimate.of_jackknife(similarity.mean, similarity.jackknife())
    published = raw.minus(baseline)
    found = [
        raw.finding("intrasim", n, f"A word has a cosine of {_said(raw)} with the mean of its sentence.", most=1.0),
        published.finding(
            "intrasim_adjusted", n, f"That is {_said(published)} above the baseline, as published; not zero for chance."
        ),
    ]
    replicates = {"intrasim": raw.replicates} if raw.replicates is not None else {}
    if matched is None:
        why = "There are too few sentences to put unrelated words together."
        missing = [Finding(name, None, n, why) for name in ("intrasim_matched", "intrasim_adjusted_matched")]
        return [*found, *missing], replicates
    expected = Estimate.of_jackknife(matched.value, matched.replicates)
    difference = raw.minus(expected)
    found += [
        expected.finding(
            "intrasim_matched",
            matched.n,
            f"As many unrelated words have {_said(expected)} with their mean.",
            most=1.0,
        ),
        difference.finding(
            "intrasim_adjusted_matched",
            n,
            f"The words of a sentence are {_said(difference)} more alike than as many unrelated ones.",
        ),
    ]
    more = {"intrasim_matched": expected.replicates, "intrasim_adjusted_matched": difference.replicates}
    return found, replicates | {name: one for name, one in more.items() if one is not None}


def _said(estimate: Estimate) -> str:
    return "an unknown amount" if not math.isfinite(estimate.value) else cosine(estimate.value)
