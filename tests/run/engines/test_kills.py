"""Workers that are killed in mid-run: every run ends, with the same bytes."""

from __future__ import annotations

import json
import os
import signal

import pytest
from engine_workers import KILLS, dask_workers, ray_workers

import uncone


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("engine", "package"), [("ray", "ray"), ("dask", "distributed")])
def test_killed_workers_move_no_digit(engine, package, shards):
    pytest.importorskip(package)
    expected = json.dumps(uncone.check(shards, exact=True).to_dict()["findings"])
    killed = []
    for _ in range(KILLS):
        before = len(killed)

        def kill(step, amount, total, before=before):
            """Kill a worker once, when the first chunk is done and others are under way."""
            workers = ray_workers() if engine == "ray" else dask_workers()
            if len(killed) == before and workers:
                os.kill(workers[0], signal.SIGKILL)
                killed.append(workers[0])

        found = uncone.check(shards, exact=True, engine=engine, workers=2, progress=kill).to_dict()["findings"]
        assert json.dumps(found) == expected
    assert len(killed) >= KILLS // 2, "runs were over before a worker could be killed"
