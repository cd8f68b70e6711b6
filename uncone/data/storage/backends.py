"""Backends: pyarrow's file systems for S3, Google Cloud Storage and Azure, and fsspec's for any other URL.

Their errors become those of a file: with a number, and one line that says what to do.
"""

from __future__ import annotations

import ctypes
import errno
import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlsplit

from uncone.errors import MissingPackageError, OptionError, UnconeError, require

__all__ = [
    "Backend",
    "DeniedError",
    "Entry",
    "MissingObjectError",
    "ObjectFile",
    "StorageError",
    "backend_of",
    "check_scheme",
]

_PIECE = 1 << 26  # bytes that wait in memory while they are sent


class StorageError(OSError):
    """A call of storage failed; `filename` is the URL, and `strerror` a line that says why."""


class MissingObjectError(StorageError, FileNotFoundError):
    """There is no such object or bucket."""


class DeniedError(StorageError, PermissionError):
    """Storage wants other credentials, or other permissions."""


@dataclass(frozen=True)
class Entry:
    """What is known of an object without reading it; `modified` is in nanoseconds."""

    size: int
    modified: int
    is_folder: bool


class Backend:
    """A file system of pyarrow and how its URLs are cut; `original` is that of fsspec, if it is one."""

    def __init__(self, scheme: str, files: Any, original: Any = None) -> None:  # noqa: ANN401 - not typed
        self.scheme, self.files, self.original = scheme, files, original

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

    def check_bucket(self, url: str) -> None:
        """Refuse a bucket that is missing or can't be reached.

        Raises:
            OSError: it is.
        """
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
        expression = re.compile(_regular(rest))
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
        send = self._send if self.original is None else self._send_by_fsspec
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
        folder, _, name = path.rpartition("/")
        temporary = f"{folder}/.{name}.part"
        target = self.original.open(temporary, "wb")
        buffered = isinstance(target, AbstractBufferedFile)
        if buffered:
            target.closed = True
            target = self.original.open(path, "wb")
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
                self.original.rm(temporary)
            raise
        target.close()
        if not buffered:
            self.original.mv(temporary, path)

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
        with self._explained(url):
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
            if self.original is None or isinstance(error, UnconeError):
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


_ARROW = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az", "abfs": "az", "abfss": "az"}
_ENVIRONMENT = (
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "STORAGE_EMULATOR_HOST",
    "AZURE_STORAGE_ACCOUNT",
    "AZURE_STORAGE_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_CONNECTION_STRING",
)


def check_scheme(url: str) -> None:
    """Refuse a URL that nothing reads.

    Raises:
        OptionError: nobody knows its scheme.
        MissingPackageError: a package is not installed.
    """
    scheme = url.partition("://")[0]
    if scheme in _ARROW:
        return
    require("fsspec", extra="storage")
    from fsspec import get_filesystem_class

    try:
        get_filesystem_class(scheme)
    except ValueError as error:
        raise OptionError(
            f"{scheme}:// is not a scheme we know. Use s3, gs, az, hf, or one of fsspec, such as sftp or https."
        ) from error
    except ImportError as error:
        extra = "'uncone[storage]'" if scheme == "hf" else f"the package that fsspec needs for {scheme} ({error})"
        raise MissingPackageError(f"{scheme}:// needs a package that is not installed: pip install {extra}") from error


def backend_of(url: str) -> Backend:
    """What reads and writes a URL; connections are kept for as long as the environment stays as it is."""
    scheme, _, rest = url.partition("://")
    authority = rest.partition("/")[0]
    return _connect(scheme, authority, tuple(os.environ.get(name) for name in _ENVIRONMENT))


@lru_cache(maxsize=32)
def _connect(scheme: str, authority: str, environment: tuple[str | None, ...]) -> Backend:
    url = f"{scheme}://{authority}"
    kind = _ARROW.get(scheme)
    try:
        if kind is not None:
            return Backend(scheme, {"s3": _s3, "gs": _google, "az": _azure}[kind](authority))
        from fsspec.core import url_to_fs
        from pyarrow.fs import FSSpecHandler, PyFileSystem

        original = url_to_fs(url)[0]
        return Backend(scheme, PyFileSystem(FSSpecHandler(original)), original)
    except StorageError:
        raise
    except Exception as error:
        raise explained(error, url) from error


def _s3(bucket: str) -> Any:  # noqa: ANN401 - not typed
    """S3 with the usual variables; the rest of them, and the files in ~/.aws, are read by the library itself."""
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem, resolve_s3_region

    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if endpoint is None and region is None and not os.environ.get("AWS_PROFILE"):
        region = resolve_s3_region(bucket)
    options: dict[str, Any] = {"region": region or ("us-east-1" if endpoint else None)}
    if endpoint is not None:
        parts = urlsplit(endpoint if "://" in endpoint else f"https://{endpoint}")
        options |= {"scheme": parts.scheme, "endpoint_override": parts.netloc + parts.path.rstrip("/")}
    return S3FileSystem(
        **options, connect_timeout=10, request_timeout=60, retry_strategy=AwsStandardS3RetryStrategy(max_attempts=5)
    )


def _google(authority: str) -> Any:  # noqa: ANN401 - not typed
    from datetime import timedelta

    from pyarrow.fs import GcsFileSystem

    options: dict[str, Any] = {"anonymous": authority.startswith("anonymous@")}
    emulator = os.environ.get("STORAGE_EMULATOR_HOST")
    if emulator:
        parts = urlsplit(emulator if "://" in emulator else f"http://{emulator}")
        options = {"anonymous": True, "scheme": parts.scheme, "endpoint_override": parts.netloc}
    return GcsFileSystem(retry_time_limit=timedelta(seconds=30), **options)


def _azure(authority: str) -> Any:  # noqa: ANN401 - not typed
    from pyarrow.fs import AzureFileSystem

    pairs = (part.partition("=") for part in os.environ.get("AZURE_STORAGE_CONNECTION_STRING", "").split(";"))
    values = {name: value for name, _, value in pairs}
    host = authority.partition("@")[2]
    account = host.partition(".")[0] or values.get("AccountName") or os.environ.get("AZURE_STORAGE_ACCOUNT")
    if not account:
        raise DeniedError(errno.EACCES, "no account is known. Set AZURE_STORAGE_ACCOUNT", authority)
    options: dict[str, Any] = {
        "account_key": values.get("AccountKey") or os.environ.get("AZURE_STORAGE_KEY"),
        "sas_token": None if values.get("AccountKey") else os.environ.get("AZURE_STORAGE_SAS_TOKEN"),
    }
    if "BlobEndpoint" in values:
        parts = urlsplit(values["BlobEndpoint"])
        options |= {"blob_storage_authority": parts.netloc, "blob_storage_scheme": parts.scheme}
        options |= {"dfs_storage_authority": parts.netloc, "dfs_storage_scheme": parts.scheme}
    return AzureFileSystem(account, **options)


_ABSENT = r"no.?such.?(key|file)|not.?found|status 404|path does not exist"
_DENIED = r"access.?denied|status 40[13]|forbidden|unauthorized|invalid.?access.?key|signature|credential|permission"
_OFFLINE = r"curlcode|network.?connection|connect|resolve|time.?d?.?out|unreachable|name or service"


def explained(error: Exception, url: str) -> OSError:
    """The error of a file system as one of files: with a number, and one line that says what to do."""
    scheme, _, rest = url.partition("://")
    text = " ".join(str(error).split())
    if re.search(r"(?i)no.?such.?bucket", text):
        bucket = rest.partition("/")[0]
        return MissingObjectError(errno.ENOENT, f"there is no bucket {bucket}", url)
    if isinstance(error, FileNotFoundError) or re.search(f"(?i){_ABSENT}", text):
        return MissingObjectError(errno.ENOENT, "there is no such object", url)
    kind = _ARROW.get(scheme, scheme)
    if isinstance(error, PermissionError) or re.search(f"(?i){_DENIED}", text):
        return DeniedError(errno.EACCES, f"access is denied. {_CREDENTIALS.get(kind, 'Check your credentials')}", url)
    if isinstance(error, ConnectionError | TimeoutError) or re.search(f"(?i){_OFFLINE}", text):
        hint = _ENDPOINTS.get(kind, "Check the network")
        return StorageError(errno.EHOSTUNREACH, f"the storage can't be reached. {hint}", url)
    return StorageError(errno.EIO, text[:200] or type(error).__name__, url)


_CREDENTIALS = {
    "s3": "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, of an account that may do this",
    "gs": "Set GOOGLE_APPLICATION_CREDENTIALS, or write gs://anonymous@bucket/ for public data",
    "az": "Set AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY",
    "hf": "Set HF_TOKEN",
}
_ENDPOINTS = {
    "s3": "Check the network, and AWS_ENDPOINT_URL if it is not Amazon's",
    "gs": "Check the network. Is GOOGLE_APPLICATION_CREDENTIALS set, or is it gs://anonymous@bucket/ for public data",
    "hf": "Check the network, and HF_ENDPOINT if it is not the hub's",
}


def _regular(pattern: str) -> str:
    """A pattern of names as a regular expression for paths; names that begin with a dot need one in the pattern."""
    folders = pattern.split("/")
    parts = []
    for place, folder in enumerate(folders):
        last = place == len(folders) - 1
        if folder == "**":
            parts.append(".*" if last else "(?:.*/)?")
            continue
        name = re.sub(r"\\\[(!?)(.+?)\\\]", _one_of, re.escape(folder).replace(r"\*", "[^/]*").replace(r"\?", "[^/]"))
        hidden = "" if folder.startswith(".") else r"(?!\.)"
        parts.append(hidden + name + ("" if last else "/"))
    return "".join(parts)


def _one_of(match: re.Match[str]) -> str:
    return f"[{'^' if match[1] else ''}{match[2].replace(chr(92) + '-', '-')}]"
