"""`uncone evaluate --vectors`: files of every kind give the same numbers; bad input is one line and exit code 2."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import refused, run
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import roc_auc_score

import uncone
from uncone.repairs import Center
from uncone.verbs.schema.schema import validate

N, Q, D = 90, 36, 24


@pytest.fixture(autouse=True)
def files(tmp_path):
    """Documents and queries as .npy and with ids in tables, judgments by row numbers and by ids, and pairs of rows."""
    rng = np.random.default_rng(0)
    docs = (rng.normal(size=(N, D)) + 1).astype(np.float32)
    docs[80] = docs.mean(axis=0)  # near everything
    queries = (docs[:Q] + 0.7 * rng.normal(size=(Q, D))).astype(np.float32)
    np.save("docs.npy", docs)
    np.save("queries.npy", queries)
    names, texts = [f"D-{row}" for row in range(N)], [f"document number {row}" for row in range(N)]
    table = pa.table({"_id": names, "text": texts, "embedding": list(docs)})
    pq.write_table(table, "docs.parquet")
    (tmp_path / "shards").mkdir()
    for part, rows in enumerate(np.array_split(np.arange(N), 3)):
        pq.write_table(table.take(rows), f"shards/{part}.parquet")
    with duckdb.connect("docs.db") as connection:
        connection.execute("CREATE TABLE docs AS SELECT * FROM 'docs.parquet'")
    (tmp_path / "ids.txt").write_text("\n".join(names) + "\n")
    (tmp_path / "query-ids.txt").write_text("".join(f"Q-{row}\n" for row in range(Q)))
    judged = [(row, doc, 1 + (row == doc)) for row in range(Q) for doc in (row, row + Q)]
    (tmp_path / "qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{g}\n" for q, d, g in judged)
    )
    (tmp_path / "named.tsv").write_text("".join(f"Q-{q} 0 D-{d} {g}\n" for q, d, g in judged))
    pairs = [(row, row + 45, round(float(docs[row] @ docs[row + 45]) + rng.normal(), 3)) for row in range(45)]
    (tmp_path / "pairs.csv").write_text("row1,row2,score\n" + "".join(f"{a},{b},{s}\n" for a, b, s in pairs))
    (tmp_path / "labels.csv").write_text("i,j,label\n" + "".join(f"{a},{b},{int(s > 24)}\n" for a, b, s in pairs))
    (tmp_path / "by-id.csv").write_text("left,right,score\n" + "".join(f"D-{a},D-{b},{s}\n" for a, b, s in pairs))


SEARCH = ["--queries", "queries.npy", "--qrels", "qrels.tsv"]
NAMED = ["--queries", "queries.npy", "--qrels", "named.tsv", "--query-id", "query-ids.txt", "--id"]
USUAL = ["--methods", "raw,center", "--replicates", "20", "--no-html"]


def evaluated(*arguments):
    assert run("evaluate", *arguments, *USUAL, "--json", "result.json") == 0
    text = Path("result.json").read_text()
    assert validate(text) == "evaluate"
    return json.loads(text)


def test_every_source_gives_the_same(capfd):
    expected = evaluated("--vectors", "docs.npy", *SEARCH)["tasks"]
    scores = [row["scores"] for row in expected]
    assert 0.2 < scores[0]["ndcg@10"]["value"] < 1 and scores[0] != scores[1]
    for source, ids in [
        ("docs.npy", "ids.txt"),
        ("docs.parquet", "_id"),
        ("shards", "_id"),
        ("duckdb://docs.db?table=docs", "_id"),
    ]:
        result = evaluated("--vectors", source, *NAMED, ids)
        assert [row["scores"] for row in result["tasks"]] == scores, source
        hubs = result["hubs"]["documents"]
        assert all(hub["id"] == f"D-{hub['row']}" for hub in hubs) and not result["notes"]
    texts = evaluated("--vectors", "docs.parquet", *NAMED, "_id", "--text", "text")["hubs"]["documents"]
    assert texts and all(hub["text"] == f"document number {hub['row']}" for hub in texts)
    assert "IsoScore" in capfd.readouterr().out


def test_every_rendering_names_the_hubs():
    files = {form: f"report.{form}" for form in ("html", "markdown", "latex", "csv")}
    flags = [part for form, path in files.items() for part in (f"--{form}", path)]
    options = ["--methods", "raw,center", "--sides", "both", "--replicates", "20", "--text", "text"]
    assert run("evaluate", "--vectors", "docs.parquet", *NAMED, "_id", *options, *flags) == 0
    pages = {form: Path(path).read_text() for form, path in files.items()}
    for form in ("html", "markdown", "latex"):
        assert "Documents that answer 12 or more of 36 queries" in pages[form], form
        assert "center (separate)" in pages[form] and "document number 80" in pages[form], form
    assert "ndcg@10_difference" in pages["csv"] and "queries on queries.npy" in pages["csv"]


def test_pairs_of_rows():
    docs = np.load("docs.npy").astype(np.float64)
    units = docs / np.linalg.norm(docs, axis=1, keepdims=True)
    cosines = np.vecdot(units[:45], units[45:])
    scores = np.loadtxt("pairs.csv", delimiter=",", skiprows=1)[:, 2]
    result = evaluated("--vectors", "docs.npy", "--pairs", "pairs.csv")
    cell = result["rows"][0]["cells"][0]
    assert cell["spearman"]["all"] == pytest.approx(spearmanr(scores, cosines).statistic, abs=1e-6)
    assert cell["pearson"]["all"] == pytest.approx(pearsonr(scores, cosines).statistic, abs=1e-6)
    centered = docs - docs.mean(axis=0)
    units = centered / np.linalg.norm(centered, axis=1, keepdims=True)
    after = spearmanr(scores, np.vecdot(units[:45], units[45:])).statistic
    assert result["rows"][1]["cells"][0]["spearman"]["all"] == pytest.approx(after, abs=1e-3), "fitted on all vectors"
    by_id = evaluated("--vectors", "docs.parquet", "--pairs", "by-id.csv", "--id", "_id")
    assert by_id["rows"][0]["cells"][0]["spearman"]["all"] == cell["spearman"]["all"]
    labeled = evaluated("--vectors", "docs.npy", "--pairs", "labels.csv")["tasks"][0]["scores"]["roc_auc"]
    assert labeled["value"] == pytest.approx(roc_auc_score(scores > 24, cosines))


def test_vectors_without_a_direction_are_counted():
    docs, queries = np.load("docs.npy"), np.load("queries.npy")
    docs[3], docs[50, 1], queries[2] = 0, np.nan, 0
    np.save("docs.npy", docs)
    np.save("queries.npy", queries)
    lines = evaluated("--vectors", "docs.npy", *SEARCH)["tasks"][0]["note"]
    assert "2 documents are zero or hold NaN" in lines and "1 query is zero or holds NaN" in lines
    notes = evaluated("--vectors", "docs.npy", "--pairs", "pairs.csv")["notes"]
    assert notes[0].startswith("2 of 45 pairs have a vector that is zero")


def test_ids_that_match_in_part_are_said(tmp_path):
    with (tmp_path / "qrels.tsv").open("a") as file:
        file.write("0\tX1\t1\n0\tX2\t1\nnobody\t3\t1\n5\t80\t0\n")
    text = (tmp_path / "qrels.tsv").read_text().replace("7\t7\t2\n", "").replace("7\t43\t1\n", "7\t43\t0\n")
    (tmp_path / "qrels.tsv").write_text(text)
    notes = " ".join(evaluated("--vectors", "docs.npy", *SEARCH)["notes"])
    assert "1 of the 37 judged queries is not among the vectors and was left out, such as 'nobody'." in notes
    assert "2 of the 74 judged documents are not among the vectors and count as not found, such as 'X1', 'X2'." in notes
    assert "1 of 36 queries has no relevant document and was left out." in notes


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*NAMED, "nowhere"], "No file 'nowhere' for --id"),
        (["--queries", "queries.npy", "--qrels", "named.tsv"], "none of its 36 queries is among the 36 vectors"),
        (["--queries", "queries.npy", "--qrels", "from-1.tsv"], "run from 1 to 36"),
        (["--queries", "queries.npy", "--qrels", "empty.tsv"], "has no judgments"),
        (["--queries", "queries.npy", "--qrels", "words.tsv"], "line 2: 'high' is not a number"),
        (["--queries", "queries.npy", "--qrels", "nowhere.tsv"], "There is no file nowhere.tsv with judgments"),
        ([*SEARCH, "--relevant", "3"], "no query has a relevant document (grade 3 or more)"),
        (["--queries", "wide.npy", "--qrels", "qrels.tsv"], "Queries have 25 dimensions and documents 24"),
        ([*SEARCH, "--id", "same.txt"], "Ids must be unique, but 1 of the 90"),
        ([*SEARCH, "--id", "few.txt"], "few.txt"),
        ([*SEARCH, "--methods", "static"], "static needs a model"),
        ([*SEARCH, "--methods", "whiten@inductive"], "Name some with --fit-on"),
        ([*SEARCH, "--fit-on", "wide.npy"], "wide.npy has 25 dimensions and docs.npy has 24"),
        ([*SEARCH, "--methods", "raw,wide-repair/"], "wide-repair repairs vectors of dimension 25; these have 24"),
        ([*SEARCH, "--task", "sst2"], "--task is for a model"),
        ([*SEARCH, "--layer", "1"], "--layer is for a model"),
        ([*SEARCH, "--pairs", "pairs.csv"], "name one of them"),
        ([], "with --queries and --qrels, or with --pairs"),
        (["--queries", "queries.npy"], "with --queries and --qrels, or with --pairs"),
        (["--qrels", "qrels.tsv"], "--qrels needs --queries"),
        (["--pairs", "pairs.csv", "--sides", "both"], "--sides is for --queries"),
        (["--pairs", "beyond.csv"], "such as '900'; rows are numbered from 0 to 89"),
        (["--pairs", "by-id.csv"], "no row numbers in left, right, score"),
        ([*SEARCH, "--json", "qrels.tsv"], "would overwrite the source"),
        ([*SEARCH, "--suite", "papers", "--out", "tables"], "leave --vectors out"),
    ],
)
def test_what_is_refused(arguments, words, tmp_path, capfd):
    head = "query-id\tcorpus-id\tscore\n"
    (tmp_path / "from-1.tsv").write_text(head + "".join(f"{row}\t{row}\t1\n" for row in range(1, Q + 1)))
    (tmp_path / "empty.tsv").write_text(head)
    (tmp_path / "words.tsv").write_text(head + "0\t1\thigh\n")
    (tmp_path / "same.txt").write_text("0\n" + "".join(f"{row}\n" for row in range(N - 1)))
    (tmp_path / "few.txt").write_text("0\n1\n")
    (tmp_path / "beyond.csv").write_text("row1,row2,score\n" + "".join(f"{i},900,{i}\n" for i in range(20)))
    wide = np.random.default_rng(1).normal(size=(Q, D + 1)).astype(np.float32)
    np.save("wide.npy", wide)
    Center().fit(wide).save("wide-repair")
    assert words in refused(tmp_path, capfd, "evaluate", "--vectors", "docs.npy", *arguments)


def test_a_model_or_vectors(tmp_path, capfd):
    assert "leave the model out" in refused(tmp_path, capfd, "evaluate", "model", "--vectors", "docs.npy", *SEARCH)
    assert "Name a model, or vectors with --vectors" in refused(tmp_path, capfd, "evaluate", "--methods", "raw")
    assert "--queries needs --vectors" in refused(tmp_path, capfd, "evaluate", "model", "--queries", "queries.npy")
    rows = iter([np.load("docs.npy")])
    with pytest.raises(uncone.UnconeError, match="can be read only once"):
        uncone.evaluate(vectors=rows, queries="queries.npy", qrels="qrels.tsv")
