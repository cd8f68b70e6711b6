"""A study as one page that works offline, and as a fragment for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from uncone.diagnosis.contrast import Contrast
from uncone.diagnosis.finding import Finding
from uncone.diagnosis.words import clipped, cosine, percent, plain
from uncone.report.deep_page import behind
from uncone.report.lines import interval, number
from uncone.report.overlay_panels import contrast_names
from uncone.report.page import environment, plotly_script, today
from uncone.report.panel import STUDY_COLOURS
from uncone.report.study import LayerStudy
from uncone.report.study_charts import charts
from uncone.report.study_lines import (
    about_intervals,
    chosen,
    difference,
    entry,
    extremes,
    headline,
    landmarks,
    main_measures,
    measures,
    noted,
    noun,
    number_at,
    short_names,
    sinks,
    size_table,
    subtitle,
)

__all__ = ["notebook", "render"]

Card = dict[str, str]
_SUNK = 10
"""Layers with sinks that the page lists; the table has them all."""
_LISTED = 3
"""Dimensions that a cell of the table has room for."""


def render(parts: Sequence[LayerStudy], contrasts: Sequence[Contrast], summary: str) -> str:
    """The whole page; `summary` is the JSON that it offers for download."""
    return (
        environment()
        .get_template("study.html")
        .render(
            views=_views(parts),
            behind=behind(parts),
            first=parts[0],
            charts=charts(parts, contrasts),
            definitions=_definitions(parts),
            differences=_differences(parts, contrasts),
            about_intervals=about_intervals(parts),
            plotly=plotly_script(),
            summary=summary,
            today=today(),
        )
    )


def notebook(parts: Sequence[LayerStudy]) -> str:
    """The story and the main curves without charts: what a notebook shows."""
    views = [_view(study, study.name, names=main_measures()) for study in parts]
    return environment().get_template("study_notebook.html").render(views=views)


def _views(parts: Sequence[LayerStudy]) -> list[dict[str, Any]]:
    """The studies with what tells them apart: a name, and the colour of their curves."""
    colours = [STUDY_COLOURS[place % len(STUDY_COLOURS)] for place in range(len(parts))]
    words = 10 if len(parts) == 1 else 5
    views = [_view(study, name, words=words) for study, name in zip(parts, short_names(parts), strict=True)]
    css = [colour if colour.startswith("#") else f"var(--{colour})" for colour in colours]
    return [{**view, "colour": colour} for view, colour in zip(views, css, strict=True)]


def _view(study: LayerStudy, name: str, *, words: int = 0, names: Sequence[str] = ()) -> dict[str, Any]:
    """What a template shows of a study; only some measures for a notebook."""
    there = [one for one in measures(study) if not names or one in names]
    most, least = extremes(study, words)
    single = len(study.layers) == 1
    return {
        "study": study,
        "name": name,
        "subtitle": subtitle(study),
        "headline": headline(study),
        "rest": list(study.story[1:]),
        "behind": [] if study.deep is None else list(study.deep.story),
        "notes": noted(study),
        "cards": _cards(study),
        "most": most,
        "least": least,
        "landmarks": [study.layers[place].number for place in landmarks(study)],
        "sinks": _sunk(study),
        "heads": ["value", "95 % interval", "n"] if single else [layer.number for layer in study.layers],
        "table": [_row(study, one) for one in there],
        "sizes": size_table(study),
    }


def _sunk(study: LayerStudy) -> list[tuple[int, Finding, list[str]]]:
    """The layers with sinks and examples of them; a few of the layers when there are many."""
    found = sinks(study)
    picked = [found[place] for place in chosen(len(found), _SUNK)]
    return [(number, one, [_example(row) for row in one.rows]) for number, one in picked]


def _example(row: dict[str, Any]) -> str:
    text = row.get("text")
    named = f"{clipped(str(text), 80)} · " if text is not None else ""
    return f"{named}row {row['row']:,}, norm {plain(float(row['value']))}"


def _row(study: LayerStudy, name: str) -> dict[str, Any]:
    """A measure at every layer; the interval and n are in the titles of the cells."""
    known = entry(name, study)
    cells = [_cell(layer.findings.get(name)) for layer in study.layers]
    if len(study.layers) == 1:
        # With one layer there is room for what is elsewhere in the titles of the cells.
        one = study.layers[0].findings[name]
        cells += [{"text": text, "title": "", "listed": False} for text in (interval(one), f"{one.n:,}")]
    return {
        "name": name,
        "title": known.title,
        "definition": known.definition,
        "main": name in main_measures(),
        "cells": cells,
    }


def _cell(finding: Finding | None) -> dict[str, Any]:
    if finding is None:
        return {"text": "", "title": "", "listed": False}
    text = number(finding)
    if isinstance(finding.value, list) and len(finding.value) > _LISTED:
        text = ", ".join(map(str, finding.value[:_LISTED])) + " …"
    said = [f"95 %: {interval(finding)}" if interval(finding) else "", f"n = {finding.n:,}", finding.meaning]
    if isinstance(finding.value, list):
        said.insert(0, ", ".join(map(str, finding.value)))
    listed = isinstance(finding.value, list)
    return {"text": text, "title": "\n".join(part for part in said if part), "listed": listed}


def _cards(study: LayerStudy) -> list[Card]:
    """Four numbers of the last layer, each with its meaning under it."""
    makers = (_baseline_card, _selfsim_card, _intrasim_card, _sinks_card, _isoscore_card, _rank_card, _rogue_card)
    return [card for make in makers if (card := make(study)) is not None][:4]


def _baseline_card(study: LayerStudy) -> Card | None:
    value = number_at(study, "baseline")
    if value is None:
        return None
    where = _where(study)
    known = [
        (one, layer.number) for place, layer in enumerate(study.layers) if (one := number_at(study, "baseline", place))
    ]
    most, number = max(known, default=(value, study.layers[-1].number))
    label = f"mean cosine of random {noun(study)}{where}"
    if len(study.layers) > 1:
        here = number == study.layers[-1].number
        label += ", the most crowded" if here else f"; layer {number} is the most crowded: {cosine(most)}"
    return {"value": cosine(value), "label": label}


def _selfsim_card(study: LayerStudy) -> Card | None:
    value = number_at(study, "selfsim_adjusted")
    label = f"self-similarity of a word above random {noun(study)}{_where(study)}"
    return None if value is None else {"value": cosine(value), "label": label}


def _intrasim_card(study: LayerStudy) -> Card | None:
    value = number_at(study, "intrasim_adjusted_matched")
    label = f"similarity within sentences above unrelated words{_where(study)}"
    return None if value is None else {"value": cosine(value), "label": label}


def _sinks_card(study: LayerStudy) -> Card | None:
    found = sinks(study)
    if not found:
        return None
    most = max(one.magnitude or 0.0 for _, one in found)
    layers = f"layer {found[0][0]}" if len(found) == 1 else f"{len(found)} layers, {found[0][0]} to {found[-1][0]}"
    upto = "" if len(found) == 1 else "up to "
    return {
        "value": f"{upto}{most:,.0f} {'sink' if most == 1 else 'sinks'}",
        "label": f"rows over 10 times the median norm, in {layers}",
    }


def _isoscore_card(study: LayerStudy) -> Card | None:
    value = number_at(study, "isoscore_corrected")
    label = f"IsoScore{_where(study)}; 1 uses all directions alike"
    return None if value is None else {"value": cosine(value), "label": label}


def _rank_card(study: LayerStudy) -> Card | None:
    value = number_at(study, "effective_rank")
    label = f"directions in use{_where(study)}"
    return None if value is None else {"value": f"{plain(value)} of {study.source['dimensions']:,}", "label": label}


def _rogue_card(study: LayerStudy) -> Card | None:
    value = number_at(study, "rogue_share_3")
    label = f"of the mean cosine in three dimensions{_where(study)}"
    return None if value is None else {"value": percent(value), "label": label}


def _where(study: LayerStudy) -> str:
    return " in the last layer" if len(study.layers) > 1 else ""


def _definitions(parts: Sequence[LayerStudy]) -> list[dict[str, str]]:
    there = {name: study for study in reversed(parts) for name in measures(study)}
    order = dict.fromkeys(name for study in parts for name in measures(study))
    known = [(name, entry(name, there[name])) for name in order]
    return [{"name": name, "title": one.title, "definition": one.definition, "paper": one.paper} for name, one in known]


def _differences(parts: Sequence[LayerStudy], contrasts: Sequence[Contrast]) -> list[dict[str, Any]]:
    """A table for each contrast: measures by pairs of layers."""
    tables = []
    for contrast, (of, to) in zip(contrasts, contrast_names(parts, contrasts), strict=True):
        names = list(dict.fromkeys(name for found in contrast.findings for name in found))
        rows = [
            {"title": entry(name, parts[0]).title, "cells": [_gap(found.get(name)) for found in contrast.findings]}
            for name in names
        ]
        heads = [str(b) if a == b else f"{b} vs {a}" for a, b in contrast.layers]
        tables.append(
            {"of": of, "to": to, "heads": heads, "rows": rows, "paired": any(a != b for a, b in contrast.layers)}
        )
    return tables


def _gap(finding: Finding | None) -> dict[str, Any]:
    """A difference; bold when its interval leaves zero out."""
    if finding is None:
        return {"text": "", "title": "", "sure": False}
    text, _, bounds = difference(finding).partition(" ")
    sure = bool(bounds) and (finding.low > 0 or finding.high < 0)
    said = [f"95 %: {bounds.strip('()')}" if bounds else "", f"n = {finding.n:,}", finding.meaning]
    return {"text": text, "title": "\n".join(part for part in said if part), "sure": sure}
