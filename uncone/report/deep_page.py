"""What the page shows of a deep study beside its charts: tables, clusters, hubs, and plain answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from uncone.diagnosis.deep_results import Deep, DeepLayer
from uncone.diagnosis.words import cosine, percent
from uncone.report.deep_lines import (
    PUBLISHED,
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
    row_noun,
    said,
)
from uncone.report.study import LayerStudy
from uncone.report.study_lines import short_names
from uncone.report.text import printable

__all__ = ["behind"]


def behind(parts: Sequence[LayerStudy]) -> dict[str, Any] | None:
    """What stands behind the cone of each study; nothing when none was looked at so deeply."""
    views = [
        _view(study.deep, name, place, row_noun(study))
        for place, (study, name) in enumerate(zip(parts, short_names(parts), strict=True))
        if study.deep is not None
    ]
    if not views:
        return None
    most = max(one.n for study in parts if study.deep is not None for one in study.deep.layers)
    return {"views": views, "dimensions": dimension_table(parts), "published": PUBLISHED, "rows": f"{most:,}"}


def _view(deep: Deep, name: str, place: int, row: str) -> dict[str, Any]:
    return {
        "name": name,
        "row": row,
        "place": place,
        "clusters": [_clusters(one) for one in deep.layers],
        "hubs": _hubs(deep),
        "frequency": _frequency(deep),
        "head": None if deep.head is None else {"sentence": deep.head.sentence, "numbers": head_numbers(deep.head)},
        "answer": manifold_answer(deep),
        "manifold": manifold_table(deep),
        "sentences": manifold_sentences(deep),
    }


def _clusters(one: DeepLayer) -> dict[str, Any]:
    found = one.clusters
    return {
        "number": one.number,
        "summary": cluster_summary(found),
        "n": found.n,
        "sentence": found.sentence,
        "lines": cluster_lines(found),
        "cosines": cosine_table(found),
    }


def _hubs(deep: Deep) -> list[dict[str, Any]]:
    """The table of the model first, then the layers."""
    named = [] if deep.table is None else [(_title(deep.table.name), deep.table.hubness)]
    named += [(f"Layer {one.number}", one.hubness) for one in deep.layers]
    return [
        {
            "title": title,
            "skew": ranged(hubs.skew, hubs.low, hubs.high),
            "antihubs": said(hubs.antihubs, percent),
            "top": said(hubs.top_share, percent),
            "n": hubs.n,
            "k": hubs.k,
            "lines": hub_lines(hubs),
        }
        for title, hubs in named
    ]


def _frequency(deep: Deep) -> list[dict[str, Any]]:
    """The table of the model, and every layer: the bins, the correlations, and what they say."""
    found = [(f"Layer {one.number}", one.frequency) for one in deep.layers]
    if deep.table is not None:
        found.insert(0, (_title(deep.table.name), deep.table.frequency))
    return [
        {
            "title": title,
            "short": f"mean norm and log-frequency: r = {ranged(one.norm_r, one.norm_low, one.norm_high, cosine)}",
            "n": one.n,
            "sentence": one.sentence,
            "correlations": correlations(one),
            "table": bin_table(one),
        }
        for title, one in found
        if one is not None
    ]


def _title(name: str) -> str:
    """A name as it begins a line."""
    shown = printable(name)
    return shown[:1].upper() + shown[1:]
