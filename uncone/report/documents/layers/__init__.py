"""The document of `layers`: one study of a model on a corpus, or several side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from uncone.analysis.layers.contrast import Contrast
from uncone.analysis.layers.deep_results import DeepLayer
from uncone.analysis.number_format import cosine, count
from uncone.report.charts.model import Chart, series_color
from uncone.report.document import Block, Cell, Column, Document, Notes, Row, Section, Sentences, Table
from uncone.report.documents.layers.clusters import cluster_section
from uncone.report.documents.layers.comparison import compared_charts, difference_sections
from uncone.report.documents.layers.curves import base_range, curve_charts, one_scale
from uncone.report.documents.layers.frequency import frequency_section
from uncone.report.documents.layers.manifold import manifold_section
from uncone.report.documents.layers.neighbors import dimension_section, hub_section
from uncone.report.documents.layers.overview import (
    about_intervals,
    brief_layers,
    brief_places,
    definitions,
    layer_section,
    provenance,
    sink_section,
    size_section,
    study_notes,
    subtitle,
    verdict,
)
from uncone.report.documents.layers.values import number_text, short_names, unit_noun
from uncone.report.documents.layers.words import word_charts, word_section
from uncone.report.results.layers import LayerStudy

__all__ = ["document"]

_BRIEF_NOTES, _BRIEF_DEEP_NOTES = 3, 1
_BRIEF_SENTENCES = 3
_BRIEF_LETTERS = 240
"""What a reader takes in of one finding on the terminal; the report has it all."""


def document(studies: Sequence[LayerStudy], contrasts: Sequence[Contrast]) -> Document:
    """One study in full, or several side by side with their differences from the first."""
    first, several = studies[0], len(studies) > 1
    verdicts = [verdict(one, swatch=series_color(place) if several else "") for place, one in enumerate(studies)]
    return Document(
        title=verdicts[0].headline,
        name=f"{len(studies)} studies side by side" if several else first.name,
        subtitle="" if several else subtitle(first),
        verdicts=verdicts,
        sections=[section for section in _sections(studies, contrasts) if section is not None],
    )


def _sections(studies: Sequence[LayerStudy], contrasts: Sequence[Contrast]) -> Iterator[Section | None]:
    several = len(studies) > 1
    about = about_intervals(studies)
    names = short_names(studies) if several else [""]
    named = list(zip(studies, names, strict=True))
    yield from (_deep_story(study, _titled("Behind the cone in short", name)) for study, name in named)
    yield Section("", _cone(studies, contrasts), brief=brief_layers(studies), name="curves")
    for study, name in named:
        title = _titled("Most and least contextual words", name)
        brief = not several and study.deep is None
        yield word_section(study, title, 5 if several else 10, brief=brief)
    yield from difference_sections(studies, contrasts, about)
    yield from (
        size_section(study, _titled("By the number of texts", name), brief=not several) for study, name in named
    )
    yield from (sink_section(study, _titled("Sinks", name)) for study, name in named)
    yield from _behind(studies, names)
    yield layer_section(studies, about)
    yield definitions(studies)
    yield _left_out(studies, names)
    yield provenance(studies)


def _titled(title: str, name: str) -> str:
    return f"{title}: {name}" if name else title


def _cone(studies: Sequence[LayerStudy], contrasts: Sequence[Contrast]) -> list[Chart]:
    if all(len(study.layers) == 1 for study in studies):
        return one_scale(studies)
    if len(studies) > 1:
        return compared_charts(studies, contrasts, "layers")
    charts = curve_charts(studies[0], "layers")
    words = word_charts(studies[0])
    after = next((place + 1 for place, chart in enumerate(charts) if chart.name == "mev"), len(charts))
    return [*charts[:after], *words, *charts[after:]]


def _left_out(studies: Sequence[LayerStudy], names: Sequence[str]) -> Section | None:
    """What was left out, cut or sampled; terminals show the first notes of a single study."""
    blocks: list[Block] = []
    for study, name in zip(studies, names, strict=True):
        notes = study_notes(study)
        if notes:
            blocks += [Sentences([name])] if name else []
            blocks.append(Notes(notes))
    if not blocks:
        return None
    most = _BRIEF_NOTES if studies[0].deep is None else _BRIEF_DEEP_NOTES
    brief = [Notes(study_notes(studies[0]), most=most)] if len(studies) == 1 else []
    return Section("What was left out", blocks, brief=brief, name="notes")


def _deep_story(study: LayerStudy, title: str) -> Section | None:
    if study.deep is None or not study.deep.story:
        return None
    return Section(title, [Sentences(study.deep.story, bulleted=True)])


def _behind(studies: Sequence[LayerStudy], names: Sequence[str]) -> Iterator[Section | None]:
    """What `--deep` found behind the cone of each study."""
    deep = [study for study in studies if study.deep is not None]
    if not deep:
        return
    most = max(layer.n for study in deep if study.deep is not None for layer in study.deep.layers)
    charts: list[Chart] = []
    if any(len(study.layers) > 1 for study in deep):
        charts = compared_charts(deep, (), "deep") if len(studies) > 1 else curve_charts(studies[0], "deep")
    yield Section(
        "Behind the cone",
        charts,
        intro="The cone is only the first impression. Inside, a space consists of neighborhoods, clusters, shells of "
        f"word frequency and curved sheets. Measured on {most:,} vectors of a layer: all of them, or a seeded sample.",
        brief=_brief_deep(studies[0]) if len(studies) == 1 else (),
        name="behind",
    )
    yield dimension_section(studies)
    for place, (study, name) in enumerate(zip(studies, names, strict=True)):
        if study.deep is None:
            continue
        unit, suffix = unit_noun(study), f"_{place + 1}" if name else ""
        yield cluster_section(study.deep, unit, _titled("Clusters", name))
        yield hub_section(study.deep, _titled("Hubs", name))
        yield frequency_section(study.deep, study.name, unit, _titled("Word frequency", name), suffix)
        yield manifold_section(study.deep, study.name, unit, _titled("Is it a curved manifold?", name), suffix)


def _brief_deep(study: LayerStudy) -> list[Block]:
    """The most important sentences, and a line per layer."""
    assert study.deep is not None
    story, layers = study.deep.story, study.deep.layers
    sentences = [shortened(sentence) for sentence in story[:_BRIEF_SENTENCES]]
    more = len(story) - _BRIEF_SENTENCES
    sentences += [f"{count(more, 'more sentence')} behind the cone in the report."] if more > 0 else []
    columns = [
        Column("layer"),
        Column("LID", "euclidean"),
        Column("LID", "cosine"),
        Column("clusters", "k"),
        Column("silhouette"),
        Column("hubness", f"skew, k={layers[-1].hubness.k}"),
        Column("freq-norm", "r"),
    ]
    nearest = layers[-1].dimensions["euclidean"].k
    remark = f"LID: the {nearest} nearest of n = {base_range(layers)}; published values are half of it"
    rows = [_brief_row(layers[place]) for place in brief_places(study) if place < len(layers)]
    return [Sentences(sentences), Table(columns, rows, remarks=[remark])]


def _brief_row(layer: DeepLayer) -> Row:
    texts = (
        str(layer.number),
        number_text(layer.dimensions["euclidean"].value),
        number_text(layer.dimensions["cosine"].value),
        f"{layer.clusters.k}",
        number_text(layer.clusters.silhouette, cosine),
        number_text(layer.hubness.skew),
        number_text(None if layer.frequency is None else layer.frequency.norm_r, cosine),
    )
    return Row([Cell(text) for text in texts])


def shortened(text: str) -> str:
    """The first sentences of a finding, as many as are short together; always the first."""
    ends = [*_sentence_ends(text), len(text)]
    return text[: max((end for end in ends if end <= _BRIEF_LETTERS), default=ends[0])]


def _sentence_ends(text: str) -> list[int]:
    """Where its sentences end but the last; a full stop inside a quotation does not count."""
    stops = [found.start() for found in re.finditer(r"\. ", text)]
    return [stop + 1 for stop in stops if text.count("“", 0, stop) == text.count("”", 0, stop)]
