"""`uncone fix`, `apply`, `export`, `cache`: the commands of a user; bad input gets one line and loses nothing."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import pickle
import resource
import shutil
import signal
import subprocess
import time
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import UNCONE, refused, run, started, wait_until
from safetensors.numpy import load, save


class Bomb:
    def __reduce__(self):
        return (open, ("exploded", "w"))


def fitted(source, method, *more, save="repair"):
    """A repair that was fitted and saved, without a report."""
    assert run("fix", source, "--method", method, *more, "--save", save, "--no-html") == 0
    return save


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def whitened(rows, dim):
    """The same by another route: a singular value decomposition."""
    centered = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    u, _, _ = np.linalg.svd(centered, full_matrices=False)
    return u[:, :dim] * np.sqrt(len(rows) - 1)


def same_up_to_sign(found, expected, tolerance=1e-5):
    signs = np.sign((np.asarray(found, np.float64) * expected).sum(axis=0))
    return np.abs(found - expected * signs).max() < tolerance


@pytest.fixture
def rows(cone):
    found = cone(300, 12)
    np.save("v.npy", found)
    return found


@pytest.fixture
def table(rows):
    """A parquet file with other columns on both sides of the vectors."""
    columns = {
        "id": pa.array(range(300), pa.int16()),
        'odd "né,\n': [f"text {i}" for i in range(300)],
        "vector": pa.array(list(rows), pa.list_(pa.float32())),
        "day": pa.array(range(300), pa.date32()),
        "tag": pa.array(["a", None, "b"] * 100).dictionary_encode(),
    }
    pq.write_table(pa.table(columns), "vectors.parquet")
    return columns


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "grade"])
        writer.writerows([f"{i:03d}", f"the text {i}, go to school {i % 7}", i % 3] for i in range(60))
    return path


# The commands of a user.


def test_parquet_with_other_columns(rows, table, tmp_path, capfd):
    assert run("fix", "vectors.parquet", "--method", "whiten", "--dim", 5, "-o", "fixed.parquet", "--save", "r") == 0
    out, err = capfd.readouterr()
    assert err == "" and "Re-index" in out and "report uncone-fix.html" in out
    found, given = pq.read_table("fixed.parquet"), pq.read_table("vectors.parquet")
    assert found.schema.names == list(table)
    assert found.schema.field("vector").type == pa.list_(pa.float32(), 5)
    for name in set(table) - {"vector"}:
        assert found[name].type == given[name].type and found[name].to_pylist() == given[name].to_pylist()
    assert same_up_to_sign(np.array(found["vector"].to_pylist()), whitened(rows, 5))
    page = (tmp_path / "uncone-fix.html").read_text()
    assert "<html" in page and "whiten" in page
    assert {path.name for path in (tmp_path / "r").iterdir()} == {"repair.json", "repair.safetensors"}
    assert not list(tmp_path.rglob("*.part"))


def test_every_kind_of_file_holds_the_same(rows, table, capfd):
    fitted("v.npy", "droptop", "--k", 2)
    for ending in ("npy", "npz", "csv", "tsv", "jsonl", "safetensors", "parquet"):
        assert run("apply", "repair", "vectors.parquet", "-o", f"out.{ending}") == 0
    expected = np.load("out.npy")
    centered = rows - rows.mean(axis=0, dtype=np.float64)
    top = np.linalg.svd(centered, full_matrices=False)[2][:2]
    assert np.abs(expected - (centered - centered @ top.T @ top)).max() < 1e-5
    assert "this format cannot store id" in capfd.readouterr().out
    with Path("out.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0]) == list(table) and lines[7]["id"] == "7" and lines[1]["tag"] == ""
    with Path("out.jsonl").open() as file:
        objects = [json.loads(line) for line in file]
    assert objects[7]["day"] == "1970-01-08"
    read = {
        "npz": np.load("out.npz")["embedding"],
        "csv": np.array([json.loads(line["vector"]) for line in lines], np.float32),
        "jsonl": np.array([one["vector"] for one in objects], np.float32),
        "safetensors": load(Path("out.safetensors").read_bytes())["embedding"],
        "parquet": np.array(pq.read_table("out.parquet")["vector"].to_pylist(), np.float32),
    }
    for ending, found in read.items():
        assert np.array_equal(found, expected), ending


def test_a_table_of_numbers_and_json_lines(rows, capfd):
    with Path("v.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["key", *(f"x{i}" for i in range(12)), "note"])
        writer.writerows([f"00{i}", *map(repr, row.tolist()), 'a, "b"'] for i, row in enumerate(rows))
    assert run("fix", "v.csv", "--method", "center", "-o", "f.csv", "--no-html") == 0
    with Path("f.csv").open(newline="") as file:
        head, *body = csv.reader(file)
    assert head == ["key", *(f"x{i}" for i in range(12)), "note"] and body[3][0] == "003" and body[3][-1] == 'a, "b"'
    expected = rows - rows.mean(axis=0, dtype=np.float64)
    assert np.abs(np.array([row[1:-1] for row in body], np.float64) - expected).max() < 1e-6
    with Path("v.jsonl").open("w") as file:
        file.writelines(json.dumps({"é": i, "v": row.tolist(), "in": {"a": [i]}}) + "\n" for i, row in enumerate(rows))
    assert run("fix", "v.jsonl", "--method", "center", "-o", "f.jsonl", "--no-html") == 0
    with Path("f.jsonl").open() as file:
        objects = [json.loads(line) for line in file]
    assert objects[5]["é"] == 5 and objects[5]["in"] == {"a": [5]} and list(objects[5]) == ["é", "v", "in"]
    assert np.abs(np.array([one["v"] for one in objects]) - expected).max() < 1e-6


@pytest.mark.parametrize("kind", ["<f2", "<f8", ">f8", "|i1", "fortran"])
def test_other_numbers(rows, kind, capfd):
    given = np.asfortranarray(rows) if kind == "fortran" else (rows * 20 if kind == "|i1" else rows).astype(kind)
    np.save("o.npy", given)
    assert run("fix", "o.npy", "--method", "standardize", "-o", "f.npy", "--no-html") == 0
    found, numbers = np.load("f.npy"), given.astype(np.float64)
    assert found.dtype == ("<f8" if "f8" in kind else "<f4") and found.flags.c_contiguous
    expected = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0, ddof=1)
    assert np.abs(found - expected).max() < 1e-5


def test_shards_give_what_one_file_gives(rows, table, capfd):
    for i in range(3):
        pq.write_table(pq.read_table("vectors.parquet").slice(100 * i, 100), f"part-{i}.parquet")
    assert run("fix", "part-*.parquet", "--method", "whiten", "-o", "f.parquet", "--no-html") == 0
    found = pq.read_table("f.parquet")
    assert found["id"].to_pylist() == list(range(300))
    assert same_up_to_sign(np.array(found["vector"].to_pylist()), whitened(rows, 12), 1e-4)


def test_a_pipe_and_its_repair(rows, capfd):
    methods = "center,droptop,whiten,normalize"
    assert run("fix", "v.npy", "--method", methods, "--k", 1, "-o", "f.npy", "--save", "r", "--json", "-") == 0
    told = json.loads(capfd.readouterr().out)
    assert told["method"] == methods
    found = np.load("f.npy")
    assert np.abs(np.linalg.norm(found, axis=1) - 1).max() < 1e-6
    np.save("new.npy", rows[:40])
    assert run("apply", "r", "new.npy", "-o", "g.npy") == 0
    assert np.abs(np.load("g.npy") - found[:40]).max() < 1e-6
    assert "40 vectors of 12 dimensions" in capfd.readouterr().out


@pytest.mark.parametrize("method", ["clustered", "flow"])
def test_repairs_that_are_not_affine(cone, method, capfd):
    rows = cone(200, 7)
    np.save("odd.npy", rows)
    more = ["--k", "auto", "--p", 2] if method == "clustered" else ["--epochs", 1]
    assert run("fix", "odd.npy", "--method", method, *more, "-o", "f.npy", "--save", "r", "--no-html") == 0
    assert run("apply", "r", "odd.npy", "-o", "g.npy") == 0
    found = np.load("f.npy")
    assert np.array_equal(found, np.load("g.npy")) and np.isfinite(found).all() and found.shape == (200, 7)


def test_json_and_markdown_files(rows, tmp_path, capfd):
    outputs = ["--html", "r.html", "--json", "r.json", "--markdown", "r.md"]
    assert run("fix", "v.npy", "--method", "center", *outputs) == 0
    assert json.loads((tmp_path / "r.json").read_text())["method"] == "center"
    assert "center" in (tmp_path / "r.md").read_text()
    out = capfd.readouterr().out
    assert all(name in out for name in outputs[1::2])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "r.json", "r.md", "v.npy"]


@pytest.mark.parametrize("level", ["sentence", "token"])
def test_texts(texts, tiny_model, level, capfd):
    model = ["--model", tiny_model]
    more = ["--level", level, "--layer", "1,-1", "-o", "f.parquet", "--save", "r", "--no-html"]
    assert run("fix", texts, *model, "--method", "center", *more) == 0
    found = pq.read_table("f.parquet")
    assert found.schema.names == ["id", "text", "grade", "embedding"] and found["id"][3].as_py() == "003"
    vectors = np.array(found["embedding"].to_pylist())
    assert vectors.shape == (60, 32)
    if level == "sentence":
        assert np.abs(vectors.mean(axis=0)).max() < 1e-6
    said = json.loads(Path("r/repair.json").read_text())["provenance"]
    assert said["level"] == level and said["layer"] == "1,2" and said["encoder"] == str(tiny_model)
    assert run("apply", "r", texts, *model, "-o", "g.npy") == 0
    assert np.abs(np.load("g.npy") - vectors).max() < 1e-5
    capfd.readouterr()
    given = [found["text"][i].as_py() for i in (0, 9)]
    assert run("apply", "r", "--text", given[0], "--text", given[1], *model) == 0
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [line["text"] for line in lines] == given
    assert np.abs(np.array([line["embedding"] for line in lines]) - vectors[[0, 9]]).max() < 1e-5
    assert run("apply", "r", "--text", given[0], *model, "-o", "one.npy") == 0
    assert np.abs(np.load("one.npy") - vectors[:1]).max() < 1e-5


def test_the_cache_is_shared_listed_and_cleared(texts, tiny_model, capfd):
    fitted(texts, "whiten", "--model", tiny_model, "-o", "f.npy")
    capfd.readouterr()
    assert run("cache", "--json") == 0
    (entry,) = json.loads(capfd.readouterr().out)["entries"]
    assert (entry["model"], entry["rows"]) == (str(tiny_model), 60 + 311)  # and the sentences on many subjects
    assert run("apply", "repair", texts, "--model", tiny_model, "-o", "g.npy") == 0
    assert np.array_equal(np.load("f.npy"), np.load("g.npy"))
    assert run("cache", "--clear") == 0 and "Cleared 371 texts" in capfd.readouterr().out
    assert run("apply", "repair", texts, "--model", tiny_model, "--no-cache", "-o", "h.npy") == 0
    assert np.abs(np.load("f.npy") - np.load("h.npy")).max() < 1e-4
    assert run("cache") == 0 and "Nothing is cached" in capfd.readouterr().out


def test_a_cache_that_cannot_be_written_is_only_a_note(texts, tiny_model, monkeypatch, capfd):
    monkeypatch.setenv("UNCONE_CACHE", str(texts))
    fitted(texts, "center", "--model", tiny_model)
    out, err = capfd.readouterr()
    assert "switched off" in out and err == ""


def test_every_export_runs(rows, capfd):
    import duckdb
    import faiss
    import onnxruntime

    fitted("v.npy", "whiten", "--dim", 4)
    for target, place in (("numpy", "plain"), ("sql", "sql"), ("onnx", "r.onnx"), ("faiss", "r.faiss")):
        assert run("export", "repair", "--to", target, "-o", place) == 0
        assert f"wrote {place}" in capfd.readouterr().out
    run("apply", "repair", "v.npy", "-o", "f.npy")
    expected = np.load("f.npy")
    arrays = np.load("plain/repair.npz")
    assert np.abs((rows - arrays["mean"]) @ arrays["matrix"] + arrays["offset"] - expected).max() < 1e-5
    graph = onnxruntime.InferenceSession("r.onnx", providers=["CPUExecutionProvider"])
    assert np.abs(graph.run(None, {"vectors": rows})[0] - expected).max() < 1e-5
    index = faiss.read_index("r.faiss")
    index.add(rows)
    _, nearest = index.search(rows[:20], 2)
    units = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    assert np.array_equal(nearest, np.argsort(-units[:20] @ units.T, axis=1)[:, :2])
    database = duckdb.connect()
    database.execute(Path("sql/duckdb.sql").read_text())
    (found,) = database.execute("SELECT uncone_repair(?)", [rows[0].tolist()]).fetchone()
    assert np.abs(np.array(found) - expected[0]).max() < 1e-4


def test_export_behind_the_model(texts, tiny_model, capfd):
    from sentence_transformers import SentenceTransformer

    fitted(texts, "whiten,normalize", "--dim", 8, "--model", tiny_model, "-o", "f.npy")
    arguments = ("export", "repair", "--to", "sentence-transformers", "--model", tiny_model, "-o", "st")
    assert run(*arguments) == 0 and run(*arguments) == 0, "an earlier export is replaced"
    with Path(texts).open(newline="") as file:
        given = [row["text"] for row in csv.DictReader(file)]
    found = SentenceTransformer("st", device="cpu").encode(given, show_progress_bar=False)
    assert np.abs(found - np.load("f.npy")).max() < 1e-4


# Bad input.


BAD_FITS = {
    "few": (
        lambda x: x[:8],
        ["whiten", "--shrinkage", "none"],
        ["8 vectors for 12", "Try shrinkage='auto'"],
    ),
    "k over n": (lambda x: x[:30], ["clustered", "--k", "31", "--p", "1"], ["k=31", "30 rows", "a smaller k"]),
    "p is d": (lambda x: x, ["clustered", "--k", "2", "--p", "12"], ["p=12 directions of 12", "a p smaller"]),
    "k is d": (lambda x: x, ["droptop", "--k", "12"], ["12 directions of 12", "smaller"]),
    "dim over d": (lambda x: x, ["whiten", "--dim", "13"], ["from 1 to the 12", "we got 13"]),
    "one row": (lambda x: x[:1], ["center"], ["1 row", "at least 2"]),
    "no rows": (lambda x: x[:0], ["center"], ["(0, 12)", "at least 2"]),
    "zeros": (lambda x: x * 0, ["center"], ["300 are zero", "at least 2"]),
    "huge": (lambda x: x * np.float32(1e30), ["center"], ["over 1e16", "--float64"]),
    "k of another kind": (lambda x: x, ["droptop", "--k", "²"], ["whole number or auto", "²"]),
    "k with two signs": (lambda x: x, ["clustered", "--k", "--3"], ["whole number or auto"]),
    "k of 5000 digits": (lambda x: x, ["clustered", "--k", "9" * 5000], ["whole number or auto"]),
    "dimensions": (lambda x: x, ["mute", "--dimensions", "1,²"], ["--dimensions", "into int"]),
    "no such method": (lambda x: x, ["center,whitten"], ["'whitten'", "choose from center"]),
    "normalize first": (lambda x: x, ["normalize,center"], ["last step", "Move it to the end"]),
    "an option of others": (lambda x: x, ["center", "--k", "3"], ["does not take 'k'"]),
    "level": (lambda x: x, ["center", "--level", "token"], ["--level", "--model"]),
}


@pytest.mark.parametrize("name", BAD_FITS)
def test_what_cannot_be_fitted(name, rows, tmp_path, capfd):
    change, (method, *more), says = BAD_FITS[name]
    np.save("bad.npy", change(rows))
    err = refused(tmp_path, capfd, "fix", "bad.npy", "--method", method, *more, "-o", "f.npy", "--save", "r")
    assert all(part in err for part in says), err


@pytest.mark.parametrize("method", ["center", "standardize", "droptop", "whiten", "mute", "clustered", "flow"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_all_rows_equal(method, kind, tmp_path, capfd):
    """In float64 too, where the mean is off by a rounding and what is left is not zero."""
    np.save("same.npy", np.tile(np.random.default_rng(0).normal(size=(1, 12)) * 100, (333, 1)).astype(kind))
    more = ["--k", 2, "--p", 1] if method == "clustered" else []
    err = refused(tmp_path, capfd, "fix", "same.npy", "--method", method, *more, "-o", "f.npy", "--save", "r")
    assert "all 333 vectors are equal" in err and "Add other vectors" in err


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rows_that_are_no_numbers(bad, rows, tmp_path, capfd):
    rows[[3, 70], 2] = bad
    np.save("bad.npy", rows)
    err = refused(tmp_path, capfd, "fix", "bad.npy", "--method", "whiten", "-o", "f.npy", "--save", "r")
    assert "2 vectors of 300" in err and "row 3, 70" in err and "--skip-bad" in err
    fitted("bad.npy", "whiten", "--skip-bad", "-o", "f.npy")
    found = np.load("f.npy")
    assert np.isnan(found[[3, 70]]).all() and np.isfinite(np.delete(found, [3, 70], axis=0)).all()
    assert same_up_to_sign(np.delete(found, [3, 70], axis=0), whitened(np.delete(rows, [3, 70], axis=0), 12), 1e-4)


def test_what_overflows_is_counted(rows, capfd):
    fitted("v.npy", "whiten")
    np.save("far.npy", np.vstack([rows[:3], np.full((1, 12), 3e38)]).astype(np.float32))
    assert run("apply", "repair", "far.npy", "-o", "f.npy") == 0
    assert "1 vectors could not be repaired and are NaN" in capfd.readouterr().out
    assert np.isnan(np.load("f.npy")[3]).all() and np.isfinite(np.load("f.npy")[:3]).all()


def test_other_dimensions_and_other_encoders(rows, texts, tiny_model, tmp_path, capfd):
    fitted("v.npy", "center")
    np.save("wide.npy", np.ones((5, 13)))
    err = refused(tmp_path, capfd, "apply", "repair", "wide.npy", "-o", "f.npy")
    assert "dimension 12" in err and "have 13" in err and "the encoder" in err
    fitted(texts, "center", "--model", tiny_model, save="of-texts")
    shutil.copytree(tiny_model, tmp_path / "other")
    weights = load((tmp_path / "other/model.safetensors").read_bytes())
    name = next(name for name in weights if "layer.1.output.dense.weight" in name)
    weights[name] = weights[name] * 1.5
    (tmp_path / "other/model.safetensors").write_bytes(save(weights, {"format": "pt"}))
    err = refused(tmp_path, capfd, "apply", "of-texts", texts, "--model", "other", "-o", "f.npy")
    assert str(tiny_model) in err and "from other" in err and "Fit a repair for each" in err
    for target in ("sentence-transformers", "onnx"):
        export = ("export", "of-texts", "--to", target, "-o", "e", "--model")
        assert "Fit a repair for each" in refused(tmp_path, capfd, *export, "other")
        assert "Leave --layer out" in refused(tmp_path, capfd, *export, tiny_model, "--layer", "1")
        assert "Leave --level out" in refused(tmp_path, capfd, *export, tiny_model, "--level", "token")
    err = refused(tmp_path, capfd, "apply", "of-texts", "--text", "the text", "--model", tiny_model, "--layer", "1")
    assert "layer 2" in err and "Leave --layer out" in err
    err = refused(tmp_path, capfd, "apply", "of-texts", "--text", "  ", "--model", tiny_model)
    assert "blank" in err and "has no vector" in err


def test_writing_over_what_is_read(rows, texts, tiny_model, tmp_path, capfd):
    fitted("v.npy", "center")
    fitted(texts, "center", "--model", tiny_model, save="of-texts")
    Path("link.npy").symlink_to("v.npy")
    Path("hard.npy").hardlink_to("v.npy")
    Path("inside.safetensors").symlink_to("repair/repair.safetensors")
    (tmp_path / "empty").mkdir()
    shutil.copytree(tiny_model, tmp_path / "model")
    through = ["--model", "model"]
    for name in ("v.npy", "./v.npy", "link.npy", "hard.npy"):
        assert "over" in refused(tmp_path, capfd, "fix", "v.npy", "--method", "center", "-o", name)
        assert "overwrite the input" in refused(tmp_path, capfd, "apply", "repair", "v.npy", "-o", name)
    assert "overwrite the input" in refused(tmp_path, capfd, "apply", "repair", "link.npy", "-o", "v.npy")
    for option in ("--html", "--json", "--markdown"):
        assert "overwrite the source" in refused(tmp_path, capfd, "fix", "v.npy", "--method", "center", option, "v.npy")
    for name in ("repair/repair.safetensors", "inside.safetensors", "repair/new.npy"):
        err = refused(tmp_path, capfd, "apply", "repair", "v.npy", "-o", name)
        assert "is the repair" in err and "elsewhere" in err
    for name in ("model/model.safetensors", "model/new.npy"):
        assert "is the model" in refused(tmp_path, capfd, "apply", "of-texts", texts, *through, "-o", name)
    fix = ("fix", "v.npy", "--method", "center")
    for more in (
        ("-o", "new.npy", "--save", "new.npy"),
        ("-o", "empty/new.npy", "--save", "empty"),
        ("-o", "repair/repair.safetensors", "--save", "repair"),
        ("--html", "repair/repair.json", "--save", "repair"),
        ("--json", "empty/r.json", "--save", "empty"),
    ):
        assert "is the repair" in refused(tmp_path, capfd, *fix, *more), more
    for place in ("v.npy", ".", "model"):
        err = refused(tmp_path, capfd, *fix, "--no-html", "--save", place)
        assert "Name another" in err
    for target, place in (("numpy", "repair"), ("onnx", "v.npy"), ("faiss", "v.npy"), ("sql", "model")):
        assert "stays" in refused(tmp_path, capfd, "export", "repair", "--to", target, "-o", place) or place == "v.npy"
    os.mkfifo("pipe.npy")
    before = names(tmp_path)
    assert run("apply", "repair", "v.npy", "-o", "pipe.npy") == 2
    assert "not a regular file" in capfd.readouterr().err and names(tmp_path) == before


def damages(json_bytes, tensors):
    """Ways in which a folder can be damaged: what both files become, and what the line must say."""
    said, bomb = json.loads(json_bytes), pickle.dumps(Bomb())

    def packed(changed, **more):
        data = save({name: np.ascontiguousarray(value) for name, value in changed.items()})
        return json.dumps({**said, "sha256": hashlib.sha256(data).hexdigest(), **more}).encode(), data

    arrays = load(tensors)
    first = next(name for name, value in arrays.items() if value.dtype.kind == "f")
    flipped = bytearray(tensors)
    flipped[-3] ^= 1
    yield "cut json", json_bytes[:-30], tensors, "not JSON"
    yield "empty json", b"", tensors, "not JSON"
    yield "deep json", b"[" * 100_000, tensors, "not JSON"
    yield "another json", b'{"a": 1}', tensors, "cannot be read"
    yield "cut numbers", json_bytes, tensors[:-40], "truncated or tampered"
    yield "no numbers", json_bytes, b"", "truncated or tampered"
    yield "a flipped bit", json_bytes, bytes(flipped), "truncated or tampered"
    yield "a pickle for numbers", json_bytes, bomb, "truncated or tampered"
    yield "a pickle for json", bomb, tensors, "not JSON"
    yield "a pickle with its digest", packed({})[0], bomb, "truncated or tampered"
    digest = hashlib.sha256(bomb).hexdigest()
    yield "a signed pickle", json.dumps({**said, "sha256": digest}).encode(), bomb, "not a whole .safetensors"
    yield "NaN", *packed({**arrays, first: np.full_like(arrays[first], np.nan)}), "NaN"
    yield "half precision", *packed({**arrays, first: arrays[first].astype(np.float16)}), "float16"
    yield "a lacking array", *packed({name: arrays[name] for name in arrays if name != first}), "whole repair"
    yield "one array more", *packed({**arrays, "zz": np.zeros(3)}), "repair"
    yield "another kind", json.dumps({**said, "kind": "os.system"}).encode(), tensors, "os.system"
    yield "another dimension", json.dumps({**said, "dim_in": 5}).encode(), tensors, "not those"
    yield "a newer schema", json.dumps({**said, "schema": 9}).encode(), tensors, "newer uncone"


@pytest.mark.parametrize("method", ["whiten", "clustered", "flow", "center,normalize"])
def test_a_damaged_repair(method, rows, tmp_path, capfd):
    more = {"clustered": ["--k", 3, "--p", 2], "flow": ["--epochs", 1]}.get(method, [])
    folder = tmp_path / fitted("v.npy", method, *more)
    good = [(folder / name).read_bytes() for name in ("repair.json", "repair.safetensors")]
    (folder / "repair.pkl").write_bytes(pickle.dumps(Bomb()))
    for name, said, tensors, says in damages(*good):
        (folder / "repair.json").write_bytes(said)
        (folder / "repair.safetensors").write_bytes(tensors)
        apply, export = ("apply", folder, "v.npy", "-o", "f.npy"), ("export", folder, "--to", "onnx", "-o", "r.onnx")
        for arguments in (apply, export):
            err = refused(tmp_path, capfd, *arguments)
            assert (says in err and str(folder) in err) or name == "another kind", (name, err)
            assert any(word in err for word in ("fit a new repair", "Update uncone")), (name, err)
    assert not (tmp_path / "exploded").exists()
    (folder / "repair.safetensors").unlink()
    (folder / "repair.json").write_bytes(good[0])
    assert "has no repair.safetensors" in refused(tmp_path, capfd, "apply", folder, "v.npy", "-o", "f.npy")
    (folder / "repair.json").unlink()
    assert "has no repair.json" in refused(tmp_path, capfd, "apply", folder, "v.npy", "-o", "f.npy")
    assert "has no repair.json" in refused(tmp_path, capfd, "apply", "v.npy", "v.npy", "-o", "f.npy")


def test_a_flow_of_another_size_is_not_built(rows, tmp_path, capfd):
    """A million levels would take minutes and all memory before they turned out not to fit."""
    folder = tmp_path / fitted("v.npy", "flow", "--epochs", 1)
    saved = json.loads((folder / "repair.json").read_text())
    for name, value in product(["levels", "depth", "hidden"], [10**6, 10**30, -1, None, "x", True]):
        changed = {**saved, "parameters": {**saved["parameters"], name: value}}
        (folder / "repair.json").write_text(json.dumps(changed))
        start = time.process_time()
        assert "fit a new repair" in refused(tmp_path, capfd, "apply", folder, "v.npy", "-o", "f.npy"), (name, value)
        assert time.process_time() - start < 5, (name, value)


def test_a_repair_that_does_not_say_how_it_was_encoded(texts, tiny_model, tmp_path, capfd):
    folder = tmp_path / fitted(texts, "center", "--model", tiny_model)
    good = json.loads((folder / "repair.json").read_text())
    for name in ("level", "layer", "pooling", "prompt", "normalize"):
        for value in (None, [], {"a": 1}, 1.5):
            said = {**good, "provenance": {**good["provenance"], name: value}}
            (folder / "repair.json").write_text(json.dumps(said))
            err = refused(tmp_path, capfd, "apply", folder, texts, "--model", tiny_model, "-o", "f.npy")
            assert f"its {name} cannot be read" in err and "fit it again" in err


# Runs that do not end well.


@pytest.fixture
def large(cone, tmp_path):
    """A run that writes long enough to be hit, over a file that was there before."""
    np.save("small.npy", cone(300, 32))
    fitted("small.npy", "center")
    np.save("large.npy", cone(100_000, 32))
    (tmp_path / "out").mkdir()
    (tmp_path / "out/f.jsonl").write_text("old")
    return tmp_path / "out/f.jsonl"


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_run_that_is_ended_leaves_the_old_file(how, code, large):
    with started("apply", "repair", "large.npy", "-o", large) as process:
        wait_until(lambda: any(part.stat().st_size for part in large.parent.glob(".*.part")), process)
        process.send_signal(how)
        _, err = process.communicate(timeout=60)
    assert process.returncode == code and "Traceback" not in err
    assert large.read_text() == "old"
    if how != signal.SIGKILL:
        assert names(large.parent) == ["f.jsonl"], "half a file was left"


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_a_full_disk(ending, rows, tmp_path):
    fitted("v.npy", "center")
    (tmp_path / "out").mkdir()
    (tmp_path / f"out/f.{ending}").write_text("old")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    command = [*UNCONE, "apply", "repair", "v.npy", "-o", f"out/f.{ending}"]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("uncone: Cannot write") and "untouched" in done.stderr
    assert names(tmp_path / "out") == [f"f.{ending}"] and (tmp_path / f"out/f.{ending}").read_text() == "old"


@pytest.mark.parametrize("target", ["numpy", "sql", "onnx", "faiss", "sentence-transformers"])
def test_an_export_to_a_full_disk(target, rows, texts, tiny_model, tmp_path, capfd):
    """faiss writes half an index and says nothing; safetensors and tokenizers have errors of their own."""
    more = ["--model", tiny_model] if target == "sentence-transformers" else []
    fitted(texts if more else "v.npy", "whiten", *more)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400, before[1]))
        code = run("export", "repair", "--to", target, "-o", "e", *more)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    err = capfd.readouterr().err
    assert code == 2 and err.startswith("uncone: Cannot write e") and err.count("\n") == 1, err
    assert not (tmp_path / "e").exists() and not list(tmp_path.glob(".*part*"))


def test_standard_input_is_read_once(rows):
    fitted("v.npy", "center")
    with Path("v.npy").open("rb") as file:
        done = subprocess.run([*UNCONE, "apply", "repair", "-", "-o", "f.npy"], stdin=file, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert np.abs(np.load("f.npy") - (rows - rows.mean(axis=0))).max() < 1e-5
    command = f"cat v.npy | {' '.join(UNCONE)} fix - --method center -o g.npy --no-html"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.returncode == 2 and "only once" in done.stderr and "Save it to a file first" in done.stderr
