"""A similarity as one page that works offline, and as a fragment for notebooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from uncone._version import __version__
from uncone.diagnosis.words import cosine, count
from uncone.likeness.results import Groups, Pairs
from uncone.report.grid_charts import Figure
from uncone.report.lines import MARKS
from uncone.report.page import environment, plotly_script, today
from uncone.report.similar import Similarity
from uncone.report.similar_charts import agreement, histogram, label_charts
from uncone.report.similar_columns import columns_chart
from uncone.report.similar_heatmap import heatmaps
from uncone.report.similar_lines import (
    CLEANED,
    compared,
    crowded,
    duplicate_card,
    group_title,
    level,
    reason,
    subtitle,
    tail_score,
    unit,
)
from uncone.report.similar_maps import maps
from uncone.report.similar_numbers import above, bounds, exact, mean_of, number, percentile_text, signed
from uncone.report.similar_palette import Palette, palettes
from uncone.report.similar_why import INTRO, folklore, steps_shown, why_charts
from uncone.report.text import provenance_facts

__all__ = ["charts", "notebook", "render"]

_MOST_PAIRS = 200
_MOST_ROWS = 24
"""Lines of a table of labels or groups that stand open; the others are folded."""
_LONGEST = 400
"""Letters of a text on the page; the files have all of it."""


def render(result: Similarity) -> str:
    """The whole page, with the JSON that it offers for download."""
    drawn = charts(result)
    return (
        environment()
        .get_template("similar.html")
        .render(
            **_words(result),
            whole=True,
            first={"provenance": {"uncone": result.provenance.get("uncone", __version__)}},
            name=_title(result),
            cards=_cards(result),
            figures=drawn,
            charts=[figure for part in drawn.values() for figure in part],
            store=_store(result, drawn),
            palettes=_legends(result) if result.projections else [],
            steps=steps_shown(result),
            intro=_intro(result),
            folklore=folklore(result),
            health=_health(result),
            provenance=provenance_facts({**_source(result), **result.provenance}),
            plotly=plotly_script(),
            summary=result.to_json(),
            today=today(),
        )
    )


def notebook(result: Similarity) -> str:
    """The sentences, the table of labels and the first pairs: what a notebook shows."""
    return environment().get_template("similar.html").render(**_words(result), whole=False)


def charts(result: Similarity) -> dict[str, list[Figure]]:
    """The charts by the section that they stand in."""
    agreements = [one for place, groups in enumerate(result.groups) if (one := agreement(groups, place)) is not None]
    columns = columns_chart(result)
    return {
        "heatmaps": heatmaps(result),
        "histogram": [histogram(result)],
        "labels": label_charts(result),
        "columns": [] if columns is None else [columns],
        "groups": agreements,
        "maps": maps(result),
        "why": why_charts(result),
    }


def _words(result: Similarity) -> dict[str, Any]:
    shown = level(result)
    table = result.per_label.table if result.per_label is not None else []
    return {
        "result": result,
        "level": shown,
        "mark": MARKS[shown],
        "subtitle": subtitle(result),
        "unit": unit(result),
        "lines": result.lines(),
        "table": table,
        "pairs": _listed(result, result.pairs),
        "duplicates": _listed(result, result.duplicates),
        "crowded": crowded(result),
        "near": None if result.near is None else _listed(result, result.near),
        "mean_of": mean_of,
        "bounds": bounds,
        "above": above,
        "number": number,
        "signed": signed,
        "group_title": group_title,
        "reason": reason,
        "short": _short,
        "most": _MOST_ROWS,
        "note_of": _note,
    }


def _listed(result: Similarity, pairs: Pairs) -> list[dict[str, Any]]:
    """Pairs as the tables show them, with texts that are not longer than a reader reads."""
    return [
        {
            "one": pair.one,
            "other": pair.other,
            "cosine": exact(pair.cosine),
            "percentile": percentile_text(pair.percentile),
            "text": _short(pair.text),
            "other_text": _short(pair.other_text),
            "label": pair.label,
            "other_label": pair.other_label,
        }
        for pair in result.listed(pairs, _MOST_PAIRS)
    ]


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _intro(result: Similarity) -> str:
    """What the walk is over: with two columns of texts, those of the first among themselves."""
    if result.two_columns is None:
        return INTRO
    named = str(result.source.get("text") or 1)
    return f"{INTRO} These are the texts of column {named} with each other, not with those beside them."


def _title(result: Similarity) -> str:
    return str(result.source["name"]).rstrip("/").rsplit("/", 1)[-1]


def _cards(result: Similarity) -> list[tuple[str, str]]:
    """Four numbers, each with its meaning under it."""
    background = result.background
    spread = f"({number(background.mean_low)} to {number(background.mean_high)})"
    cards = [(number(background.mean), f"mean cosine of unrelated pairs {spread}")]
    one = tail_score(result, 0.01)
    if one is not None:
        cards.append((number(one), "1 % of unrelated pairs score as much or more"))
    labels, two = result.per_label, result.two_columns
    if two is not None and np.isfinite(two.cosines).any():
        mean = float(np.nanmean(two.cosines))
        cards.append((number(mean), f"mean cosine side by side, {signed(mean - background.mean)} to the background"))
    if labels is not None and labels.auc is not None:
        low, high = labels.auc_low, labels.auc_high
        sure = "" if low is None or high is None else f" ({cosine(low)} to {cosine(high)})"
        cards.append((cosine(labels.auc), f"AUC of pairs within a label against between{sure}; 0.5 is a guess"))
    cards.append(duplicate_card(result))
    cards.append((f"{compared(result):,}", f"{unit(result)}s compared"))
    return cards[:4]


def _store(result: Similarity, drawn: dict[str, list[Figure]]) -> dict[str, Any]:
    """The texts that charts point at, each once, and which of them every chart shows."""
    used = [int(row) for _, picture in result.pictures for row in picture.rows]
    used += [int(row) for row in result.projected] if result.projections else []
    walks = {f"why-{place}": step.rows for place, step in enumerate(result.steps, 1) if step.heatmap is not None}
    used += [int(row) for shown in walks.values() if shown is not None for row in shown]
    rows = sorted(set(used))
    places = {row: place for place, row in enumerate(rows)}
    shown = palettes(result) if result.projections else []
    pictured = {
        figure["id"]: {
            "kind": figure["id"].rsplit("-", 1)[1],
            "picture": int(figure["id"].split("-")[1]),
            "rows": _placed(places, result.pictures[int(figure["id"].split("-")[1])][1].rows),
        }
        for figure in drawn["heatmaps"][: 2 * len(result.pictures)]
    }
    return {
        "numbers": rows,
        "texts": None if result.texts is None else [_short(result.texts[row]) for row in rows],
        "labels": None if result.labels is None else [result.labels[row] for row in rows],
        "heatmaps": pictured,
        "walks": {key: _placed(places, shown) for key, shown in walks.items() if shown is not None},
        "maps": [figure["id"] for figure in drawn["maps"]],
        "points": _placed(places, result.projected) if result.projections else [],
        "palettes": [_coloured(one, [int(row) for row in result.projected]) for one in shown],
    }


def _placed(places: dict[int, int], rows: Iterable[Any]) -> list[int]:
    return [places[int(row)] for row in rows]


def _legends(result: Similarity) -> list[tuple[str, list[tuple[str, str, int]]]]:
    """Every way to colour a map: its title, and the names, colours and dots of its categories."""
    made = []
    for palette in palettes(result):
        held = Counter(palette.members[int(row)] for row in result.projected)
        shown = enumerate(zip(palette.names, palette.colours, strict=True))
        made.append((palette.title, [(name, colour, held[at]) for at, (name, colour) in shown if held[at]]))
    return made


def _coloured(palette: Palette, rows: Sequence[int]) -> dict[str, Any]:
    return {
        "names": list(palette.names),
        "colours": list(palette.colours),
        "members": [palette.members[row] for row in rows],
    }


def _health(result: Similarity) -> list[tuple[str, str]]:
    """What was cleaned or left out, by what it is."""
    lines = [(CLEANED.get(what, what), f"{n:,}") for what, n in result.cleaned.items()]
    lines += [
        (f"{reason}, not in the background", count(n, "pair")) for reason, n in result.background.left_out.items()
    ]
    return lines


def _source(result: Similarity) -> dict[str, Any]:
    hidden = ("in_memory", "path")
    return {key: value for key, value in result.source.items() if value is not None and key not in hidden}


def _note(groups: Groups) -> str:
    """What a grouping comes to, in a line."""
    if groups.outliers:  # the note says so
        return ""
    parts = [] if groups.silhouette is None else [f"silhouette {number(groups.silhouette, 2)}"]
    parts += [] if groups.ari is None else [f"agreement with the labels (ARI) {number(groups.ari, 2)}"]
    return ", ".join(parts)
