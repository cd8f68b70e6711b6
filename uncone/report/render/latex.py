"""Documents as LaTeX: the tables of a paper, with booktabs; sentences as comments, so that nothing is pasted unread."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from uncone.report.document import Block, Cell, Document, Fold, Items, SideBySide, Table, Tabs, Widget
from uncone.report.text import printable

__all__ = ["escaped", "render"]

_SPECIAL = {
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
    '"': "\\textquotedbl{}",
    "`": "\\textasciigrave{}",
    "*": "\\textasteriskcentered{}",
    # After the end of a row a bracket would begin an option.
    "[": "{[}",
    "]": "{]}",
    "↓": "$\\downarrow$",
    "↑": "$\\uparrow$",
    "·": "$\\cdot$",
    "±": "$\\pm$",
    "−": "$-$",
    "–": "--",
    "≥": "$\\geq$",
    "≤": "$\\leq$",
    "²": "\\textsuperscript{2}",
    "₁": "\\textsubscript{1}",
    "λ": "$\\lambda$",
    "Σ": "$\\Sigma$",
    "▲": "$\\blacktriangle$",
    "✓": "$\\checkmark$",
    "✗": "$\\times$",
    "…": "\\ldots{}",
}


def render(document: Document) -> str:
    """Every table of a document; a comment names the packages that they need."""
    lines = [
        f"% {printable(document.name)}: {printable(document.title)}",
        "% needs \\usepackage{booktabs,textcomp,amssymb} and \\usepackage[T1]{fontenc}",
    ]
    for section in document.sections:
        for table in _tables(section.blocks):
            lines += ["", *_table(table, section.title, document.name)]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    r"""Text without commands.

    >>> print(escaped("50 % of a_b"))
    50 \% of a\_b
    """
    return "".join(_SPECIAL.get(letter, letter) for letter in printable(text))


def _tables(blocks: Sequence[Block]) -> Iterator[Table]:
    for block in blocks:
        match block:
            case Table():
                yield block
            case Fold(blocks=inner) | SideBySide(blocks=inner) | Widget(otherwise=inner):
                yield from _tables(inner)
            case Tabs(tabs=tabs):
                for _, inner in tabs:
                    yield from _tables(inner)
            case Items(items=items):
                yield block.table
                for item in items:
                    yield from (replace(one, title=one.title or item.title) for one in _tables(item.more))


def _table(table: Table, section: str, name: str) -> Iterator[str]:
    yield "\\begin{table}"
    yield "\\centering"
    caption = ". ".join(
        part.rstrip(".") for part in (f"{name}: {table.title or section}", table.intro, *table.remarks) if part
    )
    yield f"\\caption{{{escaped(caption)}.}}"
    yield f"\\begin{{tabular}}{{{''.join('l' if one.align == 'left' else 'r' for one in table.columns)}}}"
    yield "\\toprule"
    yield f"{' & '.join(escaped(one.title) for one in table.columns)} \\\\"
    if any(one.small for one in table.columns):
        small = [f"{{\\footnotesize {escaped(one.small)}}}" if one.small else "" for one in table.columns]
        yield f"{' & '.join(small)} \\\\"
    yield "\\midrule"
    for place, row in enumerate(table.rows):
        if len(row.cells) == 1 < len(table.columns):
            if place:
                yield "\\midrule"
            yield f"\\multicolumn{{{len(table.columns)}}}{{l}}{{\\emph{{{escaped(row.cells[0].text)}}}}} \\\\"
        else:
            yield f"{' & '.join(_cell(cell, row.muted) for cell in row.cells)} \\\\"
    yield "\\bottomrule"
    yield "\\end{tabular}"
    yield "\\end{table}"


def _cell(cell: Cell, muted: bool) -> str:
    text = escaped(cell.text)
    text = f"$-${text[1:]}" if re.match(r"-[0-9]", text) else text
    text = f"\\textbf{{{text}}}" if cell.strong and text else f"\\textit{{{text}}}" if muted and text else text
    # A star is a command only at the beginning of a row.
    mark = f"\\textsuperscript{{{escaped(cell.mark).replace(_SPECIAL['*'], '*')}}}" if cell.mark else ""
    small = (
        f"{{\\footnotesize {escaped(cell.small if cell.small[0] == '±' else f'({cell.small})')}}}" if cell.small else ""
    )
    return " ".join(part for part in (text + mark, small) if part)
