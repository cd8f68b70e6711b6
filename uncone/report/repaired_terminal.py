"""Before and after a repair on the terminal: verdicts, histograms, findings; at most one screen, 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.text import Text

from uncone.diagnosis.finding import Level
from uncone.diagnosis.words import cosine, count
from uncone.report.diagnosis import Diagnosis
from uncone.report.lines import MARKS, title
from uncone.report.repaired import Repaired
from uncone.report.repaired_lines import NEGATIVE, Change, changes, learning, shape
from uncone.report.text import fitted, printable

__all__ = ["BLOCKS", "STYLES", "few", "labelled", "print_repaired", "wrapped"]

STYLES = {Level.HEALTHY: "green", Level.CROWDED: "yellow", Level.COLLAPSED: "red", Level.NOTE: "none"}
_WIDTH = 78
_BINS = 66
BLOCKS = " ▁▂▃▄▅▆▇█"
_NOTES = 2


def print_repaired(result: Repaired, console: Console) -> None:
    """Print what a repair did."""
    for line in _lines(result, console):
        console.print(line, soft_wrap=True, highlight=False)


def _lines(result: Repaired, console: Console) -> list[Text]:
    lines = [*_title(result, console), Text("")]
    for word, space in zip(("before", "after"), (result.before, result.after), strict=True):
        style = STYLES[space.verdict.level]
        verdict = f"{MARKS[space.verdict.level]} {space.verdict.headline}"
        lines += labelled(word, verdict, console, style=style)
    lines += labelled("warning", result.warning, console, style="bold yellow")
    lines += [Text(""), *_histograms(result), Text("")]
    lines.append(Text(f"  {'':<28}{'before':>16}{'after':>16}", style="bold"))
    lines += [_line(change) for change in changes(result)]
    lines.append(Text(""))
    told = [("flow", f"{learning(result)} {NEGATIVE}" if result.history else "")]
    told += [("note", note) for note in few([note for note in result.notes if note])]
    for word, text in told:
        lines += labelled(word, text, console, style="dim")
    lines += labelled("do", result.reminder, console)
    lines += labelled("repair", result.saved or "", console)
    lines += labelled("wrote", result.written or "", console)
    if result.suggestion:
        # Not wrapped, so that it can be copied.
        lines.append(Text("  next    ", style="bold").append(printable(result.suggestion), style="not bold"))
    return lines


def _title(result: Repaired, console: Console) -> list[Text]:
    before, after = shape(result.before), shape(result.after)
    name = Text(fitted(printable(title(result.before)), 46), style="bold")
    name.append(f"  {before}" if before == after else f"  {before} → {after}", style="not bold")
    name.truncate(_WIDTH, overflow="ellipsis")
    return [name, *wrapped(f"repaired by {result.method}", console, style="dim")]


def few(notes: Sequence[str]) -> list[str]:
    """The first notes, and how many more there are."""
    if len(notes) <= _NOTES:
        return list(notes)
    return [*notes[:_NOTES], f"and {count(len(notes) - _NOTES, 'more note')}, in the report"]


def wrapped(text: str, console: Console, *, width: int = _WIDTH, style: str = "") -> list[Text]:
    """By columns, not letters: some scripts take two columns a letter."""
    lines = Text(printable(text), style=style).wrap(console, width)
    for line in lines:
        line.rstrip()
    return list(lines)


def labelled(word: str, text: str, console: Console, *, style: str = "") -> list[Text]:
    """A word, and a text that is wrapped beside it."""
    if not text:
        return []
    lines = wrapped(text, console, width=_WIDTH - 10, style=style)
    starts = [Text(f"  {word:<8}", style="bold"), *(Text(" " * 10) for _ in lines[1:])]
    return [Text.assemble(start, line) for start, line in zip(starts, lines, strict=True)]


def _line(change: Change) -> Text:
    line = Text(f"  {change.title.lower():<28}")
    for value, finding in zip(change.values, (change.before, change.after), strict=True):
        line.append(f"{value:>16}", style=STYLES[finding.level])
    # What is short stands in the line; the report has the intervals.
    line.append(f"  {change.mark} {'unclear' if change.overlap and change.way != 'same' else change.way}", style="dim")
    line.rstrip()
    return line


def _histograms(result: Repaired) -> list[Text]:
    """The cosines of random pairs before and after, over one axis; each drawn up to its own peak."""
    spaces = (result.before, result.after)
    low = min(space.pictures.cosine_edges[0] for space in spaces)
    high = max(space.pictures.cosine_edges[-1] for space in spaces)
    edges = np.linspace(low, high, _BINS + 1)
    lines = [Text("  cosines of random pairs", style="bold")]
    for word, space, style in zip(("before", "after"), spaces, ("blue", "dark_orange"), strict=True):
        lines.append(Text(f"  {word:<8}").append(_bars(space, edges), style=style))
    ends, middle = (cosine(low), cosine(high)), cosine((low + high) / 2)
    room = _BINS - len(ends[0]) - len(ends[1])
    lines.append(Text(f"{'':10}{ends[0]}{middle:^{room}}{ends[1]}", style="dim"))
    return lines


def _bars(space: Diagnosis, edges: np.ndarray) -> str:
    """The histogram in new bins, as blocks; what is there at all is at least the lowest block."""
    below = np.concatenate([[0.0], np.cumsum(space.pictures.cosine_density)])
    density = np.diff(np.interp(edges, space.pictures.cosine_edges, below))
    heights = np.ceil((len(BLOCKS) - 1) * density / (density.max() or 1.0) - 1e-9)
    return "".join(BLOCKS[int(height)] for height in heights).rstrip()
