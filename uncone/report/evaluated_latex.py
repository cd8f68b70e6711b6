"""An evaluation as a table for a paper."""

from __future__ import annotations

from uncone.errors import OptionError
from uncone.evaluation.bootstrap import Aggregation
from uncone.evaluation.table import EvaluationTable
from uncone.report.evaluated_grid import AGGREGATIONS, Line, Shown, grid, points
from uncone.report.text import printable

__all__ = ["escaped", "render"]

_DIGITS = 2
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "[": "{[}",
    "]": "{]}",
    "…": r"\dots{}",
    "·": r"$\cdot$",
    "–": "--",
    "−": "$-$",
    "`": r"\textasciigrave{}",
    "*": r"\textasteriskcentered{}",
}


def escaped(text: str) -> str:
    r"""Text that LaTeX prints as it is.

    >>> escaped("50% & {a_b}")
    '50\\% \\& \\{a\\_b\\}'
    """
    return "".join(_ESCAPES.get(letter, letter) for letter in printable(text))


def render(table: EvaluationTable, aggregation: Aggregation = "all") -> str:
    """Methods x sets under one aggregation, published rows below a rule.

    Raises:
        OptionError: there is no such aggregation.
    """
    if aggregation not in AGGREGATIONS:
        raise OptionError(f"There is no aggregation {aggregation!r}; there are {', '.join(AGGREGATIONS)}.")
    shown = grid(table, aggregation, digits=_DIGITS)
    several = len(table.datasets) > 1
    columns = len(table.datasets) + 1 + several
    head = " & ".join(["method", *map(escaped, table.datasets), *(["average"] if several else [])])
    lines = []
    for group in shown.groups:
        title = escaped(group.title)
        lines.append(rf"\midrule\multicolumn{{{columns}}}{{l}}{{\emph{{{title}}}}} \\")
        lines += [_line(one, published=group.published, several=several) for one in group.lines]
    star = (
        r" \textsuperscript{*}: the difference to raw vectors is significant (paired bootstrap over "
        r"independent pairs, 30 or more, corrected for the number of methods); $\downarrow$: it is a loss."
    )
    caption = (
        rf"Spearman correlation $\times$ 100 of {escaped(table.model)}; aggregation \texttt{{{aggregation}}}: "
        rf"{AGGREGATIONS[aggregation]}. Best in bold.{star if aggregation == 'all' else ''}"
    )
    return "\n".join(
        [
            r"% needs \usepackage{booktabs,textcomp} and \usepackage[T1]{fontenc}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{caption}}}",
            rf"\begin{{tabular}}{{l*{{{columns - 1}}}{{r}}}}",
            r"\toprule",
            rf"{head} \\",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _line(line: Line, *, published: bool, several: bool) -> str:
    name = escaped(f"{line.name} ({line.row.note})" if published and line.row.note else line.name)
    cells = [_cell(one) for one in (*line.cells, *([line.average] if several else []))]
    return rf"{' & '.join([name, *cells])} \\"


def _cell(shown: Shown) -> str:
    if shown.value is None:
        return "--"
    text = points(shown.value, _DIGITS).replace("-", "$-$")
    text = rf"\textbf{{{text}}}" if shown.best else text
    if shown.spread is not None:
        text += rf" {{\footnotesize $\pm$ {points(shown.spread, _DIGITS)}}}"
    return text + {1: r"\textsuperscript{*}", -1: r"$^{\downarrow}$\textsuperscript{*}", 0: ""}[shown.way]
