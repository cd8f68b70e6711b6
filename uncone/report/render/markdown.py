"""Documents as markdown, for a wiki or a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from uncone.analysis.measures.finding import Level
from uncone.report import document as doc
from uncone.report.charts.model import Chart, Cloud
from uncone.report.text import printable

__all__ = ["escaped", "render"]


def render(document: doc.Document) -> str:
    """A whole document: its name, the verdicts, then every section; a chart is its caption."""
    parts = [f"## {escaped(document.name)}", escaped(document.subtitle)]
    parts += [f"> **Warning.** {escaped(document.warning)}"] if document.warning else []
    for verdict in document.verdicts:
        parts += _verdict(verdict)
    for section in document.sections:
        parts += _section(section)
    return "\n\n".join(part for part in parts if part) + "\n"


def escaped(text: str) -> str:
    """Text that cannot break a table or become markup."""
    for mark in "\\|<>`*_[]":
        text = text.replace(mark, f"\\{mark}")
    return printable(text)


def _verdict(verdict: doc.Verdict) -> Iterator[str]:
    name = f"{escaped(verdict.name)}: " if verdict.name else ""
    mark = f"{doc.MARKS[verdict.level]} " if verdict.marked and verdict.level != Level.NOTE else ""
    yield f"**{mark}{name}{escaped(verdict.headline)}**"
    details = [*verdict.details, *verdict.more]
    yield _bullets(details) if verdict.bulleted else escaped(" ".join(details))
    for label, sentences in (("Why", verdict.reasons), ("What to do", verdict.advice)):
        if sentences:
            yield f"**{label}.** {escaped(' '.join(sentences))}"
    yield "\n".join(f"- **{escaped(card.value)}** {escaped(card.label)}" for card in verdict.cards)
    if verdict.command:
        yield f"    {printable(verdict.command)}"


def _section(section: doc.Section) -> list[str]:
    body = [part for block in section.blocks for part in _block(block)]
    if not any(body) and not section.intro:
        return []
    return [f"### {escaped(section.title)}" if section.title else "", escaped(section.intro), *body]


def _block(block: doc.Block) -> Iterator[str]:  # noqa: C901 - one case per kind of block
    match block:
        case doc.Sentences():
            yield _bullets(block.lines) if block.bulleted else "\n\n".join(escaped(line) for line in block.lines)
        case doc.Table():
            yield from _table(block)
        case doc.Items():
            yield from _table(block.table)
        case Chart() | Cloud():
            yield f"*{escaped(block.title)}.* {escaped(block.caption)}"
        case doc.Clouds():
            yield from (part for cloud in block.clouds for part in _block(cloud))
        case doc.Command():
            yield f"    {printable(block.text)}"
        case doc.Notes():
            yield _bullets([line for line in block.lines if line])
        case doc.Facts():
            yield f"**{escaped(block.title)}**" if block.title else ""
            yield "\n".join(f"- {escaped(name)}: {escaped(value)}" for name, value in block.pairs)
        case doc.Fold():
            yield f"**{escaped(block.title)}**{f' {escaped(block.summary)}' if block.summary else ''}"
            yield from (part for each in block.blocks for part in _block(each))
        case doc.Tabs():
            for title, blocks in block.tabs:
                if not (blocks and isinstance(blocks[0], doc.Table) and blocks[0].title):
                    yield f"**{escaped(title)}**"
                yield from (part for each in blocks for part in _block(each))
        case doc.SideBySide(blocks=inner) | doc.Widget(otherwise=inner):
            yield from (part for each in inner for part in _block(each))


def _table(table: doc.Table) -> Iterator[str]:
    yield f"**{escaped(table.title)}**" if table.title else ""
    yield escaped(table.intro)
    heads = [escaped(f"{column.title} ({column.small})" if column.small else column.title) for column in table.columns]
    rules = ["---" if column.align == "left" else "---:" for column in table.columns]
    lines = [f"| {' | '.join(heads)} |", f"|{'|'.join(rules)}|"]
    for row in table.rows:
        cells = [_cell(cell) for cell in row.cells]
        if len(cells) == 1 < len(heads):
            cells = [f"*{cells[0]}*", *[""] * (len(heads) - 1)]
        lines.append(f"| {' | '.join(cells)} |")
    yield "\n".join(lines)
    yield _bullets(table.remarks)


def _cell(cell: doc.Cell) -> str:
    mark = f"{doc.MARKS[cell.level]} " if cell.level in (Level.CROWDED, Level.COLLAPSED) and not cell.mark else ""
    text = escaped(f"{mark}{cell.text}{cell.mark}")
    bold = f"**{text}**" if cell.strong and text else text
    return f"{bold} ({escaped(cell.small)})" if cell.small else bold


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {escaped(line)}" for line in lines)
