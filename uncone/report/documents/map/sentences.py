"""Sentences and colors of `map`: what is shown, how far to trust it, and what to run next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.analysis.number_format import clipped, cosine, count, percent
from uncone.analysis.projections.results import METHOD_NAMES, Coloring, Panel, Trust
from uncone.analysis.projections.word_list import WordList
from uncone.data.batch import IntVector, Vector
from uncone.report.charts.model import Coloring as CloudColoring
from uncone.report.text import between, capitalized, command, listed, printable, source_line

if TYPE_CHECKING:
    from uncone.report.documents.map import Map

__all__ = [
    "READING", "SEVERAL", "axes_of", "axis_share", "colored_by", "counts_of", "extent", "marked", "marked_words",
    "method", "panel_colorings", "shown_colors", "shown_points", "stamp", "subtitle", "suggestion", "summary_of",
    "trust_sentences", "trust_text", "unbroken", "where",
]  # fmt: skip

_LINEAR = (
    "The axes are directions of the space: points far apart in the picture are far apart in the space, but neighbors "
    "in the picture may not be neighbors in the space."
)
_NEIGHBORS = "It preserves neighborhoods: don't read anything into the sizes of groups or the distances between them."
READING = {"pca": _LINEAR, "svd": _LINEAR, "tsne": _NEIGHBORS, "umap": _NEIGHBORS}
"""Advice on reading a picture of each method."""

_AXES = {"pca": "PC", "svd": "direction"}
"""Names of the axes that are directions of the space."""

_UNITS = {"words": "word", "tokens": "token", "cls": "CLS vector", "sentences": "text", "texts": "text"}
_IN_MEMORY = ("array", "blocks", "list")
SEVERAL = 3
"""Up to this many pictures the trust of each gets a sentence; beyond, the range does."""
_MOST_NAMES = 6


def method(result: Map) -> str:
    """The name of the method."""
    return METHOD_NAMES.get(result.method, result.method)


def _unit(result: Map) -> str:
    return _UNITS.get(str(result.source.get("row")), "vector")


def axes_of(result: Map) -> list[str]:
    """The names of the axes; none for methods whose axes mean nothing."""
    name = _AXES.get(result.method)
    return [] if name is None else [f"{name} {axis}" for axis in range(1, result.dims + 1)]


def shown_points(result: Map) -> str:
    """The number of points, of how many."""
    n = sum(int(density.counts.sum()) for density in result.density[:1]) if result.density else len(result.places)
    if n == result.total:
        return f"{'all ' if n > 1 else ''}{count(n, _unit(result))}"
    return f"{n:,} of {count(result.total, _unit(result))}"


def where(result: Map) -> str:
    """The layers or the names of the pictures; empty if there is only one."""
    layers = [panel.layer for panel in result.panels]
    numbers = [layer for layer in layers if layer is not None]
    if numbers and len(numbers) == len(layers) and len(set(numbers)) == len(numbers):
        if len(numbers) == 1:
            return f"layer {numbers[0]}"
        whole = numbers == list(range(numbers[0], numbers[-1] + 1))
        return f"layers {numbers[0]} to {numbers[-1]}" if whole else f"layers {', '.join(map(str, numbers))}"
    number = result.source.get("layer")
    layer = "" if number is None else f"layer {number}"
    if len(result.panels) > 1:
        names = listed([printable(panel.name) for panel in result.panels], len(result.panels))
        return f"{layer}, {names}" if layer else names
    return layer


def stamp(result: Map, panel: Panel) -> str:
    """The line in every picture: method, number of points, and seed."""
    n, total = len(panel.points), result.total
    points = f"{n:,} of {count(total, _unit(result))}" if n != total else count(n, _unit(result))
    return f"{method(result)} · {points} · seed {result.seed}"


def trust_sentences(panels: Sequence[Panel]) -> list[str]:
    """Sentences on how far to trust each picture; of many pictures, the range."""
    if len(panels) == 1:
        return [panels[0].trust.sentence]
    if len(panels) <= SEVERAL:
        pairs = [(capitalized(printable(panel.name)), panel.trust.sentence) for panel in panels]
        return [f"{name}: {sentence}" for name, sentence in pairs if sentence]
    scores = [(value, printable(panel.name)) for panel in panels if (value := panel.trust.trustworthiness) is not None]
    if not scores:
        return []
    (low, lowest), (high, highest) = (pick(scores, key=lambda pair: pair[0]) for pick in (min, max))
    return [
        f"The trustworthiness of the {len(panels)} pictures is {cosine(low)} ({lowest}) to {cosine(high)} ({highest}); "
        "1 is best, and a random picture has about 0.5."
    ]


def axis_share(result: Map) -> str:
    """The quantity that the axes hold a share of: SVD does not center, so it is not the variance."""
    return "squared length" if result.method == "svd" else "variance"


def unbroken(text: str) -> str:
    r"""The text without a line break between a number and its percent sign.

    >>> unbroken("67 % of variance")
    '67\xa0% of variance'
    """
    return text.replace(" %", "\u00a0%")


def trust_text(result: Map, trust: Trust) -> str:
    """The numbers of a picture's trust."""
    parts = [
        f"{name} {cosine(value)}"
        for name, value in (("trustworthiness", trust.trustworthiness), ("continuity", trust.continuity))
        if value is not None
    ]
    parts += [f"{percent(trust.explained)} of {axis_share(result)}"] if trust.explained is not None else []
    return ", ".join(parts)


def colored_by(result: Map) -> str:
    """The first coloring with its largest counts; `marked` describes a word list."""
    if not result.colorings:
        return ""
    first = result.colorings[0]
    if first.name == "words" and result.highlight:
        return ""
    title = clipped(printable(first.title), 60)
    if result.density:
        return f"Colored by {title}."
    if first.values is not None:
        return f"Colored by {title}, from {between(*extent(first)[:2], _short)}."
    counts, *others = counts_of(result, first)
    if others:
        return f"Colored by {title}, computed separately for every picture."
    names = [clipped(printable(str(name)) or "without a name", 40) for name in first.names]
    parts = sorted(zip(counts[:-1], names, strict=True), key=lambda part: -part[0])
    largest = [f"{name} ({n:,})" for n, name in parts[:_MOST_NAMES] if n]
    rest = sum(n for n, _ in parts[_MOST_NAMES:]) + counts[-1]
    largest += [f"others ({rest:,})"] if rest else []
    return f"Colored by {title}: {', '.join(largest)}." if largest else f"Colored by {title}."


def marked(result: Map) -> str:
    """The number of points of each word of the list."""
    if not result.highlight:
        return ""
    members = marked_words(result)
    counts = np.bincount(members[members >= 0], minlength=len(result.highlight)).tolist()
    words = [(printable(word), n) for word, n in zip(result.highlight, counts, strict=True)]
    texts, missing = [f"{word} ({n:,})" for word, n in words if n], [word for word, n in words if not n]
    lines = [f"Marked: {', '.join(texts[:12])}{f' and {len(texts) - 12} more' if texts[12:] else ''}."] if texts else []
    lines += [f"Not among the points: {', '.join(missing[:12])}{' …' if missing[12:] else ''}."] if missing else []
    return " ".join(lines)


def _short(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e9 else f"{value:.3g}"


def subtitle(result: Map) -> str:
    """The shape, model, pooling and repair of what is mapped."""
    dimensions = result.source.get("dimensions")
    return source_line(f"{result.total:,} x {dimensions:,}" if dimensions else "", result.source, layer=False)


def suggestion(result: Map) -> str | None:
    """The next command on the same source: the layers of the model in depth, or a check of the vectors."""
    source = result.source
    path = source.get("corpus", source.get("path", source.get("name")))
    if source.get("in_memory") or source.get("kind") in _IN_MEMORY or path in (None, "", "-"):
        return None
    if models := source.get("models"):
        return shlex.join(["uncone", "layers", *models, "--corpus", str(path), "--deep"])
    model, text, row = source.get("model"), source.get("text"), source.get("row")
    column = (",".join(text) if isinstance(text, list | tuple) else text) or None

    def from_source(*options: str) -> dict[str, Any]:
        return {option: source.get(option) for option in options}

    if model is not None and (row in ("words", "tokens", "cls") or source.get("layer") == "all"):
        rows = None if row == "words" else row
        options = {"corpus": path, "text": column, "rows": rows, **from_source("limit", "sample")}
        return f"{command('layers', model, options)} --deep"
    if model is None:
        return command("check", path, from_source("column", "tensor"))
    return command("check", path, {"text": column, **from_source("model", "layer", "pooling", "prompt", "limit")})


def panel_colorings(result: Map) -> list[list[CloudColoring]]:
    """For each picture, the colorings of all points of the map; those that do not differ by picture are shared."""
    shared = {
        each.name: _coloring(each, result.panels[0])
        for each in result.colorings
        if not (each.by_panel or each.values_by_panel)
    }
    return [[shared.get(each.name) or _coloring(each, panel) for each in result.colorings] for panel in result.panels]


def _coloring(coloring: Coloring, panel: Panel) -> CloudColoring:
    if coloring.values is not None:
        return CloudColoring(coloring.title, values=_values(coloring, panel))
    codes = _codes(coloring, panel)
    unknown = int((codes < 0).sum())
    rest = "unknown" if not coloring.other else "other" if coloring.other >= unknown else "other or unknown"
    rest = "none of them" if coloring.name == "words" else rest
    return CloudColoring(coloring.title, codes, [str(name) for name in coloring.names], rest=rest)


def _codes(coloring: Coloring, panel: Panel) -> IntVector:
    """The category of every point of the map in this picture, -1 if it is unknown."""
    members = coloring.by_panel.get(panel.name, coloring.members)
    return np.full(int(panel.places.max(initial=-1)) + 1, -1) if members is None else np.asarray(members, np.int64)


def _values(coloring: Coloring, panel: Panel) -> Vector:
    return np.asarray(coloring.values_by_panel.get(panel.name, coloring.values), np.float64)


def shown_colors(coloring: Coloring, panel: Panel) -> Vector | list[str | None]:
    """The number or the category of every point of a picture."""
    if coloring.values is not None:
        return _values(coloring, panel)[panel.places]
    names = dict(enumerate(map(str, coloring.names)))
    return [names.get(code) for code in _codes(coloring, panel)[panel.places].tolist()]


def counts_of(result: Map, coloring: Coloring) -> list[list[int]]:
    """The points of each category, and the unknown ones last: once, or for each picture if that differs."""
    k = len(coloring.names)
    every = [_codes(coloring, panel)[panel.places] for panel in result.panels if coloring.by_panel]
    every = every or [_codes(coloring, result.panels[0])]
    return [np.bincount(np.where((codes >= 0) & (codes < k), codes, k), minlength=k + 1).tolist() for codes in every]


def extent(coloring: Coloring) -> tuple[float, float, int, int]:
    """The smallest and the largest number in all pictures, and the number of known and unknown values."""
    values = np.concatenate([*coloring.values_by_panel.values()] or [np.asarray(coloring.values, np.float64)])
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    return low, high, len(finite), len(values) - len(finite)


def summary_of(result: Map, coloring: Coloring) -> dict[str, Any]:
    """A coloring without its points: the points of each category, or the range of its numbers."""
    head: dict[str, Any] = {"name": coloring.name, "title": coloring.title}
    if coloring.values is not None:
        low, high, n_known, n_unknown = extent(coloring)
        ends = {"low": low, "high": high} if n_known else {"low": None, "high": None}
        return {**head, "kind": "numbers", **ends, "known": n_known, "unknown": n_unknown}
    names = [str(name) for name in coloring.names]
    tallies = [dict(zip(names, counts, strict=False)) for counts in counts_of(result, coloring)]
    if coloring.by_panel:
        panels = [panel.name for panel in result.panels]
        return {**head, "kind": "names", "by_panel": dict(zip(panels, tallies, strict=True))}
    n_unknown = 0 if coloring.members is None else int((np.asarray(coloring.members) < 0).sum())
    return {**head, "kind": "names", "counts": tallies[0], "other": coloring.other,
            "unknown": n_unknown - coloring.other}  # fmt: skip


def marked_words(result: Map) -> IntVector:
    """The word of the list that each point is or contains, -1 for none."""
    listed = next((coloring for coloring in result.colorings if coloring.name == "words"), None)
    if listed is not None and listed.members is not None and tuple(listed.names) == tuple(result.highlight):
        return np.asarray(listed.members, np.int64)
    n = len(result.places)
    if result.texts is None or not len(result.highlight):
        return np.full(n, -1, np.int64)
    texts = [result.text(point) for point in range(n)]
    distinct = list(dict.fromkeys(texts))
    words = dict(zip(distinct, WordList(result.highlight).firsts(distinct, len(distinct)).tolist(), strict=True))
    return np.array([words[text] for text in texts], np.int64)
