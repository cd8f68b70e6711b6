"""The results of `layers`: the findings of every layer of a model on a corpus, or of several, and their documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np

from uncone.analysis.layers.contrast import Contrast, Curve
from uncone.analysis.layers.deep_results import Deep, Dimension
from uncone.analysis.layers.layer import Layer, SentenceTable, StudySize, WordTable
from uncone.analysis.measures.finding import Finding, finite
from uncone.analysis.measures.registry import placed
from uncone.analysis.number_format import count
from uncone.report.charts.model import Chart
from uncone.report.charts.theme import series_color
from uncone.report.document import Block, Cell, Column, Document, Notes, Section, Sentences, Table, present, table
from uncone.report.documents.layers import curves, deep, overview
from uncone.report.documents.layers.comparison import comparison_charts
from uncone.report.documents.layers.overview import base_range, difference_text, entry, is_main, short_names
from uncone.report.documents.layers.revisions import revision_section
from uncone.report.documents.layers.words import word_charts, word_section
from uncone.report.result import Result, json_values
from uncone.report.text import shorten
from uncone.run.checkpoint import Checkpoint

_BRIEF_NOTES, _BRIEF_DEEP_NOTES = 3, 1
_BRIEF_SENTENCES = 3
_BRIEF_LETTERS = 240
"""Length of a finding on the terminal; the report has it all."""
_WORDS = 25
"""Words of the JSON at either end; the whole table is a separate file."""
LARGE_FIELDS = {
    "labels",
    "points",
    "points_rows",
    "points_positions",
    "path",
    "point_words",
    "logs",
    "facts",
    "rows",
    "spaces",
    "columns",
}
"""Fields of deep results that hold a number per vector: charts are drawn from them, JSON leaves them out."""


@dataclass(frozen=True)
class LayerStudy(Result):
    """One model on one corpus, layer by layer.

    `source` says which: model, corpus, layers (with layer 0), dimensions, texts, rows and what a row is.
    `story` holds sentences written from the numbers, `notes` what was left out, cut or sampled; `deep` holds what
    `--deep` found behind the cone.
    """

    source: Mapping[str, Any]
    layers: Sequence[Layer]
    words: WordTable | None
    sentences: SentenceTable | None
    story: Sequence[str]
    notes: Sequence[str]
    provenance: Mapping[str, Any]
    published: Sequence[Curve] = field(default_factory=tuple)
    deep: Deep | None = None
    sizes: Sequence[StudySize] = field(default_factory=tuple)
    """With `--curve`, the measures on parts of the texts and on all of them; each part holds the one before."""
    run: Checkpoint | None = field(default=None, repr=False, compare=False)

    def settle(self) -> None:
        """Remove the saved state of the run, for instance when its report is written."""
        if self.run is not None:
            self.run.clear()

    @property
    def parts(self) -> Sequence[LayerStudy]:
        """The studies it is made of: itself."""
        return [self]

    @property
    def name(self) -> str:
        """The model on the corpus, in short."""
        model, corpus = (str(self.source[key]).rstrip("/").rsplit("/", 1)[-1] for key in ("model", "corpus"))
        return f"{model} on {corpus}"

    @property
    def row_noun(self) -> str:
        """The noun for a vector: a word or token in context, or a whole text."""
        return {"words": "word", "tokens": "token"}.get(self.source["row"], "text")

    @property
    def pair_noun(self) -> str:
        """The noun for random pairs: words, tokens, or just pairs."""
        return "pairs" if self.row_noun == "text" else f"{self.row_noun}s"

    @property
    def finding_names(self) -> list[str]:
        """Every measure that some layer has, in the order of the layers."""
        return list(dict.fromkeys(name for layer in self.layers for name in layer.findings))

    @property
    def sinks(self) -> list[tuple[int, Finding]]:
        """The layers that have sinks, with the finding."""
        findings = ((layer.number, layer.findings.get("sinks")) for layer in self.layers)
        return [(layer, finding) for layer, finding in findings if finding is not None and finding.magnitude]

    def __getitem__(self, layer: int) -> Layer:
        """A layer; negative numbers count from the end."""
        return self.layers[layer]

    def curve(self, name: str) -> list[float | None]:
        """A measure at every layer."""
        return [finite(layer.value(name)) for layer in self.layers]

    def _values(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "story": self.story,
            "notes": self.notes,
            "layers": [
                {"layer": layer.number, "findings": {name: each.to_dict() for name, each in layer.findings.items()}}
                for layer in self.layers
            ],
            "words": [] if self.words is None else _word_values(self.words),
            "published": self.published,
            "provenance": self.provenance,
            **({} if self.deep is None else {"deep": deep_values(self.deep)}),
            **({"curve": [size.to_dict() for size in self.sizes]} if self.sizes else {}),
        }

    def document(self) -> Document:
        """The study in full."""
        verdict = overview.verdict(self)
        return Document(
            verdict.headline, self.name, overview.subtitle(self), [verdict], present(*_sections([self], ()))
        )

    def __repr__(self) -> str:
        """The study in a line."""
        return f"<LayerStudy of {self.name}: {len(self.layers)} layers>"


@dataclass(frozen=True)
class LayerComparison(Result):
    """Several studies side by side, with the differences of each to the first."""

    studies: Sequence[LayerStudy]
    differences: Sequence[Contrast]

    @property
    def parts(self) -> Sequence[LayerStudy]:
        """The studies."""
        return self.studies

    def _values(self) -> dict[str, Any]:
        return {
            "studies": [study._values() for study in self.studies],
            "differences": [contrast.to_dict() for contrast in self.differences],
        }

    def document(self) -> Document:
        """The studies side by side with their differences from the first."""
        verdicts = [overview.verdict(study, swatch=series_color(place)) for place, study in enumerate(self.studies)]
        sections = present(*_sections(self.studies, self.differences))
        return Document(verdicts[0].headline, f"{len(self.studies)} studies side by side", "", verdicts, sections)


def _word_values(table: WordTable) -> list[dict[str, Any]]:
    """The words that the user named, those with MEV, and those at both ends of self-similarity in the last layer."""
    last = table.selfsim[:, -1]
    order = np.argsort(np.where(np.isnan(last), np.inf, last), kind="stable")[: int((~np.isnan(last)).sum())]
    places = {*order[:_WORDS].tolist(), *order[-_WORDS:].tolist(), *np.flatnonzero(table.mev_n).tolist()}
    places |= {place for word in table.user_words if (place := table.place(word)) >= 0}
    return [
        {
            "word": table.words[i],
            "kind": table.kinds[i],
            "count": int(table.counts[i]),
            "contexts": int(table.contexts[i]),
            "selfsim": finite(table.selfsim[i].tolist()),
            "mev": finite(table.mev[i].tolist()),
            "mev_n": int(table.mev_n[i]),
        }
        for i in sorted(places)
    ]


def deep_values(value: Any) -> Any:  # noqa: ANN401 - whatever the deep results are made of
    """Deep results as plain JSON values under the names of their fields, without what holds a number per vector."""
    if is_dataclass(value):
        names = [field.name for field in fields(value) if field.name not in LARGE_FIELDS]
        values = {name.rstrip("_"): deep_values(getattr(value, name)) for name in names}
        return {**values, "paper": value.paper} if isinstance(value, Dimension) else values
    if isinstance(value, Mapping):
        return {str(key): deep_values(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [deep_values(part) for part in value]
    return json_values(value)


def _sections(studies: Sequence[LayerStudy], contrasts: Sequence[Contrast]) -> Iterator[Section | None]:
    several = len(studies) > 1
    names = short_names(studies) if several else [""]
    note = overview.interval_note(studies)
    pairs = list(zip(studies, names, strict=True))
    for study, name in pairs:
        if study.deep is not None and study.deep.story:
            story = [Sentences(study.deep.story, bulleted=True)]
            yield _with_name(Section("Behind the cone, in short", story), name)
    brief = [table for study in studies for table in overview.brief_layers(study, len(studies))]
    yield Section("", _cone_charts(studies, contrasts), brief=brief, name="curves")
    yield revision_section(studies)
    for study, name in pairs:
        is_brief = not several and study.deep is None
        yield _with_name(word_section(study, 5 if several else 10, brief=is_brief), name)
    yield _difference_section(studies, contrasts, note)
    yield from (_with_name(overview.size_section(study, brief=not several), name) for study, name in pairs)
    yield from (_with_name(overview.sink_section(study), name) for study, name in pairs)
    if any(study.deep is not None for study in studies):
        yield from _behind(studies, names)
    yield overview.layer_section(studies, names, note)
    yield overview.definitions(studies)
    yield _note_section(studies, names)
    yield overview.provenance(studies, names)


def _with_name(section: Section | None, name: str) -> Section | None:
    return section if section is None or not name else replace(section, title=f"{section.title}: {name}")


def _cone_charts(studies: Sequence[LayerStudy], contrasts: Sequence[Contrast]) -> list[Chart]:
    if all(len(study.layers) == 1 for study in studies):
        return curves.measure_scale(studies)
    if len(studies) > 1:
        return comparison_charts(studies, contrasts, "layers")
    charts = curves.curve_charts(studies[0], "layers")
    after = next((place for place, chart in enumerate(charts, 1) if chart.name == "mev"), len(charts))
    return [*charts[:after], *word_charts(studies[0]), *charts[after:]]


def _note_section(studies: Sequence[LayerStudy], names: Sequence[str]) -> Section | None:
    """Notes on what was left out, cut or sampled; terminals show the first ones of a single study."""
    blocks: list[Block] = []
    for study, name in zip(studies, names, strict=True):
        notes = overview.study_notes(study)
        if notes:
            blocks += [Sentences([name])] if name else []
            blocks.append(Notes(notes))
    if not blocks:
        return None
    most = _BRIEF_NOTES if studies[0].deep is None else _BRIEF_DEEP_NOTES
    brief = [Notes(overview.study_notes(studies[0]), most=most)] if len(studies) == 1 else []
    return Section("What was left out", blocks, brief=brief, name="notes")


def _behind(studies: Sequence[LayerStudy], names: Sequence[str]) -> Iterator[Section | None]:
    deep_studies = [study for study in studies if study.deep is not None]
    most = max(layer.n for study in deep_studies if study.deep is not None for layer in study.deep.layers)
    charts: list[Chart] = []
    if any(len(study.layers) > 1 for study in deep_studies):
        single = len(studies) == 1
        charts = curves.curve_charts(studies[0], "deep") if single else comparison_charts(deep_studies, (), "deep")
    yield Section(
        "Behind the cone",
        charts,
        intro="The cone is only the first impression. Inside, a space consists of neighborhoods, clusters, shells of "
        f"word frequency and curved sheets. Measured on up to {most:,} vectors per layer: all, or a seeded sample.",
        brief=_brief_deep(studies[0]) if len(studies) == 1 else (),
        name="behind",
    )
    yield deep.dimension_section(studies)
    for place, (study, name) in enumerate(zip(studies, names, strict=True), 1):
        if study.deep is None:
            continue
        row, suffix = study.row_noun, f"_{place}" if name else ""
        yield _with_name(deep.cluster_section(study.deep, row), name)
        yield _with_name(deep.hub_section(study.deep), name)
        yield _with_name(deep.frequency_section(study.deep, study.name, row, suffix), name)
        yield _with_name(deep.manifold_section(study.deep, study.name, row, suffix), name)


def _brief_deep(study: LayerStudy) -> list[Block]:
    assert study.deep is not None
    story, layers = study.deep.story, study.deep.layers
    sentences = [first_sentences(sentence) for sentence in story[:_BRIEF_SENTENCES]]
    more = len(story) - _BRIEF_SENTENCES
    sentences += [f"{count(more, 'more finding')} in the report."] if more > 0 else []
    nearest, hubs = layers[-1].dimensions["euclidean"].k, layers[-1].hubness.k
    remark = f"LID: {nearest} nearest of n = {base_range(layers)}; published values are half. Hubs: k = {hubs}"
    table = overview.brief_table(study, placed("deep", "behind"), overview.brief_places(study), [remark])
    return [Sentences(sentences), *table]


def first_sentences(text: str) -> str:
    """The first sentences of a finding, as many as are short together; always the first.

    A full stop inside a quotation ends no sentence.
    """
    stops = [match.start() for match in re.finditer(r"\. ", text)]
    ends = [stop + 1 for stop in stops if text.count("“", 0, stop) == text.count("”", 0, stop)] + [len(text)]
    return text[: max((end for end in ends if end <= _BRIEF_LETTERS), default=ends[0])]


def _difference_section(studies: Sequence[LayerStudy], contrasts: Sequence[Contrast], about: str) -> Section | None:
    if not contrasts:
        return None
    first, *others = short_names(studies)
    pairs = list(zip(contrasts, others, strict=False))
    return Section(
        "Differences",
        [_difference_table(studies[0], contrast, f"{name} minus {first}") for contrast, name in pairs],
        intro=f"Bold: the 95 % interval does not contain zero. {about}",
        brief=[_last_layers(studies[0], contrast, name, first) for contrast, name in pairs if contrast.layers],
        name="differences",
    )


def _difference_table(study: LayerStudy, contrast: Contrast, title: str) -> Table:
    names = list(dict.fromkeys(name for findings in contrast.findings for name in findings))
    heads = [str(b) if a == b else f"{b} vs {a}" for a, b in contrast.layers]
    rows = [
        [entry(name, study).title, *(_difference_cell(each.get(name)) for each in contrast.findings)] for name in names
    ]
    corner = "layer" if all(a == b for a, b in contrast.layers) else "layers"
    return table([corner, *heads], rows, title=title, compact=True)


def _difference_cell(finding: Finding | None) -> Cell:
    if finding is None:
        return Cell("")
    text, bounds = difference_text(finding)
    proven = bool(bounds) and (finding.low > 0 or finding.high < 0)
    return Cell(text, bounds, strong=proven, hover=f"n = {finding.n:,}\n{finding.meaning}")


def _last_layers(study: LayerStudy, contrast: Contrast, name: str, first: str) -> Table:
    below, above = contrast.layers[-1]
    layers = f"layer {above}" if above == below else f"layers {above} and {below}"
    rows = [
        [entry(key, study).title, *difference_text(each)] for key, each in contrast.findings[-1].items() if is_main(key)
    ]
    title = f"{shorten(name, 28)} minus {shorten(first, 28)}, {layers}"
    return table(["", "difference", Column("95 % interval", align="left")], rows, title=title)
