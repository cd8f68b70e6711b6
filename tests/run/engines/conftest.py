"""A folder of uneven Parquet shards with more rows than a chunk, and what threads make of it."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_answers import answers

from uncone.run.fold import CHUNK

ROWS = 2 * CHUNK + 70_001
DIM = 6


@pytest.fixture(scope="session")
def shards(tmp_path_factory):
    """Shards that end within spans, with row groups of several sizes, a few unusable rows and copies."""
    folder = tmp_path_factory.mktemp("vectors") / "shards"
    folder.mkdir()
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(ROWS, DIM)) * np.linspace(0.5, 2, DIM) + 1.5).astype(np.float32)
    rows[CHUNK + 5] = np.nan
    rows[200_000:200_050] = rows[:50]
    edges = [0, 30_000, 900_001, 900_002, CHUNK + 500_000, ROWS]
    for place, (start, stop) in enumerate(itertools.pairwise(edges)):
        values = pa.array(rows[start:stop].ravel())
        column = pa.FixedSizeListArray.from_arrays(values, DIM)
        pq.write_table(
            pa.table({"vector": column}), folder / f"part-{place}.parquet", row_group_size=50_000 * (place + 1)
        )
    return folder


@pytest.fixture(scope="session")
def expected(shards):
    """The answers of threads."""
    return answers(shards)
