"""Measures over the checkpoints of a training, in the order in which they are named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from uncone.analysis.measures.registry import measures, placed
from uncone.report.charts.model import Axis, Chart, Line
from uncone.report.charts.theme import series_color
from uncone.report.document import Block, Column, Section, table
from uncone.report.documents.layers.curves import finding_line, value_axis
from uncone.report.documents.layers.overview import entry
from uncone.report.text import shorten

if TYPE_CHECKING:
    from uncone.report.documents.layers import LayerStudy

__all__ = ["revision_section"]


def revision_section(studies: Sequence[LayerStudy]) -> Section | None:
    """The curves of every model with several checkpoints; None without any."""
    groups: dict[tuple[str, str], list[LayerStudy]] = {}
    for study in studies:
        if revision := str(study.source.get("revision", "")):
            base = str(study.source["model"]).removesuffix(revision).rstrip("/@")
            groups.setdefault((base, str(study.source["corpus"])), []).append(study)
    several = [(names, group) for names, group in groups.items() if len(group) > 1]
    if not several:
        return None
    blocks: list[Block] = []
    for place, ((model, corpus), group) in enumerate(several, 1):
        name = "" if len(several) == 1 else f"{shorten(model.rsplit('/', 1)[-1])} on {shorten(corpus)}"
        blocks += _charts(group, name, "" if len(several) == 1 else f"_{place}")
    return Section(
        "Over the checkpoints",
        blocks,
        intro="The same model at several points of its training, in the order in which they were named. Bands are "
        "95 % intervals.",
        brief=[_table(group) for _, group in several],
        name="revisions",
    )


def _charts(group: Sequence[LayerStudy], name: str, suffix: str) -> list[Chart]:
    revisions = [str(study.source["revision"]) for study in group]
    depth = min(len(study.layers) for study in group)
    places = sorted({0, depth // 2, depth - 1})
    charts = []
    for key in placed("layers", "layers"):
        declared = measures("layers")[key].chart
        lines = [line for layer in places if (line := _line(group, key, layer, places)) is not None]
        if declared is None or not lines:
            continue
        row = group[0].row_noun
        caption = f"{declared.caption.replace('{row}', row)} Layers {', '.join(map(str, places))}."
        title = f"{declared.title.replace('{row}', row)}, by checkpoint{f': {name}' if name else ''}"
        x = Axis("checkpoint", "checkpoint", categories=[shorten(revision, 24) for revision in revisions])
        y = value_axis(key, declared.axis, lines, zero=declared.zero)
        charts.append(Chart(f"revisions_{key}{suffix}", title, caption, lines, x, y, direct=True))
    return charts


def _line(group: Sequence[LayerStudy], name: str, layer: int, places: Sequence[int]) -> Line | None:
    findings = [(place, study.layers[layer].findings.get(name)) for place, study in enumerate(group)]
    label = f"layer {group[0].layers[layer].number}"
    style: dict[str, Any] = {"label": label, "color": series_color(places.index(layer)), "group": label, "points": True}
    return finding_line(name, findings, **style)


def _table(group: Sequence[LayerStudy]) -> Block:
    """The last layer of every checkpoint."""
    names = [name for name in placed("layers", "layers") if any(name in study.layers[-1].findings for study in group)]
    rows = [
        [
            shorten(str(study.source["revision"]), 28),
            *(_value(study, name) for name in names),
        ]
        for study in group
    ]
    heads = [Column(" ".join(filter(None, entry(name, group[0]).column))) for name in names]
    return table(["checkpoint", *heads], rows, title="The last layer, by checkpoint")


def _value(study: LayerStudy, name: str) -> str:
    finding = study.layers[-1].findings.get(name)
    if finding is None or finding.magnitude is None:
        return ""
    return measures("layers")[name].unit.format(finding.value)
