"""An export appears whole or not at all: written beside its place, then renamed; what is not ours is not replaced."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from uncone._version import __version__
from uncone.data.writing.atomic import replacing, writing
from uncone.errors import ExportError

__all__ = ["MARK", "marked", "placed", "sign"]

MARK = "uncone_export.json"
"""The file in a folder that says that uncone wrote it, and so may write it again."""


def sign(folder: Path, target: str, kind: str) -> None:
    """Say in a folder what it is."""
    content = {"target": target, "kind": kind, "uncone": __version__}
    (folder / MARK).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def marked(folder: Path) -> bool:
    """Whether this is a folder that an export wrote."""
    return (folder / MARK).is_file()


@contextmanager
def placed(out: Path, *, folder: bool, ours: Callable[[Path], bool]) -> Iterator[Path]:
    """A temporary place for a file or folder, which becomes `out` when all went well and is gone when not.

    Raises:
        ExportError: something of another kind is there, or it cannot be written to.
    """
    _check(out, folder, ours)
    with replacing(out, folder=folder, failure=ExportError) as inside, writing(out, ExportError):
        yield inside


def _check(out: Path, folder: bool, ours: Callable[[Path], bool]) -> None:
    if not out.parent.is_dir():
        raise ExportError(f"There is no folder {out.parent} to write {out.name} to. Make it first, or name another.")
    if out.is_symlink() and not out.exists():
        raise ExportError(f"{out} is a link to nothing. Name another place.")
    if not out.exists() or (folder and out.is_dir() and not any(out.iterdir())):
        return
    if folder != out.is_dir():
        there, needed = ("folder", "file") if out.is_dir() else ("file", "folder")
        raise ExportError(f"{out} is a {there}, and this export writes a {needed}. Name another place.")
    if not ours(out):
        raise ExportError(f"{out} is there and was not written by this export; it stays. Name another place.")
