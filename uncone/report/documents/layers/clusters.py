"""Clusters of the layers: how many, what each holds, and what subtracting their means does to cosines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from uncone.analysis.layers.deep_results import Cluster, Clusters, Deep, DeepLayer, TypeCosines
from uncone.analysis.number_format import clipped, cosine, count, percent
from uncone.report.document import Block, Cell, Column, Fold, Notes, Row, Section, Sentences, Table
from uncone.report.documents.layers.values import number_text
from uncone.report.text import printable

__all__ = ["cluster_section"]

_WORDS, _EXAMPLES = 10, 3
_MANY = 5
"""Clusters beyond which each shows one example, so that a long list stays readable."""
_LEAST_SHARE = 0.005
"""Smaller shares are left out of a list of shares."""


def cluster_section(deep: Deep, unit: str, title: str) -> Section:
    """The clusters of every layer; the last layer is open."""
    return Section(
        title,
        [
            Fold(
                f"Layer {layer.number}",
                [
                    Sentences([layer.clusters.sentence]),
                    _cluster_table(layer.clusters),
                    *_examples(layer.clusters),
                    _cosine_table(layer),
                ],
                open=layer is deep.layers[-1],
                summary=f"{_summary(layer.clusters)} · n = {layer.clusters.n:,}",
            )
            for layer in deep.layers
        ],
        intro=f"k-means, the largest cluster first. S_inter is the mean cosine of different {unit}s in a cluster, as "
        "it is and after subtracting the cluster's mean. Subtracting a mean always makes cosines small, so the "
        "sentence of a layer is about differences only.",
    )


def _summary(clusters: Clusters) -> str:
    """How many there are, how clear they are, and how their number was chosen."""
    if clusters.k == 1 and clusters.tried:
        best = max(clusters.tried.values())
        return f"one cluster: the best silhouette of {len(clusters.tried)} values of k is {cosine(best)}"
    parts = [count(clusters.k, "cluster")]
    if clusters.silhouette is not None:
        parts.append(f"silhouette {cosine(clusters.silhouette)}")
        parts += [f"{cosine(clusters.chance)} by chance"] if clusters.chance is not None else []
    if clusters.asked:
        parts.append("you chose k")
    elif clusters.tried:
        parts.append(f"k chosen from {min(clusters.tried)} to {max(clusters.tried)}")
    return ", ".join(parts)


def _cluster_table(clusters: Clusters) -> Table:
    """What each cluster holds."""
    return Table(
        [
            Column("cluster: over-represented words", align="left"),
            Column("vectors"),
            Column("kinds", align="left", wrap=True),
            Column("first token"),
            Column("median position"),
            Column("frequency rank", align="left", wrap=True),
            *map(Column, ("silhouette", "IsoScore", "S_inter", "S_inter, centered")),
        ],
        [_cluster_row(place, one) for place, one in enumerate(clusters.clusters)],
        compact=True,
    )


def _examples(clusters: Clusters) -> list[Block]:
    """Vectors of each cluster in their texts."""
    limit = _EXAMPLES if len(clusters.clusters) <= _MANY else 1
    lines = [
        f"Cluster {place + 1}: {' / '.join(clipped(printable(example), 110) for example in one.examples[:limit])}"
        for place, one in enumerate(clusters.clusters)
        if one.examples
    ]
    return [Notes(lines)] if lines else []


def _cluster_row(place: int, one: Cluster) -> Row:
    kinds = dict(sorted(one.kinds.items(), key=lambda pair: -pair[1]))
    return Row(
        [
            Cell(f"{place + 1}: {' · '.join(clipped(printable(word), 24) for word in one.words[:_WORDS])}"),
            Cell(f"{one.size:,}", percent(one.share)),
            Cell(_shares(kinds)),
            Cell(percent(one.first)),
            Cell(number_text(one.position)),
            Cell(_shares(one.bins)),
            *(
                Cell(number_text(value, cosine))
                for value in (one.silhouette, one.isoscore, one.raw.inter, one.centred.inter)
            ),
        ]
    )


def _shares(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{name}: {percent(share)}" for name, share in shares.items() if share >= _LEAST_SHARE)


def _cosine_table(layer: DeepLayer) -> Table:
    """S_inter and S_intra four ways; inside clusters weighted by their size, and as a plain mean, as published."""
    clusters = layer.clusters
    rows: Sequence[tuple[str, Sequence[TypeCosines]]] = (
        ("as they are", [clusters.raw]),
        ("inside clusters", [clusters.within_raw, clusters.within_raw_plain]),
        ("centered", [clusters.global_]),
        ("centered by cluster", [clusters.within, clusters.within_plain]),
    )
    heads = ("S_inter", "S_intra", "S_inter, unweighted", "S_intra, unweighted")
    return Table(
        [Column("mean cosine", align="left"), *map(Column, heads)],
        [Row([Cell(name), *_padded([cell for one in pairs for cell in _cosines(one)])]) for name, pairs in rows],
        compact=True,
    )


def _cosines(one: TypeCosines) -> list[Cell]:
    return [Cell(number_text(value, lambda number: cosine(number, 3))) for value in (one.inter, one.intra)]


def _padded(cells: list[Cell]) -> list[Cell]:
    return cells + [Cell("")] * (4 - len(cells))
