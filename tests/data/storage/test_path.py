"""Paths in object storage behave as paths, and say in one line what is wrong."""

from __future__ import annotations

import pickle
from pathlib import Path, PosixPath

import pytest

from uncone.data.storage.files import with_absolute_paths
from uncone.data.storage.path import ObjectPath, in_storage, path_of
from uncone.errors import OptionError


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


def test_what_is_sent_has_absolute_paths():
    value = {"files": (Path("a.txt"), ObjectPath("s3://bucket/b.txt")), "name": "a.txt"}
    files = (Path.cwd() / "a.txt", ObjectPath("s3://bucket/b.txt"))
    sent = with_absolute_paths(value)
    assert sent == {"files": files, "name": "a.txt"} and type(sent["files"][1]) is ObjectPath
    with pytest.raises(TypeError), Path("c.txt").open("w") as file:
        with_absolute_paths(file)
