"""Before and after a repair as markdown, for a wiki or a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from uncone.diagnosis.finding import finite
from uncone.report.lines import title
from uncone.report.markdown import safe
from uncone.report.repaired import Repaired
from uncone.report.repaired_lines import NEGATIVE, changes, learning, sentences, shape
from uncone.report.text import printable, provenance_facts

__all__ = ["render"]


def render(result: Repaired) -> str:
    """The sentences, the reminder, the table before and after, the learning curve, notes and provenance."""
    notes = [note for note in result.notes if note]
    before, after = shape(result.before), shape(result.after)
    parts = [
        f"## {safe(title(result.before))}, repaired by {safe(result.method)}",
        before if before == after else f"{before} → {after}",
        f"**{safe(result.headline)}**",
        f"**Warning.** {result.warning}" if result.warning else "",
        _items(sentences(result)),
        result.reminder,
        f"    {printable(result.suggestion)}" if result.suggestion else "",
        _table(result),
        _learning(result),
        f"### Notes\n\n{_items(notes)}" if notes else "",
        _provenance(result),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _items(lines: Sequence[str]) -> str:
    return "\n".join(f"- {safe(line)}" for line in lines)


def _table(result: Repaired) -> str:
    rows = [
        f"| {one.title} | {one.values[0]} | {one.intervals[0]} | {one.values[1]} | {one.intervals[1]} | "
        f"{', '.join(part for part in (one.way, one.sureness) if part)} |"
        for one in changes(result, quantiles=True)
    ]
    head = "| finding | before | 95 % interval | after | 95 % interval | change |"
    return "\n".join([head, "|---" * 6 + "|", *rows])


def _learning(result: Repaired) -> str:
    if not result.history:
        return ""
    rows = [f"| {epoch} | {_bits(train)} | {_bits(held)} |" for epoch, train, held in result.history]
    head = ["| epoch | bits per dimension, trained on | held out |", "|---|---|---|"]
    return "\n".join(["### Learning curve", "", f"{learning(result)} {NEGATIVE}", "", *head, *rows])


def _bits(value: float | None) -> str:
    return "–" if finite(value) is None else f"{value:.3f}"


def _provenance(result: Repaired) -> str:
    versions = result.before.provenance
    places = [("saved to", result.saved), ("repaired vectors", result.written)]
    known = [*provenance_facts(result.provenance), *((key, where) for key, where in places if where)]
    lines = [f"{key}: {value}" for key, value in known]
    measured = f"Measured by uncone {versions['uncone']}, seed {versions['seed']}, {versions['precision']} products."
    return f"### Provenance\n\n{_items(lines)}\n\n{measured}" if lines else measured
