"""Options of what is written: the report, its numbers, tables and figures."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

from uncone.verbs.options.option import Options, flag_of, option

__all__ = ["OutputOptions"]


@dataclass(frozen=True, kw_only=True)
class OutputOptions(Options):
    """Files that a command writes. In Python, results have methods for the same."""

    GROUP = "Output"
    FOLDERS: ClassVar[tuple[str, ...]] = ("figures",)
    """Fields that name folders; the other paths are files."""

    html: Path | None = option(Path("uncone-report.html"), "HTML report, a single page that works offline.")
    json: str | None = option(None, "Write all numbers as JSON to this file; - for standard output.")
    markdown: Path | None = option(None, "Write the report as Markdown.")
    latex: Path | None = option(None, "Write the tables as LaTeX.")
    figures: Path | None = option(None, "Folder for the charts as SVG and PNG, with their numbers as CSV.")

    @property
    def json_file(self) -> Path | None:
        """The JSON file, unless it goes to standard output."""
        return None if self.json in (None, "-") else Path(str(self.json))

    def paths(self) -> list[tuple[str, Path]]:
        """Every path that is written, with its flag."""
        named = [
            (flag_of(one), self.json_file if one.name == "json" else getattr(self, one.name)) for one in fields(self)
        ]
        return [(flag, path) for flag, path in named if isinstance(path, Path)]

    def files(self) -> list[tuple[str, Path]]:
        """The same without folders."""
        folders = {getattr(self, name) for name in self.FOLDERS if hasattr(self, name)}
        return [(flag, path) for flag, path in self.paths() if path not in folders]
