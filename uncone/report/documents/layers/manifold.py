"""Manifolds: whether the vectors of a layer lie on a curved sheet, as an answer, a table and clouds."""

from __future__ import annotations

import numpy as np

from uncone.analysis.layers.deep_results import Deep, DeepLayer, Manifold
from uncone.analysis.layers.deep_story import most_curved
from uncone.analysis.number_format import cosine, count, percent, plain
from uncone.report.charts.model import Cloud, CloudView, Coloring
from uncone.report.document import Section, Sentences, Table
from uncone.report.documents.layers.values import columns, number_text, text_row
from uncone.report.text import printable

__all__ = ["manifold_section", "telling_layers"]


def manifold_section(deep: Deep, study: str, row: str, title: str, suffix: str) -> Section:
    """The plain answer, the table of layers, and the layers that show most."""
    clouds = [_cloud(deep, place, why, study, suffix) for place, why in telling_layers(deep).items()]
    return Section(
        title,
        [Sentences(_answer(deep)), _table(deep), *clouds],
        intro=f"LID is the local dimension around different {row}s. Spread is the number of directions that neighbors "
        "lie in. A curved sheet has far fewer of both than a flat cloud with the same covariance. Vectors follow their "
        "position if the angle along the curve of the mean vectors correlates with it (r) more than with permuted "
        "positions (by chance).",
    )


def _answer(deep: Deep) -> list[str]:
    """Yes or no, then the sentences of the most curved layer and of the last."""
    curved = [layer for layer in deep.layers if layer.manifold.visible]
    clearest = [most_curved(curved)] if curved else []
    sentences = {layer.number: layer.manifold.sentence for layer in (*clearest, deep.layers[-1])}
    yes = f"{'Yes' if curved else 'No'}: a curved manifold (a “Swiss roll”) is {'' if curved else 'not '}visible"
    if len(deep.layers) == 1:
        return [f"{yes} here.", *filter(None, sentences.values())]
    layers = ", ".join(str(layer.number) for layer in curved)
    where = f"in layer{'s' * (len(curved) > 1)} {layers}" if curved else "in any layer"
    return [f"{yes} {where}.", *(f"Layer {number}: {text}" for number, text in sentences.items() if text)]


def _table(deep: Deep) -> Table:
    """Local against global dimension and the part of position, by layer; a second row without the sinks."""
    rows = []
    for layer in deep.layers:
        manifold = layer.manifold
        versions = [(str(layer.number), manifold, layer.n)]
        if manifold.without_sinks is not None:
            name = f"{layer.number}, without {count(manifold.sinks, 'sink')}"
            versions.append((name, manifold.without_sinks, layer.n - manifold.sinks))
        for name, one, n in versions:
            sizes = map(number_text, (one.lid, one.flat, one.ratio, one.spread, one.spread_flat))
            angle = (number_text(value, cosine) for value in (one.angle_r, one.angle_chance))
            position = (number_text(one.turns), number_text(one.position_share, percent))
            visible = "yes" if one.visible else "no"
            rows.append(text_row(name, f"{one.n or n:,}", visible, *sizes, f"{one.pca:,}", *angle, *position))
    heads = ("LID", "LID if flat", "ratio", "spread", "spread if flat", "PCA, 95 %")
    position_heads = ("angle, r", "by chance", "turns", "explained by position")
    return Table(columns("layer", "vectors", "visible", *heads, *position_heads), rows, compact=True)


def telling_layers(deep: Deep) -> dict[int, str]:
    """The last layer, the one farthest from flat, and the one most ordered by position: places, with the reason."""
    manifolds = {place: layer.manifold for place, layer in enumerate(deep.layers) if len(layer.manifold.points)}
    if not manifolds:
        return {}
    reasons = {max(manifolds): "the last" if len(deep.layers) > 1 else ""}
    # Curved sheets first, then what is far from flat for other reasons, such as small clusters.
    curved = [(not one.visible, one.ratio, place) for place, one in manifolds.items() if one.ratio is not None]
    if curved:
        flat, _, place = min(curved)
        reasons.setdefault(place, "the farthest from flat" if flat else "the most curved")
    shares = [(_without_sinks(one).position_share, -place) for place, one in manifolds.items()]
    ordered = [(share, place) for share, place in shares if share is not None]
    if ordered:
        reasons.setdefault(-max(ordered)[1], "the most ordered by position")
    return reasons


def _without_sinks(manifold: Manifold) -> Manifold:
    """The manifold without the sinks, which hide the rest."""
    return manifold if manifold.without_sinks is None else manifold.without_sinks


def _cloud(deep: Deep, place: int, why: str, study: str, suffix: str) -> Cloud:
    """The vectors of a layer on three principal components; first without the sinks, if there are any."""
    layer = deep.layers[place]
    shown = {"all vectors": layer.manifold}
    if layer.manifold.without_sinks is not None:
        shown = {"without sinks": layer.manifold.without_sinks, **shown}
    starts = np.cumsum([0, *(len(one.points) for one in shown.values())])
    views = [
        CloudView(label, one.points, np.arange(start, start + len(one.points)), one.path if len(one.path) > 1 else None)
        for (label, one), start in zip(shown.items(), starts[:-1], strict=True)
    ]
    positions = np.concatenate([one.points_positions for one in shown.values()])
    known = bool((positions >= 0).any())
    values = np.where(positions >= 0, positions, np.nan).astype(np.float64)
    return Cloud(
        f"manifold_layer_{layer.number}{suffix}",
        f"Layer {layer.number}{f', {why}' if why else ''}",
        _caption(layer, positions=known),
        views,
        [Coloring("position", values=values)] if known else (),
        [text for one in shown.values() for text in _texts(deep, place, one)],
        ("PC 1", "PC 2", "PC 3"),
        group=study,
    )


def _caption(layer: DeepLayer, *, positions: bool) -> str:
    """Local against global dimension, and what position has to do with it."""
    manifold, best = layer.manifold, _without_sinks(layer.manifold)
    sentences = [f"{len(manifold.points):,} of {manifold.n or layer.n:,} vectors on the principal components 1 to 3."]
    if positions:
        sentences.append("The color is the position. The line connects the mean vectors by position.")
    if manifold.lid is not None and manifold.flat is not None:
        sentences.append(f"Local dimension {plain(manifold.lid)}; {plain(manifold.flat)} if it were flat.")
    sentences.append(f"{manifold.pca} directions hold 95 % of the variance.")
    if best.angle_r is not None:
        sentences.append(f"Position and the angle along the curve correlate at {cosine(best.angle_r)}.")
    if best.position_share is not None:
        sentences.append(f"Position explains {percent(best.position_share)} of the variance here.")
    if manifold.without_sinks is not None:
        sentences.append(f"With and without {count(manifold.sinks, 'sink')}.")
    return " ".join(sentences)


def _texts(deep: Deep, place: int, manifold: Manifold) -> list[str]:
    """Each vector by its sentence, with its position."""
    rows = deep.rows[place][manifold.points_rows]
    if deep.facts is None:
        names = [f"vector {row:,}" for row in rows.tolist()]
    else:
        facts = deep.facts.at(rows)
        names = [printable(facts.shown(i)) for i in range(facts.n)]
    positions = [
        f" · position {position:,}" if position >= 0 else "" for position in manifold.points_positions.tolist()
    ]
    return [f"{name}{position}" for name, position in zip(names, positions, strict=True)]
