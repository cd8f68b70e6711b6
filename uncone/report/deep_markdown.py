"""What lies behind the cone as markdown."""

from __future__ import annotations

from collections.abc import Sequence

from uncone.diagnosis.deep_results import Deep, DeepLayer
from uncone.diagnosis.words import percent
from uncone.report.deep_lines import (
    PUBLISHED,
    Table,
    bin_table,
    cluster_lines,
    cluster_summary,
    correlations,
    cosine_table,
    dimension_table,
    head_numbers,
    hub_lines,
    manifold_answer,
    manifold_sentences,
    manifold_table,
    ranged,
    said,
)
from uncone.report.markdown import safe
from uncone.report.study import LayerStudy
from uncone.report.text import printable

__all__ = ["behind", "dimensions"]

_CLUSTERS = ("cluster", "rows", "words", "kinds", "first token", "position", "frequency rank", "silhouette", "IsoScore")


def behind(deep: Deep) -> list[str]:
    """The story, then clusters, hubs, word frequency and the manifold question."""
    last = deep.layers[-1]
    parts = ["### Behind the cone", "\n".join(f"- {_line(sentence)}" for sentence in deep.story)]
    parts += ["#### Clusters", *(part for one in deep.layers for part in _clusters(one))]
    parts += ["#### Hubs", *map(_hubs, deep.layers)]
    if last.frequency is not None or (deep.table is not None and deep.table.frequency is not None):
        parts += ["#### Word frequency", *_frequency(deep)]
    if deep.head is not None:
        parts.append(f"{_line(deep.head.sentence)} {head_numbers(deep.head)}")
    answer = f"**{_line(manifold_answer(deep))}** {_line(' '.join(manifold_sentences(deep)))}".rstrip()
    parts += ["#### Is it a curved manifold?", answer, _table(manifold_table(deep))]
    return [part for part in parts if part]


def dimensions(parts: Sequence[LayerStudy]) -> list[str]:
    """Local dimension, contextual against static; nothing when none was measured."""
    table = dimension_table(parts)
    if table is None:
        return []
    how = "On true distances; on squared distances, as published, exactly half. It grows with n: compare at equal n."
    return [f"## Local dimension: contextual against static\n\n{how} {_line(PUBLISHED)}\n\n{_table(table)}"]


def _clusters(one: DeepLayer) -> list[str]:
    """The table of a layer's clusters, and its cosines four ways."""
    lines = cluster_lines(one.clusters)
    rows = [
        (
            *(
                line.name,
                f"{line.rows} ({line.share})",
                line.words,
                ", ".join(line.kinds),
                line.first,
                line.position,
                ", ".join(line.bins),
            ),
            *(line.silhouette, line.isoscore, line.raw, line.centred),
        )
        for line in lines
    ]
    head = (
        f"Layer {one.number}: {cluster_summary(one.clusters)}, n = {one.clusters.n:,}. {_line(one.clusters.sentence)}"
    )
    made = Table((*_CLUSTERS, "S_inter", "centred"), rows)
    return [head, _table(made), _table(cosine_table(one.clusters))]


def _hubs(one: DeepLayer) -> str:
    hubs = one.hubness
    head = (
        f"Layer {one.number}: skewness {ranged(hubs.skew, hubs.low, hubs.high)}, {said(hubs.antihubs, percent)} "
        f"anti-hubs, n = {hubs.n:,}."
    )
    lines = "\n".join(f"- {_line(line)}" for line in hub_lines(hubs))
    return f"{head}\n\n{lines}" if lines else head


def _frequency(deep: Deep) -> list[str]:
    """The table of the model and the last layer; the page has every layer."""
    found = [] if deep.table is None else [(printable(deep.table.name), deep.table.frequency)]
    found.append((f"layer {deep.layers[-1].number}", deep.layers[-1].frequency))
    return [
        f"{_line(name)}: {_line(one.sentence)} {_line(correlations(one))}\n\n{_table(bin_table(one))}"
        for name, one in found
        if one is not None
    ]


def _table(table: Table) -> str:
    marks = ["---"] * table.named + ["---:"] * (len(table.heads) - table.named)
    rows = [table.heads, marks, *([_line(cell) for cell in row] for row in table.rows)]
    heads = [[_line(head) for head in rows[0]], *rows[1:]]
    return "\n".join(f"| {' | '.join(row)} |" for row in heads)


def _line(text: str) -> str:
    return safe(printable(text))
