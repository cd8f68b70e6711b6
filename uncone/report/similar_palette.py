"""Colours of a similarity: a categorical palette for labels and groups, and a scale around a middle."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from uncone.diagnosis.words import clipped
from uncone.report.diagnosis_charts import OKABE_ITO
from uncone.report.similar import Similarity
from uncone.report.similar_lines import group_title
from uncone.report.text import printable

__all__ = ["DIVERGING", "OTHER", "SHARES", "SOFT", "Palette", "labels_palette", "palettes"]

DIVERGING = [[0, "rgba(30,112,190,1)"], [0.5, "rgba(128,136,144,0.07)"], [1, "rgba(214,96,6,1)"]]
"""Blue below the middle, orange above; the middle lets the paper through, so that it suits light and dark."""
SOFT = [[0, "rgba(30,112,190,0.62)"], [0.5, "rgba(128,136,144,0.05)"], [1, "rgba(214,96,6,0.66)"]]
"""The same where a number stands in the cell."""
SHARES = [[0, "rgba(30,112,190,0.03)"], [1, "rgba(30,112,190,0.62)"]]
OTHER = "#8a949e"
_NONE, _EMPTY = "in no group", "without a label"


@dataclass(frozen=True)
class Palette:
    """What rows are coloured by: the category of every row as a place in `names`, with their colours."""

    title: str
    names: Sequence[str]
    colours: Sequence[str]
    members: Sequence[int]


def labels_palette(result: Similarity) -> Palette | None:
    """Rows by label; None where there are none."""
    if result.labels is None:
        return None
    name = str(result.source.get("label") or "label")
    title = f"column {name}" if name.isdecimal() else name
    shown = {label: printable(label) or _EMPTY for label in set(result.labels)}
    return _palette(title, [shown[label] for label in result.labels])


def palettes(result: Similarity) -> list[Palette]:
    """Every way that rows can be coloured: the labels, then the groups of every method."""
    labels = labels_palette(result)
    made = [] if labels is None else [labels]
    for groups in result.groups:
        names = [_NONE if one < 0 else f"group {one}" for one in np.asarray(groups.members).tolist()]
        made.append(_palette(group_title(groups), names))
    return made


def _palette(title: str, members: Sequence[str]) -> Palette:
    """The most frequent have colours of their own; when there are more than colours, the others share a grey."""
    counted = [name for name, _ in Counter(members).most_common() if name not in (_NONE, _EMPTY)]
    own = len(OKABE_ITO) if len(counted) <= len(OKABE_ITO) else len(OKABE_ITO) - 1
    named = sorted(counted[:own], key=_natural)
    places = {name: place for place, name in enumerate(named)}
    names, colours = list(named), list(OKABE_ITO[: len(named)])
    grey = [f"{len(counted) - own:,} others"] if len(counted) > own else []
    without = [name for name in (_NONE, _EMPTY) if name in set(members)]
    if grey or without:
        names.append(", ".join([*grey, *without]))
        colours.append(OTHER)
    return Palette(
        title, [clipped(one, 40) for one in names], colours, [places.get(one, len(named)) for one in members]
    )


def _natural(name: str) -> list[tuple[int, str]]:
    """Group 2 before group 10."""
    return [(int(one) if one.isdecimal() and one.isascii() else -1, one) for one in re.split(r"([0-9]+)", name)]
