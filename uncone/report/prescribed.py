"""What `prescribe` found, on the terminal: the advice, the reason, and every candidate with its interval."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from uncone.diagnosis.intervals import LEAST_UNITS
from uncone.report.text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from uncone.evaluation.bootstrap import Difference
    from uncone.prescription.verdict import Prescription

__all__ = ["print_prescription"]

_WIDTH = 76


def print_prescription(found: Prescription, console: Console) -> None:
    """The advice first, then what it rests on."""
    from rich.table import Table
    from rich.text import Text

    colour = "green" if found.recommended is None else "yellow"
    advice = "Leave it alone." if found.recommended is None else f"Use {printable(found.verdict)}."
    console.print(Text(f"  {advice}", style=f"bold {colour}"))
    for line in textwrap.wrap(found.reason, _WIDTH - 4):
        console.print(Text(f"  {line}"))
    console.print()
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("  candidate")
    table.add_column(f"{found.measure} x 100", justify="right")
    table.add_column("to raw", justify="right")
    table.add_column("95 %" if found.level == 0.95 else f"{found.level:.0%}", justify="right")
    table.add_column("chosen", justify="right")
    table.add_row(Text("  raw"), _points(found.raw), "", "", "")
    for one in found.table:
        star = "*" if one.significant else ""
        chosen = f"{one.chosen} of {found.folds}" if one.chosen else ""
        gain = _signed(one.difference.value) + star
        table.add_row(
            Text(f"  {printable(one.method.name)}"), _points(one.score), gain, _between(one.difference), chosen
        )
    console.print(table)
    for note in [_star(found), *found.notes, *(f"{one.method.name}: {one.note}" for one in found.table if one.note)]:
        for line in textwrap.wrap(printable(note), _WIDTH):
            console.print(Text(f"  {line}", style="dim"))


def _star(found: Prescription) -> str:
    pairs = f"{found.pairs:,} pairs of {found.name} ({found.units:,} independent) in {found.folds} folds"
    star = (
        "* proven, corrected for the number of candidates."
        if found.units >= LEAST_UNITS
        else f"A proof needs {LEAST_UNITS} independent pairs."
    )
    return f"On {pairs}, each judged by repairs that never saw its texts. {star}"


def _points(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:+.1f}"


def _between(difference: Difference) -> str:
    if difference.low is None or difference.high is None:
        return ""
    return f"{100 * difference.low:+.1f} to {100 * difference.high:+.1f}"
