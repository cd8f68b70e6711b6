"""Sentences about what lies behind the cone, written from the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from uncone.analysis.clusters.story import above_chance, sliced
from uncone.analysis.layers.deep_results import DeepLayer, Dimension, HeadFrequency, TableDeep
from uncone.analysis.neighbors.hubness import UNEVEN, has_hubs
from uncone.analysis.number_format import clipped, cosine, count, percent, plain

__all__ = ["most_curved", "tell_deep"]

_MANY_COPIES = 0.2


def tell_deep(layers: Sequence[DeepLayer], table: TableDeep | None, head: HeadFrequency | None) -> list[str]:
    """What was found, the most important first; nothing where nothing is known."""
    found = [*_dimension(layers, table), *_clusters(layers), *_hubs(layers), *_frequency(layers, table)]
    found += [] if head is None else [head.sentence]
    return [*found, *_manifold(layers)]


def _dimension(layers: Sequence[DeepLayer], table: TableDeep | None) -> list[str]:
    known = [(one.number, one.dimensions["euclidean"]) for one in layers if one.dimensions["euclidean"].value]
    if not known:
        return []
    number, last = known[-1]
    where = f"at layer {number}" if len(layers) > 1 else "here"
    said = f"Around a row the space has about {_said(last)} dimensions {where}"
    if len(known) > 1:
        ordered = sorted(known, key=lambda pair: pair[1].value or 0.0)
        extremes = [("fewest", *ordered[0]), ("most", *ordered[-1])]
        said += "".join(f", the {which} of all layers" for which, at, _ in extremes if at == number)
        others = [f"the {which}, {_said(one)}, at layer {at}" for which, at, one in extremes if at != number]
        said += f"; {', '.join(others)}"
    bases = sorted({one.base for _, one in known})
    among = f"{bases[0]:,}" if len(bases) == 1 else f"{bases[0]:,} to {bases[-1]:,}"
    base = f"by the {last.k} nearest of {among} distinct rows"
    sentence = f"{said} ({base})."
    static = None if table is None else table.dimensions["euclidean"]
    if static is not None and static.value is not None:
        sentence += f" Of the {table.name if table else ''}: {_said(static)}, among {static.base:,} distinct rows."
    return [sentence]


def _said(dimension: Dimension) -> str:
    return plain(dimension.value) if dimension.value is not None else "an unknown number of"


def _clusters(layers: Sequence[DeepLayer]) -> list[str]:
    """Of the layer whose clusters stand out most from slices of one cloud; or that none has clusters."""
    if len(layers) == 1:
        copies, sentence = _copies(layers[0]), layers[0].clusters.sentence
        return [f"{copies}. {sentence}" if copies else sentence]
    several = [one for one in layers if one.clusters.k > 1]
    found = [one for one in several if not sliced(one.clusters)]
    if found:
        clearest = max(found, key=lambda one: above_chance(one.clusters) or 0.0)
        where = f", where {copies}" if (copies := _copies(clearest)) else ""
        return [f"Clusters are clearest at layer {clearest.number}{where}: {_lower(clearest.clusters.sentence)}"]
    if several:
        best_layer = max(several, key=lambda one: one.clusters.silhouette or 0.0)
        return [f"No layer falls into clusters. Layer {best_layer.number}: {best_layer.clusters.sentence}"]
    tried = [(value, one.number) for one in layers for value in one.clusters.tried.values()]
    if not tried:
        return []
    best, number = max(tried)
    return [f"No layer falls into clusters (the best silhouette is {cosine(best)}, at layer {number})."]


def _copies(layer: DeepLayer) -> str:
    """That many rows repeat others: the copies of one row are a cluster, however even the space is."""
    share = layer.dimensions["euclidean"].duplicates
    if layer.clusters.k == 1 or share < _MANY_COPIES:
        return ""
    return f"{percent(share)} of the rows are copies of others, which make clusters"


def _hubs(layers: Sequence[DeepLayer]) -> list[str]:
    known = [one for one in layers if one.hubness.skew is not None]
    if not known:
        return []
    having = [one for one in known if has_hubs(one.hubness)]
    worst = max(having or known, key=lambda one: one.hubness.skew or 0.0)
    hubs = worst.hubness
    skew = hubs.skew or 0.0
    unsure = [one for one in known if max(one.hubness.skew or 0.0, one.hubness.high or 0.0) > UNEVEN]
    if not having and unsure:
        worst = max(unsure, key=lambda one: one.hubness.high or one.hubness.skew or 0.0)
        hubs = worst.hubness
        bounds = "" if hubs.low is None or hubs.high is None else f" ({plain(hubs.low)} to {plain(hubs.high)})"
        where = f"at layer {worst.number} " if len(layers) > 1 else ""
        return [
            f"Whether there are hubs is open: {where}the skewness of being a neighbor is {plain(hubs.skew or 0.0)}"
            f"{bounds}, over {count(hubs.n, 'row')}, and hubs begin at {UNEVEN}. More texts would tell."
        ]
    if not having:
        none, most = ("No layer has", "at most ") if len(layers) > 1 else ("There are no", "")
        over = f", over {count(hubs.n, 'row')}"
        return [f"{none} hubs to speak of: the skewness of being a neighbour is {most}{plain(skew)}{over}."]
    named = f", most of all “{clipped(hubs.hubs[0].text, 80)}” ({hubs.hubs[0].count:,})" if hubs.hubs else ""
    alone = "" if hubs.antihubs is None else f"; {percent(hubs.antihubs)} of the rows are nobody's neighbour"
    where = f"at layer {worst.number} " if len(layers) > 1 else ""
    return [
        f"Hubs: {where}a few rows are among the {hubs.k} nearest of very many (skewness {plain(skew)}, over "
        f"{count(hubs.n, 'row')}){named}{alone}."
    ]


def _frequency(layers: Sequence[DeepLayer], table: TableDeep | None) -> list[str]:
    said = []
    if table is not None and table.frequency is not None:
        said.append(f"In the {table.name}: {_lower(table.frequency.sentence)}")
    last = layers[-1]
    if last.frequency is not None:
        said.append(f"At layer {last.number}: {_lower(last.frequency.sentence)}")
    return said


def _manifold(layers: Sequence[DeepLayer]) -> list[str]:
    curved = [one for one in layers if one.manifold.visible]
    if curved:
        clearest = most_curved(curved)
        sentence = clearest.manifold.sentence
        if len(layers) == 1:
            return [sentence]
        if len(curved) == 1:
            return [f"At layer {clearest.number}: {_lower(sentence)}"]
        numbers = ", ".join(str(one.number) for one in curved)
        return [f"Layers {numbers} are curved, most clearly {clearest.number}: {_lower(sentence)}"]
    sentence = layers[-1].manifold.sentence
    if not sentence or len(layers) == 1:
        return [sentence] if sentence else []
    return [f"At layer {layers[-1].number}: {_lower(sentence)}"]


def most_curved(layers: Sequence[DeepLayer]) -> DeepLayer:
    """The one whose local dimension is farthest below that of a flat cloud; one where that is not known comes last."""
    return min(layers, key=lambda one: one.manifold.ratio if one.manifold.ratio is not None else math.inf)


def _lower(sentence: str) -> str:
    """As it goes on after a colon; a name in capitals stays as it is."""
    return sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]
