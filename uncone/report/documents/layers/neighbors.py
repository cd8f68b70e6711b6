"""Neighborhoods of the vectors: local dimension, contextual against static, and hubs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from uncone.analysis.layers.deep_results import Deep, DeepLayer, Dimension, Hubness
from uncone.analysis.number_format import clipped, count, percent, plain
from uncone.report.document import Cell, Column, Fold, Row, Section, Sentences, Table
from uncone.report.documents.layers.curves import base_range
from uncone.report.documents.layers.values import columns, number_text, short_names, with_interval
from uncone.report.results.layers import LayerStudy
from uncone.report.text import fitted, printable

__all__ = ["dimension_section", "hub_section", "table_title"]

_PUBLISHED = (
    "Published values, by cosine and on squared distances: BERT 5.6, GPT-2 7.0, ELMo 9.1; static: GloVe 18.0 (100 "
    "dimensions) and 26.1 (300), word2vec 21.1 (Cai et al. 2021)."
)
_METRICS = ("euclidean", "cosine")
_HUBS = 5


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
    squared = [Column("Euclidean", "squared"), Column("cosine", "squared")]
    heads = [*columns("model", "vectors", "kind", "Euclidean", "cosine", left=3), *squared]
    brief = [
        Row([Cell(fitted(f"{fitted(printable(model.text), 20)}: {vectors.text}", 36)), kind, euclidean, cosine, n])
        for model, vectors, kind, euclidean, cosine, _, _, n, _ in rows
    ]
    remark = "On true distances. Published values use squared distances and are half of these."
    short = columns("vectors", "kind", "Euclidean", "cosine", "n", left=2)
    return Section(
        "Local dimension: contextual against static",
        [Table([*heads, Column("n"), Column("duplicates")], [Row(row) for row in rows])],
        intro="Maximum likelihood on true distances, with 95 % intervals over the queries. On squared distances, as "
        f"published, it is exactly half. It grows with n, so compare it at equal n only. {_PUBLISHED}",
        brief=[Table(short, brief, title="Local dimension", remarks=[remark])] if len(studies) > 1 else (),
        name="local-dimension",
    )


def _dimension_rows(deep: Deep) -> list[list[Cell]]:
    """The last layer, the mean over the layers, and the table of the model."""
    contextual = [layer for layer in deep.layers if layer.number > 0]
    rows = []
    if contextual:
        rows.append(_dimension_row(f"layer {contextual[-1].number}", "contextual", contextual[-1].dimensions))
    elif deep.layers:
        rows.append(_dimension_row("words of the corpus", "static", deep.layers[-1].dimensions))
    if len(contextual) > 1:
        rows.append(_mean_row(contextual))
    if deep.table is not None:
        rows.append(_dimension_row(printable(deep.table.name), "static", deep.table.dimensions))
    return rows


def _dimension_row(which: str, kind: str, dimensions: Mapping[str, Dimension]) -> list[Cell]:
    both = [dimensions[metric] for metric in _METRICS]
    bounds = ["" if one.low is None or one.high is None else f"{plain(one.low)} to {plain(one.high)}" for one in both]
    values = [Cell(number_text(one.value), text) for one, text in zip(both, bounds, strict=True)]
    squared = [Cell(number_text(one.paper)) for one in both]
    return [Cell(which), Cell(kind), *values, *squared, Cell(f"{both[0].base:,}"), Cell(percent(both[0].duplicates))]


def _mean_row(layers: Sequence[DeepLayer]) -> list[Cell]:
    means = [_mean([layer.dimensions[metric].value for layer in layers]) for metric in _METRICS]
    squared = [None if mean is None else mean / 2 for mean in means]
    duplicates = _mean([layer.dimensions["euclidean"].duplicates for layer in layers])
    names = (f"mean of layers {layers[0].number} to {layers[-1].number}", "contextual")
    numbers = (number_text(value) for value in (*means, *squared))
    return [Cell(text) for text in (*names, *numbers, base_range(layers), number_text(duplicates, percent))]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def hub_section(deep: Deep, title: str) -> Section:
    """The worst hubs of the model's table and of every layer; the last layer is open."""
    spaces = [] if deep.table is None else [(table_title(deep.table.name), deep.table.hubness)]
    spaces += [(f"Layer {layer.number}", layer.hubness) for layer in deep.layers]
    return Section(
        title,
        [_hub_fold(name, hubs, is_open=hubs is spaces[-1][1]) for name, hubs in spaces],
        intro="Hubs are among the nearest neighbors of very many other vectors, by cosine: a search returns them for "
        "every query. Anti-hubs are among the nearest neighbors of none: a search hardly ever finds them.",
    )


def _hub_fold(title: str, hubs: Hubness, *, is_open: bool) -> Fold:
    lines = [
        f"{clipped(printable(hub.text), 110) or f'vector {hub.row:,}'} · among the {hubs.k} nearest of "
        f"{count(hub.count, 'vector')}"
        for hub in hubs.hubs[:_HUBS]
    ]
    summary = (
        f"skewness {with_interval(hubs.skew, hubs.low, hubs.high)}; {number_text(hubs.antihubs, percent)} anti-hubs; "
        f"the top 1 % of hubs fill {number_text(hubs.top_share, percent)} of all neighbor lists · n = {hubs.n:,}"
    )
    body = Sentences(lines, bulleted=True) if lines else Sentences(["No vector stands out."])
    return Fold(title, [body], open=is_open, summary=summary)


def table_title(name: str) -> str:
    """The name of a table as the beginning of a line."""
    text = printable(name)
    return text[:1].upper() + text[1:]
