"""Clusters of the layers: how many, what each holds, and what subtracting their means does to cosines."""

from __future__ import annotations

from collections.abc import Mapping

from uncone.analysis.layers.deep_results import Cluster, Clusters, Deep
from uncone.analysis.number_format import clipped, cosine, count, percent
from uncone.report.document import Block, Cell, Column, Fold, Notes, Row, Section, Sentences, Table
from uncone.report.documents.layers.values import columns, number_text, text_row
from uncone.report.text import printable

__all__ = ["cluster_section"]

_WORDS, _EXAMPLES = 10, 3
_MANY = 5
"""Clusters beyond which each shows one example, so that a long list stays readable."""
_LEAST_SHARE = 0.005
"""Smaller shares are left out of a list of shares."""


def cluster_section(deep: Deep, row: str, title: str) -> Section:
    """The clusters of every layer; the last layer is open."""
    folds = [
        Fold(
            f"Layer {layer.number}",
            _cluster_blocks(layer.clusters),
            open=layer is deep.layers[-1],
            summary=f"{_summary(layer.clusters)} · n = {layer.clusters.n:,}",
        )
        for layer in deep.layers
    ]
    return Section(
        title,
        folds,
        intro=f"k-means, the largest cluster first. S_inter is the mean cosine of different {row}s in a cluster, as "
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


def _cluster_blocks(clusters: Clusters) -> list[Block]:
    """The sentence, what each cluster holds, examples in their texts, and S_inter and S_intra four ways."""
    heads = [
        *columns("cluster: over-represented words", "vectors"),
        Column("kinds", align="left", wrap=True),
        *columns("first token", "median position", left=0),
        Column("frequency rank", align="left", wrap=True),
        *columns("silhouette", "IsoScore", "S_inter", "S_inter, centered", left=0),
    ]
    rows = [_cluster_row(place, cluster) for place, cluster in enumerate(clusters.clusters, 1)]
    limit = _EXAMPLES if len(clusters.clusters) <= _MANY else 1
    examples = [
        f"Cluster {place}: {' / '.join(clipped(printable(example), 110) for example in cluster.examples[:limit])}"
        for place, cluster in enumerate(clusters.clusters, 1)
        if cluster.examples
    ]
    notes = [Notes(examples)] if examples else []
    return [Sentences([clusters.sentence]), Table(heads, rows, compact=True), *notes, _cosine_table(clusters)]


def _cluster_row(place: int, cluster: Cluster) -> Row:
    kinds = dict(sorted(cluster.kinds.items(), key=lambda pair: -pair[1]))
    numbers = (cluster.silhouette, cluster.isoscore, cluster.raw.inter, cluster.centred.inter)
    return Row(
        [
            Cell(f"{place}: {' · '.join(clipped(printable(word), 24) for word in cluster.words[:_WORDS])}"),
            Cell(f"{cluster.size:,}", percent(cluster.share)),
            Cell(_shares(kinds)),
            Cell(percent(cluster.first)),
            Cell(number_text(cluster.position)),
            Cell(_shares(cluster.bins)),
            *(Cell(number_text(value, cosine)) for value in numbers),
        ]
    )


def _shares(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{name}: {percent(share)}" for name, share in shares.items() if share >= _LEAST_SHARE)


def _cosine_table(clusters: Clusters) -> Table:
    """Inside clusters: weighted by their size, and as a plain mean, as published."""
    kinds = {
        "as they are": [clusters.raw],
        "inside clusters": [clusters.within_raw, clusters.within_raw_plain],
        "centered": [clusters.global_],
        "centered by cluster": [clusters.within, clusters.within_plain],
    }
    rows = []
    for name, pairs in kinds.items():
        texts = [number_text(value, lambda v: cosine(v, 3)) for one in pairs for value in (one.inter, one.intra)]
        rows.append(text_row(name, *texts, *[""] * (4 - len(texts))))
    heads = columns("mean cosine", "S_inter", "S_intra", "S_inter, unweighted", "S_intra, unweighted")
    return Table(heads, rows, compact=True)
