"""A bucket is read and written as a folder is, and every failure is one line."""

from __future__ import annotations

import glob
import socket
from pathlib import Path

import pytest

from uncone.data.storage.files import FileStamps
from uncone.data.storage.path import path_of
from uncone.data.writing.atomic import read_json, write_json
from uncone.errors import FormatError, MissingSourceError

pytestmark = pytest.mark.exhaustive  # test_in_short.py stands in for them


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
