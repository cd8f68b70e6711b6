"""Places: a local path, or an object in storage by its URL, which behaves as a path wherever uncone takes one."""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PosixPath
from typing import IO, Any, TypeVar
from urllib.parse import unquote

from uncone.data.storage.backends import Backend
from uncone.data.storage.connect import backend_of, check_scheme
from uncone.data.vectors.databases.url import SCHEMES
from uncone.errors import OptionError

__all__ = ["ObjectPath", "in_storage", "local_copy", "local_folder", "on_network", "opened", "path_of"]

P = TypeVar("P", bound=Path)
T = TypeVar("T")

_URL = re.compile(r"([a-z][a-z0-9+.-]+):/+", re.IGNORECASE)
_PASSWORD = re.compile(r"://[^/@]*:[^/]*@")
_SECRETS = re.compile(r"(?i)[?&][^=&]*(sig|token|key|password|secret|credential)[^=&]*=")


class ObjectPath(PosixPath):
    """An object, or the prefix that stands for a folder, such as `s3://bucket/folder/part-0.parquet`.

    The scheme is the first part of the path, so that names, endings, parents and children are those of any path. It
    pickles, and connects where it is used. It is read by `open`, and written as a whole by `replacing`.

    >>> path = ObjectPath("s3://bucket/folder") / "part-0.parquet"
    >>> str(path), str(path.parent), path.suffix
    ('s3://bucket/folder/part-0.parquet', 's3://bucket/folder', '.parquet')
    """

    __slots__ = ()

    def __str__(self) -> str:
        scheme, *others = self.parts or ("",)
        return f"{scheme}//{'/'.join(others)}" if scheme.endswith(":") else "/".join(self.parts)

    def __fspath__(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"ObjectPath({str(self)!r})"

    @property
    def backend(self) -> Backend:
        """What reads and writes it."""
        return backend_of(str(self))

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Its size and time; a folder is what has objects below it.

        Raises:
            OSError: it is not there, or can't be reached.
        """
        entry = self.backend.entry(str(self))
        kind = stat.S_IFDIR if entry.is_folder else stat.S_IFREG
        seconds = entry.modified // 1_000_000_000
        numbers = (kind | 0o666, 0, 0, 1, 0, 0, entry.size, seconds, seconds, seconds)
        return os.stat_result(numbers, {"st_mtime_ns": entry.modified})

    def stamp(self) -> tuple[int, str]:
        """What changes when the object does: its size, with its etag or else its time."""
        return self.backend.stamp(str(self))

    def exists(self, *, follow_symlinks: bool = True) -> bool:
        """Whether there is such an object or folder."""
        return self._kind() != 0

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is an object."""
        return self._kind() == stat.S_IFREG

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether there are objects below it."""
        return self._kind() == stat.S_IFDIR

    def is_fifo(self) -> bool:
        """Never: an object is no pipe."""
        return False

    def _kind(self) -> int:
        try:
            return stat.S_IFMT(self.stat().st_mode)
        except FileNotFoundError:
            return 0

    def check_writable(self) -> None:
        """Say early that nothing can be written there.

        Raises:
            OSError: storage says so.
            MissingPackageError: it needs one to write.
        """
        self.backend.check_writable(str(self))

    def samefile(self, other_path: str | os.PathLike[str]) -> bool:
        """Whether it is the same place."""
        return str(other_path) == str(self)

    def resolve(self, strict: bool = False) -> ObjectPath:
        """Itself: there are no links."""
        return self

    def absolute(self) -> ObjectPath:
        """Itself."""
        return self

    def iterdir(self) -> Generator[ObjectPath, None, None]:
        """The objects and folders right below it, in the order of their names."""
        for name in self.backend.names(str(self)):
            yield self / name

    def matches(self) -> list[ObjectPath]:
        """The objects that match it as a pattern: `*`, `?`, `[abc]`, and `**` for any folders."""
        return [type(self)(url) for url in self.backend.matches(str(self))]

    def open(self, mode: str = "r", buffering: int = -1, *text: Any, **texts: Any) -> IO[Any]:  # type: ignore[override]  # noqa: ANN401
        """The object as a stream that can seek; only for reading.

        Raises:
            OSError: it is not there, or can't be reached.
        """
        if set(mode) - set("rbt"):
            raise io.UnsupportedOperation(f"{self} is written as a whole: use replacing()")
        raw = self.backend.open(str(self))
        if "b" in mode and buffering == 0:
            return raw  # type: ignore[return-value]
        file = io.BufferedReader(raw, 1 << 20)
        return file if "b" in mode else io.TextIOWrapper(file, *text, **texts)

    def upload(self, local: Path) -> None:
        """Publish a local file under this name: at once and whole, or not at all.

        Raises:
            OSError: it could not be written.
        """
        self.backend.upload(local, str(self))

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Nothing: a folder is there as soon as an object is in it."""

    def rmdir(self) -> None:
        """Remove everything below it, and the mark that some storage has for a folder."""
        self.backend.remove_folder(str(self))

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the object.

        Raises:
            FileNotFoundError: there is none, unless `missing_ok`.
            OSError: it can't be removed.
        """
        if missing_ok and not self.exists():
            return
        self.backend.remove(str(self))


def path_of(where: str | os.PathLike[str]) -> Path:
    """The path that a user named: an `ObjectPath` for a URL, else a local one.

    A URL that went through `Path`, where it lost a slash, is understood too. `file://` URLs are local paths.

    >>> path_of("s3://bucket/a.npy"), path_of(Path("s3://bucket/a.npy")), path_of("folder/a.npy")
    (ObjectPath('s3://bucket/a.npy'), ObjectPath('s3://bucket/a.npy'), PosixPath('folder/a.npy'))

    Raises:
        OptionError: a scheme that we don't know, or a URL with a password or a key.
        MissingPackageError: what reads such URLs is not installed.
    """
    if isinstance(where, ObjectPath):
        return where
    text = os.fspath(where)
    match = _URL.match(text)
    if match is None or match[1].lower() in SCHEMES or not _is_url(where, match):
        return Path(where)
    url = f"{match[1].lower()}://{text[match.end() :]}"
    if match[1].lower() == "file":
        return Path(unquote("/" + text[match.end() :]))
    _check_secrets(url)
    check_scheme(url)
    path = ObjectPath(url)
    if len(path.parts) < 2:
        raise OptionError(f"{url} names no bucket. Write {match[1].lower()}://bucket/path.")
    return path


def local_folder(where: str | os.PathLike[str], option: str) -> Path:
    """The path of a folder that has to be local, because files in it are changed.

    Raises:
        OptionError: it is a URL.
    """
    path = path_of(where)
    if isinstance(path, ObjectPath):
        raise OptionError(f"{option} {path} is in object storage, and files in it are changed. Name a local folder.")
    return path


def _is_url(where: str | os.PathLike[str], match: re.Match[str]) -> bool:
    """Whether `scheme:/` begins a URL; in a path, where a slash is lost, it may also be the name of a folder."""
    return match[0].endswith("//") if isinstance(where, str) else not Path(f"{match[1]}:").exists()


def in_storage(where: object) -> bool:
    """Whether a path or URL is in object storage rather than on a disk.

    >>> in_storage("s3://bucket/a.npy"), in_storage("a.npy")
    (True, False)
    """
    return isinstance(where, str | os.PathLike) and isinstance(path_of(where), ObjectPath)


@contextmanager
def opened(path: Path) -> Iterator[Path | IO[bytes]]:
    """A file as libraries take it: a local one by its path, an object as an open file."""
    if not isinstance(path, ObjectPath):
        yield path
        return
    with path.open("rb") as file:
        yield file


@contextmanager
def local_copy(path: Path) -> Iterator[Path]:
    """A file as libraries take it that read only local ones: an object is fetched, for as long as it is used."""
    if not isinstance(path, ObjectPath):
        yield path
        return
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="uncone-download-") as room, path.open("rb") as file:
        copy = Path(room) / path.name
        with copy.open("wb") as target:
            shutil.copyfileobj(file, target, 1 << 23)
        yield copy


_AT_ONCE = 16  # requests that wait for the network


def on_network(function: Callable[[P], T], paths: Sequence[P]) -> Iterator[T]:
    """`function` of every path, in order; of objects many at once, because it waits for the network."""
    if len(paths) < 2 or not isinstance(paths[0], ObjectPath):
        yield from map(function, paths)
        return
    from concurrent.futures import ThreadPoolExecutor  # here, as below: most commands do without

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield from pool.map(function, paths)


def _check_secrets(url: str) -> None:
    if _PASSWORD.search(url) or _SECRETS.search(url):
        url_shown = re.sub(r"://[^/]*@", "://", url).partition("?")[0]
        raise OptionError(
            f"The URL {url_shown} holds a password or a key, which reports would keep. Take it out, and set it in the "
            "environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or FSSPEC_FTP_PASSWORD and the like."
        )
