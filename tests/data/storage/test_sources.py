"""Vectors, texts and tables in object storage give the digits of the same files on disk, for every verb and engine."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_answers import answers
from object_store import ObjectStore
from safetensors.numpy import save_file

import uncone
from uncone.cli.main import _run
from uncone.data.open import open_source
from uncone.data.source import Options
from uncone.errors import FormatError, MissingSourceError, OutputError
from uncone.repairs.saving import load
from uncone.run.measure import Plan, measure
from uncone.stats.moments import Moments

pytestmark = pytest.mark.exhaustive  # test_in_short.py stands in for them

ROWS, DIM = 6_000, 8


def rows(n=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, DIM)) * np.linspace(0.5, 2, DIM) + 1.5).astype(np.float32)


def parquet(path, values, **options):
    column = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), DIM)
    texts = [f"text {i}" for i in range(len(values))]
    pq.write_table(pa.table({"text": texts, "vector": column}), path, **options)


def index(path):
    import faiss

    flat = faiss.IndexFlatL2(DIM)
    flat.add(rows())
    faiss.write_index(flat, str(path))


def lines(path):
    path.write_text("".join(json.dumps({"v": row}) + "\n" for row in rows(300).tolist()))


def zipped(path):
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps({"v": row}) + "\n" for row in rows(300).tolist())


FILES = {
    "a.npy": lambda path: np.save(path, rows()),
    "fortran.npy": lambda path: np.save(path, np.asfortranarray(rows())),
    "a.npz": lambda path: np.savez(path, a=rows()),
    "a.safetensors": lambda path: save_file({"v": rows()}, path),
    "a.parquet": lambda path: parquet(path, rows(), row_group_size=1_000),
    "a.jsonl": lines,
    "a.jsonl.gz": zipped,
    "a.faiss": index,
}


def mirror(bucket: ObjectStore, folder: Path) -> None:
    """Everything below a folder, under the same names in the bucket."""
    for path in folder.rglob("*"):
        if path.is_file():
            bucket.put(str(path.relative_to(folder.parent)), path.read_bytes())


@pytest.fixture
def shards(bucket):
    folder = Path("shards")
    folder.mkdir()
    for place, (start, stop) in enumerate([(0, 700), (700, 701), (701, 5_000), (5_000, ROWS)]):
        parquet(folder / f"part-{place}.parquet", rows()[start:stop], row_group_size=400)
    (folder / "README.txt").write_text("vectors")
    mirror(bucket, folder.resolve())
    return folder


@pytest.mark.parametrize("name", FILES)
def test_every_format_reads_the_same(bucket, name):
    FILES[name](Path(name))
    bucket.put(name, Path(name).read_bytes())
    here, there = (open_source(f"{root}{name}", Options()) for root in ("", "s3://bucket/"))
    assert (there.rows, there.dim, there.dtype) == (here.rows, here.dim, here.dtype)
    first, second = (np.concatenate([np.array(part.vectors) for part in each.read()]) for each in (here, there))
    np.testing.assert_array_equal(first, second)
    if here.random_access and name != "fortran.npy":
        assert there.random_access
        part = np.concatenate([np.array(each.vectors) for each in there.read(1_234, 5_001)])
        np.testing.assert_array_equal(part, rows()[1_234:5_001])


def test_check_of_a_folder_and_a_pattern_has_the_digits_of_the_local_one(shards):
    local = uncone.check("shards", exact=True).to_dict()["findings"]
    for source in ("s3://bucket/shards", "s3://bucket/shards/", "s3://bucket/shards/part-*.parquet"):
        assert uncone.check(source, exact=True).to_dict()["findings"] == local
    assert uncone.check(Path("s3://bucket/shards"), workers=2, exact=True).to_dict()["findings"] == local


def test_only_the_row_groups_that_are_asked_for_are_read(bucket, proxied):
    many = rows(200_000)
    parquet("big.parquet", many, row_group_size=10_000)
    bucket.put("big.parquet", Path("big.parquet").read_bytes())
    np.save("big.npy", many)
    bucket.put("big.npy", Path("big.npy").read_bytes())
    proxy = proxied()
    for name in ("big.parquet", "big.npy"):
        source = open_source(f"s3://bucket/{name}", Options(column="vector" if name.endswith("parquet") else None))
        proxy.requests.clear()
        part = np.concatenate([np.array(each.vectors) for each in source.read(55_000, 56_000)])
        np.testing.assert_array_equal(part, many[55_000:56_000])
        ranges = [wanted.removeprefix("bytes=").split("-") for method, _, wanted in proxy.requests if method == "GET"]
        fetched = sum(int(last) - int(first) + 1 for first, last in ranges)
        assert 0 < fetched < Path(name).stat().st_size / 4


def test_names_beside_vectors_are_objects_too(bucket):
    np.save("a.npy", rows(50))
    bucket.put("a.npy", Path("a.npy").read_bytes())
    bucket.put("names.txt", "".join(f"name {i}\n" for i in range(50)).encode())
    source = open_source("s3://bucket/a.npy", Options(text="s3://bucket/names.txt"))
    assert next(source.read()).texts[3] == "name 3"


def test_fix_and_apply_write_the_same_bytes(shards, bucket, capsys):
    for root in ("", "s3://bucket/"):
        arguments = ["--method", "whiten", "-o", f"{root}fixed.parquet", "--save", f"{root}repair"]
        assert _run(["fix", f"{root}shards", *arguments, "--html", f"{root}fix.html"]) == 0
        assert _run(["apply", f"{root}repair", f"{root}shards", "-o", f"{root}again.npy"]) == 0
    names = ("fixed.parquet", "again.npy", "repair/repair.safetensors")
    assert all(bucket.get(name) == Path(name).read_bytes() for name in names)
    assert b"</html>" in bucket.get("fix.html")
    assert load("s3://bucket/repair").repair.n_features_in_ == DIM
    assert not Path("s3:").exists()


def test_reports_and_figures_go_to_storage(bucket, capsys):
    np.save("a.npy", rows(500))
    root = "s3://bucket/out"
    outputs = [f"--{kind}" for kind in ("html", "json", "markdown", "figures")]
    arguments = [word for flag in outputs for word in (flag, f"{root}/{flag[2:]}")]
    assert _run(["check", "a.npy", *arguments]) == 0
    assert f"wrote {root}/json" in capsys.readouterr().out
    assert json.loads(bucket.get("out/json"))["findings"]
    assert b"</html>" in bucket.get("out/html") and bucket.keys_of("out/figures/")
    assert not Path("s3:").exists() and not Path("uncone-report.html").exists()


def test_calibrations_are_saved_and_loaded(bucket, capsys):
    np.save("a.npy", rows())
    assert _run(["calibrate", "a.npy", "--save", "s3://bucket/calibration", "--no-html"]) == 0
    assert _run(["calibrate", "a.npy", "--save", "calibration", "--no-html"]) == 0
    loaded = (uncone.Calibration.load(folder) for folder in ("s3://bucket/calibration", "calibration"))
    assert len({calibration.percentile(0.7) for calibration in loaded}) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "s3://nowhere/a.npy"], "there is no bucket nowhere"),
        (["check", "s3://bucket/no.npy"], "there is no such object"),
        (["check", "s3://bucket/no/*.npy"], "No file matches"),
        (["check", "s3://bucket/empty.npy"], "is empty"),
        (["check", "s3://bucket/texts.csv"], "--model"),
        (["check", "foo://bucket/a.npy"], "not a scheme we know"),
        (["check", "s3://me:hushhush@bucket/a.npy"], "environment"),
        (["check", "a.npy", "--json", "s3://nowhere/a.json"], "there is no bucket nowhere"),
        (["check", "a.npy", "--json", "foo://bucket/a.json"], "not a scheme we know"),
        (["fix", "a.npy", "--method", "center", "-o", "s3://me:hushhush@bucket/a.npy"], "environment"),
        (["fix", "a.npy", "--method", "center", "--save", "s3://bucket/taken"], "left alone"),
        (["fix", "s3://bucket/a.npy", "--method", "center", "-o", "s3://bucket/a.npy"], "overwrite"),
        (["apply", "s3://bucket/no", "a.npy", "-o", "b.npy"], "not a repair"),
        (["check", "a.npy", "--config", "s3://bucket/no.toml"], "no such object"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(bucket, arguments, message, capsys):
    np.save("a.npy", rows(100))
    for key, content in {
        "a.npy": Path("a.npy").read_bytes(),
        "empty.npy": b"",
        "texts.csv": b"text\na\nb\n",
        "taken/x": b"x",
    }.items():
        bucket.put(key, content)
    before = bucket.keys_of()
    assert _run(arguments) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and message in error and "hush" not in error
    assert bucket.keys_of() == before and [path.name for path in Path().glob("[!.]*")] == ["a.npy"]


@pytest.mark.parametrize(("status", "message"), [(403, "AWS_ACCESS_KEY_ID"), (500, "s3://bucket/a.npy")])
def test_a_server_that_refuses_is_one_line(proxied, bucket, status, message, capsys):
    bucket.put("a.npy", b"x")
    proxied(lambda method, path: status)
    assert _run(["check", "s3://bucket/a.npy"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and message in error


def test_a_scheme_whose_package_is_missing_names_it(monkeypatch, capsys):
    pytest.importorskip("fsspec")
    monkeypatch.setitem(sys.modules, "paramiko", None)
    assert _run(["check", "sftp://host/a.npy"]) == 2
    assert "paramiko" in capsys.readouterr().err


class Lost:
    """Runs chunks in this process, and changes the storage after the first."""

    def __init__(self, change):
        self.change = change

    def groups(self, job, groups, progress):
        for chunks in groups:
            parts = []
            for chunk in chunks:
                parts.append(job.fold(chunk))
                self.change()
            parts.append(job.fold(chunks[0]))
            yield job.received(job.join(parts))


@pytest.mark.parametrize("change", ["vanishes", "changes"])
def test_a_shard_that_changes_in_mid_run_is_one_line(shards, bucket, change):
    def act():
        bucket.delete("shards/part-2.parquet")
        if change == "changes":
            parquet("other.parquet", rows(4_299, seed=1))
            bucket.put("shards/part-2.parquet", Path("other.parquet").read_bytes())

    source = open_source("s3://bucket/shards", Options())
    error, message = (FormatError, "changed") if change == "changes" else (MissingSourceError, "can't be read any more")
    with pytest.raises(error, match=message) as raised:
        measure(source, Moments(DIM), Plan(engine=Lost(act)))
    assert "s3://bucket/shards/part-2.parquet" in str(raised.value)


def test_an_object_that_changes_between_threads_is_one_line(shards, bucket):
    def act(done):
        parquet("other.parquet", rows(4_299, seed=1))
        bucket.put("shards/part-2.parquet", Path("other.parquet").read_bytes())

    with pytest.raises(FormatError, match=r"part-2\.parquet changed"):
        measure(open_source("s3://bucket/shards", Options()), Moments(DIM), progress=act)


def test_any_url_of_fsspec_is_read(bucket):
    pytest.importorskip("aiohttp")
    np.save("a.npy", rows())
    bucket.put("open/a.npy", Path("a.npy").read_bytes(), public=True)
    url = f"{bucket.url}/bucket/open/a.npy"
    assert uncone.check(url).to_dict()["findings"] == uncone.check("a.npy").to_dict()["findings"]
    with pytest.raises(OutputError, match="can only be read"):
        uncone.fix("a.npy", "center", out=url)


def test_a_model_in_storage_is_fetched_once(bucket, tiny_model, proxied):
    mirror(bucket, tiny_model)
    Path("texts.txt").write_text("a text\nand another\n")
    url = f"s3://bucket/{tiny_model.name}"
    assert _run(["encode", "texts.txt", "--model", str(tiny_model), "-o", "local.npy"]) == 0
    assert _run(["encode", "texts.txt", "--model", url, "-o", "fetched.npy"]) == 0
    assert Path("local.npy").read_bytes() == Path("fetched.npy").read_bytes()
    proxy = proxied()
    assert _run(["encode", "texts.txt", "--model", url, "-o", "again.npy"]) == 0
    assert not [path for method, path, _ in proxy.requests if method == "GET" and "safetensors" in path]


def test_folders_whose_files_change_stay_local(bucket, tiny_model, capsys):
    Path("texts.txt").write_text("".join(f"the text of {word}\n" for word in "abcdefghij"))
    assert _run(["layers", str(tiny_model), "--corpus", "texts.txt", "--state", "s3://bucket/state"]) == 2
    assert "Name a local folder" in capsys.readouterr().err and not Path("s3:").exists()


def test_texts_in_storage_are_encoded_to_storage(bucket, tiny_model):
    Path("texts.csv").write_text("text,label\n" + "".join(f"text number {i},{i % 2}\n" for i in range(40)))
    bucket.put("texts.csv", Path("texts.csv").read_bytes())
    for root in ("", "s3://bucket/"):
        assert _run(["encode", f"{root}texts.csv", "--model", str(tiny_model), "-o", f"{root}vectors.parquet"]) == 0
    assert bucket.get("vectors.parquet") == Path("vectors.parquet").read_bytes()


def test_threads_share_the_work(shards):
    plan = Plan(workers=2)
    local, there = (
        measure(open_source(name, Options()), Moments(DIM), plan) for name in ("shards", "s3://bucket/shards")
    )
    assert local.snapshot().keys() == there.snapshot().keys()
    assert all(np.array_equal(value, there.snapshot()[name]) for name, value in local.snapshot().items())


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")  # the engines leave sockets to the garbage collector
@pytest.mark.parametrize("engine", ["ray", "dask"])
def test_workers_of_an_engine_read_storage(shards, engine):
    pytest.importorskip("distributed" if engine == "dask" else engine)
    assert answers("s3://bucket/shards", engine=engine, workers=2) == answers("s3://bucket/shards")


def test_a_plan_of_shards_in_a_bucket(bucket, tmp_path):
    """It says what the same files on disk would take to read."""
    (tmp_path / "shards").mkdir()
    for i, part in enumerate(np.array_split(rows(), 3)):
        path = tmp_path / "shards" / f"{i}.parquet"
        parquet(path, part)
        bucket.put(f"plan/{i}.parquet", path.read_bytes())
    there, here = (uncone.plan(place, engine="ray") for place in ("s3://bucket/plan/", tmp_path / "shards"))
    assert there["bytes_read"].value == here["bytes_read"].value > 0
    assert there["reading_rate"].how == "measured" and there.estimate.cluster
