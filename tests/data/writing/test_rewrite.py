"""Repaired vectors in new files: read back with other libraries; order, columns, precision; nothing half-written."""

from __future__ import annotations

import csv
import datetime
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file, save_file

from uncone.data.open import open_source
from uncone.data.source import Options, Rows, Source
from uncone.data.texts.texts import open_texts
from uncone.data.vectors.memory import ArrayVectors
from uncone.data.vectors.shards import NamedRows
from uncone.data.writing import rewrite as module
from uncone.data.writing.rewrite import OUTPUTS, output_suffix, rewrite
from uncone.errors import FormatError, OptionError, OutputError, ShapeError

N, D, K = 50, 6, 3
MATRIX = np.random.default_rng(1).normal(size=(D, K))
BAD = [4, 30]


def repair(rows):
    """As a repair does it: it cannot stand NaN, keeps precision and takes any number of rows."""
    assert np.isfinite(rows).all() and len(rows)
    return ((rows - 0.5) @ MATRIX.astype(rows.dtype)).astype(rows.dtype)


def wanted_of(rows):
    whole = np.asarray(rows, np.float64)
    return (whole - 0.5) @ MATRIX


@pytest.fixture
def rows():
    made = np.random.default_rng(0).normal(size=(N, D)).astype(np.float32)
    made[4], made[30, 2] = np.nan, np.inf
    return made


@pytest.fixture
def wanted(rows):
    whole = np.where(np.isfinite(rows).all(axis=1)[:, None], rows, np.nan)
    return wanted_of(whole)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Several blocks, of which one holds nothing usable."""
    monkeypatch.setattr(module, "BLOCK", 7)


def names(folder=Path()):
    return sorted(path.name for path in folder.iterdir())


def agrees(found, wanted, tolerance=1e-5):
    found = np.asarray(found)
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=tolerance, atol=tolerance)


# --- plain arrays --------------------------------------------------------------------------------------------------


def test_npy(rows, wanted):
    np.save("in.npy", rows)
    told = rewrite("in.npy", "out.npy", repair, dim=K)
    found = np.load("out.npy")
    assert found.dtype == np.float32 and found.flags.c_contiguous
    agrees(found, wanted)
    assert (told.rows, told.dim, told.dtype, told.unusable, told.dropped) == (N, K, "float32", 2, ())
    assert sorted(path.name for path in Path().iterdir()) == ["in.npy", "out.npy"]
    np.testing.assert_array_equal(np.load("out.npy", mmap_mode="r"), found)


@pytest.mark.parametrize(
    ("given", "expected"),
    [("float64", "float64"), ("float32", "float32"), ("float16", "float32"), ("int8", "float32"), (">f8", "float64")],
)
@pytest.mark.parametrize("out", ["out.npy", "out.safetensors", "out.parquet", "out.npz"])
def test_precision(given, expected, out):
    rows = (10 * np.random.default_rng(0).normal(size=(N, D))).astype(given)
    np.save("in.npy", rows)
    assert rewrite("in.npy", out, lambda rows: rows).dtype == expected
    reader = {
        "out.npy": np.load,
        "out.npz": lambda path: np.load(path)["embedding"],
        "out.safetensors": lambda path: load_file(path)["embedding"],
        "out.parquet": lambda path: np.stack(pd.read_parquet(path)["embedding"].tolist()),
    }[out]
    found = reader(out)
    assert found.dtype == expected
    np.testing.assert_array_equal(found, rows.astype(expected))


class Uncounted(Source):
    """Rows that nobody counted beforehand."""

    name, kind, dtype, rows = "uncounted", "test", "float32", None

    def __init__(self, vectors):
        self.vectors, self.dim = vectors, vectors.shape[1]

    def read(self, start=0, stop=None):
        for first in range(0, len(self.vectors), 11):
            yield Rows(self.vectors[first : first + 11])


@pytest.mark.parametrize("out", ["out.npy", "out.npz", "out.safetensors", "out.parquet", "out.jsonl", "out.csv"])
def test_rows_that_were_not_counted(rows, wanted, out):
    assert rewrite(Uncounted(rows), out, repair, dim=K).rows == N
    source = open_source(out)
    agrees(np.concatenate([part.vectors.copy() for part in source.read()]), wanted)
    assert names() == [out]


def test_npz_keeps_its_other_arrays(rows, wanted):
    np.savez_compressed("in.npz", vectors=rows, ids=np.arange(N), words=np.array(["é"] * N))
    told = rewrite("in.npz", "out.npz", repair, dim=K, options=Options(text="words"))
    with np.load("out.npz", allow_pickle=False) as found:
        assert sorted(found.files) == ["ids", "vectors", "words"]
        agrees(found["vectors"], wanted)
        assert found["ids"].tolist() == list(range(N)) and found["words"][3] == "é"
    assert told.dropped == ()
    assert rewrite("in.npz", "out.npy", repair, dim=K).dropped == ("ids", "words")


def test_safetensors(rows, wanted):
    save_file({"vectors": rows, "other": np.ones(3, np.float32)}, "in.safetensors")
    told = rewrite("in.safetensors", "out.safetensors", repair, dim=K)
    agrees(load_file("out.safetensors")["vectors"], wanted)
    assert told.dropped == ("other",)


def test_words(rows, wanted):
    usable = np.where(np.isfinite(rows), rows, 1.0)
    words = ["é", ". . .", *[f"w{i}" for i in range(N - 2)]]
    lines = [f"{word} {' '.join(map(repr, row.tolist()))}" for word, row in zip(words, usable, strict=True)]
    Path("in.vec").write_text(f"{N} {D}\n" + "\n".join(lines) + "\n")
    for out in ("out.vec", "out.txt"):
        assert rewrite("in.vec", out, repair, dim=K).dropped == ()
        read = [line.rsplit(" ", K) for line in Path(out).read_text().splitlines()]
        if out == "out.vec":
            assert Path(out).read_text().splitlines()[0].split() == [str(N), str(K)]
            read = read[1:]
        assert [line[0] for line in read] == words
        agrees([[float(number) for number in line[1:]] for line in read], wanted_of(usable))
        (part,) = open_source(out).read()
        assert list(part.texts) == words
    assert rewrite("in.vec", "out.parquet", repair, dim=K).dropped == ()
    assert pd.read_parquet("out.parquet")["word"].tolist() == words


@pytest.mark.parametrize("word", ["two\nlines", "", "in 1990", " x"])
def test_words_that_such_a_file_cannot_hold(rows, word):
    source = NamedRows.of(ArrayVectors(rows), ["good"] * (N - 1) + [word], None)
    with pytest.raises(OptionError, match="Row 49 is"):
        rewrite(source, "out.vec", repair, dim=K)
    with pytest.raises(OptionError, match="has no words"):
        rewrite(rows, "out.txt", repair, dim=K)
    assert names() == []


def test_texts_given_beside_an_array(rows, wanted):
    source = NamedRows.of(ArrayVectors(rows), [f"t{i}" for i in range(N)], ["l"] * N)
    assert rewrite(source, "out.jsonl", repair, dim=K).dropped == ()
    first = json.loads(Path("out.jsonl").read_text().splitlines()[0])
    assert (first["text"], first["label"]) == ("t0", "l") and len(first["embedding"]) == K
    assert rewrite(source, "out.npy", repair, dim=K).dropped == ("text", "label")


# --- tables of vectors ---------------------------------------------------------------------------------------------


@pytest.fixture
def table(rows):
    """A parquet file with a column of every sort, the vectors in the middle."""
    when = [datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(hours=i) for i in range(N)]
    vectors = pa.array([None if i == 4 else row.tolist() for i, row in enumerate(rows)], pa.list_(pa.float32()))
    made = pa.table(
        {
            "id": pa.array(range(N), pa.int16()),
            "text": pa.array([None if i == 2 else f"é {i}" for i in range(N)], pa.large_string()),
            "v": vectors,
            "kind": pa.array(["a", "b"] * (N // 2)).dictionary_encode(),
            "when": pa.array(when, pa.timestamp("us", "UTC")),
            "tags": pa.array([["x"] * (i % 3) for i in range(N)], pa.list_(pa.string())),
            "more": pa.array(
                [{"a": i, "b": None} for i in range(N)], pa.struct([("a", pa.int32()), ("b", pa.string())])
            ),
        }
    ).replace_schema_metadata({"mine": "kept"})
    pq.write_table(made, "in.parquet", row_group_size=13)
    return made


def test_parquet_to_parquet(table, wanted):
    told = rewrite("in.parquet", "out.parquet", repair, dim=K)
    found = pq.read_table("out.parquet")
    assert found.schema.names == table.schema.names and found.schema.metadata[b"mine"] == b"kept"
    assert found.schema.field("v").type == pa.list_(pa.float32(), K)
    for name in set(table.schema.names) - {"v"}:
        assert found.schema.field(name).type == table.schema.field(name).type
        assert found.column(name).to_pylist() == table.column(name).to_pylist()
    agrees(found.column("v").to_pylist(), wanted)
    assert (told.unusable, told.dropped) == (2, ())
    assert pq.ParquetFile("out.parquet").num_row_groups == -(-N // 7), "written as it was read"


def test_parquet_to_lines(table, wanted):
    rewrite("in.parquet", "out.jsonl", repair, dim=K)
    lines = [json.loads(line, parse_constant=pytest.fail) for line in Path("out.jsonl").read_text().splitlines()]
    agrees([[np.nan if x is None else x for x in line.pop("v")] for line in lines], wanted)
    assert lines[2]["text"] is None and lines[3] == {
        "id": 3,
        "text": "é 3",
        "kind": "b",
        "when": "2024-01-01T03:00:00+00:00",
        "tags": [],
        "more": {"a": 3, "b": None},
    }
    rewrite("in.parquet", "out.csv", repair, dim=K)
    found = pd.read_csv("out.csv")
    assert found.columns.tolist() == table.schema.names
    agrees([[np.nan if x is None else x for x in json.loads(value)] for value in found["v"]], wanted)
    assert found["id"].tolist() == list(range(N)) and found["text"][3] == "é 3" and pd.isna(found["text"][2])
    assert rewrite("in.parquet", "out.npy", repair, dim=K).dropped == ("id", "text", "kind", "when", "tags", "more")


def test_parquet_with_nothing_but_vectors(rows, wanted):
    pq.write_table(pa.table({"v": list(rows.astype(np.float64))}), "in.parquet")
    told = rewrite("in.parquet", "out.parquet", repair, dim=K)
    found = pq.read_table("out.parquet")
    assert found.schema.names == ["v"] and found.schema.field("v").type == pa.list_(pa.float64(), K)
    agrees(found.column("v").to_pylist(), wanted, 1e-12)
    assert told.dtype == "float64"


def test_a_damaged_column_is_told_and_nothing_is_written(rows):
    words = pa.array([f"{i}" * 50 for i in range(N)])
    pq.write_table(pa.table({"v": list(np.nan_to_num(rows)), "words": words}), "in.parquet", compression="snappy")
    column = pq.ParquetFile("in.parquet").metadata.row_group(0).column(1)
    data = bytearray(Path("in.parquet").read_bytes())
    start = column.dictionary_page_offset
    data[start : start + column.total_compressed_size] = bytes(column.total_compressed_size)
    Path("in.parquet").write_bytes(data)
    with pytest.raises(FormatError, match="not a readable parquet file"):
        rewrite("in.parquet", "out.parquet", repair, dim=K)
    assert names() == ["in.parquet"]


def test_shards_of_parquet(rows, wanted):
    Path("in").mkdir()
    for i, start in enumerate(range(0, N, 17)):
        part = slice(start, start + 17)
        made = {"id": list(range(N))[part], "v": list(rows[part])}
        pq.write_table(pa.table(made), f"in/{i}.parquet")
    rewrite("in", "out.parquet", repair, dim=K)
    found = pq.read_table("out.parquet")
    assert found.column("id").to_pylist() == list(range(N))
    agrees(found.column("v").to_pylist(), wanted)


def as_text(row):
    return json.dumps([None if not np.isfinite(x) else float(x) for x in row])


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz"])
def test_table_with_a_column_of_vectors(rows, wanted, suffix):
    tabs = "\t" if "tsv" in suffix else ","
    opened = gzip.open if suffix.endswith("gz") else open
    with opened(f"in{suffix}", "wt", newline="") as file:
        writer = csv.writer(file, delimiter=tabs)
        writer.writerow(["id", "vector", "text", "score"])
        for i, row in enumerate(rows):
            writer.writerow([f"{i:03}", as_text(row), f'say "{i}",\tand\nmore', i / 4])
        file.write("\n")
    for out, sep in (("out.csv", ","), ("out.tsv", "\t")):
        told = rewrite(f"in{suffix}", out, repair, dim=K)
        found = pd.read_csv(out, sep=sep, dtype={"id": str})
        assert found.columns.tolist() == ["id", "vector", "text", "score"]
        agrees([[np.nan if x is None else x for x in json.loads(value)] for value in found["vector"]], wanted)
        assert found["id"][7] == "007" and found["text"][7] == 'say "7",\tand\nmore' and told.dropped == ()
    rewrite(f"in{suffix}", "out.parquet", repair, dim=K)
    found = pq.read_table("out.parquet")
    assert [str(field.type) for field in found.schema] == [
        "string",
        "fixed_size_list<element: float>[3]",
        "string",
        "double",
    ]
    assert found.column("score").to_pylist() == [i / 4 for i in range(N)]
    assert found.column("id").to_pylist()[7] == "007"


@pytest.mark.parametrize("dim", [K, D])
def test_table_with_a_number_per_column(rows, dim):
    rows = np.where(np.isfinite(rows), rows, np.nan)
    frame = pd.DataFrame(rows, columns=[f"x{i}" for i in range(D)])
    frame.insert(0, "id", range(N))
    frame["word"] = [f"w{i}" for i in range(N)]
    frame.to_csv("in.csv", index=False)
    mapped = repair if dim == K else lambda rows: rows * 2
    wanted = wanted_of(rows) if dim == K else np.where(np.isnan(rows).any(axis=1)[:, None], np.nan, rows * 2)
    rewrite("in.csv", "out.csv", mapped, dim=dim)
    found = pd.read_csv("out.csv")
    own = [f"x{i}" for i in range(D)] if dim == D else ["dim_0", "dim_1", "dim_2"]
    assert found.columns.tolist() == ["id", *own, "word"]
    agrees(found[own], wanted)
    assert found["id"].tolist() == list(range(N)) and found["word"].tolist() == frame["word"].tolist()
    again = open_source("out.csv")
    assert again.dim == dim
    rewrite("in.csv", "out.jsonl", mapped, dim=dim)
    assert list(json.loads(Path("out.jsonl").read_text().splitlines()[0])) == ["id", "word", "embedding"]


def test_table_without_a_header(rows):
    rows = np.where(np.isfinite(rows), rows, 0.25)
    np.savetxt("in.csv", rows, delimiter=",")
    rewrite("in.csv", "out.csv", repair, dim=K)
    agrees(np.loadtxt("out.csv", delimiter=","), wanted_of(rows))


def test_json_lines(rows, wanted):
    objects = [{"id": i, "v": json.loads(as_text(row)), "big": 2**70, "note": None} for i, row in enumerate(rows)]
    objects[4]["v"] = None
    objects[5]["extra"] = {"deep": [1, "é", "\ud83d"]}
    objects[6]["mixed"], objects[7]["mixed"] = 1, "one"
    Path("in.jsonl").write_text("\n\n".join(map(json.dumps, objects)) + "\n")
    rewrite("in.jsonl", "out.jsonl", repair, dim=K)
    found = [json.loads(line, parse_constant=pytest.fail) for line in Path("out.jsonl").read_text().splitlines()]
    assert [list(one) for one in found] == [list(one) for one in objects], "keys keep their places"
    agrees([[np.nan if x is None else x for x in one["v"]] for one in found], wanted)
    for one, old in zip(found, objects, strict=True):
        assert {**one, "v": 0} == {**old, "v": 0}
    rewrite("in.jsonl", "out.parquet", repair, dim=K)
    table = pq.read_table("out.parquet")
    assert table.column("id").type == pa.int64() and table.column("id").to_pylist() == list(range(N))
    assert table.column("big").to_pylist()[0] == str(2**70)
    assert json.loads(table.column("extra").to_pylist()[5])["deep"][:2] == [1, "é"]
    assert table.column("mixed").to_pylist()[5:8] == [None, "1", "one"]
    rewrite("in.jsonl", "out.csv", repair, dim=K)
    assert pd.read_csv("out.csv").columns.tolist() == ["id", "big", "note", "extra", "mixed", "v"]


def test_bare_lists(rows, wanted):
    Path("in.jsonl").write_text("\n".join(map(as_text, rows)))
    rewrite("in.jsonl", "out.jsonl", repair, dim=K)
    found = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    agrees([[np.nan if x is None else x for x in one] for one in found], wanted)


# --- texts through a model -----------------------------------------------------------------------------------------


class Lengths(Source):
    """What stands for a model: a text becomes numbers that tell which text it was."""

    kind, dtype, rows, dim = "texts through a model", "float32", None, 2

    def __init__(self, texts):
        self.texts, self.name = texts, texts.name

    def read(self, start=0, stop=None):
        found = list(self.texts.read())
        for first in range(0, len(found), 4):
            some = found[first : first + 4]
            vectors = [[len(text), ord(text[-1])] if text.strip() else [np.nan] * 2 for _, text, _ in some]
            yield Rows(np.array(vectors, np.float32), [text.strip() for _, text, _ in some])


TEXTS = [f"{'text' * (i % 3)} {i % 10}" if i % 4 else "" for i in range(20)]
VECTORS = np.array([[len(text), ord(text[-1])] if text else [np.nan] * 2 for text in TEXTS])


def through(path, **options):
    return Lengths(open_texts(path, **options))


def test_a_table_of_texts_gets_a_column(rows):
    frame = pd.DataFrame({"id": [f"{i:02}" for i in range(20)], "text": TEXTS, "embedding": 7, "n": range(20)})
    frame.to_csv("in.csv", index=False)
    frame.to_csv("in.tsv", index=False, sep="\t")
    frame.to_parquet("in.parquet")
    frame.to_json("in.jsonl", orient="records", lines=True)
    for given in ("in.csv", "in.tsv", "in.parquet", "in.jsonl"):
        told = rewrite(through(given, text=["text"]), "out.parquet", lambda rows: rows)
        found = pq.read_table("out.parquet")
        assert found.schema.names == ["id", "text", "embedding", "n", "embedding_2"] and told.dropped == ()
        agrees(found.column("embedding_2").to_pylist(), VECTORS)
        assert found.column("n").to_pylist() == list(range(20)) and found.column("id").to_pylist()[3] == "03"
        assert found.column("text").to_pylist() == TEXTS
        rewrite(through(given, text=["text"]), "out.csv", lambda rows: rows)
        found = pd.read_csv("out.csv", dtype={"id": str}, keep_default_na=False)
        assert found.columns.tolist() == ["id", "text", "embedding", "n", "embedding_2"]
        assert found["text"].tolist() == TEXTS
        agrees([[np.nan if x is None else x for x in json.loads(value)] for value in found["embedding_2"]], VECTORS)
        assert rewrite(through(given, text=["text"]), "out.npy", lambda rows: rows).dropped == tuple(frame.columns)
        agrees(np.load("out.npy"), VECTORS)


def test_several_texts_in_a_row_become_several_rows():
    frame = pd.DataFrame({"a": [f"a{i}" for i in range(9)], "score": range(9), "b": [f"other {i}" for i in range(9)]})
    frame.to_csv("in.csv", index=False)
    frame.to_parquet("in.parquet")
    frame.to_json("in.jsonl", orient="records", lines=True)
    texts = [text for pair in zip(frame["a"], frame["b"], strict=True) for text in pair]
    for given in ("in.csv", "in.parquet", "in.jsonl"):
        rewrite(through(given, text=["a,b"]), "out.parquet", lambda rows: rows)
        found = pq.read_table("out.parquet").to_pandas()
        assert found.columns.tolist() == ["a", "score", "b", "text_column", "embedding"]
        assert found["text_column"].tolist() == ["a", "b"] * 9 and found["score"].tolist() == [
            i // 2 for i in range(18)
        ]
        agrees(np.stack(found["embedding"].tolist()), [[len(text), ord(text[-1])] for text in texts])


def test_lines_of_text():
    Path("in.txt").write_text("\n".join(TEXTS) + "\n")
    rewrite(through("in.txt"), "out.jsonl", lambda rows: rows)
    found = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [one["text"] for one in found] == [text.strip() for text in TEXTS]
    agrees([[np.nan if x is None else x for x in one["embedding"]] for one in found], VECTORS)


def test_a_folder_of_tables():
    Path("in").mkdir()
    for part in range(2):
        frame = pd.DataFrame({"text": TEXTS[10 * part : 10 * part + 10], "n": range(10 * part, 10 * part + 10)})
        frame.to_csv(f"in/{part}.csv", index=False)
    rewrite(through("in", text=["text"]), "out.parquet", lambda rows: rows)
    found = pq.read_table("out.parquet")
    assert found.column("n").to_pylist() == list(range(20))
    agrees(found.column("embedding").to_pylist(), VECTORS)


# --- what must not happen ------------------------------------------------------------------------------------------


def test_never_over_the_input(rows, table):
    np.save("in.npy", rows)
    before = Path("in.npy").read_bytes()
    Path("soft.npy").symlink_to("in.npy")
    Path("hard.npy").hardlink_to("in.npy")
    for out in ("in.npy", "./in.npy", "soft.npy", "hard.npy", str(Path("in.npy").resolve())):
        with pytest.raises(OptionError, match="would overwrite the input"):
            rewrite("in.npy", out, repair, dim=K)
    with pytest.raises(OptionError, match="would overwrite the input"):
        rewrite("soft.npy", "in.npy", repair, dim=K)
    with pytest.raises(OptionError, match="would overwrite the input"):
        rewrite("in.p*", "in.parquet", repair, dim=K)
    Path("texts.csv").write_text("text\na\nb\n")
    with pytest.raises(OptionError, match="would overwrite the input"):
        rewrite(through("texts.csv"), "texts.csv", lambda rows: rows)
    assert Path("in.npy").read_bytes() == before


def test_an_unknown_ending_lists_the_known_ones(rows):
    for out in ("out.xlsx", "out", "out.csv.gz"):
        with pytest.raises(OptionError, match="unknown ending") as raised:
            rewrite(rows, out, repair, dim=K)
        assert all(suffix in str(raised.value) for suffix in OUTPUTS)
    assert output_suffix("a.b.PARQUET") == ".parquet"


def test_places_that_cannot_be_written(rows):
    with pytest.raises(OutputError, match="There is no folder"):
        rewrite(rows, "none/out.npy", repair, dim=K)
    Path("folder.npy").mkdir()
    with pytest.raises(OutputError, match="is a folder"):
        rewrite(rows, "folder.npy", repair, dim=K)


@pytest.mark.parametrize("suffix", [suffix for suffix in OUTPUTS if suffix not in (".vec", ".txt")])
def test_a_repair_that_fails_leaves_what_was_there(rows, suffix):
    old = Path(f"out{suffix}")
    old.write_text("old")
    calls = []

    def fails(rows):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return repair(rows)

    with pytest.raises(KeyboardInterrupt):
        rewrite(rows, old, fails, dim=K)
    with pytest.raises(ShapeError, match="we need"):
        rewrite(rows, old, repair, dim=K + 1)
    assert old.read_text() == "old" and names() == [old.name]


@pytest.mark.parametrize("suffix", [suffix for suffix in OUTPUTS if suffix not in (".vec", ".txt")])
@pytest.mark.parametrize("counted", [True, False])
def test_a_full_disk_is_one_line_and_nothing_is_left(tmp_path, suffix, counted):
    (tmp_path / f"out{suffix}").write_text("old")
    code = f"""
import resource, signal, numpy as np
from uncone.data.writing.rewrite import rewrite
from uncone.data.vectors.memory import ArrayVectors
from uncone.errors import OutputError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
source = ArrayVectors(np.random.default_rng(0).normal(size=(30_000, 8)))
source.rows = source.rows if {counted} else None
source.read = lambda start=0, stop=None, read=source.read: read(0, 30_000)
try:
    rewrite(source, "out{suffix}", lambda rows: rows)
except OutputError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout.startswith(f"Cannot write out{suffix}: File too large") and done.stdout.count("\n") == 1
    assert (tmp_path / f"out{suffix}").read_text() == "old" and names(tmp_path) == [f"out{suffix}"]


def test_a_link_stays_a_link_and_modes_are_kept(rows):
    Path("real.npy").write_text("old")
    Path("real.npy").chmod(0o604)
    Path("link.npy").symlink_to("real.npy")
    rewrite(rows, "link.npy", repair, dim=K)
    assert Path("link.npy").is_symlink() and np.load("real.npy").shape == (N, K)
    assert Path("real.npy").stat().st_mode & 0o777 == 0o604
    old = os.umask(0o027)
    try:
        rewrite(rows, "new.npy", repair, dim=K)
    finally:
        os.umask(old)
    assert Path("new.npy").stat().st_mode & 0o777 == 0o640


def test_progress(rows):
    seen = []
    rewrite(rows, "out.npy", repair, dim=K, progress=seen.append)
    assert sum(seen) == N and max(seen) == 7
