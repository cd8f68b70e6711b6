"""The overview of a study: names and numbers, verdict, cards, tables of layers and sizes, sinks, definitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.analysis.cosine.baseline import COLLAPSED, CROWDED
from uncone.analysis.layers.deep_results import DeepLayer
from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.measures.measure import Measure
from uncone.analysis.measures.registry import measure, measures, placed
from uncone.analysis.measures.unit import COUNT, DIMENSION
from uncone.analysis.number_format import clipped, cosine, count, percent, plain
from uncone.report.document import Card, Cell, Column, Facts, Fold, Row, Section, Sentences, Table, Verdict, table
from uncone.report.text import interval, last_name, number, printable, provenance_facts

if TYPE_CHECKING:
    from uncone.report.documents.layers import LayerStudy

__all__ = [
    "base_range", "brief_layers", "brief_places", "brief_table", "definitions", "difference_text", "entry", "evenly",
    "interval_note", "is_main", "layer_section", "number_style", "provenance", "short_names", "sink_section",
    "size_section", "study_notes", "subtitle", "verdict",
]  # fmt: skip

_ROW_NOUNS = {"words": "word", "tokens": "token", "cls": "CLS vector", "sentences": "text vector"}
_CARDS = {
    "baseline": "mean cosine of random {pairs}{where}",
    "selfsim_adjusted": "self-similarity of a word above random {pairs}{where}",
    "intrasim_adjusted_matched": "similarity within sentences above unrelated words{where}",
    "sinks": "vectors over 10 times the median norm",
    "isoscore_corrected": "IsoScore{where}; 1 uses all directions equally",
    "effective_rank": "directions used{where}",
    "rogue_share_3": "of the mean cosine comes from three dimensions{where}",
}
"""Measures with what a card says of them; the first four that are known are shown."""
_GROUPS = {
    "Words in context": ("baseline", "diverse", "topic", "selfsim", "intrasim"),
    "Types of words": ("mev", "s_intra", "s_inter"),
    "Norms and rogue dimensions": ("mean_over_rms", "rogue", "norm", "sinks"),
    "Shape of the space": (),
    "Neighborhoods, clusters, frequency and manifolds": (),
}
"""Headings of the table of layers with the beginnings of the names under them."""
_DIMENSIONS = 3
"""Dimensions that a cell of the table has room for."""
_SINK_LAYERS = 10
"""Layers with sinks that are listed; the table has them all."""
_MOST_LAYERS, _DEEP_LAYERS, _LONG = 30, 9, 20
"""Layers that a terminal shows: of a plain study, of a deep one, and of a study with too many."""
_COMPARED_LAYERS = 14
"""Layers of several studies together."""
_DEEP_DETAILS = 3
"""Sentences of the story that leave room for what is behind the cone on the same screen."""


def verdict(study: LayerStudy, *, swatch: str = "") -> Verdict:
    """The story of a study; of several studies, terminals show the headlines only."""
    headline = study.story[0] if study.story else f"{study.name}, layer by layer."
    rest = list(study.story[1:])
    details = 0 if swatch else len(rest) if study.deep is None else _DEEP_DETAILS
    most = max((value for value in study.curve("baseline") if value is not None), default=None)
    level = Level.NOTE
    if most is not None:
        level = Level.COLLAPSED if most >= COLLAPSED else Level.CROWDED if most >= CROWDED else Level.HEALTHY
    look: dict[str, Any] = {"name": study.name if swatch else "", "swatch": swatch, "bulleted": len(rest) > 2}
    return Verdict(headline, level, rest[:details], more=rest[details:], cards=_cards(study), **look)


def _cards(study: LayerStudy) -> list[Card]:
    where = " in the last layer" if len(study.layers) > 1 else ""
    cards = []
    for name, label in _CARDS.items():
        curve, label = study.curve(name), label.format(pairs=study.pair_noun, where=where)
        value = curve[-1]
        if name == "sinks" and (sinks := study.sinks):
            several = len(sinks) > 1
            layers = f"{len(sinks)} layers, {sinks[0][0]} to {sinks[-1][0]}" if several else f"layer {sinks[0][0]}"
            cards.append(Card(f"{'up to ' * several}{count(_most(sinks), 'sink')}", f"{label}, in {layers}"))
        elif name != "sinks" and value is not None:
            of = f" of {study.source['dimensions']:,}" if measure(name).unit is DIMENSION else ""
            points = zip(curve, (layer.number for layer in study.layers), strict=True)
            most, peak = max((each, number) for each, number in points if each is not None)
            if name == "baseline" and where:
                is_last = peak == study.layers[-1].number
                label += ", the most crowded" if is_last else f"; layer {peak} is the most crowded: {cosine(most)}"
            cards.append(Card(f"{number_style(name)(value)}{of}", label))
    return cards[:4]


def _most(sinks: Sequence[tuple[int, Finding]]) -> int:
    return int(max(finding.magnitude or 0.0 for _, finding in sinks))


def subtitle(study: LayerStudy) -> str:
    """The numbers of layers, dimensions, texts and vectors."""
    source = study.source
    vectors = count(source["rows"], _ROW_NOUNS.get(str(source["row"]), "vector"))
    shape = f"{count(source['layers'], 'layer')} x {count(source['dimensions'], 'dimension')}"
    of = f"{source['texts']:,} of " if "texts_in_corpus" in source else ""
    return f"{shape} · {of}{count(source.get('texts_in_corpus', source['texts']), 'text')} · {vectors}"


def interval_note(studies: Sequence[LayerStudy]) -> str:
    """Sentences on what the intervals hold for, and at which size studies are compared."""
    sentences = ["Intervals hold for texts like these and for this number of texts."]
    if any(study.row_noun != "text" for study in studies):
        hint = "" if all(study.sizes for study in studies) else ": --curve shows how much"
        sentences.append(f"MEV, S_inter and S_intra change with the number of texts{hint}.")
    if any("texts_in_corpus" in study.source for study in studies):
        sentences.append(f"So corpora are compared at {studies[0].source['texts']:,} texts, the size of the smallest.")
    return " ".join(sentences)


def study_notes(study: LayerStudy) -> list[str]:
    """Notes on what was left out, cut or sampled, also for the deep results."""
    if study.deep is None:
        return list(study.notes)
    table = "" if study.deep.table is None else study.deep.table.note
    return list(dict.fromkeys(filter(None, [*study.notes, *study.deep.notes, table])))


def brief_places(study: LayerStudy, studies: int = 1) -> list[int]:
    """The layers that a terminal shows."""
    layers = len(study.layers)
    if studies > 1:
        return evenly(layers, max(_COMPARED_LAYERS // studies, 2))
    limit = _MOST_LAYERS if study.deep is None else _DEEP_LAYERS
    return evenly(layers, layers if layers <= limit else min(limit, _LONG))


def brief_table(study: LayerStudy, names: Sequence[str], places: Sequence[int], remarks: Sequence[str]) -> list[Table]:
    """Measures by layer, for one screen; none if no layer has any of them."""
    names = [name for name in names if any(layer.findings.get(name) is not None for layer in study.layers)]
    sinks = dict(study.sinks)
    rows = []
    for layer in (study.layers[place] for place in places):
        first = Cell(str(layer.number), mark="*" if layer.number in sinks else "")
        rows.append([first, *(number(layer.findings.get(name)) for name in names)])
    heads = [Column("layer"), *(Column(*measure(name).column) for name in names)]
    return [table(heads, rows, remarks=remarks)] if names else []


def brief_layers(study: LayerStudy, studies: int) -> list[Table]:
    """The main measures by layer, for one screen."""
    sinks, places = study.sinks, brief_places(study, studies)
    remarks = [subtitle(study)] if studies > 1 else []
    if sinks:
        most = f"{'up to ' * (len(sinks) > 1)}{count(_most(sinks), 'vector')} over 10 times the median norm"
        remarks.append(f"* sinks in {count(len(sinks), 'layer')}: {most}")
    if studies == 1 and len(places) < len(study.layers):
        remarks.append(f"{len(places)} of {len(study.layers)} layers shown; the report has all of them")
    tables = brief_table(study, (*placed("layers", "layers"), *placed("deep", "layers")), places, remarks)
    return [replace(each, title=last_name(study.name)) if studies > 1 else each for each in tables]


def layer_section(studies: Sequence[LayerStudy], names: Sequence[str], about: str) -> Section:
    """Every measure at every layer."""
    single = len(studies) == 1 and len(studies[0].layers) == 1
    intro = (
        "Every measure at every layer; 0 is the output of the embeddings. On the page, point at a number for its 95 % "
        "interval."
    )
    tables = [_layer_table(study, name) for study, name in zip(studies, names, strict=True)]
    title, intro = ("All measures", about) if single else ("All layers", f"{intro} {about}")
    return Section(title, tables, intro=intro, name="layers")


def _layer_table(study: LayerStudy, title: str) -> Table:
    """Measures in rows, grouped by idea; layers in columns, or value, interval and n of a single layer."""
    single = len(study.layers) == 1
    heads = ["value", "95 % interval", "n"] if single else [str(layer.number) for layer in study.layers]
    groups: dict[str, list[Row]] = {group: [] for group in _GROUPS}
    for name in study.finding_names:
        groups[_group(name, study)].append(_measure_row(study, name))
    rows = [row for group, inner in groups.items() if inner for row in (Row([Cell(group)]), *inner)]
    return table(["measure" if single else "layer", *heads], rows, title=title, compact=True)


def _group(name: str, study: LayerStudy) -> str:
    *_, shape, deep = _GROUPS
    if name in measures("deep"):
        return deep
    if name in ("baseline", "diverse_baseline", "topic_share") and study.row_noun == "text":
        return shape
    return next((group for group, starts in _GROUPS.items() if starts and name.startswith(starts)), shape)


def _measure_row(study: LayerStudy, name: str) -> Row:
    declared = entry(name, study)
    cells = [_measure_cell(layer.findings.get(name), strong=is_main(name)) for layer in study.layers]
    if len(study.layers) == 1:
        finding = study.layers[0].findings[name]
        cells += [Cell(interval(finding)), Cell(f"{finding.n:,}")]
    return Row([Cell(declared.title, strong=is_main(name), hover=declared.definition), *cells])


def _measure_cell(finding: Finding | None, *, strong: bool) -> Cell:
    if finding is None:
        return Cell("")
    bounds = interval(finding)
    hover = [f"95 %: {bounds}" if bounds else "", f"n = {finding.n:,}", finding.meaning]
    text, small = number(finding), ""
    if isinstance(finding.value, list):
        names = list(map(str, finding.value))
        hover.insert(0, ", ".join(names))
        text = str(len(names)) if names else "none"
        small = ", ".join(names[:_DIMENSIONS]) + " …" * (len(names) > _DIMENSIONS)
    return Cell(text, small, strong=strong, hover="\n".join(filter(None, hover)))


def size_section(study: LayerStudy, *, brief: bool) -> Section | None:
    """The measures of the last layer by the number of texts (`--curve`); bold if they still change."""
    if len(study.sizes) < 2:
        return None
    rows, moving = [], False
    for name in placed("layers", "sizes"):
        findings = [size.layers[-1].findings.get(name) for size in study.sizes]
        last, before = findings[-1], findings[-2]
        if last is None or before is None or last.magnitude is None or before.magnitude is None:
            continue
        moves = interval(last) != "" and not last.low <= before.magnitude <= last.high
        moving |= moves
        change = Cell(measure(name).unit.difference(last.magnitude - before.magnitude), strong=moves, mark="*" * moves)
        rows.append([entry(name, study).title, *map(number, findings), change])
    if not rows:
        return None
    half, every = study.sizes[-2].texts, study.sizes[-1].texts
    outcome = (
        f"* changes by more than chance from {half:,} to {every:,} texts: compare it at equal numbers of texts only."
        if moving
        else f"From {half:,} to {every:,} texts, no measure changes by more than chance."
    )
    where = f"Layer {study.layers[-1].number} by" if len(study.layers) > 1 else "By"
    heads = [Column("measure", align="left", wrap=True), *(f"{size.texts:,}" for size in study.sizes)]
    sizes = table([*heads, f"{half:,} to {every:,}"], rows, remarks=[f"{where} the number of texts. {outcome}"])
    return Section("By the number of texts", [sizes], brief=[sizes] if brief else (), name="sizes")


def sink_section(study: LayerStudy) -> Section | None:
    """The layers with sinks and examples of them."""
    sinks = study.sinks
    if not sinks:
        return None
    folds = []
    for layer, finding in (sinks[place] for place in evenly(len(sinks), _SINK_LAYERS)):
        meaning = [Sentences([finding.meaning])] if finding.meaning else []
        names = ["" if row.get("text") is None else f"{clipped(str(row['text']), 80)} · " for row in finding.rows]
        sizes = [f"vector {row['row']:,}, norm {plain(float(row['value']))}" for row in finding.rows]
        lines = [f"{name}{size}" for name, size in zip(names, sizes, strict=True)]
        examples = [Sentences(lines, bulleted=True)] if lines else []
        summary = f"{count(int(finding.magnitude or 0), 'sink')} · n = {finding.n:,}"
        folds.append(Fold(f"Layer {layer}", [*meaning, *examples], summary=summary))
    intro = (
        "Vectors with a norm over 10 times the median of their layer. One can dominate the geometry of a whole layer."
    )
    return Section("Sinks", folds, intro)


def definitions(studies: Sequence[LayerStudy]) -> Section:
    """The title, name, definition and paper of every measure."""
    entries = {name: entry(name, study) for study in reversed(studies) for name in study.finding_names}
    pairs = []
    for name in dict.fromkeys(name for study in studies for name in study.finding_names):
        declared = entries[name]
        paper = f" {declared.paper}{'' if declared.paper[-1] in '.?!' else '.'}" if declared.paper else ""
        pairs.append((f"{declared.title} ({name})", f"{declared.definition}{paper}"))
    return Section("Definitions", [Facts(pairs)], name="definitions")


def provenance(studies: Sequence[LayerStudy], names: Sequence[str]) -> Section:
    """The provenance of each study."""
    blocks = []
    for study, name in zip(studies, names, strict=True):
        source, kind = study.source, study.source.get("model_kind")
        facts = [
            ("model", f"{source['model']} ({kind})" if kind else str(source["model"])),
            ("corpus", str(source["corpus"])),
            ("measured", subtitle(study)),
            *(
                (f"published {curve.measure}", f"{curve.model} on {curve.corpus}: {curve.source}")
                for curve in study.published
            ),
        ]
        blocks.append(Facts([*facts, *provenance_facts(study.provenance)], name))
    return Section("Provenance", blocks)


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
    """The number format of a measure in sentences and cards."""
    unit = measure(name).unit
    short: Callable[[float], str] = lambda value: cosine(value) if abs(value) < 10 else plain(value)  # noqa: E731
    return percent if unit.is_share else "{:,.0f}".format if unit is COUNT else short


def base_range(layers: Sequence[DeepLayer]) -> str:
    """The number of distinct vectors behind the local dimension of these layers, or its range."""
    bases = sorted({layer.dimensions["euclidean"].base for layer in layers})
    return f"{bases[0]:,}" if len(bases) == 1 else f"{bases[0]:,} to {bases[-1]:,}"


def evenly(total: int, limit: int) -> list[int]:
    """At most `limit` of `total` places, evenly spread, with the first and the last.

    >>> evenly(3, 5), evenly(49, 4)
    ([0, 1, 2], [0, 16, 32, 48])
    """
    return [int(place) for place in np.unique(np.linspace(0, total - 1, min(total, limit)).round())]


def short_names(studies: Sequence[LayerStudy]) -> list[str]:
    """Names that distinguish the studies: the model, the corpus or both; with a letter if they are the same."""
    models, corpora = ([last_name(study.source[key]) for study in studies] for key in ("model", "corpus"))
    both = [printable(study.name) for study in studies]
    names = models if len(set(corpora)) == 1 else corpora if len(set(models)) == 1 else both
    if len(set(names)) == len(names):
        return names
    letters = [chr(ord("A") + place) if place < 26 else str(place + 1) for place in range(len(names))]
    return [f"{letter} {name}" for letter, name in zip(letters, names, strict=True)]
