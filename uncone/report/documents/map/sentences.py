"""Sentences of `map`: what is shown, how far to trust it, and what to run next."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from uncone.analysis.number_format import clipped, cosine, count, percent
from uncone.analysis.projections.results import Panel, Trust
from uncone.report.documents.map.colors import counts_of, extent, marks
from uncone.report.results.map import Map
from uncone.report.text import printable

__all__ = [
    "METHODS",
    "SEVERAL",
    "axes_of",
    "axis_share",
    "headline",
    "sentences",
    "shown_rows",
    "stamp",
    "subtitle",
    "suggestion",
    "trust_text",
    "unparted",
    "where",
]

METHODS = {"pca": "PCA", "svd": "SVD", "tsne": "t-SNE", "umap": "UMAP"}
_STRAIGHT = (
    "The axes are directions of the space: what is far apart on the picture is far apart in the space, "
    "but what is near may not be."
)
_BENT = "It shows who is near whom: read neighbours from it, neither the distance of far groups nor their size."
_READING = {"pca": _STRAIGHT, "svd": _STRAIGHT, "tsne": _BENT, "umap": _BENT}
"""How a picture of each method is to be read."""

_AXES = {"pca": "PC", "svd": "direction"}
"""What the axes are called, of methods whose axes are directions of the space."""

_UNITS = {"words": "word", "tokens": "token", "cls": "CLS vector", "sentences": "text", "texts": "text"}
_IN_MEMORY = ("array", "blocks", "list")
SEVERAL = 3
"""Up to this many pictures the trust of each gets a sentence; of more, the range."""
_NAMED = 6


def _unit(result: Map) -> str:
    """What a point is called."""
    return _UNITS.get(str(result.source.get("row")), "row")


def axes_of(result: Map) -> list[str]:
    """The names of the axes; none for methods whose axes mean nothing."""
    name = _AXES.get(result.method)
    return [] if name is None else [f"{name} {axis}" for axis in range(1, result.dims + 1)]


def shown_rows(result: Map) -> str:
    """How many rows are shown, of how many."""
    n = sum(int(one.counts.sum()) for one in result.density[:1]) if result.density else len(result.places)
    if n == result.total:
        return f"{'all ' if n > 1 else ''}{count(n, _unit(result))}"
    return f"{n:,} of {count(result.total, _unit(result))}"


def where(result: Map) -> str:
    """The layers or the names of the pictures; empty where there is nothing to tell."""
    layers = [panel.layer for panel in result.panels]
    known = [layer for layer in layers if layer is not None]
    if known and len(known) == len(layers) and len(set(known)) == len(known):
        if len(known) == 1:
            return f"layer {known[0]}"
        whole = known == list(range(known[0], known[-1] + 1))
        return f"layers {known[0]} to {known[-1]}" if whole else f"layers {', '.join(map(str, known))}"
    held = result.source.get("layer")
    layer = "" if held is None else f"layer {held}"
    if len(result.panels) > 1:
        names = [printable(panel.name) for panel in result.panels]
        joined = f"{', '.join(names[:-1])} and {names[-1]}"
        return f"{layer}, {joined}" if layer else joined
    return layer


def headline(result: Map) -> str:
    """How many rows are shown of how many, by which method, from where."""
    start = shown_rows(result)
    method = METHODS.get(result.method, result.method)
    place = where(result)
    told = f"{start[:1].upper()}{start[1:]} by {method} in {result.dims} dimensions"
    return f"{told}{f', {place}' if place else ''}, seed {result.seed}."


def stamp(result: Map, panel: Panel) -> str:
    """What stands on every picture: method, how many points of how many rows, and the seed."""
    n, total = len(panel.points), result.total
    shown = f"{n:,} of {count(total, _unit(result))}" if n != total else count(n, _unit(result))
    return f"{METHODS.get(result.method, result.method)} · {shown} · seed {result.seed}"


def sentences(result: Map) -> list[str]:
    """How far to trust the pictures, how to read them, the colours at the start, the marked words."""
    lines = [*_trusts(result.panels), _READING.get(result.method, ""), _colored_by(result), _marked(result)]
    return [line for line in lines if line]


def _trusts(panels: Sequence[Panel]) -> list[str]:
    if len(panels) == 1:
        return [panels[0].trust.sentence]
    if len(panels) <= SEVERAL:
        return [f"{_started(panel.name)}: {panel.trust.sentence}" for panel in panels if panel.trust.sentence]
    held = [(panel.trust.trustworthiness, panel) for panel in panels]
    known = [(value, panel) for value, panel in held if value is not None]
    if not known:
        return []
    least, most = min(known, key=lambda one: one[0]), max(known, key=lambda one: one[0])
    return [
        f"Trustworthiness of the {len(panels)} pictures lies between {cosine(least[0])} ({printable(least[1].name)}) "
        f"and {cosine(most[0])} ({printable(most[1].name)}); 1 is best, a random picture has about 0.5."
    ]


def _started(text: str) -> str:
    shown = printable(text)
    return f"{shown[:1].upper()}{shown[1:]}"


def axis_share(result: Map) -> str:
    """What the axes hold a share of: SVD does not subtract the mean, so that it is not the variance."""
    return "squared length" if result.method == "svd" else "variance"


def unparted(text: str) -> str:
    r"""The text with no line ending between a number and its per cent.

    >>> unparted("67 % of variance")
    '67\xa0% of variance'
    """
    return text.replace(" %", "\u00a0%")


def trust_text(result: Map, trust: Trust) -> str:
    """The numbers of a picture's trust, short."""
    parts = [
        f"{name} {cosine(value)}"
        for name, value in (("trustworthiness", trust.trustworthiness), ("continuity", trust.continuity))
        if value is not None
    ]
    parts += [f"{percent(trust.explained)} of {axis_share(result)}"] if trust.explained is not None else []
    return ", ".join(parts)


def _colored_by(result: Map) -> str:
    """What the colours are at the start, with the largest counts; a word list is told of by `_marked`."""
    if not result.colourings:
        return ""
    first = result.colourings[0]
    if first.name == "words" and result.highlight:
        return ""
    title = clipped(printable(first.title), 60)
    if result.density:
        return f"Coloured by {title}."
    if first.values is not None:
        low, high, _, _ = extent(first)
        return f"Coloured by {title}, from {_short(low)} to {_short(high)}."
    counts, *others = counts_of(result, first)
    if others:
        return f"Coloured by {title}, found anew in every picture."
    names = [clipped(printable(str(name)) or "without a name", 40) for name in first.names]
    parts = sorted(zip(counts[:-1], names, strict=True), key=lambda one: -one[0])
    told = [f"{name} ({n:,})" for n, name in parts[:_NAMED] if n]
    rest = sum(n for n, _ in parts[_NAMED:]) + counts[-1]
    told += [f"others ({rest:,})"] if rest else []
    return f"Coloured by {title}: {', '.join(told)}." if told else f"Coloured by {title}."


def _marked(result: Map) -> str:
    """How many points each word of the list has."""
    if not result.highlight:
        return ""
    members = marks(result)
    counts = np.bincount(members[members >= 0], minlength=len(result.highlight)).tolist()
    held = [f"{printable(word)} ({n:,})" for word, n in zip(result.highlight, counts, strict=True) if n]
    lacking = [printable(word) for word, n in zip(result.highlight, counts, strict=True) if not n]
    told = f"Marked: {', '.join(held[:12])}{f' and {len(held) - 12} more' if held[12:] else ''}." if held else ""
    missing = f"Not among the points: {', '.join(lacking[:12])}{' …' if lacking[12:] else ''}." if lacking else ""
    return " ".join(part for part in (told, missing) if part)


def _short(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e9 else f"{value:.3g}"


def subtitle(result: Map) -> str:
    """What is mapped, short: shape, model, pooling, repair."""
    source = result.source
    parts = [f"{result.total:,} x {source['dimensions']:,}"] if source.get("dimensions") else []
    if source.get("model"):
        *around, own = str(source["model"]).rstrip("/").split("/")
        parts.append(around[-1] if own == "model" and around else own)
    parts += [str(source["pooling"])] if source.get("pooling") else []
    parts += [f"repaired by {source['repair']}"] if source.get("repair") else []
    return " · ".join(printable(part) for part in parts)


def suggestion(result: Map) -> str | None:
    """What to run next on the same rows: the layers of the model in depth, or the check of the vectors."""
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
        return shlex.join([*words, *_asked(source, "limit", "sample"), "--deep"])
    if model is None:
        return shlex.join(["uncone", "check", str(path), *_asked(source, "column", "tensor")])
    texts = ["--text", str(column)] if column else []
    more = _asked(source, "model", "layer", "pooling", "prompt", "limit")
    return shlex.join(["uncone", "check", str(path), *texts, *more])


def _asked(source: Mapping[str, Any], *options: str) -> list[str]:
    """The options that were given, as they are written."""
    given = [(option, source.get(option)) for option in options]
    return [word for option, value in given if value is not None for word in (f"--{option}", str(value))]
