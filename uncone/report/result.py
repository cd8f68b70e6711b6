"""Results: what a verb returns. A result knows its numbers and its document; renderings follow from these two."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from uncone.data.storage.path import path_of
from uncone.data.writing.plain_values import plain_values
from uncone.report.document import Document

__all__ = ["Result", "json_text", "json_values"]


class Result(ABC):
    """A result with all its renderings."""

    _schema: ClassVar[int] = 1

    @abstractmethod
    def document(self) -> Document:
        """The report as data, built once for all renderers."""

    @abstractmethod
    def _values(self) -> dict[str, Any]:
        """The numbers under their JSON names, converted or not."""

    def to_dict(self) -> dict[str, Any]:
        """The numbers: plain JSON values, versioned by `schema`."""
        values: dict[str, Any] = json_values({"schema": self._schema, **self._values()})
        return values

    def to_json(self) -> str:
        """The numbers as JSON text."""
        return json_text(self.to_dict())

    def to_html(self) -> str:
        """The report: one self-contained page."""
        from uncone import __version__
        from uncone.report.render.html import page

        return page(self.document(), self.to_json(), __version__)

    def to_markdown(self) -> str:
        """The report as markdown."""
        return self._rendered("markdown")

    def to_latex(self) -> str:
        """The tables of the report as LaTeX."""
        return self._rendered("latex")

    def to_text(self) -> str:
        """The text that the terminal shows."""
        return self._rendered("terminal")

    def _rendered(self, form: str) -> str:
        return str(import_module(f"uncone.report.render.{form}").render(self.document()))

    def save_figures(self, folder: str | Path) -> list[Path]:
        """Write every chart as SVG, PNG and CSV into a folder, which is made if need be."""
        from uncone.report.charts.files import write_figures

        return write_figures(self.document().charts(), path_of(folder))

    def _repr_html_(self) -> str:
        """The verdict and the main numbers, for notebooks."""
        from uncone.report.render.html import notebook

        return notebook(self.document())


def json_values(value: Any) -> Any:  # noqa: ANN401 - whatever a summary holds
    """The same as plain JSON values: numbers of NumPy as Python's, None for what is not finite, the rest as text.

    >>> json_values({"share": float("nan"), "words": ("a", "b"), "error": ValueError("no")})
    {'share': None, 'words': ['a', 'b'], 'error': 'no'}
    """
    return plain_values(value, otherwise=str)


def json_text(summary: Mapping[str, Any]) -> str:
    """A summary of JSON values as text."""
    return json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
