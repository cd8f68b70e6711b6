"""Texts to vectors in a file: the numbers of the model, the columns of the table, and complete or absent."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.numpy import load_file
from transformers import AutoModel, AutoTokenizer

import uncone
from uncone.cli.main import _run
from uncone.data.open import open_source
from uncone.data.source import Options
from uncone.encoders import text_vectors as encoder_source
from uncone.encoders.cached import ResumableTexts, journal_of
from uncone.errors import FormatError, OptionError, OutputError, ShapeError, SourceError

TEXTS = [f"the text {i} go to school {'again ' * (i % 5)}".strip() for i in range(60)]


@pytest.fixture
def table():
    pq.write_table(pa.table({"id": range(60), "text": TEXTS, "label": ["a", "b", None] * 20}), "texts.parquet")
    return "texts.parquet"


@pytest.fixture
def small_pools(monkeypatch):
    monkeypatch.setattr(encoder_source, "_POOL", 8)


@pytest.fixture(scope="module")
def expected(tiny_model):
    """The mean over the tokens of a text, without special ones, at every layer, one text at a time."""
    tokenizer, model = AutoTokenizer.from_pretrained(tiny_model), AutoModel.from_pretrained(tiny_model)
    rows = []
    with torch.no_grad():
        for text in TEXTS:
            states = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states
            rows.append([layer[0].mean(0).numpy() for layer in states])
    return np.array(rows).transpose(1, 0, 2)


def test_one_layer_and_the_columns_beside_it(table, tiny_model, expected):
    result = uncone.encode(table, model=tiny_model, layer=1, out="v.parquet")
    columns = pq.read_table("v.parquet")
    assert columns.column_names == ["id", "text", "label", "embedding"]
    assert columns["id"].to_pylist() == list(range(60)) and columns["label"].to_pylist() == ["a", "b", None] * 20
    np.testing.assert_allclose(np.array(columns["embedding"].to_pylist()), expected[1], atol=1e-5)
    assert (result.vectors, result.dim, result.layers, result.dropped) == (60, 32, (), ())
    assert "layer 1, mean pooling" in str(result) and str(result).endswith("wrote v.parquet")


def test_every_layer(table, tiny_model, expected):
    result = uncone.encode(table, model=tiny_model, layer="all", out="v.parquet")
    assert result.layers == ("layer_0", "layer_1", "layer_2") and result.dim == 32
    for layer in range(3):
        vectors = next(open_source("v.parquet", Options(column=f"layer_{layer}")).read()).vectors
        np.testing.assert_allclose(vectors, expected[layer], atol=1e-5)
    uncone.encode(table, model=tiny_model, layer="all", out="v.safetensors")
    tensors = load_file("v.safetensors")
    assert sorted(tensors) == ["layer_0", "layer_1", "layer_2"]
    np.testing.assert_array_equal(tensors["layer_2"], vectors)


@pytest.mark.parametrize("name", ["v.npy", "v.safetensors", "v.csv", "v.jsonl", "folder"])
def test_every_kind_of_output(name, table, tiny_model, expected):
    result = uncone.encode(table, model=tiny_model, layer=-1, out=name)
    vectors = np.concatenate([rows.vectors for rows in open_source(name).read()])
    np.testing.assert_allclose(vectors, expected[2], atol=1e-5)
    assert result.dropped == (("id", "text", "label") if name in ("v.npy", "v.safetensors") else ())


def test_lines_lists_blank_texts_and_a_limit(tiny_model):
    result = uncone.encode(["the text", " ", "go to school"], model=tiny_model, out="v.parquet")
    assert result.blank == 1 and pq.read_table("v.parquet")["text"].to_pylist() == ["the text", "", "go to school"]
    Path("t.txt").write_text("\n".join(TEXTS))
    assert uncone.encode("t.txt", model=tiny_model, limit=7, out="v.npy").vectors == 7
    assert np.load("v.npy").shape == (7, 32)


def test_shards_are_cut_at_a_fixed_number_of_rows(tiny_model, monkeypatch):
    monkeypatch.setattr("uncone.data.writing.folder._TEXTS", 32)
    uncone.encode(TEXTS, model=tiny_model, out="folder")
    assert [pq.read_metadata(path).num_rows for path in sorted(Path("folder").glob("*.parquet"))] == [32, 28]


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("name", ["v.parquet", "v.npy"])
def test_an_interrupted_run_goes_on_to_the_same_bytes(
    name, cache, table, tiny_model, small_pools, monkeypatch, tmp_path
):
    monkeypatch.setenv("UNCONE_CACHE", str(tmp_path / "one"))
    uncone.encode(table, model=tiny_model, layer=1, cache=cache, out=f"whole-{name}")
    monkeypatch.setenv("UNCONE_CACHE", str(tmp_path / "two"))
    calls = []

    def stop(step, done, total):
        calls.append((step, done, total))
        if len(calls) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        uncone.encode(table, model=tiny_model, layer=1, cache=cache, out=name, progress=stop)
    journal = journal_of(tmp_path / name)
    assert calls == [("encoding", 8, 60)] * 4 and not (tmp_path / name).exists() and journal.exists()
    with journal.open("r+b") as file:
        file.truncate(journal.stat().st_size - 10)  # as a kill in the middle of a write leaves it
    result = uncone.encode(table, model=tiny_model, layer=1, cache=cache, out=name)
    assert result.resumed == 24 and not journal.exists()
    assert _content(tmp_path / name) == _content(tmp_path / f"whole-{name}")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".") and path.name.endswith(".part")]


def _content(path):
    return [file.read_bytes() for file in sorted(path.iterdir())] if path.is_dir() else [path.read_bytes()]


def test_an_interrupted_folder_goes_on_to_the_same_bytes(table, tiny_model, monkeypatch, tmp_path):
    monkeypatch.setattr("uncone.data.writing.folder._TEXTS", 8)
    uncone.encode(table, model=tiny_model, layer=1, out="whole")

    def stop(step, done, total):
        assert (step, done, total) in (("encoding", 8, 60), ("encoding", 4, 60))
        if len(list(Path("folder").glob("*.parquet"))) >= 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        uncone.encode(table, model=tiny_model, layer=1, out="folder", progress=stop)
    n_files = len(list(Path("folder").glob("*.parquet")))
    assert 3 <= n_files < 8
    with pytest.raises(FormatError, match=r"folder is not complete.*uncone encode"):
        uncone.check("folder")
    with pytest.raises(OutputError, match=r"folder holds the unfinished output of another command"):
        uncone.encode(table, model=tiny_model, layer=2, out="folder")
    result = uncone.encode(table, model=tiny_model, layer=1, out="folder")
    assert 8 * n_files <= result.resumed < 60 and result.vectors == 60
    assert _content(tmp_path / "folder") == _content(tmp_path / "whole")
    before = {path: path.stat().st_mtime_ns for path in Path("folder").iterdir()}
    assert uncone.encode(table, model=tiny_model, layer=1, out="folder").resumed == 60
    assert before == {path: path.stat().st_mtime_ns for path in Path("folder").iterdir()}


def test_a_file_for_every_file_of_texts_with_its_columns(tiny_model, monkeypatch, expected):
    monkeypatch.setattr("uncone.data.writing.folder._TEXTS", 25)
    Path("texts").mkdir()
    # The first file alone would have whole numbers.
    lines = [f"{i},{'' if i == 3 else i if i < 10 else i + 0.5},{text}\n" for i, text in enumerate(TEXTS)]
    for name, part in {"a": lines[:10], "b": lines[10:]}.items():
        Path(f"texts/{name}.csv").write_text("".join(["id,weight,text\n", *part]))
    result = uncone.encode("texts", text="text", model=tiny_model, layer=1, out="folder", limit=55)
    names = ["a.parquet", "b-00000.parquet", "b-00001.parquet"]
    assert sorted(path.name for path in Path("folder").glob("*.parquet")) == names
    tables = [pq.read_table(f"folder/{name}") for name in names]
    assert [len(table) for table in tables] == [10, 25, 20] and result.vectors == 55
    assert {table.schema.remove_metadata() for table in tables} == {tables[0].schema.remove_metadata()}
    assert [value for table in tables for value in table["id"].to_pylist()] == list(range(55))
    assert tables[0]["weight"].to_pylist()[2:5] == [2.0, None, 4.0] and str(tables[0]["weight"].type) == "double"
    vectors = np.concatenate([np.array(table["embedding"].to_pylist()) for table in tables])
    np.testing.assert_allclose(vectors, expected[1][:55], atol=1e-5)


def test_a_killed_command_goes_on(tiny_model, tmp_path):
    texts = "".join(f"the text {i} go to school\n" for i in range(6000))
    (tmp_path / "t.txt").write_text(texts)
    command = [sys.executable, "-m", "uncone", "encode", "t.txt", "--model", tiny_model, "--no-cache", "-o", "v.npy"]
    process = subprocess.Popen(command)
    journal = journal_of(tmp_path / "v.npy")
    while process.poll() is None and not (journal.exists() and journal.stat().st_size > 1000):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL and not (tmp_path / "v.npy").exists()
    assert _run(["encode", "t.txt", "--model", str(tiny_model), "--no-cache", "-o", "v.npy"]) == 0
    assert _run(["encode", "t.txt", "--model", str(tiny_model), "--no-cache", "-o", "w.npy"]) == 0
    assert (tmp_path / "v.npy").read_bytes() == (tmp_path / "w.npy").read_bytes()


def test_a_journal_of_something_else_is_not_used(tiny_model, small_pools, tmp_path):
    def stop(step, done, total):
        raise KeyboardInterrupt

    for changed in ({"layer": 2}, {"texts": ["go", *TEXTS[1:]]}):
        with pytest.raises(KeyboardInterrupt):
            uncone.encode(TEXTS, model=tiny_model, layer=1, out="v.npy", progress=stop)
        texts = changed.pop("texts", TEXTS)
        result = uncone.encode(texts, model=tiny_model, out="v.npy", **{"layer": 1, **changed})
        assert result.resumed == 0 and result.vectors == 60


def test_two_runs_do_not_share_an_output(tiny_model):
    def other(step, done, total):
        with pytest.raises(OutputError, match=r"Another run is writing v\.npy now"):
            uncone.encode(TEXTS, model=tiny_model, out="v.npy")

    uncone.encode(TEXTS, model=tiny_model, out="v.npy", progress=other)


def test_a_full_disk(tiny_model, small_pools, monkeypatch, tmp_path):
    record = ResumableTexts._record
    calls = []

    class Full:
        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    def full(self, file, rows, digest):
        calls.append(1)
        record(self, Full() if len(calls) == 3 else file, rows, digest)

    monkeypatch.setattr(ResumableTexts, "_record", full)
    with pytest.raises(OutputError, match=r"Cannot write v.npy: No space left.*it goes on where it stopped") as caught:
        uncone.encode(TEXTS, model=tiny_model, out="v.npy")
    assert "\n" not in str(caught.value) and not (tmp_path / "v.npy").exists()
    assert uncone.encode(TEXTS, model=tiny_model, out="v.npy").resumed == 16


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"layer": 9}, OptionError, "There is no layer 9: the model has layers 0 to 2"),
        ({"layer": "last"}, OptionError, "--layer takes numbers such as 12"),
        ({"pooling": "median"}, OptionError, "--pooling must be"),
        ({"out": "v.npy", "layer": "all"}, OptionError, "A .npy file cannot store several layers"),
        ({"out": "v.docx"}, OptionError, "unknown ending '.docx'; we write .npy"),
        ({"out": "taken"}, OutputError, "holds something else, which is kept"),
        ({"out": "nowhere/v.npy"}, OutputError, "There is no folder"),
        ({"out": "texts.parquet"}, OptionError, "would overwrite the input"),
        ({"model": None}, OptionError, "Name the model"),
        ({"out": None}, OptionError, "-o vectors.parquet"),
    ],
)
def test_bad_input_is_one_line(options, error, says, table, tiny_model, tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "notes.txt").write_text("mine")
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(error) as caught:
        uncone.encode(table, **{"model": tiny_model, "out": "v.parquet", **options})
    assert says in str(caught.value) and "\n" not in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != ".vectors") == before


def test_no_texts(tiny_model, tmp_path):
    (tmp_path / "t.csv").write_text("text,n\n")
    (tmp_path / "e.txt").touch()
    for texts in ("t.csv", "e.txt", []):
        with pytest.raises((ShapeError, SourceError), match=r"no texts|empty"):
            uncone.encode(texts, model=tiny_model, out="v.npy")


def test_the_command(table, tiny_model, capfd):
    assert _run(["encode", table, "--model", str(tiny_model), "--layer", "all", "-o", "shards"]) == 0
    assert "60 vectors of 32 dimensions, 3 layers" in capfd.readouterr().out
    assert _run(["check", "shards", "--column", "layer_1", "--no-html"]) == 0
    capfd.readouterr()
    assert _run(["encode", table, "--model", str(tiny_model), "--layer", "7", "-o", "v.npy"]) == 2
    assert "There is no layer 7" in capfd.readouterr().err
