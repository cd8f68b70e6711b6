"""`uncone similarity`: what it writes and prints, and one line for bad input."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from uncone.cli.main import _run

WORDS = ["the", "text", "go", "school"]


@pytest.fixture
def table(tmp_path):
    """Texts with quotes, commas and newlines inside their cells; labels that are numbers."""
    rng = np.random.default_rng(2)
    texts = [f'{" ".join(rng.choice(WORDS, 4))}, "{"abcdefghij"[i % 10]}"\n{i}' for i in range(40)]
    with Path("texts.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["text", "kind", "beside"], *((text, i % 2, texts[-i]) for i, text in enumerate(texts))]
        )
    return texts


@pytest.fixture
def vectors(tmp_path):
    rows = np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32)
    np.save("v.npy", rows)
    return rows


def told(capsys, *arguments, code=0):
    assert _run(["similarity", *map(str, arguments)]) == code
    captured = capsys.readouterr()
    return captured.out if code == 0 else captured.err


def test_everything_is_written(table, tiny_model, capsys):
    files = ["--pairs-out", "pairs.csv", "--labels-out", "labels.parquet", "--groups-out", "groups.csv"]
    files += ["--matrix", "m.npy", "--json", "a.json", "--markdown", "a.md", "--figures", "figures"]
    out = told(capsys, "texts.csv", "--text", "text", "--label", "kind", "--model", tiny_model, *files)
    assert "40 x 32" in out and "pairs.csv" in out and "uncone-similarity.html" in out
    with Path("pairs.csv").open(newline="") as file:
        pairs = list(csv.DictReader(file))
    assert len(pairs) == 100 and all(pair["text"] == table[int(pair["row"])] for pair in pairs)
    matrix = np.load("m.npy")
    best = np.sort(matrix[np.triu_indices(40, 1)])[::-1][:100]
    np.testing.assert_allclose([float(pair["cosine"]) for pair in pairs], best, atol=1e-6)
    labels = pq.read_table("labels.parquet").to_pylist()
    assert [(line["label"], line["other_label"]) for line in labels] == [("0", "0"), ("1", "1"), ("0", "1")]
    even = matrix[::2, ::2][np.triu_indices(20, 1)]
    assert labels[0]["mean"] == pytest.approx(even.mean(), abs=1e-6) and labels[0]["pairs"] == 190
    with Path("groups.csv").open(newline="") as file:
        groups = list(csv.DictReader(file))
    assert [line["text"] for line in groups] == table and {line["group"] for line in groups} == {"0", "1"}
    found = json.loads(Path("a.json").read_text())
    assert found["labels"]["counts"] == {"0": 20, "1": 20} and found["pairs"]["found"] == 780
    assert found["written"]["matrix"] == "m.npy" and any(Path("figures").iterdir())
    assert table[0].split(",")[0] in Path("uncone-similarity.html").read_text() and Path("a.md").read_text()


def test_json_goes_to_standard_output(vectors, capsys):
    found = json.loads(told(capsys, "v.npy", "--json", "-", "--no-html", "--top", "3", "--groups", "4"))
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    best = np.sort((units @ units.T)[np.triu_indices(50, 1)])[::-1][:3]
    np.testing.assert_allclose([pair["cosine"] for pair in found["pairs"]["pairs"]], best, atol=1e-6)
    assert found["groups"][0]["k"] == 4 and not Path("uncone-similarity.html").exists()


def test_two_columns_and_near(table, tiny_model, capsys):
    model = ("--model", tiny_model, "--no-html", "--json", "-")
    found = json.loads(told(capsys, "texts.csv", "--text", "text", "--against", "beside", "--label", "kind", *model))
    assert found["two_columns"]["table"][0]["cosine"]["pairs"] == 20 and found["labels"] is None
    near = json.loads(told(capsys, "texts.csv", "--text", "text", "--near", table[5], "--top", "2", *model))["near"]
    assert near["pairs"][0]["other"] == 5 and len(near["pairs"]) == 2
    told(capsys, "texts.csv", "--text", "text", "--near", table[5], "--top", "2", "--pairs-out", "near.csv", *model)
    with Path("near.csv").open(newline="") as file:
        assert [int(row["row"]) for row in csv.DictReader(file)] == [-1, -1]


def test_a_percentile_as_a_bound(vectors, capsys):
    found = json.loads(told(capsys, "v.npy", "--min", "p95", "--json", "-", "--no-html"))
    assert found["pairs"]["found"] == pytest.approx(0.05 * 1225, abs=4)
    below = json.loads(told(capsys, "v.npy", "--max", "-0.5", "--json", "-", "--no-html"))
    assert all(pair["cosine"] <= -0.5 for pair in below["pairs"]["pairs"])


def test_ready_vectors_of_a_column(table, capsys):
    rows = np.random.default_rng(0).normal(size=(40, 4)).round(3)
    with Path("v.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [
                ["text", "kind", "v"],
                *((t, i % 2, row.tolist()) for i, (t, row) in enumerate(zip(table, rows, strict=True))),
            ]
        )
    out = told(capsys, "v.csv", "--column", "v", "--text", "text", "--label", "kind", "--order", "clustering")
    assert "40 x 4" in out


def test_clean_is_counted(tiny_model, capsys):
    Path("t.csv").write_text("text\n<b>the text</b>\nthe text\n\ngo to school\nabc\n")
    found = json.loads(told(capsys, "t.csv", "--clean", "--model", tiny_model, "--json", "-", "--no-html"))
    assert found["cleaned"]["duplicate"] == 1 and found["cleaned"]["empty"] == 1 and found["pairs"]["found"] == 3


def test_maps(vectors, capsys):
    found = json.loads(told(capsys, "v.npy", "--map", "pca", "--map-dims", "2,3", "--json", "-", "--no-html"))
    assert {"pca-2", "pca-3"} <= set(found["projections"])
    none = json.loads(told(capsys, "v.npy", "--map", "none", "--groups", "0", "--json", "-", "--no-html"))
    assert not none["projections"] and not none["groups"]


GOOD = "text,kind\n" + "".join(f"the text {letter},x\n" for letter in "abcdefghijklmnop")
LATIN = GOOD.encode() + "caf\xe9,x\n".encode("latin1")
BAD = {
    # what is wrong: (what t.csv holds, the arguments, what the line must say)
    "no such file": (GOOD, "nowhere.csv", "no file or folder"),
    "no such column": (GOOD, "t.csv --text body", "it has text, kind"),
    "no such label": (GOOD, "t.csv --text text --label sentiment", "it has text, kind"),
    "no such second column": (GOOD, "t.csv --text text --against b", "it has text, kind"),
    "second column alone": (GOOD, "t.csv --against kind", "name the first with --text"),
    "the same column twice": (GOOD, "t.csv --text text --against text", "we need two"),
    "numbers for texts": ("text,n\na,1\nb,2\nc,3\n", "t.csv --text n", "only numbers"),
    "empty texts": ("text,n\n,1\n ,2\nb,3\n", "t.csv --text text", "1 of 3 rows has a text"),
    "one row": ("text,n\na b,1\n", "t.csv --text text", "at least 2"),
    "all texts equal": ("text,n\n" + "the text,1\n" * 9, "t.csv --text text", "are equal"),
    "nothing": ("", "t.csv", "empty"),
    "a header alone": ("text,kind\n", "t.csv --text text", "at least 2"),
    "mixed encodings": (LATIN, "t.csv", "line 18: not UTF-8"),
    "an open quote": (GOOD + '"never closed,x\n', "t.csv --text text", "line 18"),
    "ragged": (GOOD + "a,b,c\n", "t.csv --text text", "ragged: line 18"),
    "min out of range": (GOOD, "t.csv --min 1.5", "between -1 and 1"),
    "max out of range": (GOOD, "t.csv --max -2", "between -1 and 1"),
    "not a number": (GOOD, "t.csv --min high", "p99"),
    "NaN": (GOOD, "t.csv --min nan", "p99"),
    "a percentile too high": (GOOD, "t.csv --text text --min p101", "p0 to p100"),
    "a percentile too rare": (GOOD, "t.csv --text text --min p99.9999", "known up to"),
    "min above max": (GOOD, "t.csv --min 0.9 --max 0.1", "nothing lies between"),
    "duplicates out of range": (GOOD, "t.csv --duplicates 95", "between -1 and 1"),
    "near nothing": (GOOD, "t.csv --near ' '", "--near must be a text"),
    "top of nothing": (GOOD, "t.csv --top 0", "--top must be"),
    "groups of one": (GOOD, "t.csv --groups 1", "--groups must be auto"),
    "more groups than rows": (GOOD, "t.csv --groups 99 --text text", "cannot be put into 99"),
    "no such method": (GOOD, "t.csv --group-method dbscan", "kmeans, average or ward"),
    "no such order": (GOOD, "t.csv --order random", '"label", "clustering"'),
    "order by label without labels": (GOOD, "t.csv --text text --order label", "--label"),
    "no such map": (GOOD, "t.csv --map mds", "pca, tsne, umap or none"),
    "a map of four dimensions": (GOOD, "t.csv --map-dims 4", "2 or 3"),
    "no such pooling": (GOOD, "t.csv --text text --pooling mean,median", "mean, cls, max or last, not 'median'"),
    "a matrix of another kind": (GOOD, "t.csv --matrix m.csv", ".npy or .parquet"),
    "a matrix of two columns": (GOOD, "t.csv --text text --against kind --matrix m.npy", "one column"),
    "a table of another kind": (GOOD, "t.csv --pairs-out p.xlsx", ".csv or .parquet"),
    "over the source": (GOOD, "t.csv --pairs-out t.csv", "overwrite the source"),
    "labels that are not there": (GOOD, "t.csv --text text --labels-out l.csv", "--label"),
    "groups that are not made": (GOOD, "t.csv --text text --groups 0 --groups-out l.csv", "--groups"),
    "groups of two columns": (GOOD, "t.csv --text text --against kind --groups 3", "one column"),
    "groups of two columns to write": (GOOD, "t.csv --text text --against kind --groups-out g.csv", "--against"),
    "too small a limit": (GOOD, "t.csv --limit 1", "--limit must be at least 2"),
    "too small a sample": (GOOD, "t.csv --sample 1", "at least 2"),
    "no such repair": (GOOD, "t.csv --text text --repair nothing", "nothing"),
    "no such calibration": (GOOD, "t.csv --text text --calibration nothing", "nothing"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(case, tiny_model, capsys):
    held, arguments, expected = BAD[case]
    Path("t.csv").write_bytes(held if isinstance(held, bytes) else held.encode())
    before = set(Path().iterdir())
    line = told(capsys, *shlex.split(arguments), "--model", tiny_model, code=2)
    assert expected in line and line.count("\n") == 1, line
    assert {path.name for path in set(Path().iterdir()) - before} <= {".vectors"}, "nothing is written"


def test_options_for_texts_are_refused_with_vectors(vectors, capsys):
    assert "is for texts" in told(capsys, "v.npy", "--pooling", "mean", code=2)
    assert "use one of them" in told(capsys, "v.npy", "--column", "v", "--model", "m", code=2)
    assert "not a text of the table" in told(capsys, "v.npy", "--near", "a text", code=2)


def test_findings_that_are_no_errors(tiny_model, capsys):
    Path("one.csv").write_text(GOOD)
    assert "only one label" in " ".join(
        told(capsys, "one.csv", "--text", "text", "--label", "kind", "--model", tiny_model).split()
    )
    Path("alone.csv").write_text(GOOD + "go to school,y\n")
    told(capsys, "alone.csv", "--text", "text", "--label", "kind", "--model", tiny_model)
    Path("ten.csv").write_text(
        "text,kind\n" + "".join(f"the text {letter},{i % 2}\n" for i, letter in enumerate("abcdefghij"))
    )
    assert "10 x 32" in told(capsys, "ten.csv", "--text", "text", "--label", "kind", "--model", tiny_model)
