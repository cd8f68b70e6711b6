"""Workers that are killed in mid-run: every run ends, with the same bytes."""

from __future__ import annotations

import json
import shutil

import pytest
from engine_workers import KILLS, dask_workers, killer_of, one_killed, ray_workers, spark_executors, spark_workers

import uncone
from uncone.run.engines.open import _connected


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("engine", "package"), [("ray", "ray"), ("dask", "distributed")])
def test_killed_workers_move_no_digit(engine, package, shards):
    pytest.importorskip(package)
    expected = json.dumps(uncone.check(shards, exact=True).to_dict()["findings"])
    n_killed = 0
    for _ in range(KILLS):
        kill, killed = killer_of(ray_workers if engine == "ray" else dask_workers)
        found = uncone.check(shards, exact=True, engine=engine, workers=2, progress=kill).to_dict()["findings"]
        assert json.dumps(found) == expected
        n_killed += len(killed)
    assert n_killed >= KILLS // 2, "runs were over before a worker could be killed"


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("master", "workers", "seconds"), [(None, spark_workers, 0.1), ("local-cluster[2,1,1024]", spark_executors, 0.3)]
)
def test_killed_workers_of_spark_move_no_digit(master, workers, seconds, shards, monkeypatch):
    """Python processes of threads in one Java process, and whole executors of a cluster on this machine."""
    pytest.importorskip("pyspark")
    from uncone.run.engines.spark import Spark

    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    expected = json.dumps(uncone.check(shards, exact=True).to_dict()["findings"])
    executor, killed = Spark(master, 2), 0
    try:
        for _ in range(KILLS):
            with one_killed(workers, seconds) as one:
                found = uncone.check(shards, exact=True, engine=executor).to_dict()["findings"]
            killed += len(one)
            assert json.dumps(found) == expected
    finally:
        executor.session.stop()
        _connected.cache_clear()  # the session of other tests is gone too
    assert killed >= KILLS // 2, "runs were over before a worker could be killed"
