"""The whole tables of words and sentences of a study, as CSV or Parquet."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

from uncone.data.batch import Matrix
from uncone.errors import OptionError
from uncone.report.results.layers import LayerStudy

__all__ = ["sentence_table", "table_format", "word_table"]

Columns = dict[str, list[Any]]

_COUNTS = ("row", "words", "count", "contexts", "mev_n")


def table_format(path: Path) -> str:
    """The format that a name asks for by its ending: csv or parquet.

    Raises:
        OptionError: it ends otherwise.
    """
    ending = path.suffix.lower().removeprefix(".")
    if ending not in ("csv", "parquet"):
        raise OptionError(f"{path.name} does not say how to write a table. End it with .csv or .parquet.")
    return ending


def word_table(study: LayerStudy, path: Path) -> bytes:
    """Every word with its occurrences, contexts, SelfSim and MEV by layer, in the format of the path.

    Raises:
        OptionError: the path has another ending, or the rows of the study are no words.
    """
    written = table_format(path)
    table = study.words
    if table is None:
        raise OptionError(f"{study.name} has no table of words: its rows are {study.source['row']}. Ask for words.")
    columns: Columns = {
        "word": [_encodable(word) for word in table.words],
        "kind": list(table.kinds),
        "count": [int(n) for n in table.counts],
        "contexts": [int(n) for n in table.contexts],
        **_by_layer(study, "selfsim", table.selfsim),
        "mev_n": [int(n) for n in table.mev_n],
        **_by_layer(study, "mev", table.mev),
    }
    return _written(columns, written)


def sentence_table(study: LayerStudy, path: Path) -> bytes:
    """Every sentence with its row, words, and IntraSim by layer beside what unrelated words would have.

    Raises:
        OptionError: the path has another ending, or the study has no sentences of words.
    """
    written = table_format(path)
    table = study.sentences
    if table is None:
        raise OptionError(f"{study.name} has no table of sentences: its rows are {study.source['row']}. Ask for words.")
    columns: Columns = {
        "row": [int(row) for row in table.rows],
        "text": [_encodable(text) for text in table.texts],
        "words": [int(n) for n in table.lengths],
        **_by_layer(study, "intrasim", table.intrasim),
        **_by_layer(study, "expected", table.expected),
    }
    return _written(columns, written)


def _by_layer(study: LayerStudy, name: str, values: Matrix) -> Columns:
    """A column per layer, empty where a number is not known."""
    numbers = [layer.number for layer in study.layers]
    known = [[float(value) if math.isfinite(value) else None for value in column] for column in values.T]
    return {f"{name}_{number}": column for number, column in zip(numbers, known, strict=True)}


def _encodable(text: str) -> str:
    """Half a surrogate pair has no bytes in UTF-8."""
    return text.encode("utf-8", errors="replace").decode("utf-8")


def _written(columns: Columns, written: str) -> bytes:
    if written == "parquet":
        return _parquet(columns)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns)
    table.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode("utf-8")


def _parquet(columns: Columns) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = dict.fromkeys(("word", "kind", "text"), pa.string()) | dict.fromkeys(_COUNTS, pa.int64())
    arrays = {name: pa.array(column, kinds.get(name, pa.float64())) for name, column in columns.items()}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(arrays), sink)
    return bytes(sink.getvalue().to_pybytes())
