"""Curves that papers have published, to be drawn beside ours where the model is one of theirs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Curve", "published_curves"]


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


_STS = ("SemEval STS 2012-2016", "Ethayarajh 2019, How Contextual are Contextualized Word Representations?")
# fmt: off
_CURVES = (
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
# fmt: on


def published_curves(model: str, layers: int) -> tuple[Curve, ...]:
    """The curves of a model that goes by this name and has this many layers (with layer 0).

    >>> [curve.measure for curve in published_curves("models/bert-base-cased", 13)]
    ['baseline', 'selfsim', 'intrasim']
    >>> published_curves("gpt2-xl", 49)
    ()
    """
    name = model.rstrip("/").rsplit("/", 1)[-1].lower()
    return tuple(
        curve
        for curve in _CURVES
        if len(curve.values) == layers and re.fullmatch(rf"(openai-)?{curve.model}([-_]\d+x.*)?", name)
    )
