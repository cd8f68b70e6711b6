"""Thresholds with a promise on new pairs: their sentences, their table and their chart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from uncone.analysis.calibration.guarantee import PAIRS
from uncone.analysis.calibration.results import Guarantee, LabeledPairs
from uncone.analysis.intervals.resampling import Score
from uncone.analysis.number_format import cosine, count, percent
from uncone.report.charts.model import Axis, Chart, Line, Reference
from uncone.report.document import Cell, Table, table
from uncone.report.documents.calibrate.sentences import digits, rare
from uncone.report.text import between

if TYPE_CHECKING:
    from uncone.report.documents.calibrate import Calibrated

__all__ = ["guarantee_references", "guarantee_sentences", "guaranteed_thresholds", "risk_chart"]

_MOST_DECIMALS = 6
_GOALS = {"miss": "miss", "false": "let through"}


def guarantee_sentences(result: Calibrated) -> list[str]:
    """A sentence for each promise, and one on both together if there are two."""
    promised = result.calibration.guarantees
    return [*(_sentence(result, each) for each in promised), *_together(result)]


def _sentence(result: Calibrated, each: Guarantee) -> str:
    goal = f"{_GOALS[each.kind]} at most {percent(each.rate)} of {PAIRS[each.kind]} pairs on average"
    if each.value is None:
        return f"No threshold is guaranteed to {goal}: {each.reason}"
    share, noun = (each.let_through, "dissimilar") if each.kind == "miss" else (each.found, "similar")
    verb = "still lets through" if each.kind == "miss" else "still finds"
    other = "" if share is None or share.value is None else f" It {verb} {percent(share.value)} of {noun} pairs."
    return f"To {goal}, use a threshold of {_value(result, each)} (guaranteed for pairs like the labeled ones).{other}"


def _together(result: Calibrated) -> list[str]:
    """Whether one threshold keeps both promises, or which scores stay undecided between two."""
    values = {each.kind: each for each in result.calibration.guarantees if each.value is not None}
    if len(values) < 2:
        return []
    miss, false = values["miss"], values["false"]
    low, high = _value(result, false), _value(result, miss)
    assert miss.value is not None and false.value is not None
    if false.value <= miss.value:
        return [f"Any threshold from {low} to {high} keeps both promises."]
    share = _undecided(result.calibration.labeled, miss, false)
    pairs = "" if share is None else f" ({percent(share)} of the labeled pairs)"
    return [f"No one threshold keeps both promises: pairs that score {high} to {low}{pairs} stay undecided."]


def _undecided(labeled: LabeledPairs | None, miss: Guarantee, false: Guarantee) -> float | None:
    """The share of the labeled pairs between the two thresholds."""
    if labeled is None:
        return None

    def reached(each: Guarantee) -> float:
        similar, others = ((share.value or 0.0) if share else 0.0 for share in (each.found, each.let_through))
        return similar * labeled.positives + others * (labeled.n - labeled.positives)

    return (reached(miss) - reached(false)) / labeled.n


def _value(result: Calibrated, each: Guarantee) -> str:
    """A threshold rounded to the safe side: down if it must not miss, up if it must not let through."""
    assert each.value is not None
    scale = 10 ** min(digits(result) + 2, _MOST_DECIMALS)
    whole = (math.floor if each.kind == "miss" else math.ceil)(each.value * scale)
    return cosine(whole / scale, min(digits(result) + 2, _MOST_DECIMALS))


def guaranteed_thresholds(result: Calibrated) -> Table | None:
    """The thresholds with a promise; None if nobody asked for one."""
    promised = result.calibration.guarantees
    if not promised:
        return None
    heads = ["promise", "threshold", "independent pairs", "similar pairs found", "dissimilar pairs found"]
    heads += ["true rate, 95 of 100 times", "unrelated pairs at or above"]
    rows: list[list[str | Cell]] = []
    for each in promised:
        goal = f"{_GOALS[each.kind]} at most {percent(each.rate)}"
        minimum = "" if each.units_needed is None else f"needs {each.units_needed:,}"
        units = Cell(f"{each.units:,}", minimum)
        if each.value is None:
            rows.append([goal, "–", units, "–", "–", "–", "–"])
            continue
        rate = "–" if each.background_rate is None else rare(each.background_rate)
        shares = [_share(each.found), _share(each.let_through)]
        rows.append([goal, _value(result, each), units, *shares, between(each.low, each.high, percent), rate])
    columns = [place for place, _ in enumerate(heads) if any(_is_known(row[place]) for row in rows)]
    remarks = [f"{row[0]}: {each.reason}" for row, each in zip(rows, promised, strict=True) if each.value is None]
    return table(
        [heads[place] for place in columns],
        [[row[place] for place in columns] for row in rows],
        title="Guaranteed thresholds",
        intro=_basis(promised[0]),
        remarks=[*remarks, *_together(result)],
    )


def _is_known(cell: str | Cell) -> bool:
    return (cell.text if isinstance(cell, Cell) else cell) != "–"


def _basis(each: Guarantee) -> str:
    units = "Pairs linked through shared texts count as one."
    if each.method == "disjoint":
        units = "Too many pairs share texts, so it rests on pairs that share none."
    return (
        "The rate holds on average over sets of labeled pairs and for new pairs like them (conformal risk control). "
        f"{units} The true rate of one such threshold varies: see its range."
    )


def _share(score: Score | None) -> Cell:
    if score is None or score.value is None:
        return Cell("–")
    return Cell(percent(score.value), between(score.low, score.high, percent, " – "))


def guarantee_references(result: Calibrated) -> list[Reference]:
    """The guaranteed thresholds as lines on an axis of scores."""
    return [
        Reference(each.value, f"{each.kind} {percent(each.rate)}: {_value(result, each)}", "accent", "dash")
        for each in result.calibration.guarantees
        if each.value is not None
    ]


def risk_chart(result: Calibrated) -> list[Chart]:
    """The share of similar pairs missed and of dissimilar pairs let through at each threshold, with the promises."""
    labeled, lines = result.calibration.labeled, guarantee_references(result)
    if labeled is None or not lines:
        return []
    edges = np.asarray(labeled.similar["edges"])
    missed, passed = (_below(labeled.similar["counts"]), 1 - _below(labeled.dissimilar["counts"]))
    marks = [
        Line(edges.tolist(), (100 * missed).tolist(), "similar pairs missed", "accent"),
        Line(edges.tolist(), (100 * passed).tolist(), "dissimilar pairs let through", "second", dash="dash"),
    ]
    caption = f"Of {count(labeled.n, 'labeled pair')}. The lines are the guaranteed thresholds."
    x, y = Axis("threshold", "threshold"), Axis("% of the pairs", "percent", range=(-2, 102))
    return [Chart("risk", "What a threshold misses and lets through", caption, marks, x, y, lines, wide=True)]


def _below(counts: object) -> np.ndarray:
    """The share of the pairs below each edge of a histogram."""
    sums = np.append(0.0, np.cumsum(np.asarray(counts, np.float64)))
    return sums / (sums[-1] or 1.0)
