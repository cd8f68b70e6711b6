"""Repaired vectors in databases: whole or not at all, with the columns beside them, and never over a table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from database_engines import LABELS, TEXTS, N, read, rows, url

import uncone
from uncone.cli.main import _run
from uncone.data.source import Rows
from uncone.data.vectors.memory import ArrayVectors
from uncone.data.writing.rewrite import rewrite
from uncone.errors import OutputError, UnconeError

HOLE = 5
ENGINES = [
    "postgres",
    *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("duckdb", "lancedb", "qdrant", "chroma")),
]


@pytest.fixture
def base(request, tmp_path):
    """The address of an engine without the name of a table."""
    name = request.param
    return request.getfixturevalue("postgres") if name == "postgres" else f"{name}://{tmp_path}/{name}"


def place(base, name, **values):
    return url(base, **{"collection" if base.startswith(("qdrant", "chroma")) else "table": name}, **values)


def vectors_file(path="vectors.parquet", hole=True, **columns):
    vectors = rows()
    if hole:
        vectors[HOLE] = np.nan
    own = {"id": np.arange(N), "body": TEXTS, "topic": LABELS, **columns}
    pq.write_table(pa.table({**own, "embedding": vectors.tolist()}), path)
    return path


def centered(hole=True):
    usable = np.delete(rows(), HOLE, axis=0) if hole else rows()
    wanted = rows().astype(np.float64) - usable.astype(np.float64).mean(axis=0)
    if hole:
        wanted[HOLE] = np.nan
    return wanted


def agree(found, wanted):
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("base", ENGINES, indirect=True)
def test_vectors_travel_with_their_columns(base):
    """From a file into a database, from there into a table of the same database, and back into a file."""
    engine = base.partition(":")[0]
    hole = engine != "chroma"  # it has no place for a vector that is not all numbers
    options = {"distance": "dot"} if engine == "qdrant" else {}
    text = {"text": "document"} if engine == "chroma" else {"text": "body"}
    first = place(base, "firstly", **options, **({"text": "body"} if engine == "chroma" else {}))
    written = uncone.fix(vectors_file(hole=hole), "center", out=first, save="repair", skip_bad=True)
    assert written.written.startswith(engine)
    source = place(base, "firstly", label="topic", **text, **({"key": "id"} if engine == "postgresql" else {}))
    vectors, texts, labels = read(source)
    order = [int(name.removeprefix("text ")) for name in texts]
    assert sorted(order) == list(range(N)) and labels == [LABELS[i] for i in order]
    agree(vectors, centered(hole)[order])

    again = uncone.apply("repair", source, out=place(base, "again", **options))
    assert again.rows == N and again.unusable == hole
    twice = uncone.apply("repair", place(base, "again"), out="twice.parquet")
    assert twice.dropped == ()
    table = pq.read_table("twice.parquet").to_pydict()
    order = [int(i) for i in table["id"]]
    assert sorted(order) == list(range(N))
    assert table[text["text"]] == [TEXTS[i] for i in order] and table["topic"] == [LABELS[i] for i in order]
    usable = np.delete(rows(), HOLE, axis=0) if hole else rows()
    agree(np.array(table["embedding"]), (centered(hole) - 2 * usable.mean(axis=0, dtype=np.float64))[order])


class Broken(ArrayVectors):
    """Vectors that can't be read to their end."""

    def read(self, start=0, stop=None):
        yield Rows(self.array[:1_500])
        raise KeyboardInterrupt


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("base", ENGINES, indirect=True)
def test_nothing_is_left_of_a_table_that_was_not_finished(base, monkeypatch):
    monkeypatch.setattr("uncone.data.writing.rewrite.BLOCK", 1_000)
    out = place(base, "half")
    before = {path for path in Path().rglob("*") if ".uncone" in path.name}
    with pytest.raises(KeyboardInterrupt):
        rewrite(Broken(rows()), out)
    with pytest.raises(UnconeError, match=r"half|There is no|no DuckDB"):
        read(out)
    assert before == {path for path in Path().rglob("*") if ".uncone" in path.name}
    # The same command, run again, is not in the way of itself; a third time, the table is kept.
    rewrite(ArrayVectors(rows()), out)
    kept = np.sort(read(out)[0], axis=0)
    with pytest.raises(OutputError, match="exists, and is kept"):
        rewrite(ArrayVectors(rows() + 1), out)
    np.testing.assert_array_equal(np.sort(read(out)[0], axis=0), kept)


def query(uri, text):
    import psycopg

    with psycopg.connect(uri) as connection:
        cursor = connection.execute(text)
        return cursor.fetchall() if cursor.statusmessage.startswith("SELECT") and cursor.description else None


def test_a_table_of_postgres_keeps_its_types(postgres):
    query(
        postgres,
        "CREATE TABLE typed AS SELECT id, id::bigint * 10000000000 AS large, body, body::varchar(20) AS short, "
        "id % 2 = 0 AS even, id / 7.0 AS exact, (id / 7.0)::real AS plain_real, now()::timestamptz AS since, "
        "CASE WHEN id > 3 THEN jsonb_build_object('id', id) END AS extra, gen_random_uuid() AS uuid, embedding, half "
        "FROM docs",
    )
    uncone.fix(url(postgres, table="typed", column="embedding"), "center", out="plain.parquet", save="repair")
    out = url(postgres, table="public.typed_fixed", key="id", column="fixed")
    assert uncone.apply("repair", url(postgres, table="typed", column="embedding"), out=out).dropped == ()
    types = "SELECT column_name, udt_name FROM information_schema.columns WHERE table_name = '{}' ORDER BY 1"
    wanted = dict(query(postgres, types.format("typed"))) | {"fixed": "vector"}
    del wanted["embedding"]
    assert dict(query(postgres, types.format("typed_fixed"))) == wanted
    same = "id, large, body, short, even, exact, plain_real, since, extra, uuid, half"
    assert query(postgres, f"SELECT {same} FROM typed EXCEPT SELECT {same} FROM typed_fixed") == []
    agree(read(url(postgres, table="typed_fixed", column="fixed", key="id"))[0], centered(hole=False))
    assert query(postgres, "SELECT 1 FROM pg_index WHERE indrelid = 'typed_fixed'::regclass AND indisprimary")
    stored = pq.read_table("plain.parquet")
    assert stored.schema.field("large").type == pa.int64() and stored.schema.field("even").type == pa.bool_()
    assert stored["extra"][7].as_py() == '{"id": 7}' and stored["extra"][2].as_py() is None


def test_a_new_column_of_a_table_of_postgres(postgres):
    query(postgres, "CREATE TABLE filled AS SELECT * FROM docs ORDER BY id DESC")
    source = url(postgres, table="filled", column="embedding")
    uncone.fix(source, "center", out=url(postgres, table="filled", column="centered", key="id"), save="repair")
    agree(read(url(postgres, table="filled", column="centered", key="id"))[0], centered(hole=False))
    np.testing.assert_array_equal(read(url(postgres, table="filled", column="embedding", key="id"))[0], rows())
    for column, key, message in (
        ("centered", "id", "Column centered of .* exists"),
        ("other", "nothing", "no column 'nothing'"),
        ("other", "topic", "2,500 vectors with 3 values of topic"),
    ):
        with pytest.raises(OutputError, match=message):
            uncone.apply("repair", source, out=url(postgres, table="filled", column=column, key=key))
    with pytest.raises(OutputError, match="values of id match 2,499 rows"):
        query(postgres, "DELETE FROM filled WHERE id = 7")
        uncone.apply(
            "repair",
            url(postgres, table="docs", column="embedding"),
            out=url(postgres, table="filled", column="o", key="id"),
        )
    assert "other" not in str(query(postgres, "SELECT column_name FROM information_schema.columns"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.exhaustive
def test_a_collection_with_cosine_distance_says_what_it_changes(tmp_path, capsys):
    vectors_file(hole=False)
    out = f"qdrant://{tmp_path}/qdrant?collection=unit&key=id"
    assert _run(["fix", "vectors.parquet", "--method", "center", "-o", out, "--save", "repair"]) == 0
    assert "at length 1" in " ".join(capsys.readouterr().out.split())
    assert _run(["apply", "repair", "vectors.parquet", "-o", out.replace("unit", "other")]) == 0
    assert "at length 1" in capsys.readouterr().out


def bad_outputs(postgres, tmp_path):
    return {
        "exists": (url(postgres, table="docs"), "exists, and is kept. Name another table, or add &column"),
        "no-schema": (url(postgres, table="nowhere.fixed"), '"nowhere" does not exist'),
        "no-server": ("postgresql://me:secret@127.0.0.1:1/db?table=docs", "can't be reached"),
        "no-table": (postgres, "names no table"),
        "query": (url(postgres, table="a", query="SELECT 1"), "query= isn't valid here"),
        "no-folder": (f"duckdb://{tmp_path}/nowhere/x.db?table=a", "There is no folder"),
        "no-file": ("duckdb://?table=a", "names no file"),
        "a-file": (f"lancedb://{tmp_path}/vectors.parquet?table=a", "is a file"),
        "bad-distance": (f"qdrant://{tmp_path}/q?collection=a&distance=far", "distance=far isn't valid here"),
        "bad-key": (f"qdrant://{tmp_path}/q?collection=a&key=body", "can't be the id"),
        "no-key": (f"qdrant://{tmp_path}/q?collection=a&key=nothing", "no column 'nothing'"),
        "repeated": (f"chroma://{tmp_path}/c?collection=abc&key=topic", "can't be written"),
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [
        *("exists", "no-schema", "no-server", "no-table", "query", "no-folder", "no-file", "a-file"),
        *(
            pytest.param(name, marks=pytest.mark.exhaustive)
            for name in ("bad-distance", "bad-key", "no-key", "repeated")
        ),
    ],
)
def test_an_output_that_cannot_be_is_one_line(name, postgres, tmp_path, capsys):
    vectors_file(hole=False)
    out, message = bad_outputs(postgres, tmp_path)[name]
    assert _run(["fix", "vectors.parquet", "--method", "center", "-o", out, "--no-html"]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and "secret" not in error
    with pytest.raises(UnconeError):
        if "table=docs" in out:
            raise OutputError("the table was there before")
        read(out.partition("&key")[0])


def test_columns_of_a_database_go_into_a_folder(duck):
    """A database is one file of the folder."""
    repair = uncone.fix(rows(), "center").repair
    uncone.apply(repair, url(duck, table="docs", column="embedding"), out="folder")
    tables = [pq.read_table(path).to_pydict() for path in Path("folder").glob("*.parquet")]
    assert [table["id"] for table in tables] == [list(range(N))] and tables[0]["body"] == TEXTS
    agree(np.array(tables[0]["embedding"]), centered(hole=False))


def test_encode_writes_files(capsys):
    Path("texts.txt").write_text("one\ntwo\n")
    assert _run(["encode", "texts.txt", "--model", "model", "-o", "postgresql://me:secret@host/db?table=a"]) == 2
    error = capsys.readouterr().err
    assert "writes files" in error and "secret" not in error and json.dumps(error)
