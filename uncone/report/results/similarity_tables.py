"""The tables of a similarity as CSV or Parquet files, and as pandas DataFrames."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uncone.analysis.similarity.results import Pair, Pairs, PerLabel
from uncone.errors import OptionError
from uncone.extras import require
from uncone.report.tables import table_file

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

    from uncone.report.results.similarity import Similarity

__all__ = [
    "groups_frame", "groups_table", "labels_frame", "labels_table", "near_frame", "pairs_frame", "pairs_table",
]  # fmt: skip

Columns = dict[str, list[Any]]

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
    table = _label_lines(result)
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


def pairs_frame(result: Similarity, pairs: Pairs) -> pandas.DataFrame:
    """Pairs with both texts and labels, most similar first."""
    return _frame(_pair_columns(result.listed(pairs), {name: name for name in _PAIR}))


def near_frame(result: Similarity) -> pandas.DataFrame:
    """The vectors nearest to the text of `near`; empty without such a text."""
    names = {"other": "row", "cosine": "cosine", "percentile": "percentile", "other_text": "text"}
    listed = [] if result.near is None else result.listed(result.near)
    return _frame(_pair_columns(listed, names | {"other_label": "label"}))


def labels_frame(result: Similarity) -> pandas.DataFrame:
    """One line for every two labels; of two text columns, for every label."""
    table = _label_lines(result)
    columns: Columns = {"one": [line.one for line in table], "other": [line.other for line in table]}
    columns |= {name: [getattr(line.cosine, name) for line in table] for name in (*_ESTIMATE, "pairs")}
    parts = {"above": "mean", "above_low": "low", "above_high": "high"}
    columns |= {head: [getattr(line.above, name) for line in table] for head, name in parts.items()}
    return _frame(columns, texts=("one", "other"))


def groups_frame(result: Similarity) -> pandas.DataFrame:
    """One line per group, with a column per label that counts the group's texts with that label."""
    groups = [(one.method, group) for one in result.groups for group in one.groups]
    labels = dict.fromkeys(label for _, group in groups for label in group.labels)
    columns: Columns = {"method": [method for method, _ in groups], "group": [group.number for _, group in groups]}
    for name in ("size", "silhouette", "mean_cosine", "central"):
        columns[name] = [getattr(group, name) for _, group in groups]
    columns["text"] = [result.text(group.central) for _, group in groups]
    return _frame(columns | {f"n_{label}": [group.labels.get(label, 0) for _, group in groups] for label in labels})


def _pair_columns(pairs: Sequence[Pair], names: dict[str, str]) -> Columns:
    return {head: [getattr(pair, name) for pair in pairs] for name, head in names.items()}


def _label_lines(result: Similarity) -> Sequence[PerLabel]:
    if result.two_columns is not None:
        return result.two_columns.table
    return () if result.per_label is None else result.per_label.table


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
