"""Documents as LaTeX: the tables of a paper, with booktabs; sentences as comments, so that nothing is pasted unread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
    """Every table of a document; needs the package booktabs."""
    lines = [f"% {printable(document.name)}: {printable(document.title)}", "% \\usepackage{booktabs}"]
    for section in document.sections:
        for table in _tables(section.blocks):
            lines += ["", *_table(table, section.title)]
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
                for item in items:
                    yield from _tables(item.more)


def _table(table: Table, section: str) -> Iterator[str]:
    yield "\\begin{table}"
    yield "\\centering"
    caption = ". ".join(part.rstrip(".") for part in (table.title or section, table.intro, *table.remarks) if part)
    yield f"\\caption{{{escaped(caption)}.}}"
    yield f"\\begin{{tabular}}{{{''.join('l' if one.align == 'left' else 'r' for one in table.columns)}}}"
    yield "\\toprule"
    yield f"{' & '.join(escaped(one.title) for one in table.columns)} \\\\"
    if any(one.small for one in table.columns):
        small = [f"{{\\footnotesize {escaped(one.small)}}}" for one in table.columns]
        yield f"{' & '.join(small)} \\\\"
    yield "\\midrule"
    for row in table.rows:
        if len(row.cells) == 1 < len(table.columns):
            yield f"\\multicolumn{{{len(table.columns)}}}{{l}}{{\\emph{{{escaped(row.cells[0].text)}}}}} \\\\"
        else:
            yield f"{' & '.join(map(_cell, row.cells))} \\\\"
    yield "\\bottomrule"
    yield "\\end{tabular}"
    yield "\\end{table}"


def _cell(cell: Cell) -> str:
    text = escaped(cell.text)
    text = f"\\textbf{{{text}}}" if cell.strong and text else text
    mark = f"$^{{{escaped(cell.mark)}}}$" if cell.mark else ""
    return f"{text}{mark} {{\\footnotesize ({escaped(cell.small)})}}" if cell.small else text + mark
