"""Charts as files for a paper: SVG and PNG, each with its numbers as CSV beside it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from uncone.data.writing.atomic import check_output, write_all
from uncone.errors import OutputError
from uncone.extras import require
from uncone.report.charts.csv import table
from uncone.report.charts.model import Chart, Cloud

__all__ = ["check_folder", "write_figures"]


def check_folder(folder: Path) -> None:
    """Say early, before a long measurement, that there can be no figures in this folder.

    Raises:
        MissingPackageError: matplotlib is not installed.
        OutputError: it is a file, or the folder around it is missing or may not be written to.
    """
    require("matplotlib", extra="models")
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file; name a folder for the figures.")
    check_output(folder / "figure" if folder.is_dir() else folder)


def write_figures(charts: Iterable[Chart | Cloud], folder: Path) -> list[Path]:
    """Write every chart into a folder, which is made if need be: all files, or none.

    Raises:
        MissingPackageError: matplotlib is not installed.
        OutputError: the folder cannot be made or written to.
    """
    check_folder(folder)
    from uncone.report.charts.matplotlib import draw

    files: dict[Path, str | bytes] = {}
    for chart in charts:
        for ending, data in draw(chart).items():
            files[folder / f"{chart.name}.{ending}"] = data
        files[folder / f"{chart.name}.csv"] = table(chart)
    is_new = not folder.exists()
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder} cannot be a folder for figures: {error.strerror}. Name another.") from error
    try:
        write_all(files)
    except OutputError:
        if is_new:
            folder.rmdir()
        raise
    return list(files)
