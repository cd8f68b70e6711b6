"""Files on disk: those that a path, folder or glob stands for, and a digest of their content."""

from __future__ import annotations

import glob
import hashlib
import io
import json
import os
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from uncone.data.storage.path import ObjectPath, on_network, path_of
from uncone.errors import FormatError, MissingSourceError

__all__ = [
    "MANIFEST",
    "FileStamps",
    "check_readable",
    "file_digest",
    "find_files",
    "in_natural_order",
    "read_manifest",
    "with_absolute_paths",
]

T = TypeVar("T")


def find_files(
    path: str, suffix_of: Callable[[Path], str | None], content: str, endings: Iterable[str]
) -> list[Path] | None:
    """The files of a folder or a glob, all of one kind; None if the path is neither.

    Args:
        path: what the user named.
        suffix_of: the ending that tells the kind of a file, None for files that are not read.
        content: what the files hold, for a message.
        endings: the endings that are read.

    Raises:
        MissingSourceError: there are no such files.
        FormatError: they are of several kinds.
    """
    folder = path_of(path)
    if folder.is_dir():
        _check_complete(folder)
        visible = [file for file in folder.iterdir() if not file.name.startswith((".", "_"))]
        files = [file for file in visible if isinstance(file, ObjectPath) or file.is_file()]
        readable = [file for file in files if suffix_of(file)]
        # A folder of tables or shards often holds a README.txt or a list of words beside them.
        files = [file for file in readable if suffix_of(file) != ".txt"] or readable
        if not files:
            raise MissingSourceError(f"The folder {path} holds no {content}. We read {', '.join(endings)}.")
    elif not folder.exists() and glob.has_magic(path):
        if isinstance(folder, ObjectPath):
            files = list[Path](folder.matches())
        else:
            files = [Path(name) for name in glob.glob(path, recursive=True) if Path(name).is_file()]  # noqa: PTH207
        if not files:
            raise MissingSourceError(f"No file matches {path}. We read {', '.join(endings)}.")
    else:
        return None
    suffixes = sorted({suffix_of(file) or file.suffix for file in files})
    if len(suffixes) > 1:
        raise FormatError(
            f"{path} mixes formats: {', '.join(suffixes)}. Name one with a glob such as '*{suffixes[0]}'."
        )
    return in_natural_order(files)


MANIFEST = "_uncone.json"
"""The file that tells whether a folder of ours is complete."""


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """What the manifest of a folder says; None if it has none.

    Raises:
        FormatError: it is not JSON.
    """
    try:
        values: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise FormatError(f"{folder / MANIFEST} is damaged: it isn't JSON. Write the folder again.") from error
    return values


def _check_complete(folder: Path) -> None:
    manifest = read_manifest(folder)
    if manifest is not None and not manifest.get("complete"):
        raise FormatError(
            f"{folder} is not complete: it is being written, or the run was interrupted. Run the same uncone encode, "
            "apply or fix again, and it continues where it stopped."
        )


def check_readable(path: Path, need: str) -> None:
    """Refuse a file that may not be read or is empty; `need` says what it should hold.

    Raises:
        MissingSourceError: it may not be read.
        FormatError: it is empty.
    """
    if not isinstance(path, ObjectPath) and not os.access(path, os.R_OK):
        raise MissingSourceError(f"{path} cannot be read: permission denied. Check its permissions.")
    if path.stat().st_size == 0:
        raise FormatError(f"{path} is empty (0 bytes). We need {need}; was it written to the end?")


@dataclass(frozen=True)
class FileStamps:
    """Sizes, and times or etags, of files when a run began: if they change, it would mix old rows with new ones."""

    stamps: Mapping[Path, tuple[int, int | str]]

    @classmethod
    def of(cls, files: Iterable[Path]) -> FileStamps:
        """The stamps of the files as they are now."""
        paths = list(files)
        return cls(dict(zip(paths, _stamps(paths), strict=True)))

    def check(self, files: Iterable[Path]) -> None:
        """Refuse files that have changed or vanished.

        Raises:
            MissingSourceError: a file is gone, or this machine does not see it.
            FormatError: a file has changed.
        """
        paths = list(files)
        for path, stamp in zip(paths, _stamps(paths), strict=True):
            if stamp != self.stamps[path]:
                raise FormatError(f"{path} changed while it was being read. Start again when nothing writes to it.")


def _stamps(paths: Sequence[Path]) -> Iterator[tuple[int, int | str]]:
    """The stamps of files; those of objects are requests that wait for the network, so many go out at once."""
    return on_network(_stamp, paths)


def _stamp(path: Path) -> tuple[int, int | str]:
    try:
        if isinstance(path, ObjectPath):
            return path.stamp()
        status = path.stat()
    except OSError as error:
        reason = error.strerror or str(error)
        raise MissingSourceError(
            f"{path} can't be read any more ({reason}). Was it moved, or do workers not share this folder?"
        ) from error
    return status.st_size, status.st_mtime_ns


class _AbsolutePaths(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:  # noqa: ANN401 - anything that is pickled
        if not isinstance(value, Path) or isinstance(value, ObjectPath):
            return NotImplemented
        return Path, (os.path.abspath(value),)  # noqa: PTH100


def with_absolute_paths(value: T) -> T:
    """A copy of a value with every path in it absolute, so that another process finds the same files.

    Raises:
        TypeError: it can't be copied, such as an open pipe.
    """
    buffer = io.BytesIO()
    _AbsolutePaths(buffer).dump(value)
    copied: T = pickle.loads(buffer.getvalue())
    return copied


def in_natural_order(paths: Sequence[Path]) -> list[Path]:
    """Sorted so that shard 2 comes before shard 10.

    >>> [path.name for path in in_natural_order([Path("s10"), Path("s2")])]
    ['s2', 's10']
    """

    def key(path: Path) -> list[tuple[int, str]]:
        return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", str(path))]

    return sorted(paths, key=key)


_BLOCK = 1 << 16
_BLOCKS = 64


def file_digest(files: Iterable[Path], settings: dict[str, Any] | None = None) -> str:
    """A hash over settings and files: all of a small file, 64 blocks from all over a large one.

    Other weights differ nearly everywhere, so blocks tell, and a model of many gigabytes need not be read twice.
    """
    digest = hashlib.sha256(json.dumps(settings or {}, sort_keys=True, default=str).encode())
    for path in sorted(files):
        size = path.stat().st_size
        digest.update(f"{path.name} {size}".encode())
        with path.open("rb") as file:
            for start in range(0, size, max(size // _BLOCKS, _BLOCK)):
                file.seek(start)
                digest.update(file.read(_BLOCK))
    return digest.hexdigest()[:32]
