"""The result of `similarity`: texts compared with each other, and what their cosines mean."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uncone.analysis.calibration.results import Background
from uncone.analysis.similarity.results import Crowd, Groups, Labels, Pair, Pairs, Picture, Step, TwoColumns
from uncone.data.batch import IntVector, Matrix
from uncone.report.result import NarratedResult
from uncone.report.results import similarity_tables as tables

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

__all__ = ["Similarity"]


@dataclass(frozen=True, eq=False)
class Similarity(NarratedResult):
    """The texts (or vectors) of a table compared with each other.

    `source` says what was compared: name, rows, dim, dtype, encoder, layer, pooling, repair, and the columns text,
    against and label. `texts`, `against` and `labels` have one entry per row. `pairs` are the requested pairs, or the
    most similar ones; if both rows of a pair are the same, the second text is that of `against`. `near` are the rows
    nearest to `near_text`, whose number is -1. `pictures` are heatmaps by name, such as "mean" and "cls".
    `projections` place the rows `projected`: (m, 2) or (m, 3), by a name such as "pca-2". `written` holds the files
    that were written, by kind.
    """

    _module: ClassVar[str] = "similarity"
    _narrator: ClassVar[str] = "similarity.sentences"

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
    """If it is not None, cosine can't detect near-duplicates, and `duplicates` are pairs of the same text."""

    @property
    def suggestion(self) -> str | None:
        """The command that suggests a threshold, ready to paste; None if the source is not a file."""
        from uncone.report.documents.similarity.sentences import suggestion

        return suggestion(self)

    def text(self, row: int, *, other: bool = False) -> str:
        """The text of a row, or its number if there are no texts; `other` is for the second column."""
        if row < 0:
            return self.near_text or ""
        texts = self.against if other and self.against is not None else self.texts
        return f"row {row:,}" if texts is None else texts[row]

    def listed(self, pairs: Pairs, most: int | None = None) -> list[Pair]:
        """Pairs with both texts and labels, in their order."""
        columns = (pairs.one, pairs.other, pairs.cosines, pairs.percentiles)
        return [
            Pair(a, b, cosine, share, self.text(a), self.text(b, other=a == b), self._label(a), self._label(b))
            for a, b, cosine, share in zip(*(column[:most].tolist() for column in columns), strict=True)
        ]

    def _values(self) -> dict[str, Any]:
        """Texts stand with the pairs and groups that name them; the matrix is written to a file of its own."""
        return {
            "source": self.source,
            "headline": self.headline,
            "lines": self.lines(),
            "next": self.suggestion,
            "background": self.background,
            "histogram": self.histogram,
            "pictures": [_pictured(name, picture) for name, picture in self.pictures],
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

    def pairs_frame(self) -> pandas.DataFrame:
        """The pairs with their texts, cosines and percentiles as a DataFrame; needs pandas, as do all frames."""
        return tables.pairs_frame(self, self.pairs)

    def near_frame(self) -> pandas.DataFrame:
        """The texts nearest to `near_text`, as a DataFrame."""
        return tables.near_frame(self)

    def duplicates_frame(self) -> pandas.DataFrame:
        """The near-duplicates as a DataFrame."""
        return tables.pairs_frame(self, self.duplicates)

    def labels_frame(self) -> pandas.DataFrame:
        """Every label with itself and every two labels, as a DataFrame; of two text columns, every label."""
        return tables.labels_frame(self)

    def groups_frame(self) -> pandas.DataFrame:
        """The groups of every method with their sizes and most central texts, as a DataFrame."""
        return tables.groups_frame(self)

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


def _pictured(name: str, picture: Picture) -> dict[str, Any]:
    """A heatmap without its cells."""
    return {
        "name": name,
        "order": picture.order,
        "rows": picture.rows,
        "blocks": [{"name": block, "rows": size} for block, size in picture.blocks],
        "linkage": picture.linkage,
        "note": picture.note,
    }
