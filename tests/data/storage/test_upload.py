"""What is written to object storage appears whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from uncone.data.storage.path import path_of
from uncone.data.writing.atomic import replacing
from uncone.errors import OutputError

pytestmark = pytest.mark.exhaustive  # test_in_short.py stands in for them

MANY = 96 << 20  # bytes of an object in several parts


def send(content, url="s3://bucket/out.bin"):
    with replacing(path_of(url)) as temporary:
        temporary.write_bytes(content)


def test_an_object_appears_whole(bucket):
    send(b"old")
    content = os.urandom(MANY)
    send(content)
    assert bucket.get("out.bin") == content


@pytest.mark.parametrize("old", [None, b"old"])
def test_an_error_inside_publishes_nothing(bucket, old):
    if old is not None:
        bucket.put("out.bin", old)
    with pytest.raises(ZeroDivisionError), replacing(path_of("s3://bucket/out.bin")) as temporary:
        temporary.write_bytes(b"half of it")
        raise ZeroDivisionError
    assert bucket.get("out.bin") == old and not temporary.exists()


def test_a_folder_is_uploaded_object_by_object_and_the_manifest_last(bucket, proxied):
    bucket.put("out/left-over.npy", b"from an older run")
    proxy = proxied()
    with replacing(path_of("s3://bucket/out"), folder=True) as temporary:
        (temporary / "manifest.json").write_text("{}")
        (temporary / "part-0.npy").write_bytes(b"0")
        (temporary / "part-1.npy").write_bytes(b"1")
    keys = [key for key in bucket.keys_of("out/") if not key.endswith("/")]  # pyarrow marks a folder with an object
    assert keys == ["out/manifest.json", "out/part-0.npy", "out/part-1.npy"]
    paths = [path for method, path, _ in proxy.requests if method in ("PUT", "POST") and "out/" in path]
    first_manifest = min(place for place, path in enumerate(paths) if "manifest" in path)
    assert max(place for place, path in enumerate(paths) if "part-" in path) < first_manifest


def test_the_content_of_a_name_that_ends_in_gz_is_left_as_it_is(bucket):
    send(b"plain", "s3://bucket/a.csv.gz")
    assert bucket.get("a.csv.gz") == b"plain"


def test_no_permission_to_write_is_one_line(proxied, bucket):
    bucket.put("out.bin", b"old")
    proxied(lambda method, path: 403 if method in ("PUT", "POST") else None)
    with pytest.raises(OutputError, match="access is denied"):
        send(b"new")
    assert bucket.get("out.bin") == b"old"


def test_a_server_that_breaks_in_the_middle_publishes_nothing(proxied, bucket):
    bucket.put("out.bin", b"old")
    proxied(lambda method, path: 500 if "partNumber=3" in path else None)
    with pytest.raises(OutputError):
        send(bytes(MANY))
    assert bucket.get("out.bin") == b"old"


CHILD = """
import os
from uncone.data.storage.path import path_of
from uncone.data.writing.atomic import replacing
with replacing(path_of("s3://bucket/out.bin")) as temporary:
    with temporary.open("wb") as file:
        for _ in range(48):
            file.write(os.urandom(1 << 23))
"""


@pytest.mark.parametrize("old", [None, b"old"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_process_that_is_stopped_while_it_sends_publishes_nothing(bucket, number, old, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    if old is not None:
        bucket.put("out.bin", old)
    bucket.drop_uploads()
    child = subprocess.Popen([sys.executable, "-c", CHILD], stderr=subprocess.DEVNULL)
    bucket.wait_for_parts(child)
    child.send_signal(number)
    assert child.wait(60) != 0
    assert bucket.get("out.bin") == old


def test_a_file_of_fsspec_appears_whole():
    pytest.importorskip("fsspec")
    send(b"old", "memory://folder/out.bin")
    with pytest.raises(ZeroDivisionError), replacing(path_of("memory://folder/out.bin")) as temporary:
        temporary.write_bytes(b"half of it")
        raise ZeroDivisionError
    path = path_of("memory://folder/out.bin")
    assert path.read_bytes() == b"old" and [each.name for each in path.parent.iterdir()] == ["out.bin"]
    send(b"new", "memory://folder/out.bin")
    assert path.read_bytes() == b"new" and [each.name for each in path.parent.iterdir()] == ["out.bin"]
    assert [str(each) for each in path_of("memory://folder/*.bin").matches()] == ["memory://folder/out.bin"]
    path.unlink()
    assert not path.exists()
