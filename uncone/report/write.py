"""Files appear whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from uncone.errors import OutputError

__all__ = ["check_writable", "write_all"]

_LONGEST = 240  # bytes of a name, with room for the temporary one


def check_writable(path: Path) -> None:
    """Say early, before a long measurement, that a file cannot be written.

    Raises:
        OutputError: its folder is missing or may not be written to.
    """
    try:
        path, is_folder = path.resolve(), path.is_dir()
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}. Name another file.") from error
    folder = path.parent
    if is_folder:
        raise OutputError(f"{path} is a folder; name a file in it for the report.")
    if not folder.is_dir():
        raise OutputError(f"There is no folder {folder} to write {path.name} to. Make it first, or name another.")
    if len(os.fsencode(path.name)) > _LONGEST:
        raise OutputError(f"{path.name[:40]}… is too long a name for a file. Name another.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"The folder {folder} cannot be written to. Name a file elsewhere.")


def write_all(files: Mapping[Path, str | bytes]) -> None:
    """Write every file, or none: what was there before survives a full disk. Text becomes UTF-8.

    Raises:
        OutputError: a file could not be written.
    """
    written: list[tuple[Path, Path]] = []
    try:
        for path, content in files.items():
            data = content.encode("utf-8", errors="replace") if isinstance(content, str) else content
            target = path.resolve()  # through a link: what it points to is replaced, not the link
            if target.exists() and not target.is_file():
                target.write_bytes(data)  # a device or a pipe cannot be renamed over
            else:
                written.append((_write_beside(target, data), target))
        for temporary, path in written:
            temporary.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"Cannot write {path}: {reason}. What was there before is untouched.") from error
    finally:
        for temporary, _ in written:
            temporary.unlink(missing_ok=True)


def _write_beside(path: Path, data: bytes) -> Path:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(_mode(path))
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise
    return temporary


def _mode(path: Path) -> int:
    """The mode the file has, or would get: mkstemp is stricter than a report has to be."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
