"""A map on the terminal: what is shown, how far to trust it, the files and what to run next; a few lines."""

from __future__ import annotations

from rich.cells import set_cell_size
from rich.console import Console
from rich.text import Text

from uncone.diagnosis.words import count
from uncone.report.columns import WIDTH, cut, labelled, wrapped
from uncone.report.mapped import Map
from uncone.report.mapped_lines import SEVERAL, headline, sentences, source_name, subtitle, trust_text
from uncone.report.text import printable

__all__ = ["print_map"]

_PANELS, _NOTES = 14, 2
"""Pictures and notes that a screen has room for; the report has them all."""


def print_map(result: Map, console: Console) -> None:
    """Print what a map shows and how far to trust it."""
    for line in _lines(result, console):
        console.print(line, soft_wrap=True, highlight=False)


def _lines(result: Map, console: Console) -> list[Text]:
    first, *rest = wrapped(f"· {headline(result)}", console, style="bold")
    lines = [_title(result), Text(""), Text("  ").append_text(first)]
    lines += [Text("    ").append_text(line) for line in rest]
    lines += [Text("    ").append_text(line) for text in sentences(result) for line in wrapped(text, console)]
    lines += [Text(""), *_trusts(result), Text("")] if len(result.panels) > SEVERAL else [Text("")]
    notes = [note for note in result.notes if note]
    more = [f"and {count(len(notes) - _NOTES, 'more note')}, in the report"] if notes[_NOTES:] else []
    for note in [*notes[:_NOTES], *more]:
        lines += labelled("note", note, console, style="dim")
    others = {what: where for what, where in result.written.items() if what != "report"}
    for what, where in others.items():
        lines += labelled("wrote", f"{where} ({what})", console)
    if result.suggestion:
        # Not wrapped, so that it can be copied.
        lines.append(Text("  next    ", style="bold").append(printable(result.suggestion), style="not bold"))
    if "report" in result.written:
        lines.append(Text("  report  ", style="bold").append(printable(result.written["report"]), style="not bold"))
    return lines if lines[-1].plain else lines[:-1]


def _title(result: Map) -> Text:
    name = printable(source_name(result))
    line = Text(cut(name, 40), style="bold").append(f"  {subtitle(result)}", style="not bold")
    line.truncate(WIDTH, overflow="ellipsis")
    return line


def _trusts(result: Map) -> list[Text]:
    lines = []
    for panel in result.panels[:_PANELS]:
        name = set_cell_size(cut(printable(panel.name), 12), 13)
        line = Text(f"  {name}", style="bold").append(
            trust_text(result, panel.trust) or "not measured", style="not bold"
        )
        line.truncate(WIDTH, overflow="ellipsis")
        lines.append(line)
    if len(result.panels) > _PANELS:
        left = count(len(result.panels) - _PANELS, "more picture")
        lines.append(Text(f"  and {left}, in the report", style="dim"))
    return lines
