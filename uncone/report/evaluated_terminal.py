"""An evaluation on the terminal: sentences, methods x datasets, averages; 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from uncone.diagnosis.words import count
from uncone.evaluation.bootstrap import Aggregation
from uncone.evaluation.table import EvaluationTable, Row
from uncone.report.evaluated import Evaluated
from uncone.report.evaluated_grid import (
    AGGREGATIONS,
    Group,
    Line,
    Shown,
    aggregations,
    average,
    gain,
    grid,
    independent,
    mean_isoscore,
    pairs,
    points,
    signed,
    undefined,
)
from uncone.report.evaluated_tasks import TaskTable, task_tables
from uncone.report.text import fitted, printable

__all__ = ["print_evaluated"]

_WIDTH = 78
_NAME = 21
_LONGEST = 14
"""Columns that the name of a set may take."""
_NOTES = 4
_STARS = {1: "*", -1: "↓*", 0: ""}


@dataclass(frozen=True)
class _Column:
    """A column: its name, its pairs and independent ones, its width, and how much of that stands behind the number."""

    name: str
    size: str
    independent: str
    width: int
    marks: int

    def over(self, text: str) -> str:
        """A head that ends above the numbers, if there is room."""
        return text + " " * max(min(self.marks, self.width - 1 - cell_len(text)), 0)


def print_evaluated(result: Evaluated, console: Console) -> None:
    """Print what an evaluation found."""
    for line in _lines(result, console):
        console.print(line, soft_wrap=True, highlight=False)


def _lines(result: Evaluated, console: Console) -> Iterator[Text]:
    table = result.table
    yield Text(_cut(fitted(printable(table.model), 60), _WIDTH), style="bold")
    yield Text("")
    mark, style = ("✓", "bold green") if result.helps else ("·", "bold")
    yield from _wrapped(f"{mark} {result.headline}", console, style=style)
    for sentence in result.lines():
        yield from _wrapped(sentence, console, start="  - ")
    if table.rows and table.datasets:
        yield Text("")
        yield from _tables(table, console)
        yield Text("")
        yield from _averages(table, console)
    for task in task_tables(table.tasks):
        yield Text("")
        yield from _task(task)
    notes = [*undefined(table), *(note for note in table.notes if note)]
    if notes:
        yield Text("")
    for note in notes[:_NOTES]:
        yield from _wrapped(note, console, start="  note  ", style="dim")
    if len(notes) > _NOTES:
        yield from _wrapped(f"and {count(len(notes) - _NOTES, 'more note')}, in the report", console, start="  note  ")


def _tables(table: EvaluationTable, console: Console) -> Iterator[Text]:
    """Methods x sets, in as many tables as the sets need."""
    literature = _published(table)
    groups = [*grid(table).groups, *([literature] if literature else [])]
    columns = _columns(table, [line for group in groups for line in group.lines])
    said = (
        f"Spearman x 100, `all`: {AGGREGATIONS['all']}. Star: the difference to raw is proven on the independent "
        "pairs, those that share no text; ↓: it is a loss."
    )
    yield from _wrapped(said, console, start="  ", style="dim")
    for chunk in _chunks([one.width for one in columns], _WIDTH - _NAME):
        shown = [columns[at] for at in chunk]
        yield Text("")
        yield _head("", [one.over(one.name) for one in shown], [one.width for one in shown])
        yield _head("pairs", [one.over(one.size) for one in shown], [one.width for one in shown], style="dim")
        if any(one.independent for one in columns):
            sizes = [one.over(one.independent) for one in shown]
            yield _head("independent pairs", sizes, [one.width for one in shown], style="dim")
        for group in groups:
            yield Text(_cut(f"  {printable(group.title)}", _WIDTH), style="italic dim")
            for line in group.lines:
                cells = [*line.cells, line.average]
                yield from _row(line.name, [cells[at] for at in chunk], shown, published=group.published)


def _columns(table: EvaluationTable, lines: Sequence[Line]) -> list[_Column]:
    names = [fitted(printable(one), _LONGEST) for one in table.datasets]
    if len(set(names)) < len(names):
        names = [f"{at} {fitted(printable(one), _LONGEST - 4)}" for at, one in enumerate(table.datasets, 1)]
    held, units = (
        [f"{size:,}" if (size := sized(table, dataset)) else "" for dataset in table.datasets]
        for sized in (pairs, independent)
    )
    if len(names) > 1:
        joint = max((one.units for row in table.rows if (one := gain(table, row)) is not None), default=0)
        names, held, units = [*names, "average"], [*held, ""], [*units, f"{joint:,}" if joint else ""]
    cells = [[*line.cells, line.average] for line in lines]
    return [
        _column(name, size, own, [line[at] for line in cells])
        for at, (name, size, own) in enumerate(zip(names, held, units, strict=True))
    ]


def _column(name: str, size: str, independent: str, cells: Sequence[Shown]) -> _Column:
    """As wide as it has to be, with room for stars behind the numbers."""
    marks = max((len(_marks(one)) for one in cells), default=0)
    numbers = max((len(points(one.value)) for one in cells), default=0)
    return _Column(name, size, independent, 1 + max(cell_len(name), len(size), numbers + marks), marks)


def _published(table: EvaluationTable) -> Group | None:
    """Rows of the literature that are not of the table above, under the aggregation that they have."""
    if any(group.published for group in grid(table).groups):
        return None
    ways: tuple[Aggregation, ...] = ("wmean", "mean")
    for way in ways:
        for group in grid(table, way).groups:
            if group.published:
                return Group(f"{group.title}; aggregation {way}", group.lines, published=True)
    return None


def _chunks(widths: Sequence[int], room: int) -> list[list[int]]:
    """Columns that fit beside one another; the average stands last."""
    chunks: list[list[int]] = [[]]
    for at, width in enumerate(widths):
        if chunks[-1] and sum(widths[one] for one in chunks[-1]) + width > room:
            chunks.append([])
        chunks[-1].append(at)
    return chunks


def _marks(shown: Shown) -> str:
    """What stands behind a number."""
    return ("" if shown.spread is None else f"±{points(shown.spread)}") + _STARS[shown.way]


def _head(name: str, names: Sequence[str], widths: Sequence[int], style: str = "bold") -> Text:
    line = Text(_padded(f"  {name}", _NAME), style=style)
    for one, width in zip(names, widths, strict=True):
        line.append(" " * max(width - cell_len(one), 0) + one)
    line.rstrip()
    return line


def _row(name: str, cells: Sequence[Shown], columns: Sequence[_Column], *, published: bool = False) -> list[Text]:
    """The figures of a method; a name that is too long has a line of its own."""
    before, line = _named(name, "dim" if published else "")
    for one, column in zip(cells, columns, strict=True):
        text = points(one.value)
        style = "bold" if one.best else "yellow" if one.way < 0 else ""
        line.append(" " * max(column.width - column.marks - len(text), 0)).append(text, style=style)
        line.append(f"{_marks(one):<{column.marks}}", style=style)
    line.rstrip()
    return [*before, line]


def _named(name: str, style: str = "") -> tuple[list[Text], Text]:
    text = f"    {printable(name)}"
    if cell_len(text) < _NAME:
        return [], Text(set_cell_size(text, _NAME), style=style)
    return [Text(_cut(text, _WIDTH), style=style)], Text(" " * _NAME, style=style)


def _averages(table: EvaluationTable, console: Console) -> Iterator[Text]:
    """Every method under all aggregations, with Pearson, isotropy and the mean gain."""
    ways = aggregations(table)
    names = [*ways, "Pearson", "iso"]
    widths = [*(6 for _ in ways), 8, 5]
    of = "Spearman on average" if len(table.datasets) > 1 else "Spearman"
    said = f"{of}, by aggregation; iso: IsoScore of the sentences; the difference to raw with its interval."
    yield from _wrapped(said, console, start="  ", style="dim")
    line = _head("", names, widths)
    yield line.append(f"{'to raw':>{_WIDTH - _NAME - sum(widths)}}")
    for group in grid(table).groups:
        if group.published:
            continue
        yield Text(_cut(f"  {printable(group.title)}", _WIDTH), style="italic dim")
        for one in group.lines:
            yield from _average(table, one.row, widths)


def _average(table: EvaluationTable, row: Row, widths: Sequence[int]) -> list[Text]:
    isotropy = mean_isoscore(row)
    figures = [points(average(table, row, aggregation=way)) for way in aggregations(table)]
    figures += [points(average(table, row, "pearson")), "–" if isotropy is None else f"{isotropy:.2f}"]
    before, line = _named(row.method.name)
    for text, width in zip(figures, widths, strict=True):
        line.append(f"{text:>{width}}")
    gained = gain(table, row)
    if gained is not None:
        between = "" if gained.low is None else f" ({signed(gained.low)} to {signed(gained.high)})"
        said = f"{signed(gained.value)}{between}{'*' if gained.proven else ' '}"
        room = _WIDTH - _NAME - sum(widths)
        line.append(f"{said:>{room}}", style="yellow" if gained.proven and gained.value < 0 else "")
    line.rstrip()
    return [*before, line]


def _task(task: TaskTable) -> Iterator[Text]:
    yield Text(_cut(f"  {printable(task.task)}, x 100, n = {task.n:,}; iso: IsoScore", _WIDTH), style="dim")
    rows = [
        [Shown(None if one.score is None else one.score.value, one.best, one.way) for one in line.cells]
        for line in task.lines
    ]
    names = [fitted(printable(one), _LONGEST) for one in task.titles]
    columns = [_column(name, "", "", [row[at] for row in rows]) for at, name in enumerate(names)]
    columns = [replace(one, width=max(one.width, 9)) for one in columns]
    for chunk in _chunks([one.width for one in columns], _WIDTH - _NAME - 6):
        shown = [columns[at] for at in chunk]
        heads = [*(one.over(one.name) for one in shown), "iso"]
        yield _head("", heads, [*(one.width for one in shown), 6])
        for line, row in zip(task.lines, rows, strict=True):
            *before, text = _row(line.name, [row[at] for at in chunk], shown)
            yield from before
            isotropy = "–" if line.row.isoscore is None else f"{line.row.isoscore:.2f}"
            width = _NAME + sum(one.width for one in shown)
            yield text.append(" " * (width - text.cell_len) + f"{isotropy:>6}")


def _wrapped(text: str, console: Console, *, start: str = "  ", style: str = "") -> list[Text]:
    """By columns, not letters: some scripts take two columns a letter."""
    lines = list(Text(printable(text), style=style).wrap(console, _WIDTH - len(start)))
    for line in lines:
        line.rstrip()
    return [Text.assemble(start if not at else " " * len(start), line) for at, line in enumerate(lines)]


def _cut(text: str, columns: int) -> str:
    return text if cell_len(text) <= columns else f"{set_cell_size(text, columns - 1)}…"


def _padded(text: str, columns: int) -> str:
    return set_cell_size(_cut(text, columns - 1), columns)
