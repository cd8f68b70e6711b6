"""Spark gives the same bytes as threads, and takes states of any size in pieces."""

from __future__ import annotations

import shutil

import numpy as np
import pyarrow as pa
import pytest
from engine_answers import answers

pytest.importorskip("pyspark")
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")


def bytes_job(size):
    """A job that makes random bytes, so many of each row. Its class is sent with it: workers don't see this file."""

    class Bytes:
        def fold(self, chunk):
            return np.random.default_rng(chunk[0]).bytes((chunk[1] - chunk[0]) * size)

        def join(self, parts):
            return b"|".join(parts)

        def received(self, state):
            return state

    return Bytes()


def expected_of(job, groups):
    return [job.join([job.fold(chunk) for chunk in group]) for group in groups]


@pytest.mark.exhaustive
@needs_java
@pytest.mark.filterwarnings("ignore")  # of pandas 3, and of sockets that py4j leaves open
def test_spark_gives_the_same_bytes(shards, expected, monkeypatch):
    assert answers(shards, engine="spark", workers=2) == expected
    monkeypatch.setattr("uncone.run.engines.spark._PIECE", 70_000)
    assert answers(shards, engine="spark", workers=2) == expected


@pytest.mark.exhaustive
@needs_java
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("size", "piece", "groups"),
    [
        (700, 99, [[(0, 3), (3, 4), (4, 9)], [(9, 10)], [(10, 20), (20, 21)]]),
        (40 << 20, None, [[(0, 1), (1, 2), (2, 4)], [(4, 6)]]),
    ],
)
def test_states_of_any_size_arrive(size, piece, groups, monkeypatch):
    """Java has its usual gigabyte, and a state is up to 160 MB."""
    from uncone.run.engines.open import open_engine

    if piece is not None:
        monkeypatch.setattr("uncone.run.engines.spark._PIECE", piece)
    job = bytes_job(size)
    assert list(open_engine("spark", None, 2).groups(job, groups)) == expected_of(job, groups)


def test_pieces_are_put_together():
    """As in the workers, with batches that end anywhere, without Java."""
    from uncone.run.engines.spark import _pieces, _rows, _whole

    states = [[b"abcdefg", b"hij"], [b"klm"]]
    batches = [
        batch
        for at, group in enumerate(states)
        for place, state in enumerate(group)
        for batch in _pieces(at, place, state, 3)
    ]
    assert [batch["state"][0].as_py() for batch in batches] == [b"abc", b"def", b"g", b"hij", b"klm"]
    together = pa.Table.from_batches(batches).combine_chunks().to_batches(max_chunksize=2)
    assert list(_whole(row for batch in together for row in _rows(batch))) == list(enumerate(states))
