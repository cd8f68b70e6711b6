"""Bad input gets one line and exit code 2, and nothing is written."""

from __future__ import annotations

import gzip
import json
import pickle
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from uncone.cli.main import _run


class Bomb:
    def __reduce__(self):
        return (open, ("exploded", "w"))


def good(n=20, d=3):
    return np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)


def bytes_of(save):
    def write(path):
        save(path)
        path.write_bytes(path.read_bytes()[:-20])

    return write


def parquet(**columns):
    return lambda path: pq.write_table(pa.table(columns), path)


def shards(one, other, names=("a.npy", "b.npy")):
    def write(path):
        path.mkdir()
        for name, rows in zip(names, (one, other), strict=True):
            np.save(path / name, rows) if name.endswith(".npy") else np.savez(path / name, rows)

    return write


def tensors(shape, offsets):
    header = json.dumps({"v": {"dtype": "F32", "shape": shape, "data_offsets": offsets}}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(160)


def objects(path):
    np.save(path, np.array([Bomb(), Bomb()], dtype=object), allow_pickle=True)


FILES = {
    # name: (what to write, extra arguments, what the line must say)
    "missing.npy": (None, [], "no file or folder"),
    "none-*.npy": (None, [], "No file matches"),
    "empty.npy": (lambda p: p.touch(), [], "empty"),
    "empty.parquet": (lambda p: p.touch(), [], "empty"),
    "empty.csv": (lambda p: p.touch(), [], "empty"),
    "emptydir": (lambda p: p.mkdir(), [], "holds no vectors"),
    "cut.npy": (bytes_of(lambda p: np.save(p, good())), [], "truncated"),
    "head.npy": (lambda p: p.write_bytes(b"\x93NUMPY\x01\x00\x76\x00{'descr"), [], "damaged"),
    "cut.npz": (bytes_of(lambda p: np.savez(p, good())), [], "not a readable .npz"),
    "cut.parquet": (bytes_of(parquet(v=good().tolist())), [], "not a readable parquet"),
    "cut.safetensors": (bytes_of(lambda p: save_file({"v": good()}, p)), [], "truncated"),
    "cut.bin": (lambda p: p.write_bytes(b"20 3\nword " + b"\0" * 12 + b"\nshort "), [], "truncated"),
    "cut.jsonl.gz": (bytes_of(lambda p: p.write_bytes(gzip.compress(b"[1, 2]\n" * 5000))), [], "damaged"),
    "pickle.npy": (objects, [], "pickle"),
    "raw-pickle.npy": (lambda p: p.write_bytes(pickle.dumps(Bomb())), [], "pickle"),
    "pickle.npz": (lambda p: np.savez(p, a=np.array([Bomb(), Bomb()], dtype=object)), [], "no 2-D array"),
    "named-pickle.npz": (lambda p: np.savez(p, a=np.array([[Bomb()]], dtype=object)), ["--column", "a"], "pickle"),
    "strings.npy": (lambda p: np.save(p, np.array([["a", "b"], ["c", "d"]])), [], "strings"),
    "wide.npy": (lambda p: np.save(p, np.arange(12).reshape(4, 3)), [], "int64"),
    "bools.npy": (lambda p: np.save(p, np.ones((4, 3), bool)), [], "booleans"),
    "complex.npy": (lambda p: np.save(p, np.ones((4, 3), complex)), [], "complex"),
    "1d.npy": (lambda p: np.save(p, np.ones(5)), [], "1-D"),
    "3d.npy": (lambda p: np.save(p, np.ones((5, 2, 2))), [], "3-D"),
    "0rows.npy": (lambda p: np.save(p, np.ones((0, 4))), [], "empty"),
    "numbered.txt": (lambda p: p.write_text("".join(f"text number {i}\n" for i in range(9))), [], "--model"),
    "1row.npy": (lambda p: np.save(p, np.ones((1, 4))), [], "at least 2 rows"),
    "1row.jsonl": (lambda p: p.write_text("[1, 2]\n"), [], "at least 2 rows"),
    "nan.npy": (lambda p: np.save(p, np.full((9, 4), np.nan)), [], "0 of 9 rows can be used"),
    "zero.npy": (lambda p: np.save(p, np.zeros((9, 4))), [], "9 are zero"),
    "ragged.jsonl": (lambda p: p.write_text('{"v": [1, 2]}\n{"v": [1]}\n'), [], "ragged"),
    "ragged.csv": (lambda p: p.write_text('v\n"[1, 2]"\n"[1]"\n'), [], "ragged"),
    "ragged.vec": (lambda p: p.write_text("a 1 2 3\nb 1 2\n"), [], "line 2"),
    "ragged.parquet": (parquet(v=[[1.0, 2.0], [1.0]]), [], "ragged"),
    "mixed": (shards(good(), good(d=4)), [], "Shards differ"),
    "kinds": (shards(good(), good(), ("a.npy", "b.npz")), [], "mixes formats"),
    "column.parquet": (parquet(v=good().tolist(), t=["x"] * 20), ["--column", "u"], "hold vectors: v"),
    "two.parquet": (parquet(v=good().tolist(), w=good().tolist()), [], "--column NAME"),
    "none.parquet": (parquet(t=["x"] * 20), [], "holds texts (t (string)); we need vectors. Add --model"),
    "text.parquet": (parquet(v=good().tolist(), t=["x"] * 20), ["--text", "u"], "it has v, t"),
    "key.jsonl": (lambda p: p.write_text('{"v": [1, 2]}\n' * 3), ["--column", "u"], "the row has v"),
    "col.csv": (lambda p: p.write_text('v\n"[1, 2]"\n"[1, 3]"\n'), ["--column", "u"], "it has v"),
    "tensor.safetensors": (lambda p: save_file({"v": good(), "w": good()}, p), [], "--tensor NAME"),
    "other.safetensors": (lambda p: save_file({"v": good()}, p), ["--tensor", "w"], "it has v (20, 3)"),
    "array.npz": (lambda p: np.savez(p, v=good(), w=good()), [], "several 2-D arrays"),
    "json.jsonl": (lambda p: p.write_text("{broken\n"), [], "not JSON"),
    "cut.csv": (lambda p: p.write_text('v\n"[0.1 ... 0.2]"\n"[0.1 ... 0.2]"\n'), [], "cut by numpy"),
    "latin.csv": (lambda p: p.write_bytes(b'v,t\n"[1, 2]",caf\xe9\n'), [], "not UTF-8"),
    "binary.csv": (lambda p: p.write_bytes(bytes(range(256)) * 4), [], ""),
    "binary.vec": (lambda p: p.write_bytes(b"\x00\x01\x02" * 400), [], "binary data"),
    "garbage.faiss": (lambda p: p.write_bytes(b"not an index at all"), [], "not a readable FAISS"),
    "cut-bracket.csv": (lambda p: p.write_text('v\n"[1, 2]"\n"[1, 2'), [], "Close quoted fields"),
    "texts.csv": (lambda p: p.write_text("text,n\nplane,1\nboat,2\n"), [], "holds texts (text, n); we need"),
    "texts.txt": (lambda p: p.write_text("the plane\nthe boat\n"), [], "Add --model"),
    "nul.csv": (lambda p: p.write_bytes(b"a,b\n1.5,2\n1,\0\n"), [], "line 3: binary data (a NUL byte)"),
    "data.csv": (lambda p: p.write_text("cat,0.5,0.25\ndog,1.5,0.75\n"), [], "has no header"),
    "twins.csv": (lambda p: p.write_text("a,a\n0.5,1.5\n0.25,0.75\n"), [], "several columns named 'a'"),
    "narrow.csv": (lambda p: p.write_text("v\n0.5\n0.25\n"), [], "no column of vectors such as"),
    "promise.vec": (lambda p: p.write_text("5 2\na 1 2\nb 3 4\n"), [], "promises 5 words"),
    "wider.vec": (lambda p: p.write_text("2 2\na 1 2 3\nb 3 4 5\n"), [], "3 numbers; we need a word and 2"),
    "longer.bin": (lambda p: p.write_bytes(b"2 2\n" + (b"w " + b"\1" * 8 + b"\n") * 3), [], "goes on after"),
    "damaged.csv.gz": (lambda p: p.write_bytes(gzip.compress(b"v\n" * 900)[:20] + b"\xff" * 30), [], "damaged"),
    "token.npy": (lambda p: p.write_bytes(b"\x93NUMPY\x01\x00\x14\x00{'descr': '<f4', ('  "), [], "damaged"),
    "version.npy": (lambda p: p.write_bytes(b"\x93NUMPY\x09\x09" + b"\0" * 200), [], "version"),
    "shape.safetensors": (lambda p: p.write_bytes(tensors([10, -4], [0, 160])), [], "damaged"),
    "offsets.safetensors": (lambda p: p.write_bytes(tensors([10, 4], [-50, 110])), [], "damaged"),
    "size.safetensors": (lambda p: p.write_bytes(tensors([10, 4], [0, 80])), [], "damaged"),
    "deep.jsonl": (lambda p: p.write_text("[" * 100_000), [], "not JSON"),
    "mixed.jsonl": (lambda p: p.write_text('{"v": [1, 2], "t": "x"}\n[1, 2]\n'), ["--text", "t"], "bare list"),
    "superscript.vec": (lambda p: p.write_text("² ³\nb 3\n"), [], "not a number"),
    "number.csv": (lambda p: p.write_text("a,b\n1,2\n3,4\n"), ["--column", "a"], "holds numbers"),
    "columns.npy": (lambda p: np.save(p, good()), ["--column", "a"], "--column is for"),
    "tensors.parquet": (parquet(v=good().tolist()), ["--tensor", "v"], "--tensor is for"),
    "long.npy": (lambda p: np.save(p, good()), ["--html", "x" * 300], "too long"),
    "nan-gate.npy": (lambda p: np.save(p, good()), ["--fail-above", "baseline=nan"], "finite"),
    "twice.npy": (lambda p: np.save(p, good()), ["--html", "o", "--json", "o"], "would overwrite what --html writes"),
    "many.npy": (lambda p: np.save(p, good()), ["--workers", "9" * 40], "workers"),
    "huge.npy": (lambda p: np.save(p, good() * np.float32(1e30)), [], "--float64"),
    "garbage.parquet": (lambda p: p.write_bytes(b"x" * 500), [], "not a readable parquet"),
    "garbage.safetensors": (lambda p: p.write_bytes(b"\xff" * 500), [], "not a complete"),
    "words.docx": (lambda p: p.write_text("x"), [], "unknown ending"),
    "lines.npy": (lambda p: np.save(p, good()), ["--text", "nowhere.txt"], "No file 'nowhere.txt'"),
    "wide2.npy": (lambda p: np.save(p, np.ones((3, 30_000), np.float32)), [], "transposed"),
    "ok.npy": (lambda p: np.save(p, good()), ["--html", "nowhere/report.html"], "There is no folder"),
    "dir.npy": (lambda p: np.save(p, good()), ["--html", "."], "is a folder"),
    "gate.npy": (lambda p: np.save(p, good()), ["--fail-above", "nonsense=1"], "choose from baseline"),
    "gate2.npy": (lambda p: np.save(p, good()), ["--fail-above", "baseline=x"], "is not a number"),
    "score.npy": (lambda p: np.save(p, good()), ["--score", "3"], "between -1 and 1"),
    "option.npy": (lambda p: np.save(p, good()), ["--nonsense"], "See uncone check --help"),
    "workers.npy": (lambda p: np.save(p, good()), ["--workers", "-1"], "workers"),
    "sample.npy": (lambda p: np.save(p, good()), ["--sample", "1"], "--sample must be at least 2"),
}


@pytest.mark.parametrize("name", FILES)
def test_one_line_and_exit_code_2(name, tmp_path, capfd):
    write, arguments, says = FILES[name]
    folder = tmp_path / "in"
    folder.mkdir()
    if write:
        write(folder / name)
    assert _run(["check", str(folder / name), *arguments]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("uncone: ") and err.count("\n") == 1, err
    assert says in err
    assert len(err) < 700
    assert [path.name for path in tmp_path.iterdir()] == ["in"], "nothing may be written"


def test_a_report_never_overwrites_its_source(tmp_path, capfd):
    np.save(tmp_path / "v.npy", good())
    before = (tmp_path / "v.npy").read_bytes()
    (tmp_path / "link.html").symlink_to("v.npy")
    for output in ("v.npy", "./v.npy", "link.html"):
        assert _run(["check", "v.npy", "--html", output]) == 2
        assert "would overwrite the source" in capfd.readouterr().err
    assert (tmp_path / "v.npy").read_bytes() == before
    (tmp_path / "words.txt").write_text("w\n" * 20)
    for arguments in (
        [".", "--json", "v.npy"],
        ["*.npy", "--json", "v.npy"],
        ["v.npy", "--text", "words.txt", "--json", "words.txt"],
    ):
        assert _run(["check", "--no-html", *arguments]) == 2
    assert (tmp_path / "v.npy").read_bytes() == before


def test_what_nobody_thought_of_is_one_line_too(tmp_path, capfd, monkeypatch):
    np.save(tmp_path / "v.npy", good())
    monkeypatch.setattr("uncone.verbs.check.check", lambda *_, **__: 1 / 0)
    assert _run(["check", "v.npy"]) == 2
    err = capfd.readouterr().err
    assert err.count("\n") == 1 and "ZeroDivisionError" in err and "--debug" in err


def test_no_source():
    assert _run(["check"]) == 2


def test_debug_shows_the_traceback():
    with pytest.raises(Exception, match="no file or folder"):
        _run(["check", "missing.npy", "--debug"])


def test_exact_needs_a_second_look(tmp_path):
    np.save(tmp_path / "x.npy", good())
    with (tmp_path / "x.npy").open("rb") as stream:
        done = subprocess.run(
            [sys.executable, "-m", "uncone", "check", "-", "--exact"], stdin=stream, capture_output=True, text=True
        )
    assert done.returncode == 2 and "read only once" in done.stderr


def test_imperfect_data_is_no_error(tmp_path, capfd):
    rows = good(30, 5)
    rows[3] = np.nan
    rows[4] = 0
    np.save(tmp_path / "x.npy", rows)
    assert _run(["check", "x.npy", "--json", "-"]) == 0
    findings = json.loads(capfd.readouterr().out)["findings"]
    assert findings["bad_rows"]["value"] == findings["zero_vectors"]["value"] == 1
