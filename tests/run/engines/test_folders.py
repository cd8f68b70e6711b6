"""Folders that an engine writes: the same bytes as this machine writes, also when a worker is killed in mid-run."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_workers import KILLS, dask_workers, killer_of, ray_workers

import uncone
from uncone.errors import MissingModelError, OutputError
from uncone.run import shards

ENGINES = {"ray": "ray", "dask": "distributed", "spark": "pyspark"}
ROWS = [30_000, 3, 250_000, 70_001, 90_000]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Uneven shards with a column beside the vectors, texts in several files, and a repair."""
    folder = tmp_path_factory.mktemp("source")
    (folder / "shards").mkdir()
    (folder / "texts").mkdir()
    rng = np.random.default_rng(0)
    for place, n in enumerate(ROWS):
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(rng.normal(1, 1, n * 6).astype(np.float32)), 6)
        table = pa.table({"id": range(n), "vector": vectors})
        pq.write_table(table, folder / f"shards/part-{place}.parquet", row_group_size=20_000)
        texts = [f"the text {i} go to school {'again ' * (i % 7)}" for i in range(100 + place)]
        (folder / f"texts/{place}.txt").write_text("\n".join(texts))
    uncone.fix(folder / "shards", "whiten", save=folder / "repair")
    return folder


def content(folder):
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def check_engine(engine, source, model):
    uncone.apply(source / "repair", source / "shards", out="here")
    uncone.apply(source / "repair", source / "shards", out="there", engine=engine, workers=2)
    assert content("there") == content("here") and len(content("here")) == len(ROWS) + 1
    first = uncone.encode(source / "texts", model=model, out="mine")
    second = uncone.encode(source / "texts", model=model, out="theirs", engine=engine, workers=2)
    assert content("theirs") == content("mine") and second.reading == first.reading
    # An engine finishes what this machine began.
    rows = []

    def stop(step, amount, total):
        rows.append(amount)
        if sum(rows) > ROWS[0] + ROWS[1]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        uncone.apply(source / "repair", source / "shards", out="begun", progress=stop)
    assert len(list(Path("begun").glob("*.parquet"))) == 2
    uncone.apply(source / "repair", source / "shards", out="begun", engine=engine, workers=2)
    assert content("begun") == content("here")


def test_ray_writes_the_same_bytes(source, tiny_model):
    pytest.importorskip("ray")
    check_engine("ray", source, tiny_model)
    # Workers prepare a model of words for the texts of all files.
    Path("words.vec").write_text("2 3\ngo 1 2 3\nschool 4 5 6\n")
    Path("texts").mkdir()
    for name, text in {"a": "go to school", "b": "qqq", "c": "school"}.items():
        Path(f"texts/{name}.txt").write_text(text)
    uncone.encode("texts", model="words.vec", out="words")
    uncone.encode("texts", model="words.vec", out="words-there", engine="ray", workers=2)
    assert content("words") == content("words-there")
    # What a worker can't do is said in a line.
    fixed = uncone.fix(source / "shards", "whiten", out="fixed", engine="ray", workers=2)
    assert fixed.written == "fixed" and content("fixed") == content("here")
    with pytest.raises(OutputError, match="holds vectors of another command"):
        uncone.apply(source / "repair", source / "shards/part-0.parquet", out="here", engine="ray", workers=2)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", ["dask", "spark"])
def test_other_engines_write_the_same_bytes(engine, source, tiny_model):
    pytest.importorskip(ENGINES[engine])
    check_engine(engine, source, tiny_model)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", ["ray", "dask"])
@pytest.mark.parametrize("verb", ["apply", "encode"])
def test_killed_workers_leave_no_gap(verb, engine, source, tiny_model):
    pytest.importorskip(ENGINES[engine])

    def run(out, **options):
        if verb == "apply":
            return uncone.apply(source / "repair", source / "shards", out=out, **options)
        return uncone.encode(source / "texts", model=tiny_model, out=out, **options)

    run("whole")
    expected, n_killed = content("whole"), 0
    for number in range(KILLS):
        kill, killed = killer_of(ray_workers if engine == "ray" else dask_workers)
        run(f"out-{number}", engine=engine, workers=2, progress=kill)
        assert content(f"out-{number}") == expected
        n_killed += len(killed)
    assert n_killed >= KILLS // 2, "runs were over before a worker could be killed"


def test_a_model_that_workers_do_not_see(source, tiny_model, tmp_path, monkeypatch):
    """The driver has it, and it is gone when a worker opens it."""
    pytest.importorskip("ray")
    shutil.copytree(tiny_model, tmp_path / "model")
    begin = shards.OutputFolder.begin

    def vanish(folder):
        shutil.rmtree(tmp_path / "model")
        return begin(folder)

    monkeypatch.setattr(shards.OutputFolder, "begin", vanish)
    with pytest.raises(MissingModelError, match="A worker can't find the model"):
        uncone.encode(source / "texts", model=tmp_path / "model", out="out", engine="ray", workers=2)
