"""Names and numbers of a study as its document shows them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from uncone.analysis.measures.finding import Finding
from uncone.analysis.measures.measure import Measure
from uncone.analysis.measures.registry import measure, measures, placed
from uncone.analysis.number_format import plain
from uncone.report.document import Cell, Column, Row
from uncone.report.results.layers import LayerStudy
from uncone.report.text import interval, last_name, printable

__all__ = [
    "columns",
    "difference_text",
    "entry",
    "evenly",
    "finding_names",
    "is_main",
    "layer_sinks",
    "number_text",
    "pair_noun",
    "row_noun",
    "short_names",
    "text_row",
    "with_interval",
]


def row_noun(study: LayerStudy) -> str:
    """What each vector is of: a word or token in context, or a whole text."""
    return {"words": "word", "tokens": "token"}.get(study.source["row"], "text")


def pair_noun(study: LayerStudy) -> str:
    """What random pairs are made of: words, tokens, or just pairs."""
    row = row_noun(study)
    return "pairs" if row == "text" else f"{row}s"


def entry(name: str, study: LayerStudy) -> Measure:
    """The declaration of a measure, as it is computed in this study."""
    if name != "baseline" or row_noun(study) == "text":
        return measure(name)
    return replace(measures("layers")[name], title=f"Random {pair_noun(study)}")


def is_main(name: str) -> bool:
    """Whether short renderings show a measure."""
    return name in (*placed("layers", "layers"), *placed("deep", "layers"))


def finding_names(study: LayerStudy) -> list[str]:
    """Every measure that some layer has, in the order of the layers."""
    return list(dict.fromkeys(name for layer in study.layers for name in layer.findings))


def layer_sinks(study: LayerStudy) -> list[tuple[int, Finding]]:
    """The layers that have sinks, with the finding."""
    findings = ((layer.number, layer.findings.get("sinks")) for layer in study.layers)
    return [(layer, one) for layer, one in findings if one is not None and one.magnitude]


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
    bounds = " to ".join(unit.difference(bound) for bound in (finding.low, finding.high))
    return unit.difference(finding.magnitude), bounds if interval(finding) else ""


def columns(*titles: str, left: int = 1) -> list[Column]:
    """Columns by their titles, the first `left` of them aligned to the left."""
    return [Column(title, align="left" if place < left else "right") for place, title in enumerate(titles)]


def text_row(*texts: str) -> Row:
    """A row of plain cells."""
    return Row([Cell(text) for text in texts])


def evenly(total: int, limit: int) -> list[int]:
    """At most `limit` of `total` places, evenly spread, with the first and the last.

    >>> evenly(3, 5), evenly(49, 4)
    ([0, 1, 2], [0, 16, 32, 48])
    """
    if total <= limit:
        return list(range(total))
    return [int(place) for place in np.unique(np.linspace(0, total - 1, limit).round())]


def short_names(studies: Sequence[LayerStudy]) -> list[str]:
    """What distinguishes the studies: the model, the corpus or both; with a letter if names are the same."""
    models, corpora = ([last_name(study.source[key]) for study in studies] for key in ("model", "corpus"))
    if len(set(corpora)) == 1:
        names = models
    elif len(set(models)) == 1:
        names = corpora
    else:
        names = [printable(study.name) for study in studies]
    if len(set(names)) == len(names):
        return names
    letters = [chr(ord("A") + place) if place < 26 else str(place + 1) for place in range(len(names))]
    return [f"{letter} {name}" for letter, name in zip(letters, names, strict=True)]
