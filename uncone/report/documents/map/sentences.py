"""Sentences of `map`: what is shown, how far to trust it, and what to run next."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.analysis.number_format import clipped, cosine, count, percent
from uncone.analysis.projections.results import METHOD_NAMES, Panel, Trust
from uncone.report.documents.map.colors import counts_of, extent, marked_words
from uncone.report.text import between, capitalized, listed, printable, source_name

if TYPE_CHECKING:
    from uncone.report.documents.map import Map

__all__ = [
    "SEVERAL", "axes_of", "axis_share", "method", "sentences", "shown_points", "stamp", "subtitle", "suggestion",
    "trust_text", "unbroken", "where",
]  # fmt: skip

_LINEAR = (
    "The axes are directions of the space: points far apart in the picture are far apart in the space, but neighbors "
    "in the picture may not be neighbors in the space."
)
_NEIGHBORS = "It shows neighbors: don't read anything into the distance between far groups or their size."
_READING = {"pca": _LINEAR, "svd": _LINEAR, "tsne": _NEIGHBORS, "umap": _NEIGHBORS}
"""How to read a picture of each method."""

_AXES = {"pca": "PC", "svd": "direction"}
"""Names of the axes that are directions of the space."""

_UNITS = {"words": "word", "tokens": "token", "cls": "CLS vector", "sentences": "text", "texts": "text"}
_IN_MEMORY = ("array", "blocks", "list")
SEVERAL = 3
"""Up to this many pictures the trust of each gets a sentence; beyond, the range does."""
_NAMED = 6


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
    known = [layer for layer in layers if layer is not None]
    if known and len(known) == len(layers) and len(set(known)) == len(known):
        if len(known) == 1:
            return f"layer {known[0]}"
        whole = known == list(range(known[0], known[-1] + 1))
        return f"layers {known[0]} to {known[-1]}" if whole else f"layers {', '.join(map(str, known))}"
    number = result.source.get("layer")
    layer = "" if number is None else f"layer {number}"
    if len(result.panels) > 1:
        names = listed([printable(panel.name) for panel in result.panels], len(result.panels))
        return f"{layer}, {names}" if layer else names
    return layer


def stamp(result: Map, panel: Panel) -> str:
    """The line in every picture: method, number of points, and seed."""
    n, total = len(panel.points), result.total
    shown = f"{n:,} of {count(total, _unit(result))}" if n != total else count(n, _unit(result))
    return f"{method(result)} · {shown} · seed {result.seed}"


def sentences(result: Map) -> list[str]:
    """How far to trust the pictures, how to read them, the first coloring, the marked words."""
    lines = [*_trusts(result.panels), _READING.get(result.method, ""), _colored_by(result), _marked(result)]
    return [line for line in lines if line]


def _trusts(panels: Sequence[Panel]) -> list[str]:
    if len(panels) == 1:
        return [panels[0].trust.sentence]
    if len(panels) <= SEVERAL:
        named = [(capitalized(printable(panel.name)), panel.trust.sentence) for panel in panels]
        return [f"{name}: {sentence}" for name, sentence in named if sentence]
    known = [(value, printable(panel.name)) for panel in panels if (value := panel.trust.trustworthiness) is not None]
    if not known:
        return []
    (low, lowest), (high, highest) = (pick(known, key=lambda pair: pair[0]) for pick in (min, max))
    return [
        f"The trustworthiness of the {len(panels)} pictures is {cosine(low)} ({lowest}) to {cosine(high)} ({highest}); "
        "1 is best, and a random picture has about 0.5."
    ]


def axis_share(result: Map) -> str:
    """What the axes hold a share of: SVD does not center, so it is not the variance."""
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


def _colored_by(result: Map) -> str:
    """The first coloring with its largest counts; `_marked` describes a word list."""
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
    largest = [f"{name} ({n:,})" for n, name in parts[:_NAMED] if n]
    rest = sum(n for n, _ in parts[_NAMED:]) + counts[-1]
    largest += [f"others ({rest:,})"] if rest else []
    return f"Colored by {title}: {', '.join(largest)}." if largest else f"Colored by {title}."


def _marked(result: Map) -> str:
    """The number of points of each word of the list."""
    if not result.highlight:
        return ""
    members = marked_words(result)
    counts = np.bincount(members[members >= 0], minlength=len(result.highlight)).tolist()
    words = [(printable(word), n) for word, n in zip(result.highlight, counts, strict=True)]
    shown, missing = [f"{word} ({n:,})" for word, n in words if n], [word for word, n in words if not n]
    lines = [f"Marked: {', '.join(shown[:12])}{f' and {len(shown) - 12} more' if shown[12:] else ''}."] if shown else []
    lines += [f"Not among the points: {', '.join(missing[:12])}{' …' if missing[12:] else ''}."] if missing else []
    return " ".join(lines)


def _short(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e9 else f"{value:.3g}"


def subtitle(result: Map) -> str:
    """What is mapped: shape, model, pooling, repair."""
    source = result.source
    parts = [f"{result.total:,} x {source['dimensions']:,}"] if source.get("dimensions") else []
    if source.get("model"):
        parts.append(source_name(source["model"]))
    parts += [str(source["pooling"])] if source.get("pooling") else []
    parts += [f"repaired by {source['repair']}"] if source.get("repair") else []
    return " · ".join(printable(part) for part in parts)


def suggestion(result: Map) -> str | None:
    """The next command on the same source: the layers of the model in depth, or a check of the vectors."""
    source = result.source
    path = source.get("corpus", source.get("path", source.get("name")))
    if source.get("in_memory") or source.get("kind") in _IN_MEMORY or path in (None, "", "-"):
        return None
    model, text = source.get("model"), source.get("text")
    column = ",".join(text) if isinstance(text, list | tuple) else text
    if model is not None and (source.get("row") in ("words", "tokens", "cls") or source.get("layer") == "all"):
        words = ["uncone", "layers", str(model), "--corpus", str(path)]
        words += ["--text", str(column)] if column else []
        words += ["--rows", str(source["row"])] if source.get("row", "words") != "words" else []
        return shlex.join([*words, *_options(source, "limit", "sample"), "--deep"])
    if model is None:
        return shlex.join(["uncone", "check", str(path), *_options(source, "column", "tensor")])
    texts = ["--text", str(column)] if column else []
    more = _options(source, "model", "layer", "pooling", "prompt", "limit")
    return shlex.join(["uncone", "check", str(path), *texts, *more])


def _options(source: Mapping[str, Any], *options: str) -> list[str]:
    """The given options, as on the command line."""
    given = [(option, source.get(option)) for option in options]
    return [word for option, value in given if value is not None for word in (f"--{option}", str(value))]
