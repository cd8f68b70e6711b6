"""Sentences about what lies behind the cone, written from the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from uncone.analysis.clusters.story import above_chance, is_sliced
from uncone.analysis.layers.deep_results import DeepLayer, HeadFrequency, TableDeep
from uncone.analysis.neighbors.hubness import UNEVEN, has_hubs
from uncone.analysis.number_format import clipped, cosine, count, percent, plain

__all__ = ["deep_story", "most_curved"]

_MANY_COPIES = 0.2


def deep_story(layers: Sequence[DeepLayer], table: TableDeep | None, head: HeadFrequency | None) -> list[str]:
    """What lies behind the cone, the most important first; nothing where nothing is known."""
    sentences = [*_dimension(layers, table), _clusters(layers), _hubs(layers), *_frequency(layers, table)]
    return [text for text in (*sentences, "" if head is None else head.sentence, _manifold(layers)) if text]


def _dimension(layers: Sequence[DeepLayer], table: TableDeep | None) -> list[str]:
    known = [(one.value, layer.number, one) for layer in layers if (one := layer.dimensions["euclidean"]).value]
    if not known:
        return []
    value, number, last = known[-1]
    text = f"The local dimension is {plain(value)} {f'at layer {number}' if len(layers) > 1 else 'here'}"
    if len(known) > 1:
        ordered = sorted(known, key=lambda triple: triple[0])
        extremes = [("lowest", *ordered[0][:2]), ("highest", *ordered[-1][:2])]
        text += "".join(f", the {which} of all layers" for which, _, at in extremes if at == number)
        others = [f"the {which} is {plain(lid)} at layer {at}" for which, lid, at in extremes if at != number]
        text += f"; {' and '.join(others)}"
    bases = sorted({one.base for _, _, one in known})
    base = f"{bases[0]:,}" if len(bases) == 1 else f"{bases[0]:,} to {bases[-1]:,}"
    sentences = f"{text} (from the {last.k} nearest of {base} distinct vectors)."
    if table is not None and (static := table.dimensions["euclidean"]).value is not None:
        sentences += f" In the {table.name} it is {plain(static.value)} (of {static.base:,} distinct vectors)."
    return [sentences]


def _clusters(layers: Sequence[DeepLayer]) -> str:
    """Of the layer whose clusters stand out most from slices of one cloud; or that none has clusters."""
    if len(layers) == 1:
        copies, sentence = _copies(layers[0]), layers[0].clusters.sentence
        return f"{copies}. {sentence}" if copies else sentence
    several = [one for one in layers if one.clusters.k > 1]
    clear = [one for one in several if not is_sliced(one.clusters)]
    if clear:
        clearest = max(clear, key=lambda one: above_chance(one.clusters) or 0.0)
        where = f", where {copies}" if (copies := _copies(clearest)) else ""
        return f"Clusters are clearest at layer {clearest.number}{where}: {_lower(clearest.clusters.sentence)}"
    if several:
        best_layer = max(several, key=lambda one: one.clusters.silhouette or 0.0)
        return f"No layer has clusters. Layer {best_layer.number}: {best_layer.clusters.sentence}"
    tried = [(value, one.number) for one in layers for value in one.clusters.tried.values()]
    if not tried:
        return ""
    best, number = max(tried)
    return f"No layer has clusters (the best silhouette is {cosine(best)}, at layer {number})."


def _copies(layer: DeepLayer) -> str:
    """That many vectors repeat others: the copies of one are a cluster, however even the space is."""
    share = layer.dimensions["euclidean"].duplicates
    if layer.clusters.k == 1 or share < _MANY_COPIES:
        return ""
    return f"{percent(share)} of the vectors are copies of others, which form clusters"


def _hubs(layers: Sequence[DeepLayer]) -> str:
    known = [one for one in layers if one.hubness.skew is not None]
    if not known:
        return ""
    proven = [one for one in known if has_hubs(one.hubness)]
    unsure = [one for one in known if max(one.hubness.skew or 0.0, one.hubness.high or 0.0) > UNEVEN]
    if proven or not unsure:
        worst = max(proven or known, key=lambda one: one.hubness.skew or 0.0)
    else:
        worst = max(unsure, key=lambda one: one.hubness.high or one.hubness.skew or 0.0)
    hubs, where = worst.hubness, f"at layer {worst.number}, " if len(layers) > 1 else ""
    skew, over = plain(hubs.skew or 0.0), f"over {count(hubs.n, 'vector')}"
    if proven:
        example = f", most of all “{clipped(hubs.hubs[0].text, 80)}” ({hubs.hubs[0].count:,})" if hubs.hubs else ""
        lonely = "" if hubs.antihubs is None else f" {percent(hubs.antihubs)} of the vectors are a neighbor of none."
        return (
            f"Hubs: {where}a few vectors are among the {hubs.k} nearest neighbors of very many (skewness {skew}, "
            f"{over}){example}.{lonely}"
        )
    if unsure:
        bounds = "" if hubs.low is None or hubs.high is None else f" ({plain(hubs.low)} to {plain(hubs.high)})"
        return (
            f"There may be hubs: {where}the skewness of neighbor counts is {skew}{bounds}, {over}, and hubs begin at "
            f"{UNEVEN}. Add texts to find out."
        )
    none, most = ("No layer has", "at most ") if len(layers) > 1 else ("There are no", "")
    return f"{none} hubs: the skewness of neighbor counts is {most}{skew}, {over}."


def _frequency(layers: Sequence[DeepLayer], table: TableDeep | None) -> list[str]:
    spaces = [] if table is None else [(f"In the {table.name}", table.frequency)]
    spaces.append((f"At layer {layers[-1].number}", layers[-1].frequency))
    return [f"{where}: {_lower(frequency.sentence)}" for where, frequency in spaces if frequency is not None]


def _manifold(layers: Sequence[DeepLayer]) -> str:
    curved = [one for one in layers if one.manifold.visible]
    clearest = most_curved(curved) if curved else layers[-1]
    sentence = clearest.manifold.sentence
    if not sentence or len(layers) == 1:
        return sentence
    if len(curved) < 2:
        return f"At layer {clearest.number}: {_lower(sentence)}"
    numbers = ", ".join(str(one.number) for one in curved)
    return f"Layers {numbers} are curved, most clearly {clearest.number}: {_lower(sentence)}"


def most_curved(layers: Sequence[DeepLayer]) -> DeepLayer:
    """The one whose local dimension is farthest below that of a flat cloud; one where that is not known comes last."""
    return min(layers, key=lambda one: one.manifold.ratio if one.manifold.ratio is not None else math.inf)


def _lower(sentence: str) -> str:
    """As it goes on after a colon; a name in capitals stays as it is."""
    return sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]
