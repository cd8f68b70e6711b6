"""The repair as a table and a function in SQL: for DuckDB, and for PostgreSQL with pgvector."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from uncone.data.batch import Matrix, Vector
from uncone.exports.affine_form import AffineForm, need_affine
from uncone.exports.export import is_export, sign, temporary_output
from uncone.repairs.repair import Repair

__all__ = ["export_sql"]

_INSTEAD = "Repair the vectors before they are stored (uncone apply), or export to onnx."
_DUCKDB = """\
-- A repair ({kind}) of vectors of dimension {d} to dimension {m}, for DuckDB.
--   .read duckdb.sql
--   SELECT uncone_repair(embedding) FROM documents;
-- A whole table with a key, many times faster:
{fast}
CREATE OR REPLACE TABLE uncone_weights (i INTEGER, weights DOUBLE[{d}], bias DOUBLE);
{rows}
CREATE OR REPLACE MACRO uncone_repair(v) AS (
{query}
);
"""
_VALUE = "array_inner_product({v}::DOUBLE[{d}], weights) + bias"
_DUCKDB_LINEAR = """\
  SELECT list({value} ORDER BY i) FROM uncone_weights"""
_DUCKDB_UNIT = """\
  SELECT list(CASE WHEN squares > 0 THEN value / sqrt(squares) ELSE value END ORDER BY i)
  FROM (
    SELECT i, value, sum(value * value) OVER () AS squares
    FROM (SELECT i, {value} AS value FROM uncone_weights)
  )"""
_FAST_LINEAR = """\
--   SELECT id, list({value} ORDER BY i) AS repaired
--   FROM documents, uncone_weights GROUP BY id;"""
_FAST_UNIT = """\
--   SELECT id, list(CASE WHEN squares > 0 THEN value / sqrt(squares) ELSE value END ORDER BY i) AS repaired
--   FROM (
--     SELECT id, i, value, sum(value * value) OVER (PARTITION BY id) AS squares
--     FROM (SELECT id, i, {value} AS value FROM documents, uncone_weights)
--   ) GROUP BY id;"""
_PGVECTOR = """\
-- A repair ({kind}) of vectors of dimension {d} to dimension {m}, for PostgreSQL with pgvector{version}.
--   \\i pgvector.sql
--   SELECT uncone_repair(embedding) FROM documents;
-- A column of repaired vectors is kept up to date by a trigger; its index must be built anew.
BEGIN;
DROP TABLE IF EXISTS uncone_weights, uncone_mean;
CREATE TABLE uncone_mean (mean vector({d}));
CREATE TABLE uncone_weights (i integer PRIMARY KEY, weights vector({d}), bias double precision);
INSERT INTO uncone_mean VALUES ('{mean}');
{rows}
-- <#> is the negative inner product; centered first, so that single precision keeps its digits.
CREATE OR REPLACE FUNCTION uncone_repair(v vector) RETURNS vector LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT {value}
  FROM uncone_weights AS w, (SELECT v - mean AS centered FROM uncone_mean) AS c
$$;
COMMIT;
"""
_PG_LINEAR = "array_agg((w.bias - (w.weights <#> c.centered))::real ORDER BY w.i)::vector"
_README = """\
# A repair in SQL

`duckdb.sql` makes a table `uncone_weights` and a macro, `uncone_repair(v)`, of a list or array of {d} numbers.
`pgvector.sql` makes the same for PostgreSQL with pgvector: a function of a `vector({d})`.

Raw and repaired vectors do not mix: repair every stored vector and every query, and build the index anew.
"""


def export_sql(repair: Repair, out: Path) -> list[str]:
    """Write a folder with `duckdb.sql`, `pgvector.sql` and `README.md`; the notes for the user.

    Raises:
        ExportError: the repair is no affine map.
    """
    form = need_affine(repair, "The SQL function", _INSTEAD)
    d = len(form.mean)
    with temporary_output(out, folder=True, ours=is_export) as folder:
        (folder / "duckdb.sql").write_text(_duckdb(form, repair.kind), encoding="utf-8")
        (folder / "pgvector.sql").write_text(_pgvector(form, repair.kind), encoding="utf-8")
        (folder / "README.md").write_text(_README.format(d=d), encoding="utf-8")
        sign(folder, "sql", repair.kind)
    return [
        "In DuckDB: .read duckdb.sql, then SELECT uncone_repair(embedding) FROM documents. A whole table is faster by "
        "the query at the top of the file.",
        "pgvector.sql is for pgvector 0.7 and later, and was not run here: try it on a copy of the table first.",
    ]


def _duckdb(form: AffineForm, kind: str) -> str:
    d, m = form.matrix.shape
    # The bias is worked out from the numbers as they are written, so that nothing is lost where the mean is large.
    matrix = form.matrix.astype(np.float32).astype(np.float64)
    rows = _inserts(matrix.T, form.offset - form.mean @ matrix)
    query, fast = (_DUCKDB_UNIT, _FAST_UNIT) if form.normalize else (_DUCKDB_LINEAR, _FAST_LINEAR)
    return _DUCKDB.format(
        kind=kind,
        d=d,
        m=m,
        fast=fast.format(value=_VALUE.format(v="embedding", d=d)),
        rows="\n".join(rows),
        query=query.format(value=_VALUE.format(v="v", d=d)),
    )


def _pgvector(form: AffineForm, kind: str) -> str:
    d, m = form.matrix.shape
    lost = (form.mean - form.mean.astype(np.float32)) @ form.matrix
    rows = _inserts(form.matrix.T, form.offset - lost)
    value = f"l2_normalize({_PG_LINEAR})" if form.normalize else _PG_LINEAR
    version = " 0.7 or later (l2_normalize)" if form.normalize else ""
    return _PGVECTOR.format(
        kind=kind, d=d, m=m, version=version, mean=f"[{_numbers(form.mean)}]", rows="\n".join(rows), value=value
    )


def _inserts(weights: Matrix, bias: Vector) -> Iterator[str]:
    """A row for each output dimension, as a string: a long array is read ten times faster."""
    for i, (row, constant) in enumerate(zip(weights, bias.tolist(), strict=True)):
        yield f"INSERT INTO uncone_weights VALUES ({i}, '[{_numbers(row)}]', {constant!r});"


def _numbers(row: Vector) -> str:
    """Numbers with nine digits, which round-trip float32."""
    return ", ".join(f"{number:.9g}" for number in row.tolist())
