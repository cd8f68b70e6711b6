"""Ray gives the same bytes as threads, and says in a line what it can't do."""

from __future__ import annotations

import os

import numpy as np
import pytest
from engine_answers import answers

import uncone
from uncone.cli.main import _run
from uncone.errors import FormatError, OptionError

pytest.importorskip("ray")
from uncone.run.engines.ray import Ray


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


@pytest.mark.parametrize("damage", ["changed", "gone"])
def test_a_shard_that_changes_in_mid_run_is_one_line(damage, tmp_path, monkeypatch, capsys):
    (tmp_path / "shards").mkdir()
    for place in range(3):
        np.save(tmp_path / f"shards/part-{place}.npy", np.random.default_rng(place).normal(size=(400, 4)))
    groups = Ray.groups

    def damaged(self, *options):
        """The run has begun: the files were looked at, and workers have not read them yet."""
        shard = tmp_path / "shards/part-1.npy"
        os.utime(shard, ns=(1, 1)) if damage == "changed" else shard.unlink()
        return groups(self, *options)

    monkeypatch.setattr(Ray, "groups", damaged)
    monkeypatch.chdir(tmp_path)
    assert _run(["check", "shards", "--engine", "ray", "--workers", "2", "--json", "found.json"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "part-1.npy" in error
    assert [path.name for path in tmp_path.iterdir()] == ["shards"]
