"""Names and numbers of a study as its document shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from uncone.analysis.layers.deep_results import DeepLayer
from uncone.analysis.measures.finding import Finding
from uncone.analysis.measures.measure import Measure
from uncone.analysis.measures.registry import measure, measures, placed
from uncone.analysis.measures.unit import COUNT
from uncone.analysis.number_format import cosine, percent, plain
from uncone.report.text import interval, last_name, printable

if TYPE_CHECKING:
    from uncone.report.documents.layers import LayerStudy

__all__ = ["base_range", "difference_text", "entry", "evenly", "is_main", "number_style", "short_names"]


def entry(name: str, study: LayerStudy) -> Measure:
    """The declaration of a measure, as it is computed in this study."""
    if name != "baseline" or study.row_noun == "text":
        return measure(name)
    return replace(measures("layers")[name], title=f"Random {study.pair_noun}")


def is_main(name: str) -> bool:
    """Whether short renderings show a measure."""
    return name in (*placed("layers", "layers"), *placed("deep", "layers"))


def difference_text(finding: Finding) -> tuple[str, str]:
    """A difference with its sign, and its interval, empty if there is none."""
    unit = measure(finding.name).unit
    bounds = " to ".join(unit.difference(bound) for bound in (finding.low, finding.high))
    return unit.difference(finding.magnitude), bounds if interval(finding) else ""


def number_style(name: str) -> Callable[[float], str]:
    """How sentences and cards print the values of a measure."""
    unit = measure(name).unit
    short: Callable[[float], str] = lambda value: cosine(value) if abs(value) < 10 else plain(value)  # noqa: E731
    return percent if unit.is_share else "{:,.0f}".format if unit is COUNT else short


def base_range(layers: Sequence[DeepLayer]) -> str:
    """How many distinct vectors the local dimension of these layers is measured against."""
    bases = sorted({layer.dimensions["euclidean"].base for layer in layers})
    return f"{bases[0]:,}" if len(bases) == 1 else f"{bases[0]:,} to {bases[-1]:,}"


def evenly(total: int, limit: int) -> list[int]:
    """At most `limit` of `total` places, evenly spread, with the first and the last.

    >>> evenly(3, 5), evenly(49, 4)
    ([0, 1, 2], [0, 16, 32, 48])
    """
    return [int(place) for place in np.unique(np.linspace(0, total - 1, min(total, limit)).round())]


def short_names(studies: Sequence[LayerStudy]) -> list[str]:
    """What distinguishes the studies: the model, the corpus or both; with a letter if names are the same."""
    models, corpora = ([last_name(study.source[key]) for study in studies] for key in ("model", "corpus"))
    both = [printable(study.name) for study in studies]
    names = models if len(set(corpora)) == 1 else corpora if len(set(models)) == 1 else both
    if len(set(names)) == len(names):
        return names
    letters = [chr(ord("A") + place) if place < 26 else str(place + 1) for place in range(len(names))]
    return [f"{letter} {name}" for letter, name in zip(letters, names, strict=True)]
