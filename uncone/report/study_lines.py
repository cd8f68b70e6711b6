"""A study as short pieces of text: what its terminal, markdown, page and figures share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from uncone.diagnosis.finding import Finding
from uncone.diagnosis.measures.measure import Measure
from uncone.diagnosis.measures.registry import measure, placed
from uncone.diagnosis.measures.registry import measures as measures_of
from uncone.diagnosis.story import contextual_words
from uncone.diagnosis.words import cosine, count
from uncone.report.lines import interval, number
from uncone.report.study import LayerStudy
from uncone.report.text import last_name, printable

__all__ = [
    "SizeTable",
    "WordLine",
    "about_intervals",
    "chosen",
    "difference",
    "entry",
    "extremes",
    "headline",
    "landmarks",
    "least_contexts",
    "main_measures",
    "measures",
    "noted",
    "noun",
    "number_at",
    "short_names",
    "sinks",
    "size_table",
    "subtitle",
]

_NOUNS = {"words": "word", "tokens": "token", "cls": "CLS vector", "sentences": "text vector"}


@dataclass(frozen=True)
class WordLine:
    """A word with its self-similarity at the landmarks, and the last of them minus the baseline."""

    word: str
    kind: str
    contexts: int
    values: Sequence[str]
    adjusted: str


def entry(name: str, study: LayerStudy) -> Measure:
    """The title, definition and paper of a measure of this study."""
    if name == "baseline":
        of_words = study.source["row"] in ("words", "tokens")
        return replace(measures_of("layers" if of_words else "check")[name], title=f"Random {noun(study)}")
    return measure(name)


def noun(study: LayerStudy) -> str:
    """What two random rows are: words, tokens, or a pair of vectors."""
    row = str(study.source["row"])
    return row if row in ("words", "tokens") else "pairs"


def difference(finding: Finding) -> str:
    """A difference with its sign and interval: what a table of differences shows."""
    unit = measure(finding.name).unit
    low, high = (unit.difference(one) for one in (finding.low, finding.high))
    bounds = f" ({low} to {high})" if unit.interval(finding.low, finding.high) else ""
    return f"{unit.difference(finding.magnitude)}{bounds}"


def headline(study: LayerStudy) -> str:
    """The first sentence of the story."""
    return study.story[0] if study.story else f"{study.name}, layer by layer."


def noted(study: LayerStudy) -> list[str]:
    """What was left out, cut or sampled, also for what lies behind the cone."""
    if study.deep is None:
        return list(study.notes)
    table = [] if study.deep.table is None or not study.deep.table.note else [study.deep.table.note]
    return list(dict.fromkeys([*study.notes, *study.deep.notes, *table]))


def subtitle(study: LayerStudy) -> str:
    """How much was measured: layers, dimensions, texts, rows."""
    source = study.source
    rows = count(source["rows"], _NOUNS.get(str(source["row"]), "row"))
    shape = f"{count(source['layers'], 'layer')} x {count(source['dimensions'], 'dimension')}"
    of = f"{source['texts']:,} of " if "texts_in_corpus" in source else ""
    return f"{shape} · {of}{count(source.get('texts_in_corpus', source['texts']), 'text')} · {rows}"


def about_intervals(parts: Sequence[LayerStudy]) -> str:
    """What the intervals are about, and at which size studies are compared."""
    said = "Intervals are about texts like these at this number"
    if any(study.source["row"] in ("words", "tokens") for study in parts):
        said += ": MEV, S_inter and S_intra move with the number of texts"
        said += "." if all(study.sizes for study in parts) else ". See how far with --curve."
    else:
        said += "."
    if any("texts_in_corpus" in study.source for study in parts):
        said += f" So corpora are compared at {parts[0].source['texts']:,} texts, the size of the smallest."
    return said


@dataclass(frozen=True)
class SizeTable:
    """The measures of the last layer by the number of texts, and how far the last doubling moved each."""

    heads: Sequence[str]
    rows: Sequence[tuple[str, Sequence[str], str]]
    said: str


def size_table(study: LayerStudy) -> SizeTable | None:
    """What `--curve` shows; a change beyond the interval is marked."""
    if len(study.sizes) < 2:
        return None
    layers = [one.layers[-1] for one in study.sizes]
    rows, moving = [], []
    for name in placed("layers", "sizes"):
        found = [layer.findings.get(name) for layer in layers]
        last, before = found[-1], found[-2]
        if last is None or before is None or last.magnitude is None or before.magnitude is None:
            continue
        change = last.magnitude - before.magnitude
        unit = measure(name).unit
        beyond = interval(last) != "" and not last.low <= before.magnitude <= last.high
        moving += [entry(name, study).title.lower()] if beyond else []
        rows.append((entry(name, study).title, [number(one) for one in found], unit.difference(change) + "*" * beyond))
    if not rows:
        return None
    where = f"Layer {study.layers[-1].number} by" if len(study.layers) > 1 else "By"
    half, every = study.sizes[-2].texts, study.sizes[-1].texts
    settled = f"from {half:,} to {every:,} nothing moves by more than chance"
    still = f"* moves by more than chance from {half:,} to {every:,}: compare it at equal numbers of texts only"
    heads = [f"{one.texts:,}" for one in study.sizes]
    return SizeTable(heads, rows, f"{where} the number of texts; {still if moving else settled}.")


def measures(study: LayerStudy) -> list[str]:
    """Every measure that some layer has, in the order of the layers."""
    return list(dict.fromkeys(name for layer in study.layers for name in layer.findings))


def main_measures() -> list[str]:
    """The measures that a short rendering shows."""
    return [*placed("layers", "layers"), *placed("deep", "layers")]


def number_at(study: LayerStudy, name: str, place: int = -1) -> float | None:
    """A measure at a layer, if it is known there."""
    value = study.layers[place].value(name)
    return value if math.isfinite(value) else None


def sinks(study: LayerStudy) -> list[tuple[int, Finding]]:
    """The layers that have sinks."""
    found = ((layer.number, layer.findings.get("sinks")) for layer in study.layers)
    return [(number, one) for number, one in found if one is not None and one.magnitude]


def chosen(total: int, most: int) -> list[int]:
    """At most so many of the layers, evenly, with the first and the last.

    >>> chosen(3, 5), chosen(49, 4)
    ([0, 1, 2], [0, 16, 32, 48])
    """
    if total <= most:
        return list(range(total))
    return [int(place) for place in np.unique(np.linspace(0, total - 1, most).round())]


def landmarks(study: LayerStudy) -> list[int]:
    """The places of the first, the middle and the last layer."""
    last = len(study.layers) - 1
    return sorted({0, last // 2, last})


def extremes(study: LayerStudy, most: int = 10) -> tuple[list[WordLine], list[WordLine]]:
    """The most and the least contextual words, by self-similarity in the last layer; none when all are alike."""
    table = study.words
    if table is None or not table.n:
        return [], []
    order, _ = contextual_words(table, least_contexts(study), table.n)
    last = table.selfsim[order, -1]
    # Static vectors give every word a self-similarity of one: an order among them would be made up.
    if len(order) < 2 or np.ptp(last) < 1e-6:
        return [], []
    k = min(most, len(order) // 2)
    return [_word_line(study, i) for i in order[:k]], [_word_line(study, i) for i in order[::-1][:k]]


def least_contexts(study: LayerStudy) -> int:
    """In how many texts a word has to stand for its self-similarity to mean something."""
    return int(study.provenance.get("min_contexts", 5))


def _word_line(study: LayerStudy, i: int) -> WordLine:
    table, baseline = study.words, number_at(study, "baseline")
    assert table is not None
    values = [float(table.selfsim[i, place]) for place in landmarks(study)]
    said = [cosine(value, 3) if math.isfinite(value) else "–" for value in values]
    adjusted = "–" if baseline is None else cosine(values[-1] - baseline, 3)
    return WordLine(str(table.words[i]), table.kinds[i], int(table.contexts[i]), said, adjusted)


def short_names(parts: Sequence[LayerStudy]) -> list[str]:
    """What tells the studies apart: the model, the corpus or both; with a letter where names are the same."""
    models = [last_name(study.source["model"]) for study in parts]
    corpora = [last_name(study.source["corpus"]) for study in parts]
    if len(set(corpora)) == 1:
        names = models
    elif len(set(models)) == 1:
        names = corpora
    else:
        names = [printable(study.name) for study in parts]
    if len(set(names)) == len(names):
        return names
    return [f"{_letter(place)} {name}" for place, name in enumerate(names)]


def _letter(place: int) -> str:
    return chr(ord("A") + place) if place < 26 else str(place + 1)
