"""The curves of labelled pairs as plotly figures: ROC, precision and recall, probabilities and their reliability."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uncone.calibration.calibration import mapped
from uncone.calibration.results import Curve, Labelled
from uncone.report.calibrated import Calibrated
from uncone.report.calibrated_charts import drawn, polygon, shown_range
from uncone.report.diagnosis_charts import listed
from uncone.report.grid_charts import Figure, axis_title, error_bars, rounded

__all__ = ["labelled"]

_MAPPINGS = {"logistic": "accent", "isotonic": "second"}


def labelled(result: Calibrated) -> list[Figure]:
    """ROC, precision and recall, the mappings and their reliability; nothing without labelled pairs."""
    found = result.calibration.labelled
    if found is None:
        return []
    made = [_roc(found), _precision_recall(found)]
    return [*made, _probability(result, found), _reliability(found)] if found.mappings else made


def _roc(found: Labelled) -> Figure:
    even = _dashed([0, 1], [0, 1], "chance")
    data = [even, *_banded(found.roc, "accent", "unlike %{x:.3f}, alike %{y:.3f}")]
    auc = _with_bounds(found.roc_auc.value, found.roc_auc.low, found.roc_auc.high)
    told = f"Area {auc}: the chance that an alike pair scores higher than an unlike one."
    return drawn("roc", "ROC", told, data, _square("unlike pairs let through", "alike pairs found"))


def _precision_recall(found: Labelled) -> Figure:
    base = found.positives / found.n
    even = _dashed([0, 1], [base, base], "chance")
    data = [even, *_banded(found.precision_recall, "accent", "recall %{x:.3f}, precision %{y:.3f}")]
    average = found.average_precision
    told = (
        f"Average precision {_with_bounds(average.value, average.low, average.high)}; dashed, the share of alike pairs "
        f"among all, {base:.2f}."
    )
    layout = _square("recall: alike pairs found", "precision")
    return drawn("precision-recall", "Precision and recall", told, data, layout)


def _probability(result: Calibrated, found: Labelled) -> Figure:
    low, high = shown_range(result)
    grid = np.linspace(max(low, -1.0), min(high, 1.0), 201)
    data = []
    for one in found.mappings:
        y = mapped(one, grid)
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": listed(grid),
                "y": listed(y),
                "name": one.kind,
                "line": {"color": _MAPPINGS.get(one.kind, "ink"), "width": 2},
                "hovertemplate": f"score %{{x:.3f}}: probability %{{y:.3f}} ({one.kind})<extra></extra>",
            }
        )
    layout = {
        "xaxis": {"title": axis_title("score s"), "range": [low, high], "zeroline": False},
        "yaxis": {"title": axis_title("probability of alike"), "range": [-0.02, 1.02], "zeroline": False},
        "showlegend": True,
    }
    told = f"What probability() says; {found.mappings[0].kind} is the better of the two by its Brier score."
    return drawn("probability", "From score to probability", told, data, layout)


def _reliability(found: Labelled) -> Figure:
    data: list[Figure] = [_dashed([0, 1], [0, 1], "as it should be")]
    for one in found.mappings:
        colour, curve = _MAPPINGS.get(one.kind, "ink"), one.reliability
        bars = {}
        if curve.lows is not None and curve.highs is not None:
            bars = {"error_y": error_bars(_numbers(curve.y), _numbers(curve.lows), _numbers(curve.highs), colour)}
        data.append(
            {
                "type": "scatter",
                "mode": "markers+lines",
                "x": listed(np.asarray(curve.x)),
                "y": listed(np.asarray(curve.y)),
                "name": one.kind,
                "text": [f"{amount:,} pairs" for amount in one.bins],
                "line": {"color": colour, "width": 1.5},
                "marker": {"color": colour, "size": 7},
                "hovertemplate": "said %{x:.2f}, were %{y:.2f}, %{text}<extra></extra>",
                **bars,
            }
        )
    layout = {**_square("probability that was said", "share that was alike"), "showlegend": True}
    told = "Where the points lie on the dashed line, a probability of 0.8 is right eight times in ten."
    return drawn("reliability", "Can the probabilities be believed?", told, data, layout)


def _banded(curve: Curve, colour: str, hover: str) -> list[Figure]:
    data: list[Figure] = []
    x = np.asarray(curve.x, np.float64)
    if curve.lows is not None and curve.highs is not None:
        lows, highs = np.asarray(curve.lows, np.float64), np.asarray(curve.highs, np.float64)
        data.append(polygon(np.concatenate([x, x[::-1]]), np.concatenate([lows, highs[::-1]]), colour))
    data.append(
        {
            "type": "scatter",
            "mode": "lines",
            "x": listed(x),
            "y": listed(np.asarray(curve.y)),
            "line": {"color": colour, "width": 2},
            "showlegend": False,
            "hovertemplate": f"{hover}<extra></extra>",
        }
    )
    return data


def _dashed(x: Sequence[float], y: Sequence[float], name: str) -> Figure:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(x),
        "y": [rounded(one) for one in y],
        "name": name,
        "line": {"color": "muted", "width": 1.2, "dash": "dash"},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _square(x: str, y: str) -> Figure:
    return {
        "xaxis": {"title": axis_title(x), "range": [-0.02, 1.02], "zeroline": False},
        "yaxis": {"title": axis_title(y), "range": [-0.02, 1.02], "zeroline": False},
        "showlegend": False,
    }


def _numbers(values: Sequence[float] | np.ndarray) -> list[float | None]:
    return [float(one) if np.isfinite(one) else None for one in values]


def _with_bounds(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "not known"
    return f"{value:.3f}" + ("" if low is None or high is None else f" ({low:.3f} to {high:.3f})")
