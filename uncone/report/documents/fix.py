"""The document of `fix`: a space before and after a repair, and what to do with the repair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from uncone.analysis.measures.finding import Finding, Level, finite
from uncone.analysis.measures.registry import measure, placed
from uncone.analysis.number_format import cosine, percent, plain
from uncone.report.charts.model import Axis, Chart, Histogram, Line, Points
from uncone.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Facts,
    Fold,
    Notes,
    Row,
    Section,
    Table,
    Verdict,
)
from uncone.report.documents.check import cosine_chart, eigenvalue_chart, findings_table, shape, source_facts, verdict
from uncone.report.documents.prescribe import candidate_blocks
from uncone.report.results.check import Diagnosis
from uncone.report.results.fix import Repaired
from uncone.report.text import interval, last_name, number, provenance_facts

__all__ = ["Change", "changes", "chosen_epoch", "document", "headline", "learning", "sentences"]


_QUANTILES = {
    "0.025": "2.5 % of pairs are below",
    "0.5": "Median pair",
    "0.975": "97.5 % of pairs are below",
}
_TITLES = {
    "baseline": "Unrelated pairs, mean cosine",
    "rogue_share_3": "Share of top 3 dimensions",
    "top1_share": "Variance in top direction",
    "partition_isotropy_unit_log10": "Partition isotropy, log₁₀",
}
"""Where the title of the measure needs its row to be understood."""

_NEGATIVE = "Negative bits per dimension are normal: they measure a density, which may exceed 1. Lower is better."


@dataclass(frozen=True)
class Change:
    """A finding before and after: the values and their intervals in short, which way it went, and how sure that is."""

    title: str
    before: Finding
    after: Finding
    values: tuple[str, str]
    intervals: tuple[str, str]
    way: str
    overlap: bool | None
    """Whether the 95 % intervals overlap; None if one is unknown."""

    @property
    def mark(self) -> str:
        """An arrow for the way."""
        return {"rises": "↑", "falls": "↓", "wider": "↔", "narrower": "↔", "same": "="}.get(self.way, "")

    @property
    def certainty(self) -> str:
        """What the intervals say, in two words."""
        return "" if self.overlap is None else "intervals overlap" if self.overlap else "intervals apart"


def document(result: Repaired) -> Document:
    """Both verdicts, the change of every main finding, charts, and how the repair was made."""
    spaces, old, new = result.spaces, shape(result.before), shape(result.after)
    cosines, changed = cosine_chart(spaces), _change_table(result, quantiles=True)
    histograms = Chart("cosines", cosines.title, "", [one for one in cosines.marks if isinstance(one, Histogram)])
    charts = [cosines, eigenvalue_chart(spaces), *([_learning_chart(result)] if result.history else [])]
    notes, written = [note for note in result.notes if note], _outputs(result)
    return Document(
        title=result.headline,
        name=last_name(result.before.source["name"]),
        subtitle=f"repaired by {result.method} · {old if old == new else f'{old} → {new}'}",
        warning=result.warning,
        verdicts=[
            Verdict(
                result.headline,
                result.after.verdict.level,
                sentences(result),
                advice=[result.reminder],
                command=result.suggestion or "",
                bulleted=True,
            ),
            *(verdict(space, named=True, advised=space is spaces[-1], half=True) for space in spaces),
        ],
        sections=[
            Section("", charts, brief=[histograms, _change_table(result)]),
            Section(
                "Before and after",
                [changed, Fold("All findings side by side", [findings_table(spaces)])],
                "Each number with its 95 % interval if it has one. If two intervals overlap, the change is not clear.",
            ),
            *_choice(result),
            *_training(result),
            *([Section("Notes", [Notes(notes)], brief=[Notes(notes, most=2)])] if notes else []),
            Section("Provenance", _provenance(result), brief=[Facts(written)] if written else []),
        ],
    )


def _change_table(result: Repaired, *, quantiles: bool = False) -> Table:
    first, last = Column("finding", align="left", wrap=not quantiles), Column("change", align="left")
    rows = []
    for one in changes(result, quantiles=quantiles):
        both = zip(one.values, one.intervals, (one.before, one.after), strict=True)
        cells = [Cell(value, ends, finding.level, hover=finding.meaning) for value, ends, finding in both]
        title = Cell(one.title, hover=measure(one.before.name).definition)
        rows.append(Row([title, *cells, Cell(f"{one.mark} {one.way}".strip(), one.certainty)]))
    return Table([first, Column("before"), Column("after"), last], rows)


def _learning_chart(result: Repaired) -> Chart:
    """Bits per dimension by epoch; a ring around the epoch that was used."""
    epochs = [float(epoch) for epoch, _, _ in result.history]
    train, held = ([finite(one[at]) for one in result.history] for at in (1, 2))
    lines = [
        Line(epochs, train, "trained on", "muted", dash="dash", points=True),
        Line(epochs, held, "held out", "second", points=True),
    ]
    marks = [line for line in lines if any(value is not None for value in line.y)]
    best, curve = chosen_epoch(result), held if any(one is not None for one in held) else train
    ring = Points([epochs[best]], [curve[best]], color="ink", size=14, ring=True, texts=["used"])
    return Chart(
        "learning",
        "Learning curve",
        f"{learning(result)} {_NEGATIVE}",
        [*marks, ring],
        Axis("epoch", "epoch", whole=True),
        Axis("bits per dimension", "bits_per_dimension"),
    )


def _training(result: Repaired) -> list[Section]:
    if not result.history:
        return []
    said = f"{learning(result)} {_NEGATIVE}"
    rows = [Row([Cell(f"{epoch:,}"), Cell(_bits(train)), Cell(_bits(held))]) for epoch, train, held in result.history]
    columns = [Column("epoch", align="left"), Column("trained on", "bits per dimension"), Column("held out")]
    return [Section("Training", [Fold("Every epoch", [Table(columns, rows)])], said, [Notes([said], "flow")])]


def _choice(result: Repaired) -> list[Section]:
    """Why this repair, if it was chosen by labeled pairs."""
    prescription = result.provenance.get("prescription")
    if prescription is None:
        return []
    return [Section("Why this repair", candidate_blocks(prescription), prescription["reason"])]


def _bits(value: float | None) -> str:
    return "–" if finite(value) is None else f"{value:.3f}"


def _provenance(result: Repaired) -> list[Block]:
    """The repair, and how both spaces were measured."""
    made = [("method", result.method), ("repair", str(result.repair).replace("\n", " "))]
    made += [fact for fact in provenance_facts(result.provenance) if fact[0] not in ("method", "prescription")]
    measured = Facts(source_facts(result.before), "The measurement")
    return [Facts([*made, *_outputs(result)], "The repair"), measured]


def _outputs(result: Repaired) -> list[tuple[str, str]]:
    places = {"saved to": result.saved, "repaired vectors": result.written}
    return [(name, place) for name, place in places.items() if place]


def changes(result: Repaired, *, quantiles: bool = False) -> list[Change]:
    """The main findings before and after; the cosines of random pairs by quantile, or in one line."""
    made: list[Change] = []
    for name in placed("check", "fix"):
        old, new = result.before[name], result.after[name]
        if quantiles and isinstance(old.value, dict) and isinstance(new.value, dict):
            made += [_change(result, text, _quantile(old, at), _quantile(new, at)) for at, text in _QUANTILES.items()]
        else:
            made.append(_change(result, _TITLES.get(name, measure(name).title), old, new))
    return made


def headline(result: Repaired) -> str:
    """Before and after in a sentence."""
    was, now = result.before.verdict.level, result.after.verdict.level
    if was is Level.HEALTHY and now is Level.NOTE:
        how = "Not crowded before or after the repair"
    elif was is now:
        how = "Too few vectors for a verdict" if now is Level.NOTE else f"Still {now}"
    elif now.rank < was.rank:
        how = f"Rounder: {was} before the repair" + ("" if now is Level.NOTE else f", {now} after")
    else:
        how = f"Less round: {now} after the repair"
    means = [space["baseline"].magnitude for space in (result.before, result.after)]
    if None in means:
        return f"{how}."
    old, new = (cosine(mean or 0.0) for mean in means)
    end = "as before" if old == new else f"down from {old}" if float(new) < float(old) else f"up from {old}"
    return f"{how}. Unrelated vectors score {new} on average, {end}."


def sentences(result: Repaired) -> list[str]:
    """What changed: the baseline, IsoScore, partition isotropy, directions, thresholds, and what that is worth."""
    found = {change.before.name: change for change in changes(result)}
    lines = [
        _moved(found.get("baseline"), "The mean cosine of unrelated pairs", cosine),
        _moved(found.get("isoscore_corrected"), "IsoScore, corrected for n,", cosine, "1 uses all directions equally"),
        _moved(
            found.get("partition_isotropy_unit_log10"), "Partition isotropy (log₁₀, norm 1)", _power, "0 is isotropic"
        ),
        _directions(result),
        _threshold(found.get("pair_cosine_quantiles")),
    ]
    if result.provenance.get("fitted_on") == result.before.source["name"]:
        lines.append("These numbers are for the vectors that the repair was fitted on. On others it may do less.")
    return [line for line in lines if line]


def learning(result: Repaired) -> str:
    """How the training of a flow went, in a sentence; empty when there was none."""
    curve = [(epoch, finite(train), finite(held)) for epoch, train, held in result.history]
    if not curve:
        return ""
    place = chosen_epoch(result)
    column = 2 if curve[0][2] is not None else 1
    rows = "held-out" if column == 2 else "training"
    first, best = curve[0], curve[place]
    known = first[column] is not None and best[column] is not None
    if not known or place == 0:
        return f"Training did not improve on epoch {first[0]}, which is used."
    bits = f"{plain(best[column])} bits per dimension on the {rows} vectors"
    return f"Epoch {best[0]} of {curve[-1][0]} is used: {bits}, from {plain(first[column])} at epoch {first[0]}."


def chosen_epoch(result: Repaired) -> int:
    """The place in the history of the epoch that was taken: the best on held-out rows, or the last without any."""
    held = [finite(one) for _, _, one in result.history]
    known = [place for place, value in enumerate(held) if value is not None]
    return min(known, key=lambda place: held[place]) if known else len(held) - 1


def _change(result: Repaired, title: str, old: Finding, new: Finding) -> Change:
    values = (_value(result.before, old), _value(result.after, new))
    way = _way(old, new, values)
    known = way != "same" and interval(old) and interval(new)
    overlap = bool(old.low <= new.high and new.low <= old.high) if known else None
    return Change(title, old, new, values, (interval(old), interval(new)), way, overlap)


def _quantile(finding: Finding, at: str) -> Finding:
    """One of the quantiles as a finding of its own."""
    value, low, high = (
        one[at] if isinstance(one, dict) else None for one in (finding.value, finding.low, finding.high)
    )
    return Finding(finding.name, value, finding.n, finding.meaning, low=low, high=high)


def _value(space: Diagnosis, finding: Finding) -> str:
    of = finding.name == "effective_rank" and finite(finding.value) is not None
    return f"{number(finding)} of {space.source['dimensions']:,}" if of else number(finding)


def _way(old: Finding, new: Finding, values: tuple[str, str]) -> str:
    if isinstance(old.value, dict) and isinstance(new.value, dict):
        a, b = (value["0.975"] - value["0.025"] for value in (old.value, new.value))
        return "same" if values[0] == values[1] else "wider" if b > a else "narrower"
    before, after = finite(old.magnitude), finite(new.magnitude)
    if before is None or after is None:
        return ""
    return "same" if values[0] == values[1] else "rises" if after > before else "falls"


def _power(value: float) -> str:
    """An exponent of ten: nothing is gained by digits behind the second."""
    return plain(value) if abs(value) >= 0.01 else "0.00"


def _moved(change: Change | None, subject: str, show: Callable[[float], str], scale: str = "") -> str:
    """How a number went, with how sure that is and what its best would be."""
    if change is None:
        return ""
    old, new = finite(change.before.magnitude), finite(change.after.magnitude)
    if old is None or new is None:
        return ""  # the table shows which is not known
    if show(old) == show(new):
        moved = f"{subject} stays at {show(new)}"
    else:
        moved = f"{subject} {'rises' if new > old else 'falls'} from {show(old)} to {show(new)}"
        if change.overlap is not None:
            sure = "overlap: no clear change" if change.overlap else "are apart"
            moved += f"; the 95 % intervals {sure}"
    return f"{moved}{f' ({scale})' if scale else ''}."


def _directions(result: Repaired) -> str:
    old, new = (finite(space["effective_rank"].magnitude) for space in (result.before, result.after))
    if old is None or new is None:
        return ""
    before, after = result.before.source["dimensions"], result.after.source["dimensions"]
    top = result.after["top1_share"].magnitude
    strongest = "" if top is None else f"; the strongest now carries {percent(top)} of the variance"
    if (plain(old), before) == (plain(new), after):
        return f"{plain(new)} of {after:,} directions are in use, as before{strongest}."
    return f"{plain(old)} of {before:,} directions were in use, now {plain(new)} of {after:,}{strongest}."


def _threshold(change: Change | None) -> str:
    if change is None or not isinstance(change.before.value, dict) or not isinstance(change.after.value, dict):
        return ""
    (a, b), (c, d) = (
        (cosine(value["0.025"]), cosine(value["0.975"])) for value in (change.before.value, change.after.value)
    )
    if (a, b) == (c, d):
        return f"Unrelated pairs score {c} to {d} (95 %), as before."
    return f"Unrelated pairs score {c} to {d} (95 %), before {a} to {b}. Choose new thresholds."
