import numpy as np
import pytest

from uncone.errors import ExportError
from uncone.exports.export import export

duckdb = pytest.importorskip("duckdb")


def test_duckdb_gives_what_transform_gives(affine, rows, tmp_path, close):
    export(affine, "sql", tmp_path / "out")
    database = duckdb.connect()
    database.execute("SET threads = 1")
    database.execute((tmp_path / "out" / "duckdb.sql").read_text())
    database.execute("CREATE TABLE documents (id INTEGER, embedding FLOAT[24])")
    database.execute(
        "INSERT INTO documents SELECT unnest(?), unnest(?)", [list(range(len(rows))), rows.astype(np.float64).tolist()]
    )
    result = database.execute("SELECT uncone_repair(embedding) FROM documents ORDER BY id").fetchall()
    expected = affine.transform(rows.astype(np.float64))
    close(np.array([row[0] for row in result]), expected)
    whole = [line[2:] for line in (tmp_path / "out" / "duckdb.sql").read_text().splitlines() if line.startswith("--  ")]
    result = database.execute("\n".join(whole[2:]).replace("GROUP BY id;", "GROUP BY id ORDER BY id;")).fetchall()
    close(np.array([row[1] for row in result]), expected)


def test_a_row_of_zeros_stays_one(fitted, tmp_path):
    export(fitted("normalize"), "sql", tmp_path / "out")
    database = duckdb.connect()
    database.execute((tmp_path / "out" / "duckdb.sql").read_text())
    assert database.execute(f"SELECT uncone_repair({[0.0] * 24})").fetchone()[0] == [0.0] * 24


def test_pgvector_has_a_row_for_every_dimension(fitted, tmp_path):
    export(fitted("chain-normalize"), "sql", tmp_path / "out")
    text = (tmp_path / "out" / "pgvector.sql").read_text()
    assert text.count("INSERT INTO uncone_weights") == 9
    assert "l2_normalize(array_agg" in text and "vector(24)" in text


def test_a_clustered_repair_says_why_not(fitted, tmp_path):
    with pytest.raises(ExportError, match=r"clustered is not one.*onnx"):
        export(fitted("clustered"), "sql", tmp_path / "out")
