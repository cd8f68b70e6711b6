"""`uncone calibrate`: the command of a user; bad input gets one line and loses nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import refused, run

import uncone


@pytest.fixture
def rows(cone):
    found = cone(300, 12)
    np.save("v.npy", found)
    return found


@pytest.fixture
def pairs(rows):
    lines = "".join(f"{i},{(7 * i + 1) % 300},{i % 2}\n" for i in range(120))
    Path("pairs.csv").write_text("id1,id2,label\n" + lines)
    return "pairs.csv"


def test_everything_at_once(rows, pairs, tmp_path, capfd):
    np.save("other.npy", rows + 1)
    options = ["--score", 0.75, "--score", 0.9, "--fpr", 0.05, "--fpr", 0.01, "--corpus-size", 1000]
    options += ["--background", "other.npy", "--pairs", pairs, "--precision", 0.5, "--recall", 0.9, "--replicates", 50]
    options += ["--save", "calibration", "--json", "c.json", "--markdown", "c.md", "--figures", "figures"]
    assert run("calibrate", "v.npy", *options) == 0
    out, err = capfd.readouterr()
    assert (
        err == ""
        and "of unrelated pairs score 0.75 or more" in out
        and "report uncone-calibrate.html" in out
        and "wrote figures" in out
    )
    data = json.loads(Path("c.json").read_text())
    assert [one["score"] for one in data["scores"]] == [0.75, 0.9]
    assert [one["rate"] for one in data["calibration"]["thresholds"]] == [0.05, 0.01]
    assert [one["hits"] for one in data["calibration"]["thresholds"]] == pytest.approx([50, 10])
    assert len(data["calibration"]["backgrounds"]) == 2
    assert "<html" in Path("uncone-calibrate.html").read_text()
    assert "### What does a score mean?" in Path("c.md").read_text()
    assert (tmp_path / "figures" / "background.svg").is_file()
    assert all(path.suffix == ".json" for path in Path("calibration").iterdir()), "no code, no pickle"
    assert 0 <= uncone.Calibration.load("calibration").percentile(0.75) <= 100
    assert not list(tmp_path.rglob("*.part"))


def test_json_on_standard_output(rows, capfd):
    assert run("calibrate", "v.npy", "--no-html", "--json", "-") == 0
    data = json.loads(capfd.readouterr().out)
    assert [one["score"] for one in data["scores"]] == [0.7, 0.75, 0.8]
    assert not Path("uncone-calibrate.html").exists()


def test_the_same_command_gives_the_same_numbers(rows, capfd):
    for name in ("a.json", "b.json"):
        assert run("calibrate", "v.npy", "--no-html", "--json", name) == 0
    assert Path("a.json").read_text() == Path("b.json").read_text()


def test_a_refusal_is_an_answer(rows, capfd):
    assert run("calibrate", "v.npy", "--fpr", 1e-7, "--no-html") == 0
    out = " ".join(capfd.readouterr().out.split())
    needed = uncone.calibrate("v.npy", fpr=[1e-7]).calibration.thresholds[0].rows_needed
    assert f"{needed:,}" in out


def test_old_to_new(rows, capfd):
    assert run("calibrate", "v.npy", "-o", "old", "--no-html") == 0
    assert run("fix", "v.npy", "--method", "center", "--save", "repair", "--no-html") == 0
    capfd.readouterr()
    options = ["--repair", "repair", "--translate", 0.6, "--from", "old", "--no-html"]
    assert run("calibrate", "v.npy", *options) == 0
    assert "0.6 in old has a false-positive rate of" in " ".join(capfd.readouterr().out.split())


def test_queries_and_documents(rows, capfd):
    np.save("q.npy", rows[:20])
    assert run("calibrate", "--queries", "q.npy", "--documents", "v.npy", "--no-html") == 0
    assert "20 queries, 300 documents" in capfd.readouterr().out


def test_texts(tiny_model, capfd):
    Path("texts.txt").write_text("".join(f"the text {i} to go to school {i % 7}\n" for i in range(60)))
    Path("other.csv").write_text("text,n\n" + "".join(f"a b c {i},{i}\n" for i in range(40)))
    options = ["--model", tiny_model, "--layer", 1, "--pooling", "cls", "--background", "other.csv"]
    assert run("calibrate", "texts.txt", *options, "--no-html", "--json", "-") == 0
    source = json.loads(capfd.readouterr().out)["calibration"]["source"]
    assert (source["layer"], source["pooling"], source["prompt"]) == ("1", "cls", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--score", "1.01"], "between -1 and 1"),
        (["--score", "nan"], "between -1 and 1"),
        (["--translate", "-1.5", "--from", "old"], "between -1 and 1"),
        (["--fpr", "0"], "between 0 and 1"),
        (["--fpr", "1"], "between 0 and 1"),
        (["--fpr", "x"], "into float"),
        (["--corpus-size", "0"], "at least 1"),
        (["--translate", "0.7"], "--from"),
        (["--from", "old"], "--translate"),
        (["--translate", "0.7", "--from", "nowhere"], "nowhere"),
        (["--queries", "v.npy"], "--documents"),
        (["--queries", "v.npy", "--documents", "v.npy"], "the source"),
        (["--precision", "0.9"], "--pairs"),
        (["--recall", "0.9"], "--pairs"),
        (["--cut", "4"], "--pairs"),
        (["--left", "a"], "--pairs"),
        (["--pairs", "nowhere.csv"], "nowhere.csv"),
        (["--pairs", "pairs.csv", "--left", "id1"], "--right"),
        (["--pairs", "pairs.csv", "--precision", "1.5"], "at most 1"),
        (["--pairs", "pairs.csv", "--label", "nothing"], "id1, id2, label"),
        (["--pairs", "pairs.csv", "--cut", "7"], "least grade of 7"),
        (["--layer", "2"], "--model"),
        (["--query-prompt", "q: "], "--queries"),
        (["--background", "nowhere.npy"], "nowhere.npy"),
        (["--background", "thin.npy"], "3 dimensions"),
        (["--repair", "nowhere"], "nowhere"),
        (["--document", "short.txt"], "2"),
        (["--save", "v.npy"], "v.npy"),
        (["--save", "missing/calibration"], "missing"),
        (["--html", "v.npy"], "overwrite"),
        (["--save", "calibration", "--figures", "calibration/figures"], "is inside"),
        (["--figures", "v.npy"], "is a file"),
        (["--replicates", "3"], "at least 10"),
    ],
)
def test_bad_options(options, message, rows, pairs, tmp_path, capfd):
    np.save("thin.npy", rows[:, :3])
    Path("short.txt").write_text("a\nb\n")
    assert message in refused(tmp_path, capfd, "calibrate", "v.npy", *options)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (np.ones((1, 4), np.float32), "vector"),
        (np.ones((5, 4), np.float32), "copies"),
        (np.zeros((5, 4), np.float32), "zero"),
        (np.full((5, 4), np.nan, np.float32), "NaN"),
    ],
)
def test_rows_that_cannot_be_calibrated(content, message, tmp_path, capfd):
    np.save("bad.npy", content)
    assert message in refused(tmp_path, capfd, "calibrate", "bad.npy")


def test_no_source(tmp_path, capfd):
    assert "Name a file" in refused(tmp_path, capfd, "calibrate")
    assert "nowhere.npy" in refused(tmp_path, capfd, "calibrate", "nowhere.npy")


def test_pairs_with_unknown_ids(rows, tmp_path, capfd):
    pq.write_table(pa.table({"key": [f"k{i}" for i in range(300)], "v": rows.tolist()}), "v.parquet")
    Path("p.csv").write_text("id1,id2,label\n" + "".join(f"k{i},x{i},{i % 2}\n" for i in range(40)))
    err = refused(tmp_path, capfd, "calibrate", "v.parquet", "--pairs", "p.csv", "--id", "key")
    assert "40 unknown ids" in err and "'x0'" in err
    assert "column" in refused(tmp_path, capfd, "calibrate", "v.parquet", "--pairs", "p.csv", "--id", "nothing")


def test_ten_rows(cone, capfd):
    np.save("ten.npy", cone(10, 4))
    assert run("calibrate", "ten.npy", "--no-html", "--corpus-size", 10) == 0
    assert "10 vectors are too few" in capfd.readouterr().out
