"""The tables of a similarity as frames of pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from uncone.extras import require
from uncone.likeness.results import Estimate, Pairs, PerLabel
from uncone.report.similar import Similarity

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

__all__ = ["groups_frame", "labels_frame", "near_frame", "pairs_frame"]

_TEXT, _WHOLE, _NUMBER = "object", "int64", "float64"
_PAIRS = {
    "one": _WHOLE,
    "other": _WHOLE,
    **dict.fromkeys(("cosine", "percentile"), _NUMBER),
    **dict.fromkeys(("text", "other_text", "label", "other_label"), _TEXT),
}
_NEAR = {"row": _WHOLE, "cosine": _NUMBER, "percentile": _NUMBER, "text": _TEXT, "label": _TEXT}
_LABELS = {
    "one": _TEXT,
    "other": _TEXT,
    **dict.fromkeys(("mean", "low", "high", "sd"), _NUMBER),
    "pairs": _WHOLE,
    **dict.fromkeys(("above", "above_low", "above_high"), _NUMBER),
}
_GROUPS = {
    "method": _TEXT,
    **dict.fromkeys(("group", "size"), _WHOLE),
    **dict.fromkeys(("silhouette", "mean_cosine"), _NUMBER),
    "central": _WHOLE,
    "text": _TEXT,
}


def pairs_frame(result: Similarity, pairs: Pairs) -> pandas.DataFrame:
    """Pairs with both texts and labels, most alike first."""
    rows = [asdict(one) for one in result.listed(pairs)]
    return _frame([[row[name] for name in _PAIRS] for row in rows], _PAIRS)


def near_frame(result: Similarity) -> pandas.DataFrame:
    """The rows nearest to the asked text; without rows when nothing was asked."""
    listed = [] if result.near is None else result.listed(result.near)
    rows = [[one.other, one.cosine, one.percentile, one.other_text, one.other_label] for one in listed]
    return _frame(rows, _NEAR)


def labels_frame(result: Similarity) -> pandas.DataFrame:
    """One row for every two labels; of two text columns, for every label."""
    table: Sequence[PerLabel] = ()
    if result.per_label is not None:
        table = result.per_label.table
    elif result.two_columns is not None:
        table = result.two_columns.table
    rows = [
        (line.one, line.other, *_numbers(line.cosine), line.cosine.pairs, *_numbers(line.above)[:3]) for line in table
    ]
    return _frame(rows, _LABELS)


def _numbers(one: Estimate) -> tuple[float | None, ...]:
    return one.mean, one.low, one.high, one.sd


def groups_frame(result: Similarity) -> pandas.DataFrame:
    """One row for every group; behind it, a column for every label with the rows that the group has of it."""
    names = list(dict.fromkeys(label for one in result.groups for group in one.groups for label in group.labels))
    rows = [
        [one.method, group.number, group.size, group.silhouette, group.mean_cosine, group.central]
        + [result.text(group.central)]
        + [group.labels.get(name, 0) for name in names]
        for one in result.groups
        for group in one.groups
    ]
    return _frame(rows, {**_GROUPS, **{f"n_{name}": _WHOLE for name in names}})


def _frame(rows: Sequence[Sequence[Any]], columns: Mapping[str, str]) -> pandas.DataFrame:
    """Numbers stay numbers, also where there is no row."""
    require("pandas", extra="models")
    import pandas

    return pandas.DataFrame(list(rows), columns=list(columns)).astype(dict(columns))
