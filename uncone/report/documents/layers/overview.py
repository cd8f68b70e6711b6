"""The overview of a study: verdict, cards, the tables of layers and of sizes, sinks, definitions and provenance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from uncone.analysis.cosine.baseline import COLLAPSED, CROWDED
from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.measures.registry import measure, placed
from uncone.analysis.measures.registry import measures as declared_measures
from uncone.analysis.number_format import clipped, cosine, count, percent, plain
from uncone.report.document import Card, Cell, Column, Facts, Fold, Row, Section, Sentences, Table, Verdict
from uncone.report.documents.layers.values import (
    chosen,
    entry,
    layer_sinks,
    main_measures,
    measures,
    noun,
    number_at,
    short_names,
)
from uncone.report.lines import interval, number
from uncone.report.results.layers import LayerStudy
from uncone.report.text import last_name, provenance_facts

__all__ = [
    "about_intervals",
    "definitions",
    "layer_section",
    "provenance",
    "sink_section",
    "size_section",
    "study_notes",
    "subtitle",
    "verdict",
]

_NOUNS = {"words": "word", "tokens": "token", "cls": "CLS vector", "sentences": "text vector"}
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
_TYPES = ("mev", "mev_matched", "mev_adjusted", "s_intra", "s_inter")
_NORMS = (
    *("mean_over_rms", "rogue_share_1", "rogue_share_3", "rogue_share_5", "rogue_dimensions", "norm_mean", "sinks"),
)


def verdict(study: LayerStudy, *, swatch: str = "") -> Verdict:
    """The story of a study; of several studies, terminals show the headlines only."""
    headline = study.story[0] if study.story else f"{study.name}, layer by layer."
    rest = list(study.story[1:])
    details = 0 if swatch else len(rest) if study.deep is None else _DEEP_DETAILS
    return Verdict(
        headline,
        _level(study),
        details=rest[:details],
        more=rest[details:],
        cards=_cards(study),
        name=study.name if swatch else "",
        swatch=swatch,
        bulleted=len(rest) > 2,
    )


def _level(study: LayerStudy) -> Level:
    """By the most crowded layer."""
    known = [value for value in study.curve("baseline") if value is not None]
    if not known:
        return Level.NOTE
    most = max(known)
    return Level.COLLAPSED if most >= COLLAPSED else Level.CROWDED if most >= CROWDED else Level.HEALTHY


def subtitle(study: LayerStudy) -> str:
    """How much was measured: layers, dimensions, texts, vectors."""
    source = study.source
    vectors = count(source["rows"], _NOUNS.get(str(source["row"]), "vector"))
    shape = f"{count(source['layers'], 'layer')} x {count(source['dimensions'], 'dimension')}"
    of = f"{source['texts']:,} of " if "texts_in_corpus" in source else ""
    return f"{shape} · {of}{count(source.get('texts_in_corpus', source['texts']), 'text')} · {vectors}"


def about_intervals(studies: Sequence[LayerStudy]) -> str:
    """What the intervals hold for, and at which size studies are compared."""
    sentences = ["Intervals hold for texts like these and for this number of texts."]
    if any(study.source["row"] in ("words", "tokens") for study in studies):
        hint = "" if all(study.sizes for study in studies) else ": --curve shows how much"
        sentences.append(f"MEV, S_inter and S_intra change with the number of texts{hint}.")
    if any("texts_in_corpus" in study.source for study in studies):
        sentences.append(f"So corpora are compared at {studies[0].source['texts']:,} texts, the size of the smallest.")
    return " ".join(sentences)


def study_notes(study: LayerStudy) -> list[str]:
    """What was left out, cut or sampled, also for the deep results."""
    if study.deep is None:
        return list(study.notes)
    table = [] if study.deep.table is None or not study.deep.table.note else [study.deep.table.note]
    return list(dict.fromkeys([*study.notes, *study.deep.notes, *table]))


def _cards(study: LayerStudy) -> list[Card]:
    """Four numbers of the last layer."""
    where = " in the last layer" if len(study.layers) > 1 else ""
    numbers = (
        ("selfsim_adjusted", cosine, f"self-similarity of a word above random {noun(study)}{where}"),
        ("intrasim_adjusted_matched", cosine, f"similarity within sentences above unrelated words{where}"),
        ("sinks", None, ""),
        ("isoscore_corrected", cosine, f"IsoScore{where}; 1 uses all directions equally"),
        (
            "effective_rank",
            lambda value: f"{plain(value)} of {study.source['dimensions']:,}",
            f"directions used{where}",
        ),
        ("rogue_share_3", percent, f"of the mean cosine comes from three dimensions{where}"),
    )
    cards = [_baseline_card(study, where)]
    for name, style, label in numbers:
        if style is None:
            cards.append(_sinks_card(study))
        elif (value := number_at(study, name)) is not None:
            cards.append(Card(style(value), label))
    return [card for card in cards if card is not None][:4]


def _baseline_card(study: LayerStudy, where: str) -> Card | None:
    value = number_at(study, "baseline")
    if value is None:
        return None
    label = f"mean cosine of random {noun(study)}{where}"
    if len(study.layers) > 1:
        known = [(one, layer.number) for layer, one in zip(study.layers, study.curve("baseline"), strict=True) if one]
        most, layer = max(known, default=(value, study.layers[-1].number))
        is_last = layer == study.layers[-1].number
        label += ", the most crowded" if is_last else f"; layer {layer} is the most crowded: {cosine(most)}"
    return Card(cosine(value), label)


def _sinks_card(study: LayerStudy) -> Card | None:
    found = layer_sinks(study)
    if not found:
        return None
    most = max(one.magnitude or 0.0 for _, one in found)
    single = len(found) == 1
    layers = f"layer {found[0][0]}" if single else f"{len(found)} layers, {found[0][0]} to {found[-1][0]}"
    value = f"{'' if single else 'up to '}{most:,.0f} {'sink' if most == 1 else 'sinks'}"
    return Card(value, f"vectors over 10 times the median norm, in {layers}")


def layer_section(studies: Sequence[LayerStudy], about: str) -> Section:
    """Every measure at every layer."""
    names = short_names(studies) if len(studies) > 1 else [""]
    single = len(studies) == 1 and len(studies[0].layers) == 1
    intro = (
        "Every measure at every layer; 0 is the output of the embeddings. On the page, point at a number for its 95 % "
        "interval."
    )
    tables = [_layer_table(study, name) for study, name in zip(studies, names, strict=True)]
    return Section(
        "All measures" if single else "All layers", tables, intro=about if single else f"{intro} {about}", name="layers"
    )


def brief_layers(studies: Sequence[LayerStudy]) -> list[Table]:
    """The main measures of each study by layer, for one screen."""
    return [table for study in studies if (table := _brief_table(study, len(studies))) is not None]


def brief_places(study: LayerStudy, studies: int = 1) -> list[int]:
    """The layers that a terminal shows."""
    if studies > 1:
        return chosen(len(study.layers), max(_COMPARED_LAYERS // studies, 2))
    limit = _MOST_LAYERS if study.deep is None else _DEEP_LAYERS
    return chosen(len(study.layers), len(study.layers) if len(study.layers) <= limit else min(limit, _LONG))


def _brief_table(study: LayerStudy, studies: int) -> Table | None:
    names = [name for name in main_measures() if any(layer.findings.get(name) is not None for layer in study.layers)]
    if not names:
        return None
    sinks = dict(layer_sinks(study))
    places = brief_places(study, studies)
    rows = [
        Row(
            [
                Cell(str(layer.number), mark="*" if layer.number in sinks else ""),
                *(Cell(number(layer.findings.get(name))) for name in names),
            ]
        )
        for layer in (study.layers[place] for place in places)
    ]
    remarks = [subtitle(study)] if studies > 1 else []
    if sinks:
        most = int(max(one.magnitude or 0.0 for one in sinks.values()))
        which = f"{'up to ' * (len(sinks) > 1)}{count(most, 'vector')} over 10 times the median norm"
        remarks.append(f"* sinks in {count(len(sinks), 'layer')}: {which}")
    if studies == 1 and len(places) < len(study.layers):
        remarks.append(f"{len(places)} of {len(study.layers)} layers shown; the report has all of them")
    title = last_name(study.name) if studies > 1 else ""
    columns = [Column(*measure(name).column) for name in names]
    return Table([Column("layer"), *columns], rows, title=title, remarks=remarks)


def _layer_table(study: LayerStudy, title: str) -> Table:
    """Measures in rows, grouped by idea; layers in columns, or value, interval and n of a single layer."""
    single = len(study.layers) == 1
    heads = ["value", "95 % interval", "n"] if single else [str(layer.number) for layer in study.layers]
    rows = []
    for group, names in _groups(study):
        rows += [Row([Cell(group)]), *(_measure_row(study, name) for name in names)]
    columns = [Column("measure" if single else "layer", align="left"), *map(Column, heads)]
    return Table(columns, rows, title=title, compact=True)


def _groups(study: LayerStudy) -> list[tuple[str, list[str]]]:
    names = measures(study)
    groups: dict[str, list[str]] = {
        "Words in context": [],
        "Types of words": [],
        "Norms and rogue dimensions": [],
        "Shape of the space": [],
        "Neighborhoods, clusters, frequency and manifolds": [],
    }
    context, types, norms, shape, deep = groups
    for name in names:
        if name in _NORMS:
            group = norms
        elif name in _TYPES:
            group = types
        elif name in declared_measures("deep"):
            group = deep
        else:
            of_space = name in declared_measures("check") and (name != "baseline" or noun(study) == "pairs")
            group = shape if of_space else context
        groups[group].append(name)
    return [(group, found) for group, found in groups.items() if found]


def _measure_row(study: LayerStudy, name: str) -> Row:
    known = entry(name, study)
    cells = [_measure_cell(layer.findings.get(name), strong=name in main_measures()) for layer in study.layers]
    if len(study.layers) == 1:
        one = study.layers[0].findings[name]
        cells += [Cell(interval(one)), Cell(f"{one.n:,}")]
    return Row([Cell(known.title, strong=name in main_measures(), hover=known.definition), *cells])


def _measure_cell(finding: Finding | None, *, strong: bool) -> Cell:
    if finding is None:
        return Cell("")
    bounds = interval(finding)
    hover = [f"95 %: {bounds}" if bounds else "", f"n = {finding.n:,}", finding.meaning]
    if isinstance(finding.value, list):
        text = str(len(finding.value)) if finding.value else "none"
        more = " …" if len(finding.value) > _DIMENSIONS else ""
        hover.insert(0, ", ".join(map(str, finding.value)))
        small = ", ".join(map(str, finding.value[:_DIMENSIONS])) + more
        return Cell(text, small, strong=strong, hover="\n".join(filter(None, hover)))
    return Cell(number(finding), strong=strong, hover="\n".join(filter(None, hover)))


def size_section(study: LayerStudy, title: str, *, brief: bool) -> Section | None:
    """What `--curve` shows: the measures of the last layer by the number of texts; bold if they still move."""
    if len(study.sizes) < 2:
        return None
    rows, moving = [], False
    for name in placed("layers", "sizes"):
        found = [size.layers[-1].findings.get(name) for size in study.sizes]
        last, before = found[-1], found[-2]
        if last is None or before is None or last.magnitude is None or before.magnitude is None:
            continue
        moves = interval(last) != "" and not last.low <= before.magnitude <= last.high
        moving |= moves
        change = Cell(measure(name).unit.difference(last.magnitude - before.magnitude), strong=moves, mark="*" * moves)
        rows.append(Row([Cell(entry(name, study).title), *(Cell(number(one)) for one in found), change]))
    if not rows:
        return None
    half, every = study.sizes[-2].texts, study.sizes[-1].texts
    where = f"Layer {study.layers[-1].number} by" if len(study.layers) > 1 else "By"
    settled = f"From {half:,} to {every:,} texts, no measure changes by more than chance."
    still = (
        f"* changes by more than chance from {half:,} to {every:,} texts: compare it at equal numbers of texts only."
    )
    heads = [Column("measure", align="left", wrap=True), *(Column(f"{size.texts:,}") for size in study.sizes)]
    remark = f"{where} the number of texts. {still if moving else settled}"
    table = Table([*heads, Column(f"{half:,} to {every:,}")], rows, remarks=[remark])
    return Section(title, [table], brief=[table] if brief else (), name="sizes")


def sink_section(study: LayerStudy, title: str) -> Section | None:
    """The layers with sinks and examples of them."""
    found = layer_sinks(study)
    if not found:
        return None
    folds = []
    for layer, one in (found[place] for place in chosen(len(found), _SINK_LAYERS)):
        meaning = [Sentences([one.meaning])] if one.meaning else []
        examples = [Sentences([_example(row) for row in one.rows], bulleted=True)] if one.rows else []
        summary = f"{count(int(one.magnitude or 0), 'sink')} · n = {one.n:,}"
        folds.append(Fold(f"Layer {layer}", [*meaning, *examples], summary=summary))
    return Section(
        title,
        folds,
        intro="Vectors with a norm over 10 times the median of their layer. One can dominate the geometry of a "
        "whole layer.",
    )


def _example(row: dict[str, Any]) -> str:
    text = row.get("text")
    name = f"{clipped(str(text), 80)} · " if text is not None else ""
    return f"{name}vector {row['row']:,}, norm {plain(float(row['value']))}"


def definitions(studies: Sequence[LayerStudy]) -> Section:
    """The title, name, definition and paper of every measure."""
    owners = {name: study for study in reversed(studies) for name in measures(study)}
    order = dict.fromkeys(name for study in studies for name in measures(study))
    pairs = []
    for name in order:
        known = entry(name, owners[name])
        paper = f" {known.paper}{'' if known.paper[-1] in '.?!' else '.'}" if known.paper else ""
        pairs.append((f"{known.title} ({name})", f"{known.definition}{paper}"))
    return Section("Definitions", [Facts(pairs)], name="definitions")


def provenance(studies: Sequence[LayerStudy]) -> Section:
    """How each study was made."""
    names = short_names(studies) if len(studies) > 1 else [""]
    return Section("Provenance", [_provenance(study, name) for study, name in zip(studies, names, strict=True)])


def _provenance(study: LayerStudy, title: str) -> Facts:
    kind = study.source.get("model_kind")
    facts = [
        ("model", f"{study.source['model']} ({kind})" if kind else str(study.source["model"])),
        ("corpus", str(study.source["corpus"])),
        ("measured", subtitle(study)),
        *((f"published {one.measure}", f"{one.model} on {one.corpus}: {one.source}") for one in study.published),
    ]
    return Facts([*facts, *provenance_facts(study.provenance)], title)
