"""What `similarity` returns: texts against each other, what their cosines mean, and all renderings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.calibration.results import Background
from uncone.data.batch import IntVector, Matrix
from uncone.likeness.results import Crowd, Groups, Labels, Pair, Pairs, Picture, Step, TwoColumns
from uncone.report.plain import json_text, json_values

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

__all__ = ["SIMILARITY_SCHEMA", "Similarity"]

SIMILARITY_SCHEMA = 1


@dataclass(frozen=True, eq=False)
class Similarity:
    """A table of texts, or of vectors, against each other.

    `source` says what was compared: name, rows, dim, dtype, encoder, layer, pooling, repair, and the columns text,
    against and label. `texts`, `against` and `labels` have one entry a row. `pairs` are those asked for, or the most
    alike; where both rows of a pair are the same, the second text is that of `against`. `near` are the rows nearest to
    `near_text`, whose number is -1. `pictures` stand side by side by their names, such as "mean" and "cls".
    `projections` place the rows `projected`: (m, 2) or (m, 3), by a name such as "pca-2". `written` holds the files
    that were written, by what they are.
    """

    source: Mapping[str, Any]
    texts: Sequence[str] | None
    against: Sequence[str] | None
    labels: Sequence[str] | None
    background: Background
    histogram: Mapping[str, Sequence[float]]
    pictures: Sequence[tuple[str, Picture]]
    per_label: Labels | None
    pairs: Pairs
    near: Pairs | None
    near_text: str | None
    duplicates: Pairs
    groups: Sequence[Groups]
    projections: Mapping[str, Matrix]
    projected: IntVector
    two_columns: TwoColumns | None
    steps: Sequence[Step]
    cleaned: Mapping[str, int]
    notes: Sequence[str]
    provenance: Mapping[str, Any]
    written: Mapping[str, str] = field(default_factory=dict)
    crowd: Crowd | None = None
    """Where it is not None, near-duplicates cannot be told by their cosine, and `duplicates` are of the same text."""

    @property
    def headline(self) -> str:
        """What two unrelated texts score, and whether the labels can be told apart, in a sentence."""
        from uncone.report.similar_lines import headline

        return headline(self)

    @property
    def suggestion(self) -> str | None:
        """The command that says where to cut, ready to paste; None where the source is no file."""
        from uncone.report.similar_lines import suggestion

        return suggestion(self)

    def lines(self) -> list[str]:
        """What was found, in sentences written from the numbers."""
        from uncone.report.similar_lines import sentences

        return sentences(self)

    def text(self, row: int, *, other: bool = False) -> str:
        """The text of a row, or its number where there are none; `other` asks for the second column."""
        if row < 0:
            return self.near_text or ""
        held = self.against if other and self.against is not None else self.texts
        return f"row {row:,}" if held is None else held[row]

    def listed(self, pairs: Pairs, most: int | None = None) -> list[Pair]:
        """Pairs with both texts and labels, in their order."""
        made = []
        for one, other, cosine, percentile in zip(
            pairs.one[:most], pairs.other[:most], pairs.cosines[:most], pairs.percentiles[:most], strict=True
        ):
            a, b = int(one), int(other)
            made.append(
                Pair(
                    a,
                    b,
                    float(cosine),
                    float(percentile),
                    self.text(a),
                    self.text(b, other=a == b),
                    self._label(a),
                    self._label(b),
                )
            )
        return made

    def to_dict(self) -> dict[str, Any]:
        """The summary: plain JSON values, versioned by `schema`.

        Texts stand with the pairs and groups that name them; the matrix is written to a file of its own.
        """
        from uncone.report.similar_lines import pictured

        summary = {
            "schema": SIMILARITY_SCHEMA,
            "source": self.source,
            "headline": self.headline,
            "lines": self.lines(),
            "next": self.suggestion,
            "background": self.background,
            "histogram": self.histogram,
            "pictures": [pictured(name, picture) for name, picture in self.pictures],
            "labels": self.per_label,
            "pairs": self._counted(self.pairs),
            "near": None if self.near is None else {"text": self.near_text, **self._counted(self.near)},
            "duplicates": self._counted(self.duplicates),
            "crowd": self.crowd,
            "groups": [self._grouped(one) for one in self.groups],
            "two_columns": _columns(self.two_columns),
            "steps": [{"key": one.key, "title": one.title, "text": one.text, "numbers": one.numbers}
                      for one in self.steps],
            "projections": {"rows": self.projected, **{key: np.round(one, 5) for key, one in self.projections.items()}}
            if self.projections
            else {},
            "cleaned": self.cleaned,
            "notes": self.notes,
            "written": self.written,
            "provenance": self.provenance,
        }  # fmt: skip
        plain: dict[str, Any] = json_values(summary)
        return plain

    def to_json(self) -> str:
        """The summary as JSON text."""
        return json_text(self.to_dict())

    def to_html(self) -> str:
        """The report: one self-contained page."""
        from uncone.report.similar_page import render

        return render(self)

    def to_markdown(self) -> str:
        """The sentences and the tables as markdown."""
        from uncone.report.similar_markdown import render

        return render(self)

    def pairs_frame(self) -> pandas.DataFrame:
        """The pairs with their texts, cosines and percentiles as a table of pandas.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        from uncone.report.similar_frames import pairs_frame

        return pairs_frame(self, self.pairs)

    def near_frame(self) -> pandas.DataFrame:
        """The rows nearest to the text that was asked for, as a table of pandas.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        from uncone.report.similar_frames import near_frame

        return near_frame(self)

    def duplicates_frame(self) -> pandas.DataFrame:
        """The near-duplicates as a table of pandas.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        from uncone.report.similar_frames import pairs_frame

        return pairs_frame(self, self.duplicates)

    def labels_frame(self) -> pandas.DataFrame:
        """Every label with itself and every two labels, as a table of pandas; of two text columns, every label.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        from uncone.report.similar_frames import labels_frame

        return labels_frame(self)

    def groups_frame(self) -> pandas.DataFrame:
        """The groups of every method with their sizes and most central texts, as a table of pandas.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        from uncone.report.similar_frames import groups_frame

        return groups_frame(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the sentences, the table of labels and the first pairs."""
        from uncone.report.similar_page import notebook

        return notebook(self)

    def __repr__(self) -> str:
        """The result in a line."""
        return f"<Similarity {self.source['name']}: {self.headline}>"

    def _label(self, row: int) -> str:
        return "" if self.labels is None or row < 0 else self.labels[row]

    def _counted(self, pairs: Pairs) -> dict[str, Any]:
        return {"found": pairs.found, "why": pairs.why, "pairs": self.listed(pairs)}

    def _grouped(self, groups: Groups) -> dict[str, Any]:
        """Without the members: they are a number a row."""
        made = {one.name: getattr(groups, one.name) for one in dataclasses.fields(groups) if one.name != "members"}
        made["groups"] = [{**dataclasses.asdict(one), "text": self.text(one.central)} for one in groups.groups]
        return made


def _columns(two: TwoColumns | None) -> dict[str, Any] | None:
    """Without the cosines: they are a number a row."""
    return None if two is None else {"table": two.table, "auc": two.auc, "differs": two.differs}
