"""The charts of a calibration as files for a paper: SVG and PNG, each with its numbers as CSV beside it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.calibration.results import Curve
from uncone.errors import OutputError
from uncone.report.calibrated import Calibrated
from uncone.report.calibrated_charts import density, marks, short, shown_range
from uncone.report.figures import check_folder
from uncone.report.write import write_all

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["write_figures"]

_GREY, _INK, _ACCENT, _SECOND = "#7a8591", "#17202a", "#0072B2", "#D55E00"
_HEADS = {
    "background": ("series", "from", "to", "percent_per_0.01"),
    "reach": ("background", "share", "score", "low", "high"),
    "reliability": ("mapping", "said", "alike", "low", "high"),
}
_CURVE = ("x", "y", "low", "high")

Row = tuple[Any, ...]


def write_figures(result: Calibrated, folder: Path) -> list[Path]:
    """Write every figure that there is to draw into a folder, which is made if need be: all files, or none.

    Raises:
        MissingPackageError: matplotlib is not installed.
        OutputError: the folder cannot be made or written to.
    """
    check_folder(folder)
    files: dict[Path, str | bytes] = {}
    for name, (wide, draw) in _drawings(result).items():
        for ending, data in _drawn(draw, wide).items():
            files[folder / f"{name}.{ending}"] = data
        files[folder / f"{name}.csv"] = _csv(_HEADS.get(name, _CURVE), _rows(result, name))
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


def _drawings(result: Calibrated) -> dict[str, tuple[bool, Callable[[Axes], None]]]:
    """Each figure by name: whether it is as wide as a page, and what draws it."""
    found: dict[str, tuple[bool, Callable[[Axes], None]]] = {
        "background": (True, lambda axes: _background(axes, result)),
        "reach": (True, lambda axes: _reach(axes, result)),
    }
    labelled = result.calibration.labelled
    if labelled is not None:
        base = labelled.positives / labelled.n
        found["roc"] = (False, lambda axes: _curve(axes, labelled.roc, (0, 1), ("unlike let through", "alike found")))
        found["precision-recall"] = (
            False,
            lambda axes: _curve(axes, labelled.precision_recall, (base, base), ("recall", "precision")),
        )
    if labelled is not None and labelled.mappings:
        found["reliability"] = (False, lambda axes: _reliability(axes, result))
    return found


def _drawn(draw: Callable[[Axes], None], wide: bool) -> dict[str, bytes]:
    from matplotlib.figure import Figure

    from uncone.report.drawing import COLUMN, PAGE, saved, styled

    with styled():
        figure = Figure(figsize=(PAGE, 2.6) if wide else (COLUMN, 2.7))
        draw(figure.add_subplot())
        return {"svg": saved(figure, "svg"), "png": saved(figure, "png")}


def _background(axes: Axes, result: Calibrated) -> None:
    for name, edges, heights in _histograms(result):
        colour = {"alike pairs": _ACCENT, "unlike pairs": _SECOND}.get(name, _GREY)
        first = name == "unrelated pairs"
        axes.stairs(heights, edges, fill=first, color=colour, alpha=0.5 if first else 1.0, linewidth=1.1, label=name)
    top = axes.get_ylim()[1]
    axes.set_ylim(0, 1.35 * top)
    for place, one in enumerate(reversed(marks(result))):
        asked = one.kind == "asked"
        high = (1.33 - 0.08 * min(place, 8)) * top
        axes.plot([one.at, one.at], [0, high], color=_INK, linewidth=0.9, linestyle=":" if asked else "-")
        near: dict[str, Any] = {"xytext": (-2, -6), "textcoords": "offset points", "ha": "right", "fontsize": 6.5}
        axes.annotate(one.text, (one.at, high), **near)
    axes.set_xlim(*shown_range(result))
    axes.set_xlabel("score s = cos(x, y)")
    axes.set_ylabel("% of pairs per 0.01")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4, frameon=False, fontsize=7)


def _reach(axes: Axes, result: Calibrated) -> None:
    for place, one in enumerate(result.calibration.backgrounds):
        kept = np.asarray(one.tails) > 0
        tails = 100 * np.asarray(one.tails, np.float64)[kept]
        colour = _ACCENT if place == 0 else _GREY
        if place == 0:
            lows, highs = np.asarray(one.lows)[kept], np.asarray(one.highs)[kept]
            axes.fill_betweenx(tails, lows, highs, color=colour, alpha=0.2, linewidth=0)
        axes.plot(np.asarray(one.scores)[kept], tails, color=colour, linewidth=1.4, label=short(one))
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axes.set_yscale("log")
    # matplotlib's own labels of powers are formulas, and formulas are off: a name such as $x is none.
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.12f}".rstrip("0").rstrip(".")))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlim(*shown_range(result))
    axes.set_xlabel("score s")
    axes.set_ylabel("unrelated pairs ≥ s (%)")
    if len(result.calibration.backgrounds) > 1:
        axes.legend(frameon=False, fontsize=7)


def _curve(axes: Axes, curve: Curve, even: tuple[float, float], names: tuple[str, str]) -> None:
    axes.plot([0, 1], even, color=_GREY, linewidth=0.9, linestyle="--")
    if curve.lows is not None and curve.highs is not None:
        axes.fill_between(curve.x, curve.lows, curve.highs, color=_ACCENT, alpha=0.2, linewidth=0)
    axes.plot(curve.x, curve.y, color=_ACCENT, linewidth=1.4)
    _unit(axes, *names)


def _reliability(axes: Axes, result: Calibrated) -> None:
    labelled = result.calibration.labelled
    assert labelled is not None
    axes.plot([0, 1], [0, 1], color=_GREY, linewidth=0.9, linestyle="--")
    for one, colour in zip(labelled.mappings, (_ACCENT, _SECOND), strict=False):
        x, y = np.asarray(one.reliability.x), np.asarray(one.reliability.y)
        lows, highs = one.reliability.lows, one.reliability.highs
        reach = None if lows is None or highs is None else np.maximum([y - np.asarray(lows), np.asarray(highs) - y], 0)
        axes.errorbar(x, y, yerr=reach, fmt="o-", markersize=3, linewidth=0.9, color=colour, label=one.kind)
    _unit(axes, "probability that was said", "share that was alike")
    axes.legend(frameon=False, fontsize=7, loc="upper left")


def _unit(axes: Axes, x: str, y: str) -> None:
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel(x)
    axes.set_ylabel(y)


def _histograms(result: Calibrated) -> list[tuple[str, np.ndarray, np.ndarray]]:
    made = result.calibration
    named = [
        ("unrelated pairs" if place == 0 else short(one), one.histogram) for place, one in enumerate(made.backgrounds)
    ]
    if made.labelled is not None:
        named += [("alike pairs", made.labelled.alike), ("unlike pairs", made.labelled.unlike)]
    return [(name, *density(one)) for name, one in named if sum(one.get("counts", ()))]


def _rows(result: Calibrated, name: str) -> list[Row]:
    """The numbers behind a figure."""
    made = result.calibration
    if name == "background":
        return [(series, *one) for series, e, h in _histograms(result) for one in zip(e[:-1], e[1:], h, strict=True)]
    if name == "reach":
        return [
            (one.name, *row)
            for one in made.backgrounds
            for row in zip(one.tails, one.scores, one.lows, one.highs, strict=True)
        ]
    labelled = made.labelled
    assert labelled is not None
    if name == "reliability":
        return [(one.kind, *row) for one in labelled.mappings for row in _of_curve(one.reliability)]
    return _of_curve(labelled.roc if name == "roc" else labelled.precision_recall)


def _of_curve(curve: Curve) -> list[Row]:
    empty: Sequence[float | None] = [None] * len(curve.x)
    lows, highs = (empty if one is None else one for one in (curve.lows, curve.highs))
    return list(zip(curve.x, curve.y, lows, highs, strict=True))


def _csv(head: Sequence[str], rows: Sequence[Row]) -> str:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(head)
    table.writerows(rows)
    return text.getvalue()
