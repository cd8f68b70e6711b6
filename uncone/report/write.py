"""Files appear whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from uncone.errors import OutputError

__all__ = ["check_writable", "write_all"]


def check_writable(path: Path) -> None:
    """Say early, before a long measurement, that a file cannot be written.

    Raises:
        OutputError: its folder is missing or may not be written to.
    """
    folder = path.parent
    if path.is_dir():
        raise OutputError(f"{path} is a folder; name a file in it for the report.")
    if not folder.is_dir():
        raise OutputError(f"There is no folder {folder} to write {path.name} to. Make it first, or name another.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"The folder {folder} cannot be written to. Name a file elsewhere.")


def write_all(files: Mapping[Path, str]) -> None:
    """Write every file, or none: what was there before survives a full disk.

    Raises:
        OutputError: a file could not be written.
    """
    written: list[tuple[Path, Path]] = []
    try:
        for path, text in files.items():
            written.append((_write_beside(path, text), path))
        for temporary, path in written:
            temporary.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"Cannot write {path}: {reason}. What was there before is untouched.") from error
    finally:
        for temporary, _ in written:
            temporary.unlink(missing_ok=True)


def _write_beside(path: Path, text: str) -> Path:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
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
