"""Documents as LaTeX: the tables of a paper, with booktabs; sentences as comments, so that nothing is pasted unread."""

from __future__ import annotations

import re
from collections.abc import Iterator

from uncone.report.document import Cell, Document, Items, Table, leaves
from uncone.report.text import printable

__all__ = ["escaped", "render"]

_TEXT = {"\\": "backslash", "~": "asciitilde", "^": "asciicircum", "<": "less", ">": "greater", "|": "bar"}
_TEXT |= {'"': "quotedbl", "`": "asciigrave", "*": "asteriskcentered"}
_MATH = {"↓": "downarrow", "↑": "uparrow", "·": "cdot", "±": "pm", "≥": "geq", "≤": "leq", "λ": "lambda", "Σ": "Sigma"}
_MATH |= {"▲": "blacktriangle", "✓": "checkmark", "✗": "times"}
_SPECIAL = {
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    **{mark: f"\\text{name}{{}}" for mark, name in _TEXT.items()},
    **{mark: f"$\\{name}$" for mark, name in _MATH.items()},
    # After the end of a row a bracket would begin an option.
    **{"[": "{[}", "]": "{]}", "−": "$-$", "–": "--", "…": "\\ldots{}"},
    **{"²": "\\textsuperscript{2}", "₁": "\\textsubscript{1}"},
}

_WIDE = 9
"""Columns of a table in small type that a page has no room for."""


def render(document: Document) -> str:
    """Every table of a document; a comment names the packages that they need."""
    blocks = [(block, section.title) for section in document.sections for block in leaves(section.blocks)]
    parts = [(block.table if isinstance(block, Items) else block, title) for block, title in blocks]
    tables = [(part, title) for part, title in parts if isinstance(part, Table)]
    packages = [
        "booktabs",
        "textcomp",
        "amssymb",
        *(["graphicx"] if any(_is_wide(table) for table, _ in tables) else []),
    ]
    lines = [
        f"% {printable(document.name)}: {printable(document.title)}",
        f"% needs \\usepackage{{{','.join(packages)}}} and \\usepackage[T1]{{fontenc}}",
    ]
    for table, title in tables:
        lines += ["", *_table(table, title, document.name)]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    r"""Text without commands.

    >>> print(escaped("50 % of a_b"))
    50 \% of a\_b
    """
    return "".join(_SPECIAL.get(letter, letter) for letter in printable(text))


def _is_wide(table: Table) -> bool:
    """Whether a table is scaled down to the width of the page."""
    return table.compact and len(table.columns) >= _WIDE


def _table(table: Table, section: str, name: str) -> Iterator[str]:
    columns = table.columns
    parts = (f"{name}: {table.title or section}", table.intro, *table.remarks)
    yield "\\begin{table}"
    yield "\\centering"
    yield f"\\caption{{{escaped('. '.join(part.rstrip('.') for part in parts if part))}.}}"
    if _is_wide(table):
        yield "\\resizebox{\\textwidth}{!}{%"
    yield f"\\begin{{tabular}}{{{''.join('l' if column.align == 'left' else 'r' for column in columns)}}}"
    yield "\\toprule"
    yield f"{' & '.join(escaped(column.title) for column in columns)} \\\\"
    if any(column.small for column in columns):
        yield f"{' & '.join(_small(column.small) for column in columns)} \\\\"
    yield "\\midrule"
    for place, row in enumerate(table.rows):
        if len(row.cells) > 1 or len(columns) == 1:
            yield f"{' & '.join(_cell(cell, row.muted) for cell in row.cells)} \\\\"
            continue
        if place:
            yield "\\midrule"
        yield f"\\multicolumn{{{len(columns)}}}{{l}}{{\\emph{{{escaped(row.cells[0].text)}}}}} \\\\"
    yield from ("\\bottomrule", f"\\end{{tabular}}{'}' if _is_wide(table) else ''}", "\\end{table}")


def _cell(cell: Cell, muted: bool) -> str:
    text = escaped(cell.text)
    text = f"$-${text[1:]}" if re.match(r"-[0-9]", text) else text
    text = f"\\textbf{{{text}}}" if cell.strong and text else f"\\textit{{{text}}}" if muted and text else text
    # A star is a command only at the beginning of a row.
    mark = f"\\textsuperscript{{{escaped(cell.mark).replace(_SPECIAL['*'], '*')}}}" if cell.mark else ""
    small = _small(cell.small if cell.small.startswith("±") else f"({cell.small})") if cell.small else ""
    return " ".join(filter(None, (text + mark, small)))


def _small(text: str) -> str:
    return f"{{\\footnotesize {escaped(text)}}}" if text else ""
