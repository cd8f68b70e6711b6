"""Documents: the report of a verb as data, built once and drawn by every renderer.

Which level a verdict has, what is proven and what is printed in bold is decided before a document is built.
Terminal and notebook are short: they show the verdicts and the `brief` blocks of each section. Markdown, HTML and LaTeX
show all blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from uncone.analysis.measures.finding import Level
from uncone.report.charts.model import Chart, Cloud

__all__ = [
    "MARKS", "Block", "Card", "Cell", "Clouds", "Column", "Command", "Document", "Facts", "Fold", "Item",
    "Items", "Notes", "Row", "Section", "Sentences", "SideBySide", "Table", "Tabs", "Verdict", "Widget", "leaves",
    "present", "table",
]  # fmt: skip

T = TypeVar("T")
MARKS = {Level.HEALTHY: "✓", Level.CROWDED: "▲", Level.COLLAPSED: "✗", Level.NOTE: "·"}
"""Never color alone: a mark for each level."""


@dataclass(frozen=True)
class Card:
    """A number in large type with its meaning under it."""

    value: str
    label: str


@dataclass(frozen=True)
class Verdict:
    """The conclusion: a headline, sentences under it, the reason and the advice.

    `name` says what it is about when a document has several; `half` puts two verdicts side by side. Terminals print the
    headline and `details` first, `why`, `advice` and `command` below everything else; they leave out `more`, which
    follows the details elsewhere. `swatch` is the color that charts draw it in.
    """

    headline: str
    level: Level = Level.NOTE
    details: Sequence[str] = ()
    reasons: Sequence[str] = ()
    advice: Sequence[str] = ()
    cards: Sequence[Card] = ()
    command: str = ""
    name: str = ""
    half: bool = False
    bulleted: bool = False
    """Whether the page lists the details as bullet points."""
    marked: bool = True
    """Whether the mark of the level stands before the headline."""
    more: Sequence[str] = ()
    swatch: str = ""


@dataclass(frozen=True)
class Sentences:
    """Sentences; with a `label` ("why", "do") the terminal puts it before the first one."""

    lines: Sequence[str]
    label: str = ""
    bulleted: bool = False


@dataclass(frozen=True)
class Cell:
    """A cell: its text, what stands small under it, and how it is judged.

    `mark` follows the number without moving it (a star, an arrow) and replaces the mark of the level; `hover` explains
    the cell.
    """

    text: str
    small: str = ""
    level: Level = Level.NOTE
    strong: bool = False
    mark: str = ""
    hover: str = ""


@dataclass(frozen=True)
class Column:
    """A column: its heading, a small line under that, and how its cells are set.

    `wrap` lets long texts run over several lines. A table that is too wide for a terminal is set in several parts.
    """

    title: str
    small: str = ""
    align: Literal["left", "right"] = "right"
    wrap: bool = False
    divider: bool = False
    """Whether a rule stands before the column."""


@dataclass(frozen=True)
class Row:
    """The cells of a row. A row with a single cell is a heading of those below it; `muted` rows are in italics."""

    cells: Sequence[Cell]
    muted: bool = False


@dataclass(frozen=True)
class Table:
    """Rows under typed columns. The first column names the row.

    `name` is the anchor; `remarks` stand under the table; `compact` sets it in small type.
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    title: str = ""
    intro: str = ""
    remarks: Sequence[str] = ()
    name: str = ""
    compact: bool = False
    stacked: bool = False
    """Whether a narrow page sets the cells of a row under one another: for tables of long texts."""


@dataclass(frozen=True)
class Item:
    """A finding that opens to what it means: value, interval, level and n on one line, `more` under it."""

    name: str
    title: str
    value: str
    interval: str = ""
    level: Level = Level.NOTE
    n: int | None = None
    meaning: str = ""
    more: Sequence[Block] = ()
    definition: str = ""


@dataclass(frozen=True)
class Items:
    """Findings, one under the other."""

    items: Sequence[Item]

    @property
    def table(self) -> Table:
        """The same as a table, where nothing can be opened."""
        heads = ("finding", "value", "95 % interval", "n", "level", "meaning")
        columns = [Column(head, align="right" if head in ("value", "n") else "left") for head in heads]
        rows = [
            (item.title, item.value, item.interval, "" if item.n is None else f"{item.n:,}", item.level, item.meaning)
            for item in self.items
        ]
        return table(columns, rows)


@dataclass(frozen=True)
class Command:
    """A command ready to paste."""

    text: str
    label: str = "next"


@dataclass(frozen=True)
class Notes:
    """Short remarks in small type; terminals show the first `most` and count the rest."""

    lines: Sequence[str]
    label: str = "note"
    most: int = 4


@dataclass(frozen=True)
class Facts:
    """Names with their values: provenance, settings, files written."""

    pairs: Sequence[tuple[str, str]]
    title: str = ""


@dataclass(frozen=True)
class Fold:
    """Blocks behind a line that opens them on the page; elsewhere they follow under it."""

    title: str
    blocks: Sequence[Block]
    open: bool = False
    summary: str = ""


@dataclass(frozen=True)
class Tabs:
    """Alternatives: the page shows one at a time, documents without a mouse one after the other."""

    tabs: Sequence[tuple[str, Sequence[Block]]]
    label: str = "Show"


@dataclass(frozen=True)
class SideBySide:
    """Blocks next to each other where there is room."""

    blocks: Sequence[Block]


@dataclass(frozen=True)
class Widget:
    """A part of the page with a template and perhaps a script of its own; other renderers draw `otherwise`.

    `data` is what the template gets; templates lie in `report/templates/widgets/`. `scripts` and `styles` name files
    beside it that the page includes once.
    """

    template: str
    data: Mapping[str, Any] = field(default_factory=dict)
    otherwise: Sequence[Block] = ()
    scripts: Sequence[str] = ()
    styles: Sequence[str] = ()


@dataclass(frozen=True)
class Clouds:
    """Clouds of the same rows, which share texts, colors, a field that finds words, and what is pointed at."""

    clouds: Sequence[Cloud]

    @property
    def name(self) -> str:
        """The name of the first one."""
        return self.clouds[0].name


Block = (
    Sentences | Table | Items | Chart | Cloud | Clouds
    | Command | Notes | Facts | Fold | Tabs | SideBySide | Widget
)  # fmt: skip


@dataclass(frozen=True)
class Section:
    """Blocks under a title. `brief` is what terminal and notebook show of it, by default nothing."""

    title: str
    blocks: Sequence[Block] = ()
    intro: str = ""
    brief: Sequence[Block] = ()
    name: str = ""


@dataclass(frozen=True)
class Document:
    """The report of a verb on a result.

    `name` is what it is about (a file, a model), `subtitle` its size and kind, `title` the title of the browser's
    window. `warning` stands above everything.
    """

    title: str
    name: str
    subtitle: str
    verdicts: Sequence[Verdict]
    sections: Sequence[Section] = ()
    warning: str = ""

    def charts(self) -> list[Chart | Cloud]:
        """Every chart, in the order of the page."""
        blocks = leaves([block for section in self.sections for block in section.blocks])
        parts = [block.clouds if isinstance(block, Clouds) else [block] for block in blocks]
        return [part for group in parts for part in group if isinstance(part, Chart | Cloud)]


def table(
    heads: Iterable[object],
    rows: Iterable[Row | Iterable[object]],
    *,
    left: int = 1,
    **look: Any,  # noqa: ANN401 - fields of Table
) -> Table:
    """A table from texts: headings become columns, the first `left` of them aligned to the left; texts become cells."""
    columns = [
        head if isinstance(head, Column) else Column(str(head), align="left" if place < left else "right")
        for place, head in enumerate(heads)
    ]
    return Table(columns, [row if isinstance(row, Row) else _row(row) for row in rows], **look)


def _row(cells: Iterable[object]) -> Row:
    return Row([cell if isinstance(cell, Cell) else Cell(str(cell)) for cell in cells])


def present(*parts: T | None) -> list[T]:
    """The parts that there are."""
    return [part for part in parts if part is not None]


def leaves(blocks: Sequence[Block], *, widgets: bool = False) -> Iterator[Block]:
    """Every block that is not made of others, in order; for a widget the blocks in its place, unless `widgets` is set.

    Findings come first as a whole, then with what each of them opens to.
    """
    for block in blocks:
        match block:
            case Fold(blocks=inner) | SideBySide(blocks=inner):
                yield from leaves(inner, widgets=widgets)
            case Widget(otherwise=inner) if not widgets:
                yield from leaves(inner)
            case Tabs(tabs=tabs):
                for _, inner in tabs:
                    yield from leaves(inner, widgets=widgets)
            case Items(items=items):
                yield block
                for item in items:
                    for leaf in leaves(item.more, widgets=widgets):
                        yield replace(leaf, title=leaf.title or item.title) if isinstance(leaf, Table) else leaf
            case _:
                yield block
