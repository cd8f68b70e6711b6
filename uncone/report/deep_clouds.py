"""Which clouds of points a deep study has: words by frequency, and rows on the first components by position."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uncone.data.batch import IntVector
from uncone.diagnosis.deep_results import Deep, DeepLayer, Frequency, Manifold
from uncone.diagnosis.words import cosine, count, percent, plain
from uncone.report.deep_cloud import Cloud, View
from uncone.report.study import LayerStudy
from uncone.report.text import printable

__all__ = ["MOST_SVG", "clouds_by_study", "frequency_clouds", "manifold_clouds", "telling_layers"]

MOST_SVG = 3_000
"""Points in the plane that are drawn without WebGL."""
_MOST_ALIVE = 8
"""Browsers drop the oldest of more drawings with WebGL than that."""
_PER_STUDY = 3
_DRAWINGS = 2
"""WebGL drawings that a chart in the plane takes: what is seen, and what is pointed at."""


def frequency_clouds(study: LayerStudy, end: str = "") -> list[Cloud]:
    """The words of the input table and of the last layer on two singular directions, by log-frequency.

    `end` tells the names of several studies' clouds apart.
    """
    if study.deep is None:
        return []
    clouds = []
    table, last = study.deep.table, _last_with_words(study.deep)
    if table is not None and table.frequency is not None and len(table.frequency.points):
        title = f"Words by frequency: {printable(table.name)}"
        clouds.append(_words(f"frequency_table{end}", title, study.name, None, table.frequency))
    if last is not None and last.frequency is not None:
        title = f"Words by frequency: layer {last.number}"
        clouds.append(_words(f"frequency_layer{end}", title, study.name, last.number, last.frequency))
    return clouds


def _last_with_words(deep: Deep) -> DeepLayer | None:
    known = [one for one in deep.layers if one.frequency is not None and len(one.frequency.points)]
    return known[-1] if known else None


def _words(name: str, title: str, study: str, layer: int | None, found: Frequency) -> Cloud:
    shown = (
        f"{count(len(found.points), 'word')} of {found.n:,}" if len(found.points) < found.n else count(found.n, "word")
    )
    said = f"{shown} on the two first singular directions; the colour is how often a word occurs ({found.source})."
    if found.norm_r is not None:
        said += f" Correlation of log-frequency with the mean norm: {cosine(found.norm_r)}{_bounds(found)}."
    view = View("words", found.points, found.logs, [printable(word) for word in found.shown], np.zeros((0, 2)))
    return Cloud(name, title, said, study, layer, ("direction 1", "direction 2"), "log₁₀ frequency", [view])


def _bounds(found: Frequency) -> str:
    if found.norm_low is None or found.norm_high is None:
        return ""
    return f" ({cosine(found.norm_low)} to {cosine(found.norm_high)})"


def manifold_clouds(study: LayerStudy, most: int, end: str = "") -> list[Cloud]:
    """At most so many of the layers that tell most, on the principal components 1 to 3, by position."""
    if study.deep is None:
        return []
    return [_rows(study, place, why, end) for place, why in telling_layers(study.deep)[:most]]


def clouds_by_study(parts: Sequence[LayerStudy]) -> list[tuple[list[Cloud], list[Cloud]]]:
    """Words by frequency and rows by position of each study.

    The fewer of each the more studies there are: a page has room for eight drawings with WebGL.
    """
    ends = [f"_{place + 1}" if len(parts) > 1 else "" for place in range(len(parts))]
    words = [frequency_clouds(study, end) for study, end in zip(parts, ends, strict=True)]
    flat = sum(_DRAWINGS for clouds in words for cloud in clouds if len(cloud.views[0].points) > MOST_SVG)
    room = max(_MOST_ALIVE - flat, 0)
    deep = sum(study.deep is not None for study in parts)
    each = min(_PER_STUDY, max(room // max(deep, 1), 1))
    found = []
    for study, flat_clouds, end in zip(parts, words, ends, strict=True):
        rows = manifold_clouds(study, min(each, room), end)
        room -= len(rows)
        found.append((flat_clouds, rows))
    return found


def telling_layers(deep: Deep) -> list[tuple[int, str]]:
    """The last layer, the one farthest from flat, and the one most ordered by position: places, with the reason."""
    drawn = [place for place, one in enumerate(deep.layers) if len(one.manifold.points)]
    if not drawn:
        return []
    found = {drawn[-1]: "the last"} if len(deep.layers) > 1 else {drawn[-1]: ""}
    curved = [place for place in drawn if deep.layers[place].manifold.ratio is not None]
    if curved:
        most = min(curved, key=lambda place: _flatness(deep.layers[place].manifold))
        found.setdefault(most, "the most curved" if deep.layers[most].manifold.visible else "the farthest from flat")
    ordered = [place for place in drawn if _best(deep.layers[place].manifold).position_share is not None]
    if ordered:
        most = max(ordered, key=lambda place: _best(deep.layers[place].manifold).position_share or 0.0)
        found.setdefault(most, "the most ordered by position")
    return list(found.items())


def _flatness(manifold: Manifold) -> tuple[bool, float]:
    """Curved sheets first, then what is far from flat for other reasons, such as small clusters."""
    return not manifold.visible, manifold.ratio or 0.0


def _best(manifold: Manifold) -> Manifold:
    """What is there without the sinks, where there are any: they hide the rest."""
    return manifold if manifold.without_sinks is None else manifold.without_sinks


def _rows(study: LayerStudy, place: int, why: str, end: str) -> Cloud:
    assert study.deep is not None
    one = study.deep.layers[place]
    title = f"Layer {one.number}{f', {why}' if why else ''}"
    views = [_view(study.deep, place, one.manifold, "all rows")]
    if one.manifold.without_sinks is not None:
        views.append(_view(study.deep, place, one.manifold.without_sinks, "without sinks"))
    has_positions = any(np.isfinite(view.values).any() for view in views)
    shown = count(len(views[0].points), "row")
    said = f"{shown} of {one.manifold.n or one.n:,} on the principal components 1 to 3"
    said += ", coloured by position; the line runs through the mean rows by position." if has_positions else "."
    said += f" {_numbers(one.manifold)}"
    if one.manifold.without_sinks is not None:
        said += (
            f" There {'is' if one.manifold.sinks == 1 else 'are'} {count(one.manifold.sinks, 'sink')}: see it without."
        )
    scale = "position" if has_positions else ""
    name = f"manifold_layer_{one.number}{end}"
    return Cloud(name, title, said, study.name, one.number, ("PC 1", "PC 2", "PC 3"), scale, views)


def _numbers(manifold: Manifold) -> str:
    """Local against global dimension, and what position has to do with it."""
    said = f"{manifold.pca} directions hold 95 % of the variance"
    if manifold.lid is not None and manifold.flat is not None:
        said = f"Local dimension {plain(manifold.lid)}, {plain(manifold.flat)} if it were flat; {said}"
    best = _best(manifold)
    if best.angle_r is not None:
        said += f"; position and angle along the curve correlate at {cosine(best.angle_r)}"
    if best.position_share is not None:
        said += f"; position explains {percent(best.position_share)} of the variance here"
    return f"{said}."


def _view(deep: Deep, place: int, manifold: Manifold, label: str) -> View:
    positions = manifold.points_positions
    values = np.where(positions >= 0, positions, np.nan).astype(np.float64)
    return View(label, manifold.points, values, _texts(deep, place, manifold.points_rows, positions), manifold.path)


def _texts(deep: Deep, place: int, places: IntVector, positions: IntVector) -> list[str]:
    """Each row in its sentence, with its position."""
    rows = deep.rows[place][places]
    if deep.facts is None:
        named = [f"row {row:,}" for row in rows.tolist()]
    else:
        facts = deep.facts.at(rows)
        named = [printable(facts.shown(i)) for i in range(facts.n)]
    where = [f" · position {position:,}" if position >= 0 else "" for position in positions.tolist()]
    return [f"{name}{at}" for name, at in zip(named, where, strict=True)]
