"""`plan`: its figures against formulas of their own, and what it says of sources and workers."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import uncone
from uncone import plan
from uncone.errors import OptionError
from uncone.run.estimate import Estimate, Reading
from uncone.run.fold import CHUNK
from uncone.run.rehearsal import Pass

BILLION = 1_000_000_000


@pytest.fixture(scope="module")
def billion():
    """A billion vectors on sixteen workers, by a rehearsal of some thousand."""
    return plan(rows=1e9, dim=32, engine="ray", workers=16, bandwidth="25Gbit/s")


def values(planned):
    return {name: figure.value for name, figure in planned.figures.items()}


def test_a_billion_vectors(billion):
    found = values(billion)
    assert found["rows"] == BILLION and found["bytes_read"] == BILLION * 32 * 4
    # A triangle of x x', multiplied and added.
    assert found["flops"] == BILLION * (2 * 32 * 33 / 2)
    assert found["chunks"] == 954 and found["groups"] == 30
    assert found["transfer_seconds"] == pytest.approx(
        (BILLION * 32 * 4 + found["to_driver"] + found["between_workers"]) / (25e9 / 8)
    )
    # Sixty rounds of chunks, and the same of their states.
    each = billion.estimate.passes[0]
    assert found["processor_seconds"] == pytest.approx(60 * (CHUNK * each.seconds_per_row + each.seconds_per_merge))
    assert found["rate"] == pytest.approx(1 / each.seconds_per_row)
    assert found["cpu_seconds"] == pytest.approx(BILLION * each.seconds_per_row + 954 * each.seconds_per_merge)
    assert found["seconds"] == pytest.approx(
        max(found["processor_seconds"], found["transfer_seconds"]) + found["own_seconds"]
    )


def test_every_figure_says_where_it_comes_from(billion):
    how = {name: figure.how for name, figure in billion.figures.items()}
    assert {name for name in how if how[name] == "given"} == {"rows", "dimensions", "workers", "bandwidth"}
    assert {name for name in how if how[name] == "measured"} == {"passes", "rate", "own_seconds"}
    assert all(figure.meaning and figure.text for figure in billion.figures.values())
    assert billion.to_dict()["figures"]["seconds"]["how"] == "computed"


def test_the_rehearsal_needs_no_engine():
    """In a process of its own, nothing of Ray is loaded: the plan is for machines that are not here."""
    import subprocess

    code = "import sys, uncone; uncone.plan(rows=1e9, dim=8, engine='ray', workers=4); print('ray' in sys.modules)"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.split() == ["False"]


def test_the_passes_of_a_repair():
    n, d = 10_000_000, 16
    found = plan(rows=n, dim=d, method="whiten")
    steps = [each.step for each in found.estimate.passes]
    assert steps == ["before: measuring", "whiten: measuring", "after: measuring", "apply"]
    gram, product = d * (d + 1), 2 * d * d
    assert found["flops"].value == n * (gram + gram + (product + gram) + product)
    assert found["bytes_read"].value == 4 * n * d * 4 and found["bytes_written"].value == n * d * 4


@pytest.mark.parametrize("method", [None, "standardize"])
def test_quantized_vectors_and_their_width(method):
    """Neither the numbers nor the dimensions of synthetic vectors are those of a model or of a repair."""
    found = plan(rows=1e6, dim=20, dtype="int8", method=method, sample=500)
    assert found["bytes_read"].value == len(found.estimate.passes) * 1e6 * 20
    assert found.source["dtype"] == "int8"
    if method is not None:
        assert found["bytes_written"].value == 1e6 * 20 * 4


def test_the_bytes_of_a_file(tmp_path, cone):
    rows = cone(5_000, 24)
    np.save(tmp_path / "rows.npy", rows.astype(np.float16))
    assert plan(tmp_path / "rows.npy")["bytes_read"].value == 5_000 * 24 * 2
    column = pa.FixedSizeListArray.from_arrays(rows.ravel(), 24)
    for name, columns in {"bare": {}, "texts": {"text": ["a long text " * 20 + str(i) for i in range(5_000)]}}.items():
        pq.write_table(pa.table({"embedding": column, **columns}), tmp_path / f"{name}.parquet", compression="none")
    size = (tmp_path / "bare.parquet").stat().st_size
    for name in ("bare", "texts"):
        assert plan(tmp_path / f"{name}.parquet")["bytes_read"].value == pytest.approx(size, rel=0.01)
    (tmp_path / "shards").mkdir()
    for i, part in enumerate(np.array_split(rows, 3)):
        np.save(tmp_path / "shards" / f"{i}.npy", part)
    found = plan(tmp_path / "shards", rows=1_000_000)
    assert found["bytes_read"].value == 1_000_000 * 24 * 4 and found["rows"].how == "given"


def test_sources_that_can_not_be_shared(tmp_path, cone):
    path = tmp_path / "rows.csv"
    np.savetxt(path, cone(200, 4), delimiter=",", header="a,b,c,d", comments="")
    with pytest.raises(OptionError, match=r"only when it is read to the end\. Name their number with --rows"):
        plan(path)
    found = plan(path, rows=200, engine="dask", workers=8)
    assert "can only be read from the beginning, so Dask can't share the work. Convert it" in found.lines()[0]
    assert not found.estimate.cluster and not found.estimate.divisible and "to_driver" not in found.figures
    assert found["bytes_read"].value == path.stat().st_size
    found = plan(cone(300, 4), engine="ray")
    assert "Vectors in memory are measured where they are, so Ray can't share the work" in found.lines()[0]
    streamed = plan(iter([cone(300, 4)]), rows=300)
    assert streamed["rows"].value == 300 and not streamed.estimate.divisible


def test_a_space_and_the_digits_of_the_plan(cone):
    """In double precision, moments have the same size but samples and their norms twice the bytes."""
    single, double = (plan(cone(3_000, 8), rows=1e7, float64=flag, sample=1_000) for flag in (False, True))
    sizes = [found.estimate.passes[0].received for found in (single, double)]
    assert sizes[1] - sizes[0] == pytest.approx(1_000 * (8 + 1) * 4, rel=0.01)
    assert uncone.plan is plan


def made(**changes):
    """A plan of one pass: ten chunks, a microsecond for each vector, 100 bytes of each."""
    each = Pass("measuring", 10 * CHUNK, 10, 1, 1e-6, sent=10**6, received=10**5, folding=10**7, joining=10**8)
    settings = {
        "passes": (each,),
        "dim": 25,
        "reading": Reading(100.0, 0.0, 1e9),
        "own_seconds": 2.0,
        "process_bytes": 5 * 10**7,
        "workers": 4,
        "bandwidth": None,
        "cluster": True,
        "divisible": True,
        "unit": CHUNK,
    }
    return Estimate(**{**settings, **changes})


def test_workers_take_turns():
    """Ten chunks on four workers take three rounds; on sixteen, one."""
    assert made().processor_seconds == pytest.approx(3 * CHUNK * 1e-6)
    assert made(workers=16).processor_seconds == pytest.approx(CHUNK * 1e-6) and made(workers=16).most_units == 10
    assert made().cpu_seconds == pytest.approx(10 * CHUNK * 1e-6)
    assert made().seconds == pytest.approx(2 + 3 * CHUNK * 1e-6) and made().limit == "processor"


def test_bytes_take_their_time():
    size = 10 * CHUNK * 100
    assert made().transfer_seconds == pytest.approx(size / 4e9), "each worker reads for itself"
    slow = made(bandwidth=2e7)
    assert slow.transfer_seconds == pytest.approx((size + 10**6 + 10**5) / 2e7)
    assert slow.seconds == pytest.approx(slow.transfer_seconds + 2) and slow.limit == "transfer"
    assert slow.most_workers == 1 and made().most_workers is None
    assert slow.on(4, cluster=False).transfer_seconds == pytest.approx(size / 2e7), "states stay where they are"
    alone = made(cluster=False, divisible=False, reading=Reading(100.0, 1e-7, 1e9))
    assert alone.transfer_seconds == pytest.approx(size / 1e9)
    assert alone.processor_seconds == pytest.approx(3 * CHUNK * 1.1e-6)
    assert made(workers=100, divisible=False, reading=Reading(100.0, 3e-6)).processor_seconds == pytest.approx(
        10 * CHUNK * 3e-6
    ), "one reads for all"
    assert made(reading=Reading(100.0)).transfer_seconds is None


def test_memory_of_a_worker_and_of_a_thread():
    block = 8192 * 25 * 4
    assert made().memory == 5 * 10**7 + block + 10**8
    assert made(cluster=False).memory == 5 * 10**7 + block + 10**7
