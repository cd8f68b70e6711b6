"""Paths in object storage behave as paths, and say in one line what is wrong."""

from __future__ import annotations

import glob
import pickle
import socket
from pathlib import Path, PosixPath

import pytest

from uncone.data.storage.files import FileStamps
from uncone.data.storage.path import ObjectPath, in_storage, path_of
from uncone.data.writing.atomic import read_json, write_json
from uncone.errors import FormatError, MissingSourceError, OptionError


def test_urls_keep_their_slashes():
    path = path_of("s3://bucket/folder/part-0.parquet")
    assert str(path) == "s3://bucket/folder/part-0.parquet" == f"{path}"
    assert str(path_of(Path("s3://bucket/folder/part-0.parquet"))) == str(path)
    assert str(path.parent / "x.npy") == "s3://bucket/folder/x.npy"
    assert (path.name, path.suffix, path.with_suffix(".npy").name) == ("part-0.parquet", ".parquet", "part-0.npy")
    assert str(pickle.loads(pickle.dumps(path))) == str(path)
    assert path.resolve() == path and path.parent in path.parents
    assert str(path.relative_to(path.parent)) == "part-0.parquet"


@pytest.mark.parametrize("text", ["vectors.npy", "/tmp/vectors.npy", "sts:dev", "a/b:c/d", "duckdb://x.db?table=docs"])
def test_other_names_are_local(text):
    assert type(path_of(text)) is PosixPath and not in_storage(text)


def test_a_file_url_is_local():
    assert path_of("file:///tmp/a%20b.npy") == Path("/tmp/a b.npy")


def test_a_folder_named_like_a_scheme_is_local():
    Path("s3:/bucket").mkdir(parents=True)
    assert type(path_of(Path("s3:/bucket/x.npy"))) is PosixPath
    assert isinstance(path_of("s3://bucket/x.npy"), ObjectPath)


@pytest.mark.parametrize(
    "url",
    [
        "s3://AKIA:hushhush@bucket/x.npy",
        "ftp://me:hush?hush@host/x.npy",
        "https://host/x.npy?X-Amz-Signature=hushhush",
        "az://box/x.npy?sv=1&sig=hushhush",
    ],
)
def test_credentials_in_a_url_are_refused_and_not_shown(url):
    with pytest.raises(OptionError, match="environment") as error:
        path_of(url)
    assert "hush" not in str(error.value) and "AKIA" not in str(error.value)


def test_an_unknown_scheme():
    with pytest.raises(OptionError, match="not a scheme we know"):
        path_of("foo://bucket/x.npy")


def test_a_bucket_holds_folders_and_objects(bucket):
    for key in ("a/1.npy", "a/2.npy", "a/b/3.npy", "a/.hidden", "c.npy"):
        bucket.put(key, key.encode())
    folder = path_of("s3://bucket/a")
    assert [path.name for path in folder.iterdir()] == [".hidden", "1.npy", "2.npy", "b"]
    assert folder.is_dir() and not folder.is_file() and (folder / "1.npy").is_file()
    assert (folder / "b").is_dir() and not (folder / "no").exists() and not list((folder / "no").iterdir())
    assert (folder / "1.npy").read_bytes() == b"a/1.npy" and (folder / "1.npy").stat().st_size == 7
    (folder / "1.npy").unlink()
    (folder / "1.npy").unlink(missing_ok=True)
    assert not (folder / "1.npy").exists()


def test_patterns_match_as_those_of_a_disk(bucket):
    keys = ["a/1.npy", "a/2.npy", "a/12.npy", "a/b/3.npy", "a/b/c/4.npy", "a/.5.npy", "d.npy", "a/x.txt"]
    for key in keys:
        bucket.put(key, b".")
        Path(key).parent.mkdir(parents=True, exist_ok=True)
        Path(key).write_bytes(b".")
    for pattern in ("a/*.npy", "a/?.npy", "a/[12].npy", "a/[!1].npy", "**/*.npy", "*/b/*", "*.npy", "a/**/*.npy"):
        names = glob.glob(pattern, recursive=True)  # noqa: PTH207
        local = sorted(name for name in names if Path(name).is_file())
        here = [str(path).removeprefix("s3://bucket/") for path in path_of(f"s3://bucket/{pattern}").matches()]
        assert here == local, pattern


def test_small_json_is_written_whole(bucket):
    write_json(path_of("s3://bucket/folder/manifest.json"), {"rows": 3})
    assert read_json(path_of("s3://bucket/folder/manifest.json")) == {"rows": 3}
    write_json(Path("manifest.json"), {"rows": 3})
    assert Path("manifest.json").read_bytes() == bucket.get("folder/manifest.json")


def test_a_file_is_read_by_ranges(proxied, bucket):
    bucket.put("big", bytes(range(256)) * 4096)
    proxy = proxied()
    with path_of("s3://bucket/big").open("rb", buffering=0) as file:
        file.seek(700_000)
        assert file.read(1000) == (bytes(range(256)) * 4096)[700_000:701_000]
    assert [wanted for method, _, wanted in proxy.requests if method == "GET"] == ["bytes=700000-700999"]


def test_stamps_see_a_change_and_a_loss(bucket):
    path = path_of("s3://bucket/x.npy")
    bucket.put("x.npy", b"old")
    stamps = FileStamps.of([path])
    stamps.check([path])
    bucket.put("x.npy", b"new")
    with pytest.raises(FormatError, match=r"s3://bucket/x\.npy changed"):
        stamps.check([path])
    bucket.delete("x.npy")
    with pytest.raises(MissingSourceError, match="no such object"):
        stamps.check([path])


def test_access_denied(proxied):
    proxied(lambda method, path: 403)
    with pytest.raises(PermissionError, match="AWS_ACCESS_KEY_ID"):
        path_of("s3://bucket/x.npy").stat()


def test_no_server(bucket, monkeypatch):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{listener.getsockname()[1]}")
        with pytest.raises(OSError, match="can't be reached"):
            path_of("s3://bucket/x.npy").stat()


def test_missing_things(bucket):
    with pytest.raises(FileNotFoundError, match="no bucket nowhere"):
        path_of("s3://nowhere/x.npy").stat()
    with pytest.raises(FileNotFoundError, match="no such object"):
        path_of("s3://bucket/x.npy").open("rb")
