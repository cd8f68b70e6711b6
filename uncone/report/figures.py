"""The charts of a study as files for a paper: SVG and PNG, each with its numbers as CSV beside it."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from uncone.diagnosis.contrast import Contrast
from uncone.errors import OutputError
from uncone.extras import require
from uncone.report.deep_cloud import Cloud
from uncone.report.panel import Heat, Picture, Series
from uncone.report.study import LayerStudy
from uncone.report.study_panels import pictures
from uncone.report.write import check_writable, write_all

__all__ = ["check_folder", "write_figures"]

_CURVE = ("study", "layer", "measure", "value", "low", "high", "n")
_DIFFERENCE = ("study", "layer", "against", "measure", "value", "low", "high", "n")
_WORD = ("study", "word", "layer", "measure", "value", "n")
_CLOUD = ("study", "layer", "view", "part", "text", "x", "y", "z", "value")
_HEAT = ("study", "word", "contexts", "layer", "measure", "value")


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


def write_figures(parts: Sequence[LayerStudy], contrasts: Sequence[Contrast], folder: Path) -> list[Path]:
    """Write every figure that there is to draw into a folder, which is made if need be: all files, or none.

    Raises:
        MissingPackageError: matplotlib is not installed.
        OutputError: the folder cannot be made or written to.
    """
    check_folder(folder)
    from uncone.report.drawing import draw

    files: dict[Path, str | bytes] = {}
    for picture in pictures(parts, contrasts):
        for ending, data in draw(picture).items():
            files[folder / f"{picture.name}.{ending}"] = data
        files[folder / f"{picture.name}.csv"] = _csv(picture)
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


def _csv(picture: Picture) -> str:
    """The numbers behind a figure, one per line."""
    if isinstance(picture, Heat):
        return _written(_HEAT, _heat_rows(picture))
    if isinstance(picture, Cloud):
        return _written(_CLOUD, _cloud_rows(picture))
    if picture.series[0].word:
        return _written(_WORD, (row for one in picture.series for row in _word_rows(one)))
    head = _DIFFERENCE if picture.series[0].against else _CURVE
    # A model of one layer is drawn as a level line through the same number twice.
    return _written(head, dict.fromkeys(row for one in picture.series for row in _curve_rows(one)))


def _curve_rows(one: Series) -> Iterable[tuple[object, ...]]:
    for place, layer in enumerate(one.layers):
        layers = (layer, one.against[place]) if one.against else (layer,)
        yield one.study, *layers, one.measure, one.y[place], one.low[place], one.high[place], one.n[place] or None


def _word_rows(one: Series) -> Iterable[tuple[object, ...]]:
    for layer, value, n in zip(one.layers, one.y, one.n, strict=True):
        yield one.study, one.word, layer, one.measure, value, n


def _heat_rows(heat: Heat) -> Iterable[tuple[object, ...]]:
    for word, contexts, row in zip(heat.words, heat.contexts, heat.values, strict=True):
        for layer, value in zip(heat.layers, row, strict=True):
            yield heat.study, word, contexts, layer, "selfsim", value


def _cloud_rows(cloud: Cloud) -> Iterable[tuple[object, ...]]:
    """The points with their texts and numbers, then the path through them; in the plane there is no z."""
    layer = "" if cloud.layer is None else cloud.layer
    for view in cloud.views:
        for point, value, text in zip(view.points.tolist(), view.values.tolist(), view.texts, strict=True):
            yield cloud.study, layer, view.label, "point", text, *_xyz(point), None if math.isnan(value) else value
        for point in view.path.tolist():
            yield cloud.study, layer, view.label, "path", "", *_xyz(point), None


def _xyz(point: list[float]) -> list[float | None]:
    return [*point, *[None] * (3 - len(point))]


def _written(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(head)
    table.writerows(rows)
    return text.getvalue()
