"""Text in the columns of a terminal: some scripts take two columns a letter."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from uncone.report.text import printable

__all__ = ["WIDTH", "cut", "labelled", "wrapped"]

WIDTH = 78


def wrapped(text: str, console: Console, *, width: int = WIDTH - 4, style: str = "") -> list[Text]:
    """A text in lines of at most so many columns."""
    lines = Text(printable(text), style=style).wrap(console, width)
    for line in lines:
        line.rstrip()
    return list(lines)


def labelled(word: str, text: str, console: Console, *, style: str = "") -> list[Text]:
    """The same behind a word in bold that stands before the first line."""
    lines = wrapped(text, console, width=WIDTH - 10, style=style)
    starts = [Text(f"  {word:<8}", style="bold"), *(Text(" " * 10) for _ in lines[1:])]
    return [Text.assemble(start, line) for start, line in zip(starts, lines, strict=True)]


def cut(text: str, columns: int) -> str:
    """The beginning of a text, in so many columns.

    >>> cut("a long text", 7), cut("short", 7)
    ('a long…', 'short')
    """
    return text if cell_len(text) <= columns else f"{set_cell_size(text, columns - 1)}…"
