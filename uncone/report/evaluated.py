"""What `evaluate` returns: methods and datasets of one model, in all renderings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uncone.evaluation.bootstrap import Aggregation
from uncone.evaluation.table import EvaluationTable
from uncone.report.plain import json_text, json_values

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

__all__ = ["EVALUATED_SCHEMA", "Evaluated"]

EVALUATED_SCHEMA = 1


@dataclass(frozen=True)
class Evaluated:
    """The table of an evaluation, and what it says."""

    table: EvaluationTable

    @property
    def headline(self) -> str:
        """Whether a repair helps here, in a sentence."""
        from uncone.report.evaluated_lines import headline

        return headline(self.table)

    @property
    def helps(self) -> bool:
        """Whether a method gains a point or more on average, proven, over the raw vectors of every layer tried."""
        from uncone.report.evaluated_lines import recommended

        return recommended(self.table) is not None

    def lines(self) -> list[str]:
        """What was found, in sentences written from the numbers."""
        from uncone.report.evaluated_lines import sentences

        return sentences(self.table)

    def to_dict(self) -> dict[str, Any]:
        """The summary: plain JSON values, versioned by `schema`; correlations are between -1 and 1."""
        from uncone.report.evaluated_grid import gain, labels

        table = self.table
        named = labels([row.method for row in table.rows])
        rows = [
            {"label": label, **json_values(row), "gain": gain(table, row)}
            for label, row in zip(named, table.rows, strict=True)
        ]
        summary = {
            "schema": EVALUATED_SCHEMA,
            "model": table.model,
            "headline": self.headline,
            "helps": self.helps,
            "lines": self.lines(),
            "datasets": list(table.datasets),
            "rows": rows,
            "tasks": table.tasks,
            "published": table.published,
            "notes": list(table.notes),
            "provenance": table.provenance,
        }
        plain: dict[str, Any] = json_values(summary)
        return plain

    def to_json(self) -> str:
        """The summary as JSON text."""
        return json_text(self.to_dict())

    def to_html(self) -> str:
        """The report: one self-contained page."""
        from uncone.report.evaluated_page import render

        return render(self)

    def to_markdown(self) -> str:
        """The sentences and the tables of all aggregations as markdown."""
        from uncone.report.evaluated_markdown import render

        return render(self)

    def to_latex(self, aggregation: Aggregation = "all") -> str:
        """A table for a paper, made for the package booktabs: best in bold, a star where a difference is proven."""
        from uncone.report.evaluated_latex import render

        return render(self.table, aggregation)

    def to_csv(self) -> str:
        """Every figure on a line of its own, with what it was measured on."""
        from uncone.report.evaluated_figures import as_csv

        return as_csv(self.table)

    def to_frame(self) -> pandas.DataFrame:
        """The lines of `to_csv` as a table of pandas.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        from uncone.report.evaluated_figures import as_frame

        return as_frame(self.table)

    def _repr_html_(self) -> str:
        """What a notebook shows: the sentences and the table."""
        from uncone.report.evaluated_page import notebook

        return notebook(self)

    def __repr__(self) -> str:
        """The result in a line."""
        return f"<Evaluated {self.table.model}: {self.headline}>"
