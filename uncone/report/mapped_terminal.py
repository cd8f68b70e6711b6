"""A map on the terminal: what is shown, how far to trust it, the files and what to run next; a few lines."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from uncone.diagnosis.words import count
from uncone.report.mapped import Map
from uncone.report.mapped_lines import SEVERAL, headline, sentences, source_name, subtitle, trust_text
from uncone.report.study_lines import printable

__all__ = ["print_map"]

_WIDTH = 78
_PANELS, _NOTES = 14, 2
"""Pictures and notes that a screen has room for; the report has them all."""


def print_map(result: Map, console: Console) -> None:
    """Print what a map shows and how far to trust it."""
    for line in _lines(result, console):
        console.print(line, soft_wrap=True, highlight=False)


def _lines(result: Map, console: Console) -> list[Text]:
    first, *rest = _wrapped(f"· {headline(result)}", console, style="bold")
    lines = [_title(result), Text(""), Text("  ").append_text(first)]
    lines += [Text("    ").append_text(line) for line in rest]
    lines += [Text("    ").append_text(line) for text in sentences(result) for line in _wrapped(text, console)]
    lines += [Text(""), *_trusts(result), Text("")] if len(result.panels) > SEVERAL else [Text("")]
    notes = [note for note in result.notes if note]
    more = [f"and {count(len(notes) - _NOTES, 'more note')}, in the report"] if notes[_NOTES:] else []
    for note in [*notes[:_NOTES], *more]:
        lines += _labelled("note", note, console, style="dim")
    others = {what: where for what, where in result.written.items() if what != "report"}
    for what, where in others.items():
        lines += _labelled("wrote", f"{where} ({what})", console)
    if result.suggestion:
        # Not wrapped, so that it can be copied.
        lines.append(Text("  next    ", style="bold").append(printable(result.suggestion), style="not bold"))
    if "report" in result.written:
        lines.append(Text("  report  ", style="bold").append(printable(result.written["report"]), style="not bold"))
    return lines if lines[-1].plain else lines[:-1]


def _title(result: Map) -> Text:
    name = printable(source_name(result))
    line = Text(_cut(name, 40), style="bold").append(f"  {subtitle(result)}", style="not bold")
    line.truncate(_WIDTH, overflow="ellipsis")
    return line


def _trusts(result: Map) -> list[Text]:
    lines = []
    for panel in result.panels[:_PANELS]:
        name = set_cell_size(_cut(printable(panel.name), 12), 13)
        line = Text(f"  {name}", style="bold").append(
            trust_text(result, panel.trust) or "not measured", style="not bold"
        )
        line.truncate(_WIDTH, overflow="ellipsis")
        lines.append(line)
    if len(result.panels) > _PANELS:
        left = count(len(result.panels) - _PANELS, "more picture")
        lines.append(Text(f"  and {left}, in the report", style="dim"))
    return lines


def _wrapped(text: str, console: Console, *, width: int = _WIDTH - 4, style: str = "") -> list[Text]:
    """By columns, not letters: some scripts take two columns a letter."""
    lines = Text(printable(text), style=style).wrap(console, width)
    for line in lines:
        line.rstrip()
    return list(lines)


def _labelled(word: str, text: str, console: Console, *, style: str = "") -> list[Text]:
    lines = _wrapped(text, console, width=_WIDTH - 10, style=style)
    starts = [Text(f"  {word:<8}", style="bold"), *(Text(" " * 10) for _ in lines[1:])]
    return [Text.assemble(start, line) for start, line in zip(starts, lines, strict=True)]


def _cut(text: str, columns: int) -> str:
    return text if cell_len(text) <= columns else f"{set_cell_size(text, columns - 1)}…"
