"""A calibration on the terminal: what a score means, where to cut, how sure that is; 80 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from rich.console import Console
from rich.text import Text

from uncone.diagnosis.words import clipped, cosine
from uncone.report.calibrated import Calibrated
from uncone.report.calibrated_charts import short
from uncone.report.calibrated_lines import subtitle, told
from uncone.report.calibrated_tables import Grid, operating, scores, thresholds
from uncone.report.lines import MARKS
from uncone.report.repaired_terminal import BLOCKS, STYLES, few, labelled, wrapped
from uncone.report.text import fitted, last_name, printable

__all__ = ["print_calibrated"]

_WIDTH = 78
_BINS = 60
_LEAST = 0.0005
"""Of the pairs, on either side, that the axis of the histograms may leave out."""


def print_calibrated(result: Calibrated, console: Console) -> None:
    """Print what a score means."""
    for line in _lines(result, console):
        console.print(line, soft_wrap=True, highlight=False)


def _lines(result: Calibrated, console: Console) -> list[Text]:
    made, sentences = result.calibration, told(result)
    name = Text(fitted(last_name(made.source.get("name")), 60), style="bold")
    lines = [name, *wrapped(subtitle(result), console, style="dim"), Text("")]
    verdict = wrapped(f"{MARKS[result.level]} {result.headline}", console, width=_WIDTH - 2, style=STYLES[result.level])
    lines += [Text.assemble("  " if at == 0 else "    ", line) for at, line in enumerate(verdict)]
    for line in sentences["meaning"]:
        lines += [Text.assemble("    ", one) for one in wrapped(line, console, width=_WIDTH - 4)]
    lines += [Text(""), *_histograms(result), Text("")]
    for grid in (scores(result), thresholds(result), operating(result)):
        if grid is not None:
            lines += [*_table(grid), Text("")]
    told_already = {result.headline, *sentences["todo"]}
    remarks = [one for one in thresholds(result).remarks if not any(one in line for line in told_already)]
    for word, said in (("why", sentences["why"]), ("do", [*sentences["todo"], *remarks]), ("index", made.hints)):
        for at, one in enumerate(said):
            lines += labelled("" if at else word, one, console)
    notes = [*made.notes, *(made.labelled.notes if made.labelled is not None else ())]
    lines += [line for note in few(notes) for line in labelled("note", note, console, style="dim")]
    lines += labelled("saved", result.saved or "", console)
    if result.usage:
        lines.append(Text("  use     ", style="bold").append(printable(result.usage), style="not bold"))
    return lines


def _table(grid: Grid) -> list[Text]:
    """The columns as wide as they have to be; long names of columns on two lines; what has no room is left out."""
    wide: list[int] = []
    for place in range(len(grid.head)):
        cells = [_text(row, place) for row in grid.rows]
        wide.append(max([*map(len, cells), *map(len, _halves(grid.head[place]))]))
    shown = len(wide)
    while shown > 2 and 2 * shown + sum(wide[:shown]) > _WIDTH:
        shown -= 1
    halves = [_halves(one) for one in grid.head[:shown]]
    lines = []
    for half in (0, 1):
        names = [parts[half] for parts in halves]
        if any(names):
            lines.append(Text(_row(names, wide), style="dim"))
    return lines + [Text(_row([_text(row, place) for place in range(shown)], wide)) for row in grid.rows]


def _text(row: Sequence[object], place: int) -> str:
    cell = row[place]
    text, small = getattr(cell, "text", ""), getattr(cell, "small", "")
    return f"{text} ({small})" if small and place == 1 else str(text)


def _halves(name: str) -> tuple[str, str]:
    """The name of a column on two lines, cut near its middle.

    >>> _halves("unrelated pairs that reach it"), _halves("score")
    (('unrelated pairs', 'that reach it'), ('', 'score'))
    """
    words = name.split()
    if len(name) < 14 or len(words) < 2:
        return "", name
    cuts = [(" ".join(words[:at]), " ".join(words[at:])) for at in range(1, len(words))]
    return min(cuts, key=lambda cut: max(map(len, cut)))


def _row(cells: Sequence[str], wide: Sequence[int]) -> str:
    parts = [
        f"{cell:<{width}}" if at == 0 else f"{cell:>{width}}"
        for at, (cell, width) in enumerate(zip(cells, wide, strict=False))
    ]
    return f"  {'  '.join(parts)}".rstrip()


def _histograms(result: Calibrated) -> list[Text]:
    """Unrelated pairs, and labelled ones under them, over one axis; each drawn up to its own peak."""
    made = result.calibration
    shown: list[tuple[str, Mapping[str, Sequence[float]], str]] = [("unrelated", made.backgrounds[0].histogram, "dim")]
    shown += [(clipped(short(other), 8), other.histogram, "dim") for other in made.backgrounds[1:2]]
    if made.labelled is not None:
        shown += [("alike", made.labelled.alike, "blue"), ("unlike", made.labelled.unlike, "dark_orange")]
    shown = [one for one in shown if one[1] and sum(one[1]["counts"])]
    ends = [_ends(histogram) for _, histogram, _ in shown]
    low, high = min(one[0] for one in ends), max(one[1] for one in ends)
    edges = np.linspace(low, high, _BINS + 1)
    lines = [Text(f"  {name:<10}").append(_bars(histogram, edges), style=style) for name, histogram, style in shown]
    marks = [" "] * _BINS
    first = made.thresholds[0].value
    if first is not None and low <= first < high:
        marks[int((first - low) / (high - low) * _BINS)] = "↑"
    left, right = cosine(low), cosine(high)
    axis = f"{left}{'':{_BINS - len(left) - len(right)}}{right}"
    cut = "".join(marks).rstrip()
    return [*lines, Text(f"{'':12}{axis}", style="dim"), *([Text(f"  {'cut':<10}{cut}")] if cut else [])]


def _ends(histogram: Mapping[str, Sequence[float]]) -> tuple[float, float]:
    """Where nearly all of it lies."""
    below = np.concatenate([[0.0], np.cumsum(histogram["counts"])]) / sum(histogram["counts"])
    low, high = np.interp([_LEAST, 1 - _LEAST], below, histogram["edges"])
    return float(low), float(max(high, low + 1e-6))


def _bars(histogram: Mapping[str, Sequence[float]], edges: np.ndarray) -> str:
    """The histogram in new bins, as blocks; what is there at all is at least the lowest block."""
    below = np.concatenate([[0.0], np.cumsum(histogram["counts"])])
    density = np.diff(np.interp(edges, histogram["edges"], below))
    heights = np.ceil((len(BLOCKS) - 1) * density / (density.max() or 1.0) - 1e-9)
    return "".join(BLOCKS[int(height)] for height in heights).rstrip()
