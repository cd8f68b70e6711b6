"""What lies behind the cone as short pieces of text and tables: what page, markdown and terminal share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from uncone.diagnosis.deep_results import (
    Bin,
    Cluster,
    Clusters,
    Deep,
    DeepLayer,
    Dimension,
    Frequency,
    HeadFrequency,
    Hubness,
    Manifold,
    TypeCosines,
)
from uncone.diagnosis.deep_story import most_curved
from uncone.diagnosis.words import clipped, cosine, count, percent, plain
from uncone.report.study import LayerStudy
from uncone.report.study_lines import short_names
from uncone.report.text import printable

__all__ = [
    "MEASURES",
    "PUBLISHED",
    "ClusterLine",
    "Table",
    "base_rows",
    "bin_table",
    "cluster_lines",
    "cluster_summary",
    "correlations",
    "cosine_table",
    "dimension_table",
    "head_numbers",
    "hub_lines",
    "manifold_answer",
    "manifold_sentences",
    "manifold_table",
    "ranged",
    "row_noun",
    "said",
]

MEASURES = (
    *("lid_euclidean", "lid_cosine", "twonn_euclidean", "twonn_cosine", "hubness_skew", "antihub_share"),
    *("frequency_norm_r", "frequency_vector_norm_r", "frequency_pc1_r", "frequency_explained", "manifold_ratio"),
    *("cluster_count", "cluster_silhouette", "isoscore_within", "s_inter_global", "s_intra_global"),
    *("s_inter_within_raw", "s_intra_within_raw", "s_inter_within", "s_intra_within"),
    *("position_angle_r", "manifold_visible"),
)
"""What is found behind the cone, by name."""
PUBLISHED = (
    "Published, by cosine and on squared distances: BERT 5.6, GPT-2 7.0, ELMo 9.1; static: GloVe 18.0 (100 dimensions) "
    "and 26.1 (300), word2vec 21.1 (Cai et al. 2021)."
)
_METRICS = ("euclidean", "cosine")
_WORDS, _EXAMPLES, _HUBS = 10, 3, 5
_MANY = 5
_LEAST = 0.005
"""Shares below half a per cent are left out of a list of shares."""


@dataclass(frozen=True)
class Table:
    """A table of texts; the first `named` columns hold names, the others numbers."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    named: int = 1


@dataclass(frozen=True)
class ClusterLine:
    """A cluster as texts, in the order of the table."""

    name: str
    rows: str
    share: str
    words: str
    kinds: Sequence[str]
    first: str
    position: str
    bins: Sequence[str]
    silhouette: str
    isoscore: str
    raw: str
    centred: str
    examples: Sequence[str]


def said(value: float | None, as_text: Callable[[float], str] = plain) -> str:
    """A number as a text; a dash where it is not known."""
    return "–" if value is None or not math.isfinite(value) else as_text(value)


def ranged(value: float | None, low: float | None, high: float | None, as_text: Callable[[float], str] = plain) -> str:
    """A number with its interval, where it has one."""
    if value is None or low is None or high is None:
        return said(value, as_text)
    return f"{as_text(value)} ({as_text(low)} to {as_text(high)})"


def row_noun(study: LayerStudy) -> str:
    """What is compared with what: a word or token in several contexts, or a whole text."""
    return {"words": "word", "tokens": "token"}.get(study.source.get("row", "words"), "text")


def dimension_table(parts: Sequence[LayerStudy]) -> Table | None:
    """Local dimension of contextual layers against static tables, on true distances and as published."""
    rows = []
    for study, name in zip(parts, short_names(parts), strict=True):
        if study.deep is not None:
            rows += [[name, *row] for row in _dimensions(study.deep)]
    heads = ("model", "vectors", "kind", "Euclidean", "cosine", "squared, Euclidean", "squared, cosine")
    return Table((*heads, "n", "duplicates"), rows, 3) if rows else None


def _dimensions(deep: Deep) -> list[list[str]]:
    """The last layer, the mean over the layers, and the table of the model."""
    contextual = [one for one in deep.layers if one.number > 0]
    rows = []
    if contextual:
        last = contextual[-1]
        rows.append(_dimension_row(f"layer {last.number}", "contextual", last.dimensions))
    elif deep.layers:
        rows.append(_dimension_row("words of the corpus", "static", deep.layers[-1].dimensions))
    if len(contextual) > 1:
        rows.append(_mean_row(contextual))
    if deep.table is not None:
        rows.append(_dimension_row(printable(deep.table.name), "static", deep.table.dimensions))
    return rows


def _dimension_row(which: str, kind: str, found: Mapping[str, Dimension]) -> list[str]:
    both = [found[metric] for metric in _METRICS]
    values = [ranged(one.value, one.low, one.high) for one in both]
    return [which, kind, *values, *(said(one.paper) for one in both), f"{both[0].base:,}", percent(both[0].duplicates)]


def _mean_row(layers: Sequence[DeepLayer]) -> list[str]:
    means = [_mean([one.dimensions[metric].value for one in layers]) for metric in _METRICS]
    halves = [None if mean is None else mean / 2 for mean in means]
    which = f"mean of layers {layers[0].number} to {layers[-1].number}"
    shares = _mean([one.dimensions["euclidean"].duplicates for one in layers])
    return [which, "contextual", *map(said, means), *map(said, halves), base_rows(layers), said(shares, percent)]


def base_rows(layers: Sequence[DeepLayer]) -> str:
    """How many distinct rows the local dimension of these layers was measured against."""
    bases = sorted({one.dimensions["euclidean"].base for one in layers})
    return f"{bases[0]:,}" if len(bases) == 1 else f"{bases[0]:,} to {bases[-1]:,}"


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def cluster_lines(clusters: Clusters) -> list[ClusterLine]:
    """What each cluster holds, the largest first."""
    # A long table stays readable with an example each.
    most = _EXAMPLES if len(clusters.clusters) <= _MANY else 1
    return [_cluster(place, one, most) for place, one in enumerate(clusters.clusters)]


def _cluster(place: int, one: Cluster, examples: int) -> ClusterLine:
    return ClusterLine(
        str(place + 1),
        f"{one.size:,}",
        percent(one.share),
        " · ".join(clipped(printable(word), 24) for word in one.words[:_WORDS]),
        _shares(dict(sorted(one.kinds.items(), key=lambda pair: -pair[1]))),
        percent(one.first),
        said(one.position),
        _shares(one.bins),
        said(one.silhouette, cosine),
        said(one.isoscore, cosine),
        said(one.raw.inter, cosine),
        said(one.centred.inter, cosine),
        [clipped(printable(example), 110) for example in one.examples[:examples]],
    )


def cluster_summary(clusters: Clusters) -> str:
    """How many there are, how clear they are, and how that was chosen."""
    silhouette = f", silhouette {cosine(clusters.silhouette)}" if clusters.silhouette is not None else ""
    silhouette += f", {cosine(clusters.chance)} by chance" if silhouette and clusters.chance is not None else ""
    if clusters.k == 1 and clusters.tried:
        best = max(clusters.tried.values())
        return f"one cluster: the best silhouette of {len(clusters.tried)} values of k is {cosine(best)}"
    how = (
        "k as asked"
        if clusters.asked
        else f"k chosen from {min(clusters.tried)} to {max(clusters.tried)}"
        if clusters.tried
        else ""
    )
    return f"{count(clusters.k, 'cluster')}{silhouette}{f', {how}' if how else ''}"


def cosine_table(clusters: Clusters) -> Table:
    """S_inter and S_intra four ways; inside clusters weighted by their size, and as a plain mean, as published."""
    within = (clusters.within_raw, clusters.within_raw_plain), (clusters.within, clusters.within_plain)
    rows = [
        ["as they are", *_types(clusters.raw), "", ""],
        ["inside clusters", *_types(within[0][0]), *_types(within[0][1])],
        ["centred", *_types(clusters.global_), "", ""],
        ["centred by cluster", *_types(within[1][0]), *_types(within[1][1])],
    ]
    return Table(("mean cosine", "S_inter", "S_intra", "S_inter, unweighted", "S_intra, unweighted"), rows)


def _types(found: TypeCosines) -> list[str]:
    return [said(found.inter, lambda value: cosine(value, 3)), said(found.intra, lambda value: cosine(value, 3))]


def _shares(shares: Mapping[str, float]) -> list[str]:
    return [f"{name}: {percent(share)}" for name, share in shares.items() if share >= _LEAST]


def hub_lines(hubness: Hubness) -> list[str]:
    """The worst hubs by their text, with the number of rows that have them among their nearest."""
    return [
        f"{clipped(printable(hub.text), 110) or f'row {hub.row:,}'} · among the {hubness.k} nearest of "
        f"{count(hub.count, 'row')}"
        for hub in hubness.hubs[:_HUBS]
    ]


def bin_table(found: Frequency) -> Table:
    """Norm, distance and dot product to the nearest words, by bins of frequency rank."""
    ks = sorted({k for one in found.bins for k in (*one.distance, *one.dot)})
    heads = ["rank", f"{found.unit}s", "norm", *(f"distance, k = {k}" for k in ks), *(f"dot, k = {k}" for k in ks)]
    return Table(heads, [_bin_row(one, ks) for one in found.bins])


def _bin_row(one: Bin, ks: Sequence[int]) -> list[str]:
    near = [*(one.distance.get(k) for k in ks), *(one.dot.get(k) for k in ks)]
    return [one.name, f"{one.words:,}", said(one.norm), *map(said, near)]


def correlations(found: Frequency) -> str:
    """Of log-frequency with the norm and the components, in a line."""
    norm = ranged(found.norm_r, found.norm_low, found.norm_high, cosine)
    first = ", ".join(said(None if one is None else abs(one), cosine) for one in found.components_r[:3])
    vector = ranged(found.vector_norm_r, found.vector_norm_low, found.vector_norm_high, cosine)
    parts = [f"with the mean norm of its rows r = {norm}", f"by rank {said(found.norm_rho, cosine)}"]
    parts += [] if found.vector_norm_r == found.norm_r else [f"with the norm of its mean vector r = {vector}"]
    parts += [f"with the first components |r| = {first}"] if first else []
    if found.explained is not None:
        many = count(len(found.components_r), "component")
        parts.append(f"norm and {many} together R² = {cosine(found.explained)}, adjusted for their number")
    left = f" ({found.unknown:,} of unknown frequency left out)" if found.unknown else ""
    return f"Log-frequency ({found.source}): {'; '.join(parts)}; n = {count(found.n, found.unit)}{left}."


def head_numbers(head: HeadFrequency) -> str:
    """The numbers behind the sentence on the language-model head."""
    r2 = ranged(head.r2, head.low, head.high, cosine)
    parts = [
        f"R² = {r2}, slope {said(head.slope)}, over {count(head.tokens, 'token')}",
        f"the rest with PMI r = {said(head.pmi_r, cosine)}, by rank {said(head.pmi_rho, cosine)}, over "
        f"{count(head.pairs, 'pair')} that stand together at least {head.least} times",
    ]
    return f"Mean logit on log-frequency: {'; '.join(parts)}. Read: {count(head.read, 'token')} of the corpus."


def manifold_answer(deep: Deep) -> str:
    """The plain answer: whether a curved sheet, or a curve by position, is visible, and where."""
    visible = [one.number for one in deep.layers if one.manifold.visible]
    if not visible:
        where = "in any layer" if len(deep.layers) > 1 else "here"
        return f"No: a curved manifold (a “Swiss roll”) is not visible {where}."
    if len(deep.layers) == 1:
        return "Yes: a curved manifold (a “Swiss roll”) is visible here."
    where = f"layer{'s' * (len(visible) > 1)} {', '.join(map(str, visible))}"
    return f"Yes: a curved manifold (a “Swiss roll”) is visible in {where}."


def manifold_sentences(deep: Deep) -> list[str]:
    """What is said of the layer that is curved most clearly, and of the last."""
    curved = [one for one in deep.layers if one.manifold.visible]
    clearest = [most_curved(curved)] if curved else []
    layers = list(dict.fromkeys(one.number for one in (*clearest, deep.layers[-1])))
    said_of = {one.number: one.manifold.sentence for one in deep.layers}
    if len(deep.layers) == 1:
        return [sentence for sentence in said_of.values() if sentence]
    return [f"Layer {number}: {said_of[number]}" for number in layers if said_of[number]]


def manifold_table(deep: Deep) -> Table:
    """Local against global dimension and the part of position, layer by layer; a second line without the sinks."""
    heads = (
        *("layer", "rows", "visible", "LID", "if flat", "ratio", "spread", "if flat", "PCA, 95 %"),
        *("angle, r", "by chance", "turns", "by position"),
    )
    rows = []
    for one in deep.layers:
        rows.append([str(one.number), *_manifold(one.manifold, one.n)])
        if one.manifold.without_sinks is not None:
            left = f"{one.number}, without {count(one.manifold.sinks, 'sink')}"
            rows.append([left, *_manifold(one.manifold.without_sinks, one.n - one.manifold.sinks)])
    return Table(heads, rows)


def _manifold(one: Manifold, n: int) -> list[str]:
    return [
        f"{one.n or n:,}",
        "yes" if one.visible else "no",
        *(said(value) for value in (one.lid, one.flat, one.ratio, one.spread, one.spread_flat)),
        f"{one.pca:,}",
        said(one.angle_r, cosine),
        said(one.angle_chance, cosine),
        said(one.turns),
        said(one.position_share, percent),
    ]
