"""The result of `similarity`: texts compared with each other, what their cosines mean, and its tables as files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.analysis.calibration.results import Background
from uncone.analysis.number_format import cosine
from uncone.analysis.similarity.results import Crowd, Groups, Labels, Pair, Pairs, PerLabel, Picture, Step, TwoColumns
from uncone.data.batch import IntVector, Matrix
from uncone.errors import OptionError, require
from uncone.report.charts.files import Columns, table_file
from uncone.report.document import Document
from uncone.report.documents.similarity import sections
from uncone.report.documents.similarity import sentences as say
from uncone.report.result import Result
from uncone.report.text import capitalized, command

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

_ESTIMATE = ("mean", "low", "high", "sd")
_PAIR = ("one", "other", "cosine", "percentile", "text", "other_text", "label", "other_label")
_INTEGERS = ("row", "other_row", "one", "other", "pairs", "group", "size", "central")
_TEXTS = ("text", "other_text", "label", "other_label", "method")


@dataclass(frozen=True, eq=False)
class Similarity(Result):
    """The texts (or vectors) of a table compared with each other.

    `source` says what was compared: name, rows, dim, dtype, encoder, layer, pooling, repair, and the columns text,
    against and label. `texts`, `against` and `labels` have one entry per row. `pairs` are the requested pairs, or the
    most similar ones; if both rows of a pair are the same, the second text is that of `against`. `near` are the rows
    nearest to `near_text`, whose number is -1. `pictures` are heatmaps by name, such as "mean" and "cls".
    `projections` place the rows `projected`: (m, 2) or (m, 3), by a name such as "pca-2". `written` holds the files
    that were written, by kind.
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
    """If it is not None, cosine can't detect near-duplicates, and `duplicates` are pairs of the same text."""

    @property
    def headline(self) -> str:
        """The score of two unrelated texts, and the main result of the labels, the pairs or the columns."""
        start = f"Unrelated {say.noun(self)}s score {cosine(self.background.mean)} on average."
        labels, two = self.per_label, self.two_columns
        if two is not None:
            if np.isfinite(two.cosines).any():
                start += f" The two {say.noun(self)}s of a row score {cosine(float(np.nanmean(two.cosines)))}."
            return f"{start}{say.largest_difference(two)}"
        if labels is not None and labels.auc is not None:
            if labels.auc_high is not None and labels.auc_high < 0.5:
                return f"{start} Pairs with the same label are less similar than others: AUC {cosine(labels.auc)}."
            return f"{start} Labels are {say.separable(labels.auc, labels.auc_low, labels.auc_high, labels.texts)}."
        if len(self.pairs.cosines):
            return f"{start} The most similar pair scores {cosine(float(np.max(self.pairs.cosines)))}."
        return start

    def lines(self) -> list[str]:
        """The main results, in the order of the report."""
        labels, two = self.per_label, self.two_columns
        groups = [(say.group_title(each), say.group_quality(each)) for each in self.groups]
        cleaned = [f"{say.CLEANING.get(kind, kind)} {n:,}" for kind, n in self.cleaned.items() if n]
        lines = [
            say.spread(self),
            "" if labels is None else labels.sentence,
            "" if two is None else two.differs,
            say.most_similar(self),
            say.duplicates(self),
            say.nearest(self),
            *(f"{capitalized(': '.join(filter(None, parts)))}." for parts in groups),
            f"Cleaned: {', '.join(cleaned)}." if cleaned else "",
        ]
        return [line for line in lines if line]

    @property
    def suggestion(self) -> str | None:
        """The command that suggests a threshold, ready to paste; None if the source is not a file."""
        source, prompt = self.source, self.provenance.get("prompt") or None
        path, repair = source.get("path", source.get("name")), source.get("repair") or None
        if source.get("in_memory") or path in (None, "", "-"):
            return None
        names = {"column": "column"}
        if source.get("encoder") is not None:
            names = {"text": "text", "model": "encoder", "layer": "layer", "pooling": "pooling"}
        options = {option: source.get(name) for option, name in names.items()}
        return command("calibrate", path, {**options, "prompt": prompt, "repair": repair, "fpr": "0.01"})

    def document(self) -> Document:
        """The report as data, built once for all renderers."""
        return sections.document(self)

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
        """Texts stand with the pairs and groups that name them; the matrix is written to a separate file."""
        places = {key: np.round(points, 5) for key, points in self.projections.items()}
        return {
            "source": self.source,
            "headline": self.headline,
            "lines": self.lines(),
            "next": self.suggestion,
            "background": self.background,
            "histogram": self.histogram,
            "pictures": [_picture_values(name, picture) for name, picture in self.pictures],
            "labels": self.per_label,
            "pairs": self._pair_values(self.pairs),
            "near": None if self.near is None else {"text": self.near_text, **self._pair_values(self.near)},
            "duplicates": self._pair_values(self.duplicates),
            "crowd": self.crowd,
            "groups": [self._group_values(groups) for groups in self.groups],
            "two_columns": None if self.two_columns is None else _fields(self.two_columns, ("table", "auc", "differs")),
            "steps": [_fields(step, ("key", "title", "text", "numbers")) for step in self.steps],
            "projections": {"rows": self.projected, **places} if places else {},
            "cleaned": self.cleaned,
            "notes": self.notes,
            "written": self.written,
            "provenance": self.provenance,
        }

    def pairs_frame(self) -> pandas.DataFrame:
        """The pairs with their texts, cosines and percentiles as a DataFrame; needs pandas, as do all frames."""
        return _frame(_pair_columns(self.listed(self.pairs)))

    def near_frame(self) -> pandas.DataFrame:
        """The texts nearest to `near_text`, as a DataFrame; empty without such a text."""
        columns = _pair_columns([] if self.near is None else self.listed(self.near))
        names = {"other": "row", "cosine": "cosine", "percentile": "percentile", "other_text": "text"}
        return _frame({head: columns[name] for name, head in (names | {"other_label": "label"}).items()})

    def duplicates_frame(self) -> pandas.DataFrame:
        """The near-duplicates as a DataFrame."""
        return _frame(_pair_columns(self.listed(self.duplicates)))

    def labels_frame(self) -> pandas.DataFrame:
        """Every label with itself and every two labels, as a DataFrame; of two text columns, every label."""
        columns = self._label_columns()
        names = {"label": "one", "other_label": "other", **{name: name for name in (*_ESTIMATE, "pairs")}}
        names |= {"above_mean": "above", "above_low": "above_low", "above_high": "above_high"}
        return _frame({head: columns[name] for name, head in names.items()}, texts=("one", "other"))

    def groups_frame(self) -> pandas.DataFrame:
        """The groups of every method with their sizes, central texts and counts of labels, as a DataFrame."""
        groups = [(methods.method, group) for methods in self.groups for group in methods.groups]
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

    def _label_columns(self) -> Columns:
        table: Sequence[PerLabel] = self.two_columns.table if self.two_columns is not None else ()
        table = self.per_label.table if self.per_label is not None and self.two_columns is None else table
        columns: Columns = {"label": [line.one for line in table], "other_label": [line.other for line in table]}
        for prefix, part in (("", "cosine"), ("above_", "above")):
            for name in _ESTIMATE:
                columns[f"{prefix}{name}"] = [getattr(getattr(line, part), name) for line in table]
        return {**columns, "pairs": [line.cosine.pairs for line in table]}

    def _pair_values(self, pairs: Pairs) -> dict[str, Any]:
        return {"found": pairs.found, "why": pairs.why, "pairs": self.listed(pairs)}

    def _group_values(self, groups: Groups) -> dict[str, Any]:
        """Without the members: they are a number per row."""
        listed = [{**asdict(group), "text": self.text(group.central)} for group in groups.groups]
        return {**_fields(groups, ("method", "k", "silhouette", "ari", "note", "outliers")), "groups": listed}


def pairs_table(result: Similarity, path: Path) -> bytes:
    """Every listed pair with both texts and labels; with `near`, the vectors nearest to that text.

    Raises:
        OptionError: the path ends neither in .csv nor in .parquet.
    """
    columns = _pair_columns(result.listed(result.pairs if result.near is None else result.near))
    heads = {"one": "row", "other": "other_row"}
    labeled = {name for name in columns if result.labels is not None or not name.endswith("label")}
    return _file({heads.get(name, name): values for name, values in columns.items() if name in labeled}, path)


def labels_table(result: Similarity, path: Path) -> bytes:
    """Every label with itself and every two labels; of two text columns, every label.

    Raises:
        OptionError: there are no labels, or the path ends neither in .csv nor in .parquet.
    """
    columns = result._label_columns()
    if not columns["label"]:
        raise OptionError(f"{result.source['name']} has no table of labels to write. Name their column with --label.")
    return _file(columns, path)


def groups_table(result: Similarity, path: Path) -> bytes:
    """Every row with its text, label and group, or -1 if it was not compared; one column per grouping method.

    Raises:
        OptionError: there are no groups, or the path ends neither in .csv nor in .parquet.
    """
    if not result.groups:
        raise OptionError(f"{result.source['name']} has no groups to write. Make some with --groups.")
    columns: Columns = {"row": list(range(len(result.groups[0].members)))}
    for name, values in (("text", result.texts), ("label", result.labels)):
        if values is not None:
            columns[name] = list(values)
    several = len(result.groups) > 1
    columns |= {f"group_{groups.method}" if several else "group": groups.members.tolist() for groups in result.groups}
    return _file(columns, path)


def _pair_columns(pairs: Sequence[Pair]) -> Columns:
    return {name: [getattr(pair, name) for pair in pairs] for name in _PAIR}


def _types(names: Iterable[str], texts: Sequence[str] = ()) -> dict[str, type]:
    def kind(name: str) -> type:
        if name in (*_TEXTS, *texts):
            return str
        return int if name in _INTEGERS or name.startswith(("group_", "n_")) else float

    return {name: kind(name) for name in names}


def _file(columns: Columns, path: Path) -> bytes:
    return table_file(columns, path, _types(columns))


def _frame(columns: Columns, texts: Sequence[str] = ()) -> pandas.DataFrame:
    """A DataFrame in which numbers stay numbers, even if it is empty."""
    require("pandas", extra="models")
    import pandas

    dtypes = {int: "int64", float: "float64", str: "object"}
    types = _types(columns, texts)
    return pandas.DataFrame(columns).astype({name: dtypes[types[name]] for name in columns})


def _fields(value: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


def _picture_values(name: str, picture: Picture) -> dict[str, Any]:
    """A heatmap without its cells."""
    blocks = [{"name": block, "rows": size} for block, size in picture.blocks]
    return {"name": name, **_fields(picture, ("order", "rows", "linkage", "note")), "blocks": blocks}
