"""The difference between two studies, layer by layer, with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from uncone.analysis.context.context import Estimate
from uncone.analysis.layers.layer import Layer, WordTable
from uncone.analysis.measures.finding import Finding
from uncone.analysis.measures.registry import placed
from uncone.data.batch import Matrix

__all__ = ["Contrast", "Study", "contrast"]

_NORMAL = 1.96


class Study(Protocol):
    """What is compared."""

    @property
    def name(self) -> str:
        """What to call it."""

    @property
    def layers(self) -> Sequence[Layer]:
        """Its layers."""

    @property
    def words(self) -> WordTable | None:
        """Its words."""


@dataclass(frozen=True)
class Contrast:
    """What the study `of` has more of than the study `to`, at pairs of layers.

    `layers` pairs the layer of `to` with the layer of `of`; `findings` has the differences at each pair, by measure,
    as findings whose value, low and high are differences. `paired` tells that both were measured on the same texts.
    """

    of: str
    to: str
    layers: Sequence[tuple[int, int]]
    findings: Sequence[Mapping[str, Finding]]
    paired: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "of": self.of,
            "to": self.to,
            "paired": self.paired,
            "layers": [
                {"to": a, "of": b, "findings": {name: one.to_dict() for name, one in found.items()}}
                for (a, b), found in zip(self.layers, self.findings, strict=True)
            ],
        }


def contrast(of: Study, to: Study, *, paired: bool, least: int = 5) -> Contrast:
    """Differences of two studies: layer by layer when they have equally many, else of the first and the last.

    On the same texts (`paired`) baseline and IntraSim are compared bucket of sentences by bucket, SelfSim and MEV word
    by word; otherwise, and for the other measures, as if the two were independent.
    """
    last = len(to.layers) - 1, len(of.layers) - 1
    places = [(i, i) for i in range(last[0] + 1)] if last[0] == last[1] else sorted({(0, 0), last})
    words = _shared_words(of, to) if paired else None
    found = [
        _differences(of.layers[b], to.layers[a], a, b, words if paired else None, paired, least) for a, b in places
    ]
    return Contrast(of.name, to.name, places, found, paired)


@dataclass(frozen=True)
class _Words:
    """The words that both studies have: SelfSim and MEV of each study, and in how many sentences they stand."""

    contexts: np.ndarray
    selfsim: tuple[Matrix, Matrix]
    mev: tuple[Matrix, Matrix]


def _shared_words(of: Study, to: Study) -> _Words | None:
    if of.words is None or to.words is None:
        return None
    there = {word: i for i, word in enumerate(to.words.words)}
    pairs = [(i, there[word]) for i, word in enumerate(of.words.words) if word in there]
    if not pairs:
        return None
    a, b = np.array(pairs).T
    return _Words(
        np.minimum(of.words.contexts[a], to.words.contexts[b]),
        (of.words.selfsim[a], to.words.selfsim[b]),
        (of.words.mev[a], to.words.mev[b]),
    )


def _differences(
    of: Layer, to: Layer, a: int, b: int, words: _Words | None, paired: bool, least: int
) -> dict[str, Finding]:
    found: dict[str, Finding] = {}
    baseline = _estimate(of, to, "baseline", paired)
    for name in placed("layers", "contrast"):
        if of.findings.get(name) is None or to.findings.get(name) is None:
            continue
        estimate = _estimate(of, to, name, paired)
        if words is not None and name in ("selfsim", "selfsim_adjusted", "mev", "mev_adjusted"):
            first, second = words.mev if name.startswith("mev") else words.selfsim
            each = (first[:, b] - second[:, a])[words.contexts >= least]
            by_word = Estimate.of_mean(each[np.isfinite(each)])
            if name == "selfsim_adjusted":
                by_word = by_word.minus(Estimate(baseline.value, baseline.variance, baseline.units))
            # The value stays that of the two findings; words that only one study has do not tell its spread.
            estimate = Estimate(estimate.value, by_word.variance, by_word.units)
        n = min(of[name].n, to[name].n)
        low_high = estimate.finding(name, n, "", least=-math.inf, most=math.inf)
        found[name] = Finding(name, low_high.value, n, _meaning(low_high), low=low_high.low, high=low_high.high)
    return found


def _estimate(of: Layer, to: Layer, name: str, paired: bool) -> Estimate:
    value = of.value(name) - to.value(name)
    both = [layer[name].replicates for layer in (of, to)]
    if paired and both[0] is not None and both[1] is not None and len(both[0]) == len(both[1]):
        return Estimate.of_jackknife(value, both[0] - both[1])
    return Estimate(value, sum(_variance(layer[name]) for layer in (of, to)), 100)


def _variance(finding: Finding) -> float:
    if finding.low is None or finding.high is None or isinstance(finding.low, dict):
        return math.nan
    return float(((finding.high - finding.low) / 2 / _NORMAL) ** 2)


def _meaning(finding: Finding) -> str:
    if not isinstance(finding.value, float):
        return "Not measured in both."
    if finding.low is None or finding.high is None:
        return f"{finding.value:+.3g}; how sure that is, is not known."
    sure = "beyond chance" if finding.low > 0 or finding.high < 0 else "within chance"
    return f"{finding.value:+.3g}, {sure}."
