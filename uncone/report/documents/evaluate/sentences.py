"""Sentences of an evaluation, written from its numbers."""

from __future__ import annotations

from collections.abc import Mapping

from uncone.analysis.number_format import count
from uncone.evaluation.table import Row, TaskRow
from uncone.report.documents.evaluate.scores import Scores, certainty, difference_text, points, signed_points, trend
from uncone.report.documents.evaluate.tables import measure_title
from uncone.report.text import capitalized, listed

__all__ = ["headline", "missing_scores", "recommended", "recommended_task", "sentences"]

WORTH = 0.01
"""A point: what a repair has to gain to be worth its trouble."""


def recommended(scores: Scores) -> Row | None:
    """The best row with a proven gain of a point or more on average, if it is above the raw vectors of every layer."""
    top = scores.best([row for row, gain in scores.gains if gain.proven and gain.value >= WORTH])
    raw = scores.best(scores.raw)
    return None if top is None or (raw is not None and scores.gap(top, raw) <= 0) else top


def recommended_task(scores: Scores) -> tuple[str, TaskRow] | None:
    """The best method of the only task, if its gain by the first measure is proven and a point or more."""
    if len(scores.tasks) != 1 or scores.table.rows:
        return None
    (entries,) = scores.tasks.values()
    measure = _first_measure(entries)
    gains = [
        (difference.value, name, row)
        for name, row in entries.items()
        if (difference := row.differences.get(measure)) is not None
        and difference.value is not None
        and trend(difference) > 0
        and difference.value >= WORTH
    ]
    return max(gains, key=lambda gain: gain[0])[1:] if gains else None


def _first_measure(entries: Mapping[str, TaskRow]) -> str:
    return next((name for row in entries.values() for name in row.scores), "")


def _task_headline(scores: Scores) -> str:
    """Whether a repair helps at the only task; nothing if there are several tasks, or several raw spaces."""
    raw = [row for entries in scores.tasks.values() for row in entries.values() if not row.method.repair]
    if len(scores.tasks) != 1 or len(raw) != 1:
        return ""
    ((task, entries),) = scores.tasks.items()
    measure = _first_measure(entries)
    title, choice = measure_title(measure), recommended_task(scores)
    if choice is not None:
        name, row = choice
        gain = row.differences[measure]
        return (
            f"{name} helps: {title} is {points(gain.value)} points above raw vectors on {task}, "
            f"{certainty(True, gain.units, 'item')}."
        )
    score = raw[0].scores.get(measure)
    if score is None or score.value is None:
        return ""
    start = f"raw vectors reach {points(score.value)} {title} on {task}"
    if len(entries) == 1:
        return f"{capitalized(start)}; no repair was tried."
    return f"Leave it alone: {start}, and no repair has a proven gain of a point or more."


def headline(scores: Scores) -> str:
    """Whether a repair helps here."""
    choice, top = recommended(scores), scores.best(scores.table.rows)
    if choice is not None and (gain := scores.gain(choice)) is not None:
        return (
            f"{scores.label(choice)} helps: {points(gain.value)} points above raw vectors{_where(scores)}, "
            f"{certainty(True, gain.units)}."
        )
    if top is None:
        if scores.tasks and not scores.table.rows:
            return _task_headline(scores) or f"{count(len(scores.tasks), 'task')}, no sentence pairs."
        every = "Nothing to recommend: no method has a score on every dataset."
        return every if scores.repaired else "Nothing was measured."
    score = f"{points(scores.average(top))}{_where(scores)}"
    if not scores.repaired:
        return f"{scores.label(top)} scores {score}; no repair was tried."
    if top.is_raw:
        if scores.best(scores.repaired) is None:
            return "Nothing to recommend: no repair has a score on every dataset."
        where = scores.label(top).removeprefix("raw").strip(" ()")
        raw = f"the raw vectors of {where}" if where else "raw vectors"
        vectors = raw if top.method.name == "raw" else f"the vectors of {scores.label(top)}"
        return f"Leave it alone: {vectors} score {score}, and no repair does better."
    gain = scores.gain(top)
    if gain is None:
        return f"{scores.label(top)} scores {score}; it was not compared with raw vectors."
    start = f"Leave it alone: the best repair, {scores.label(top)}, gains"
    if gain.proven:
        reason = "less than a point" if gain.value < WORTH else "and the raw vectors of another layer are as good"
        return f"{start} {points(gain.value)} points, {reason}."
    if gain.value <= 0:
        return f"{start} nothing{_where(scores)}."
    return f"{start} {points(gain.value)} points{_where(scores)}, {certainty(False, gain.units)}."


def sentences(scores: Scores) -> list[str]:
    """The best, what is proven, what loses, the protocol, and what depends on the aggregation."""
    lines = [
        _leader(scores),
        _best_inductive(scores),
        _other_layers(scores),
        _proven_gains(scores),
        *_proven_losses(scores),
        *_protocols(scores),
        _seeds(scores),
        _ranking(scores),
        *(_task(task, rows) for task, rows in scores.tasks.items()),
    ]
    return [line for line in lines if line]


def _described(scores: Scores, row: Row) -> str:
    average = f"{scores.label(row)} with {points(scores.average(row))}"
    return ", ".join(filter(None, (average, difference_text(scores.gain(row)))))


def _leader(scores: Scores) -> str:
    top, behind = scores.best(scores.table.rows), scores.best(scores.repaired)
    if top is None or (len(scores.table.rows) == 1 and top.is_raw):
        return ""
    start = f"Best{_where(scores)}: {_described(scores, top)}."
    if behind is None or not top.is_raw:
        return start
    gap = points(scores.gap(top, behind))
    gap = f"{gap} below" if gap != "0.0" else "the same"
    return f"{start} The best repair, {scores.label(behind)}, has {points(scores.average(behind))}, {gap}."


def _best_inductive(scores: Scores) -> str:
    """The best method on texts that it was not fitted on, if the best of all was fitted on the evaluated ones."""
    top = scores.best(scores.table.rows)
    best = scores.best([row for row in scores.table.rows if row.method.protocol == "inductive"])
    if top is None or best is None or top.method.protocol != "transductive":
        return ""
    return f"Best method fitted on other texts: {_described(scores, best)}."


def _other_layers(scores: Scores) -> str:
    """The best raw vectors, if they are of another layer than the best repair."""
    top, raw = scores.best(scores.table.rows), scores.best(scores.raw)
    if top is None or raw is None:
        return ""
    if top.is_raw:
        gains = [(gain.value, row) for row, gain in scores.gains if gain.proven]
        others = [(value, row) for value, row in gains if row.method.space != top.method.space]
        value, row = max(others, key=lambda pair: pair[0], default=(0.0, top))
        reached = "" if scores.average(row) is None else f", reaching {points(scores.average(row))}"
        start = f"Repairs do help elsewhere: {scores.label(row)} gains {signed_points(value)} over its own raw vectors"
        return f"{start}{reached}." if value > 0 else ""
    start = f"The best raw vectors are {_described(scores, raw)}, {points(scores.gap(top, raw))} below."
    return "" if top.method.space == raw.method.space else f"{start} Differences between layers were not tested."


def _proven_gains(scores: Scores) -> str:
    if not scores.gains:
        return ""
    total = len(scores.repaired)
    single = len(scores.table.datasets) == 1
    winners = sorted(
        ((row, gain) for row, gain in scores.gains if gain.gains), key=lambda pair: (-pair[1].gains, -pair[1].value)
    )
    if not winners:
        where = f" on {scores.table.datasets[0]}" if single else " on any single dataset"
        none = "The only method tried has no" if total == 1 else f"None of {count(total, 'method')} has a"
        on_average = any(gain.proven and gain.value > 0 for _, gain in scores.gains)
        return f"{none} proven gain{where}{', only on average' if on_average else ''}."
    start = f"{len(winners)} of {count(total, 'method')} {'has' if len(winners) == 1 else 'have'} a proven gain"
    if single:
        names = listed([f"{scores.label(row)} {signed_points(gain.value)}" for row, gain in winners])
        return f"{start} ({_units(scores)}): {names}."
    names = listed([f"{scores.label(row)} on {gain.gains} of {gain.sets}" for row, gain in winners])
    return f"{start} on at least one dataset ({_units(scores)} each): {names}."


def _proven_losses(scores: Scores) -> list[str]:
    worst = [(row, gain) for row, gain in scores.gains if gain.proven and gain.value < 0]
    worst.sort(key=lambda pair: pair[1].value)
    partly = [pair for pair in scores.gains if pair[1].losses and pair not in worst]
    lines = []
    if worst:
        names = listed([f"{scores.label(row)} {signed_points(gain.value)}" for row, gain in worst])
        lines.append(f"Proven losses{_where(scores)}, on {count(worst[0][1].units, 'independent pair')}: {names}.")
    if partly:
        names = listed([f"{scores.label(row)} on {gain.losses} of {gain.sets}" for row, gain in partly])
        average_too = ", though not on average" if worst else ""
        lines.append(f"Proven losses on some datasets{average_too} ({_units(scores)} each): {names}.")
    return lines


def _protocols(scores: Scores) -> list[str]:
    methods = [row.method for row in scores.table.rows]
    corpora = dict.fromkeys(method.fitted_on for method in methods if method.protocol == "inductive")
    evaluated = "vectors" if any(method.level == "vector" for method in methods) else "texts"
    fits = {
        "inductive": f"fitted on {listed(list(filter(None, corpora))) or 'another corpus'}.",
        "transductive": f"fitted on the evaluated {evaluated}. New {evaluated} may score lower.",
    }
    counts = {protocol: sum(method.protocol == protocol for method in methods) for protocol in fits}
    return [
        f"{count(n, 'row')} {'is' if n == 1 else 'are'} {protocol}: {fits[protocol]}"
        for protocol, n in counts.items()
        if n
    ]


def _seeds(scores: Scores) -> str:
    spreads = [
        (cell.spread, row, cell.dataset)
        for row in scores.table.rows
        for cell in row.cells
        if row.seeds > 1 and cell.spread is not None
    ]
    if not spreads:
        return ""
    spread, row, dataset = max(spreads, key=lambda entry: entry[0])
    return (
        f"Over {row.seeds} seeds, scores vary by at most {points(spread)} points (standard deviation of "
        f"{scores.label(row)} on {dataset})."
    )


def _ranking(scores: Scores) -> str:
    """Whether another aggregation would choose another method."""
    if len(scores.aggregations) == 1 or len(scores.table.rows) < 2:
        return ""
    best = {}
    for way in scores.aggregations:
        averages = ((row, scores.average(row, aggregation=way)) for row in scores.table.rows)
        candidates = [(value, row) for row, value in averages if value is not None]
        if candidates:
            best[way] = max(candidates, key=lambda pair: pair[0])[1]
    if "all" not in best or len(best) < 2:
        return ""
    if all(row is best["all"] for row in best.values()):
        return f"The aggregations {listed(list(best))} agree on the best method."
    choices = ", ".join(f"{scores.label(row)} for {way}" for way, row in best.items())
    return f"The best method depends on the aggregation: {choices}."


def _units(scores: Scores) -> str:
    sizes = sorted({n for dataset in scores.table.datasets if (n := scores.independent_pairs(dataset))})
    most = count(sizes[-1] if sizes else 0, "independent pair")
    return most if len(sizes) < 2 else f"{sizes[0]:,} to {most}"


def _where(scores: Scores) -> str:
    datasets = scores.table.datasets
    return f" on {datasets[0]}" if len(datasets) == 1 else f" on average over {len(datasets)} datasets"


def _task(task: str, entries: Mapping[str, TaskRow]) -> str:
    """The best method of a task by its first measure, and whether any gain is proven."""
    measure = next((name for row in entries.values() for name in row.scores), "")
    differences = {name: row.differences.get(measure) for name, row in entries.items()}
    values = {name: row.scores[measure].value for name, row in entries.items() if measure in row.scores}
    candidates = [(value, name) for name, value in values.items() if value is not None]
    if not candidates:
        return f"{task}: no method has a score."
    value, name = max(candidates, key=lambda entry: entry[0])
    own = differences[name]
    by = f" ({signed_points(own.value)} vs. raw)" if own is not None and own.value is not None else ""
    start = f"{task}: best {measure_title(measure)} is {points(value)}, by {name}{by}"
    units = max((difference.units for difference in differences.values() if difference is not None), default=None)
    if units is None:
        return f"{start}."
    winners = [name for name, difference in differences.items() if trend(difference) > 0]
    if winners:
        return f"{start}. Gains {certainty(True, units, 'item')}: {', '.join(winners)}."
    return f"{start}. No gain is proven{certainty(False, units, 'item').removeprefix('not proven')}."


def missing_scores(scores: Scores) -> list[str]:
    """Notes on scores that are missing, with the reason."""
    lines = []
    for label, row in zip(scores.labels, scores.table.rows, strict=True):
        for dataset in scores.table.datasets:
            cell = row.cell(dataset)
            if cell is None:
                lines.append(f"{label} on {dataset}: not measured.")
            elif cell.spearman.reason:
                lines.append(f"{label} on {dataset}: undefined, because {cell.spearman.reason.rstrip('.')}.")
    for task, entries in scores.tasks.items():
        for label, entry in entries.items():
            if any(score.value is None for score in entry.scores.values()):
                lines.append(f"{label} on {task}: undefined, because {(entry.note or 'it has no value').rstrip('.')}.")
            elif entry.note and not entry.method.repair and "accuracy" not in entry.scores:
                lines.append(f"{task}: {entry.note}")  # about the data: lost documents, judgments without documents
    return lines
