"""Vectors in databases: real engines give the same findings as a file with the same rows, and bad input is one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from database_engines import DIM, LABELS, TEXTS, N, read, rows, url

import uncone
from uncone.cli.main import _run
from uncone.data.open import open_source
from uncone.data.vectors.databases.url import DatabaseUrl, is_database, without_secrets
from uncone.errors import OptionError


def findings(source, **options):
    return uncone.check(source, **options).to_dict()["findings"]


def test_duckdb(duck):
    vectors, texts, labels = read(url(duck, table="docs", column="embedding", text="body", label="topic"))
    np.testing.assert_array_equal(vectors, rows())
    assert texts == TEXTS and labels == LABELS
    few = read(url(duck, query="SELECT embedding FROM docs WHERE id < 100 ORDER BY id DESC;"))[0]
    np.testing.assert_array_equal(few, rows()[99::-1])
    assert findings(url(duck, table="docs", column="embedding")) == findings(rows())
    holes, _, _ = read(url(duck, table="holes", column="embedding"))
    assert np.isnan(holes[5]).all() and np.isfinite(np.delete(holes, 5, axis=0)).all()


def test_a_repair_of_a_table_is_written_with_its_columns(duck):
    fixed = uncone.fix(url(duck, table="docs", column="embedding", text="body"), "center", out="fixed.parquet")
    np.testing.assert_allclose(read("fixed.parquet", column="embedding")[0], rows() - rows().mean(axis=0), atol=1e-5)
    assert fixed.before.source["rows"] == N


def test_postgres(postgres):
    for column in ("embedding", "plain", "wide"):
        vectors, texts, labels = read(url(postgres, table="docs", column=column, text="body", label="topic", key="id"))
        np.testing.assert_array_equal(vectors, rows())
        assert texts == TEXTS and labels == LABELS
        np.testing.assert_array_equal(read(url(postgres, table="public.docs", column=column))[0], rows())
    half = read(url(postgres, table="docs", column="half"))[0]
    np.testing.assert_allclose(half, rows(), rtol=1e-3, atol=1e-3)
    few = read(url(postgres, query="SELECT embedding, id FROM docs", where="id < 10", key="id"))[0]
    np.testing.assert_array_equal(few, rows()[:10])
    assert findings(url(postgres, table="docs", column="embedding")) == findings(rows())
    for column in ("embedding", "plain"):
        holes = read(url(postgres, table="holes", column=column, key="id"))[0]
        assert np.isnan(holes[5]).all()
        np.testing.assert_array_equal(np.delete(holes, 5, axis=0), np.delete(rows(), 5, axis=0))


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
def test_lancedb(tmp_path):
    lancedb = pytest.importorskip("lancedb")
    values = [{"vector": row, "body": TEXTS[i], "topic": LABELS[i]} for i, row in enumerate(rows())]
    lancedb.connect(tmp_path / "lance").create_table("docs", values)
    base = f"lancedb://{tmp_path}/lance"
    vectors, texts, labels = read(url(base, table="docs", text="body", label="topic"))
    np.testing.assert_array_equal(vectors, rows())
    assert texts == TEXTS and labels == LABELS
    assert findings(url(base, table="docs")) == findings(rows())
    with pytest.raises(uncone.errors.MissingSourceError, match="There is docs"):
        open_source(url(base, table="other"))


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
def test_qdrant(tmp_path):
    qdrant = pytest.importorskip("qdrant_client")
    client = qdrant.QdrantClient(path=str(tmp_path / "qdrant"))
    for name, distance in (("raw", qdrant.models.Distance.DOT), ("unit", qdrant.models.Distance.COSINE)):
        client.create_collection(name, vectors_config=qdrant.models.VectorParams(size=DIM, distance=distance))
        points = [
            qdrant.models.PointStruct(id=i, vector=row.tolist(), payload={"body": TEXTS[i], "topic": LABELS[i]})
            for i, row in enumerate(rows())
        ]
        client.upsert(name, points)
    client.close()
    base = f"qdrant://{tmp_path}/qdrant"
    vectors, texts, labels = read(url(base, collection="raw", text="body", label="topic"))
    np.testing.assert_array_equal(vectors, rows())
    assert texts == TEXTS and labels == LABELS
    unit = findings(url(base, collection="unit"))
    assert unit["baseline"]["value"] == pytest.approx(findings(rows())["baseline"]["value"], abs=1e-6)
    assert unit["norm_mean"]["value"] is None and "length 1" in unit["norm_mean"]["meaning"]
    with pytest.raises(uncone.errors.ColumnError, match="body, topic"):
        list(open_source(url(base, collection="raw", text="title")).read())


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
def test_chroma(tmp_path):
    chromadb = pytest.importorskip("chromadb")
    client = chromadb.PersistentClient(str(tmp_path / "chroma"), chromadb.Settings(anonymized_telemetry=False))
    collection = client.create_collection("docs", embedding_function=None)
    ids = [f"{i:05}" for i in range(N)]
    collection.add(ids, rows(), [{"topic": label} for label in LABELS], TEXTS)
    base = f"chroma://{tmp_path}/chroma"
    vectors, texts, labels = read(url(base, collection="docs", text="document", label="topic"))
    order = [int(text.split()[1]) for text in texts]
    assert sorted(order) == list(range(N))
    np.testing.assert_array_equal(vectors, rows()[order])
    assert labels == [LABELS[i] for i in order]


def bad(duck):
    return {
        "no-column": (url(duck, query="SELECT id, body FROM docs"), "no column of vectors. Its columns are id, body"),
        "several": (url(duck, table="docs"), "Name one with --column"),
        "no-rows": (url(duck, table="nothing", column="embedding"), "no rows"),
        "no-table": (url(duck, table="other"), "other"),
        "bad-query": (url(duck, query="SELEC 1"), "Parser Error"),
        "ragged": (url(duck, table="docs", column="uneven"), "row 7"),
        "nothing": (duck, "needs a table or a query"),
        "no-file": ("duckdb://nowhere.db?table=docs", "no DuckDB file nowhere.db"),
        "unknown-part": (url(duck, table="docs", key="id"), "key= means nothing"),
    }


@pytest.mark.parametrize(
    "name",
    ["no-column", "several", "no-rows", "no-table", "bad-query", "ragged", "nothing", "no-file", "unknown-part"],
)
def test_bad_input_is_one_line(name, duck, capsys):
    source, message = bad(duck)[name]
    assert _run(["check", source]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not Path("uncone-report.html").exists()


def test_bad_input_of_postgres_is_one_line(postgres, capsys):
    cases = {
        url(postgres, table="other"): '"other" does not exist',
        url(postgres, table="nothing", column="embedding"): "no rows",
        url(postgres, table="uneven"): "row ",
        url(postgres, query="SELECT id FROM docs"): "no column of vectors",
        url(postgres, table="docs", column="embedding", text="title"): "title",
        "postgresql://me:secret@127.0.0.1:1/db?table=docs": "can't be reached",
    }
    for source, message in cases.items():
        assert _run(["check", source]) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1 and "secret" not in error


def test_a_url_keeps_its_password_to_itself(duck):
    """The name of a source and what may be shown of a URL hold no password; a client gets it."""
    with_password = url(duck.replace("duckdb://", "duckdb://me:secret@"), table="docs", column="embedding")
    parsed = DatabaseUrl.parse("postgresql://me:secret@host:5432/db?table=docs&sslmode=require")
    assert parsed.password == "secret" and parsed.name == "postgresql://host:5432/db[docs]"
    assert parsed.base == "postgresql://me@host:5432/db?sslmode=require" and "secret" not in repr(parsed)
    assert without_secrets(with_password) == with_password.replace(":secret", "")
    assert is_database(with_password) and not is_database("s3://bucket/x.npy")


def test_suggestions_and_reports_hold_no_password(postgres, capsys):
    source = url(postgres.replace("postgres:@", "postgres:secret@"), table="docs", column="embedding")
    assert _run(["check", source, "--json", "result.json"]) == 0
    everything = capsys.readouterr().out + Path("result.json").read_text() + Path("uncone-report.html").read_text()
    assert "secret" not in everything and "docs" in everything


def test_a_url_that_is_none():
    with pytest.raises(OptionError, match="URL can't be read"):
        open_source("qdrant://host:port?collection=docs")


def kill_reader(postgres):
    """Terminate the backend that copies, and wait until it is gone."""
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        query = (
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            "WHERE application_name = 'uncone' AND query LIKE 'COPY%'"
        )
        assert connection.execute(query).fetchall() == [(True,)]


@pytest.mark.parametrize("values", [{"key": "id"}, {"key": "id", "text": "body"}, {"key": "body"}])
def test_a_broken_connection_goes_on_behind_the_last_key(postgres, wide, monkeypatch, values):
    monkeypatch.setattr("uncone.data.vectors.databases.postgres._PAUSE", 0.0)
    numbers, texts = [], []
    for block, part in enumerate(open_source(url(wide, **values)).read()):
        numbers += part.vectors[:, 7].astype(int).tolist()
        texts += part.texts or []
        if block < 3:
            kill_reader(postgres)
    wanted = sorted(range(1, 40_001), key=str if values["key"] == "body" else int)
    assert numbers == wanted and texts in ([], [f"text {i}" for i in wanted])


@pytest.mark.parametrize(("values", "advice"), [({}, "unique column with key="), ({"key": "id"}, "6 more times")])
def test_a_connection_that_always_breaks_is_one_line(postgres, wide, monkeypatch, capsys, values, advice):
    from uncone.data.vectors.databases import postgres as module

    pieces, killed = module._pieces, []

    def cut(copied, size):
        for at, piece in enumerate(pieces(copied, size)):
            if at == 1:
                killed.append(kill_reader(postgres))
            yield piece

    monkeypatch.setattr(module, "_pieces", cut)
    monkeypatch.setattr(module, "_PAUSE", 0.0)
    assert _run(["check", url(wide, **values)]) == 2
    error = capsys.readouterr().err
    assert "the connection broke after 0 rows" in error and advice in error and error.count("\n") == 1
    assert len(killed) == (7 if values else 1) and not Path("uncone-report.html").exists()


@pytest.mark.parametrize(("column", "message"), [("topic", "repeats at row"), ("gap", "is NULL at row")])
def test_a_key_that_tells_no_row_from_another_is_refused(postgres, column, message):
    query = "SELECT embedding, topic, nullif(id, 7) AS gap FROM docs"
    with pytest.raises(uncone.errors.ColumnError, match=message):
        list(open_source(url(postgres, query=query, key=column)).read())
