"""Object storage in short: read a folder of shards, write a repair and vectors, and publish nothing half-written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import uncone
from uncone.cli.main import _run
from uncone.data.storage.path import path_of
from uncone.data.writing.atomic import replacing


def test_storage_in_short(bucket, capsys):
    rng = np.random.default_rng(0)
    Path("shards").mkdir()
    for name, n in (("part-0.npy", 700), ("part-1.npy", 300)):
        np.save(f"shards/{name}", (rng.normal(size=(n, 6)) + 1).astype(np.float32))
        bucket.put(f"shards/{name}", Path("shards", name).read_bytes())
    local, there = (uncone.check(root + "shards", exact=True).to_dict() for root in ("", "s3://bucket/"))
    assert there["findings"] == local["findings"]
    for root in ("", "s3://bucket/"):
        assert _run(["fix", f"{root}shards", "--method", "whiten", "--save", f"{root}repair", "--no-html"]) == 0
        assert _run(["apply", f"{root}repair", f"{root}shards", "-o", f"{root}fixed.npy"]) == 0
    assert bucket.get("fixed.npy") == Path("fixed.npy").read_bytes()
    with pytest.raises(ZeroDivisionError), replacing(path_of("s3://bucket/fixed.npy")) as temporary:
        temporary.write_bytes(b"half of it")
        raise ZeroDivisionError
    assert bucket.get("fixed.npy") == Path("fixed.npy").read_bytes()
    capsys.readouterr()
    assert _run(["check", "s3://nowhere/a.npy"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "there is no bucket nowhere" in error
