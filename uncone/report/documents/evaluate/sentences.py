"""Sentences of an evaluation, written from its numbers."""

from __future__ import annotations

from collections.abc import Sequence

from uncone.analysis.number_format import count
from uncone.evaluation.table import EvaluationTable, Row, TaskRow
from uncone.report.documents.evaluate.scores import (
    MEASURES,
    Gain,
    aggregations,
    average,
    cell_of,
    certainty,
    gain,
    independent_pairs,
    interval,
    is_reference,
    labels,
    points,
    repaired_rows,
    same_space,
    signed,
    trend,
)

__all__ = ["headline", "missing_scores", "recommended", "sentences"]

WORTH = 0.01
"""A point: what a repair has to gain to be worth its trouble."""

_NAMED = 4
"""Methods that a sentence names; the table has the others."""


def recommended(table: EvaluationTable) -> Row | None:
    """The best row with a proven gain of a point or more on average, if it is above the raw vectors of every layer."""
    raws = [value for row in table.rows if is_reference(row) and (value := average(table, row)) is not None]
    candidates = []
    for row in repaired_rows(table):
        value, gained = average(table, row), gain(table, row)
        if value is not None and gained is not None and gained.proven and gained.value >= WORTH:
            candidates.append((value, row))
    best = max(candidates, key=lambda one: one[0], default=None)
    return None if best is None or best[0] <= max(raws, default=-1.0) else best[1]


def headline(table: EvaluationTable) -> str:
    """Whether a repair helps here."""
    chosen, top = recommended(table), _best(table)
    if chosen is not None:
        gained = gain(table, chosen)
        assert gained is not None
        return (
            f"{_label(table, chosen)} helps: {points(gained.value)} points above raw vectors{_mean(table)}, "
            f"{certainty(True, gained.units)}."
        )
    if not repaired_rows(table) or top is None:
        return _unjudged(table, top)
    if is_reference(top):
        if _best(table, repaired_rows(table)) is None:
            return "Nothing to recommend: no repair has a score on every set."
        return (
            f"Leave it alone: {_vectors(table, top)} score {points(average(table, top))}{_mean(table)}, and no repair "
            f"does better."
        )
    gained = gain(table, top)
    if gained is None:
        return f"{_label(table, top)} scores {points(average(table, top))}{_mean(table)}; it was not compared to raw."
    if gained.proven:
        why = "less than a point" if gained.value < WORTH else "and the raw vectors of another layer are as good"
        return f"Leave it alone: the best repair, {_label(table, top)}, gains {points(gained.value)} points, {why}."
    if gained.value <= 0:
        return f"Leave it alone: the best repair, {_label(table, top)}, gains nothing{_mean(table)}."
    return (
        f"Leave it alone: the best repair, {_label(table, top)}, gains {points(gained.value)} points{_mean(table)}, "
        f"{certainty(False, gained.units)}."
    )


def sentences(table: EvaluationTable) -> list[str]:
    """The best, what is proven, what loses, the protocol, and what depends on the aggregation."""
    lines = [
        _leader(table),
        _best_inductive(table),
        _other_layers(table),
        _proven(table),
        _losing(table),
        _protocols(table),
        _seeds(table),
        _ranking(table),
        *_tasks(table.tasks),
    ]
    return [line for line in lines if line]


def _unjudged(table: EvaluationTable, top: Row | None) -> str:
    if top is not None:
        return f"{_label(table, top)} scores {points(average(table, top))}{_mean(table)}; no repair was tried."
    if table.tasks and not table.rows:
        return f"{count(len({one.task for one in table.tasks}), 'task')}, no sentence pairs."
    if repaired_rows(table):
        return "Nothing to recommend: no method has a score on every set."
    return "Nothing was measured."


def _best(table: EvaluationTable, rows: Sequence[Row] | None = None) -> Row | None:
    """The row with the highest average; of equals the one that comes first, and raw vectors before repairs."""
    known = [
        (value, row) for row in (table.rows if rows is None else rows) if (value := average(table, row)) is not None
    ]
    known.sort(key=lambda one: (-one[0], not is_reference(one[1])))
    return known[0][1] if known else None


def _leader(table: EvaluationTable) -> str:
    top = _best(table)
    if top is None:
        return ""
    value, gained = average(table, top), gain(table, top)
    start = f"Best{_mean(table)} is {_label(table, top)} with {points(value)}"
    others = repaired_rows(table)
    if not is_reference(top):
        return f"{start}{'' if gained is None else f': {_gain_text(gained)} to the raw vectors of {_its(table)}'}."
    next_best = _best(table, others)
    if next_best is None:
        return f"{start}." if others or len(table.rows) > 1 else ""
    behind = average(table, next_best)
    assert value is not None and behind is not None
    gap = f", {points(value - behind)} below" if points(value - behind) != "0.0" else ", the same"
    return f"{start}; the best repair, {_label(table, next_best)}, has {points(behind)}{gap}."


def _best_inductive(table: EvaluationTable) -> str:
    """What the best is on texts that it has not seen, where the best of all has seen them."""
    top, fair = _best(table), [row for row in table.rows if row.method.protocol == "inductive"]
    best = _best(table, fair)
    if top is None or best is None or top.method.protocol != "transductive":
        return ""
    gained = gain(table, best)
    by = "" if gained is None else f": {_gain_text(gained)}"
    return f"The best that was fitted on other texts is {_label(table, best)} with {points(average(table, best))}{by}."


def _other_layers(table: EvaluationTable) -> str:
    """The best raw vectors, where they are of another layer than the best repair."""
    top = _best(table)
    raw = _best(table, [row for row in table.rows if is_reference(row)])
    if top is None or raw is None:
        return ""
    if is_reference(top):
        elsewhere = [row for row in repaired_rows(table) if not same_space(row.method, top.method)]
        gaining = [(one.value, row) for row in elsewhere if (one := gain(table, row)) is not None and one.proven]
        if not gaining or max(gaining, key=lambda one: one[0])[0] <= 0:
            return ""
        value, row = max(gaining, key=lambda one: one[0])
        own = average(table, row)
        reached = "" if own is None else f", and reaches {points(own)}"
        return f"Elsewhere repairs do gain: {_label(table, row)} {signed(value)} to its own raw vectors{reached}."
    if same_space(top.method, raw.method):
        return ""
    a, b = average(table, top), average(table, raw)
    assert a is not None and b is not None
    return (
        f"The best raw vectors are {_label(table, raw)} with {points(b)}, {points(a - b)} below; between two layers no "
        f"difference was tested."
    )


def _proven(table: EvaluationTable) -> str:
    others = [(row, one) for row in repaired_rows(table) if (one := gain(table, row)) is not None]
    if not others:
        return ""
    tried = count(len(repaired_rows(table)), "method")
    one_set = len(table.datasets) == 1
    winners = [(row, one) for row, one in others if one.gains]
    if not winners:
        where = f" on {table.datasets[0]}" if one_set else " on any one set"
        only = "The one method tried has no" if len(repaired_rows(table)) == 1 else f"None of {tried} has a"
        on_average = any(one.proven and one.value > 0 for _, one in others)
        return f"{only} proven gain{where}{', only on average' if on_average else ': leave it alone'}."
    winners.sort(key=lambda pair: (-pair[1].gains, -pair[1].value))
    have = "gain" if len(winners) != 1 else "gains"
    if one_set:
        named = _listed([f"{_label(table, row)} {signed(one.value)}" for row, one in winners])
        return f"{len(winners)} of {tried} {have}, proven on {_units(table)}: {named}."
    named = _listed([f"{_label(table, row)} on {one.gains} of {one.sets}" for row, one in winners])
    return f"{len(winners)} of {tried} {have}, proven on at least one set ({_units(table)} each): {named}."


def _losing(table: EvaluationTable) -> str:
    others = [(row, one) for row in repaired_rows(table) if (one := gain(table, row)) is not None]
    worst = sorted((pair for pair in others if pair[1].proven and pair[1].value < 0), key=lambda pair: pair[1].value)
    partly = [pair for pair in others if pair[1].losses and pair not in worst]
    said = []
    if worst:
        named = _listed([f"{_label(table, row)} {signed(one.value)}" for row, one in worst])
        units = count(worst[0][1].units, "independent pair")
        said.append(f"Proven to lose{_mean(table)}, on {units}: {named}.")
    if partly:
        named = _listed([f"{_label(table, row)} on {one.losses} of {one.sets}" for row, one in partly])
        average_too = ", though not on average" if worst else ""
        said.append(f"Proven to lose on some sets{average_too} ({_units(table)} each): {named}.")
    return " ".join(said)


def _protocols(table: EvaluationTable) -> str:
    fitted = [row.method for row in table.rows if row.method.protocol != "raw"]
    inductive = [one for one in fitted if one.protocol == "inductive"]
    transductive = [one for one in fitted if one.protocol == "transductive"]
    said = []
    if inductive:
        corpora = _listed(list(dict.fromkeys(one.fitted_on for one in inductive if one.fitted_on)))
        on = f" (fitted on {corpora})" if corpora else " (fitted on another corpus)"
        said.append(f"{count(len(inductive), 'row')} {_are(inductive)} inductive{on}")
    if transductive:
        said.append(
            f"{count(len(transductive), 'row')} {_are(transductive)} transductive: fitted on the very texts that "
            f"are judged, a score that new texts need not reach"
        )
    return f"{'; '.join(said)}." if said else ""


def _seeds(table: EvaluationTable) -> str:
    several = [row for row in table.rows if row.seeds > 1]
    widest = [(cell.spread, row, cell) for row in several for cell in row.cells if cell.spread is not None]
    if not widest:
        return ""
    spread, row, cell = max(widest, key=lambda one: one[0])
    return (
        f"Over {row.seeds} seeds the score moves by {points(spread)} points at most (standard deviation, "
        f"{_label(table, row)} on {cell.dataset})."
    )


def _ranking(table: EvaluationTable) -> str:
    """Whether another aggregation would choose another method."""
    if len(aggregations(table)) == 1 or len(table.rows) < 2:
        return ""
    best = {}
    for way in aggregations(table):
        known = [(value, row) for row in table.rows if (value := average(table, row, aggregation=way)) is not None]
        if known:
            best[way] = max(known, key=lambda one: one[0])[1]
    if "all" not in best or len(best) < 2:
        return ""
    others = {way: row for way, row in best.items() if row is not best["all"]}
    if not others:
        return f"The aggregations {_listed(list(best))} agree on which is best."
    said = [f"under {way} it is {_label(table, row)}" for way, row in others.items()]
    return f"The aggregation decides which is best: under all it is {_label(table, best['all'])}, {', '.join(said)}."


def _gain_text(gained: Gain) -> str:
    between = interval(gained.low, gained.high)
    if not between:
        return f"{signed(gained.value)}, without an interval,"
    return f"{signed(gained.value)} (95 % interval {between}, {certainty(gained.proven, gained.units)})"


def _units(table: EvaluationTable) -> str:
    """The independent pairs of the datasets, from the fewest to the most."""
    sizes = sorted({size for dataset in table.datasets if (size := independent_pairs(table, dataset))})
    most = count(sizes[-1] if sizes else 0, "independent pair")
    return most if len(sizes) < 2 else f"{sizes[0]:,} to {most}"


def _label(table: EvaluationTable, row: Row) -> str:
    named = labels([one.method for one in table.rows])
    return next(label for label, one in zip(named, table.rows, strict=True) if one is row)


def _vectors(table: EvaluationTable, row: Row) -> str:
    """Raw vectors in words."""
    if row.method.name != "raw":
        return f"the vectors of {_label(table, row)}"
    where = _label(table, row).removeprefix("raw").strip(" ()")
    return f"the raw vectors of {where}" if where else "raw vectors"


def _its(table: EvaluationTable) -> str:
    return "its layer" if len({row.method.layer for row in table.rows}) > 1 else "the same layer"


def _mean(table: EvaluationTable) -> str:
    n = len(table.datasets)
    return f" on {table.datasets[0]}" if n == 1 else f" on average over {n} sets"


def _are(some: Sequence[object]) -> str:
    return "is" if len(some) == 1 else "are"


def _listed(names: Sequence[str]) -> str:
    if len(names) > _NAMED + 1:
        return f"{', '.join(names[:_NAMED])}, and {len(names) - _NAMED} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


def _tasks(rows: Sequence[TaskRow]) -> list[str]:
    """For each task, the best method by its first measure, and whether any gain is proven."""
    return [_task(task, [row for row in rows if row.task == task]) for task in dict.fromkeys(row.task for row in rows)]


def _task(task: str, rows: Sequence[TaskRow]) -> str:
    measure = next((name for row in rows for name in row.scores), "")
    scores = [None if measure not in row.scores else row.scores[measure].value for row in rows]
    known = [(value, place) for place, value in enumerate(scores) if value is not None]
    if not known:
        return f"{task}: no method has a score."
    value, best = max(known, key=lambda one: one[0])
    names = labels([row.method for row in rows])
    differences = [row.differences.get(measure) for row in rows]
    own = differences[best]
    by = f" ({signed(own.value)} to raw)" if own is not None and own.value is not None else ""
    start = f"{task}: best {MEASURES.get(measure, measure.replace('_', ' '))} is {points(value)}, by {names[best]}{by}"
    tested = [one for one in differences if one is not None]
    if not tested:
        return f"{start}."
    units = max(one.units for one in tested)
    winners = [name for name, one in zip(names, differences, strict=True) if trend(one) > 0]
    if winners:
        return f"{start}; gains {certainty(True, units, 'item')}: {', '.join(winners)}."
    return f"{start}; no gain is proven{certainty(False, units, 'item').removeprefix('not proven')}."


def missing_scores(table: EvaluationTable) -> list[str]:
    """What could not be measured, and why."""
    missing = []
    for label, row in zip(labels([row.method for row in table.rows]), table.rows, strict=True):
        for dataset in table.datasets:
            cell = cell_of(row, dataset)
            if cell is None:
                missing.append(f"{label} on {dataset}: not measured.")
            elif cell.spearman.reason:
                missing.append(f"{label} on {dataset}: undefined, because {cell.spearman.reason.rstrip('.')}.")
    for label, task in zip(labels([task.method for task in table.tasks]), table.tasks, strict=True):
        if any(score.value is None for score in task.scores.values()):
            missing.append(
                f"{label} on {task.task}: undefined, because {(task.note or 'it has no value').rstrip('.')}."
            )
        elif task.note and not task.method.repair and "accuracy" not in task.scores:
            missing.append(f"{task.task}: {task.note}")  # about the data: lost documents, judgments without documents
    return missing
