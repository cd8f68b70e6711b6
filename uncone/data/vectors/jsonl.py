"""JSON lines: one object per row, the vector in one of its fields."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from uncone.data.source import Options, Source
from uncone.data.vectors.text_rows import Record, TextVectors, clipped, numbered_lines
from uncone.errors import ColumnError, FormatError

__all__ = ["JsonLines", "open_jsonl"]


def open_jsonl(path: Path, options: Options) -> Source:
    """A .jsonl file."""
    return JsonLines(path, options, "jsonl")


class JsonLines(TextVectors):
    """One JSON object per line; the vector is the value that is a list of numbers, or `--column`."""

    def records(self) -> Iterator[Record]:
        column = self.options.column
        for line, text in numbered_lines(self.path):
            if not text.strip():
                continue
            row = _parsed(text, self.path, line)
            if isinstance(row, list):
                if self.options.text or self.options.label:
                    raise ColumnError(f"{self.path}, line {line}: a bare list has no texts or labels; use objects.")
                yield Record(line, _numbers(row, self.path, line))
                continue
            column = column or _list_key(row, self.path)
            if column is None:
                if all(value is not None for value in row.values()):
                    raise _no_list(row, self.path)
                yield Record(line, None, *self._names(row, line))
                continue
            if column not in row and (self.options.column or any(map(_is_vector, row.values()))):
                raise ColumnError(f"{self.path}, line {line}: no {column!r} for --column; the row has {_keys(row)}.")
            vector = row.get(column)
            yield Record(line, None if vector is None else _numbers(vector, self.path, line), *self._names(row, line))

    def _names(self, row: dict[str, Any], line: int) -> list[str | None]:
        found: list[str | None] = []
        for option, name in (("text", self.options.text), ("label", self.options.label)):
            if name is not None and name not in row:
                raise ColumnError(f"{self.path}, line {line}: no {name!r} for --{option}; the row has {_keys(row)}.")
            found.append(None if name is None else str(row[name]))
        return found


def _parsed(text: str, path: Path, line: int) -> dict[str, Any] | list[Any]:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = clipped(" ".join(str(error).split()), 80)
        raise FormatError(f"{path}, line {line}: not JSON ({reason}). We need one object a line.") from error
    if isinstance(row, dict | list):
        return row
    raise FormatError(f"{path}, line {line}: a {type(row).__name__}, where we need an object or a list of numbers.")


def _list_key(row: dict[str, Any], path: Path) -> str | None:
    lists = [key for key, value in row.items() if _is_vector(value)]
    if len(lists) > 1:
        raise ColumnError(f"{path} has several lists of numbers: {', '.join(lists)}. Name one with --column NAME.")
    return lists[0] if lists else None


def _no_list(row: dict[str, Any], path: Path) -> ColumnError:
    return ColumnError(f"{path} has no list of numbers in its rows: {_keys(row)}. Name the field with --column NAME.")


def _is_vector(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_number, value))


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _keys(row: dict[str, Any]) -> str:
    return clipped(", ".join(row) or "nothing", 200)


def _numbers(value: Any, path: Path, line: int) -> list[float]:  # noqa: ANN401 - JSON
    if isinstance(value, list) and all(map(_is_number, value)):
        try:
            return [float("nan") if one is None else float(one) for one in value]
        except OverflowError:
            return [float("nan")] * len(value)
    raise FormatError(
        f"{path}, line {line}: {clipped(str(value))} is not a list of numbers. Name the right field with --column."
    )
