"""A backend: objects by their URLs, in a file system of pyarrow or of fsspec."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from uncone.data.storage.failures import explained, read_only
from uncone.data.storage.patterns import regular_expression
from uncone.errors import MissingObjectError, StorageError, UnconeError

__all__ = ["Backend", "Entry", "ObjectFile"]

_PIECE = 1 << 26  # bytes that wait in memory while they are sent


@dataclass(frozen=True)
class Entry:
    """What is known of an object without reading it; `modified` is in nanoseconds."""

    size: int
    modified: int
    is_folder: bool


class Backend:
    """A file system of pyarrow, and how URLs are cut for it.

    `original` is that of fsspec, if it is one. `writer` gives the one of fsspec that writes, if pyarrow shouldn't.
    """

    def __init__(
        self,
        scheme: str,
        files: Any,  # noqa: ANN401 - not typed
        original: Any = None,  # noqa: ANN401
        writer: Callable[[], Any] | None = None,
    ) -> None:
        self.scheme, self.files, self.original = scheme, files, original
        self.writer = writer if original is None else lambda: original

    def inner(self, url: str) -> str:
        """A URL as the file system calls it."""
        if self.original is not None:
            return str(self.original._strip_protocol(url))
        authority, _, path = url.partition("://")[2].partition("/")
        container, _, host = authority.partition("@")  # abfss://container@account.dfs.core.windows.net
        bucket = container if self.scheme.startswith("abfs") or not host else host
        return f"{bucket}/{path}".rstrip("/")

    def entry(self, url: str) -> Entry:
        """What is there.

        Raises:
            OSError: nothing, or it can't be reached.
        """
        from pyarrow.fs import FileType

        with self._explained(url):
            info = self.files.get_file_info(self.inner(url))
            if info.type == FileType.NotFound:
                raise self._missing(url)
            return Entry(info.size or 0, info.mtime_ns or 0, info.type == FileType.Directory)

    def _missing(self, url: str) -> OSError:
        from pyarrow.fs import FileType

        bucket = self.inner(url).partition("/")[0]
        if self.original is None and self.files.get_file_info(bucket).type == FileType.NotFound:
            return MissingObjectError(errno.ENOENT, f"there is no bucket {bucket}", url)
        return MissingObjectError(errno.ENOENT, "there is no such object", url)

    def check_writable(self, url: str) -> None:
        """Say early that nothing can be written: the bucket is missing or can't be reached, or a package is missing.

        Raises:
            OSError: storage says so.
            MissingPackageError: it needs one to write.
        """
        if self.scheme in ("http", "https"):
            raise read_only(url)
        if self.writer is not None:
            self.writer()
        if self.original is None:
            scheme, _, rest = url.partition("://")
            self.entry(f"{scheme}://{rest.partition('/')[0]}")

    def stamp(self, url: str) -> tuple[int, str]:
        """The size, and the etag or else the time."""
        with self._explained(url):
            if self.original is not None:
                info = self.original.info(self.inner(url))
                tags = (info.get(name) for name in ("ETag", "etag", "blob_id", "checksum", "mtime", "last_modified"))
                return int(info.get("size") or 0), str(next((tag for tag in tags if tag), ""))
            with self.files.open_input_file(self.inner(url)) as file:
                metadata = {name.lower(): str(value) for name, value in (file.metadata() or {}).items()}
                size = int(file.size())
        return size, metadata.get("etag") or str(self.entry(url).modified)

    def names(self, url: str) -> list[str]:
        """The names right below a folder, in order; none if there is no such folder."""
        return sorted({path.partition("/")[0] for path in self._below(url, deep=False)})

    def _below(self, url: str, *, deep: bool) -> list[str]:
        from pyarrow.fs import FileSelector

        base = self.inner(url)
        with self._explained(url):
            infos = self.files.get_file_info(FileSelector(base, allow_not_found=True, recursive=deep))
            if not deep:
                return [info.base_name for info in infos]
            return [info.path.lstrip("/").removeprefix(f"{base.strip('/')}/") for info in infos if info.is_file]

    def matches(self, pattern: str) -> list[str]:
        """The URLs of objects that match a pattern."""
        fixed = re.split(r"[*?\[]", pattern, maxsplit=1)[0].rpartition("/")[0]
        rest = pattern[len(fixed) + 1 :]
        paths = self._below(fixed, deep="/" in rest or "**" in rest)
        expression = re.compile(regular_expression(rest))
        return [f"{fixed}/{path}" for path in sorted(paths) if expression.fullmatch(path)]

    def open(self, url: str) -> ObjectFile:
        """An object as a file to read.

        Raises:
            OSError: it is not there, or can't be reached.
        """
        with self._explained(url):
            return ObjectFile(self.files.open_input_file(self.inner(url)), lambda: self._explained(url))

    def upload(self, local: Path, url: str) -> None:
        """Publish a file whole, or not at all, also when it is interrupted.

        No signal reaches the thread that sends, so it never loses a stream that is open.

        Raises:
            OSError: it could not be written.
        """
        from concurrent.futures import ThreadPoolExecutor

        stop = Event()
        send = self._send if self.writer is None else self._send_by_fsspec
        with ThreadPoolExecutor(1) as pool, self._explained(url):
            try:
                pool.submit(send, local, self.inner(url), stop).result()
            except BaseException:
                stop.set()
                raise

    def _send(self, local: Path, path: str, stop: Event) -> None:
        # An object appears when its stream is closed, and a stream that is collected is closed. So one that has not
        # sent everything must never be collected; what has arrived of it is no object.
        with local.open("rb") as source:
            # The ending of a name would have its content compressed, once more.
            stream = self.files.open_output_stream(path, compression=None)
            try:
                while data := source.read(_PIECE):
                    stream.write(data)
                    stream.flush()  # wait for what is sent: otherwise all of a file waits in memory
                    if stop.is_set():
                        raise InterruptedError(errno.EINTR, "interrupted")
                stream.close()
            except BaseException:
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(stream))  # never collected, not even at the end
                raise

    def _send_by_fsspec(self, local: Path, path: str, stop: Event) -> None:
        from fsspec.spec import AbstractBufferedFile

        # A buffered file appears when it is closed. Any other grows where it is, so it gets its name at the end.
        assert self.writer is not None
        files, (folder, _, name) = self.writer(), path.rpartition("/")
        temporary = f"{folder}/.{name}.part"
        target = files.open(temporary, "wb")
        buffered = isinstance(target, AbstractBufferedFile)
        if buffered:
            target.closed = True
            target = files.open(path, "wb")
        try:
            with local.open("rb") as source:
                while data := source.read(_PIECE):
                    target.write(data)
                    if stop.is_set():
                        raise InterruptedError(errno.EINTR, "interrupted")
        except BaseException:
            if buffered:
                target.closed = True  # what is closed is not published
            else:
                target.close()
                files.rm(temporary)
            raise
        target.close()
        if not buffered:
            files.mv(temporary, path)

    def remove(self, url: str) -> None:
        """Remove an object.

        Raises:
            OSError: there is none, or it can't be removed.
        """
        with self._explained(url):
            self.files.delete_file(self.inner(url))

    def remove_folder(self, url: str) -> None:
        """Remove all objects below a URL.

        Raises:
            OSError: they can't be removed.
        """
        with contextlib.suppress(FileNotFoundError), self._explained(url):
            self.files.delete_dir(self.inner(url))

    @contextmanager
    def _explained(self, url: str) -> Iterator[None]:
        """Around calls of the file system: its errors get a number and a line."""
        try:
            yield
        except StorageError:
            raise
        except OSError as error:
            raise explained(error, url) from error
        except Exception as error:
            # What fsspec raises comes from any package; an error of Arrow that is none of files is ours.
            if (self.original is None and self.writer is None) or isinstance(error, UnconeError):
                raise
            raise explained(error, url) from error


class ObjectFile(io.RawIOBase):
    """An object that is read by ranges of bytes."""

    def __init__(self, file: Any, explained: Callable[[], Any]) -> None:  # noqa: ANN401 - not typed
        self.file, self.explained = file, explained

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self.file.seek(offset, whence))

    def tell(self) -> int:
        return int(self.file.tell())

    def size(self) -> int:
        """The bytes of the object."""
        return int(self.file.size())

    def read(self, size: int = -1) -> bytes:
        with self.explained():
            return bytes(self.file.read(None if size < 0 else size))

    def readall(self) -> bytes:
        return self.read()

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - a writable buffer
        with self.explained():
            return int(self.file.readinto(buffer))

    def close(self) -> None:
        if not self.closed:
            self.file.close()
        super().close()
