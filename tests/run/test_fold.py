"""The tree of a fold: its parts as bytes, what differs between machines, and files that change."""

from __future__ import annotations

import os
import pickle
import weakref

import numpy as np
import pytest

from uncone import check
from uncone.data.open import open_source
from uncone.data.vectors.memory import BlockStream
from uncone.errors import FormatError, MissingSourceError, OptionError
from uncone.run import fold
from uncone.run import job as job_module
from uncone.run.fold import SPAN, Fold, cut, groups_of
from uncone.run.measure import Plan, measure
from uncone.stats.moments import Moments
from uncone.stats.statistic import Bundle
from uncone.stats.unit_vectors import UnitSum


class Serialized:
    """An engine in this process that sends everything as bytes, as clusters do."""

    def groups(self, job, groups, progress=None):
        job = pickle.loads(pickle.dumps(job))
        for group in groups:
            yield job.received(job.join([job.fold(chunk) for chunk in group]))


@pytest.fixture
def small_tree(monkeypatch):
    """Chunks of two spans and groups of two chunks, so that a few rows have several of each."""
    import uncone.run.measure

    for module in (fold, uncone.run.measure):
        monkeypatch.setattr(module, "CHUNK", 2 * SPAN)
        monkeypatch.setattr(module, "GROUP", 4 * SPAN)


@pytest.fixture
def path(cone, tmp_path):
    rows = cone(6 * SPAN + 321, 5, seed=3)
    rows[70_000] = np.nan
    np.save(tmp_path / "rows.npy", rows)
    return tmp_path / "rows.npy"


def test_ranges():
    assert cut(3, 10, 4) == [(3, 7), (7, 10)] and cut(0, 0, 4) == []
    sizes = [[stop - start for start, stop in group] for group in groups_of(fold.GROUP + 5)]
    assert [len(group) for group in sizes] == [32, 1] and sizes[1] == [5] and set(sizes[0]) == {fold.CHUNK}


def test_bytes_between_workers_move_no_digit(small_tree, path):
    expected = check(path, exact=True).to_dict()["findings"]
    assert check(path, exact=True, engine=Serialized()).to_dict()["findings"] == expected
    # A stream is folded along the same tree.
    bundle = Bundle(moments=Moments(5), units=UnitSum(5))
    rows = np.load(path)
    streamed = measure(BlockStream(iter(np.array_split(rows, 9))), bundle).state()
    sent = measure(open_source(path), bundle, Plan(engine=Serialized())).state()
    assert all(np.array_equal(streamed[name], sent[name]) for name in streamed)
    good = rows[np.isfinite(rows).all(axis=1)].astype(np.float64)
    np.testing.assert_allclose(sent["moments.mean"], good.mean(axis=0), rtol=1e-6)


def test_other_kernels_are_refused_unless_allowed(path, monkeypatch):
    job = Fold(open_source(path), UnitSum(5))
    state = job.join([job.fold((0, 100)), job.fold((100, 200))])
    own = job_module.kernel()
    monkeypatch.setattr(job_module, "kernel", lambda: {**own, "BLAS": "another", "numpy": "1.0"})
    with pytest.raises(OptionError, match=r"numpy .* instead of 1\.0; BLAS .* instead of another.*--any-kernel"):
        job.received(state)
    allowed = Fold(job.source, job.statistic, any_kernel=True).received(state)
    assert allowed.n == 200


@pytest.mark.parametrize("damage", ["changed", "gone"])
def test_files_that_change_in_mid_run(path, damage):
    class Damaging(Serialized):
        def groups(self, job, groups, progress=None):
            if damage == "gone":
                path.unlink()
            else:
                os.utime(path, ns=(1, 1))
            yield from super().groups(job, groups)

    error = FormatError if damage == "changed" else MissingSourceError
    with pytest.raises(error, match=r"rows\.npy"):
        measure(open_source(path), UnitSum(5), Plan(engine=Damaging()))


def test_an_error_of_a_worker_is_raised_here_with_its_kind(path):
    source = open_source(path)
    job = Fold(source, UnitSum(5))
    with path.open("r+b") as file:
        file.truncate(1_000)
    state = job.join([job.fold((0, 10)), job.fold((5_000, 5_100))])
    with pytest.raises(FormatError, match="shrank while being read"):
        job.received(state)


def test_a_file_that_a_worker_can_not_see(path):
    job = Fold(open_source(path), UnitSum(5))
    path.unlink()
    with pytest.raises(MissingSourceError, match=r"worker can't read .*rows\.npy: No such file"):
        job.received(job.join([job.fold((0, 10))]))


def test_a_join_keeps_two_states_at_most(small_tree, path):
    """The one that grows and the one that is added to it, but for the first two."""
    alive, most = weakref.WeakSet(), []

    class Counted(Moments):
        def empty(self):
            part = Counted(self.dim, reference=self.reference)
            alive.add(part)
            return part

        def resume(self, snapshot):
            super().resume(snapshot)
            most.append(len(alive))

    job = Fold(open_source(path), Counted(5))
    parts = [job.fold((start, start + SPAN)) for start in range(0, 6 * SPAN, SPAN)]
    joined = job.received(job.join(iter(parts)))
    assert joined.n == 6 * SPAN - 1 and len(most) == 7
    assert max(most[:-1]) <= 2
