"""Names and numbers of a study as its document shows them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from uncone.analysis.layers.contrast import Contrast
from uncone.analysis.measures.finding import Finding
from uncone.analysis.measures.measure import Measure
from uncone.analysis.measures.registry import measure, placed
from uncone.analysis.measures.registry import measures as declared_measures
from uncone.analysis.number_format import plain
from uncone.report.lines import interval
from uncone.report.results.layers import LayerStudy
from uncone.report.text import last_name, printable

__all__ = [
    "chosen",
    "contrast_names",
    "difference_text",
    "entry",
    "layer_sinks",
    "main_measures",
    "measures",
    "noun",
    "number_at",
    "number_text",
    "short_names",
    "unit_noun",
    "with_interval",
]


def main_measures() -> list[str]:
    """The measures that a short rendering shows."""
    return [*placed("layers", "layers"), *placed("deep", "layers")]


def entry(name: str, study: LayerStudy) -> Measure:
    """The declaration of a measure, as it is computed in this study."""
    if name == "baseline":
        of_words = study.source["row"] in ("words", "tokens")
        return replace(declared_measures("layers" if of_words else "check")[name], title=f"Random {noun(study)}")
    return measure(name)


def noun(study: LayerStudy) -> str:
    """What random pairs are made of: words, tokens, or just pairs."""
    row = str(study.source["row"])
    return row if row in ("words", "tokens") else "pairs"


def unit_noun(study: LayerStudy) -> str:
    """What each vector is of: a word or token in context, or a whole text."""
    return {"words": "word", "tokens": "token"}.get(study.source.get("row", "words"), "text")


def number_text(value: float | None, style: Callable[[float], str] = plain) -> str:
    """A number as text; a dash if it is unknown."""
    return "–" if value is None or not math.isfinite(value) else style(value)


def with_interval(
    value: float | None, low: float | None, high: float | None, style: Callable[[float], str] = plain
) -> str:
    """A number with its interval if it has one."""
    if value is None or low is None or high is None:
        return number_text(value, style)
    return f"{style(value)} ({style(low)} to {style(high)})"


def difference_text(finding: Finding) -> tuple[str, str]:
    """A difference with its sign, and its interval, empty if there is none."""
    unit = measure(finding.name).unit
    bounds = " to ".join(unit.difference(one) for one in (finding.low, finding.high))
    return unit.difference(finding.magnitude), bounds if interval(finding) else ""


def measures(study: LayerStudy) -> list[str]:
    """Every measure that some layer has, in the order of the layers."""
    return list(dict.fromkeys(name for layer in study.layers for name in layer.findings))


def number_at(study: LayerStudy, name: str, place: int = -1) -> float | None:
    """A measure at a layer, if it is known there."""
    value = study.layers[place].value(name)
    return value if math.isfinite(value) else None


def layer_sinks(study: LayerStudy) -> list[tuple[int, Finding]]:
    """The layers that have sinks, with the finding."""
    findings = ((layer.number, layer.findings.get("sinks")) for layer in study.layers)
    return [(layer, one) for layer, one in findings if one is not None and one.magnitude]


def chosen(total: int, limit: int) -> list[int]:
    """At most `limit` of `total` places, evenly spread, with the first and the last.

    >>> chosen(3, 5), chosen(49, 4)
    ([0, 1, 2], [0, 16, 32, 48])
    """
    if total <= limit:
        return list(range(total))
    return [int(place) for place in np.unique(np.linspace(0, total - 1, limit).round())]


def short_names(studies: Sequence[LayerStudy]) -> list[str]:
    """What distinguishes the studies: the model, the corpus or both; with a letter if names are the same."""
    models = [last_name(study.source["model"]) for study in studies]
    corpora = [last_name(study.source["corpus"]) for study in studies]
    if len(set(corpora)) == 1:
        names = models
    elif len(set(models)) == 1:
        names = corpora
    else:
        names = [printable(study.name) for study in studies]
    if len(set(names)) == len(names):
        return names
    return [f"{_letter(place)} {name}" for place, name in enumerate(names)]


def contrast_names(studies: Sequence[LayerStudy], contrasts: Sequence[Contrast]) -> list[tuple[str, str]]:
    """Short names of the two studies of each contrast: the one that differs, and the one it differs from."""
    names = short_names(studies)
    if len(contrasts) == len(studies) - 1:
        return [(name, names[0]) for name in names[1:]]
    return [(last_name(one.of), last_name(one.to)) for one in contrasts]


def _letter(place: int) -> str:
    return chr(ord("A") + place) if place < 26 else str(place + 1)
