"""A source into a folder: the rows of every file in a file of its own, whole or absent, by whoever does the work."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file, save_file

import uncone
from uncone.errors import FormatError, OptionError, OutputError
from uncone.repairs.dimensions import Center

ROWS = np.random.default_rng(0).normal(1, 1, (1000, 8)).astype(np.float32)
EDGES = [0, 300, 305, 1000]


@pytest.fixture
def repair():
    return Center().fit(ROWS)


@pytest.fixture
def shards():
    """Uneven Parquet files, with a column beside the vectors and a row that can't be used."""
    rows = ROWS.copy()
    rows[400] = np.nan
    Path("shards").mkdir()
    for place, (start, stop) in enumerate(itertools.pairwise(EDGES)):
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows[start:stop].ravel()), 8)
        table = pa.table({"id": range(start, stop), "vector": vectors})
        pq.write_table(table, f"shards/part-{place}.parquet", row_group_size=64)
    return rows


def naive(rows):
    return rows - ROWS.astype(np.float64).mean(0)


def vectors_in(path):
    return np.array(pq.read_table(path)["vector"].to_pylist(), np.float32)


def test_a_file_for_every_file(shards, repair):
    result = uncone.apply(repair, "shards", out="out")
    assert (result.rows, result.dim, result.unusable, result.dropped) == (1000, 8, 1, ())
    names = sorted(path.name for path in Path("out").iterdir())
    assert names == ["_uncone.json", "part-0.parquet", "part-1.parquet", "part-2.parquet"]
    for place, (start, stop) in enumerate(itertools.pairwise(EDGES)):
        path = f"out/part-{place}.parquet"
        np.testing.assert_allclose(vectors_in(path), naive(shards[start:stop]), atol=1e-5)
        assert pq.read_table(path)["id"].to_pylist() == list(range(start, stop))
    manifest = json.loads(Path("out/_uncone.json").read_text())
    assert manifest["complete"] and [file["rows"] for file in manifest["files"]] == [300, 5, 695]


@pytest.mark.parametrize("kind", ["npy", "safetensors", "parquet", "csv"])
def test_a_single_file_keeps_its_kind_and_is_cut_where_it_can_be(kind, repair, monkeypatch):
    monkeypatch.setattr("uncone.data.writing.folder._ROWS", 400)
    source = f"rows.{kind}"
    if kind == "npy":
        np.save(source, ROWS)
    elif kind == "safetensors":
        save_file({"rows": ROWS}, source)
    elif kind == "parquet":
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(ROWS.ravel()), 8)
        pq.write_table(pa.table({"id": range(1000), "vector": vectors}), source, row_group_size=130)
    else:
        np.savetxt(source, ROWS, delimiter=",", header=",".join("abcdefgh"), comments="")
    uncone.apply(repair, source, out="out")
    paths = sorted(Path("out").glob(f"*.{kind}"))
    read = {
        "npy": np.load,
        "safetensors": lambda path: load_file(path)["rows"],
        "parquet": vectors_in,
        "csv": lambda path: np.loadtxt(path, delimiter=",", skiprows=1),
    }[kind]
    parts = [read(path) for path in paths]
    assert [len(part) for part in parts] == ([1000] if kind == "csv" else [400, 400, 200])
    assert paths[0].name == (f"rows.{kind}" if kind == "csv" else f"rows-00000.{kind}")
    np.testing.assert_allclose(np.concatenate(parts), naive(ROWS), atol=1e-5)
    if kind == "parquet":
        assert [value for path in paths for value in pq.read_table(path)["id"].to_pylist()] == list(range(1000))


def test_names_that_would_be_the_same_are_numbered(repair):
    for folder, part in {"a": ROWS[:400], "b": ROWS[400:]}.items():
        Path(folder).mkdir()
        np.save(f"{folder}/rows.npy", part)
    uncone.apply(repair, "[ab]/rows.npy", out="out")
    assert [len(np.load(path)) for path in sorted(Path("out").glob("*.npy"))] == [400, 600]


def test_texts_and_labels_given_beside_shards_stay_with_their_rows(repair):
    Path("shards").mkdir()
    for place, (start, stop) in enumerate(itertools.pairwise(EDGES)):
        np.save(f"shards/{place}.npy", ROWS[start:stop])
    names = [f"text {i}" for i in range(1000)]
    uncone.apply(repair, "shards", out="out", texts=names)
    for place, (start, stop) in enumerate(itertools.pairwise(EDGES)):
        np.testing.assert_allclose(np.load(f"out/{place}.npy"), naive(ROWS[start:stop]), atol=1e-5)


def interrupted(repair, source, after):
    done = []

    def stop(step, amount, total):
        done.append(amount)
        if sum(done) > after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        uncone.apply(repair, source, out="out", progress=stop)


def test_an_interrupted_run_goes_on(shards, repair):
    uncone.apply(repair, "shards", out="whole")
    interrupted(repair, "shards", 310)
    assert sorted(path.name for path in Path("out").glob("*.parquet")) == ["part-0.parquet", "part-1.parquet"]
    assert not list(Path("out").glob(".*.part"))
    with pytest.raises(FormatError, match="out is not complete"):
        uncone.check("out")
    before = Path("out/part-0.parquet").stat().st_mtime_ns
    Path("out/.part-2.parquet.abc.part").write_bytes(b"what a killed worker left")
    uncone.apply(repair, "shards", out="out")
    assert Path("out/part-0.parquet").stat().st_mtime_ns == before
    for path in Path("whole").iterdir():
        assert path.read_bytes() == (Path("out") / path.name).read_bytes()
    assert len(list(Path("out").iterdir())) == 4


def test_an_unfinished_folder_of_something_else_is_kept(shards, repair):
    interrupted(repair, "shards", 310)
    other = Center().fit(ROWS[:500])
    with pytest.raises(OutputError, match="out holds the unfinished output of another command"):
        uncone.apply(other, "shards", out="out")
    pq.write_table(pq.read_table("shards/part-0.parquet"), "shards/part-1.parquet")
    with pytest.raises(OutputError, match="out holds the unfinished output of another command or of other files"):
        uncone.apply(repair, "shards", out="out")
    Path("full").mkdir()
    Path("full/notes.txt").write_text("mine")
    with pytest.raises(OutputError, match="full holds something else"):
        uncone.apply(repair, "shards", out="full")


def test_a_file_that_changes_is_not_written(shards, repair):
    def change(step, amount, total):
        path = Path("shards/part-1.parquet")
        path.write_bytes(path.read_bytes() + b"\0")

    with pytest.raises(FormatError, match=r"part-1\.parquet changed while it was being read"):
        uncone.apply(repair, "shards", out="out", progress=change)
    assert sorted(path.name for path in Path("out").glob("*.parquet")) == ["part-0.parquet"]


def test_an_engine_writes_no_single_file(shards, repair):
    for out in ("fixed.npy", None):
        with pytest.raises(OptionError, match=r"--engine writes a folder.*-o out/"):
            uncone.apply(repair, "shards", out=out, engine="ray")
    with pytest.raises(OptionError, match="--engine writes a folder"):
        uncone.encode(["a text"], model="m", out="v.npy", engine="ray")


def test_a_file_without_a_word_that_a_static_model_knows(tmp_path):
    """The model is prepared for the texts of all files, as it is when they become one file."""
    Path("words.vec").write_text("2 3\nking 1 2 3\nqueen 4 5 6\n")
    Path("texts").mkdir()
    Path("texts/a.txt").write_text("the king\nthe queen\n")
    Path("texts/b.txt").write_text("qqq\nking queen\n")
    Path("texts/c.txt").write_text("zzz\n")
    uncone.encode("texts", model="words.vec", out="whole.parquet")
    uncone.encode("texts", model="words.vec", out="parts")
    parts = [pq.read_table(f"parts/{name}.parquet") for name in "abc"]
    vectors = [row for part in parts for row in part["embedding"].to_pylist()]
    assert vectors == [[1, 2, 3], [4, 5, 6], [0, 0, 0], [2.5, 3.5, 4.5], [0, 0, 0]]
    assert vectors == pq.read_table("whole.parquet")["embedding"].to_pylist()
