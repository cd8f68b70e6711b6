"""An evaluation as one page that works offline, and as a fragment for notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from uncone._version import __version__
from uncone.diagnosis.words import cosine, count
from uncone.evaluation.bootstrap import Aggregation
from uncone.evaluation.correlation import Kind
from uncone.evaluation.table import EvaluationTable, Row
from uncone.report.evaluated import Evaluated
from uncone.report.evaluated_charts import charts
from uncone.report.evaluated_grid import (
    AGGREGATIONS,
    Grid,
    Line,
    Shown,
    aggregations,
    cell_of,
    certainty,
    gain,
    grid,
    independent,
    labels,
    mean_isoscore,
    pairs,
    points,
    signed,
    trend,
    undefined,
)
from uncone.report.evaluated_tasks import INVERTIBLE, task_tables
from uncone.report.page import environment, plotly_script, today
from uncone.report.text import provenance_facts

__all__ = ["notebook", "render"]


@dataclass(frozen=True)
class _Panel:
    """One of the tables that the reader can switch between."""

    key: str
    title: str
    intro: str
    grid: Grid


def render(result: Evaluated) -> str:
    """The whole page, with the JSON that it offers for download."""
    table = result.table
    return (
        environment()
        .get_template("evaluated.html")
        .render(
            result=result,
            first={"provenance": {"uncone": table.provenance.get("uncone", __version__)}},
            subtitle=_subtitle(table),
            differences=_differences(table),
            tasks=task_tables(table.tasks),
            invertible=INVERTIBLE,
            undefined=undefined(table),
            charts=charts(table),
            provenance=provenance_facts(table.provenance),
            plotly=plotly_script(),
            summary=result.to_json(),
            today=today(),
            whole=True,
            **_words(result),
        )
    )


def notebook(result: Evaluated) -> str:
    """The sentences and the table without charts: what a notebook shows."""
    return environment().get_template("evaluated.html").render(result=result, whole=False, **_words(result))


def _words(result: Evaluated) -> dict[str, Any]:
    table = result.table
    return {
        "table": table,
        "panels": _panels(table),
        "lines": result.lines(),
        "sizes": {dataset: pairs(table, dataset) for dataset in table.datasets},
        "independent": {dataset: independent(table, dataset) for dataset in table.datasets},
        "several": len(table.datasets) > 1,
        "points": points,
        "signed": signed,
        "told": told,
        "told_mean": lambda line: _told_mean(table, line),
        "isoscore": _isoscore,
        "mean_isoscore": mean_isoscore,
        "star": {1: "*", -1: "↓*", 0: ""},
    }


def _subtitle(table: EvaluationTable) -> str:
    sizes = [pairs(table, dataset) or 0 for dataset in table.datasets]
    parts = [count(len(table.rows), "row")] if table.rows else []
    parts += [f"{count(len(table.datasets), 'set')}, {count(sum(sizes), 'pair')}"] if table.datasets else []
    tasks = len({one.task for one in table.tasks})
    parts += [f"{tasks} other {'task' if tasks == 1 else 'tasks'}"] if tasks else []
    return " · ".join([table.model, *parts])


def _panels(table: EvaluationTable) -> list[_Panel]:
    """A table for each aggregation that differs, and one of Pearson's correlation."""
    if not table.rows or not table.datasets:
        return []
    ways = aggregations(table)
    made = [_panel(table, way, "spearman", len(ways)) for way in ways]
    return [*made, _panel(table, "all", "pearson", len(ways))]


def _panel(table: EvaluationTable, way: Aggregation, kind: Kind, ways: int) -> _Panel:
    shown = grid(table, way, kind)
    title = str(way) if kind == "spearman" else "Pearson"
    intro = f"{kind.capitalize()} x 100, aggregation {way}: {AGGREGATIONS[way]}."
    if ways == 1:
        intro = f"{kind.capitalize()} x 100. No set has subsets, so the aggregations all, mean and wmean are the same."
        title = kind.capitalize()
    if kind == "spearman" and way == "all":
        intro += (
            " A star: the interval of the difference to the raw vectors of the same layer leaves out zero, on 30 "
            "independent pairs or more and corrected for the number of methods; ↓ where it is a loss."
        )
    else:
        intro += " Differences were tested for Spearman under all: there are no stars here."
    hidden = [row for row in table.published if not any(row is line.row for one in shown.groups for line in one.lines)]
    if hidden:
        intro += f" {count(len(hidden), 'published row')} without a figure of this kind: see the other tables."
    return _Panel(f"{kind}-{way}", title, intro, shown)


def told(table: EvaluationTable, line: Line, dataset: str, shown: Shown) -> str:
    """A figure in words, with all that is known of it: shown on hover, and read out."""
    cell = shown.cell
    if cell is None:
        return f"{line.name} on {dataset}: not measured"
    reason = f", since {cell.spearman.reason}" if cell.spearman.reason else ""
    parts = [f"{line.name} on {dataset}: {points(shown.value) if shown.value is not None else f'undefined{reason}'}"]
    if shown.spread is not None:
        parts.append(f"standard deviation over {line.row.seeds} seeds {points(shown.spread)}")
    one = cell.difference
    if one is not None and one.value is not None:
        between = "" if one.low is None else f" (95 % interval {signed(one.low)} to {signed(one.high)})"
        parts.append(f"{signed(one.value)} to raw under all{between}, {certainty(bool(trend(one)), one.units)}")
    if cell.isoscore is not None:
        parts.append(f"IsoScore {cosine(cell.isoscore, 3)}")
    if cell.baseline is not None:
        parts.append(f"random sentences have a cosine of {cosine(cell.baseline)}")
    return "; ".join(parts)


def _told_mean(table: EvaluationTable, line: Line) -> str:
    one = gain(table, line.row)
    said = f"{line.name} on average: {points(line.average.value)}"
    if line.row.low is not None and line.average.value is not None:
        said += f" (95 % interval {points(line.row.low)} to {points(line.row.high)})"
    if one is None:
        return said
    between = "" if one.low is None else f" (interval {signed(one.low)} to {signed(one.high)})"
    return f"{said}; {signed(one.value)} to raw{between}, {certainty(one.proven, one.units)}"


def _isoscore(value: float | None) -> str:
    return "" if value is None else cosine(value)


def _differences(table: EvaluationTable) -> list[dict[str, Any]]:
    """Every difference to raw vectors with its interval, by method."""
    made = []
    for label, row in zip(labels([one.method for one in table.rows]), table.rows, strict=True):
        one = gain(table, row)
        if one is not None:
            mean = {
                "said": _bounds(one.value, one.low, one.high),
                "way": 0 if not one.proven else 1 if one.value > 0 else -1,
            }
            made.append({"label": label, "mean": mean, "cells": [_cell(row, dataset) for dataset in table.datasets]})
    return made


def _cell(row: Row, dataset: str) -> dict[str, Any]:
    cell = cell_of(row, dataset)
    one = None if cell is None else cell.difference
    if one is None or one.value is None:
        return {"said": ("–", ""), "way": 0}
    return {"said": _bounds(one.value, one.low, one.high), "way": trend(one)}


def _bounds(value: float, low: float | None, high: float | None) -> tuple[str, str]:
    return signed(value), "" if low is None or high is None else f"{signed(low)} to {signed(high)}"
