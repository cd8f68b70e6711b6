"""The document of an evaluation."""

from __future__ import annotations

from uncone.analysis.measures.finding import Level
from uncone.analysis.number_format import count
from uncone.evaluation.table import EvaluationTable
from uncone.report.document import Block, Document, Facts, Fold, Notes, Section, Sentences, Tabs, Verdict
from uncone.report.documents.evaluate.charts import difference_charts, isotropy_chart, layer_chart
from uncone.report.documents.evaluate.scores import aggregations, mean_isoscore, pairs, repaired_rows
from uncone.report.documents.evaluate.sentences import headline, missing_scores, recommended, sentences
from uncone.report.documents.evaluate.tables import (
    average_table,
    difference_table,
    isotropy_table,
    score_table,
    task_table,
)
from uncone.report.text import provenance_facts

__all__ = ["INVERTIBLE", "evaluation_document"]

INVERTIBLE = (
    "An invertible linear repair, such as centering or whitening in all dimensions, can't change what a linear "
    "classifier learns without regularization: its weights undo the repair and predict the same. Differences here come "
    "from the regularization, or from a repair that drops directions or isn't linear."
)
"""Why a repair hardly changes a classification."""


def evaluation_document(table: EvaluationTable, digits: int = 1) -> Document:
    """What an evaluation has to say; papers print scores with two digits."""
    helps = recommended(table) is not None
    verdict = Verdict(
        headline(table),
        Level.HEALTHY if helps else Level.NOTE,
        details=sentences(table),
        bulleted=True,
        marked=helps,
    )
    measured = _score_sections(table, digits) if table.rows and table.datasets else []
    return Document(
        verdict.headline,
        table.model,
        _subtitle(table),
        [verdict],
        [*measured, *_task_sections(table), *_closing(table)],
    )


def _subtitle(table: EvaluationTable) -> str:
    parts = [count(len(table.rows), "row")] if table.rows else []
    if table.datasets:
        total = sum(pairs(table, dataset) for dataset in table.datasets)
        parts.append(f"{count(len(table.datasets), 'dataset')}, {count(total, 'pair')}")
    tasks = len({row.task for row in table.tasks})
    parts += [count(tasks, "other task" if table.datasets else "task")] if tasks else []
    return " · ".join(parts)


def _score_sections(table: EvaluationTable, digits: int) -> list[Section]:
    ways = aggregations(table)
    tabs: list[tuple[str, list[Block]]] = [
        (way if len(ways) > 1 else "Spearman", [score_table(table, way, digits=digits)]) for way in ways
    ]
    tabs.append(("Pearson", [score_table(table, "all", "pearson", digits)]))
    layers, isotropy = layer_chart(table), isotropy_chart(table)
    averages: list[Block] = [average_table(table), *([layers] if layers is not None else [])]
    made = [
        Section("Methods and datasets", [Tabs(tabs)], brief=[score_table(table, brief=True)]),
        Section(
            "On average" if len(table.datasets) > 1 else "Summary", averages, brief=[average_table(table, brief=True)]
        ),
    ]
    if repaired_rows(table):
        every = Fold("All differences to raw vectors, with 95 % intervals", [difference_table(table)])
        made.append(Section("Differences to raw vectors", [*difference_charts(table), every]))
    if any(mean_isoscore(row) is not None for row in table.rows):
        every = Fold("IsoScore by dataset", [isotropy_table(table)])
        made.append(Section("Isotropy", [*([isotropy] if isotropy is not None else []), every]))
    return made


def _task_sections(table: EvaluationTable) -> list[Section]:
    blocks: list[Block] = []
    brief: list[Block] = []
    for task in dict.fromkeys(row.task for row in table.tasks):
        rows = [row for row in table.tasks if row.task == task]
        blocks.append(task_table(task, rows))
        brief.append(task_table(task, rows, brief=True))
        if any("accuracy" in row.scores for row in rows):
            blocks.append(Sentences([INVERTIBLE]))
    return [Section("Other tasks" if table.datasets else "Tasks", blocks, brief=brief)] if blocks else []


def _closing(table: EvaluationTable) -> list[Section]:
    notes = Notes([*missing_scores(table), *(note for note in table.notes if note)])
    facts = [("model", table.model), *provenance_facts(table.provenance)]
    facts += [(f"published: {row.method.name}", row.note) for row in table.published if row.note]
    sections = [Section("Notes", [notes], brief=[notes])] if notes.lines else []
    return [*sections, Section("Provenance", [Facts(facts)])]
