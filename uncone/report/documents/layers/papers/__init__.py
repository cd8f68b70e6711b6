"""Several studies as the figures and tables of three papers: Ethayarajh 2019, Cai et al. 2021, Li et al. 2020."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from uncone.analysis.number_format import count
from uncone.evaluation.frequency import SpaceBias
from uncone.report.charts.files import csv_text
from uncone.report.charts.theme import series_color
from uncone.report.document import Block, Cell, Document, Notes, Section, Sentences, Table, Verdict, leaves, present
from uncone.report.documents.layers import LayerComparison, LayerStudy, deep_values, overview
from uncone.report.documents.layers.overview import short_names
from uncone.report.documents.layers.papers.clusters import (
    cluster_charts,
    cluster_tables,
    dimension_table,
    panels,
    rolls,
)
from uncone.report.documents.layers.papers.context import (
    brief_table,
    context_charts,
    context_tables,
    word_charts,
    word_tables,
)
from uncone.report.documents.layers.papers.frequency import bias_folds, bias_table, frequency_story, outcome_tables
from uncone.report.result import Result
from uncone.report.text import file_name

__all__ = ["PAPERS", "LayerPapers"]

PAPERS = {
    "context": "Ethayarajh 2019, How Contextual are Contextualized Word Representations?",
    "clusters": "Cai et al. 2021, Isotropy in the Contextual Embedding Space: Clusters and Manifolds",
    "frequency": "Li et al. 2020, On the Sentence Embeddings from Pre-trained Language Models: word frequency",
}
"""The papers whose figures and tables are made, by the anchor of their section."""

_LEGEND = (
    "Rows in italics are published; “not run” means that the model is none of those measured here. Small numbers are "
    "95 % intervals."
)


@dataclass(frozen=True)
class LayerPapers(Result):
    """Studies with what lies behind the cone, and word frequency before and after repairs, laid out as in the papers.

    `frequency` has a space for the input embeddings and for the last layer of every study.
    """

    comparison: LayerComparison
    frequency: Sequence[SpaceBias]

    @property
    def parts(self) -> Sequence[LayerStudy]:
        """The studies."""
        return self.comparison.studies

    def _values(self) -> dict[str, Any]:
        return {**self.comparison._values(), "frequency": [deep_values(space) for space in self.frequency]}

    def document(self) -> Document:
        """The figures and tables, paper by paper."""
        return self._document

    @cached_property
    def _document(self) -> Document:
        studies = self.parts
        corpora = list(dict.fromkeys(str(study.source["corpus"]) for study in studies))
        models = list(dict.fromkeys(str(study.source["model"]) for study in studies))
        size = f"{count(len(models), 'model')} on {count(len(corpora), 'corpus', 'corpora')}"
        title = f"Figures and tables of three papers, of {size}."
        # Narrow pages have no room for the names of curves: these are the key to their colors.
        verdicts = [
            Verdict(study.story[0], name=study.name, swatch=series_color(place), half=len(studies) > 1)
            for place, study in enumerate(studies)
            if study.story
        ]
        verdicts.insert(0, Verdict(title, details=frequency_story(self.frequency), bulleted=True))
        sections = [
            *(section(self) for section in (_context, _clusters, _frequency)),
            overview.definitions(studies),
            _notes(studies),
            overview.provenance(studies, short_names(studies) if len(studies) > 1 else [""]),
        ]
        return Document(title, size, "", verdicts, present(*sections))

    def tables(self) -> dict[str, str]:
        """Every table of the papers as CSV, by file name: the cells as they are printed, and their intervals."""
        files: dict[str, str] = {}
        for section in self._document.sections:
            for block in leaves(section.blocks) if section.name in PAPERS else ():
                if isinstance(block, Table):
                    name = f"table-{section.name}-{file_name(block.name)}"
                    files[f"{name}.csv"] = _csv(block)
        return files

    def files(self, folder: Path) -> dict[Path, str]:
        """The page, the LaTeX, the Markdown and the tables, by path; the JSON comes last: if it is there, all are."""
        pages = {"html": self.to_html(), "tex": self.to_latex(), "md": self.to_markdown()}
        texts = {folder / f"layers.{ending}": text for ending, text in pages.items()}
        tables = {folder / name: text for name, text in self.tables().items()}
        return {**texts, **tables, folder / "layers.json": self.to_json()}

    def __repr__(self) -> str:
        """The papers in a line."""
        return f"<LayerPapers of {count(len(self.parts), 'study', 'studies')}>"


def _context(papers: LayerPapers) -> Section:
    studies, tables = papers.parts, context_tables(papers.parts)
    blocks: list[Block] = [*context_charts(studies), *tables, *word_charts(studies), *word_tables(studies)]
    intro = (
        "How much of a word's vector depends on its context, layer by layer. Adjusted values are above what random "
        f"words have. {_LEGEND}"
    )
    brief = [brief_table(table) for table in tables]
    return Section(PAPERS["context"], blocks, intro, brief, name="context")


def _clusters(papers: LayerPapers) -> Section | None:
    studies = [study for study in papers.parts if study.deep is not None]
    if not studies:
        return None
    tables, dimensions = cluster_tables(studies), dimension_table(studies)
    blocks: list[Block] = [*cluster_charts(studies), *tables, dimensions, *panels(studies), *rolls(studies)]
    intro = (
        "Subtracting means makes cosines small by construction: compare the cluster means with the one mean of all "
        f"vectors. Local dimension grows with n, so compare it at equal n only. {_LEGEND}"
    )
    return Section(
        PAPERS["clusters"],
        blocks,
        intro,
        [*map(brief_table, tables), dimension_table(studies, brief=True)],
        name="clusters",
    )


def _frequency(papers: LayerPapers) -> Section | None:
    spaces, studies = papers.frequency, papers.parts
    if not spaces:
        return None
    table, outcomes = bias_table(spaces, studies), outcome_tables(spaces)
    intro = (
        "Words by the rank of their frequency in the corpus. Every repair is fitted on the same vectors; a word in "
        "context counts by the mean of its vectors and the mean of their norms. A mean of few occurrences keeps more "
        "of their differences, so rare words in context lie further apart for this reason alone. Norms and distances "
        f"of repaired vectors have another scale: compare correlations. {_LEGEND}"
    )
    brief = [table, *outcome_tables(spaces, brief=True)]
    return Section(PAPERS["frequency"], [table, *outcomes, *bias_folds(spaces)], intro, brief, name="frequency")


def _notes(studies: Sequence[LayerStudy]) -> Section | None:
    blocks: list[Block] = []
    for study in studies:
        notes = overview.study_notes(study)
        blocks += [Sentences([study.name]), Notes(notes)] if notes else []
    return Section("What was left out", blocks, name="notes") if blocks else None


def _csv(block: Table) -> str:
    """The cells of a table as text; a column with small print gets another column for it."""
    rows = [[*row.cells, *[Cell("")] * (len(block.columns) - len(row.cells))] for row in block.rows]
    small = [any(row[place].small for row in rows) for place in range(len(block.columns))]
    head: list[str] = []
    for column, has_small in zip(block.columns, small, strict=True):
        title = " ".join(filter(None, (column.title, column.small)))
        head += [title, f"{title} (small print)"] if has_small else [title]
    lines: list[list[str]] = []
    for row in rows:
        line: list[str] = []
        for cell, has_small in zip(row, small, strict=True):
            line += [f"{cell.text}{cell.mark}", cell.small] if has_small else [f"{cell.text}{cell.mark}"]
        lines.append(line)
    return csv_text(head, lines)
