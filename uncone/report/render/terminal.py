"""Documents on a terminal: the verdict, the brief blocks of each section, then what to do; 78 columns."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import zip_longest

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from uncone.analysis.measures.finding import Level
from uncone.analysis.number_format import cosine, count
from uncone.report import document as doc
from uncone.report.charts.model import Chart, Histogram
from uncone.report.text import printable, shorten

__all__ = ["WIDTH", "print_document", "render"]

WIDTH = 78
STYLES = {Level.HEALTHY: "green", Level.CROWDED: "yellow", Level.COLLAPSED: "red", Level.NOTE: ""}
_LABEL = 8
"""Columns of a label such as `why` before its text."""
_NAME, _VALUE, _INTERVAL = 28, 18, 16
"""Columns of the parts of a finding."""
_LONGEST_HEAD = 14
"""Headings longer than this are set on two lines."""
_LEAST_WRAPPED, _MOST_WRAPPED = 14, 24
"""Columns that a cell needs to be wrapped in, and that it gets when the table is set in parts."""
_BINS = 60
_BLOCKS = " ▁▂▃▄▅▆▇█"
_TAIL = 0.0005
"""The share of a histogram, on either side, that its axis may leave out."""


def print_document(document: doc.Document, console: Console) -> None:
    """Print a document."""
    for line in _lines(document, console):
        line.rstrip()
        console.print(line, soft_wrap=True, highlight=False)


def render(document: doc.Document) -> str:
    """The document as it is printed, without colors."""
    page = io.StringIO()
    print_document(document, Console(file=page, width=WIDTH + 2, no_color=True, force_terminal=False))
    return page.getvalue()


def _lines(document: doc.Document, console: Console) -> Iterator[Text]:
    yield from _title(document, console)
    if document.warning:
        yield Text("")
        yield from _labeled("▲", document.warning, console, style="yellow")
    yield Text("")
    for place, verdict in enumerate(document.verdicts):
        yield from _verdict(verdict, console, first=place == 0, several=len(document.verdicts) > 1)
    last: list[doc.Block] = []
    for section in document.sections:
        blocks = [block for block in section.brief if not isinstance(block, doc.Notes | doc.Facts | doc.Command)]
        last += [block for block in section.brief if isinstance(block, doc.Notes | doc.Facts | doc.Command)]
        for block in blocks:
            yield from _spaced(list(_block(block, console)))
    yield from _spaced(_closing(document.verdicts, last, console))


def _spaced(lines: Sequence[Text]) -> Iterator[Text]:
    if lines:
        yield Text("")
        yield from lines


def _title(document: doc.Document, console: Console) -> Iterator[Text]:
    name, subtitle = shorten(printable(document.name), 60), printable(document.subtitle)
    if cell_len(name) + 2 + cell_len(subtitle) <= WIDTH:
        yield Text.assemble((name, "bold"), "  " if subtitle else "", (subtitle, "dim"))
        return
    yield Text(_cut(name, WIDTH), style="bold")
    yield from _wrapped(subtitle, console, WIDTH, style="dim")


def _verdict(verdict: doc.Verdict, console: Console, *, first: bool, several: bool) -> Iterator[Text]:
    """The first with its details; of the others the headline only."""
    style = f"bold {STYLES[verdict.level]}".strip()
    mark = f"{doc.MARKS[verdict.level]} " if verdict.marked else ""
    name = f"{printable(verdict.name)}: " if verdict.name and several else ""
    for place, line in enumerate(_wrapped(f"{mark}{name}{verdict.headline}", console, WIDTH - 2 - len(mark))):
        yield Text.assemble("  " + " " * (len(mark) if place else 0), (line.plain, style))
    for sentence in verdict.details if first else ():
        yield from _hanging("  - " if verdict.bulleted else " " * (2 + len(mark)), sentence, console)


def _closing(verdicts: Sequence[doc.Verdict], last: Sequence[doc.Block], console: Console) -> list[Text]:
    blocks: list[doc.Block] = []
    if verdicts and not verdicts[0].name:
        verdict = verdicts[0]
        blocks += [doc.Sentences(verdict.reasons, "why"), doc.Sentences(verdict.advice, "do")]
        blocks += [doc.Command(verdict.command)] if verdict.command else []
    return [line for block in (*blocks, *last) for line in _block(block, console)]


def _block(block: doc.Block, console: Console) -> Iterator[Text]:  # noqa: C901 - one case per kind of block
    match block:
        case doc.Sentences():
            for place, sentence in enumerate(block.lines):
                if block.label:
                    yield from _labeled("" if place else block.label, sentence, console)
                else:
                    yield from _hanging("  - " if block.bulleted else "  ", sentence, console)
        case doc.Table():
            yield from _table(block, console)
        case doc.Items():
            for item in block.items:
                title, value = printable(item.title).lower(), _cut(printable(item.value), _VALUE)
                line = Text(f"  {set_cell_size(_cut(title, _NAME - 1), _NAME)}{value:>{_VALUE}}  ")
                line.append(f"{item.interval:<{_INTERVAL}} ", style="dim")
                yield line.append("" if item.level is Level.NOTE else str(item.level), style=STYLES[item.level])
        case Chart():
            yield from _histograms(block)
        case doc.Command():  # not wrapped, so that it can be copied
            yield Text.assemble("  ", (f"{block.label:<{_LABEL}}", "bold"), printable(block.text))
        case doc.Notes():
            yield from _notes(block, console)
        case doc.Facts():
            for name, value in block.pairs:
                yield from _labeled(name, value, console)
        case doc.Fold(blocks=inner) | doc.SideBySide(blocks=inner) | doc.Widget(otherwise=inner):
            for each in inner:
                yield from _block(each, console)
        case doc.Tabs(tabs=tabs):
            for each in tabs[0][1]:
                yield from _block(each, console)
        case _:
            raise TypeError(f"A {type(block).__name__} cannot be drawn on a terminal.")


def _labeled(label: str, sentence: str, console: Console, style: str = "") -> Iterator[Text]:
    width = max(_LABEL, cell_len(label) + 1)
    return _hanging(Text.assemble("  ", (f"{label:<{width}}", "bold")), sentence, console, style)


def _hanging(start: str | Text, sentence: str, console: Console, style: str = "") -> Iterator[Text]:
    """A sentence on several lines that all begin below its first letter, behind `start`."""
    width = cell_len(str(start))
    for place, line in enumerate(_wrapped(sentence, console, WIDTH - width, style=style)):
        yield Text.assemble(" " * width if place else start, line)


def _notes(block: doc.Notes, console: Console) -> Iterator[Text]:
    lines = [line for line in block.lines if line]
    rest = len(lines) - block.most
    if rest > 0:
        lines = [*lines[: block.most], f"and {count(rest, f'more {block.label}')} in the report"]
    for line in lines:
        yield from _labeled(block.label, line, console, style="dim")


def _table(table: doc.Table, console: Console) -> Iterator[Text]:
    """With the small print in parentheses if there is room for it, else without, else in several parts."""
    if not table.rows:
        return
    if table.title:
        yield Text(f"  {_cut(printable(table.title), WIDTH - 2)}", style="bold")
    for with_small in (True, False):
        cells, marks = _texts(table, with_small)
        widths = _widths(table, cells)
        if sum(widths) + 2 * len(widths) <= WIDTH:
            break
    widths = _squeezed(table.columns, widths)
    for place, part in enumerate(_parts(widths)):
        if place:
            yield Text("")
        yield from _heads([table.columns[at] for at in part], [widths[at] for at in part], [marks[at] for at in part])
        for row, texts in zip(table.rows, cells, strict=True):
            yield from _row(table, row, texts, part, widths, console)
    for remark in table.remarks:
        yield from _hanging("  ", remark, console, style="dim")


def _texts(table: doc.Table, with_small: bool) -> tuple[list[list[str]], list[int]]:
    """The texts of all cells, and the room that each column has for marks: numbers stand in line before it."""

    def parts(cell: doc.Cell) -> tuple[str, str, str]:
        level = f"{doc.MARKS[cell.level]} " if cell.level in (Level.CROWDED, Level.COLLAPSED) and not cell.mark else ""
        small = f" ({printable(cell.small)})" if cell.small and with_small else ""
        return printable(f"{level}{cell.text}"), printable(cell.mark), small

    rows = [[parts(cell) for cell in row.cells] for row in table.rows]
    marks, smalls = [0] * len(table.columns), [0] * len(table.columns)
    for row in rows:
        for at, (_, mark, small) in enumerate(row):
            if table.columns[at].align == "right":
                marks[at], smalls[at] = max(marks[at], cell_len(mark)), max(smalls[at], cell_len(small))
    cells, indent = [], ""
    for row in rows:
        texts = [
            text + _filled(mark, marks[at]) + _filled(small, smalls[at]) for at, (text, mark, small) in enumerate(row)
        ]
        is_heading = len(texts) == 1 < len(table.columns)
        cells.append(texts if is_heading else [indent + texts[0], *texts[1:]])
        indent = "  " if is_heading else indent  # rows below a heading begin further right
    return cells, marks


def _widths(table: doc.Table, cells: Sequence[Sequence[str]]) -> list[int]:
    full = [row for row in cells if len(row) > 1 or len(table.columns) == 1]
    return [
        max([*(cell_len(row[at]) for row in full), *(cell_len(line) for line in _head_lines(column))], default=0)
        for at, column in enumerate(table.columns)
    ]


def _squeezed(columns: Sequence[doc.Column], widths: Sequence[int]) -> list[int]:
    """Columns that may wrap share what the others leave; a table that has to be set in parts has room for them."""
    wrapping = [at for at, column in enumerate(columns) if column.wrap]
    rest = WIDTH - 2 * len(widths) - sum(width for at, width in enumerate(widths) if at not in wrapping)
    share = rest // max(len(wrapping), 1)
    share = share if share >= _LEAST_WRAPPED else _MOST_WRAPPED
    left = WIDTH - 2 * len(widths) - sum(widths[1:])
    first = min(widths[0], share if 0 in wrapping else max(WIDTH // 2, left))
    room = [first, *[WIDTH - 4 - first] * (len(widths) - 1)]
    return [min(width, share) if at in wrapping else min(width, room[at]) for at, width in enumerate(widths)]


def _parts(widths: Sequence[int]) -> list[list[int]]:
    """Columns that fit beside one another; each part begins with the first column."""
    parts, width = [[0]], widths[0] + 2
    for at in range(1, len(widths)):
        if len(parts[-1]) > 1 and width + widths[at] + 2 > WIDTH:
            parts.append([0])
            width = widths[0] + 2
        parts[-1].append(at)
        width += widths[at] + 2
    return parts


def _head_lines(column: doc.Column) -> list[str]:
    title = printable(column.title)
    words = title.split()
    lines = [title]
    if cell_len(title) > _LONGEST_HEAD and len(words) > 1:
        cuts = [(" ".join(words[:at]), " ".join(words[at:])) for at in range(1, len(words))]
        lines = list(min(cuts, key=lambda cut: max(map(cell_len, cut))))
    return [*lines, *([printable(column.small)] if column.small else [])]


def _heads(columns: Sequence[doc.Column], widths: Sequence[int], marks: Sequence[int]) -> Iterator[Text]:
    """Headings end above the numbers, not above the marks behind them, if there is room."""
    heads = [_head_lines(column) for column in columns]
    height = max(map(len, heads))
    for line in range(height):
        texts = [head[line - height + len(head)] if line >= height - len(head) else "" for head in heads]
        texts = [
            text + " " * max(min(room, width - cell_len(text)), 0)
            for text, width, room in zip(texts, widths, marks, strict=True)
        ]
        if any(map(str.strip, texts)):
            cells = zip(texts, columns, widths, strict=True)
            yield Text("  " + "  ".join(_padded(text, column, width) for text, column, width in cells), style="dim")


def _row(
    table: doc.Table, row: doc.Row, texts: Sequence[str], part: Sequence[int], widths: Sequence[int], console: Console
) -> Iterator[Text]:
    if len(row.cells) == 1 and len(table.columns) > 1:
        yield Text(f"  {_cut(texts[0], WIDTH - 2)}", style="italic dim")
        return
    wrapped = [_wrapped_cell(texts[at], console, widths[at]) if table.columns[at].wrap else [texts[at]] for at in part]
    for lines in zip_longest(*wrapped, fillvalue=""):
        line = Text("  ")
        for at, text in zip(part, lines, strict=True):
            style = "bold" if row.cells[at].strong else STYLES[row.cells[at].level] or ("dim" if row.muted else "")
            line.append(_padded(text, table.columns[at], widths[at]), style=style).append("  ")
        yield line


def _wrapped_cell(text: str, console: Console, width: int) -> list[str]:
    """On several lines with the indentation of the first."""
    indent = " " * (len(text) - len(text.lstrip()))
    return [f"{indent}{line.plain}" for line in _wrapped(text, console, width - len(indent))] or [""]


def _padded(text: str, column: doc.Column, width: int) -> str:
    text = _cut(text, width)
    return _filled(text, width) if column.align == "left" else " " * (width - cell_len(text)) + text


def _filled(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _histograms(chart: Chart) -> Iterator[Text]:
    """Histograms over one axis, each drawn up to its own peak; vertical references as arrows below."""
    histograms = [mark for mark in chart.marks if isinstance(mark, Histogram) and any(mark.heights)]
    if len(histograms) < len(chart.marks) or not histograms:
        raise TypeError(f"The chart {chart.name!r} cannot be drawn on a terminal: it is not made of histograms alone.")
    ends = [np.interp([_TAIL, 1 - _TAIL], _shares_below(mark), mark.edges) for mark in histograms]  # nearly all of each
    low, high = float(min(left for left, _ in ends)), float(max(max(left + 1e-6, right) for left, right in ends))
    edges = np.linspace(low, high, _BINS + 1)
    styles = {"accent": "blue", "second": "dark_orange"}
    for mark in histograms:
        style = styles.get(mark.color.split()[0], "dim")
        yield Text.assemble(f"  {set_cell_size(_cut(printable(mark.label), 9), 10)}", (_bars(mark, edges), style))
    left, right = cosine(low), cosine(high)
    yield Text(f"{'':12}{left}{'':{_BINS - len(left) - len(right)}}{right}", style="dim")
    arrows = [" "] * _BINS
    solid = [line.at for line in chart.references if not line.horizontal and line.dash == "solid"]
    within = [at for at in solid if low <= at < high]
    for at in within:
        arrows[int((at - low) / (high - low) * _BINS)] = "↑"
    if within:
        yield Text(f"  {'cut':<10}{''.join(arrows)}")


def _shares_below(mark: Histogram) -> np.ndarray:
    masses = np.asarray(mark.heights, np.float64) * np.diff(np.asarray(mark.edges, np.float64))
    return np.asarray(np.concatenate([[0.0], np.cumsum(masses)]) / masses.sum())


def _bars(mark: Histogram, edges: np.ndarray) -> str:
    """The histogram in new bins, as blocks; a bin that is not empty has at least the lowest block."""
    density = np.diff(np.interp(edges, mark.edges, _shares_below(mark)))
    heights = np.ceil((len(_BLOCKS) - 1) * density / (density.max() or 1.0) - 1e-9)
    return "".join(_BLOCKS[int(height)] for height in heights)


def _wrapped(sentence: str, console: Console, width: int, style: str = "") -> list[Text]:
    """By columns, not letters, because some scripts take two columns a letter."""
    lines = list(Text(printable(sentence), style=style).wrap(console, width))
    for line in lines:
        line.rstrip()
    return lines


def _cut(text: str, columns: int) -> str:
    return text if cell_len(text) <= columns else f"{set_cell_size(text, columns - 1)}…"
