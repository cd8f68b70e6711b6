"""Names and numbers of a study as its document shows them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from uncone.diagnosis.catalogue import CATALOGUE, CONTEXT, DEEP, Entry
from uncone.diagnosis.contrast import Contrast
from uncone.diagnosis.finding import Finding
from uncone.diagnosis.words import cosine, percent, plain
from uncone.report.lines import interval, number
from uncone.report.results.layers import LayerStudy
from uncone.report.text import last_name, printable

__all__ = [
    "MAIN",
    "chosen",
    "contrast_names",
    "difference_text",
    "entry",
    "interval_text",
    "layer_sinks",
    "measures",
    "noun",
    "number_at",
    "number_text",
    "short_names",
    "signed",
    "unit_noun",
    "value_text",
    "with_interval",
]

MAIN = (
    "baseline",
    "selfsim_adjusted",
    "intrasim_adjusted_matched",
    "mev_adjusted",
    "isoscore_corrected",
    "rogue_share_3",
    "norm_mean",
)
"""The measures that a short rendering shows."""

_COSINES = {name for name in CONTEXT if name != "sinks"} | {
    *("isoscore", "isoscore_corrected", "mean_over_rms", "isoscore_within", "cluster_silhouette"),
    *("s_inter_global", "s_intra_global", "s_inter_within", "s_intra_within"),
    *("s_inter_within_raw", "s_intra_within_raw", "frequency_norm_r", "frequency_pc1_r", "frequency_explained"),
    "frequency_vector_norm_r",
    *("position_angle_r", "manifold_ratio"),
}
"""Measures between -1 and 1: decimals, never an exponent."""
_COUNTS = ("sinks", "cluster_count")


def entry(name: str, study: LayerStudy) -> Entry:
    """The title, definition and paper of a measure of this study."""
    if name == "baseline":
        source = CONTEXT if study.source["row"] in ("words", "tokens") else CATALOGUE
        return Entry(f"Random {noun(study)}", source[name].definition, source[name].paper)
    return {**CATALOGUE, **CONTEXT, **DEEP}.get(name, Entry(name.replace("_", " "), ""))


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


def value_text(finding: Finding | None) -> str:
    """The value of a finding, short; a dash if it is unknown."""
    value = None if finding is None else finding.value
    if finding is None or value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if finding.name == "manifold_visible":
        return "yes" if value else "no"
    if finding.name in _COUNTS:
        return f"{value:,}"
    if finding.name == "antihub_share" and isinstance(value, int | float):
        return percent(float(value))
    if finding.name in _COSINES and isinstance(value, int | float):
        return cosine(float(value), 3)
    return number(finding)


def interval_text(finding: Finding) -> str:
    """The 95 % interval, short; empty if there is none."""
    low, high = finding.low, finding.high
    if not all(isinstance(one, int | float) and math.isfinite(one) for one in (low, high)):
        return ""
    if finding.name in _COSINES:
        return f"{cosine(low, 3)} – {cosine(high, 3)}"
    return interval(finding)


def difference_text(finding: Finding) -> tuple[str, str]:
    """A difference with its sign, and its interval, empty if there is none."""
    value = finding.magnitude
    if value is None or not math.isfinite(value):
        return "–", ""
    name = finding.name
    bounds = f"{signed(finding.low, name)} to {signed(finding.high, name)}" if interval_text(finding) else ""
    return signed(value, name), bounds


def signed(value: float, name: str) -> str:
    """A difference of a measure: cosines with decimals, shares in percentage points, large numbers without decimals."""
    if name.endswith("_share") or name.startswith("rogue_share"):
        text, unit = f"{100 * value:+.1f}", "\u00a0pp"
    else:
        size = 0 if name in _COSINES else abs(value)
        text, unit = f"{value:+,.{0 if size >= 1000 else 1 if size >= 10 else 3}f}", ""
    return (text[1:] if not text.strip("+-0.") else text.replace("-", "−")) + unit


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
