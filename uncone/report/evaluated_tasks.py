"""The other tasks of an evaluation arranged for reading: a table per task, and what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from uncone.evaluation.bootstrap import Difference
from uncone.evaluation.resampling import Score
from uncone.evaluation.table import TaskRow
from uncone.report.evaluated_grid import certainty, labels, points, protocol, signed, trend

__all__ = ["INVERTIBLE", "TaskCell", "TaskLine", "TaskTable", "task_sentences", "task_tables"]

INVERTIBLE = (
    "An invertible linear repair, such as centring or whitening in all dimensions, cannot change what a linear "
    "classifier without regularisation learns: its weights undo the repair, and predict the same. What moves here "
    "comes from the regularisation, or from a repair that drops directions or is not linear."
)
"""Why there is little to be gained in a classification."""

_TITLES = {
    "accuracy": "accuracy",
    "macro_f1": "macro F1",
    "ndcg@10": "nDCG@10",
    "recall@10": "recall@10",
    "recall@100": "recall@100",
    "mrr@10": "MRR@10",
    "roc_auc": "ROC AUC",
    "average_precision": "average precision",
    "best_f1": "best F1",
}


@dataclass(frozen=True)
class TaskCell:
    """A figure of a task with its difference to raw vectors."""

    score: Score | None
    difference: Difference | None
    best: bool
    way: int


@dataclass(frozen=True)
class TaskLine:
    """A method on a task."""

    name: str
    protocol: str
    row: TaskRow
    cells: Sequence[TaskCell]


@dataclass(frozen=True)
class TaskTable:
    """Methods x measures of one task, with the rows that it was judged on."""

    task: str
    measures: Sequence[str]
    titles: Sequence[str]
    n: int
    lines: Sequence[TaskLine]

    @property
    def is_linear(self) -> bool:
        """Whether it is a classification, in which an invertible linear repair cannot matter."""
        return "accuracy" in self.measures


def task_tables(rows: Sequence[TaskRow]) -> list[TaskTable]:
    """A table for each task, in the order in which they come first."""
    return [_table(task, [row for row in rows if row.task == task]) for task in dict.fromkeys(row.task for row in rows)]


def _table(task: str, rows: Sequence[TaskRow]) -> TaskTable:
    measures = list(dict.fromkeys(name for row in rows for name in row.scores))
    tops = {name: _top(rows, name) for name in measures}
    lines = []
    for label, row in zip(labels([row.method for row in rows]), rows, strict=True):
        cells = []
        for name in measures:
            score, difference = row.scores.get(name), row.differences.get(name)
            best = bool(tops[name]) and score is not None and points(score.value) == tops[name]
            cells.append(TaskCell(score, difference, best, trend(difference)))
        lines.append(TaskLine(label, protocol(row.method), row, cells))
    n = max((score.n for row in rows for score in row.scores.values()), default=0)
    return TaskTable(task, measures, [_TITLES.get(name, name.replace("_", " ")) for name in measures], n, lines)


def _top(rows: Sequence[TaskRow], measure: str) -> str:
    values = [row.scores[measure].value for row in rows if measure in row.scores]
    known = [value for value in values if value is not None]
    return points(max(known)) if len(known) > 1 else ""


def task_sentences(rows: Sequence[TaskRow]) -> list[str]:
    """For each task, which method is best by its first measure, and whether any gain is proven."""
    said = []
    for table in task_tables(rows):
        known = [
            (line.cells[0].score.value, line)
            for line in table.lines
            if line.cells and line.cells[0].score is not None and line.cells[0].score.value is not None
        ]
        if not known:
            said.append(f"{table.task}: no method has a score.")
            continue
        value, line = max(known, key=lambda one: one[0])
        gained = line.cells[0].difference
        by = f" ({signed(gained.value)} to raw)" if gained is not None and gained.value is not None else ""
        winners = [one.name for one in table.lines if one.cells and one.cells[0].way > 0]
        repaired = [one for one in table.lines if one.cells and one.cells[0].difference is not None]
        units = max((one.cells[0].difference.units for one in repaired if one.cells[0].difference), default=0)
        few = certainty(False, units, "item").removeprefix("not proven")
        held = f"gains {certainty(True, units, 'item')}"
        proven = f"{held}: {', '.join(winners)}" if winners else f"no gain is proven{few}"
        end = f"; {proven}" if repaired else ""
        said.append(f"{table.task}: best {table.titles[0]} is {points(value)}, by {line.name}{by}{end}.")
    return said
