"""An evaluation as markdown, for a wiki or a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from uncone.evaluation.bootstrap import Aggregation
from uncone.evaluation.correlation import Kind
from uncone.evaluation.table import EvaluationTable
from uncone.report.evaluated import Evaluated
from uncone.report.evaluated_grid import (
    AGGREGATIONS,
    Shown,
    aggregations,
    gain,
    grid,
    labels,
    mean_isoscore,
    pairs,
    points,
    signed,
    undefined,
)
from uncone.report.evaluated_tasks import INVERTIBLE, TaskCell, TaskTable, task_tables
from uncone.report.markdown import safe
from uncone.report.text import printable, provenance_facts

__all__ = ["render"]

_LEGEND = (
    "Best in bold. A star: the interval of the difference to the raw vectors of the same layer leaves out zero, on 30 "
    "independent pairs or more and corrected for the number of methods; ↓ where it is a loss."
)


def render(result: Evaluated) -> str:
    """The sentences, a table for every aggregation and for Pearson, differences, tasks, notes and provenance."""
    table = result.table
    parts = [f"## {_line(table.model)}", f"**{_line(result.headline)}**", _items(result.lines())]
    if table.rows and table.datasets:
        ways = aggregations(table)
        parts += [_table(table, way) for way in ways]
        parts += [_legend(ways), _table(table, "all", "pearson"), _differences(table)]
    parts += [_task(one) for one in task_tables(table.tasks)]
    notes = [*undefined(table), *(note for note in table.notes if note)]
    parts.append(f"### Notes\n\n{_items(notes)}" if notes else "")
    lines = [f"{key}: {value}" for key, value in provenance_facts(table.provenance)]
    parts.append(f"### Provenance\n\n{_items(lines)}" if lines else "")
    return "\n\n".join(part for part in parts if part) + "\n"


def _legend(ways: Sequence[str]) -> str:
    return _LEGEND if len(ways) > 1 else f"{_LEGEND} No set has subsets: the aggregations mean and wmean give the same."


def _table(table: EvaluationTable, way: Aggregation, kind: Kind = "spearman") -> str:
    shown = grid(table, way, kind)
    sizes = {dataset: pairs(table, dataset) for dataset in table.datasets}
    heads = [f"{_line(one)} ({sizes[one]:,})" if sizes[one] else _line(one) for one in table.datasets]
    rows = []
    for group in shown.groups:
        for line in group.lines:
            note = f" ({line.row.note})" if line.row.note else ""
            isotropy = mean_isoscore(line.row)
            cells = [_cell(one) for one in (*line.cells, line.average)]
            iso = "" if isotropy is None else f"{isotropy:.2f}"
            rows.append(f"| {_line(line.name + note)} | {_line(group.title)} | {' | '.join(cells)} | {iso} |")
    title = f"### {kind.capitalize()} x 100, `{way}`: {AGGREGATIONS[way]}"
    head = f"| method | protocol | {' | '.join(heads)} | average | IsoScore |"
    rule = f"|---|---{'|---:' * (len(heads) + 2)}|"
    return "\n".join([title, "", "The number of pairs in brackets.", "", head, rule, *rows])


def _cell(shown: Shown | TaskCell) -> str:
    if isinstance(shown, TaskCell):
        text = "–" if shown.score is None else points(shown.score.value)
        between = shown.score
        if between is not None and between.low is not None and between.high is not None:
            text += f" ({points(between.low)} to {points(between.high)})"
    else:
        text = points(shown.value) + ("" if shown.spread is None else f" ± {points(shown.spread)}")
    text = f"**{text}**" if shown.best else text
    return text + {1: r"\*", -1: r"↓\*", 0: ""}[shown.way]


def _differences(table: EvaluationTable) -> str:
    rows = []
    for label, row in zip(labels([one.method for one in table.rows]), table.rows, strict=True):
        gained = gain(table, row)
        if gained is None:
            continue
        star = r"\*" if gained.proven else ""
        between = "" if gained.low is None else f"{signed(gained.low)} to {signed(gained.high)}"
        units = f"{gained.units:,}" if gained.units else ""
        proven = f"{units} | {gained.gains} of {gained.sets} | {gained.losses} of {gained.sets}"
        rows.append(f"| {_line(label)} | {signed(gained.value)}{star} | {between} | {proven} |")
    if not rows:
        return ""
    head = "| method | mean difference to raw | 95 % interval | independent pairs | proven gains | proven losses |"
    return "\n".join(["### Differences to raw vectors", "", head, "|---|---:|---|---:|---|---|", *rows])


def _task(task: TaskTable) -> str:
    head = f"| method | protocol | {' | '.join(map(_line, task.titles))} | difference to raw | IsoScore |"
    rule = f"|---|---{'|---:' * (len(task.titles) + 2)}|"
    rows = []
    for line in task.lines:
        first = line.cells[0].difference if line.cells else None
        apart = "" if first is None else signed(first.value)
        iso = "" if line.row.isoscore is None else f"{line.row.isoscore:.2f}"
        cells = " | ".join(_cell(one) for one in line.cells)
        note = f" ({line.row.note})" if line.row.note else ""
        rows.append(f"| {_line(line.name + note)} | {_line(line.protocol)} | {cells} | {apart} | {iso} |")
    why = f"\n\n{INVERTIBLE}" if task.is_linear else ""
    return "\n".join([f"### {_line(task.task)}, x 100, n = {task.n:,}", "", head, rule, *rows]) + why


def _items(lines: Sequence[str]) -> str:
    return "\n".join(f"- {_line(line)}" for line in lines)


def _line(text: str) -> str:
    return safe(printable(text))
