"""The charts of a calibration: unrelated and labeled pairs, rates by threshold, ROC, precision, probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.analysis.calibration.results import Background, Curve, LabeledPairs, ScoreMapping
from uncone.analysis.calibration.thresholds import score_at
from uncone.analysis.intervals.resampling import Score
from uncone.analysis.measures.finding import finite
from uncone.report.charts.model import Axis, Chart, Dash, Histogram, Line, Reference
from uncone.report.documents.calibrate.sentences import cut, rare, short
from uncone.report.text import with_interval

if TYPE_CHECKING:
    from uncone.report.documents.calibrate import Calibrated

__all__ = ["background", "charts_of_labeled_pairs", "density", "histograms", "reach", "references", "shown_range"]

_THIN = 1e-6
_FAR = 1e-4
"""Of the pairs, on either side, that an axis may leave out."""
_SHARE = (-0.02, 1.02)


def references(result: Calibrated) -> list[Reference]:
    """The thresholds, the requested scores and the translated one, from left to right."""
    calibration = result.calibration
    lines = [Reference(entry.score, f"{entry.score:g}", "muted", "dot") for entry in result.scores]
    for limit in calibration.thresholds:
        if limit.value is not None:
            lines.append(Reference(limit.value, f"{rare(limit.rate)}: {cut(result, limit)}"))
    one_hit, moved = calibration.one_hit, calibration.translation
    if one_hit is not None and one_hit.value is not None and one_hit.value > -1:
        lines.append(Reference(one_hit.value, f"1 hit: {cut(result, one_hit)}"))
    if moved is not None and moved.new is not None:
        lines.append(Reference(moved.new, f"was {moved.old:g}: {cut(result, moved)}", "second", "dash"))
    return sorted(lines, key=lambda line: line.at)


def shown_range(result: Calibrated) -> tuple[float, float]:
    """The range of an axis of scores: nearly all pairs, and every mark."""
    calibration = result.calibration
    ends = [score_at(each, tail) for each in calibration.backgrounds for tail in (1 - _FAR, _FAR)]
    ends += [line.at for line in references(result)]
    if calibration.labeled is not None:
        for histogram in (calibration.labeled.similar, calibration.labeled.dissimilar):
            filled = [at for at, amount in enumerate(histogram.get("counts", ())) if amount]
            ends += [histogram["edges"][filled[0]], histogram["edges"][filled[-1] + 1]] if filled else []
    pad = 0.03 * ((max(ends) - min(ends)) or 0.1)
    return max(min(ends) - pad, -1.02), min(max(ends) + pad, 1.02)


def histograms(result: Calibrated) -> list[Histogram]:
    """Unrelated pairs in gray, other backgrounds as outlines, labeled pairs over them."""
    calibration, labeled = result.calibration, result.calibration.labeled
    dashes: tuple[Dash, ...] = ("dot", "dash", "dashdot")
    marks = [_histogram(calibration.backgrounds[0].histogram, "unrelated pairs", "muted 55%", filled=True)]
    for other, dash in zip(calibration.backgrounds[1:], dashes, strict=False):
        marks.append(_histogram(other.histogram, short(other), "ink", dash=dash))
    if labeled is not None and any(labeled.dissimilar.get("counts", ())):
        marks.append(_histogram(labeled.dissimilar, "dissimilar pairs", "second"))
    if labeled is not None and any(labeled.similar.get("counts", ())):
        marks.append(_histogram(labeled.similar, "similar pairs", "accent", shaded=True))
    return marks


def background(result: Calibrated) -> Chart:
    """The histogram of unrelated pairs, labeled pairs over it, thresholds and requested scores as lines."""
    lines = "Lines are the thresholds for each false-positive rate. Dotted lines are the scores in question."
    first = result.calibration.backgrounds[0]
    sides = "vectors" if first.documents is None else f"queries and {first.documents:,} documents"
    pairs = f"All {first.pairs:,} pairs" if first.pairs == first.all_pairs else f"{first.pairs:,} sampled pairs"
    caption = f"{pairs} of {first.rows:,} {sides}. {lines}"
    x = Axis("score s = cos(x, y)", "score", range=shown_range(result))
    y, marks = Axis("% of pairs per 0.01", "percent_per_0.01", zero=True), histograms(result)
    return Chart("background", "Scores of unrelated pairs", caption, marks, x, y, references(result), wide=True)


def reach(result: Calibrated) -> Chart:
    """The share of unrelated pairs at or above each score, on a logarithmic axis, with its band."""
    first, *others = result.calibration.backgrounds
    marks = [_tail(first, "unrelated pairs", "accent", "solid", banded=True)]
    marks += [_tail(other, short(other), "muted", "dash", banded=False) for other in others]
    caption = "The false-positive rate of every threshold. The band is the 95 % interval."
    x = Axis("score s", "score", range=shown_range(result))
    y = Axis("unrelated pairs ≥ s (%)", "percent", log=True)
    return Chart("reach", "Unrelated pairs at or above a score", caption, marks, x, y, wide=True)


def _tail(each: Background, label: str, color: str, dash: Dash, *, banded: bool) -> Line:
    """The share of pairs at or above each score, without shares of zero."""
    tails = np.asarray(each.tails, np.float64)
    columns = [
        np.asarray(values, np.float64)[tails > 0] for values in (each.scores, 100 * tails, each.lows, each.highs)
    ]
    scores, shares, *band = (column.tolist() for column in columns)
    low, high = band if banded and np.isfinite(band).all() else ((), ())
    return Line(scores, shares, label, color, low, high, dash, sideways=True)


def charts_of_labeled_pairs(result: Calibrated) -> list[Chart]:
    """ROC, precision and recall, the mappings and their reliability; nothing without labeled pairs."""
    labeled = result.calibration.labeled
    if labeled is None:
        return []
    charts = [_roc(labeled), _precision_recall(labeled)]
    return [*charts, _probability(result, labeled), _reliability(labeled)] if labeled.mappings else charts


def _roc(labeled: LabeledPairs) -> Chart:
    area = _with_bounds(labeled.roc_auc)
    caption = f"Area {area}: the chance that a similar pair scores higher than a dissimilar one."
    x = Axis("dissimilar pairs found", "unlike_let_through", range=_SHARE)
    y = Axis("similar pairs found", "alike_found", range=_SHARE)
    return Chart("roc", "ROC", caption, [_chance(0, 1), _banded(labeled.roc)], x, y)


def _precision_recall(labeled: LabeledPairs) -> Chart:
    base = labeled.positives / labeled.n
    caption = (
        f"Average precision {_with_bounds(labeled.average_precision)}. The dashed line is the share of similar pairs "
        f"among all, {base:.2f}."
    )
    x = Axis("recall: similar pairs found", "recall", range=_SHARE)
    y, marks = Axis("precision", "precision", range=_SHARE), [_chance(base, base), _banded(labeled.precision_recall)]
    return Chart("precision-recall", "Precision and recall", caption, marks, x, y)


def _probability(result: Calibrated, labeled: LabeledPairs) -> Chart:
    low, high = shown_range(result)
    grid = np.linspace(max(low, -1.0), min(high, 1.0), 201)
    marks = [Line(grid.tolist(), each(grid).tolist(), each.kind, _color(each)) for each in labeled.mappings]
    best = labeled.mappings[0].kind
    caption = f"What probability() returns; {best} is the better of the two by its Brier score."
    x, y = Axis("score s", "score", range=(low, high)), Axis("probability of similarity", "probability", range=_SHARE)
    return Chart("probability", "From score to probability", caption, marks, x, y)


def _reliability(labeled: LabeledPairs) -> Chart:
    marks = [_chance(0, 1)]
    for each in labeled.mappings:
        look: dict[str, Any] = {"label": each.kind, "color": _color(each), "n": list(each.bins)}
        marks.append(replace(_banded(each.reliability), **look, points=True, error_bars=True))
    caption = "If the points lie on the dashed line, a probability of 0.8 is right eight times in ten."
    x = Axis("predicted probability", "predicted", range=_SHARE)
    y = Axis("share of similar pairs", "alike", range=_SHARE)
    return Chart("reliability", "Are the probabilities right?", caption, marks, x, y)


def _color(mapping: ScoreMapping) -> str:
    return {"logistic": "accent", "isotonic": "second"}.get(mapping.kind, "ink")


def _banded(curve: Curve) -> Line:
    low, high = ([] if ends is None else finite(np.asarray(ends).tolist()) for ends in (curve.lows, curve.highs))
    return Line(list(curve.x), list(curve.y), low=low, high=high)


def _chance(start: float, end: float) -> Line:
    return Line([0, 1], [start, end], color="muted", dash="dash", weight="thin", guide=True)


def _with_bounds(score: Score) -> str:
    return "unknown" if score.value is None else with_interval(score.value, score.low, score.high, "{:.3f}".format)


def density(histogram: Mapping[str, Sequence[float]]) -> tuple[np.ndarray, np.ndarray]:
    """The edges, and the per cent of pairs per 0.01 between them.

    If scores are nearly 1, bins that would end beyond it have no width and join their neighbor.

    >>> edges, heights = density({"edges": [0.98, 0.99, 1.0, 1.0], "counts": [2, 1, 1]})
    >>> edges.tolist(), heights.round(6).tolist()
    ([0.98, 0.99, 1.0], [50.0, 50.0])
    """
    edges, counts = np.array(histogram["edges"], np.float64), np.array(histogram["counts"], np.float64)
    wide = np.append(True, np.diff(edges) > 0)
    places = (np.cumsum(wide)[1:] - 2).clip(min=0)
    edges = edges[wide]
    if len(edges) == 1:
        edges = np.array([edges[0] - _THIN, edges[0]])
    merged = np.bincount(places, weights=counts, minlength=len(edges) - 1)
    return edges, merged / (merged.sum() or 1.0) / np.diff(edges)


def _histogram(histogram: Mapping[str, Sequence[float]], label: str, color: str, **look: Any) -> Histogram:  # noqa: ANN401 - fields of Histogram
    edges, heights = density(histogram)
    look = {"filled": False, "unit": "% of pairs per 0.01", **look}
    return Histogram(edges.tolist(), heights.tolist(), label, color, **look)
