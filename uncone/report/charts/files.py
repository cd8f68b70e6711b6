"""Files: charts for a paper as SVG and PNG with their numbers as CSV beside, and tables as CSV or Parquet.

The table of a chart has one observation per line, with category names; guides and references are left out.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from uncone.analysis.measures.finding import finite
from uncone.data.writing.atomic import check_output, write_all
from uncone.errors import OptionError, OutputError, require
from uncone.report.charts.model import Axis, Bars, Chart, Cloud, Forest, Heatmap, Histogram, Line, Mark, Points

__all__ = ["Columns", "check_folder", "csv_text", "table", "table_file", "table_format", "write_figures"]

Value = str | float | int | None
Record = dict[str, Value]
Columns = dict[str, list[Any]]

_MOST_CELLS = 2_500
"""Cells of a heatmap with a line each; a larger one is written as a matrix."""


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


def table(chart: Chart | Cloud) -> str:
    """All marks of a chart in one table; columns that a mark does not have stay empty."""
    if isinstance(chart, Chart):
        for mark in chart.marks:
            if isinstance(mark, Heatmap) and sum(map(len, mark.values)) > _MOST_CELLS:
                return _matrix(chart, mark)
    if isinstance(chart, Cloud):
        records = list(_cloud(chart))
    else:
        marks = [mark for mark in chart.marks if not (isinstance(mark, Line) and mark.guide)]
        records = [finite(record) for mark in marks for record in _mark(chart, mark)]
    keys = dict.fromkeys(key for record in records for key in record)
    # A column in which nothing is known says nothing.
    head = [key for key in keys if any(record.get(key) not in (None, "") for record in records)]
    return csv_text(head, ([record.get(key) for key in head] for record in records))


def csv_text(head: Iterable[Value], rows: Iterable[Iterable[Value]]) -> str:
    """A table as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    return text.getvalue()


def table_format(path: Path) -> str:
    """The format of a file by its ending: csv or parquet.

    Raises:
        OptionError: it has another ending.
    """
    ending = path.suffix.lower().removeprefix(".")
    if ending not in ("csv", "parquet"):
        raise OptionError(f"{path.name} has no known format for a table. End it with .csv or .parquet.")
    return ending


def table_file(columns: Columns, path: Path, types: Mapping[str, type]) -> bytes:
    """A table in the format of the path; columns without a type hold floats.

    Lone surrogates, which UTF-8 can't encode, are replaced.
    """
    texts = {name: values for name, values in columns.items() if types.get(name) is str}
    columns = {
        **columns,
        **{name: [text.encode("utf-8", "replace").decode() for text in texts[name]] for name in texts},
    }
    if table_format(path) == "csv":
        return csv_text(columns, zip(*columns.values(), strict=True)).encode("utf-8")
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow = {int: pa.int64(), float: pa.float64(), str: pa.string()}
    sink = pa.BufferOutputStream()
    typed = {name: pa.array(values, arrow[types.get(name, float)]) for name, values in columns.items()}
    pq.write_table(pa.table(typed), sink)
    return bytes(sink.getvalue().to_pybytes())


def _matrix(chart: Chart, heatmap: Heatmap) -> str:
    """The cells as they are drawn, with the names of rows and columns around them."""
    names = _names(chart.y, range(len(heatmap.values)))
    cells = [["" if finite(value) is None else f"{value:.6g}" for value in row] for row in heatmap.values]
    head = [chart.y.name or "y", *_names(chart.x, range(len(heatmap.values[0])))]
    return csv_text(head, ([name, *row] for name, row in zip(names, cells, strict=True)))


def _mark(chart: Chart, mark: Mark) -> Iterator[Record]:
    x, y = chart.x.name or "x", chart.y.name or "y"
    series: Record = {"series": mark.label}
    match mark:
        case Line():
            series = {"group": mark.group, "series": mark.name or mark.label}
            points = {x: _names(chart.x, mark.x), y: mark.y, "low": mark.low, "high": mark.high}
            return _rows(series, {**points, "n": mark.n, "note": mark.notes})
        case Histogram():
            return _rows(series, {f"{x}_from": mark.edges[:-1], f"{x}_to": mark.edges[1:], y: mark.heights})
        case Bars():
            return _rows(series, {x: _names(chart.x, mark.x), y: mark.y})
        case Points():
            return _rows(series, {x: _names(chart.x, mark.x), y: _names(chart.y, mark.y), "text": mark.texts})
        case Forest():
            values = {y: _names(chart.y, mark.rows), x: mark.values, "low": mark.low, "high": mark.high}
            return _rows(series, {**values, "n": mark.n})
        case Heatmap():
            return _cells(chart, mark, x, y)


def _rows(start: Record, columns: Mapping[str, Sequence[Value]]) -> Iterator[Record]:
    filled = {name: column for name, column in columns.items() if len(column)}
    for row in zip(*filled.values(), strict=True):
        yield {**start, **dict(zip(filled, row, strict=True))}


def _cells(chart: Chart, heatmap: Heatmap, x: str, y: str) -> Iterator[Record]:
    name = heatmap.bar or heatmap.label or "value"
    for i, (row, values) in enumerate(zip(_names(chart.y, range(len(heatmap.values))), heatmap.values, strict=True)):
        for j, (column, value) in enumerate(zip(_names(chart.x, range(len(values))), values, strict=True)):
            text, n = heatmap.texts[i][j] if heatmap.texts else "", heatmap.n[i] if heatmap.n else None
            yield {y: row, x: column, name: value, "text": text, "n": n}


def _names(axis: Axis, places: Iterable[float | None]) -> list[Value]:
    return [_name(axis, place) for place in places]


def _name(axis: Axis, place: float | None) -> Value:
    if place is None or not math.isfinite(place) or place != int(place):
        return place
    if 0 <= place < len(axis.categories):
        return axis.categories[int(place)]
    return int(place) if axis.whole else place


def _cloud(cloud: Cloud) -> Iterator[Record]:
    for view in cloud.views:
        start: Record = {"group": cloud.group, "view": view.label}
        for row, point in zip(view.indices.tolist(), view.points.tolist(), strict=True):
            text = cloud.texts[row] if cloud.texts else ""
            colors = {coloring.title: coloring.value(row) for coloring in cloud.colorings}
            yield {**start, "part": "point", "row": row, "text": text, **_xyz(point), **colors}
        for point in [] if view.path is None else view.path.tolist():
            yield {**start, "part": "path", **_xyz(point)}


def _xyz(point: Sequence[float]) -> Record:
    return {axis: float(f"{value:.7g}") for axis, value in zip("xyz", point, strict=False)}
