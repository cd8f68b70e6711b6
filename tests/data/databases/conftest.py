"""Databases with the same rows each."""

from __future__ import annotations

import pytest
from database_engines import DIM, LABELS, TEXTS, postgres_server, rows, url


@pytest.fixture(scope="session")
def duck(tmp_path_factory):
    import duckdb

    path = tmp_path_factory.mktemp("duck") / "vectors.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            f"CREATE TABLE docs (id INTEGER, body TEXT, topic TEXT, embedding FLOAT[{DIM}], uneven FLOAT[])"
        )
        values = [(i, TEXTS[i], LABELS[i], row.tolist(), [1.0] * (3 if i == 7 else 2)) for i, row in enumerate(rows())]
        connection.executemany("INSERT INTO docs VALUES (?, ?, ?, ?, ?)", values)
        connection.execute("CREATE TABLE nothing AS SELECT * FROM docs LIMIT 0")
        connection.execute(
            "CREATE TABLE holes AS "
            "SELECT * REPLACE (CASE WHEN id = 5 THEN NULL ELSE embedding END AS embedding) FROM docs"
        )
    return f"duckdb://{path}"


@pytest.fixture(scope="session")
def postgres():
    with postgres_server() as uri:
        fill_postgres(uri)
        yield uri


def fill_postgres(uri):
    import psycopg

    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute(
            f"CREATE TABLE docs (id INT PRIMARY KEY, body TEXT, topic TEXT, embedding VECTOR({DIM}), "
            f"half HALFVEC({DIM}), plain REAL[], wide DOUBLE PRECISION[])"
        )
        with connection.cursor() as cursor, cursor.copy("COPY docs FROM STDIN") as copy:
            for i, row in enumerate(rows()):
                text = "[" + ",".join(map(repr, row.tolist())) + "]"
                array = "{" + text[1:-1] + "}"
                copy.write_row((i, TEXTS[i], LABELS[i], text, text, array, array))
        connection.execute("CREATE TABLE nothing (LIKE docs)")
        connection.execute("CREATE TABLE holes AS SELECT * FROM docs ORDER BY id")
        connection.execute("UPDATE holes SET embedding = NULL, plain[3] = NULL WHERE id = 5")
        connection.execute("CREATE TABLE uneven AS SELECT id, embedding::vector AS embedding FROM docs ORDER BY id")
        connection.execute("UPDATE uneven SET embedding = '[1,2]' WHERE id = 2000")


@pytest.fixture(scope="session")
def wide(postgres):
    """A table that is too large to be in the pipe already when its connection breaks."""
    import psycopg

    with psycopg.connect(postgres) as connection:
        connection.execute(
            "CREATE TABLE wide AS SELECT i AS id, 'text ' || i AS body, "
            "array_fill(i, ARRAY[128])::real[]::vector AS embedding FROM generate_series(1, 40000) i"
        )
    return url(postgres, table="wide")
