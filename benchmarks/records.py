"""What the cells of `benchmarks.advice` say: records of rules, leaving one model out, tables and a scatter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from uncone.analysis.advice.rules import (
    DROPTOP_7,
    RULES,
    USE_NAMES,
    USES,
    WITNESSED,
    Record,
    Records,
    Remedy,
    Rule,
    Use,
    first_rule,
)
from uncone.report.charts.model import Axis, Chart, Points, Reference
from uncone.report.charts.theme import series_color

GOOD, HARM = 1.0, -0.5
"""Points: a gain of so much or more is good, a loss of so much or more is harm."""

CROWDED = 0.35
"""The baseline from which on rules should speak in at least half of the cases."""

PEER = 0.4, 0.1
"""spectralyte 0.4: `needs_transform` from a mean cosine of 0.4 on, or if 95 % of the variance lies in less than a tenth
of the directions; then it whitens."""

THRESHOLD = 0.4
"""The baseline from which on a repair is chosen without the model that it is tried on."""

NAMES = {DROPTOP_7: "droptop 7", WITNESSED: "whiten to d/2"}
"""The repairs of rules as cells call them."""

REPAIRS = ("center", "droptop 1", "droptop 3", "droptop 7", "droptop 15", "whiten", "whiten to d/2")


@dataclass(frozen=True)
class Cell:
    """What a repair did to a task at a layer of a model.

    `baseline` is that of the task's own texts, `diverse` that of diverse texts, `spread` the share of the directions
    that carry 95 % of the variance of the own texts; `witness` is how much closer to shared words it brought cosines.
    """

    model: str
    layer: str
    last: bool
    task: str
    use: Use
    repair: str
    fitted: str
    baseline: float
    diverse: float
    spread: float
    raw: float
    gain: float
    witness: float | None = None


@dataclass(frozen=True)
class Case:
    """A task at a layer of a model, with the cells of the repairs that were fitted on its own texts."""

    cells: Mapping[str, Cell]

    @property
    def any(self) -> Cell:
        return next(iter(self.cells.values()))

    @property
    def witness(self) -> float | None:
        """That of the repair whose witness rules read."""
        return self.cells[NAMES[WITNESSED]].witness if NAMES[WITNESSED] in self.cells else None

    def gain(self, repair: Remedy) -> float | None:
        cell = self.cells.get(NAMES[repair])
        return None if cell is None else cell.gain

    @property
    def peer_speaks(self) -> bool:
        return self.any.baseline >= PEER[0] or self.any.spread < PEER[1]


def cases(cells: Iterable[Cell]) -> list[Case]:
    groups: dict[tuple[str, str, str], dict[str, Cell]] = defaultdict(dict)
    for cell in cells:
        if cell.fitted == "own":
            groups[cell.model, cell.layer, cell.task][cell.repair] = cell
    return [Case(group) for group in groups.values()]


def record(gains: Sequence[float]) -> Record:
    values = np.array(gains)
    worst = round(float(values.min()), 1) if len(values) else 0.0
    return Record(len(values), int((values >= GOOD).sum()), int((values <= HARM).sum()), worst)


def records(own: Iterable[Case]) -> Records:
    """The record of every rule for every use, where its condition holds with no more known than it requires.

    That of a rule without a repair is what the repairs do that others name.
    """
    gains: dict[str, dict[Use, list[float]]] = {rule.name: defaultdict(list) for rule in RULES}
    for case in own:
        for rule in RULES:
            cell = case.any
            needs = rule.condition.required
            diverse, witness = (
                cell.diverse if "diverse" in needs else None,
                case.witness if "witness" in needs else None,
            )
            if cell.use in rule.uses and rule.condition.holds(cell.baseline, diverse, witness):
                repairs = [rule.repair] if rule.repair is not None else list(NAMES)
                gains[rule.name][cell.use] += [gain for repair in repairs if (gain := case.gain(repair)) is not None]
    return {name: {use: record(by_use[use]) for use in USES if use in by_use} for name, by_use in gains.items()}


def holds(rule: Rule, case: Case) -> bool:
    """Whether a rule holds in a case with no more known than it requires."""
    cell, needs = case.any, rule.condition.required
    diverse, witness = cell.diverse if "diverse" in needs else None, case.witness if "witness" in needs else None
    return rule.condition.holds(cell.baseline, diverse, witness)


@dataclass(frozen=True)
class Known:
    """What is known beside the vectors."""

    title: str
    diverse: bool
    witness: bool


KNOWN = (
    Known("vectors alone", False, False),
    Known("vectors and texts", False, True),
    Known("texts and model", True, True),
)


@dataclass(frozen=True)
class Outcome:
    """What was recommended in a case (None: nothing), and what it gained."""

    case: Case
    rule: Rule | None
    gain: float | None


def outcomes(own: Sequence[Case], known: Known, *, leave_out: bool) -> list[Outcome]:
    """What the rules say in each case; with `leave_out`, on the record of the other models only."""
    whole = records(own)
    by_model = {
        model: records([case for case in own if case.any.model != model]) if leave_out else whole
        for model in models(own)
    }
    results = []
    for case in own:
        cell = case.any
        diverse, witness = cell.diverse if known.diverse else None, case.witness if known.witness else None
        rule, uses = first_rule(by_model[cell.model], cell.baseline, diverse, witness)
        speaks = rule is not None and rule.repair is not None and cell.use in uses
        gain = case.gain(rule.repair) if speaks and rule is not None and rule.repair is not None else None
        results.append(Outcome(case, rule if rule is not None and cell.use in uses else None, gain))
    return results


def models(own: Iterable[Case]) -> list[str]:
    return list(dict.fromkeys(case.any.model for case in own))


def refitted(own: Sequence[Case], use: Use) -> tuple[list[float], list[str]]:
    """Gains in each model of the repair that was safest in the others, and which that was.

    Of those with a good record there, the one with the least harm, then the one that is good most often.
    """
    gains, choices = [], []
    crowded = [case for case in own if case.any.use == use and case.any.baseline >= THRESHOLD]
    for model in models(own):
        rest = [case for case in crowded if case.any.model != model]
        choice: tuple[float, float, str] | None = None
        for repair in REPAIRS:
            tried = record([case.cells[repair].gain for case in rest if repair in case.cells])
            if tried.reliable:
                shares = (-tried.harm / tried.cases, tried.good / tried.cases, repair)
                choice = shares if choice is None else max(choice, shares)
        choices.append("none" if choice is None else choice[2])
        if choice is not None:
            gains += [case.cells[choice[2]].gain for case in crowded if case.any.model == model]
    return gains, choices


def figures(gains: Sequence[float], silent: float | None) -> list[str]:
    """Cases, good, harm, worst, and the share of the crowded cases in which there was silence."""
    own = record(gains)
    silence = "–" if silent is None else f"{100 * silent:.0f} %"
    if own.cases == 0:
        return ["0", "–", "–", "–", silence]
    shares = [f"{100 * number / own.cases:.0f} %" for number in (own.good, own.harm)]
    return [str(own.cases), *shares, f"{own.worst:+.1f}".replace("-", "−"), silence]


def row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    return "\n".join([row(head), "|---" * len(head) + "|", *map(row, rows)])


def summary(own: Sequence[Case]) -> str:
    """Our rules, that of a peer and plain habits: good, harm and silence by use."""
    rows: list[list[str]] = []
    for known in KNOWN:
        spoken = outcomes(own, known, leave_out=True)
        title = f"the rules, {known.title}, one model left out"
        rows += by_use(title, own, [(each.case, each.gain) for each in spoken if each.gain is not None])
    for rule in RULES:
        if rule.repair is not None:
            gains = [(case, case.gain(rule.repair)) for case in own if holds(rule, case) and case.any.use in rule.uses]
            rows += by_use(f"`{rule.name}` by itself", own, [(case, gain) for case, gain in gains if gain is not None])
    peer = [(case, case.cells["whiten"].gain) for case in own if case.peer_speaks and "whiten" in case.cells]
    rows += by_use("spectralyte 0.4: whiten", own, peer)
    crowded = [case for case in own if case.any.baseline >= CROWDED]
    for repair in REPAIRS:
        title = f"always {repair}, from {CROWDED:g} on"
        rows += by_use(title, own, [(case, case.cells[repair].gain) for case in crowded if repair in case.cells])
    return table(["advice", "use", "cases", "good", "harm", "worst", "silent"], rows)


def by_use(title: str, own: Sequence[Case], spoken: Sequence[tuple[Case, float]]) -> list[list[str]]:
    rows = []
    for use in (None, *USES):
        of_use = [(case, gain) for case, gain in spoken if use in (None, case.any.use)]
        possible = sum(case.any.baseline >= CROWDED and use in (None, case.any.use) for case in own)
        speaks = sum(case.any.baseline >= CROWDED for case, _ in of_use)
        silent = 1 - speaks / possible if possible else None
        rows.append([title, "all" if use is None else USE_NAMES[use], *figures([gain for _, gain in of_use], silent)])
    return rows


def refitted_table(own: Sequence[Case]) -> str:
    """The repair chosen without the model it is tried on, from a baseline of 0.4 on."""
    results = {use: refitted(own, use) for use in USES}
    both = [gain for use in ("similarity", "search") for gain in results[use][0]]
    rows = [["similarity scores and search", *figures(both, None)[:4], ""]]
    for use, (gains, choices) in results.items():
        chosen = "; ".join(f"{model}: {choice}" for model, choice in zip(models(own), choices, strict=True))
        rows.append([USE_NAMES[use], *figures(gains, None)[:4], chosen])
    return table(["use", "cases", "good", "harm", "worst", "chosen on the other three for"], rows)


def repairs_table(cells: Sequence[Cell]) -> str:
    """Every repair by use, baseline and what it was fitted on."""
    ranges = ((-1.0, 0.15), (0.15, 0.35), (0.35, 1.01))
    rows = []
    for fitted in ("own", "others"):
        for low, high in ranges:
            for use in USES:
                head = [fitted, f"{max(low, 0):g} to {min(high, 1):g}", USE_NAMES[use]]
                row_cells = []
                for repair in REPAIRS:
                    gains = [
                        cell.gain
                        for cell in cells
                        if (cell.fitted, cell.use, cell.repair) == (fitted, use, repair) and low <= cell.baseline < high
                    ]
                    own = record(gains)
                    shares = (
                        f"{100 * own.good / own.cases:.0f} / {100 * own.harm / own.cases:.0f}" if own.cases else "–"
                    )
                    row_cells.append(shares)
                if gains:
                    rows.append([*head, str(len(gains)), *row_cells])
    return table(["fitted on", "baseline", "use", "cases", *REPAIRS], rows)


def scatter(own: Sequence[Case]) -> Chart:
    """The gain of removing seven directions by the baseline of the texts."""
    marks = []
    for place, use in enumerate(USES):
        cells = [case.cells["droptop 7"] for case in own if case.any.use == use and "droptop 7" in case.cells]
        x, y = [cell.baseline for cell in cells], [cell.gain for cell in cells]
        marks.append(Points(x, y, use, series_color(place), size=4))
    caption = "Gain in points from removing the seven strongest directions; one dot per task and layer."
    lines = [Reference(0.0, "", "muted", "dot", horizontal=True), Reference(0.4, "0.4", "muted", "dot")]
    x_axis, y_axis = Axis("baseline of the task's texts", "baseline"), Axis("gain (points)", "gain")
    return Chart("droptop", "Gain by baseline", caption, marks, x_axis, y_axis, lines, wide=True)
