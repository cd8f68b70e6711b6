"""CSV and TSV on pyarrow's parser, block by block.

A block that pyarrow would misread or refuse (a stray quote, a lone carriage return, a ragged row, bytes that are not
UTF-8) is read again by Python's `csv` in its strict mode, which also knows the line of every row.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.data.tables.lines import LONGEST_LINE, LineBlock, file_blocks, too_long
from uncone.data.tables.read import Block, HeaderRule, Table, ragged
from uncone.errors import FormatError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DelimitedTable", "end_of_rows"]

_HEAD = 100  # rows that show what the columns hold
_SOME = 4096  # rows of a block that is read with care
_NEWLINE, _RETURN, _QUOTE = b'\n\r"'

_Row = tuple[int, list[str]]


class _ArrowBlock(Block):
    """Columns of strings as pyarrow parsed them."""

    def __init__(self, table: DelimitedTable, columns: pa.Table, source: LineBlock) -> None:
        self.table, self.columns, self.source = table, columns, source
        self.rows = columns.num_rows

    @cached_property
    def _lines(self) -> list[int]:
        # Quoted line ends and blank lines move rows: only a second look tells where each stands.
        return [line for line, _ in self.table._nonblank_rows([self.source])]

    def line(self, row: int) -> int:
        return self._lines[row]

    def values(self, name: str, option: str = "") -> list[Any]:
        values: list[Any] = self.columns.column(name).to_numpy().tolist()
        return values


class _RowBlock(Block):
    """Rows that Python's csv module parsed."""

    def __init__(self, names: Sequence[str], rows: Sequence[_Row]) -> None:
        self.names, self.content = names, rows
        self.rows = len(rows)

    def line(self, row: int) -> int:
        return self.content[row][0]

    def values(self, name: str, option: str = "") -> list[str]:
        place = self.names.index(name)
        return [fields[place] for _, fields in self.content]


class DelimitedTable(Table):
    """A table of fields between `delimiter`; `head` are its first rows, without the header."""

    holds_strings = True

    def __init__(self, path: Path, delimiter: str, quoted: bool, header: bool | HeaderRule, blank_rows: bool) -> None:
        super().__init__(path)
        self.delimiter, self.quoted, self.blank_rows = delimiter, quoted, blank_rows
        self.width = 0
        rows = [fields for _, fields in itertools.islice(self._nonblank_rows(file_blocks(path), beginning=True), _HEAD)]
        self.header = bool(rows) and (header(rows) if callable(header) else header)
        if rows:
            self.width = len(rows[0])
            self.names = rows[0] if self.header else [str(number) for number in range(1, self.width + 1)]
        self.head = rows[self.header :]

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[Block]:
        columns = list(dict.fromkeys(self.names if names is None else names))
        beginning, options = True, None
        for block, irregular in self._row_blocks() if self.names else ():
            # The first one is read with care: for a small table pyarrow takes longer to be imported than to parse.
            parsed = None
            if not beginning and irregular is None:
                options = options or self._arrow_options(columns)
                parsed = _parse(block.data, options)
            if parsed is None:
                yield from self._careful([block] if irregular is None else irregular, beginning)
            elif parsed.num_rows:
                yield _ArrowBlock(self, parsed.rename_columns(columns), block)
            beginning = False

    def _careful(self, blocks: Iterable[LineBlock], beginning: bool) -> Iterator[Block]:
        rows = itertools.islice(self._nonblank_rows(blocks, beginning), int(beginning and self.header), None)
        while some := list(itertools.islice(rows, _SOME)):
            for line, fields in some:
                if len(fields) != self.width:
                    cure = "Quote fields that hold a comma." if self.quoted else "Put spaces for tabs inside texts."
                    raise ragged(self.path, f"line {line}", f"{len(fields)} columns", self.width, cure)
            yield _RowBlock(self.names, some)

    def _row_blocks(self) -> Iterator[tuple[LineBlock, Iterable[LineBlock] | None]]:
        """Blocks of whole rows; once a quote stands where it should not, that block with all that follow it."""
        blocks = file_blocks(self.path)
        rest = LineBlock(0, b"")
        for following in blocks:
            block = following if not rest.data else LineBlock(rest.first, rest.data + following.data)
            end = end_of_rows(block.data, self.delimiter) if self.quoted else len(block.data)
            if end < 0:
                yield block, itertools.chain([block], blocks)
                return
            if len(block.data) - end > LONGEST_LINE:
                raise too_long(str(self.path), block.line_at(end))
            rest = LineBlock(0, b"")
            if end < len(block.data):
                rest = LineBlock(block.line_at(end), block.data[end:])
                block = LineBlock(block.first, block.data[:end])
            if end:
                yield block, None
        if rest.data:
            yield rest, [rest]  # the last quote is open

    def _arrow_options(self, names: Sequence[str]) -> tuple[Any, Any, Any]:
        """How pyarrow reads blocks of this table: every field of these columns as a string, as it stands."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        keys = [f"{place}" for place in range(self.width)]
        read = arrow_csv.ReadOptions(use_threads=False, block_size=4 * LONGEST_LINE, column_names=keys)
        parse = arrow_csv.ParseOptions(
            delimiter=self.delimiter,
            quote_char='"' if self.quoted else False,
            newlines_in_values=self.quoted,
            ignore_empty_lines=not (self.blank_rows and self.width == 1),
        )
        convert = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(keys, pa.string()),
            include_columns=[keys[self.names.index(name)] for name in names],
            null_values=[],
            strings_can_be_null=False,
        )
        return read, parse, convert

    def _nonblank_rows(self, blocks: Iterable[LineBlock], beginning: bool = False) -> Iterator[_Row]:
        """The rows with their lines; a blank line is one only if it can be an empty text."""
        width = 0 if beginning else self.width
        for line, fields in self._quoted_rows(iter(blocks)) if self.quoted else self._unquoted_rows(blocks):
            if fields not in ([], [""]) or (self.blank_rows and width == 1):
                width = width or len(fields)
                yield line, fields or [""]

    def _unquoted_rows(self, blocks: Iterable[LineBlock]) -> Iterator[_Row]:
        for block in blocks:
            for line, text in block.lines(str(self.path)):
                yield line, text.split(self.delimiter)

    def _quoted_rows(self, blocks: Iterator[LineBlock]) -> Iterator[_Row]:
        first = next(blocks, LineBlock(1, b""))
        texts = (block.text(str(self.path)) for block in itertools.chain([first], blocks))
        lines = itertools.chain.from_iterable(io.StringIO(text, newline="\n") for text in texts)
        csv.field_size_limit(LONGEST_LINE)
        # Strict, because otherwise a quote that is never closed swallows the rest of the file.
        reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
        line = first.first
        try:
            for fields in reader:
                yield line, fields
                line = first.first + reader.line_num
        except csv.Error as error:
            raise FormatError(
                f"{self.path}, line {line}: not a row of a {'.csv' if self.delimiter == ',' else '.tsv'} ({error}). "
                "Close quoted fields, and double the quotes inside them."
            ) from error


def end_of_rows(data: bytes, delimiter: str = ",") -> int:
    r"""Where the last whole row ends; -1 if a quote stands where only a careful reader knows what it means.

    >>> end_of_rows(b'a,"b"\nc,"d\n'), end_of_rows(b'a,b"\n')
    (6, -1)
    """
    if b'"' not in data:
        return len(data)
    letters = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(letters == _QUOTE)
    opening, closing = quotes[::2], quotes[1::2]
    doubled = closing[: len(opening) - 1] + 1 == opening[1:]
    borders = np.zeros(256, np.bool_)
    borders[[ord(delimiter), _NEWLINE, _RETURN]] = True
    begins = borders.take(letters.take(opening - 1, mode="wrap")) | (opening == 0)
    ends = borders.take(letters.take(closing + 1, mode="clip")) | (closing == len(data) - 1)
    begins[1:] |= doubled
    ends[: len(doubled)] |= doubled
    if not (begins.all() and ends.all()):
        return -1
    if len(closing) == len(opening):
        return len(data)
    # The last quote is open: the last line end outside of quotes stands after an even number of them.
    newlines = np.flatnonzero(letters == _NEWLINE)
    outside = newlines[np.searchsorted(quotes, newlines) % 2 == 0]
    return int(outside[-1]) + 1 if outside.size else 0


def _parse(data: bytes, options: tuple[Any, Any, Any]) -> pa.Table | None:
    """The rows as columns, or None if pyarrow cannot be trusted with them."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    if b"\r" in data and _has_lone_return(data):
        return None
    try:
        with arrow_csv.open_csv(pa.BufferReader(data), *options) as reader:  # per block it costs less than read_csv
            return reader.read_all()
    except pa.ArrowInvalid:
        return None


def _has_lone_return(data: bytes) -> bool:
    """Whether a carriage return stands without a line feed: only to pyarrow that is the end of a row."""
    letters = np.frombuffer(data, np.uint8)
    lone = letters[:-1] == _RETURN
    lone &= letters[1:] != _NEWLINE  # in place: a new array would take five times as long
    return bool(letters[-1] == _RETURN or lone.any())
