"""The deep results behind the cone: local dimension, clusters, hubs, word frequency and manifolds, as sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from uncone.analysis.layers import deep_results as results
from uncone.analysis.layers.deep_results import Deep, DeepLayer, Dimension, Frequency, Manifold
from uncone.analysis.layers.story import most_curved
from uncone.analysis.number_format import clipped, cosine, count, percent, plain
from uncone.report.charts.model import Cloud, CloudView, Coloring
from uncone.report.document import Block, Cell, Column, Fold, Notes, Section, Sentences, Table, table
from uncone.report.documents.layers.overview import base_range, short_names
from uncone.report.text import between, capitalized, number_text, printable, shorten, with_interval

if TYPE_CHECKING:
    from uncone.report.documents.layers import LayerStudy

__all__ = [
    "cluster_section", "dimension_section", "frequency_section", "hub_section", "manifold_section", "telling_layers",
]  # fmt: skip

_PUBLISHED = (
    "Published values, by cosine and on squared distances: BERT 5.6, GPT-2 7.0, ELMo 9.1; static: GloVe 18.0 (100 "
    "dimensions) and 26.1 (300), word2vec 21.1 (Cai et al. 2021)."
)
_METRICS, _COLUMNS = ("euclidean", "cosine"), ("Euclidean", "cosine")
_HUBS = 5
_WORDS, _EXAMPLES = 10, 3
_MANY = 5
"""Clusters beyond which each shows one example, so that a long list stays readable."""
_LEAST_SHARE = 0.005
"""Smaller shares are left out of a list of shares."""


def dimension_section(studies: Sequence[LayerStudy]) -> Section | None:
    """Local dimension of contextual layers against static tables; none if it was not measured."""
    rows = [
        [Cell(name), *row]
        for study, name in zip(studies, short_names(studies), strict=True)
        if study.deep is not None
        for row in _dimension_rows(study.deep)
    ]
    if not rows:
        return None
    heads = ["model", "vectors", "kind", *_COLUMNS, *(Column(name, "squared") for name in _COLUMNS), "n", "duplicates"]
    brief = [
        [shorten(f"{shorten(printable(model.text), 20)}: {vectors.text}", 36), kind, euclidean, cosine, n]
        for model, vectors, kind, euclidean, cosine, _, _, n, _ in rows
    ]
    remark = "On true distances. Published values use squared distances and are half of these."
    short = table(["vectors", "kind", *_COLUMNS, "n"], brief, left=2, title="Local dimension", remarks=[remark])
    return Section(
        "Local dimension: contextual vs. static",
        [table(heads, rows, left=3)],
        intro="Maximum likelihood on true distances, with 95 % intervals over the queries. On squared distances, as "
        f"published, it is exactly half. It grows with n, so compare it at equal n only. {_PUBLISHED}",
        brief=[short] if len(studies) > 1 else (),
        name="local-dimension",
    )


def _dimension_rows(deep: Deep) -> list[list[Cell]]:
    contextual = [layer for layer in deep.layers if layer.number > 0]
    last = deep.layers[-1]
    vectors, kind = (f"layer {last.number}", "contextual") if contextual else ("words of the corpus", "static")
    rows = [_dimension_row(vectors, kind, last.dimensions)]
    if len(contextual) > 1:
        vectors = f"mean of layers {contextual[0].number} to {contextual[-1].number}"
        means = {}
        for metric in _METRICS:
            each = [layer.dimensions[metric] for layer in contextual]
            values = [part.value for part in each if part.value is not None]
            duplicates = sum(part.duplicates for part in each) / len(each)
            means[metric] = Dimension("mean", sum(values) / len(values) if values else None, duplicates=duplicates)
        rows.append(_dimension_row(vectors, "contextual", means, base_range(contextual)))
    if deep.table is not None:
        rows.append(_dimension_row(printable(deep.table.name), "static", deep.table.dimensions))
    return rows


def _dimension_row(vectors: str, kind: str, dimensions: Mapping[str, Dimension], base: str = "") -> list[Cell]:
    both = [dimensions[metric] for metric in _METRICS]
    values = [Cell(number_text(each.value), between(each.low, each.high)) for each in both]
    squared = (number_text(each.paper) for each in both)
    n = base or f"{both[0].base:,}"
    return [Cell(vectors), Cell(kind), *values, *map(Cell, (*squared, n, percent(both[0].duplicates)))]


def hub_section(deep: Deep) -> Section:
    """The worst hubs of the model's table and of every layer; the last layer is open."""
    spaces = [] if deep.table is None else [(capitalized(printable(deep.table.name)), deep.table.hubness)]
    spaces += [(f"Layer {layer.number}", layer.hubness) for layer in deep.layers]
    folds = []
    for name, hubs in spaces:
        texts = [clipped(printable(hub.text), 110) or f"vector {hub.row:,}" for hub in hubs.hubs[:_HUBS]]
        counts = [f"among the {hubs.k} nearest neighbors of {count(hub.count, 'vector')}" for hub in hubs.hubs[:_HUBS]]
        lines = [f"{text} · {among}" for text, among in zip(texts, counts, strict=True)]
        summary = (
            f"skewness {with_interval(hubs.skew, hubs.low, hubs.high)}; {number_text(hubs.antihubs, percent)} "
            f"anti-hubs; the top 1 % of hubs fill {number_text(hubs.top_share, percent)} of all neighbor lists · "
            f"n = {hubs.n:,}"
        )
        body = Sentences(lines or ["No vector stands out."], bulleted=bool(lines))
        folds.append(Fold(name, [body], hubs is spaces[-1][1], summary))
    intro = (
        "Hubs are among the nearest neighbors of very many other vectors, by cosine: a search returns them for almost "
        "any query. Anti-hubs are among the nearest neighbors of none: a search hardly ever finds them."
    )
    return Section("Hubs", folds, intro)


def cluster_section(deep: Deep, row: str) -> Section:
    """The clusters of every layer; the last layer is open."""
    folds = []
    for layer in deep.layers:
        clusters, is_open = layer.clusters, layer is deep.layers[-1]
        summary = f"{_summary(clusters)} · n = {clusters.n:,}"
        folds.append(Fold(f"Layer {layer.number}", _cluster_blocks(clusters), is_open, summary))
    return Section(
        "Clusters",
        folds,
        intro=f"k-means, the largest cluster first. S_inter is the mean cosine of different {row}s in a cluster, as "
        "it is and after subtracting the cluster's mean. Subtracting a mean always makes cosines small, so the "
        "sentence of a layer is about differences only.",
    )


def _summary(clusters: results.Clusters) -> str:
    """A phrase on the number of clusters, how clear they are, and how the number was chosen."""
    if not clusters.clusters:
        return "not measured"
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


def _cluster_blocks(clusters: results.Clusters) -> list[Block]:
    """The sentence, what each cluster holds, examples in their texts, and S_inter and S_intra four ways."""
    heads = [
        *("cluster: over-represented words", "vectors", Column("kinds", align="left", wrap=True), "first token"),
        *("median position", Column("frequency rank", align="left", wrap=True)),
        *("silhouette", "IsoScore", "S_inter", "S_inter, centered"),
    ]
    rows, examples, limit = [], [], _EXAMPLES if len(clusters.clusters) <= _MANY else 1
    for place, cluster in enumerate(clusters.clusters, 1):
        rows.append(_cluster_row(place, cluster))
        if cluster.examples:
            texts = " / ".join(clipped(printable(example), 110) for example in cluster.examples[:limit])
            examples.append(f"Cluster {place}: {texts}")
    notes = [Notes(examples)] if examples else []
    return [Sentences([clusters.sentence]), table(heads, rows, compact=True), *notes, _cosine_table(clusters)]


def _cluster_row(place: int, cluster: results.Cluster) -> list[str | Cell]:
    numbers = (cluster.silhouette, cluster.isoscore, cluster.raw.inter, cluster.centred.inter)
    return [
        f"{place}: {' · '.join(clipped(printable(word), 24) for word in cluster.words[:_WORDS])}",
        Cell(f"{cluster.size:,}", percent(cluster.share)),
        _shares(dict(sorted(cluster.kinds.items(), key=lambda pair: -pair[1]))),
        percent(cluster.first),
        number_text(cluster.position),
        _shares(cluster.bins),
        *(number_text(value, cosine) for value in numbers),
    ]


def _shares(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{name}: {percent(share)}" for name, share in shares.items() if share >= _LEAST_SHARE)


def _cosine_table(clusters: results.Clusters) -> Table:
    """Inside clusters: weighted by their size, and as a plain mean, as published."""
    kinds = {
        "raw": [clusters.raw],
        "inside clusters": [clusters.within_raw, clusters.within_raw_plain],
        "centered": [clusters.global_],
        "centered by cluster": [clusters.within, clusters.within_plain],
    }
    rows = []
    for name, pairs in kinds.items():
        values = [
            number_text(value, lambda number: cosine(number, 3)) for pair in pairs for value in (pair.inter, pair.intra)
        ]
        rows.append([name, *values, *[""] * (4 - len(values))])
    heads = ["mean cosine", "S_inter", "S_intra", "S_inter, unweighted", "S_intra, unweighted"]
    return table(heads, rows, compact=True)


def frequency_section(deep: Deep, study: str, row: str, suffix: str) -> Section | None:
    """Words by frequency: clouds, then the model's table and every layer; `suffix` keeps chart names unique."""
    spaces = [(f"Layer {layer.number}", layer.frequency) for layer in deep.layers]
    frequencies = [(name, each) for name, each in spaces if each is not None]
    clouds = [("layer", name.lower(), each) for name, each in frequencies if len(each.points)][-1:]
    if deep.table is not None and deep.table.frequency is not None:
        frequencies.insert(0, (capitalized(printable(deep.table.name)), deep.table.frequency))
        if len(deep.table.frequency.points):
            clouds.insert(0, ("table", printable(deep.table.name), deep.table.frequency))
    blocks: list[Block] = []
    for kind, name, each in clouds:
        blocks.append(_frequency_cloud(f"frequency_{kind}{suffix}", name, study, each))
    for place, (name, each) in enumerate(frequencies):
        blocks.append(_frequency_fold(name, each, is_open=place in (0, len(frequencies) - 1)))
    if deep.head is not None:
        head = deep.head
        numbers = (
            f"Mean logit on log-frequency: R² = {with_interval(head.r2, head.low, head.high, cosine)}, slope "
            f"{number_text(head.slope)}, over {count(head.tokens, 'token')}. The rest with PMI: r = "
            f"{number_text(head.pmi_r, cosine)}, by rank {number_text(head.pmi_rho, cosine)}, over "
            f"{count(head.pairs, 'pair')} that occur together at least {head.least} times. Measured on "
            f"{count(head.read, 'token')} of the corpus."
        )
        blocks.append(Fold("The language-model head", [Sentences([head.sentence, numbers])], open=True))
    if not blocks:
        return None
    intro = (
        f"The mean vectors of {row}s by the rank of their frequency: mean norm, mean distance to the 3, 5 and 7 "
        f"nearest neighbors, and mean dot product with the 3, 5 and 7 largest. Ranges with more than 150 {row}s use a "
        "seeded sample of 150."
    )
    return Section("Word frequency", blocks, intro=intro if frequencies else "")


def _norm_correlation(frequency: Frequency) -> str:
    return with_interval(frequency.norm_r, frequency.norm_low, frequency.norm_high, cosine)


def _frequency_fold(name: str, frequency: Frequency, *, is_open: bool) -> Fold:
    ks = sorted({k for each in frequency.bins for k in (*each.distance, *each.dot)})
    near = [Column(kind, f"k = {k}") for kind in ("distance", "dot product") for k in ks]
    rows = []
    for each in frequency.bins:
        numbers = (each.norm, *map(each.distance.get, ks), *map(each.dot.get, ks))
        rows.append([each.name, f"{each.words:,}", *map(number_text, numbers)])
    heads = ["rank", f"{frequency.unit}s", "norm", *near]
    bins = table(heads, rows, remarks=[_correlations(frequency)], compact=True)
    summary = f"mean norm and log-frequency: r = {_norm_correlation(frequency)} · n = {frequency.n:,}"
    return Fold(name, [Sentences([frequency.sentence]), bins], open=is_open, summary=summary)


def _correlations(frequency: Frequency) -> str:
    first = ", ".join(number_text(None if r is None else abs(r), cosine) for r in frequency.components_r[:3])
    vector = with_interval(frequency.vector_norm_r, frequency.vector_norm_low, frequency.vector_norm_high, cosine)
    rank = number_text(frequency.norm_rho, cosine)
    parts = [f"mean norm of its vectors r = {_norm_correlation(frequency)}, by rank {rank}"]
    parts += [] if frequency.vector_norm_r == frequency.norm_r else [f"norm of its mean vector r = {vector}"]
    parts += [f"first components |r| = {first}"] if first else []
    if frequency.explained is not None:
        components = count(len(frequency.components_r), "component")
        parts.append(f"norm and {components} together R² = {cosine(frequency.explained)}, adjusted for their number")
    left_out = f" ({frequency.unknown:,} of unknown frequency left out)" if frequency.unknown else ""
    n = count(frequency.n, frequency.unit)
    return f"Log-frequency ({frequency.source}) with {'; '.join(parts)}; n = {n}{left_out}."


def _frequency_cloud(name: str, title: str, study: str, frequency: Frequency) -> Cloud:
    n_points, n = len(frequency.points), frequency.n
    words = f"{count(n_points, 'word')} of {n:,}" if n_points < n else count(n, "word")
    caption = f"{words} on the first two singular directions. Color: how often a word occurs ({frequency.source})."
    if frequency.norm_r is not None:
        caption += f" Correlation of log-frequency with the mean norm: {_norm_correlation(frequency)}."
    views, colors = [CloudView("words", frequency.points)], [Coloring("log₁₀ frequency", values=frequency.logs)]
    texts, axes = [printable(word) for word in frequency.point_words], ("direction 1", "direction 2")
    return Cloud(name, f"Words by frequency: {title}", caption, views, colors, texts, axes, group=study)


def manifold_section(deep: Deep, study: str, row: str, suffix: str) -> Section:
    """The plain answer, the table of layers, and the layers that show most."""
    clouds = [_manifold_cloud(deep, place, reason, study, suffix) for place, reason in telling_layers(deep).items()]
    return Section(
        "Is it a curved manifold?",
        [Sentences(_answer(deep)), _manifold_table(deep), *clouds],
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


def _manifold_table(deep: Deep) -> Table:
    """Local against global dimension and the part of position, by layer; a second row without the sinks."""
    rows = []
    for layer in deep.layers:
        manifold = layer.manifold
        versions = [(str(layer.number), manifold, layer.n)]
        if manifold.without_sinks is not None:
            name = f"{layer.number}, without {count(manifold.sinks, 'sink')}"
            versions.append((name, manifold.without_sinks, layer.n - manifold.sinks))
        for name, version, n in versions:
            sizes = (version.lid, version.flat, version.ratio, version.spread, version.spread_flat)
            angle = (number_text(value, cosine) for value in (version.angle_r, version.angle_chance))
            position = (number_text(version.turns), number_text(version.position_share, percent))
            start = (name, f"{version.n or n:,}", "yes" if version.visible else "no")
            rows.append([*start, *map(number_text, sizes), f"{version.pca:,}", *angle, *position])
    heads = ["layer", "vectors", "visible", "LID", "LID if flat", "ratio", "spread", "spread if flat", "PCA, 95 %"]
    return table([*heads, "angle, r", "by chance", "turns", "explained by position"], rows, compact=True)


def telling_layers(deep: Deep) -> dict[int, str]:
    """The last layer, the one farthest from flat, and the one most ordered by position: places, with the reason."""
    manifolds = {place: layer.manifold for place, layer in enumerate(deep.layers) if len(layer.manifold.points)}
    if not manifolds:
        return {}
    reasons = {max(manifolds): "the last" if len(deep.layers) > 1 else ""}
    # Curved sheets first, then what is far from flat for other reasons, such as small clusters.
    curved = [(not each.visible, each.ratio, place) for place, each in manifolds.items() if each.ratio is not None]
    if curved:
        flat, _, place = min(curved)
        reasons.setdefault(place, "the farthest from flat" if flat else "the most curved")
    shares = [(_without_sinks(each).position_share, -place) for place, each in manifolds.items()]
    ordered = [(share, place) for share, place in shares if share is not None]
    if ordered:
        reasons.setdefault(-max(ordered)[1], "the most ordered by position")
    return reasons


def _without_sinks(manifold: Manifold) -> Manifold:
    """The manifold without the sinks, which hide the rest."""
    return manifold if manifold.without_sinks is None else manifold.without_sinks


def _manifold_cloud(deep: Deep, place: int, reason: str, study: str, suffix: str) -> Cloud:
    """The vectors of a layer on three principal components; first without the sinks, if there are any."""
    layer = deep.layers[place]
    versions = {"all vectors": layer.manifold}
    if layer.manifold.without_sinks is not None:
        versions = {"without sinks": layer.manifold.without_sinks, **versions}
    starts = np.cumsum([0, *(len(each.points) for each in versions.values())])
    views = []
    for (label, each), start in zip(versions.items(), starts[:-1], strict=True):
        rows, path = np.arange(start, start + len(each.points)), each.path if len(each.path) > 1 else None
        views.append(CloudView(label, each.points, rows, path))
    positions = np.concatenate([each.points_positions for each in versions.values()])
    has_positions = bool((positions >= 0).any())
    values = np.where(positions >= 0, positions, np.nan).astype(np.float64)
    name, title = f"manifold_layer_{layer.number}{suffix}", f"Layer {layer.number}{f', {reason}' if reason else ''}"
    colors = [Coloring("position", values=values)] if has_positions else ()
    texts = [text for manifold in versions.values() for text in _texts(deep, place, manifold)]
    caption, axes = _caption(layer, positions=has_positions), ("PC 1", "PC 2", "PC 3")
    return Cloud(name, title, caption, views, colors, texts, axes, group=study)


def _caption(layer: DeepLayer, *, positions: bool) -> str:
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
    rows = deep.rows[place][manifold.points_rows]
    if deep.facts is None:
        names = [f"vector {row:,}" for row in rows.tolist()]
    else:
        facts = deep.facts.at(rows)
        names = [printable(facts.excerpt(i)) for i in range(facts.n)]
    positions = [
        f" · position {position:,}" if position >= 0 else "" for position in manifold.points_positions.tolist()
    ]
    return [f"{name}{position}" for name, position in zip(names, positions, strict=True)]
