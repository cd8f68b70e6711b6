"""The cache on disk: found again, never mixed, whole after kills, within its limit, quiet about a full disk."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from uncone.data import cache as cache_space
from uncone.data.cache import DEFAULT_LIMIT, VectorCache, cache_folder, cache_limit
from uncone.errors import OptionError

META = {"model": "m", "layer": "1", "pooling": "mean", "fingerprint": "f"}


def rows_of(texts, dim=4):
    """A row that can be told from its text: what a broken cache would give is none of these."""
    return np.array([[hash_of(text) + i for i in range(dim)] for text in texts], np.float32)


def hash_of(text):
    return float(sum(map(ord, text)) % 1000 + len(text))


@pytest.fixture
def kept(tmp_path):
    return VectorCache(tmp_path / "c", 1 << 20)


def shards(cache):
    return sorted(cache.folder.glob("vectors/*/*.rows"))


def names(n, stem="text"):
    return [f"{stem} {i}" for i in range(n)]


def test_what_was_put_is_found_again_and_nothing_else(kept, tmp_path):
    texts = names(50)
    kept.space(META, 4).put(texts, rows_of(texts))
    asked = ["new", *reversed(texts), "text 7", "text 7", ""]
    known, rows = VectorCache(tmp_path / "c").space(META, 4).find(asked)
    assert known.tolist() == [False] + [True] * 52 + [False]
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows[known], rows_of(asked)[known])
    assert np.isnan(rows[~known]).all()


def test_many_puts_and_one_find(kept):
    space, texts = kept.space(META, 4), names(700)
    rng = np.random.default_rng(0)
    left = list(texts)
    while left:
        some, left = left[: int(rng.integers(1, 60))], left[int(rng.integers(1, 60)) :]
        space.put(some, rows_of(some))
    space.put(texts, rows_of(texts))
    for one in (space, VectorCache(kept.folder).space(META, 4)):
        known, rows = one.find(texts)
        assert known.all()
        np.testing.assert_array_equal(rows, rows_of(texts))


def test_no_texts(kept):
    space = kept.space(META, 4)
    space.put([], np.empty((0, 4)))
    known, rows = space.find([])
    assert known.shape == (0,) and rows.shape == (0, 4)


@pytest.mark.parametrize(
    "other",
    [{"layer": "2"}, {"pooling": "cls"}, {"fingerprint": "g"}, {"prompt": "query: "}, {"normalize": True}],
    ids=lambda other: next(iter(other)),
)
def test_another_space_knows_nothing(kept, other):
    kept.space(META, 4).put(["a"], rows_of(["a"]))
    assert not kept.space({**META, **other}, 4).find(["a"])[0].any()
    assert not kept.space(META, 5).find(["a"])[0].any()


def test_two_names_of_one_model_share(kept):
    kept.space(META, 4).put(["a"], rows_of(["a"]))
    assert kept.space({**META, "model": "./m", "path": "/m"}, 4).find(["a"])[0].all()


def test_rows_that_are_no_numbers_are_not_kept(kept):
    space = kept.space(META, 2)
    space.put(["a", "b", "c"], np.array([[1, np.nan], [1, 2], [np.inf, 0]]))
    assert space.find(["a", "b", "c"])[0].tolist() == [False, True, False]


def test_odd_texts(kept):
    texts = ["", "\0", "\u00e9", "e\u0301", "\ud800", "x" * 100_000, "a\nb"]
    space = kept.space(META, 1)
    space.put(texts, np.arange(len(texts), dtype=np.float32)[:, None])
    assert space.find(texts)[1].ravel().tolist() == list(range(len(texts)))


def test_the_meta_file_can_be_read_by_people_and_no_text_is_kept(kept):
    kept.space(META, 4).put(["a secret text"], rows_of(["a secret text"]))
    (path,) = kept.folder.glob("vectors/*/meta.json")
    meta = json.loads(path.read_text())
    assert {key: meta[key] for key in META} == META
    assert meta["dim"] == 4 and meta["created"].endswith("Z")
    assert all(b"secret" not in file.read_bytes() for file in kept.folder.rglob("*") if file.is_file())


# --- damage --------------------------------------------------------------------------------------------------------


def flipped(data, place):
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


DAMAGE = {
    "cut": lambda data: data[: len(data) // 2],
    "cut by a byte": lambda data: data[:-1],
    "longer": lambda data: data + b"x",
    "empty": lambda data: b"",
    "head": lambda data: flipped(data, 9),
    "table": lambda data: flipped(data, 30),
    "row": lambda data: flipped(data, len(data) - 3),
    "other": lambda data: os.urandom(len(data)),
}


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("open_already", [False, True])
def test_a_damaged_shard_is_dropped_said_and_built_again(kept, how, open_already):
    first, second = names(5, "a"), names(5, "b")
    space = kept.space(META, 4)
    space.put(first, rows_of(first))
    (path,) = shards(kept)
    space.put(second, rows_of(second))
    if open_already:
        assert space.find(first + second)[0].all()
    path.write_bytes(DAMAGE[how](path.read_bytes()))
    again = kept if open_already else VectorCache(kept.folder)
    space = space if open_already else again.space(META, 4)
    known, rows = space.find(first + second)
    # A space that is open has the table in memory, and sees only what it reads: rows that are right are right.
    np.testing.assert_array_equal(rows[known], rows_of(first + second)[known])
    assert known[5:].all()
    if known[:5].any():
        assert open_already and how in ("longer", "head", "table")
        return
    assert not path.exists()
    assert len(again.notes) == 1 and "damaged" in again.notes[0]
    space.put(first, rows_of(first))
    assert space.find(first)[0].all() and VectorCache(kept.folder).space(META, 4).find(first)[0].all()


def test_rows_cannot_pass_for_each_others(kept):
    space = kept.space(META, 1)
    space.put(["a", "b"], np.array([[1], [2]], np.float32))
    (path,) = shards(kept)
    data = path.read_bytes()
    path.write_bytes(data[:-8] + data[-4:] + data[-8:-4])
    assert not VectorCache(kept.folder).space(META, 1).find(["a", "b"])[0].any()


def test_a_damaged_meta_file_is_written_again(kept):
    kept.space(META, 4).put(["a"], rows_of(["a"]))
    (path,) = kept.folder.glob("vectors/*/meta.json")
    path.write_text("{")
    assert [entry.model for entry in kept.entries()] == ["?"]
    kept.space(META, 4).put(["b"], rows_of(["b"]))
    assert [(entry.model, entry.rows) for entry in kept.entries()] == [("m", 2)]


def test_a_cache_cleared_by_another_process_is_no_error(kept):
    space, texts = kept.space(META, 4), names(9)
    space.put(texts, rows_of(texts))
    assert space.find(texts)[0].all()
    VectorCache(kept.folder).clear()
    assert not space.find(texts)[0].any()
    space.put(texts, rows_of(texts))
    assert space.find(texts)[0].all() and kept.writes and kept.notes == []


def test_cleared_just_before_the_file_is_written(kept, monkeypatch):
    space, write, calls = kept.space(META, 4), cache_space._write_shard, []

    def cleared(folder, keys, rows):
        if not calls:
            VectorCache(kept.folder).clear()
        calls.append(1)
        return write(folder, keys, rows)

    monkeypatch.setattr(cache_space, "_write_shard", cleared)
    space.put(["a"], rows_of(["a"]))
    assert len(calls) == 2 and space.find(["a"])[0].all() and kept.notes == []
    assert [entry.model for entry in kept.entries()] == ["m"]


# --- processes -----------------------------------------------------------------------------------------------------

WRITER = """
import sys, numpy as np
from uncone.data.cache import VectorCache
folder, start, puts = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
space = VectorCache(folder, 1 << 30).space({"model": "m", "fingerprint": "f"}, 256)
print("ready", flush=True)
sys.stdin.readline()
for put in range(puts):
    numbers = np.arange(start + 40 * put, start + 40 * put + 60)
    space.put([f"text {i}" for i in numbers], np.repeat(numbers[:, None], 256, axis=1))
    print(put, flush=True)
"""


def writer(folder, start, puts):
    command = [sys.executable, "-c", WRITER, str(folder), str(start), str(puts)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def found_numbers(folder, n):
    cache = VectorCache(folder)
    known, rows = cache.space({"model": "m", "fingerprint": "f"}, 256).find([f"text {i}" for i in range(n)])
    np.testing.assert_array_equal(rows[known], np.repeat(np.flatnonzero(known)[:, None], 256, axis=1))
    return known, cache


def test_two_processes_write_at_once(tmp_path):
    both = [writer(tmp_path, 0, 60), writer(tmp_path, 1200, 60)]  # the second half of one is the first of the other
    for one in both:
        assert one.stdout.readline() == "ready\n"
    for one in both:
        one.stdin.write("\n")
        one.stdin.flush()
    for one in both:
        one.communicate(timeout=60)
        assert one.returncode == 0
    known, cache = found_numbers(tmp_path, 3580)
    assert known.all() and cache.notes == []


def test_killed_in_the_middle_of_a_put(tmp_path):
    killed = writer(tmp_path, 0, 100_000)
    assert killed.stdout.readline() == "ready\n"
    killed.stdin.write("\n")
    killed.stdin.flush()
    for _ in range(40):
        last = int(killed.stdout.readline())
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=60)
    known, cache = found_numbers(tmp_path, 40 * last + 60)
    assert known.all(), "what was put before is there"
    assert cache.notes == []


@pytest.mark.parametrize("part", [0.0, 0.3, 0.99])
def test_a_kill_between_any_two_bytes(kept, part):
    """What a kill leaves is a half-written file under its temporary name: never read, and swept after a while."""
    space = kept.space(META, 4)
    space.put(["a"], rows_of(["a"]))
    code = f"""
import os
from pathlib import Path
import numpy as np
from uncone.data.cache import VectorCache
Path.replace = lambda self, target: os.kill(os.getpid(), 9)
space = VectorCache({str(kept.folder)!r}).space({META!r}, 4)
space.put({names(100)!r}, np.ones((100, 4)))
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == -9
    (left,) = kept.folder.glob("vectors/*/*.part")
    os.truncate(left, int(left.stat().st_size * part))
    again = VectorCache(kept.folder, 1 << 20)
    known, _ = again.space(META, 4).find(["a", *names(100)])
    assert known.tolist() == [True] + [False] * 100 and again.notes == []
    again.space(META, 4).put(names(100), rows_of(names(100)))
    assert left.exists(), "it may belong to a process that still writes"
    os.utime(left, (1, 1))
    VectorCache(kept.folder, 1 << 20).space(META, 4).put(["b"], rows_of(["b"]))
    assert not left.exists()


# --- limits --------------------------------------------------------------------------------------------------------


def test_the_least_recently_used_go_first(tmp_path):
    cache = VectorCache(tmp_path, 5_000)
    spaces = {name: cache.space({"model": name, "fingerprint": name}, 100) for name in "abc"}
    for place, name in enumerate("abc"):
        spaces[name].put(names(3), np.full((3, 100), place))  # 1,284 bytes each
        (path,) = [one for one in shards(cache) if one.parent == spaces[name].folder]
        os.utime(path, (1000 + place, 1000 + place))
    fresh = VectorCache(tmp_path, 5_000)
    assert fresh.space({"model": "a", "fingerprint": "a"}, 100).find(names(3))[0].all()  # now the last used
    fresh.space({"model": "d", "fingerprint": "d"}, 100).put(names(3), np.ones((3, 100)))
    assert sorted(entry.model for entry in fresh.entries()) == ["a", "c", "d"]
    assert sum(entry.bytes for entry in fresh.entries()) <= 5_000
    assert not spaces["b"].find(names(3))[0].any() and spaces["c"].find(names(3))[0].all()
    assert cache.notes == fresh.notes == []


def test_it_never_outgrows_its_limit(tmp_path):
    cache = VectorCache(tmp_path, 20_000)
    space = cache.space(META, 16)
    for put in range(60):
        texts = names(10, f"{put}")
        space.put(texts, rows_of(texts, 16))
        assert sum(path.stat().st_size for path in shards(cache)) <= 20_000
        assert space.find(texts)[0].all(), "the last is there"
    space.put(names(1000), np.ones((1000, 16)))  # more than there is room for
    assert not space.find(names(1000))[0].any() and cache.writes


def test_a_limit_of_nothing_keeps_nothing(tmp_path):
    cache = VectorCache(tmp_path / "none", 0)
    cache.space(META, 4).put(["a"], rows_of(["a"]))
    assert not cache.space(META, 4).find(["a"])[0].any()
    assert not (tmp_path / "none").exists() and cache.notes == []


def test_single_sentences_do_not_leave_a_thousand_files(kept):
    space = kept.space(META, 4)
    for text in names(300):
        space.put([text], rows_of([text]))
    assert len(shards(kept)) <= cache_space._MANY + 1
    for one in (space, VectorCache(kept.folder).space(META, 4)):
        known, rows = one.find(names(300))
        assert known.all()
        np.testing.assert_array_equal(rows, rows_of(names(300)))
    assert [entry.rows for entry in kept.entries()] == [300]


# --- the disk ------------------------------------------------------------------------------------------------------


def test_a_full_disk_switches_writing_off_and_reading_goes_on(kept, monkeypatch):
    space = kept.space(META, 4)
    space.put(["a"], rows_of(["a"]))

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache_space, "_write_shard", full)
    space.put(["b"], rows_of(["b"]))
    space.put(["c"], rows_of(["c"]))
    assert len(kept.notes) == 1 and "switched off" in kept.notes[0] and "No space left" in kept.notes[0]
    assert space.find(["a", "b"])[0].tolist() == [True, False]
    assert list(kept.folder.glob("vectors/*/*.part")) == []


def test_a_write_that_really_fails_leaves_nothing(tmp_path):
    code = f"""
import resource, signal, numpy as np
from pathlib import Path
from uncone.data.cache import VectorCache
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
cache = VectorCache({str(tmp_path)!r})
space = cache.space({{"model": "m"}}, 1000)
space.put(["a"], np.ones((1, 1000)))
space.put([str(i) for i in range(50)], np.ones((50, 1000)))
space.put(["b"], np.ones((1, 1000)))
print(cache.notes, space.find(["a", "b", "1"])[0].tolist(), len(list(Path({str(tmp_path)!r}).rglob("*.part"))))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "switched off" in done.stdout and done.stdout.strip().endswith("[True, False, False] 0"), done.stdout


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("x")
    cache = VectorCache(tmp_path / "file")
    space = cache.space(META, 4)
    assert not space.find(["a"])[0].any()
    space.put(["a"], rows_of(["a"]))
    assert len(cache.notes) == 1 and not cache.writes
    assert cache.entries() == []


# --- settings, listing ---------------------------------------------------------------------------------------------


def test_where_and_how_large(monkeypatch, tmp_path):
    for name in ("UNCONE_CACHE", "UNCONE_CACHE_SIZE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "uncone" and cache_limit() == DEFAULT_LIMIT == 5 * 1024**3
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_folder() == Path("/x/uncone")
    monkeypatch.setenv("UNCONE_CACHE", "/y")
    monkeypatch.setenv("UNCONE_CACHE_SIZE", "2MB")
    assert (VectorCache().folder, VectorCache().limit) == (Path("/y"), 2 << 20)
    assert VectorCache(tmp_path, 7).limit == 7


@pytest.mark.parametrize(
    ("text", "size"), [("5GB", 5 << 30), ("1.5k", 1536), (" 300 MB ", 300 << 20), ("0", 0), ("", DEFAULT_LIMIT)]
)
def test_sizes(monkeypatch, text, size):
    monkeypatch.setenv("UNCONE_CACHE_SIZE", text)
    assert cache_limit() == size


@pytest.mark.parametrize("text", [" ", "5 parsecs", "-1", "GB", "1e3"])
def test_what_is_no_size(monkeypatch, text):
    monkeypatch.setenv("UNCONE_CACHE_SIZE", text)
    with pytest.raises(OptionError, match="5GB"):
        cache_limit()


def test_compaction_removes_nothing_when_nothing_may_be_written(kept, monkeypatch):
    for text in names(cache_space._MANY - 1):
        kept.space(META, 4).put([text], rows_of([text]))
    monkeypatch.setattr(cache_space, "_MANY", 2)
    VectorCache(kept.folder, 0).space(META, 4).put(["new"], rows_of(["new"]))
    assert kept.space(META, 4).find(names(63))[0].all()


def test_entries_and_clearing(kept, tmp_path):
    for model, n in (("one", 3), ("two", 5)):
        meta = {"model": model, "path": str(tmp_path / model), "layer": "1,2", "pooling": "max", "fingerprint": model}
        kept.space(meta, 4).put(names(n), rows_of(names(n)))
    entries = kept.entries()
    assert {(one.model, one.layer, one.pooling, one.rows) for one in entries} == {
        ("one", "1,2", "max", 3),
        ("two", "1,2", "max", 5),
    }
    assert sum(one.bytes for one in entries) == sum(path.stat().st_size for path in shards(kept))
    assert all(abs(one.used - time.time()) < 60 for one in entries)
    assert kept.clear("three") == []
    assert [one.model for one in kept.clear(str(tmp_path / "one"))] == ["one"]
    assert [one.model for one in kept.entries()] == ["two"]
    (kept.folder / "vectors" / "mine.txt").write_text("kept")
    assert [one.rows for one in kept.clear()] == [5]
    assert kept.entries() == [] and [path.name for path in (kept.folder / "vectors").iterdir()] == ["mine.txt"]
