"""The figures of a similarity drawn with matplotlib: the width of a column or of a page."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from uncone.data.batch import Matrix
from uncone.diagnosis.words import clipped, cosine
from uncone.likeness.results import Groups, PerLabel, Picture
from uncone.report.drawing import COLUMN, PAGE, saved, styled
from uncone.report.panel import OKABE_ITO
from uncone.report.similar import Similarity
from uncone.report.similar_charts import pair_name, per_hundredth
from uncone.report.similar_columns import curves
from uncone.report.similar_heatmap import branches, shown_range
from uncone.report.similar_lines import tail_score
from uncone.report.similar_maps import PROJECTIONS
from uncone.report.similar_numbers import middle_cut
from uncone.report.similar_palette import labels_palette, palettes
from uncone.report.similar_why import around_range, common_range, is_around
from uncone.report.text import printable

__all__ = ["draw_columns", "draw_groups", "draw_heatmap", "draw_histogram", "draw_labels", "draw_map", "draw_steps"]

_ACCENT, _SECOND, _MUTED, _INK = "#0072B2", "#D55E00", "#7a8591", "#17202a"
_AROUND = LinearSegmentedColormap.from_list("around", ["#1e70be", "#f4f5f6", "#d66006"])
_MOST_BLOCKS = 24
_MOST_LABELS = 30


def draw_heatmap(result: Similarity, picture: Picture) -> dict[str, bytes]:
    """Cosines beside percentiles, with the blocks and, where there is one, the dendrogram."""
    with styled():
        figure = Figure(figsize=(PAGE, 3.3))
        has_tree = picture.linkage is not None and picture.leaves is not None
        palette = labels_palette(result) if picture.order == "clustering" else None
        widths = [*([0.18] if has_tree else []), *([0.035] if palette is not None else []), 1, 1]
        every: Any = figure.subplots(1, len(widths), width_ratios=widths, squeeze=False)[0]
        axes: list[Axes] = list(every)
        size = len(picture.rows)
        if has_tree:
            assert picture.linkage is not None and picture.leaves is not None
            _tree(axes[0], picture, size)
        if palette is not None:
            shown = np.array([[palette.members[int(row)]] for row in picture.rows])
            colours = ListedColormap(list(palette.colours))
            axes[-3].imshow(shown, cmap=colours, vmin=-0.5, vmax=len(palette.colours) - 0.5, aspect="auto")
            axes[-3].axis("off")
        low, high = shown_range(picture.cosines)
        _cells(figure, axes[-2], picture.cosines, "viridis", low, high, "cosine")
        _cells(figure, axes[-1], picture.percentiles, _AROUND, 0, 100, "percentile of the background (%)")
        _blocks(axes[-2], picture, named=True)
        _blocks(axes[-1], picture, named=False)
        return _files(figure)


def _tree(axes: Axes, picture: Picture, size: int) -> None:
    assert picture.linkage is not None and picture.leaves is not None
    x, y = branches(picture.linkage, picture.leaves)
    axes.plot(*[[np.nan if one is None else one for one in side] for side in (x, y)], color=_MUTED, linewidth=0.4)
    axes.set_ylim(size - 0.5, -0.5)
    axes.invert_xaxis()
    axes.axis("off")


def _cells(figure: Figure, axes: Axes, cells: Matrix, colours: Any, low: float, high: float, name: str) -> None:  # noqa: ANN401 - a colormap or its name
    mesh = axes.imshow(cells, cmap=colours, vmin=low, vmax=high, aspect="auto", interpolation="none")
    bar = figure.colorbar(mesh, ax=axes, orientation="horizontal", aspect=30, pad=0.03, fraction=0.05)
    bar.outline.set_visible(False)
    bar.set_label(name)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)


def _blocks(axes: Axes, picture: Picture, *, named: bool) -> None:
    if not 1 < len(picture.blocks) <= _MOST_BLOCKS:
        return
    size, at, places, names = len(picture.rows), 0, [], []
    for name, rows in picture.blocks:
        if rows >= 0.04 * size:
            places.append(at + rows / 2 - 0.5)
            names.append(middle_cut(printable(name), 14))
        at += rows
        if at < size:
            axes.axhline(at - 0.5, color="white", linewidth=0.8)
            axes.axvline(at - 0.5, color="white", linewidth=0.8)
    if named:
        axes.set_yticks(places, names)
        axes.tick_params(axis="y", length=0)


def draw_histogram(result: Similarity) -> dict[str, bytes]:
    """All pairs over the unrelated ones, with their mean and the score that one in a hundred reaches."""
    with styled():
        figure = Figure(figsize=(PAGE, 2.4))
        axes = figure.add_subplot()
        x, y = per_hundredth(result.background.histogram)
        axes.fill_between(x, y, step="mid", color=_MUTED, alpha=0.35, linewidth=0, label="unrelated pairs")
        x, y = per_hundredth(result.histogram)
        axes.step(x, y, where="mid", color=_ACCENT, linewidth=1.4, label=pair_name(result))
        for value, name, dash in (
            (result.background.mean, "mean", ":"),
            (tail_score(result, 0.01), "1 %", "-"),
        ):
            if value is not None:
                axes.axvline(value, color=_INK, linewidth=0.8, linestyle=dash)
                text = f" {name}: {cosine(value)} "
                side = "right" if name == "mean" else "left"
                axes.annotate(text, (value, 1), xycoords=("data", "axes fraction"), ha=side, va="top", fontsize=7)
        axes.set_xlabel("cosine")
        axes.set_ylabel("% of pairs per 0.01")
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False, loc="upper left", fontsize=7)
        return _files(figure)


def draw_labels(result: Similarity, table: Sequence[PerLabel]) -> dict[str, bytes]:
    """The mean cosine of every two labels with its interval, against the background."""
    shown = [one for one in table if one.cosine.mean is not None][:_MOST_LABELS]
    with styled():
        figure = Figure(figsize=(PAGE, 0.9 + 0.2 * len(shown)))
        axes = figure.add_subplot()
        for place, one in enumerate(shown):
            mean, low, high = one.cosine.mean, one.cosine.low, one.cosine.high
            assert mean is not None
            reach = None if low is None or high is None else [[max(mean - low, 0.0)], [max(high - mean, 0.0)]]
            same = one.one == one.other
            style: dict[str, Any] = {"color": _ACCENT if same else _SECOND, "fmt": "o" if same else "D"}
            axes.errorbar([mean], [place], xerr=reach, markersize=3.5, elinewidth=0.9, capsize=2, **style)
        axes.axvline(result.background.mean, color=_MUTED, linewidth=0.8, linestyle=":")
        axes.annotate(
            " background", (result.background.mean, 1), xycoords=("data", "axes fraction"), va="bottom", fontsize=7
        )
        axes.set_yticks(range(len(shown)), [_two(one) for one in shown])
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlabel("mean cosine, with its 95 % interval")
        return _files(figure)


def _two(one: PerLabel) -> str:
    first, second = (middle_cut(printable(name), 18) for name in (one.one, one.other))
    return first if one.one == one.other else f"{first} – {second}"


def draw_columns(result: Similarity) -> dict[str, bytes]:
    """The cosine of the two texts of a row by label, over the background; the axis above counts from its mean."""
    with styled():
        figure = Figure(figsize=(PAGE, 2.7))
        axes = figure.add_subplot()
        x, y = per_hundredth(result.background.histogram)
        axes.fill_between(x, y, step="mid", color=_MUTED, alpha=0.35, linewidth=0, label="unrelated pairs")
        for place, (name, x, y) in enumerate(curves(result)):
            axes.plot(x, y, color=OKABE_ITO[place % len(OKABE_ITO)], linewidth=1.4, label=name)
        axes.set_xlabel("cosine of the two texts")
        axes.set_ylabel("% of pairs per 0.01")
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False, fontsize=7)
        mean = result.background.mean
        there, back = (lambda one: np.asarray(one) - mean), (lambda one: np.asarray(one) + mean)
        above = axes.secondary_xaxis("top", functions=(there, back))
        above.set_xlabel("above the background")
        return _files(figure)


def draw_groups(groups: Groups, labels: Sequence[str]) -> dict[str, bytes]:
    """Groups by labels: rows, coloured by their share of the group."""
    counts = np.array([[one.labels.get(name, 0) for name in labels] for one in groups.groups])
    with styled():
        figure = Figure(figsize=(COLUMN if len(labels) <= 6 else PAGE, 0.8 + 0.24 * len(counts)))
        axes = figure.add_subplot()
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto", interpolation="none")
        for (row, column), n in np.ndenumerate(counts):
            if len(labels) <= 12:
                ink = "white" if shares[row, column] > 0.6 else _INK
                axes.text(column, row, f"{n:,}", ha="center", va="center", fontsize=6.5, color=ink)
        axes.set_xticks(range(len(labels)), [middle_cut(printable(one), 12) for one in labels])
        axes.set_yticks(range(len(counts)), [f"group {one.number}" for one in groups.groups])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        return _files(figure)


def draw_map(result: Similarity, key: str) -> dict[str, bytes]:
    """A projection, coloured by label, or by group where there are no labels."""
    points, (method, _, _) = result.projections[key], key.partition("-")
    every = palettes(result)
    in_space = points.shape[1] == 3
    with styled():
        figure = Figure(figsize=(COLUMN + 0.8, COLUMN))
        axes: Any = figure.add_subplot(projection="3d") if in_space else figure.add_subplot()
        # All at once, in the order of the table: no label hides another.
        colours = [every[0].colours[every[0].members[int(row)]] for row in result.projected] if every else _ACCENT
        axes.scatter(*points.T, s=5 if len(points) <= 1_000 else 2, c=colours, linewidths=0, alpha=0.85)
        name = PROJECTIONS.get(method, method)
        if in_space:
            axes.grid(False)
        else:
            axes.set_xlabel(f"{name} 1")
            axes.set_ylabel(f"{name} 2")
        for axis in (axes.xaxis, axes.yaxis, *((axes.zaxis,) if in_space else ())):
            axis.set_ticklabels([])
        if every:
            dots = [Line2D([], [], linestyle="", marker="o", markersize=3, color=colour) for colour in every[0].colours]
            names = [clipped(one, 20) for one in every[0].names]
            figure.legend(dots, names, frameon=False, fontsize=7, loc="outside upper center", ncols=4)
        return _files(figure)


def draw_steps(result: Similarity) -> dict[str, bytes]:
    """The heatmaps of the walk side by side, on one scale of colours."""
    shown = [step for step in result.steps if step.heatmap is not None]
    low, high = common_range(result)
    with styled():
        across = min(len(shown), 4)
        down = -(-len(shown) // across)
        figure = Figure(figsize=(PAGE, 0.4 + 2.0 * down))
        every: Any = figure.subplots(down, across, squeeze=False)
        mesh = None
        for axes, step in zip(every.flat, shown, strict=False):
            cells: Any = step.heatmap
            if is_around(step):
                first, last = around_range(cells)
                axes.imshow(cells, cmap=_AROUND, vmin=first, vmax=last, interpolation="none")
            else:
                mesh = axes.imshow(cells, cmap="viridis", vmin=low, vmax=high, interpolation="none")
            axes.set_title("\n".join(wrap(step.title, 22)), fontsize=7)
        for axes in every.flat:
            axes.axis("off")
        if mesh is not None:
            bar = figure.colorbar(mesh, ax=every, aspect=30, pad=0.015, fraction=0.03)
            bar.outline.set_visible(False)
            bar.set_label("cosine")
        return _files(figure)


def _files(figure: Figure) -> dict[str, bytes]:
    return {"svg": saved(figure, "svg"), "png": saved(figure, "png")}
