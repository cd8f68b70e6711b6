"""The whole tables of words and sentences of a study, as CSV or Parquet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from uncone.analysis.measures.finding import finite
from uncone.data.batch import Matrix
from uncone.errors import OptionError
from uncone.report.charts.files import csv_text
from uncone.report.results.layers import LayerStudy

__all__ = ["Columns", "sentence_table", "table_file", "table_format", "word_table"]

Columns = dict[str, list[Any]]

_COUNTS = ("row", "words", "count", "contexts", "mev_n")


def table_format(path: Path) -> str:
    """The format of a file by its ending: csv or parquet.

    Raises:
        OptionError: it has another ending.
    """
    ending = path.suffix.lower().removeprefix(".")
    if ending not in ("csv", "parquet"):
        raise OptionError(f"{path.name} has no known format for a table. End it with .csv or .parquet.")
    return ending


def word_table(study: LayerStudy, path: Path) -> bytes:
    """Every word with its occurrences, contexts, SelfSim and MEV by layer, in the format of the path.

    Raises:
        OptionError: the path has another ending, or the study has no words.
    """
    table = study.words
    if table is None:
        raise _missing(study, "words")
    columns = {
        "word": list(table.words),
        "kind": list(table.kinds),
        "count": table.counts.tolist(),
        "contexts": table.contexts.tolist(),
        **_by_layer(study, "selfsim", table.selfsim),
        "mev_n": table.mev_n.tolist(),
        **_by_layer(study, "mev", table.mev),
    }
    return table_file(columns, path, _kind)


def sentence_table(study: LayerStudy, path: Path) -> bytes:
    """Every sentence with its row, words, and IntraSim by layer beside what unrelated words would have.

    Raises:
        OptionError: the path has another ending, or the study has no sentences of words.
    """
    table = study.sentences
    if table is None:
        raise _missing(study, "sentences")
    columns = {
        "row": table.rows.tolist(),
        "text": list(table.texts),
        "words": table.lengths.tolist(),
        **_by_layer(study, "intrasim", table.intrasim),
        **_by_layer(study, "expected", table.expected),
    }
    return table_file(columns, path, _kind)


def _missing(study: LayerStudy, which: str) -> OptionError:
    return OptionError(f"{study.name} has no table of {which}: its rows are {study.source['row']}. Use --rows words.")


def _by_layer(study: LayerStudy, name: str, values: Matrix) -> Columns:
    """A column per layer, empty where a number is not known."""
    return {
        f"{name}_{layer.number}": finite(column) for layer, column in zip(study.layers, values.T.tolist(), strict=True)
    }


def _kind(name: str) -> type:
    return str if name in ("word", "kind", "text") else int if name in _COUNTS else float


def table_file(columns: Columns, path: Path, kind: Callable[[str], type]) -> bytes:
    """A table in the format of the path; `kind` gives the type of each column.

    Lone surrogates, which UTF-8 can't encode, are replaced.
    """
    columns = {
        name: [text.encode("utf-8", "replace").decode() for text in values] if kind(name) is str else values
        for name, values in columns.items()
    }
    if table_format(path) == "csv":
        return csv_text(columns, zip(*columns.values(), strict=True)).encode("utf-8")
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {int: pa.int64(), float: pa.float64(), str: pa.string()}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({name: pa.array(values, types[kind(name)]) for name, values in columns.items()}), sink)
    return bytes(sink.getvalue().to_pybytes())
