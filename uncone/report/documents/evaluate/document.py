"""The document of an evaluation."""

from __future__ import annotations

from uncone.analysis.measures.finding import Level
from uncone.analysis.number_format import count
from uncone.evaluation.table import EvaluationTable
from uncone.report.document import Block, Document, Facts, Fold, Notes, Section, Sentences, Tabs, Verdict
from uncone.report.documents.evaluate.charts import difference_charts, isotropy_chart, layer_chart
from uncone.report.documents.evaluate.scores import Scores, mean_isoscore
from uncone.report.documents.evaluate.sentences import headline, missing_scores, recommended, sentences
from uncone.report.documents.evaluate.tables import (
    average_table,
    difference_table,
    isotropy_table,
    score_table,
    task_table,
)
from uncone.report.text import provenance_facts

__all__ = ["evaluation_document"]

_INVERTIBLE = (
    "An invertible linear repair, such as centering or whitening in all dimensions, can't change what a linear "
    "classifier learns without regularization: its weights undo the repair and predict the same. Differences here come "
    "from the regularization, or from a repair that drops directions or isn't linear."
)
"""Why a repair hardly changes a classification."""


def evaluation_document(table: EvaluationTable, digits: int = 1) -> Document:
    """The document of an evaluation; papers print scores with two digits."""
    scores = Scores(table)
    helps = recommended(scores) is not None
    level = Level.HEALTHY if helps else Level.NOTE
    verdict = Verdict(headline(scores), level, details=sentences(scores), bulleted=True, marked=helps)
    measured = _score_sections(scores, digits) if table.rows and table.datasets else []
    sections = [*measured, *_task_sections(table), *_closing(scores)]
    return Document(verdict.headline, table.model, _subtitle(scores), [verdict], sections)


def _subtitle(scores: Scores) -> str:
    table = scores.table
    parts = [count(len(table.rows), "row")] if table.rows else []
    if table.datasets:
        pairs = sum(map(scores.pairs, table.datasets))
        parts.append(f"{count(len(table.datasets), 'dataset')}, {count(pairs, 'pair')}")
    tasks = len({row.task for row in table.tasks})
    parts += [count(tasks, "other task" if table.datasets else "task")] if tasks else []
    return " · ".join(parts)


def _score_sections(scores: Scores, digits: int) -> list[Section]:
    ways = scores.aggregations
    tabs: list[tuple[str, list[Block]]] = [
        (way if len(ways) > 1 else "Spearman", [score_table(scores, way, digits=digits)]) for way in ways
    ]
    tabs.append(("Pearson", [score_table(scores, "all", "pearson", digits)]))
    layers, isotropy = layer_chart(scores), isotropy_chart(scores)
    averages: list[Block] = [average_table(scores), *([layers] if layers is not None else [])]
    title = "On average" if len(scores.table.datasets) > 1 else "Summary"
    sections = [
        Section("Methods and datasets", [Tabs(tabs)], brief=[score_table(scores, brief=True)]),
        Section(title, averages, brief=[average_table(scores, brief=True)]),
    ]
    if scores.repaired:
        every = Fold("All differences to raw vectors, with 95 % intervals", [difference_table(scores)])
        sections.append(Section("Differences to raw vectors", [*difference_charts(scores), every]))
    if any(mean_isoscore(row) is not None for row in scores.table.rows):
        every = Fold("IsoScore by dataset", [isotropy_table(scores)])
        sections.append(Section("Isotropy", [*([isotropy] if isotropy is not None else []), every]))
    return sections


def _task_sections(table: EvaluationTable) -> list[Section]:
    blocks: list[Block] = []
    brief: list[Block] = []
    for task in dict.fromkeys(row.task for row in table.tasks):
        rows = [row for row in table.tasks if row.task == task]
        blocks.append(task_table(task, rows))
        brief.append(task_table(task, rows, brief=True))
        if any("accuracy" in row.scores for row in rows):
            blocks.append(Sentences([_INVERTIBLE]))
    return [Section("Other tasks" if table.datasets else "Tasks", blocks, brief=brief)] if blocks else []


def _closing(scores: Scores) -> list[Section]:
    table = scores.table
    notes = Notes([*missing_scores(scores), *filter(None, table.notes)])
    facts = [("model", table.model), *provenance_facts(table.provenance)]
    facts += [(f"published: {row.method.name}", row.note) for row in table.published if row.note]
    sections = [Section("Notes", [notes], brief=[notes])] if notes.lines else []
    return [*sections, Section("Provenance", [Facts(facts)])]
