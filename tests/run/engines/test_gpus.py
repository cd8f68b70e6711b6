"""A job that needs a GPU gets one of the engine, and its worker stays, with the model that it has loaded."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import pytest

JOB = """
import json, os
from uncone.errors import WorkerError

class Job:
    gpus = 1

    def fold(self, chunk):
        return self.describe().encode()

    def join(self, parts):
        return b";".join(parts)

    def received(self, state):
        return state.decode()

def results(engine, job):
    try:
        return list(engine.groups(job, [[(i, i + 1), (i + 1, i + 2)] for i in range(0, 6, 2)]))
    except WorkerError as error:
        return str(error)
"""

RAY = """
import logging, ray
from uncone.run.engines.ray import Ray

class OnRay(Job):
    def describe(self):
        return f"{os.getpid()} {ray.get_gpu_ids()}"

ray.init("local", num_cpus=2, num_gpus=1, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
print(json.dumps(results(Ray(), OnRay())))
"""

DASK = """
import time
from distributed import Client, LocalCluster
from uncone.run.engines.dask import Dask

class OnDask(Job):
    def describe(self):
        began = time.monotonic()
        time.sleep(0.05)  # long enough for a second task to begin, if it may
        return f"{began} {time.monotonic()}"

outcomes = []
for resources in ({"GPU": 1}, {}):
    settings = {"processes": False, "dashboard_address": None, "resources": resources}
    with LocalCluster(n_workers=1, threads_per_worker=2, **settings) as cluster, Client(cluster):
        outcomes.append(results(Dask(), OnDask()))
print(json.dumps(outcomes))
"""


def outcome(script, path):
    path.write_text(f"if __name__ == '__main__':\n    {(JOB + script).strip().replace(chr(10), chr(10) + '    ')}\n")
    run = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=300)
    assert run.stdout, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.exhaustive
def test_ray_gives_a_gpu_and_keeps_the_worker(tmp_path):
    pytest.importorskip("ray")
    tasks = [task for group in outcome(RAY, tmp_path / "script.py") for task in group.split(";")]
    assert len(tasks) == 6 and all(task.endswith("[0]") for task in tasks)
    assert len({task.split()[0] for task in tasks}) == 1, "one worker has the only GPU, and the model"


@pytest.mark.exhaustive
def test_dask_runs_one_task_per_gpu(tmp_path):
    pytest.importorskip("distributed")
    with_gpu, without = outcome(DASK, tmp_path / "script.py")
    times = sorted(tuple(map(float, task.split())) for group in with_gpu for task in group.split(";"))
    assert len(times) == 6 and all(end <= began for (_, end), (began, _) in itertools.pairwise(times))
    assert "No worker of the Dask cluster has a GPU" in without and "--device cpu" in without
