"""The charts of a similarity as files for a paper: SVG and PNG, each with its numbers as CSV beside it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from uncone.errors import OutputError
from uncone.likeness.results import PerLabel, Picture
from uncone.report.figures import check_folder
from uncone.report.similar import Similarity
from uncone.report.write import write_all

__all__ = ["write_figures"]

_LABELS = ("label", "other_label", "mean", "low", "high", "sd", "pairs", "above")


def write_figures(result: Similarity, folder: Path) -> list[Path]:
    """Write every figure that there is to draw into a folder, which is made if need be: all files, or none.

    Raises:
        MissingPackageError: matplotlib is not installed.
        OutputError: the folder cannot be made or written to.
    """
    check_folder(folder)
    drawn = _drawn(result)
    is_new = not folder.exists()
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder} cannot be a folder for figures: {error.strerror}. Name another.") from error
    files = {folder / name: data for name, data in drawn.items()}
    try:
        write_all(files)
    except OutputError:
        if is_new:
            folder.rmdir()
        raise
    return list(files)


def _drawn(result: Similarity) -> dict[str, str | bytes]:
    """Every file by its name."""
    from uncone.report import similar_drawing as draw

    made: dict[str, str | bytes] = {}

    def add(name: str, files: dict[str, bytes], numbers: str) -> None:
        made.update({f"{name}.{ending}": data for ending, data in files.items()})
        made[f"{name}.csv"] = numbers

    several = len(result.pictures) > 1
    for place, (name, picture) in enumerate(result.pictures, 1):
        ending = f"-{_safe(name) or place}" if several else ""
        add(f"heatmap{ending}", draw.draw_heatmap(result, picture), _cells(picture))
    add("histogram", draw.draw_histogram(result), _histogram(result))
    if result.per_label is not None and any(one.cosine.mean is not None for one in result.per_label.table):
        table = result.per_label.table
        add("labels", draw.draw_labels(result, table), _written(_LABELS, map(_label, table)))
    two = result.two_columns
    if two is not None and np.isfinite(two.cosines).any():
        add("columns", draw.draw_columns(result), _written(_LABELS, map(_label, two.table)))
    for place, groups in enumerate(result.groups, 1):
        names = sorted({label for one in groups.groups for label in one.labels})
        if names:
            rows = [(one.number, one.size, *(one.labels.get(name, 0) for name in names)) for one in groups.groups]
            add(f"groups-{place}", draw.draw_groups(groups, names), _written(("group", "size", *names), rows))
    for key, points in result.projections.items():
        head = ("row", "x", "y", "z")[: 1 + points.shape[1]]
        lines = ((int(row), *point.tolist()) for row, point in zip(result.projected, points, strict=True))
        add(f"map-{_safe(key)}", draw.draw_map(result, key), _written(head, lines))
    if any(step.heatmap is not None for step in result.steps):
        numbers = [(step.key, name, value) for step in result.steps for name, value in step.numbers.items()]
        add("why", draw.draw_steps(result), _written(("step", "number", "value"), numbers))
    return made


def _safe(name: str) -> str:
    """Letters, digits and dashes: a name of a pooling is part of a file name."""
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_") else "-" for letter in name)[:40]


def _cells(picture: Picture) -> str:
    """The cosines as they are drawn, with the numbers of the rows around them."""
    rows = [int(row) for row in picture.rows]
    return _written(
        ("row", *map(str, rows)), ((row, *_digits(line)) for row, line in zip(rows, picture.cosines, strict=True))
    )


def _digits(values: Iterable[float]) -> list[str]:
    return [f"{value:.5f}" for value in values]


def _histogram(result: Similarity) -> str:
    rows = []
    for name, held in (("all pairs", result.histogram), ("unrelated pairs", result.background.histogram)):
        edges = held["edges"]
        rows += [(name, low, high, n) for low, high, n in zip(edges, edges[1:], held["counts"], strict=False)]
    return _written(("pairs", "from", "to", "count"), rows)


def _label(one: PerLabel) -> tuple[object, ...]:
    mean = one.cosine
    return one.one, one.other, mean.mean, mean.low, mean.high, mean.sd, mean.pairs, one.above.mean


def _written(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(head)
    table.writerows(rows)
    return text.getvalue()
