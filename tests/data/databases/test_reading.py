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
from uncone.data.vectors.memory import ArrayVectors
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
        "unknown-part": (url(duck, table="docs", key="id"), "key= isn't valid here"),
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


def test_no_output_of_any_verb_holds_a_password(postgres, capfd, monkeypatch):
    """Reports, JSON, saved folders, caches, the terminal and errors: all are searched."""
    base = postgres.replace("postgres:@", "postgres:hush-hush@")
    assert base != postgres
    source = [url(base, table="docs", column="embedding", password="hush-hush-too")]
    outputs = ["--json", "result.json", "--markdown", "result.md", "--latex", "result.tex", "--figures", "figures"]
    texts = ["--text", "body"]
    commands = [
        ["check", *source, *outputs],
        ["check", *source, "--column", "nothing"],
        ["check", url(base, table="nowhere")],
        ["check", base.replace("/postgres?", ":port/postgres?")],
        ["check", base.replace("postgresql", "mysql")],
        ["check", *source, "--unknown", "1"],
        ["check", url("postgresql://me:hush-hush%x@127.0.0.1:1/db", table="docs")],
        ["calibrate", *source, "--save", "calibration", "--json", "calibrated.json"],
        ["map", *source, *texts, "--points", "100", "--json", "map.json"],
        ["similarity", *source, *texts, "--sample", "60", "--json", "similarity.json"],
        ["fix", *source, "--method", "center", "--save", "repair", "-o", url(base, table="hushed"), *outputs],
        ["fix", *source, "--method", "center", "-o", url(base, table="hushed")],
        ["apply", "repair", *source, "-o", url(base, table="hushed_too")],
        ["apply", "repair", *source, "-o", "applied.parquet"],
        ["encode", "texts.txt", "--model", "model", "-o", url(base, table="a")],
    ]
    codes = [_run(command) for command in commands]
    assert codes == [0, 2, 2, 2, 2, 2, 2, 0, 0, 0, 0, 2, 0, 0, 2]
    space = uncone.open(source[0])
    shown = "".join(capfd.readouterr()) + repr(space) + space._repr_html_()
    files = [path for path in Path().rglob("*") if path.is_file()]
    assert len(files) > 10 and "docs" in shown
    assert "hush-hush" not in shown
    assert [path for path in files if b"hush-hush" in path.read_bytes()] == []


@pytest.mark.exhaustive
def test_norms_of_a_collection_with_cosine_distance_are_withheld_in_every_verb(tmp_path, monkeypatch, capsys):
    """Qdrant's local engine keeps vectors as they are and a server does not: the distance says it."""
    from uncone.data.writing.rewrite import rewrite

    base = f"qdrant://{tmp_path}/qdrant"
    rewrite(rows(), url(base, collection="unit"))
    source = url(base, collection="unit")
    withheld = ("norm_mean", "norm_outliers", "partition_isotropy_log10")
    fixed = uncone.fix(source, "center", save="repair")
    for diagnosis in (uncone.check(source), uncone.check(source, repair="repair"), fixed.before, fixed.after):
        assert all(diagnosis[name].value is None and "length 1" in diagnosis[name].meaning for name in withheld)
        assert diagnosis.pictures.norm_counts == [] and "Vector lengths" not in diagnosis.to_html()
    assert any("length 1" in note for note in fixed.notes) and "length 1" in fixed.to_markdown()
    assert "length 1" in uncone.calibrate(source).to_json()
    assert _run(["map", source, "--color", "norm", "--no-html"]) == 2
    assert "scaled every vector to length 1" in capsys.readouterr().err
    assert "norm" not in [coloring.name for coloring in uncone.map(source).colorings]
    similar = uncone.similarity(source)
    assert "length 1" in " ".join(similar.notes) and "length" not in [step.key for step in similar.steps]
    raw = url(base, collection="raw")
    rewrite(rows(), url(raw, distance="dot"))
    assert uncone.check(raw)["norm_mean"].value is not None
    assert "length" in [step.key for step in uncone.similarity(raw).steps]


@pytest.fixture
def guest(postgres):
    """The address of a user who needs a password, and may only read."""
    import psycopg

    name, port = "guest", postgres.partition("@")[2]
    with psycopg.connect(postgres, autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'guest'").fetchall():
            connection.execute("CREATE ROLE guest LOGIN PASSWORD 'right-pass'")
            connection.execute("GRANT SELECT ON docs TO guest")
        place = Path(connection.execute("SHOW hba_file").fetchone()[0])
        before = place.read_text()
        place.write_text(f"local all {name} scram-sha-256\n{before}")
        connection.execute("SELECT pg_reload_conf()")
        query = "SELECT count(*) FROM pg_hba_file_rules WHERE 'guest' = ANY(user_name)"
        assert connection.execute(query).fetchone() == (1,)
    for _ in range(1_000):  # the server reads its rules soon, not at once
        try:
            psycopg.connect(f"postgresql://{name}:wrong-pass@{port}").close()
        except psycopg.OperationalError:
            break
    yield lambda password: f"postgresql://{name}{password}@{port}"
    place.write_text(before)


def test_a_password_comes_from_the_url_or_the_environment(guest, capsys, monkeypatch):
    options = {"table": "docs", "column": "embedding"}
    monkeypatch.delenv("PGPASSWORD", raising=False)
    for password, message in ((":wrong-pass", "password authentication failed"), ("", "no password supplied")):
        assert _run(["check", url(guest(password), **options)]) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1 and "wrong-pass" not in error
    np.testing.assert_array_equal(read(url(guest(":right-pass"), **options))[0], rows())
    np.testing.assert_array_equal(read(url(guest(""), password="right-pass", **options))[0], rows())
    monkeypatch.setenv("PGPASSWORD", "right-pass")
    source = url(guest(""), **options)
    np.testing.assert_array_equal(read(source)[0], rows())
    assert _run(["fix", source, "--method", "center", "-o", url(guest(""), table="public.denied"), "--no-html"]) == 2
    error = capsys.readouterr().err
    assert "permission denied for schema public" in error and error.count("\n") == 1


def test_a_bad_row_leaves_nothing_behind(postgres, duck, capsys):
    """It's met in mid-run, when the output has been begun."""
    uncone.fix(rows(), "center", save="repair")
    Path("repair").rename("repair-8")
    outs = [url(postgres, table="spoiled"), "duckdb://spoiled.db?table=docs", "spoiled.parquet"]
    before = set(Path().iterdir())
    for out in outs:
        assert _run(["apply", "repair-8", url(postgres, table="uneven", key="id"), "-o", out]) == 2
        error = capsys.readouterr().err
        assert "row 2,000" in error and error.count("\n") == 1
    assert set(Path().iterdir()) == before
    with pytest.raises(uncone.errors.FormatError, match="does not exist"):
        read(outs[0])


class Scaled(ArrayVectors):
    """As a database gives them that keeps directions alone."""

    unit_length, note = True, "the database stored every vector at length 1"


def test_norms_that_a_database_made_are_withheld():
    vectors = rows() / np.linalg.norm(rows(), axis=1, keepdims=True)
    fixed = uncone.fix(Scaled(vectors), "center")
    for diagnosis in (fixed.before, fixed.after):
        assert diagnosis["norm_mean"].value is None and "Vector lengths" not in diagnosis.to_html()
    assert "length 1" in " ".join(fixed.notes)
    assert "norm" not in [coloring.name for coloring in uncone.map(Scaled(vectors)).colorings]
    assert "length" not in [step.key for step in uncone.similarity(Scaled(vectors)).steps]
