"""JSON lines: one object per row, the vector in one of its fields."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from uncone.data.source import Options, Source
from uncone.data.text_rows import Record, TextVectors, clipped, numbered_lines
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
            try:
                row = json.loads(text)
            except ValueError as error:
                raise FormatError(
                    f"{self.path}, line {line}: not JSON ({error}). We need one object a line."
                ) from error
            if isinstance(row, list):
                yield Record(line, _numbers(row, self.path, line))
                continue
            if not isinstance(row, dict):
                raise FormatError(f"{self.path}, line {line}: {type(row).__name__}, where we need an object or a list.")
            column = column or _list_key(row, self.path)
            vector = _numbers(_field(row, column, self.path, line, "column"), self.path, line)
            yield Record(line, vector, *(_named(row, name, self.path, line) for name in self._others()))

    def _others(self) -> tuple[tuple[str, str | None], ...]:
        return ("text", self.options.text), ("label", self.options.label)


def _list_key(row: dict[str, Any], path: Path) -> str:
    lists = [key for key, value in row.items() if isinstance(value, list)]
    if len(lists) == 1:
        return lists[0]
    problem = "several lists" if lists else "no list of numbers"
    raise ColumnError(f"{path} has {problem} in its rows: {', '.join(row)}. Name one with --column NAME.")


def _field(row: dict[str, Any], name: str, path: Path, line: int, option: str) -> Any:  # noqa: ANN401 - JSON
    if name not in row:
        raise ColumnError(f"{path}, line {line}: no {name!r} for --{option}; the row has {', '.join(row)}.")
    return row[name]


def _named(row: dict[str, Any], wanted: tuple[str, str | None], path: Path, line: int) -> str | None:
    option, name = wanted
    return None if name is None else str(_field(row, name, path, line, option))


def _numbers(value: Any, path: Path, line: int) -> list[float]:  # noqa: ANN401 - JSON
    if isinstance(value, list) and all(isinstance(one, int | float) or one is None for one in value):
        return [float("nan") if one is None else float(one) for one in value]
    raise FormatError(f"{path}, line {line}: {clipped(str(value))} is not a list of numbers.")
