"""Manifolds: whether the vectors of a layer lie on a curved sheet, as an answer, a table and clouds."""

from __future__ import annotations

import numpy as np

from uncone.analysis.layers.deep_results import Deep, DeepLayer, Manifold
from uncone.analysis.layers.deep_story import most_curved
from uncone.analysis.number_format import cosine, count, percent, plain
from uncone.data.batch import IntVector
from uncone.report.charts.model import Cloud, CloudView, Coloring
from uncone.report.document import Cell, Column, Row, Section, Sentences, Table
from uncone.report.documents.layers.values import number_text
from uncone.report.text import printable

__all__ = ["manifold_section", "telling_layers"]


def manifold_section(deep: Deep, study: str, unit: str, title: str, suffix: str) -> Section:
    """The plain answer, the table of layers, and the layers that show most."""
    clouds = [_cloud(deep, place, why, study, suffix) for place, why in telling_layers(deep)]
    return Section(
        title,
        [Sentences([_answer(deep), *_sentences(deep)]), _table(deep), *clouds],
        intro=f"LID is the local dimension around different {unit}s. Spread is the number of directions that neighbors "
        "lie in. A curved sheet has far fewer of both than a flat cloud with the same covariance. Vectors follow their "
        "position if the angle along the curve of the mean vectors correlates with it (r) more than with permuted "
        "positions (by chance).",
    )


def _answer(deep: Deep) -> str:
    visible = [str(layer.number) for layer in deep.layers if layer.manifold.visible]
    sheet = "a curved manifold (a “Swiss roll”)"
    if len(deep.layers) == 1:
        return f"Yes: {sheet} is visible here." if visible else f"No: {sheet} is not visible here."
    if not visible:
        return f"No: {sheet} is not visible in any layer."
    return f"Yes: {sheet} is visible in layer{'s' * (len(visible) > 1)} {', '.join(visible)}."


def _sentences(deep: Deep) -> list[str]:
    """About the layer that is curved most clearly, and about the last."""
    curved = [layer for layer in deep.layers if layer.manifold.visible]
    clearest = [most_curved(curved)] if curved else []
    layers = {layer.number: layer.manifold.sentence for layer in (*clearest, deep.layers[-1])}
    if len(deep.layers) == 1:
        return [sentence for sentence in layers.values() if sentence]
    return [f"Layer {number}: {sentence}" for number, sentence in layers.items() if sentence]


def _table(deep: Deep) -> Table:
    """Local against global dimension and the part of position, by layer; a second row without the sinks."""
    heads = ("LID", "LID if flat", "ratio", "spread", "spread if flat", "PCA, 95 %")
    position = ("angle, r", "by chance", "turns", "explained by position")
    rows = []
    for layer in deep.layers:
        manifold = layer.manifold
        rows.append(_row(str(layer.number), manifold, layer.n))
        if manifold.without_sinks is not None:
            name = f"{layer.number}, without {count(manifold.sinks, 'sink')}"
            rows.append(_row(name, manifold.without_sinks, layer.n - manifold.sinks))
    columns = [Column("layer", align="left"), *map(Column, ("vectors", "visible", *heads, *position))]
    return Table(columns, rows, compact=True)


def _row(name: str, one: Manifold, n: int) -> Row:
    texts = (
        name,
        f"{one.n or n:,}",
        "yes" if one.visible else "no",
        *(number_text(value) for value in (one.lid, one.flat, one.ratio, one.spread, one.spread_flat)),
        f"{one.pca:,}",
        number_text(one.angle_r, cosine),
        number_text(one.angle_chance, cosine),
        number_text(one.turns),
        number_text(one.position_share, percent),
    )
    return Row([Cell(text) for text in texts])


def telling_layers(deep: Deep) -> list[tuple[int, str]]:
    """The last layer, the one farthest from flat, and the one most ordered by position: places, with the reason."""
    drawn = [place for place, layer in enumerate(deep.layers) if len(layer.manifold.points)]
    if not drawn:
        return []
    found = {drawn[-1]: "the last" if len(deep.layers) > 1 else ""}
    curved = [place for place in drawn if deep.layers[place].manifold.ratio is not None]
    if curved:
        # Curved sheets first, then what is far from flat for other reasons, such as small clusters.
        most = min(curved, key=lambda place: (not (one := deep.layers[place].manifold).visible, one.ratio or 0.0))
        found.setdefault(most, "the most curved" if deep.layers[most].manifold.visible else "the farthest from flat")
    ordered = [place for place in drawn if _best(deep.layers[place].manifold).position_share is not None]
    if ordered:
        most = max(ordered, key=lambda place: _best(deep.layers[place].manifold).position_share or 0.0)
        found.setdefault(most, "the most ordered by position")
    return list(found.items())


def _best(manifold: Manifold) -> Manifold:
    """What is there without the sinks, which hide the rest."""
    return manifold if manifold.without_sinks is None else manifold.without_sinks


def _cloud(deep: Deep, place: int, why: str, study: str, suffix: str) -> Cloud:
    """The vectors of a layer on three principal components; first without the sinks, if there are any."""
    layer = deep.layers[place]
    shown = [(layer.manifold, "all vectors")]
    if layer.manifold.without_sinks is not None:
        shown.insert(0, (layer.manifold.without_sinks, "without sinks"))
    starts = np.cumsum([0, *(len(one.points) for one, _ in shown)])
    views = [
        CloudView(label, one.points, np.arange(start, start + len(one.points)), one.path if len(one.path) > 1 else None)
        for (one, label), start in zip(shown, starts[:-1], strict=True)
    ]
    positions = np.concatenate([one.points_positions for one, _ in shown])
    known = bool((positions >= 0).any())
    values = np.where(positions >= 0, positions, np.nan).astype(np.float64)
    return Cloud(
        f"manifold_layer_{layer.number}{suffix}",
        f"Layer {layer.number}{f', {why}' if why else ''}",
        _caption(layer, positions=known),
        views,
        [Coloring("position", values=values)] if known else (),
        [text for one, _ in shown for text in _texts(deep, place, one.points_rows, one.points_positions)],
        ("PC 1", "PC 2", "PC 3"),
        group=study,
    )


def _caption(layer: DeepLayer, *, positions: bool) -> str:
    """Local against global dimension, and what position has to do with it."""
    manifold, best = layer.manifold, _best(layer.manifold)
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


def _texts(deep: Deep, place: int, places: IntVector, positions: IntVector) -> list[str]:
    """Each vector by its sentence, with its position."""
    rows = deep.rows[place][places]
    if deep.facts is None:
        named = [f"vector {row:,}" for row in rows.tolist()]
    else:
        facts = deep.facts.at(rows)
        named = [printable(facts.shown(i)) for i in range(facts.n)]
    where = [f" · position {position:,}" if position >= 0 else "" for position in positions.tolist()]
    return [f"{name}{at}" for name, at in zip(named, where, strict=True)]
