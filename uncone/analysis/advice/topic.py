"""The model's cone or the topic's: a baseline beside that of the same model on texts about many subjects.

Texts about one subject score higher because they *are* similar, and a repair that takes that away takes meaning away.
What unrelated sentences on many subjects score is the model's doing; the rest is the topic's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from uncone.analysis.cosine.baseline import COLLAPSED, CROWDED
from uncone.analysis.cosine.baseline import baseline as baseline_of_space
from uncone.analysis.intervals.intervals import LEAST_UNITS, NORMAL, Interval
from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.number_format import cosine, count, percent
from uncone.analysis.space.geometry import LayerGeometry
from uncone.analysis.space.space import Space
from uncone.data.texts.diverse import SHIPPED, looks_english

__all__ = [
    "DiverseBaseline",
    "caveats",
    "diverse_of_layer",
    "diverse_of_space",
    "topic_findings",
    "topic_share",
    "unsuited",
]

MOST_UNKNOWN = 0.2
"""The share of the letters that a model may not know of a diverse text before its baseline means little."""

_LEAST_BASELINE = 0.05
"""Below it there is no crowding to divide."""
_LONGER = 3.0
"""How many times as long texts are before length has to be named as a reason."""
_READ = 500
"""Texts that are looked at for their length and language."""


@dataclass(frozen=True)
class DiverseBaseline:
    """The baseline of a model on texts on many subjects: `n` distinct ones of `name`, or the `reason` why not.

    `caveat` is what a reader has to know to compare it with the user's own texts; `noun` is what the vectors stand for.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    name: str = SHIPPED
    reason: str = ""
    caveat: str = ""
    noun: str = "texts"

    @classmethod
    def of(cls, finding: Finding, n: int, name: str, caveat: str = "", noun: str = "texts") -> DiverseBaseline:
        """The baseline that a finding has; none on fewer than 30 distinct texts."""
        if n < LEAST_UNITS:
            return cls.missing(name, f"{count(n, 'distinct text')} are too few: {LEAST_UNITS} are needed, and some "
                               "hundred are better")  # fmt: skip
        if finding.magnitude is None:
            return cls.missing(name, finding.meaning.rstrip("."))
        return cls(finding.magnitude, finding.low, finding.high, n, name, caveat=caveat, noun=noun)

    @classmethod
    def missing(cls, name: str, reason: str) -> DiverseBaseline:
        """None, and why."""
        return cls(None, None, None, 0, name, reason)


def unsuited(share: float, name: str) -> str:
    """Why a diverse text tells nothing of a model that doesn't know a share of its letters; empty if it does."""
    if share <= MOST_UNKNOWN:
        return ""
    return f"{percent(share)} of the letters of {name} are unknown to this model. {_ANOTHER}"


_ANOTHER = "Name texts on many subjects in its language: --diverse FILE"


def caveats(own: Sequence[str], diverse: Sequence[str], name: str, *, of_texts: bool = True) -> str:
    """What makes the baselines of one's own texts and of diverse ones hard to compare: language, and length."""
    parts = []
    if name == SHIPPED and not looks_english(own[:_READ]):
        parts.append(
            f"Your texts don't look English, and {name} are. If the model isn't made for English, name texts on many "
            "subjects in its language: --diverse FILE."
        )
    lengths = [_median_length(texts[:_READ]) for texts in (own, diverse)]
    if of_texts and min(lengths) > 0 and not 1 / _LONGER < lengths[0] / lengths[1] < _LONGER:
        longer = f"{lengths[0] / lengths[1]:.2g} times as long as these"
        parts.append(f"Your texts are {longer}: length changes scores too.")
    return " ".join(parts)


def _median_length(texts: Sequence[str]) -> float:
    return float(np.median([len(text) for text in texts])) if len(texts) else 0.0


def diverse_of_space(space: Space) -> list[Finding]:
    """The model's baseline on diverse text, and the topic's share of that of the space, if the former was measured."""
    return [] if space.diverse is None else topic_findings(baseline_of_space(space), space.diverse)


def diverse_of_layer(layer: LayerGeometry) -> list[Finding]:
    """The same of a layer."""
    from uncone.analysis.context.context import baseline_of

    return [] if layer.diverse is None else topic_findings(baseline_of(layer), layer.diverse)


def topic_findings(own: Finding, diverse: DiverseBaseline) -> list[Finding]:
    """Both findings, from the baselines of one's own texts and of diverse ones."""
    value = diverse.value
    if value is None:
        meaning = f"Not measured on many subjects: {diverse.reason}."
        return [Finding(name, None, diverse.n, meaning) for name in ("diverse_baseline", "topic_share")]
    level = Level.COLLAPSED if value >= COLLAPSED else Level.CROWDED if value >= CROWDED else Level.HEALTHY
    source = diverse.name if diverse.name == SHIPPED else f"the texts of {diverse.name}"
    meaning = (
        f"With this model, unrelated {diverse.noun} of {source} score {cosine(value)} on average: that is the model's."
    )
    if diverse.caveat:
        meaning += f" {diverse.caveat}"
    of_model = Finding(
        "diverse_baseline", value, diverse.n, meaning, _COMPARE, diverse.low, diverse.high, CROWDED, level
    )
    return [of_model, _topic_finding(own, diverse)]


_COMPARE = "A repair is for what the model does. What the topic does is meaning: don't repair it away."


def _topic_finding(own: Finding, diverse: DiverseBaseline) -> Finding:
    value, model = own.magnitude, diverse.value
    if value is None or model is None or value < _LEAST_BASELINE:
        meaning = f"No share: the baseline of your texts is below {_LEAST_BASELINE}, so there is no crowding to divide."
        return Finding("topic_share", None, own.n, meaning)
    share, interval = topic_share(own, diverse)
    noun = diverse.noun
    compared = (
        f"Unrelated {noun} of yours score {cosine(value)}, and unrelated {noun} on many subjects {cosine(model)} with "
        "this model"
    )
    whose = f"{_amount(share)} of the crowding ({percent(share)}) is your topic's"
    meaning = f"{compared}: {whose}." if share > 0 else f"{compared}: the crowding is the model's, not your topic's."
    return Finding("topic_share", share, own.n, meaning, _COMPARE, *interval)


def topic_share(own: Finding, diverse: DiverseBaseline) -> tuple[float, Interval]:
    """The share 1 - v/b of a baseline b that a diverse text with the baseline v doesn't have, from 0 to 1.

    The two are measured on different texts, so their variances add up (delta method).
    """
    value, model = float(own.magnitude or 0.0), float(diverse.value or 0.0)
    share = min(max(1 - model / value, 0.0), 1.0)
    if own.low is None or own.high is None or diverse.low is None or diverse.high is None:
        return share, (None, None)
    own_error, model_error = (own.high - own.low) / (2 * NORMAL), (diverse.high - diverse.low) / (2 * NORMAL)
    reach = NORMAL * math.hypot(model_error, model / value * own_error) / value
    low, high = 1 - model / value - reach, 1 - model / value + reach
    return share, (min(max(low, 0.0), share), max(min(high, 1.0), share))


def _amount(share: float) -> str:
    return "nearly all" if share >= 0.9 else "most" if share >= 0.5 else "a part" if share >= 0.2 else "little"
