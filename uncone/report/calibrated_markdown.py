"""A calibration as markdown, for a wiki or a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from uncone.report.calibrated import Calibrated
from uncone.report.calibrated_lines import subtitle, told
from uncone.report.calibrated_tables import Grid, backgrounds, mappings, operating, scores, thresholds
from uncone.report.markdown import safe
from uncone.report.text import printable, provenance_facts

__all__ = ["render"]


def render(result: Calibrated) -> str:
    """The sentences, every table, hints, notes and provenance."""
    made = result.calibration
    grids = [scores(result), thresholds(result), operating(result), mappings(result), backgrounds(result)]
    notes = [*made.notes, *(made.labelled.notes if made.labelled is not None else ())]
    sentences = told(result)
    parts = [
        f"## What a score means in {safe(str(made.source.get('name')))}",
        safe(subtitle(result)),
        f"**{safe(result.headline)}**",
        _items([*sentences["meaning"], *sentences["why"]]),
        f"### What to do\n\n{_items(sentences['todo'])}" if sentences["todo"] else "",
        f"    {printable(result.usage)}" if result.usage else "",
        *(_table(grid) for grid in grids if grid is not None),
        f"### Quantized indexes\n\n{_items(made.hints)}" if made.hints else "",
        f"### Notes\n\n{_items(notes)}" if notes else "",
        f"### Provenance\n\n{_items([f'{key}: {value}' for key, value in provenance_facts(result.provenance)])}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _items(lines: Sequence[str]) -> str:
    return "\n".join(f"- {safe(line)}" for line in lines)


def _table(grid: Grid) -> str:
    rows = [
        f"| {' | '.join(safe(cell.text + (f' ({cell.small})' if cell.small else '')) for cell in row)} |"
        for row in grid.rows
    ]
    head = f"| {' | '.join(map(safe, grid.head))} |"
    table = "\n".join([head, "|---" * len(grid.head) + "|", *rows])
    return "\n\n".join(part for part in (f"### {grid.title}", safe(grid.intro), table, _items(grid.remarks)) if part)
