"""Charts as plain values: declared once, drawn by plotly, by matplotlib and as CSV.

Colors are roles (`accent`, `second`, `muted`, `ink`), hex codes, or a role with an opacity such as
`"muted 55%"`; the theme says what they are in light, in dark and in print.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import IntVector, Matrix, Vector
from uncone.report.text import printable

__all__ = [
    "Axis", "Bars", "Chart", "Cloud", "CloudView", "Coloring", "Dash", "Forest", "Heatmap", "Histogram", "Line", "Mark",
    "Note", "Number", "Points", "Reference", "Symbol", "Weight",
]  # fmt: skip

Number = float | None
Dash = Literal["solid", "dot", "dash", "dashdot"]
Symbol = Literal["circle", "diamond", "square"]
Weight = Literal["main", "thin", "light"]


@dataclass(frozen=True)
class Axis:
    """An axis: its title with the symbol, and how it is scaled.

    `categories` name the places 0, 1, 2, ..., and those at the places `strong` stand out; `zero` keeps zero in view and
    `zero_line` draws it; `whole` allows ticks at integers only; `percent` shows shares as percentages. `name` is the
    heading of its column in CSV files and its name in hover texts. Rows of forests and heatmaps run from top to bottom.
    """

    title: str = ""
    name: str = ""
    log: bool = False
    range: tuple[float, float] | None = None
    categories: Sequence[str] = ()
    ticks: Sequence[tuple[float, str]] = ()
    """Places with texts, drawn in place of the categories: the names of blocks of rows."""
    strong: Sequence[int] = ()
    zero: bool = False
    zero_line: bool = False
    whole: bool = False
    percent: bool = False
    hidden: bool = False


@dataclass(frozen=True)
class Line:
    """A curve through (x, y) with a band from `low` to `high` where both are known.

    `points` marks every place; `error_bars` draws the interval as bars without a connecting line. `weight` is `main`,
    `thin` or `light`. `n` is the number of observations at each place, for hover and CSV. With `sideways` the band runs
    along x, from `low` to `high` at each y.
    """

    x: Sequence[float]
    y: Sequence[Number]
    label: str = ""
    color: str = "accent"
    low: Sequence[Number] = ()
    high: Sequence[Number] = ()
    dash: Dash = "solid"
    weight: Weight = "main"
    points: bool = False
    error_bars: bool = False
    sideways: bool = False
    n: Sequence[int] = ()
    name: str = ""
    """The name of the series in CSV files; its label by default."""
    notes: Sequence[str] = ()
    """More text for each point in hover texts and CSV files, such as the layer behind a relative depth."""
    group: str = ""
    """The group of the curve in CSV files, such as a study or a dataset."""
    guide: bool = False
    """A line to read the others against, such as a diagonal: no legend, no hover, not in CSV files."""


@dataclass(frozen=True)
class Histogram:
    """Heights between `edges`, as filled bars or as an outline."""

    edges: Sequence[float]
    heights: Sequence[float]
    label: str = ""
    color: str = "muted 55%"
    filled: bool = True
    shaded: bool = False
    """Whether the area under an outline is tinted."""
    dash: Dash = "solid"
    unit: str = ""
    """The unit of a height, for hover: `% of pairs per 0.01`."""


@dataclass(frozen=True)
class Bars:
    """One bar per place of the x axis, which may have categories; several marks stand side by side."""

    x: Sequence[float]
    y: Sequence[Number]
    label: str = ""
    color: str = "accent"


@dataclass(frozen=True)
class Points:
    """Points (x, y), with texts beside them if there are any; `ring` draws open circles."""

    x: Sequence[float]
    y: Sequence[Number]
    label: str = ""
    color: str = "accent"
    size: float = 6
    ring: bool = False
    symbol: Symbol = "circle"
    texts: Sequence[str] = ()
    hover: Sequence[str] = ()


@dataclass(frozen=True)
class Forest:
    """A value with its interval per row; rows are the categories of the y axis.

    `rows` are places on that axis, so that several series may share a row; the drawers set them apart.
    """

    rows: Sequence[float]
    values: Sequence[Number]
    low: Sequence[Number]
    high: Sequence[Number]
    label: str = ""
    color: str = "accent"
    symbol: Symbol = "circle"
    large: bool = False
    """Whether its marks stand out, such as means among their parts."""
    open: Sequence[bool] = ()
    """Rows drawn as an open mark: what is not proven, not known."""
    hover: Sequence[str] = ()
    n: Sequence[int] = ()


@dataclass(frozen=True)
class Heatmap:
    """Values (rows, columns) in colors; the categories of the axes name rows and columns.

    `scale` is sequential, pale (shares, with their counts in the cells) or diverging around `center`. `texts` are
    written into the cells, `hover` shows on pointing.
    """

    values: Sequence[Sequence[Number]]
    label: str = ""
    scale: Literal["sequential", "pale", "diverging"] = "sequential"
    low: float | None = None
    high: float | None = None
    center: float | None = None
    texts: Sequence[Sequence[str]] = ()
    hover: Sequence[Sequence[str]] = ()
    bar: str = ""
    """The title of the color bar."""
    n: Sequence[int] = ()
    """The number of observations behind each row, for CSV."""


Mark = Line | Histogram | Bars | Points | Forest | Heatmap


@dataclass(frozen=True)
class Reference:
    """A labeled line across the chart: vertical at x, horizontal at y."""

    at: float
    label: str = ""
    color: str = "ink"
    dash: Dash = "solid"
    horizontal: bool = False


@dataclass(frozen=True)
class Note:
    """A short text at a place of the chart."""

    x: float
    y: float
    text: str
    color: str = "ink"


@dataclass(frozen=True)
class Chart:
    """A chart: its name (file name and anchor), title, caption in a sentence, marks and axes.

    `direct` writes the labels at the ends of the curves instead of a legend. `aspect` is height over width for charts
    whose proportions matter, such as heatmaps.
    """

    name: str
    title: str
    caption: str
    marks: Sequence[Mark]
    x: Axis = Axis()
    y: Axis = Axis()
    references: Sequence[Reference] = ()
    notes: Sequence[Note] = ()
    wide: bool = False
    direct: bool = False
    aspect: float | None = None


@dataclass(frozen=True)
class Coloring:
    """The colors of the points of a cloud: by categories (`codes` into `names`) or by `values` on a scale.

    A code of -1 or a value of NaN is unknown, and gray.
    """

    title: str
    codes: np.ndarray | None = None
    names: Sequence[str] = ()
    values: np.ndarray | None = None
    rest: str = "unknown"
    """The name in the legend for points without a category."""

    @property
    def has_value(self) -> NDArray[np.bool_]:
        """A mask of the points that have a category or a number."""
        if self.codes is None:
            return np.isfinite(np.asarray(self.values, np.float64))
        codes = np.asarray(self.codes)
        return np.asarray((codes >= 0) & (codes < len(self.names)))

    @property
    def shown_names(self) -> list[str]:
        """The categories as a legend names them."""
        return [printable(name) or "without a name" for name in self.names]

    @property
    def counts(self) -> list[int]:
        """The number of rows of each category, and of those without one."""
        k = len(self.names)
        codes = np.where(self.has_value, np.asarray(self.codes, np.int64), k)
        return [int(n) for n in np.bincount(codes, minlength=k + 1)]

    def value(self, row: int) -> str | float | None:
        """The category or the number of a row; None if it is unknown."""
        if self.codes is not None:
            code = int(self.codes[row])
            return self.names[code] if 0 <= code < len(self.names) else None
        return None if self.values is None or not np.isfinite(self.values[row]) else float(self.values[row])


@dataclass(frozen=True)
class CloudView:
    """Points (n, 2) or (n, 3), perhaps a path (p, 2) or (p, 3) through them; a cloud may show one of several views."""

    label: str
    points: Matrix
    rows: np.ndarray | None = None
    """The place of each point among the cloud's texts and colors; by default, all in order."""
    path: Matrix | None = None
    stamp: str = ""
    """Small print in the picture itself: sample, seed, method."""
    frame: tuple[Vector, Vector] | None = None
    """The middle and half the sides of the first view, if several pictures share them."""

    @property
    def indices(self) -> IntVector:
        """The row of the cloud that each point stands for."""
        return np.arange(len(self.points)) if self.rows is None else np.asarray(self.rows, np.int64)


@dataclass(frozen=True)
class Cloud:
    """A point cloud in the plane or in space; the page draws it in WebGL, figures as a scatter plot.

    `spans` (n, 2) are the first letter and the one behind the last of the word that a point stands for within its text.
    `marks` are codes into `marked`, words or groups that are ringed and named. `source_rows` are what hover calls rows.
    """

    name: str
    title: str
    caption: str
    views: Sequence[CloudView]
    colorings: Sequence[Coloring] = ()
    texts: Sequence[str] = ()
    axes: Sequence[str] = ()
    wide: bool = False
    group: str = ""
    spans: np.ndarray | None = None
    marks: np.ndarray | None = None
    marked: Sequence[str] = ()
    source_rows: np.ndarray | None = None

    @property
    def dims(self) -> int:
        """2 for a plane, 3 for a space that can be turned."""
        return int(self.views[0].points.shape[1])
