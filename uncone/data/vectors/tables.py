"""Vectors written as text: .csv and .tsv with a column such as [0.1, 0.2] or one number per column, and JSON lines."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uncone.data.source import Options, Rows, Source
from uncone.data.tables.delimited import DelimitedTable
from uncone.data.tables.fields import MISSING, clipped, is_number, list_names, parse_number
from uncone.data.tables.read import Block, JsonTable, check_columns, check_unique, open_table, ragged
from uncone.errors import ColumnError, FormatError

__all__ = [
    "JsonVectors",
    "Parsed",
    "TableVectors",
    "TextVectors",
    "open_jsonl",
    "open_vector_table",
    "parse_vector",
    "texts_for_vectors",
]

_SOME = 2048  # rows per block: text is parsed slowly, and progress should show


class Parsed(NamedTuple):
    """Some rows as parsed: vectors (None for a missing one), the line of each, texts and labels."""

    vectors: Sequence[Sequence[float] | NDArray[np.float64] | None]
    line: Callable[[int], int]
    texts: Sequence[str] | None = None
    labels: Sequence[str] | None = None


class TextVectors(Source):
    """A file of vectors as text; the first one that is not missing has the dimension."""

    dtype = "text"
    rows = None

    def __init__(self, path: Path, options: Options, kind: str) -> None:
        self.path = path
        self.options = options
        self.name = str(path)
        self.kind = kind
        lengths = (len(vector) for part in self.parsed() for vector in part.vectors if vector is not None)
        self.dim = next(filter(None, lengths), 0)
        if not self.dim:
            raise FormatError(f"{path} has no rows with numbers. We need at least 2.")

    @abstractmethod
    def parsed(self) -> Iterator[Parsed]:
        """The rows, some at a time."""

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        for part in self.parsed():
            for first in range(0, len(part.vectors), _SOME):
                rows = slice(first, first + _SOME)
                vectors = [self._check_width(vector, part, row) for row, vector in enumerate(part.vectors[rows], first)]
                texts = None if part.texts is None else part.texts[rows]
                yield Rows(np.array(vectors, np.float64), texts, None if part.labels is None else part.labels[rows])

    def _check_width(
        self, vector: Sequence[float] | NDArray[np.float64] | None, part: Parsed, row: int
    ) -> Sequence[float] | NDArray[np.float64]:
        if vector is None:
            return np.full(self.dim, np.nan)  # counted as a bad row
        if len(vector) != self.dim:
            raise ragged(self.path, f"line {part.line(row)}", f"{len(vector)} numbers", self.dim)
        return vector


def texts_for_vectors(path: Path, columns: str = "") -> FormatError:
    """The error for a file of texts given where vectors are needed."""
    note = f" ({columns})" if columns else ""
    return FormatError(f"{path} holds texts{note}; we need vectors. Add --model NAME to encode the texts with a model.")


def open_vector_table(path: Path, options: Options) -> Source:
    """A .csv or .tsv file."""
    return TableVectors(path, options, "table")


def open_jsonl(path: Path, options: Options) -> Source:
    """A .jsonl file."""
    return JsonVectors(path, options, "jsonl")


class TableVectors(TextVectors):
    """A .csv or .tsv file: `vector` is the column of vectors as text, else `numeric` are the columns of numbers."""

    def __init__(self, path: Path, options: Options, kind: str) -> None:
        table = open_table(path, _is_header, quoted_tabs=True)
        assert isinstance(table, DelimitedTable)
        self.table = table
        if not table.head:
            raise FormatError(f"{path} has no rows with numbers. We need at least 2.")
        if not table.header:
            table.names = [f"column {place + 1}" for place in range(table.width)]
        requested = (("column", options.column), ("text", options.text), ("label", options.label))
        check_columns(path, table.names, requested)
        samples = {
            name: [row[i] for row in table.head if len(row) == table.width] for i, name in enumerate(table.names)
        }
        self.vector = _vector_column(path, samples, options.column)
        self.numeric = [] if self.vector is not None else self._numeric_columns(path, samples, options)
        self.options = options
        self.note = self._describe()
        super().__init__(path, options, kind)

    def _numeric_columns(self, path: Path, samples: dict[str, list[str]], options: Options) -> list[str]:
        check_unique(path, self.table.names, [name for name in samples if not _is_index(name)])
        numeric = [
            name
            for name, values in samples.items()
            if name not in (options.text, options.label) and not _is_index(name) and _is_numeric(values)
        ]
        # Among fractions, a column of whole numbers is an id, a label or a year, not a dimension.
        numeric = [name for name in numeric if any(map(_is_fraction, samples[name]))] or numeric
        if len(numeric) < 2:
            cells = [cell for values in samples.values() for cell in values if cell.strip().lower() not in MISSING]
            if not all(map(is_number, cells)):
                raise texts_for_vectors(path, list_names(self.table.names))
            raise ColumnError(
                f"{path} has no column of vectors such as [0.1, 0.2] and no columns of numbers; "
                f"it has {list_names(self.table.names)}. Name one with --column NAME."
            )
        if self.table.header and any(map(_is_fraction, numeric)):
            number = next(filter(_is_fraction, numeric))
            raise FormatError(
                f"{path} has no header: its first row holds the number {number}. Add a row of column names."
            )
        return numeric

    def parsed(self) -> Iterator[Parsed]:
        text, label = self.options.text, self.options.label
        vectors = [self.vector] if self.vector is not None else self.numeric
        for block in self.table.blocks([*vectors, *filter(None, (text, label))]):
            texts, labels = (None if name is None else block.values(name) for name in (text, label))
            rows = self._vectors(block) if self.vector is None else self._parsed_vectors(block, self.vector)
            yield Parsed(rows, block.line, texts, labels)

    def _vectors(self, block: Block) -> Sequence[NDArray[np.float64]]:
        columns = [block.values(name) for name in self.numeric]
        try:
            matrix = np.array(columns, np.float64).T
        except ValueError:
            rows = enumerate(zip(*columns, strict=True))
            where = self.table.where
            parsed = [[parse_number(value, where(block.line(row))) for value in values] for row, values in rows]
            matrix = np.array(parsed, np.float64)
        return list(matrix)

    def _parsed_vectors(self, block: Block, name: str) -> list[NDArray[np.float64] | None]:
        vectors = []
        for row, text in enumerate(block.values(name)):
            try:
                vectors.append(parse_vector(text))
            except ValueError as error:
                raise FormatError(f"{self.table.where(block.line(row))}: {error}") from error
        return vectors

    def _describe(self) -> str:
        if self.vector is not None:
            return f"vectors from column {self.vector!r}"
        others = [name or "(unnamed)" for name in self.table.names if name not in self.numeric]
        return f"{len(self.numeric)} columns of numbers" + (
            f"; left out: {clipped(', '.join(others), 120)}" if others else ""
        )


class JsonVectors(TextVectors):
    """One JSON object per line; the vector is the value that is a list of numbers, or `--column`."""

    def __init__(self, path: Path, options: Options, kind: str) -> None:
        self.table = JsonTable(path, lists=True)
        self.path, self.column = path, options.column
        super().__init__(path, options, kind)

    def parsed(self) -> Iterator[Parsed]:
        self.column = self.options.column
        for block in self.table.blocks():
            vectors = [self._vector(row, line) for line, row in zip(block.lines, block.objects, strict=True)]
            texts, labels = (
                None if name is None else [str(value) for value in block.values(name, f"--{option}")]
                for option, name in (("text", self.options.text), ("label", self.options.label))
            )
            yield Parsed(vectors, block.line, texts, labels)

    def _vector(self, row: dict[str, Any] | list[Any], line: int) -> list[float] | None:
        if isinstance(row, list):
            if self.options.text or self.options.label:
                raise ColumnError(f"{self.table.where(line)}: a bare list has no texts or labels; use objects.")
            return self._numbers(row, line)
        keys = clipped(", ".join(row) or "nothing", 200)
        self.column = self.column or self._vector_key(row)
        if self.column is None:
            if any(value is None for value in row.values()):
                return None
            if any(isinstance(value, str) for value in row.values()):
                raise texts_for_vectors(self.path, keys)
            raise ColumnError(
                f"{self.path} has no list of numbers in its rows: {keys}. Name the field with --column NAME."
            )
        if self.column not in row and (self.options.column or any(map(_is_vector, row.values()))):
            raise ColumnError(f"{self.table.where(line)}: no {self.column!r} for --column; the row has {keys}.")
        value = row.get(self.column)
        return None if value is None else self._numbers(value, line)

    def _vector_key(self, row: dict[str, Any]) -> str | None:
        keys = [key for key, value in row.items() if _is_vector(value)]
        if len(keys) > 1:
            raise ColumnError(
                f"{self.path} has several lists of numbers: {', '.join(keys)}. Name one with --column NAME."
            )
        return keys[0] if keys else None

    def _numbers(self, value: Any, line: int) -> list[float]:  # noqa: ANN401 - JSON
        if isinstance(value, list) and all(map(_is_json_number, value)):
            try:
                return [float("nan") if number is None else float(number) for number in value]
            except OverflowError:
                return [float("nan")] * len(value)
        raise FormatError(
            f"{self.table.where(line)}: {clipped(str(value))} is not a list of numbers. "
            "Name the right field with --column."
        )


def parse_vector(text: str) -> NDArray[np.float64] | None:
    """The numbers of "[0.1, 0.2]" or of numpy's "[0.1 0.2]"; None for an empty field.

    >>> parse_vector("[1, 2.5]").tolist()
    [1.0, 2.5]

    Raises:
        ValueError: it is something else.
    """
    text = text.strip()
    if text.lower() in MISSING:
        return None
    if "..." in text:
        raise ValueError("the vector was cut by numpy's printing ('...'). Write it with .tolist() instead.")
    inside = text[1:-1] if text[:1] + text[-1:] in ("[]", "()") else text
    words = inside.replace(",", " ").split()
    try:
        return np.array(["nan" if word.lower() in MISSING else word for word in words], np.float64)
    except ValueError as error:
        raise ValueError(f"{clipped(text)!r} is not a vector such as [0.1, 0.2].") from error


def _is_header(head: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns; pandas names them 0, 1, 2 when nobody else does."""
    names = [value.strip() for value in head[0] if value.strip()]
    if not all(is_number(name) or name.startswith("[") for name in names):
        return True
    return len(head) > 1 and len(names) > 1 and names == [str(i) for i in range(len(names))]


def _vector_column(path: Path, samples: dict[str, list[str]], column: str | None) -> str | None:
    if column is not None:
        if _is_numeric(samples[column]):
            raise ColumnError(f"Column {column!r} of {path} holds numbers; we need vectors such as [0.1, 0.2].")
        return column
    columns = [name for name, values in samples.items() if any(value.strip().startswith("[") for value in values)]
    if len(columns) > 1:
        raise ColumnError(f"{path} has several columns of vectors: {', '.join(columns)}. Name one with --column NAME.")
    return columns[0] if columns else None


def _is_index(name: str) -> bool:
    """Whether a column counts rows: pandas writes its index without a name."""
    return name.strip().lower() in {"", "id", "idx", "index", "row", "unnamed: 0"}


def _is_fraction(value: str) -> bool:
    return bool(set(value) & set(".eE")) and is_number(value)


def _is_numeric(values: Sequence[str]) -> bool:
    cells = [value for value in values if value.strip().lower() not in MISSING]
    return bool(cells) and all(map(is_number, cells))


def _is_vector(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_json_number, value))


def _is_json_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
