"""The document of `layers`: one study of a model on a corpus, or several side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from uncone.analysis.layers.contrast import Contrast
from uncone.analysis.measures.registry import placed
from uncone.analysis.number_format import count
from uncone.report.charts.model import Chart, series_color
from uncone.report.document import Block, Document, Notes, Section, Sentences
from uncone.report.documents.layers.comparison import comparison_charts, difference_section
from uncone.report.documents.layers.curves import base_range, curve_charts, measure_scale
from uncone.report.documents.layers.deep import (
    cluster_section,
    dimension_section,
    frequency_section,
    hub_section,
    manifold_section,
)
from uncone.report.documents.layers.overview import (
    brief_layers,
    brief_places,
    brief_table,
    definitions,
    interval_note,
    layer_section,
    provenance,
    sink_section,
    size_section,
    study_notes,
    subtitle,
    verdict,
)
from uncone.report.documents.layers.values import row_noun, short_names
from uncone.report.documents.layers.words import word_charts, word_section
from uncone.report.results.layers import LayerComparison, LayerStudy

__all__ = ["document"]

_BRIEF_NOTES, _BRIEF_DEEP_NOTES = 3, 1
_BRIEF_SENTENCES = 3
_BRIEF_LETTERS = 240
"""Length of a finding on the terminal; the report has it all."""


def document(result: LayerStudy | LayerComparison) -> Document:
    """One study in full, or several side by side with their differences from the first."""
    studies, contrasts = result.parts, result.differences if isinstance(result, LayerComparison) else ()
    first, several = studies[0], len(studies) > 1
    verdicts = [verdict(study, swatch=series_color(i) if several else "") for i, study in enumerate(studies)]
    return Document(
        title=verdicts[0].headline,
        name=f"{len(studies)} studies side by side" if several else first.name,
        subtitle="" if several else subtitle(first),
        verdicts=verdicts,
        sections=[section for section in _sections(studies, contrasts) if section is not None],
    )


def _sections(studies: Sequence[LayerStudy], contrasts: Sequence[Contrast]) -> Iterator[Section | None]:
    several = len(studies) > 1
    names = short_names(studies) if several else [""]
    note = interval_note(studies)
    pairs = list(zip(studies, names, strict=True))
    for study, name in pairs:
        if study.deep is not None and study.deep.story:
            yield Section(_titled("Behind the cone in short", name), [Sentences(study.deep.story, bulleted=True)])
    brief = [table for study in studies for table in brief_layers(study, len(studies))]
    yield Section("", _cone_charts(studies, contrasts), brief=brief, name="curves")
    for study, name in pairs:
        title, is_brief = _titled("Most and least contextual words", name), not several and study.deep is None
        yield word_section(study, title, 5 if several else 10, brief=is_brief)
    yield difference_section(studies, contrasts, note)
    yield from (
        size_section(study, _titled("By the number of texts", name), brief=not several) for study, name in pairs
    )
    yield from (sink_section(study, _titled("Sinks", name)) for study, name in pairs)
    if any(study.deep is not None for study in studies):
        yield from _behind(studies, names)
    yield layer_section(studies, note)
    yield definitions(studies)
    yield _note_section(studies, names)
    yield provenance(studies)


def _titled(title: str, name: str) -> str:
    return f"{title}: {name}" if name else title


def _cone_charts(studies: Sequence[LayerStudy], contrasts: Sequence[Contrast]) -> list[Chart]:
    if all(len(study.layers) == 1 for study in studies):
        return measure_scale(studies)
    if len(studies) > 1:
        return comparison_charts(studies, contrasts, "layers")
    charts = curve_charts(studies[0], "layers")
    after = next((place for place, chart in enumerate(charts, 1) if chart.name == "mev"), len(charts))
    return [*charts[:after], *word_charts(studies[0]), *charts[after:]]


def _note_section(studies: Sequence[LayerStudy], names: Sequence[str]) -> Section | None:
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


def _behind(studies: Sequence[LayerStudy], names: Sequence[str]) -> Iterator[Section | None]:
    """What `--deep` found behind the cone of each study."""
    deep = [study for study in studies if study.deep is not None]
    most = max(layer.n for study in deep if study.deep is not None for layer in study.deep.layers)
    charts: list[Chart] = []
    if any(len(study.layers) > 1 for study in deep):
        charts = comparison_charts(deep, (), "deep") if len(studies) > 1 else curve_charts(studies[0], "deep")
    yield Section(
        "Behind the cone",
        charts,
        intro="The cone is only the first impression. Inside, a space consists of neighborhoods, clusters, shells of "
        f"word frequency and curved sheets. Measured on {most:,} vectors of a layer: all of them, or a seeded sample.",
        brief=_brief_deep(studies[0]) if len(studies) == 1 else (),
        name="behind",
    )
    yield dimension_section(studies)
    for place, (study, name) in enumerate(zip(studies, names, strict=True), 1):
        if study.deep is None:
            continue
        row, suffix = row_noun(study), f"_{place}" if name else ""
        yield cluster_section(study.deep, row, _titled("Clusters", name))
        yield hub_section(study.deep, _titled("Hubs", name))
        yield frequency_section(study.deep, study.name, row, _titled("Word frequency", name), suffix)
        yield manifold_section(study.deep, study.name, row, _titled("Is it a curved manifold?", name), suffix)


def _brief_deep(study: LayerStudy) -> list[Block]:
    """The most important sentences, and a line per layer."""
    assert study.deep is not None
    story, layers = study.deep.story, study.deep.layers
    sentences = [shortened(sentence) for sentence in story[:_BRIEF_SENTENCES]]
    more = len(story) - _BRIEF_SENTENCES
    sentences += [f"{count(more, 'more sentence')} behind the cone in the report."] if more > 0 else []
    nearest, hubs = layers[-1].dimensions["euclidean"].k, layers[-1].hubness.k
    remark = f"LID: {nearest} nearest of n = {base_range(layers)}; published values are half. Hubs: k = {hubs}"
    table = brief_table(study, placed("deep", "behind"), brief_places(study), [remark])
    return [Sentences(sentences), *table]


def shortened(text: str) -> str:
    """The first sentences of a finding, as many as are short together; always the first.

    A full stop inside a quotation ends no sentence.
    """
    stops = [match.start() for match in re.finditer(r"\. ", text)]
    ends = [stop + 1 for stop in stops if text.count("“", 0, stop) == text.count("”", 0, stop)] + [len(text)]
    return text[: max((end for end in ends if end <= _BRIEF_LETTERS), default=ends[0])]
