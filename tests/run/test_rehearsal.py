"""What a rehearsal says of a run, against the run itself: bytes of states, memory, time of the processor."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time

import numpy as np
import pytest

from uncone import check, fix, plan
from uncone.data.batch import Batch
from uncone.data.vectors.memory import ArrayVectors
from uncone.run import fold
from uncone.run.fold import SPAN
from uncone.run.rehearsal import Repeated, _roomy, state_bytes
from uncone.stats.cluster_moments import ClusterMoments
from uncone.stats.hashing import Fingerprints
from uncone.stats.moments import Moments
from uncone.stats.partition import PartitionSums
from uncone.stats.row_sample import RowSample, cutoff_for
from uncone.stats.statistic import Bundle


class Counting:
    """An engine in this process that counts the bytes that would travel, and keeps the jobs as they are sent."""

    def __init__(self):
        self.sent = self.received = 0
        self.jobs = []

    def groups(self, job, groups, progress=None):
        self.jobs.append((pickle.dumps(job), groups))
        for group in groups:
            parts = [job.fold(chunk) for chunk in group]
            whole = job.join(parts)
            self.sent += sum(map(len, parts))
            self.received += len(whole)
            yield job.received(whole)


@pytest.fixture
def small_tree(monkeypatch):
    """Chunks of two spans and groups of two chunks, so that a few rows have several of each."""
    import uncone.run.measure

    for module in (fold, uncone.run.measure):
        monkeypatch.setattr(module, "CHUNK", 2 * SPAN)
        monkeypatch.setattr(module, "GROUP", 4 * SPAN)


@pytest.mark.parametrize("method", [None, "whiten", "clustered"])
def test_the_network_carries_what_was_planned(small_tree, cone, tmp_path, method):
    path, counting = tmp_path / "rows.npy", Counting()
    np.save(path, cone(6 * SPAN + 321, 16, seed=3))
    if method is None:
        check(path, engine=counting)
    else:
        fix(path, method, engine=counting)
    planned = plan(path, engine="ray", workers=3, method=method)
    assert planned["to_driver"].value == pytest.approx(counting.received, rel=0.03)
    assert planned["between_workers"].value == pytest.approx(counting.sent, rel=0.03)
    passes = planned["passes"].value - (method is not None)  # nothing is applied without -o
    assert passes == len(counting.jobs)
    assert planned["chunks"].value == sum(map(len, counting.jobs[0][1])) == 4
    assert planned["groups"].value == len(counting.jobs[0][1]) == 2


STATISTICS = {
    "moments": lambda rows: Moments(6, reference=np.zeros(6)),
    "partition": lambda rows: PartitionSums(np.eye(6)),
    "clusters": lambda rows: ClusterMoments(np.zeros(6), np.eye(6)[:3]),
    "sample": lambda rows: RowSample(6, k=500, cutoff=cutoff_for(500, rows)),
    "sample of all": lambda rows: RowSample(6, k=500),
    "fingerprints": lambda rows: Fingerprints(limit=1_000),
    "fingerprints of a number of rows that is known": lambda rows: Fingerprints(limit=1_000, rows=rows),
}


@pytest.mark.parametrize("name", STATISTICS)
def test_states_grow_as_they_say(name, cone):
    """From the state of 2,000 rows to that of 20,000."""
    rows, few = cone(20_000, 6, seed=1), 2_000
    made = STATISTICS[name](len(rows))
    bundle = Bundle(it=made)
    part = Bundle(it=_roomy(made))
    part.update(Batch.of(rows[:few]))
    part.finish()
    whole = bundle.empty()
    for start in range(0, len(rows), few):
        whole.update(Batch.of(rows[start : start + few], first_row=start))
    whole.finish()
    size = sum(array.nbytes for array in whole.snapshot().values())
    assert state_bytes(bundle, part, few, len(rows)) == pytest.approx(size, rel=0.1)


def test_a_sample_is_repeated(cone):
    sample = cone(7, 3)
    source = Repeated(ArrayVectors(sample), 1_000, "many", "array")
    read = np.concatenate([part.vectors for part in source.read(5, 30)])
    assert np.array_equal(read, sample[np.arange(5, 30) % 7])


@pytest.mark.parametrize("method", [None, pytest.param("whiten", marks=pytest.mark.exhaustive)])
def test_the_time_of_the_processor_is_within_a_factor_of_two(cone, tmp_path, method):
    path = tmp_path / "rows.npy"
    np.save(path, cone(250_000, 96, seed=2))

    def run():
        return check(path, workers=1) if method is None else fix(path, method, workers=1, out=tmp_path / "out.npy")

    def seconds() -> float:
        begun = time.process_time()
        run()
        return time.process_time() - begun

    planned = plan(path, workers=1, method=method)
    expected = planned["cpu_seconds"].value + planned["own_seconds"].value
    measured = min(seconds() for _ in range(2))
    assert measured / 2 < expected < 2 * measured
    assert planned["seconds"].value >= planned["processor_seconds"].value


WORKER = """
import pickle, re, sys
from pathlib import Path
job = pickle.loads(Path(sys.argv[1]).read_bytes())
job.join([job.fold((0, int(sys.argv[2])))] * int(sys.argv[3]))
print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="where the peak of a process can be read")
def test_the_memory_of_a_worker(small_tree, cone, tmp_path):
    """Of a process that folds a chunk and joins as many as a group has."""
    path, counting = tmp_path / "rows.npy", Counting()
    np.save(path, cone(4 * SPAN, 200, seed=4))
    check(path, engine=counting)
    (tmp_path / "job").write_bytes(counting.jobs[0][0])
    arguments = [sys.executable, "-c", WORKER, str(tmp_path / "job"), str(2 * SPAN), "2"]
    process = subprocess.run(arguments, capture_output=True, text=True, check=True)
    measured = 1024 * int(process.stdout)
    assert measured / 1.6 < plan(path, engine="ray")["memory"].value < 1.6 * measured
