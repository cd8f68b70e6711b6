"""The check of folders for figures, for the verbs whose charts are not declared yet."""

from __future__ import annotations

from pathlib import Path

from uncone.errors import OutputError
from uncone.extras import require
from uncone.report.write import check_writable

__all__ = ["check_folder"]


def check_folder(folder: Path) -> None:
    """Say early, before a long measurement, that there can be no figures in this folder.

    Raises:
        MissingPackageError: matplotlib is not installed.
        OutputError: it is a file, or the folder around it is missing or may not be written to.
    """
    require("matplotlib", extra="models")
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file; name a folder for the figures.")
    check_writable(folder / "figure" if folder.is_dir() else folder)
