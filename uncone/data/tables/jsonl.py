"""JSON lines: one object per line, whose keys are the columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from uncone.data.tables.fields import clipped
from uncone.data.tables.lines import file_blocks
from uncone.data.tables.read import Block, Table
from uncone.errors import ColumnError, FormatError

__all__ = ["JsonBlock", "JsonTable"]


class JsonBlock(Block):
    """Parsed lines: objects, or bare lists if the table allows them."""

    def __init__(self, path: Path, lines: Sequence[int], objects: Sequence[Any]) -> None:
        self.path, self.lines, self.objects = path, lines, objects
        self.rows = len(objects)

    def line(self, row: int) -> int:
        return self.lines[row]

    def values(self, name: str, option: str = "") -> list[Any]:
        for line, row in zip(self.lines, self.objects, strict=True):
            if name not in row:
                named = f" for {option}" if option else ""
                keys = clipped(", ".join(row) or "nothing", 200)
                raise ColumnError(f"{self.path}, line {line}: no {name!r}{named}; the row has {keys}.")
        return [row[name] for row in self.objects]


class JsonTable(Table):
    """One object per line; the first one names the columns. `lists` allows bare lists of numbers among them."""

    def __init__(self, path: Path, *, lists: bool = False) -> None:
        super().__init__(path)
        self.lists = lists
        first: Any = next((block.objects[0] for block in self.blocks()), {})
        items = first if isinstance(first, dict) else {}
        self.names = list(items)
        self.text_names = [name for name, value in items.items() if value is None or isinstance(value, str)]

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[JsonBlock]:
        for block in file_blocks(self.path):
            parsed = [(line, self._parse(text, line)) for line, text in block.lines(str(self.path)) if text.strip()]
            if parsed:
                yield JsonBlock(self.path, [line for line, _ in parsed], [row for _, row in parsed])

    def _parse(self, text: str, line: int) -> Any:  # noqa: ANN401 - JSON
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as error:
            reason = clipped(" ".join(str(error).split()), 80)
            raise FormatError(f"{self.where(line)}: not JSON ({reason}). We need one object a line.") from error
        if isinstance(row, dict) or (self.lists and isinstance(row, list)):
            return row
        need = "an object or a list of numbers" if self.lists else "an object"
        raise FormatError(f"{self.where(line)}: a {type(row).__name__}, where we need {need}.")
