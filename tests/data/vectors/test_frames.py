"""Frames of Ray Data, Dask and Spark: the same bytes of findings as from the Parquet that they were made of."""

from __future__ import annotations

import json
import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import uncone
from uncone.data.open import open_source
from uncone.data.source import Options
from uncone.data.vectors.frames.open import is_frame
from uncone.errors import ColumnError, ShapeError, WorkerError

pytestmark = pytest.mark.filterwarnings("ignore")  # what the three packages do with pandas is theirs
DIM = 6
SIZES = (9_000, 4_000, 20_000)  # uneven shards, of which the largest is longer than a block


@pytest.fixture
def shards(tmp_path):
    folder = tmp_path / "shards"
    folder.mkdir()
    rng, first = np.random.default_rng(0), 0
    for number, size in enumerate(SIZES):
        vectors = (rng.normal(size=(size, DIM)) + 1).astype(np.float32)
        lists = pa.array(vectors.tolist(), pa.list_(pa.float32()))
        if number == 1:
            lists = pa.concat_arrays([lists[:7], pa.array([None], lists.type), lists[8:]])
        names = np.arange(first, first + size)
        columns = {"id": names, "body": [f"text {i}" for i in names], "topic": [f"{i % 3}" for i in names], "v": lists}
        pq.write_table(pa.table(columns), folder / f"{number}.parquet")
        first += size
    return folder


def dask_frame(folder):
    import dask.dataframe

    return dask.dataframe.read_parquet(folder)


def ray_frame(folder):
    ray = pytest.importorskip("ray")
    if not ray.is_initialized():
        ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    return ray.data.read_parquet(str(folder))


def spark_frame(folder):
    """Spark reads large files first; whoever wants another order says so."""
    pytest.importorskip("pyspark")
    from uncone.run.engines.spark import Spark

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return Spark().session.read.parquet(str(folder)).orderBy("id")


SLOW = pytest.mark.exhaustive
FRAMES = [dask_frame, pytest.param(ray_frame, marks=SLOW), pytest.param(spark_frame, marks=SLOW)]


def findings(source, **options):
    return json.dumps(uncone.check(source, **options).to_dict()["findings"])


@pytest.mark.parametrize("frame_of", FRAMES)
def test_a_frame_has_the_findings_of_its_parquet(frame_of, shards):
    frame = frame_of(shards)
    assert is_frame(frame)
    options = {"column": "v", "text": "body", "label": "topic"}
    assert findings(frame, **options) == findings(str(shards), **options)
    cuts, wanted = (uncone.calibrate(source, column="v", fpr=[0.01]).to_dict() for source in (frame, str(shards)))
    assert cuts["calibration"]["thresholds"] == wanted["calibration"]["thresholds"]
    parts = list(open_source(frame, Options("v", text="body")).read())
    assert [name for part in parts for name in part.texts] == [f"text {i}" for i in range(sum(SIZES))]
    assert max(len(part.vectors) for part in parts) <= 8_192, "no block is collected with others"


@pytest.mark.parametrize("frame_of", FRAMES)
def test_a_frame_is_repaired_with_its_columns(frame_of, shards):
    frame = frame_of(shards)
    fixed = uncone.fix(frame, "whiten", column="v", skip_bad=True, out="fixed.parquet")
    again = uncone.fix(str(shards), "whiten", column="v", skip_bad=True)
    np.testing.assert_array_equal(fixed.repair.matrix_, again.repair.matrix_)
    table = pq.read_table("fixed.parquet")
    assert table.column_names == ["id", "body", "topic", "v"] and table["id"].to_pylist() == list(range(sum(SIZES)))
    uncone.apply(again.repair, str(shards), column="v", out="again.parquet")
    wanted = pq.read_table("again.parquet")
    np.testing.assert_array_equal(table["v"].to_pylist(), wanted["v"].to_pylist())
    mapped = uncone.map(frame, column="v", label="topic", points=200)
    assert set(mapped.colorings[0].names) == {"0", "1", "2"} and mapped.total == sum(SIZES) - 1
    assert uncone.similarity(frame, column="v", text="body", sample=100).background.rows == 100


def test_a_dask_frame_without_vectors(shards):
    import dask
    import dask.dataframe
    import pandas as pd

    frame = dask_frame(shards)
    with pytest.raises(ColumnError, match="no vectors in column 'id'"):
        uncone.check(frame, column="id")
    vectors = pd.DataFrame({"v": [np.ones(3), np.zeros(3)]})
    with pytest.raises(ColumnError, match="convert-string"):
        uncone.check(dask.dataframe.from_pandas(vectors, npartitions=1), column="v")
    with dask.config.set({"dataframe.convert-string": False}):
        assert open_source(dask.dataframe.from_pandas(vectors, npartitions=1)).dim == 3
        uneven = dask.dataframe.from_pandas(pd.DataFrame({"v": [np.ones(3), np.zeros(4)]}), npartitions=1)
        with pytest.raises(ShapeError, match="row 1"):
            uncone.check(uneven)
        with pytest.raises(ShapeError, match="no rows"):
            uncone.check(dask.dataframe.from_pandas(vectors[:0], npartitions=1))


def test_a_frame_imports_no_other_package():
    """Neither is a table in memory taken for a frame of a cluster."""
    import pandas as pd

    assert not is_frame(pd.DataFrame({"v": [1.0]})) and not is_frame(None) and not is_frame("ray.data")


@pytest.mark.exhaustive
def test_a_frame_of_spark_that_fails_is_one_line(shards):
    frame = spark_frame(shards).selectExpr("IF(id > 5, raise_error('no'), v) AS v")
    with pytest.raises(WorkerError, match=r"Spark could not read the data frame: .*no"):
        uncone.fix(frame, "center", column="v", out="fixed.parquet")
