"""What lies behind the cone on the terminal: a line per layer, or a line per model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.text import Text

from uncone.diagnosis.deep_results import DeepLayer
from uncone.diagnosis.words import cosine, count, plain
from uncone.report.deep_lines import base_rows, dimension_table, said
from uncone.report.study import LayerStudy
from uncone.report.text import fitted, printable

__all__ = ["layer_lines", "model_lines", "sentences"]

_HEADS = ("layer", "LID", "LID", "clusters", "silhouette", "hubness", "freq-norm")
_SAID = 3
_COLUMN = 11
_LETTERS = 240
"""What a reader takes in of one finding on the terminal; the report has it all."""


def sentences(study: LayerStudy) -> list[str]:
    """The most important of the story, and how many more there are."""
    story = [] if study.deep is None else list(study.deep.story)
    more = len(story) - _SAID
    return [
        *map(_shortened, story[:_SAID]),
        *([f"{count(more, 'more sentence')} behind the cone in the report."] if more > 0 else []),
    ]


def layer_lines(study: LayerStudy, places: Sequence[int]) -> list[Text]:
    """A table of these layers: local dimension, clusters, hubs, frequency."""
    if study.deep is None:
        return []
    last = study.deep.layers[-1]
    below = ("", "euclidean", "cosine", "k", "", f"skew, k={last.hubness.k}", "r")
    lines = [Text(f"{heads[0]:>7}{_cells(heads[1:])}".rstrip(), style="bold") for heads in (_HEADS, below)]
    layers = [study.deep.layers[place] for place in places if place < len(study.deep.layers)]
    lines += [Text(f"{one.number:>7}{_cells(_row(one))}") for one in layers]
    nearest = last.dimensions["euclidean"].k
    based = f"LID: the {nearest} nearest of n = {base_rows(study.deep.layers)}; published as half of it"
    return [*lines, Text(f"  {based}", style="dim")]


def _shortened(told: str) -> str:
    """The first sentences of a finding, as many as are short together; always the first."""
    ends = [*_ends(told), len(told)]
    return told[: max((end for end in ends if end <= _LETTERS), default=ends[0])]


def _ends(told: str) -> list[int]:
    """Where its sentences end but for the last; a full stop in a text that is quoted is none."""
    stops = [found.start() for found in re.finditer(r"\. ", told)]
    return [stop + 1 for stop in stops if told.count("“", 0, stop) == told.count("”", 0, stop)]


def _row(one: DeepLayer) -> list[str]:
    return [
        said(one.dimensions["euclidean"].value),
        said(one.dimensions["cosine"].value),
        f"{one.clusters.k}",
        said(one.clusters.silhouette, cosine),
        said(one.hubness.skew, plain),
        said(None if one.frequency is None else one.frequency.norm_r, cosine),
    ]


def _cells(values: Sequence[str]) -> str:
    return "".join(f"{value:>{_COLUMN}}" for value in values)


def model_lines(parts: Sequence[LayerStudy]) -> list[Text]:
    """Local dimension of contextual layers against static tables."""
    table = dimension_table(parts)
    if table is None:
        return []
    heads = f"  {'local dimension':<48}{'eucl.':>7}{'cosine':>8}{'n':>11}"
    lines = [Text(heads, style="bold")]
    for model, vectors, kind, euclid, angle, _, _, n, _ in table.rows:
        # "8,123 to 8,200" has no room here.
        rows = n.split(" to ")[-1]
        name = fitted(f"{fitted(printable(model), 20)}: {vectors}", 36)
        values = f"{_bare(euclid):>7}{_bare(angle):>8}{rows:>11}"
        lines.append(Text(f"  {name:<37}{kind:<11}{values}"))
    return [*lines, Text("  on true distances; on squared ones, as published, half", style="dim"), Text("")]


def _bare(value: str) -> str:
    """A number without its interval."""
    return value.partition(" ")[0]
