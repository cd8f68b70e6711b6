"""The tables of a similarity as CSV or Parquet: the pairs, the labels, and the group of every row."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from uncone.errors import OptionError
from uncone.likeness.results import PerLabel
from uncone.report.similar import Similarity
from uncone.report.tables import table_format

__all__ = ["groups_table", "labels_table", "pairs_table"]

Columns = dict[str, list[Any]]


def pairs_table(result: Similarity, path: Path) -> bytes:
    """Every listed pair with both texts and labels; the rows near the text that was asked for, where one was.

    Raises:
        OptionError: the path ends neither in .csv nor in .parquet.
    """
    listed = result.listed(result.pairs if result.near is None else result.near)
    columns: Columns = {
        "row": [pair.one for pair in listed],
        "other_row": [pair.other for pair in listed],
        "cosine": [pair.cosine for pair in listed],
        "percentile": [pair.percentile for pair in listed],
        "text": [pair.text for pair in listed],
        "other_text": [pair.other_text for pair in listed],
    }
    if result.labels is not None:
        columns |= {"label": [pair.label for pair in listed], "other_label": [pair.other_label for pair in listed]}
    kinds = {"row": int, "other_row": int, "cosine": float, "percentile": float}
    return _written(columns, kinds, table_format(path))


def labels_table(result: Similarity, path: Path) -> bytes:
    """Every label with itself and every two labels; of two text columns, every label.

    Raises:
        OptionError: there are no labels, or the path ends neither in .csv nor in .parquet.
    """
    table: Sequence[PerLabel] = ()
    if result.two_columns is not None:
        table = result.two_columns.table
    elif result.per_label is not None:
        table = result.per_label.table
    if not table:
        raise OptionError(f"{result.source['name']} has no table of labels to write. Name their column with --label.")
    columns: Columns = {"label": [line.one for line in table], "other_label": [line.other for line in table]}
    for prefix, part in (("", "cosine"), ("above_", "above")):
        for name in ("mean", "low", "high", "sd"):
            columns[f"{prefix}{name}"] = [getattr(getattr(line, part), name) for line in table]
    columns["pairs"] = [line.cosine.pairs for line in table]
    kinds = {name: float for name in columns if name not in ("label", "other_label", "pairs")}
    return _written(columns, {**kinds, "pairs": int}, table_format(path))


def groups_table(result: Similarity, path: Path) -> bytes:
    """Every row with its text, label and group; -1 where it was not compared. One column for each way of grouping.

    Raises:
        OptionError: there are no groups, or the path ends neither in .csv nor in .parquet.
    """
    if not result.groups:
        raise OptionError(f"{result.source['name']} was not put into groups. Ask for some with --groups.")
    rows = len(result.groups[0].members)
    columns: Columns = {"row": list(range(rows))}
    for name, held in (("text", result.texts), ("label", result.labels)):
        if held is not None:
            columns[name] = list(held)
    grouped = {"group" if len(result.groups) == 1 else f"group_{one.method}": one.members for one in result.groups}
    columns |= {name: members.tolist() for name, members in grouped.items()}
    return _written(columns, {"row": int, **dict.fromkeys(grouped, int)}, table_format(path))


def _written(columns: Columns, kinds: Mapping[str, type], form: str) -> bytes:
    texts = {name for name in columns if name not in kinds}
    columns = {name: [_encodable(one) for one in held] if name in texts else held for name, held in columns.items()}
    if form == "parquet":
        return _parquet(columns, kinds)
    page = io.StringIO(newline="")
    table = csv.writer(page, lineterminator="\n")
    table.writerow(columns)
    table.writerows(zip(*columns.values(), strict=True))
    return page.getvalue().encode("utf-8")


def _parquet(columns: Columns, kinds: Mapping[str, type]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    forms = {int: pa.int64(), float: pa.float64()}
    arrays = {name: pa.array(held, forms.get(kinds.get(name, str), pa.string())) for name, held in columns.items()}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(arrays), sink)
    return bytes(sink.getvalue().to_pybytes())


def _encodable(text: str) -> str:
    """Half a surrogate pair has no bytes in UTF-8."""
    return text.encode("utf-8", errors="replace").decode("utf-8")
