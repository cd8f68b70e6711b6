"""Sentences about what lies behind the cone, written from the numbers."""

from __future__ import annotations

from collections.abc import Sequence

from uncone.diagnosis.deep_results import DeepLayer, Dimension, HeadFrequency, TableDeep
from uncone.diagnosis.words import clipped, cosine, count, percent, plain

__all__ = ["tell_deep"]

_HUBS = 1.4
"""Skewness of the k-occurrence from which a space counts as one with hubs."""


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
    said = [f"Around a row the space has about {_said(last)} dimensions {where}"]
    if len(known) > 1:
        ordered = sorted(known, key=lambda pair: pair[1].value or 0.0)
        (fewest, low), (most, high) = ordered[0], ordered[-1]
        said.append(f"the fewest, {_said(low)}, at layer {fewest}, the most, {_said(high)}, at layer {most}")
    bases = sorted({one.base for _, one in known})
    among = f"{bases[0]:,}" if len(bases) == 1 else f"{bases[0]:,} to {bases[-1]:,}"
    base = f"by the {last.k} nearest of {among} distinct rows"
    sentence = f"{'; '.join(said)} ({base})."
    static = None if table is None else table.dimensions["euclidean"]
    if static is not None and static.value is not None:
        sentence += f" Of the {table.name if table else ''}: {_said(static)}, among {static.base:,} distinct rows."
    return [sentence]


def _said(dimension: Dimension) -> str:
    return plain(dimension.value) if dimension.value is not None else "an unknown number of"


def _clusters(layers: Sequence[DeepLayer]) -> list[str]:
    several = [one for one in layers if one.clusters.k > 1]
    if not several:
        tried = [(value, one.number) for one in layers for value in one.clusters.tried.values()]
        if not tried:
            return []
        best, number = max(tried)
        where = f" (the best silhouette is {cosine(best)}, at layer {number})" if len(layers) > 1 else ""
        return [f"No layer falls into clusters{where}." if len(layers) > 1 else layers[0].clusters.sentence]
    best_layer = max(several, key=lambda one: one.clusters.silhouette or 0.0)
    where = f"Clearest at layer {best_layer.number}. " if len(layers) > 1 else ""
    return [f"{where}{best_layer.clusters.sentence}"]


def _hubs(layers: Sequence[DeepLayer]) -> list[str]:
    known = [one for one in layers if one.hubness.skew is not None]
    if not known:
        return []
    worst = max(known, key=lambda one: one.hubness.skew or 0.0)
    hubs = worst.hubness
    skew = hubs.skew or 0.0
    if skew < _HUBS:
        return [f"No layer has hubs to speak of: the skewness of being a neighbour is at most {plain(skew)}."]
    named = f", most of all {clipped(hubs.hubs[0].text, 80)} ({hubs.hubs[0].count:,})" if hubs.hubs else ""
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
        clearest = min(curved, key=lambda one: one.manifold.ratio if one.manifold.ratio is not None else 1.0)
        numbers = ", ".join(str(one.number) for one in curved)
        which = f"Layer{'s' if len(curved) > 1 else ''} {numbers}: " if len(layers) > 1 else ""
        return [f"{which}{clearest.manifold.sentence}"]
    lead = f"At layer {layers[-1].number}: " if len(layers) > 1 else ""
    return [f"{lead}{layers[-1].manifold.sentence}"] if layers[-1].manifold.sentence else []


def _lower(sentence: str) -> str:
    """As it goes on after a colon; a name in capitals stays as it is."""
    return sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]
