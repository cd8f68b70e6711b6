"""A study beside others: its differences from another one, layer by layer with intervals, and published curves."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from uncone.analysis.context.context import Estimate
from uncone.analysis.layers.layer import Layer, WordTable
from uncone.analysis.measures.finding import Finding
from uncone.analysis.measures.registry import placed
from uncone.data.batch import Matrix, Vector

__all__ = ["PUBLISHED_CURVES", "Contrast", "Curve", "contrast", "is_model", "published_curves"]

_NORMAL = 1.96
_STS = ("SemEval STS 2012-2016", "Ethayarajh 2019, How Contextual are Contextualized Word Representations?")


class _Study(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def layers(self) -> Sequence[Layer]: ...
    @property
    def words(self) -> WordTable | None: ...


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
                {"to": a, "of": b, "findings": {name: finding.to_dict() for name, finding in findings.items()}}
                for (a, b), findings in zip(self.layers, self.findings, strict=True)
            ],
        }


def contrast(of: _Study, to: _Study, *, paired: bool, least: int = 5) -> Contrast:
    """Differences of two studies: layer by layer when they have equally many, else of the first and the last.

    On the same texts (`paired`) baseline and IntraSim are compared bucket of sentences by bucket, SelfSim and MEV word
    by word; otherwise, and for the other measures, as if the two were independent.
    """
    last = len(to.layers) - 1, len(of.layers) - 1
    places = [(i, i) for i in range(last[0] + 1)] if last[0] == last[1] else sorted({(0, 0), last})
    words = _shared_words(of, to, least) if paired else {}
    findings = [
        _differences(
            of.layers[b], to.layers[a], {name: x[:, b] - y[:, a] for name, (x, y) in words.items()}, paired=paired
        )
        for a, b in places
    ]
    return Contrast(of.name, to.name, places, findings, paired)


def _shared_words(of: _Study, to: _Study, least: int) -> dict[str, tuple[Matrix, Matrix]]:
    """SelfSim and MEV in both studies of the words that stand in at least so many sentences of each."""
    if of.words is None or to.words is None:
        return {}
    places = {word: i for i, word in enumerate(to.words.words)}
    pairs = [(i, places[word]) for i, word in enumerate(of.words.words) if word in places]
    if not pairs:
        return {}
    a, b = np.array(pairs).T
    enough = np.minimum(of.words.contexts[a], to.words.contexts[b]) >= least
    a, b = a[enough], b[enough]
    return {"selfsim": (of.words.selfsim[a], to.words.selfsim[b]), "mev": (of.words.mev[a], to.words.mev[b])}


def _differences(of: Layer, to: Layer, words: Mapping[str, Vector], *, paired: bool) -> dict[str, Finding]:
    """The differences at a pair of layers; `words` has those of each shared word."""
    findings: dict[str, Finding] = {}
    for name in placed("layers", "contrast"):
        if of.findings.get(name) is None or to.findings.get(name) is None:
            continue
        estimate = _estimate(of, to, name, paired)
        each = words.get(name.removesuffix("_adjusted"))
        if each is not None:
            by_word = Estimate.of_mean(each[np.isfinite(each)])
            if name == "selfsim_adjusted":
                by_word = by_word.minus(_estimate(of, to, "baseline", paired))
            # The value stays that of the two findings; words that only one study has do not tell its spread.
            estimate = Estimate(estimate.value, by_word.variance, by_word.units)
        finding = estimate.finding(name, min(of[name].n, to[name].n), "", least=-math.inf, most=math.inf)
        findings[name] = replace(finding, meaning=_meaning(finding))
    return findings


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
        return "Not measured in both studies."
    if finding.low is None or finding.high is None:
        return f"{finding.value:+.3g}, without an interval."
    chance = "more than chance" if finding.low > 0 or finding.high < 0 else "within chance"
    return f"{finding.value:+.3g}, {chance}."


@dataclass(frozen=True)
class Curve:
    """A published measure by layer, from 0."""

    measure: str
    values: Sequence[float]
    model: str
    corpus: str
    source: str

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**self.__dict__, "values": list(self.values)}


# fmt: off
PUBLISHED_CURVES = (
    Curve("baseline", (0.105, 0.168, 0.219, 0.245, 0.327, 0.377, 0.420, 0.398, 0.399, 0.484, 0.561, 0.675, 0.477),
        "bert-base-cased", *_STS),
    Curve("selfsim", (0.954, 0.921, 0.871, 0.823, 0.798, 0.781, 0.765, 0.744, 0.731, 0.754, 0.782, 0.839, 0.755),
        "bert-base-cased", *_STS),
    Curve("intrasim", (0.435, 0.522, 0.570, 0.590, 0.642, 0.695, 0.726, 0.711, 0.720, 0.771, 0.820, 0.870, 0.776),
        "bert-base-cased", *_STS),
    Curve("baseline", (0.611, 0.644, 0.597, 0.614, 0.587, 0.573, 0.578, 0.582, 0.595, 0.617, 0.667, 0.758, 0.978),
        "gpt2", *_STS),
    Curve("baseline", (0.008, 0.157, 0.136), "elmo", *_STS),
)
"""The curves of the paper, for models that are compared by name."""
# fmt: on


def published_curves(model: str, layers: int) -> tuple[Curve, ...]:
    """The curves of a model that goes by this name and has this many layers (with layer 0).

    >>> [curve.measure for curve in published_curves("models/bert-base-cased", 13)]
    ['baseline', 'selfsim', 'intrasim']
    >>> published_curves("gpt2-xl", 49)
    ()
    """
    return tuple(curve for curve in PUBLISHED_CURVES if len(curve.values) == layers and is_model(model, curve.model))


def is_model(model: str, published: str) -> bool:
    """Whether a model goes by the name of a published one, whatever its folder, organization or size suffix.

    >>> is_model("models/bert-base-cased", "bert-base-cased"), is_model("gpt2-xl", "gpt2")
    (True, False)
    """
    name = model.rstrip("/").rsplit("/", 1)[-1].lower()
    return re.fullmatch(rf"(openai-)?{published}([-_]\d+x.*)?", name) is not None
