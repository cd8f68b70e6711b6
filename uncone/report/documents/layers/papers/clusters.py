"""The figures and tables of Cai et al. (2021): S_inter and S_intra, local dimension, symbols and words, Swiss rolls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from uncone.analysis.layers.contrast import is_model
from uncone.analysis.layers.deep_results import Clusters, DeepLayer, Dimension, TypeCosines
from uncone.analysis.layers.published import PUBLISHED_DIMENSIONS
from uncone.analysis.number_format import cosine, count, plain
from uncone.encoders.rows.segmentation import Kind
from uncone.report.charts.cloud import view_of
from uncone.report.charts.model import Chart, Cloud, CloudView, Coloring, Line, Number
from uncone.report.charts.theme import series_color
from uncone.report.document import Block, Cell, Column, Row, Table, present
from uncone.report.documents.layers import deep
from uncone.report.documents.layers.comparison import DEPTH_AXIS, at_depth, depth_of, overlay
from uncone.report.documents.layers.curves import LAYER_AXIS, value_axis
from uncone.report.documents.layers.overview import base_range, short_names
from uncone.report.documents.layers.papers.context import NOT_RUN, layer_table
from uncone.report.text import between, number_text, printable, shorten

if TYPE_CHECKING:
    from uncone.report.documents.layers import LayerStudy

__all__ = ["cluster_charts", "cluster_tables", "dimension_table", "panels", "rolls"]

_Kind = Literal["inter", "intra"]
_TITLES = {"inter": "Between types: S_inter", "intra": "Within types: S_intra"}
_VERSIONS = {
    "raw": "raw",
    "global_": "minus the mean of all vectors",
    "within_raw": "inside clusters, raw",
    "within": "inside clusters, minus their means",
    "within_plain": "the same, clusters unweighted as published",
}
_METRICS = ("euclidean", "cosine")
_NAME = 40
"""Letters of a name that a screen has room for."""


def cluster_charts(studies: Sequence[LayerStudy]) -> list[Chart]:
    """S_inter and S_intra of all studies, raw and centered by cluster, and their local dimensions."""
    overlays = [overlay(studies, f"lid_{metric}") for metric in _METRICS]
    dimension_charts = [None if chart is None else replace(chart, name=f"clusters-{chart.name}") for chart in overlays]
    return present(*(_cosine_chart(studies, kind) for kind in ("inter", "intra")), *dimension_charts)


def _cosine_chart(studies: Sequence[LayerStudy], kind: _Kind) -> Chart | None:
    relative = len({depth_of(study) for study in studies}) > 1
    lines = []
    for place, (study, name) in enumerate(zip(studies, short_names(studies), strict=True)):
        for version, label in (("raw", ""), ("within", ", centered")):
            values = [_cosine(layer, version, kind) for layer in _deep_layers(study)]
            if all(value is None for value in values):
                continue
            style: dict[str, Any] = {"dash": "solid" if version == "raw" else "dash", "name": f"s_{kind} {version}"}
            style |= {"color": series_color(place), "weight": "main" if version == "raw" else "thin", "group": name}
            numbers, n = zip(*((float(layer.number), layer.n) for layer in _deep_layers(study)), strict=True)
            line = Line(numbers, values, f"{shorten(name)}{label}", n=n, **style)
            lines.append(at_depth(line, depth_of(study)) if relative else line)
    if not lines:
        return None
    pair = "two different words" if kind == "inter" else "two occurrences of one word"
    caption = (
        f"Mean cosine of {pair}. Solid: as they are. Dashed: inside clusters, after subtracting the mean of each "
        "cluster, which makes cosines small by construction."
    )
    x, y = DEPTH_AXIS if relative else LAYER_AXIS, value_axis(f"s_{kind}", f"mean cosine, S_{kind}", lines, zero=True)
    return Chart(f"clusters-s-{kind}", _TITLES[kind], caption, lines, x, y, direct=len(lines) <= 4, wide=True)


def _deep_layers(study: LayerStudy) -> Sequence[DeepLayer]:
    return () if study.deep is None else study.deep.layers


def _cosine(layer: DeepLayer, version: str, kind: _Kind) -> Number:
    cosines: TypeCosines = getattr(layer.clusters, version)
    return cosines.inter if kind == "inter" else cosines.intra


def cluster_tables(studies: Sequence[LayerStudy]) -> list[Table]:
    """S_inter and S_intra by layer, in every version, and the number of clusters with its silhouette."""
    tables = []
    for kind in ("inter", "intra"):
        rows = {
            label: [
                [Cell(number_text(_cosine(layer, version, kind), _three)) for layer in _deep_layers(study)]
                for study in studies
            ]
            for version, label in _VERSIONS.items()
        }
        tables.append(layer_table(studies, _TITLES[kind], rows, name=f"s-{kind}"))
    numbers = [[_clusters(layer.clusters) for layer in _deep_layers(study)] for study in studies]
    tables.append(layer_table(studies, "Clusters: k by silhouette", {"": numbers}, name="k"))
    return present(*tables)


def _three(value: float) -> str:
    return cosine(value, 3)


def _clusters(clusters: Clusters) -> Cell:
    """The number of clusters, and under it the silhouette; of one cluster, the best that was tried."""
    best = clusters.silhouette if clusters.silhouette is not None else max(clusters.tried.values(), default=None)
    return Cell(f"{clusters.k}", number_text(best, cosine))


def dimension_table(studies: Sequence[LayerStudy], *, brief: bool = False) -> Table:
    """Local dimension of contextual against static vectors: n vectors in m dimensions; published rows in italics."""
    rows: dict[str, list[Row]] = {"contextual": [], "static": []}
    for study, name in zip(studies, short_names(studies), strict=True):
        if study.deep is not None:
            for kind, row in _dimension_rows(study, name):
                rows[kind].append(row)
    lines: list[Row] = []
    for kind, own in rows.items():
        lines += [Row([Cell(kind)]), *own]
        for published in (each for each in PUBLISHED_DIMENSIONS if each.kind == kind):
            ran = any(is_model(str(study.source["model"]), published.model) for study in studies)
            name = f"{published.label}: published{'' if ran else f', {NOT_RUN}'}"
            cells = [name, "–", f"{published.dim:,}", "–", plain(published.value), ""]
            lines.append(Row(list(map(Cell, cells)), muted=True))
    heads = ["vectors", "n", "m", "Euclidean", "cosine", "duplicates"]
    if brief:
        heads = heads[:-1]
        lines = [row if len(row.cells) == 1 else replace(row, cells=_bare(row.cells[: len(heads)])) for row in lines]
    columns = [Column(head, align="left" if head == "vectors" else "right") for head in heads]
    remark = (
        "On squared distances, as published: true dimensions are twice as large, and stand in the curves. n: distinct "
        "vectors that are searched. m: dimensions of a vector."
    )
    return Table(columns, lines, title="Local intrinsic dimension", remarks=[remark], name="lid")


def _bare(cells: Sequence[Cell]) -> list[Cell]:
    """Cells for a screen: no small print, and names that fit."""
    return [replace(cell, small="", text=shorten(cell.text, _NAME, 18)) for cell in cells]


def _dimension_rows(study: LayerStudy, name: str) -> list[tuple[str, Row]]:
    assert study.deep is not None
    m, rows = int(study.source["dimensions"]), []
    contextual = [layer for layer in study.deep.layers if layer.number > 0]
    if contextual:
        values = [Cell(number_text(_mean_paper(contextual, metric))) for metric in _METRICS]
        cells = [f"{name}: mean of the layers", base_range(contextual), f"{m:,}"]
        rows.append(("contextual", Row([*map(Cell, cells), *values, Cell("")])))
        last = contextual[-1]
        rows.append(("contextual", _measured_row(f"{name}: layer {last.number}", m, last.dimensions)))
    else:
        rows.append(("static", _measured_row(f"{name}: words of the corpus", m, study.deep.layers[-1].dimensions)))
    if study.deep.table is not None:
        table = study.deep.table
        rows.append(("static", _measured_row(f"{name}: {printable(table.name)}", table.dim, table.dimensions)))
    return rows


def _mean_paper(layers: Sequence[DeepLayer], metric: str) -> float | None:
    values = [value for layer in layers if (value := layer.dimensions[metric].paper) is not None]
    return sum(values) / len(values) if values else None


def _measured_row(name: str, m: int, dimensions: Mapping[str, Dimension]) -> Row:
    both = [dimensions[metric] for metric in _METRICS]
    halves = [(part.paper, *(None if bound is None else bound / 2 for bound in (part.low, part.high))) for part in both]
    cells = [Cell(number_text(value), between(low, high)) for value, low, high in halves]
    duplicates = Cell(f"{100 * both[0].duplicates:.1f} %")
    return Row([Cell(name), Cell(f"{both[0].base:,}"), Cell(f"{m:,}"), *cells, duplicates])


def panels(studies: Sequence[LayerStudy]) -> list[Cloud]:
    """The last layer of every study on two principal components: symbols against words, and word frequency.

    Axes are in units of the root mean square distance from the middle, and the same for all studies.
    """
    clouds = []
    for place, (study, name) in enumerate(zip(studies, short_names(studies), strict=True), 1):
        cloud = _panel(study, name, f"clusters-panel-{place}")
        clouds += [cloud] if cloud is not None else []
    if not clouds:
        return clouds
    frame = view_of(np.concatenate([cloud.views[0].points for cloud in clouds]))[:2]
    return [replace(cloud, views=[replace(cloud.views[0], frame=frame)]) for cloud in clouds]


def _panel(study: LayerStudy, name: str, anchor: str) -> Cloud | None:
    if study.deep is None or study.deep.facts is None:
        return None
    layer = study.deep.layers[-1]
    manifold = layer.manifold.without_sinks or layer.manifold
    points = manifold.points[:, :2]
    if len(points) < 2 or points.shape[1] < 2:
        return None
    facts = study.deep.facts.at(study.deep.rows[-1][manifold.points_rows])
    scale = float(np.sqrt((points.astype(np.float64) ** 2).sum(axis=1).mean()))
    kinds = [Kind(kind).name.lower() if kind >= 0 else "" for kind in facts.kinds.tolist()]
    names = [kind for kind in ("word", "symbol", "number", "piece", "special") if kind in kinds]
    codes = np.array([names.index(kind) if kind in names else -1 for kind in kinds], np.int64)
    colorings = [Coloring("kind of token", codes, names)] if names else []
    colorings += _frequency_coloring(study, facts.words)
    if not colorings:
        return None
    texts = [printable(facts.excerpt(i)) for i in range(facts.n)]
    caption = (
        f"{count(len(points), 'vector')} of layer {layer.number} on two principal components, in units of their root "
        "mean square distance from the middle, on the same axes for all studies. Color: kind of token, or frequency."
    )
    if manifold is not layer.manifold:
        caption += f" Without {count(layer.manifold.sinks, 'sink')}."
    view = CloudView("", points / (scale or 1.0))
    return Cloud(anchor, f"Symbols and words: {name}", caption, [view], colorings, texts, ("PC 1", "PC 2"), group=name)


def _frequency_coloring(study: LayerStudy, words: Sequence[str]) -> list[Coloring]:
    """log10 of the share of each word among the words that occur at least twice."""
    table = study.words
    if table is None or not table.n:
        return []
    shares = dict(zip(table.words, (table.counts / table.counts.sum()).tolist(), strict=True))
    values = np.log10([shares.get(word, np.nan) for word in words])
    return [Coloring("log₁₀ frequency", values=values)]


def rolls(studies: Sequence[LayerStudy]) -> list[Block]:
    """The Swiss-roll views: layers on three principal components, colored by position."""
    blocks: list[Block] = []
    for place, (study, name) in enumerate(zip(studies, short_names(studies), strict=True), 1):
        if study.deep is None:
            continue
        section = deep.manifold_section(study.deep, study.name, study.row_noun, f"_{place}")
        for block in section.blocks:
            if isinstance(block, Cloud):
                block = replace(block, name=f"clusters-{block.name}", title=f"{name}: {block.title}")
            elif isinstance(block, Table):
                block = replace(block, title=f"Curved manifolds: {name}", name=f"manifolds-{place}")
            blocks.append(block)
    return blocks
