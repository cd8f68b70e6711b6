"""Folders in object storage: an interrupted run goes on, and no reader ever sees a part of an object."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet as pq
import pytest

import uncone
from uncone.errors import FormatError
from uncone.repairs.dimensions import Center

ROWS = np.random.default_rng(0).normal(1, 1, (30_000, 8)).astype(np.float32)
N_SHARDS = 6


def shards_to(bucket):
    for place, part in enumerate(np.array_split(ROWS, N_SHARDS)):
        file = io.BytesIO()
        np.save(file, part)
        bucket.put(f"shards/part-{place}.npy", file.getvalue())


def objects(bucket, prefix):
    """Names and contents, without the empty mark that pyarrow leaves for a folder from which it removed something."""
    return {key.removeprefix(prefix): bucket.get(key) for key in bucket.keys_of(prefix) if key != prefix}


def test_apply_from_storage_to_storage(bucket):
    shards_to(bucket)
    repair = Center().fit(ROWS)
    done = []

    def stop(step, amount, total):
        done.append(amount)
        if len(done) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        uncone.apply(repair, "s3://bucket/shards", out="s3://bucket/out", progress=stop)
    assert [key for key in bucket.keys_of("out/") if key.endswith(".npy")] == ["out/part-0.npy", "out/part-1.npy"]
    with pytest.raises(FormatError, match="s3://bucket/out is not complete"):
        uncone.check("s3://bucket/out")
    result = uncone.apply(repair, "s3://bucket/shards", out="s3://bucket/out")
    assert str(result.path) == "s3://bucket/out" and result.rows == len(ROWS)
    assert len(objects(bucket, "out/")) == N_SHARDS + 1
    parts = [np.load(io.BytesIO(bucket.get(f"out/part-{place}.npy"))) for place in range(N_SHARDS)]
    np.testing.assert_allclose(np.concatenate(parts), ROWS - ROWS.mean(0), atol=1e-5)
    assert json.loads(bucket.get("out/_uncone.json"))["rows"] == len(ROWS)
    uncone.apply(repair, "s3://bucket/shards", out="whole")
    for place in range(N_SHARDS):
        with open(f"whole/part-{place}.npy", "rb") as file:  # noqa: PTH123
            assert file.read() == bucket.get(f"out/part-{place}.npy")


@pytest.mark.exhaustive
def test_a_killed_encode_goes_on(bucket, tiny_model):
    """Every object that is there at any time is whole, and the folder is that of a run that nobody killed."""
    for place in range(4):
        texts = "\n".join(f"the text {i} of file {place} go to school" for i in range(3000))
        bucket.put(f"texts/{place}.txt", texts.encode())
    uncone.encode("s3://bucket/texts", model=tiny_model, out="s3://bucket/whole")
    command = [sys.executable, "-m", "uncone", "encode", "s3://bucket/texts", "--model", tiny_model]
    command += ["-o", "s3://bucket/out"]
    for n_done in (1, 2, 3):
        process = subprocess.Popen(command)
        while process.poll() is None and sum(key.endswith(".parquet") for key in bucket.keys_of("out/")) < n_done:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for key, content in objects(bucket, "out/").items():
            if key.endswith(".parquet"):
                assert pq.read_table(io.BytesIO(content)).num_rows == 3000
    subprocess.run(command, check=True)
    names = [f"{place}.parquet" for place in range(4)]
    assert sorted(objects(bucket, "out/")) == [*names, "_uncone.json"]
    for name in names:
        assert bucket.get(f"out/{name}") == bucket.get(f"whole/{name}")


@pytest.mark.exhaustive
@pytest.mark.parametrize(("engine", "package"), [("ray", "ray"), ("dask", "distributed"), ("spark", "pyspark")])
def test_engines_write_to_storage(bucket, engine, package):
    """By the command: workers that are started for it have its environment, and so the way to the storage."""
    pytest.importorskip(package)
    shards_to(bucket)
    Center().fit(ROWS).save("repair")
    command = [sys.executable, "-m", "uncone", "apply", "repair", "s3://bucket/shards", "-o"]
    subprocess.run([*command, "s3://bucket/here"], check=True)
    subprocess.run([*command, "s3://bucket/there", "--engine", engine, "--workers", "2"], check=True)
    here, there = objects(bucket, "here/"), objects(bucket, "there/")
    assert here == there
