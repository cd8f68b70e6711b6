"""The result of `similarity`: texts compared with each other, what their cosines mean, and its tables as files."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uncone.analysis.calibration.results import Background
from uncone.analysis.similarity.results import Crowd, Groups, Labels, Pair, Pairs, PerLabel, Picture, Step, TwoColumns
from uncone.data.batch import IntVector, Matrix
from uncone.errors import OptionError
from uncone.extras import require
from uncone.report.result import NarratedResult
from uncone.report.tables import Columns, table_file

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

__all__ = ["Similarity", "groups_table", "labels_table", "pairs_table"]

_ESTIMATE = ("mean", "low", "high", "sd")
_PAIR = ("one", "other", "cosine", "percentile", "text", "other_text", "label", "other_label")
_INTEGERS = ("row", "other_row", "one", "other", "pairs", "group", "size", "central")
_NUMBERS = (
    "cosine",
    "percentile",
    "silhouette",
    "mean_cosine",
    "above",
    *_ESTIMATE,
    *(f"above_{k}" for k in _ESTIMATE),
)


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
        return _frame(_pair_columns(self.listed(self.pairs), {name: name for name in _PAIR}))

    def near_frame(self) -> pandas.DataFrame:
        """The texts nearest to `near_text`, as a DataFrame; empty without such a text."""
        names = {"other": "row", "cosine": "cosine", "percentile": "percentile", "other_text": "text"}
        listed = [] if self.near is None else self.listed(self.near)
        return _frame(_pair_columns(listed, names | {"other_label": "label"}))

    def duplicates_frame(self) -> pandas.DataFrame:
        """The near-duplicates as a DataFrame."""
        return _frame(_pair_columns(self.listed(self.duplicates), {name: name for name in _PAIR}))

    def labels_frame(self) -> pandas.DataFrame:
        """Every label with itself and every two labels, as a DataFrame; of two text columns, every label."""
        table = self._label_lines()
        columns: Columns = {"one": [line.one for line in table], "other": [line.other for line in table]}
        columns |= {name: [getattr(line.cosine, name) for line in table] for name in (*_ESTIMATE, "pairs")}
        parts = {"above": "mean", "above_low": "low", "above_high": "high"}
        columns |= {head: [getattr(line.above, name) for line in table] for head, name in parts.items()}
        return _frame(columns, texts=("one", "other"))

    def groups_frame(self) -> pandas.DataFrame:
        """The groups of every method with their sizes, central texts and counts of labels, as a DataFrame."""
        groups = [(one.method, group) for one in self.groups for group in one.groups]
        labels = dict.fromkeys(label for _, group in groups for label in group.labels)
        columns: Columns = {"method": [method for method, _ in groups], "group": [group.number for _, group in groups]}
        for name in ("size", "silhouette", "mean_cosine", "central"):
            columns[name] = [getattr(group, name) for _, group in groups]
        columns["text"] = [self.text(group.central) for _, group in groups]
        return _frame(columns | {f"n_{label}": [group.labels.get(label, 0) for _, group in groups] for label in labels})

    def __repr__(self) -> str:
        """The result in a line."""
        return f"<Similarity {self.source['name']}: {self.headline}>"

    def _label(self, row: int) -> str:
        return "" if self.labels is None or row < 0 else self.labels[row]

    def _label_lines(self) -> Sequence[PerLabel]:
        if self.two_columns is not None:
            return self.two_columns.table
        return () if self.per_label is None else self.per_label.table

    def _counted(self, pairs: Pairs) -> dict[str, Any]:
        return {"found": pairs.found, "why": pairs.why, "pairs": self.listed(pairs)}

    def _grouped(self, groups: Groups) -> dict[str, Any]:
        """Without the members: they are a number a row."""
        made = {one.name: getattr(groups, one.name) for one in dataclasses.fields(groups) if one.name != "members"}
        made["groups"] = [{**dataclasses.asdict(one), "text": self.text(one.central)} for one in groups.groups]
        return made


def pairs_table(result: Similarity, path: Path) -> bytes:
    """Every listed pair with both texts and labels; with `near`, the vectors nearest to that text.

    Raises:
        OptionError: the path ends neither in .csv nor in .parquet.
    """
    names = {name: name for name in _PAIR if result.labels is not None or not name.endswith("label")}
    names |= {"one": "row", "other": "other_row"}
    return table_file(
        _pair_columns(result.listed(result.pairs if result.near is None else result.near), names), path, _kind
    )


def labels_table(result: Similarity, path: Path) -> bytes:
    """Every label with itself and every two labels; of two text columns, every label.

    Raises:
        OptionError: there are no labels, or the path ends neither in .csv nor in .parquet.
    """
    table = result._label_lines()
    if not table:
        raise OptionError(f"{result.source['name']} has no table of labels to write. Name their column with --label.")
    columns: Columns = {"label": [line.one for line in table], "other_label": [line.other for line in table]}
    for prefix, part in (("", "cosine"), ("above_", "above")):
        for name in _ESTIMATE:
            columns[f"{prefix}{name}"] = [getattr(getattr(line, part), name) for line in table]
    return table_file({**columns, "pairs": [line.cosine.pairs for line in table]}, path, _kind)


def groups_table(result: Similarity, path: Path) -> bytes:
    """Every row with its text, label and group, or -1 if it was not compared; one column per grouping method.

    Raises:
        OptionError: there are no groups, or the path ends neither in .csv nor in .parquet.
    """
    if not result.groups:
        raise OptionError(f"{result.source['name']} was not put into groups. Ask for some with --groups.")
    columns: Columns = {"row": list(range(len(result.groups[0].members)))}
    for name, values in (("text", result.texts), ("label", result.labels)):
        if values is not None:
            columns[name] = list(values)
    several = len(result.groups) > 1
    columns |= {f"group_{one.method}" if several else "group": one.members.tolist() for one in result.groups}
    return table_file(columns, path, _kind)


def _pair_columns(pairs: Sequence[Pair], names: dict[str, str]) -> Columns:
    return {head: [getattr(pair, name) for pair in pairs] for name, head in names.items()}


def _kind(name: str) -> type:
    if name in _INTEGERS or name.startswith(("group_", "n_")):
        return int
    return float if name in _NUMBERS else str


def _frame(columns: Columns, texts: Sequence[str] = ()) -> pandas.DataFrame:
    """A DataFrame in which numbers stay numbers, even if it is empty."""
    require("pandas", extra="models")
    import pandas

    dtypes = {int: "int64", float: "float64", str: "object"}
    return pandas.DataFrame(columns).astype({name: dtypes[str if name in texts else _kind(name)] for name in columns})


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
