"""Ray gives the same bytes as threads, and says in a line what it can't do."""

from __future__ import annotations

import numpy as np
import pytest
from engine_answers import answers

import uncone
from uncone.errors import FormatError, OptionError

pytest.importorskip("ray")


def test_ray_gives_the_same_bytes(shards, expected, tmp_path):
    assert answers(shards, engine="ray", workers=2) == expected
    # Errors of a worker are ours, in a line.
    rows = np.ones((50, 4), np.float32)
    np.save(tmp_path / "a.npy", rows)
    with pytest.raises(OptionError, match="can only be read from the beginning"):
        np.savetxt(tmp_path / "a.csv", rows, delimiter=",", header="a,b,c,d", comments="")
        uncone.check(tmp_path / "a.csv", engine="ray", workers=2)


def test_a_damaged_shard_is_named(shards, tmp_path):
    whole = (shards / "part-1.parquet").read_bytes()
    middle = len(whole) // 2
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "part-0.parquet").write_bytes(whole[:middle] + b"\0" * 5_000 + whole[middle + 5_000 :])
    with pytest.raises(FormatError, match=r"part-0\.parquet"):
        uncone.check(tmp_path / "damaged", engine="ray", workers=2)
