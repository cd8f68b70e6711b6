"""Every format gives the same rows, as a stream."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys

import faiss
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from uncone import check
from uncone.data.open import open_source
from uncone.data.source import Options, Rows, regrid
from uncone.data.vectors.parquet import ParquetVectors
from uncone.errors import ShapeError

N, D = 700, 6


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(N, D)).astype(np.float32)


@pytest.fixture
def words():
    return [f"w{i}" for i in range(N)]


def read(source, options=None, **names):
    opened = open_source(source, options, **names)
    parts = [(part.vectors.copy(), part.texts, part.labels) for part in opened.read()]
    vectors = np.concatenate([part[0] for part in parts])
    texts = None if parts[0][1] is None else [text for part in parts for text in part[1]]
    labels = None if parts[0][2] is None else [label for part in parts for label in part[2]]
    assert opened.dim == vectors.shape[1]
    assert opened.rows in (None, len(vectors))
    return vectors, texts, labels


def write_jsonl(path, rows, words):
    lines = [json.dumps({"w": w, "v": row.tolist(), "l": w[-1]}) for w, row in zip(words, rows, strict=True)]
    text = "\n".join(lines) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def write_csv(path, rows, words):
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writerow(["w", "v", "l"])
        writer.writerows([w, str(row.tolist()), w[-1]] for w, row in zip(words, rows, strict=True))


def write_words(path, rows, words, header):
    lines = [f"{w} {' '.join(repr(float(x)) for x in row)}" for w, row in zip(words, rows, strict=True)]
    path.write_text("\n".join(([f"{N} {D}"] if header else []) + lines) + "\n")


def write_binary(path, rows, words):
    body = b"".join(w.encode() + b" " + row.tobytes() + b"\n" for w, row in zip(words, rows, strict=True))
    path.write_bytes(f"{N} {D}\n".encode() + body)


def write_parquet(path, rows, words, fixed):
    kind = pa.list_(pa.float32(), D) if fixed else pa.list_(pa.float32())
    table = pa.table({"w": words, "v": pa.array(rows.tolist(), kind), "l": [w[-1] for w in words]})
    pq.write_table(table, path, row_group_size=150)


WRITERS = {
    "a.npy": lambda p, r, w: np.save(p, r),
    "a.npz": lambda p, r, w: np.savez(p, v=r, w=np.array(w), l=np.array([x[-1] for x in w])),
    "b.npz": lambda p, r, w: np.savez_compressed(p, r),
    "a.safetensors": lambda p, r, w: save_file({"v": r, "bias": np.zeros(3, np.float32)}, p),
    "a.parquet": lambda p, r, w: write_parquet(p, r, w, True),
    "b.parquet": lambda p, r, w: write_parquet(p, r, w, False),
    "a.jsonl": write_jsonl,
    "a.jsonl.gz": write_jsonl,
    "a.csv": write_csv,
    "a.tsv": write_csv,
    "a.vec": lambda p, r, w: write_words(p, r, w, True),
    "glove.txt": lambda p, r, w: write_words(p, r, w, False),
    "a.bin": write_binary,
    "a.faiss": lambda p, r, w: _write_faiss(p, r),
}
NAMED = {"a.npz", "a.parquet", "b.parquet", "a.jsonl", "a.jsonl.gz", "a.csv", "a.tsv"}
WORDS = {"a.vec", "glove.txt", "a.bin"}


def _write_faiss(path, rows):
    index = faiss.IndexFlatIP(D)
    index.add(rows)
    faiss.write_index(index, str(path))


@pytest.mark.parametrize("name", WRITERS)
def test_formats(name, rows, words, tmp_path):
    WRITERS[name](tmp_path / name, rows, words)
    options = Options(text="w", label="l") if name in NAMED else Options()
    vectors, texts, labels = read(tmp_path / name, options)
    np.testing.assert_allclose(vectors.astype(np.float32), rows, rtol=1e-6)
    if name in NAMED:
        assert texts == words and labels == [w[-1] for w in words]
    if name in WORDS:
        assert texts == words
    expected, found = check(rows).to_dict()["findings"], check(tmp_path / name).to_dict()["findings"]
    for finding in expected:
        if "rows" not in expected[finding]:
            assert found[finding] == expected[finding]


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint8", ">f4", "<f2"])
def test_dtypes_of_npy(dtype, tmp_path):
    rows = (np.random.default_rng(0).normal(size=(50, 4)) * 20).astype(dtype)
    np.save(tmp_path / "x.npy", rows)
    vectors, _, _ = read(tmp_path / "x.npy")
    np.testing.assert_array_equal(vectors, rows)
    assert check(tmp_path / "x.npy")["norm_mean"].value == pytest.approx(
        np.linalg.norm(rows.astype(np.float64), axis=1).mean(), rel=1e-4
    )


def test_a_column_order_file(rows, tmp_path):
    np.save(tmp_path / "f.npy", np.asfortranarray(rows))
    np.testing.assert_array_equal(read(tmp_path / "f.npy")[0], rows)


def test_bfloat16_tensors(rows, tmp_path):
    import torch
    from safetensors.torch import save_file as save_torch

    tensor = torch.tensor(rows).to(torch.bfloat16)
    save_torch({"v": tensor}, tmp_path / "b.safetensors")
    np.testing.assert_array_equal(read(tmp_path / "b.safetensors")[0], tensor.float().numpy())


@pytest.mark.parametrize("factory", ["Flat", "IVF4,Flat", "HNSW8,Flat", "IDMap,Flat", "SQ8"])
def test_faiss_indexes(factory, rows, tmp_path):
    index = faiss.index_factory(D, factory)
    index.train(rows)
    if factory.startswith("IDMap"):
        index.add_with_ids(rows, np.arange(N) + 100)
    else:
        index.add(rows)
    faiss.write_index(index, str(tmp_path / "x.faiss"))
    np.testing.assert_allclose(read(tmp_path / "x.faiss")[0], rows, atol=0.05 if factory == "SQ8" else 0)


@pytest.mark.parametrize("factory", ["IVF4,Flat", "IVF4,SQ8"])
def test_inverted_files_with_ids_of_their_own(factory, rows, tmp_path):
    index = faiss.index_factory(D, factory)
    index.train(rows)
    index.add_with_ids(rows, np.arange(N) * 7 + 10**12)
    faiss.write_index(index, str(tmp_path / "x.faiss"))
    np.testing.assert_allclose(read(tmp_path / "x.faiss")[0], rows, atol=0.05)


def test_a_table_of_numbers(rows, tmp_path):
    frame = pd.DataFrame(rows).assign(name="x")
    frame.to_csv(tmp_path / "wide.csv", index=False)
    vectors, texts, _ = read(tmp_path / "wide.csv", Options(text="name"))
    np.testing.assert_allclose(vectors, rows, rtol=1e-5)
    assert set(texts) == {"x"}
    np.savetxt(tmp_path / "bare.tsv", rows, delimiter="\t")
    np.testing.assert_allclose(read(tmp_path / "bare.tsv")[0], rows, rtol=1e-6)


def test_vectors_as_numpy_prints_them(tmp_path):
    pd.DataFrame({"v": [str(np.array([1.5, 2, 3])), str(np.array([4.0, 5, 6]))]}).to_csv(tmp_path / "p.csv")
    np.testing.assert_array_equal(read(tmp_path / "p.csv")[0], [[1.5, 2, 3], [4, 5, 6]])


def test_words_with_spaces(tmp_path):
    (tmp_path / "g.txt").write_text(". . . 0.1 0.2 0.3\nword 0.4 0.5 0.6\n")
    # The first line tells the dimensions, so such a word must not come first without a header.
    (tmp_path / "h.vec").write_text("2 3\n. . . 0.1 0.2 0.3\nword 0.4 0.5 0.6\n")
    assert read(tmp_path / "h.vec")[1] == [". . .", "word"]


def test_shards_in_natural_order(rows, tmp_path):
    for i in range(12):
        np.save(tmp_path / f"part-{i}.npy", rows[i * 50 : (i + 1) * 50])
    for source in (tmp_path, str(tmp_path / "part-*.npy")):
        np.testing.assert_array_equal(read(source)[0], rows[:600])
    opened = open_source(tmp_path)
    assert opened.random_access
    np.testing.assert_array_equal(np.concatenate([r.vectors.copy() for r in opened.read(70, 260)]), rows[70:260])


def test_texts_from_a_file_of_lines(rows, words, tmp_path):
    np.save(tmp_path / "x.npy", rows)
    (tmp_path / "words.txt").write_text("\n".join(words) + "\n")
    _, texts, _ = read(tmp_path / "x.npy", Options(text=str(tmp_path / "words.txt")))
    assert texts == words


def test_standard_input(rows, monkeypatch):
    buffer = io.BytesIO()
    np.save(buffer, rows)
    buffer.seek(0)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(buffer))
    np.testing.assert_array_equal(read("-")[0], rows)


def test_what_is_in_memory(rows):
    frame = pd.DataFrame({"embedding": list(rows)})
    np.testing.assert_array_equal(read(frame["embedding"])[0], rows)
    np.testing.assert_array_equal(read(rows.tolist())[0].astype(np.float32), rows)
    np.testing.assert_array_equal(read(iter([rows[:10], rows[10:]]))[0], rows)
    assert check(pd.Series([None, *rows[1:]]))["bad_rows"].value == 1
    _, texts, labels = read(rows, texts=["t"] * N, labels=["l"] * N)
    assert len(texts) == len(labels) == N


def test_null_rows_of_parquet_are_bad_rows(rows, tmp_path):
    values = [None if i == 3 else row.tolist() for i, row in enumerate(rows[:40])]
    values[5][2] = None
    for kind in (pa.list_(pa.float32(), D), pa.list_(pa.float32())):
        pq.write_table(pa.table({"v": pa.array(values, kind)}), tmp_path / "n.parquet")
        assert check(tmp_path / "n.parquet")["bad_rows"].value == 2


def test_reading_is_bounded(tmp_path):
    """One giant row group: only a part of it is in memory at a time."""
    rows = np.zeros((60_000, 64), np.float32)
    array = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 64)
    pq.write_table(pa.table({"v": array}), tmp_path / "g.parquet", row_group_size=60_000, use_dictionary=False)
    sizes = [len(part.vectors) for part in open_source(tmp_path / "g.parquet").read()]
    assert sum(sizes) == 60_000 and max(sizes) <= 8192


@pytest.mark.parametrize("index", [True, False])
def test_what_pandas_writes(index, rows, tmp_path):
    """Its index is no dimension, and its 0, 1, 2 are names."""
    pd.DataFrame(rows).to_csv(tmp_path / "p.csv", index=index)
    vectors, _, _ = read(tmp_path / "p.csv")
    np.testing.assert_allclose(vectors, rows, rtol=1e-5)


def test_an_id_column_is_no_dimension_and_the_report_says_so(rows, tmp_path):
    pd.DataFrame(rows, columns=list("abcdef")).assign(id=range(N)).to_csv(tmp_path / "p.csv", index=False)
    found = check(tmp_path / "p.csv")
    assert found.source["dimensions"] == D
    assert "left out: id" in found.provenance["reading"]
    frame = pd.DataFrame(rows, columns=list("abcdef")).assign(year=2020, doc_id=range(N))
    frame.to_csv(tmp_path / "q.csv", index=False)
    assert "left out: year, doc_id" in check(tmp_path / "q.csv").provenance["reading"]


def test_missing_numbers_in_a_table_are_bad_rows(tmp_path):
    (tmp_path / "m.csv").write_text("a,b\n,1\nNA,2\n" + "1,2\n3,1\n" * 5)
    assert check(tmp_path / "m.csv")["bad_rows"].value == 2
    (tmp_path / "v.csv").write_text('id,v\n1,\n2,"[1, null]"\n' + '3,"[1, 2]"\n4,"[2, 1]"\n' * 5)
    assert check(tmp_path / "v.csv")["bad_rows"].value == 2


def test_null_vectors_of_jsonl_are_bad_rows(tmp_path):
    lines = ['{"v": null, "tags": []}', '{"v": [1, 2], "tags": []}', '{"tags": []}', '{"v": [null, 1], "tags": []}']
    (tmp_path / "n.jsonl").write_text("\n".join(lines + ['{"v": [2, 1], "tags": ["x"]}'] * 5))
    assert check(tmp_path / "n.jsonl")["bad_rows"].value == 3


def test_numbers_without_words(rows, tmp_path):
    np.savetxt(tmp_path / "bare.txt", rows)
    vectors, texts, _ = read(tmp_path / "bare.txt")
    np.testing.assert_allclose(vectors, rows, rtol=1e-6)
    assert texts is None


def test_tabs_and_odd_bytes_in_word_files(tmp_path):
    (tmp_path / "t.vec").write_bytes(b"3 2\na\t1.0\t2.0\nb  3.0 4.0\ncaf\xe9 5.0 6.0\n")
    vectors, texts, _ = read(tmp_path / "t.vec")
    assert vectors.tolist() == [[1, 2], [3, 4], [5, 6]] and texts[:2] == ["a", "b"]


def test_a_column_order_archive(rows, tmp_path):
    np.savez(tmp_path / "f.npz", v=np.asfortranarray(rows))
    np.testing.assert_array_equal(read(tmp_path / "f.npz")[0], rows)


def test_other_files_in_an_archive(rows, tmp_path):
    import zipfile

    np.savez(tmp_path / "a.npz", v=rows)
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("README.txt", "hello")
    np.testing.assert_array_equal(read(tmp_path / "a.npz")[0], rows)


def test_a_named_pipe(rows, tmp_path):
    import os
    import threading

    os.mkfifo(tmp_path / "pipe")

    def write():
        buffer = io.BytesIO()
        np.save(buffer, rows)
        (tmp_path / "pipe").write_bytes(buffer.getvalue())

    writer = threading.Thread(target=write)
    writer.start()
    np.testing.assert_array_equal(read(tmp_path / "pipe")[0], rows)
    writer.join()


def test_only_the_first_file_of_a_folder_is_looked_into(tmp_path, monkeypatch):
    looks = []
    look = ParquetVectors._length
    monkeypatch.setattr(ParquetVectors, "_length", lambda self, kind, dim: looks.append(dim) or look(self, kind, dim))
    for number, length in enumerate((3, 3, 2)):
        lists = pa.array(np.ones((4, length)).tolist(), pa.list_(pa.float32()))
        pq.write_table(pa.table({"v": lists}), tmp_path / f"{number}.parquet")
    opened = open_source(tmp_path)
    assert looks == [None, 3, 3] and (opened.rows, opened.dim) == (12, 3)
    with pytest.raises(ShapeError, match=r"2\.parquet\[v\] is ragged: row 0 has 2 numbers, the first has 3"):
        check(tmp_path)


def test_blocks_of_any_size_and_precision_are_put_together():
    parts = [np.full((m, 2), m, kind) for m, kind in ((3, "f2"), (10, "f4"), (1, "f8"), (4, "f4"))]
    blocks = [part.vectors for part in regrid(iter([Rows(part) for part in parts]), 4)]
    assert [len(block) for block in blocks] == [4, 4, 4, 4, 2]
    np.testing.assert_array_equal(np.concatenate(blocks), np.concatenate(parts))
