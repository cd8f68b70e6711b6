"""The charts of a calibration: unrelated and labeled pairs, rates by threshold, ROC, precision, probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from uncone.analysis.calibration.results import Background, Curve, Labelled
from uncone.analysis.calibration.thresholds import score_at
from uncone.report.charts.model import Axis, Chart, Dash, Histogram, Line, Reference
from uncone.report.documents.calibrate.sentences import cut, rare, short
from uncone.report.results.calibrate import Calibrated

__all__ = ["background", "charts_of_labeled_pairs", "density", "histograms", "reach", "references", "shown_range"]

_THIN = 1e-6
_FAR = 1e-4
"""Of the pairs, on either side, that an axis may leave out."""
_MAPPINGS = {"logistic": "accent", "isotonic": "second"}
_SHARE = (-0.02, 1.02)


def references(result: Calibrated) -> list[Reference]:
    """The thresholds, the requested scores and the translated one, from left to right."""
    made = result.calibration
    found = [Reference(one.score, f"{one.score:g}", "muted", "dot") for one in result.asked]
    for one in made.thresholds:
        if one.value is not None:
            found.append(Reference(one.value, f"{rare(one.rate)}: {cut(result, one)}"))
    most, moved = made.one_hit, made.translation
    if most is not None and most.value is not None and most.value > -1:
        found.append(Reference(most.value, f"1 hit: {cut(result, most)}"))
    if moved is not None and moved.new is not None:
        found.append(Reference(moved.new, f"was {moved.old:g}: {cut(result, moved)}", "second", "dash"))
    return sorted(found, key=lambda one: one.at)


def shown_range(result: Calibrated) -> tuple[float, float]:
    """What an axis of scores has to show: nearly all pairs, and every mark."""
    made = result.calibration
    ends = [score_at(one, tail) for one in made.backgrounds for tail in (1 - _FAR, _FAR)]
    ends += [one.at for one in references(result)]
    if made.labelled is not None:
        for histogram in (made.labelled.alike, made.labelled.unlike):
            held = [at for at, amount in enumerate(histogram.get("counts", ())) if amount]
            ends += [histogram["edges"][held[0]], histogram["edges"][held[-1] + 1]] if held else []
    pad = 0.03 * ((max(ends) - min(ends)) or 0.1)
    return max(min(ends) - pad, -1.02), min(max(ends) + pad, 1.02)


def histograms(result: Calibrated) -> list[Histogram]:
    """Unrelated pairs in gray, other backgrounds as outlines, labeled pairs over them."""
    made = result.calibration
    marks = [_histogram(made.backgrounds[0].histogram, "unrelated pairs", "muted 55%", filled=True)]
    dashes: tuple[Dash, ...] = ("dot", "dash", "dashdot")
    for other, dash in zip(made.backgrounds[1:], dashes, strict=False):
        marks.append(_histogram(other.histogram, short(other), "ink", dash=dash))
    if made.labelled is not None:
        labeled = (
            (made.labelled.unlike, "dissimilar pairs", "second"),
            (made.labelled.alike, "similar pairs", "accent"),
        )
        for histogram, name, color in labeled:
            if sum(histogram.get("counts", ())):
                marks.append(_histogram(histogram, name, color, shaded=color == "accent"))
    return marks


def background(result: Calibrated) -> Chart:
    """The histogram of unrelated pairs, labeled pairs over it, thresholds and requested scores as lines."""
    lines = "Lines are the thresholds for each false-positive rate. Dotted lines are the scores in question."
    return Chart(
        "background",
        "Scores of unrelated pairs",
        f"{_sampled(result.calibration.backgrounds[0])} {lines}",
        histograms(result),
        Axis("score s = cos(x, y)", "score", range=shown_range(result)),
        Axis("% of pairs per 0.01", "percent_per_0.01", zero=True),
        references(result),
        wide=True,
    )


def reach(result: Calibrated) -> Chart:
    """The share of unrelated pairs at or above each score, on a logarithmic axis, with its band."""
    first, *others = result.calibration.backgrounds
    _, _, *band = _tail(first)
    banded = bool(np.isfinite(band).all())
    marks = [_tail_line(first, "unrelated pairs", "accent", "solid", band if banded else ())]
    return Chart(
        "reach",
        "Unrelated pairs at or above a score",
        "The false-positive rate of every threshold. The band is the 95 % interval.",
        [*marks, *(_tail_line(other, short(other), "muted", "dash", ()) for other in others)],
        Axis("score s", "score", range=shown_range(result)),
        Axis("unrelated pairs ≥ s (%)", "percent", log=True),
        wide=True,
    )


def _tail(one: Background) -> list[np.ndarray]:
    """Scores, shares and the ends of the interval, without shares of zero."""
    tails = np.asarray(one.tails, np.float64)
    return [np.asarray(values, np.float64)[tails > 0] for values in (one.scores, tails, one.lows, one.highs)]


def _tail_line(one: Background, label: str, color: str, dash: Dash, band: Sequence[np.ndarray]) -> Line:
    scores, tails, *_ = _tail(one)
    low, high = (end.tolist() for end in band) if band else ((), ())
    return Line(scores.tolist(), (100 * tails).tolist(), label, color, low, high, dash, sideways=True)


def charts_of_labeled_pairs(result: Calibrated) -> list[Chart]:
    """ROC, precision and recall, the mappings and their reliability; nothing without labeled pairs."""
    found = result.calibration.labelled
    if found is None:
        return []
    charts = [_roc(found), _precision_recall(found)]
    return [*charts, _probability(result, found), _reliability(found)] if found.mappings else charts


def _roc(found: Labelled) -> Chart:
    auc = _with_bounds(found.roc_auc.value, found.roc_auc.low, found.roc_auc.high)
    return Chart(
        "roc",
        "ROC",
        f"Area {auc}: the chance that a similar pair scores higher than a dissimilar one.",
        [_chance([0, 1], [0, 1]), _banded(found.roc)],
        Axis("dissimilar pairs found", "unlike_let_through", range=_SHARE),
        Axis("similar pairs found", "alike_found", range=_SHARE),
    )


def _precision_recall(found: Labelled) -> Chart:
    base, average = found.positives / found.n, found.average_precision
    caption = (
        f"Average precision {_with_bounds(average.value, average.low, average.high)}. The dashed line is the share of "
        f"similar pairs among all, {base:.2f}."
    )
    return Chart(
        "precision-recall",
        "Precision and recall",
        caption,
        [_chance([0, 1], [base, base]), _banded(found.precision_recall)],
        Axis("recall: similar pairs found", "recall", range=_SHARE),
        Axis("precision", "precision", range=_SHARE),
    )


def _probability(result: Calibrated, found: Labelled) -> Chart:
    low, high = shown_range(result)
    grid = np.linspace(max(low, -1.0), min(high, 1.0), 201)
    marks = [
        Line(grid.tolist(), one(grid).tolist(), one.kind, _MAPPINGS.get(one.kind, "ink")) for one in found.mappings
    ]
    return Chart(
        "probability",
        "From score to probability",
        f"What probability() returns; {found.mappings[0].kind} is the better of the two by its Brier score.",
        marks,
        Axis("score s", "score", range=(low, high)),
        Axis("probability of similarity", "probability", range=_SHARE),
    )


def _reliability(found: Labelled) -> Chart:
    marks = [_chance([0, 1], [0, 1])]
    for one in found.mappings:
        line = replace(_banded(one.reliability), label=one.kind, color=_MAPPINGS.get(one.kind, "ink"))
        marks.append(replace(line, points=True, error_bars=True, n=list(one.bins)))
    return Chart(
        "reliability",
        "Are the probabilities right?",
        "If the points lie on the dashed line, a probability of 0.8 is right eight times in ten.",
        marks,
        Axis("predicted probability", "predicted", range=_SHARE),
        Axis("share of similar pairs", "alike", range=_SHARE),
    )


def _banded(curve: Curve) -> Line:
    return Line(list(curve.x), list(curve.y), low=_numbers(curve.lows), high=_numbers(curve.highs))


def _chance(x: Sequence[float], y: Sequence[float]) -> Line:
    return Line(x, y, color="muted", dash="dash", weight="thin", guide=True)


def _numbers(values: Sequence[float] | np.ndarray | None) -> list[float | None]:
    return [] if values is None else [float(one) if np.isfinite(one) else None for one in values]


def _with_bounds(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:.3f}" + ("" if low is None or high is None else f" ({low:.3f} to {high:.3f})")


def density(histogram: Mapping[str, Sequence[float]]) -> tuple[np.ndarray, np.ndarray]:
    """The edges, and the per cent of pairs per 0.01 between them.

    If scores are nearly 1, bins that would end beyond it have no width and join their neighbor.

    >>> edges, heights = density({"edges": [0.98, 0.99, 1.0, 1.0], "counts": [2, 1, 1]})
    >>> edges.tolist(), heights.round(6).tolist()
    ([0.98, 0.99, 1.0], [50.0, 50.0])
    """
    edges, counts = np.array(histogram["edges"], np.float64), np.array(histogram["counts"], np.float64)
    kept = np.append(True, np.diff(edges) > 0)
    places = (np.cumsum(kept)[1:] - 2).clip(min=0)
    edges = edges[kept]
    if len(edges) == 1:
        edges = np.array([edges[0] - _THIN, edges[0]])
    merged = np.bincount(places, weights=counts, minlength=len(edges) - 1)
    return edges, merged / (merged.sum() or 1.0) / np.diff(edges)


def _histogram(
    counted: Mapping[str, Sequence[float]],
    label: str,
    color: str,
    *,
    filled: bool = False,
    shaded: bool = False,
    dash: Dash = "solid",
) -> Histogram:
    edges, heights = density(counted)
    return Histogram(edges.tolist(), heights.tolist(), label, color, filled, shaded, dash, "% of pairs per 0.01")


def _sampled(one: Background) -> str:
    sides = f"{one.rows:,} vectors"
    if one.documents is not None:
        sides = f"{one.rows:,} queries and {one.documents:,} documents"
    pairs = f"All {one.pairs:,} pairs" if one.pairs == one.all_pairs else f"{one.pairs:,} sampled pairs"
    return f"{pairs} of {sides}."
