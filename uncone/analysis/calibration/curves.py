"""Curves and operating points of labeled pairs: ROC, precision and recall, and thresholds for a goal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.calibration.results import Background, Curve, Operating
from uncone.analysis.calibration.thresholds import rate_at
from uncone.analysis.intervals.labeled_pairs import PairCurve
from uncone.analysis.intervals.pair_units import PairUnits
from uncone.analysis.intervals.resampling import LEVEL, Score, Weights, bounds, wilson
from uncone.data.batch import IntVector
from uncone.errors import OptionError

__all__ = ["Goal", "curves", "goals", "operate"]

_Floats = NDArray[np.float64]

_POINTS = 300  # of a curve: more than a picture shows
_SMALL = 1e-9  # what rounding may take from a whole number of pairs


def curves(curve: PairCurve, units: PairUnits, replicates: int, seed: int) -> tuple[Curve, Curve]:
    """The ROC curve, false against true positive rate, and the precision-recall curve, recall against precision.

    The points of the ROC are the corners of scikit-learn's. Those of the other are, for each recall that is reached,
    the precision of the highest threshold that reaches it: steps up to them from the left have the average precision as
    area. Beyond 300 points, 300 are chosen along the curve. The bands are percentiles, point by point, of the true
    positive rate at a false positive rate, and of the precision at a recall; none if over a tenth of the draws have
    pairs of one kind only.
    """
    false_rate, true_rate, upper = _roc(*curve.whole)
    recall, precision = _precision_recall(*curve.whole)
    # At a vertical piece of the curve its lower end is what is approached from the left.
    rates = np.where(upper, false_rate, np.nextafter(false_rate, -1.0))

    def figures(counts: Weights) -> _Floats:
        accepted, hits = curve.accepted_and_hits(counts)
        values = np.full((len(rates) + len(recall), len(counts)), np.nan)
        for at, (some, good) in enumerate(zip(accepted, hits, strict=True)):
            if 0 < good[-1] < some[-1]:
                bad = some - good
                x, y = np.append(0.0, bad / bad[-1]), np.append(0.0, good / good[-1])
                values[: len(rates), at] = np.interp(rates, x, y)
                first = np.searchsorted(good, recall * good[-1] - _SMALL)
                values[len(rates) :, at] = good[first] / some[first]
        return values

    band = _band(units.replicate(figures, replicates, seed))
    roc, rest = ([end[part] for end in band] for part in (slice(None, len(rates)), slice(len(rates), None)))
    return Curve(false_rate, true_rate, *roc), Curve(recall, precision, *rest)


def _roc(accepted: _Floats, hits: _Floats) -> tuple[_Floats, _Floats, NDArray[np.bool_]]:
    """The corners, and whether each is the upper end of what stands above its false positive rate."""
    x, y = np.append(0.0, accepted - hits), np.append(0.0, hits)
    across, up = np.diff(x), np.diff(y)
    corner = np.ones(len(x), np.bool_)
    corner[1:-1] = across[:-1] * up[1:] != across[1:] * up[:-1]
    x, y = x[corner], y[corner]
    upper = np.append(np.diff(x) > 0, True)
    places = _evenly_spaced(x / x[-1] + y / y[-1])
    return x[places] / x[-1], y[places] / y[-1], upper[places]


def _precision_recall(accepted: _Floats, hits: _Floats) -> tuple[_Floats, _Floats]:
    first = np.flatnonzero(np.diff(hits, prepend=0.0) > 0)
    first = first[_evenly_spaced(hits[first])]
    return hits[first] / hits[-1], hits[first] / accepted[first]


def _evenly_spaced(length: _Floats) -> NDArray[np.int64]:
    """The places of points along a curve of growing length: all, or 300 that are evenly spread, ends included."""
    if len(length) <= _POINTS:
        return np.arange(len(length))
    places = np.searchsorted(length, np.linspace(length[0], length[-1], _POINTS))
    return np.unique(np.minimum(places, len(length) - 1))


def _band(draws: _Floats) -> list[_Floats]:
    """The lower and the upper end of each value (points,); nothing if too many draws are undefined."""
    finite = draws[:, np.isfinite(draws).all(axis=0)]
    if finite.shape[1] < 0.9 * draws.shape[1]:
        return []
    return list(np.quantile(finite, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=1))


_CHOSEN_BY = {"precision": 0, "recall": 1, "F1": 2}
"""The figure that a threshold is chosen by, among precision, recall and F1."""


@dataclass(frozen=True)
class Goal:
    """What a threshold is chosen for."""

    kind: Literal["F1", "precision", "recall"]
    target: float = 0.0

    def __str__(self) -> str:
        return "best F1" if self.kind == "F1" else f"{self.kind} {self.target:g}"

    def places(self, accepted: _Floats, hits: _Floats) -> IntVector:
        """The last group that is accepted, by draws: (r, groups) -> (r,); -1 if the goal cannot be reached.

        Of the thresholds of a target precision the lowest, which has the highest recall; of those of a target recall
        the highest.
        """
        positives = hits[:, -1:]
        if self.kind == "F1":
            place = (2 * hits / np.maximum(accepted + positives, _SMALL)).argmax(axis=1)
        elif self.kind == "recall":
            place = (hits >= self.target * positives - _SMALL).argmax(axis=1)
        else:
            in_draw = np.diff(accepted, axis=1, prepend=0.0) > 0
            good = in_draw & (hits >= self.target * accepted - _SMALL)
            place = np.where(good.any(axis=1), good.shape[1] - 1 - good[:, ::-1].argmax(axis=1), -1)
        return np.where(positives[:, 0] > 0, place, -1).astype(np.int64)


def goals(precisions: Sequence[float], recalls: Sequence[float]) -> list[Goal]:
    """The best F1, and the target precisions and recalls.

    Raises:
        OptionError: a target precision or recall is not a share.
    """
    targets = [Goal("F1")]
    targets += [Goal("precision", float(share)) for share in dict.fromkeys(precisions)]
    targets += [Goal("recall", float(share)) for share in dict.fromkeys(recalls)]
    for goal in targets[1:]:
        if not 0 < goal.target <= 1:
            raise OptionError(f"A {goal.kind} is above 0 and at most 1, such as 0.9, not {goal.target:g}.")
    return targets


def operate(
    curve: PairCurve,
    targets: Sequence[Goal],
    units: PairUnits,
    background: Background | None,
    replicates: int,
    seed: int,
) -> list[Operating]:
    """A threshold for each goal, with its interval, precision, recall and F1.

    In each draw the threshold is chosen anew, which gives its interval; precision, recall and F1 are those of the one
    threshold of all pairs. It was chosen on the pairs that it is judged on, so they flatter it a little: by as much as
    a draw flatters its own threshold, compared with all pairs. The lower bound of the figure that was chosen by makes
    up for that.
    """
    if len(curve.distinct) == 1:
        return [_refused(curve, goal, f"all scores are {curve.distinct[0]:g}") for goal in targets]
    accepted, hits = curve.whole
    places = [int(goal.places(accepted[None], hits[None])[0]) for goal in targets]

    def figures(counts: Weights) -> _Floats:
        some, good = curve.accepted_and_hits(counts)
        values = []
        for goal, fixed in zip(targets, places, strict=True):
            place = goal.places(some, good)
            values.append(np.where(place < 0, np.nan, curve.thresholds[place]))
            values += _figures(some[:, fixed], good[:, fixed], good[:, -1])
            rows = np.arange(len(place))
            own_figures = _figures(some[rows, place], good[rows, place], good[:, -1])
            all_pairs = _figures(accepted[place], hits[place], hits[-1])
            flattered = own_figures[_CHOSEN_BY[goal.kind]] - all_pairs[_CHOSEN_BY[goal.kind]]
            values.append(np.where(place < 0, np.nan, flattered))
        return np.stack(values)

    every = units.replicate(figures, replicates, seed).reshape(len(targets), 5, replicates)
    return [
        _operating(curve, goal, place, own, units, background)
        for goal, place, own in zip(targets, places, every, strict=True)
    ]


def _figures(accepted: _Floats, hits: _Floats, similar: _Floats | np.float64) -> list[_Floats]:
    """Precision, recall and F1 of accepted pairs, of which some are hits."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return [hits / accepted, hits / similar, 2 * hits / (accepted + similar)]


def _operating(
    curve: PairCurve, goal: Goal, place: int, draws: _Floats, units: PairUnits, background: Background | None
) -> Operating:
    accepted, hits = curve.whole
    some, good, positives, value = accepted[place], hits[place], hits[-1], float(curve.thresholds[place])
    low, high = bounds(draws[0])
    if place < 0:
        best = int((hits / accepted).argmax())
        highest, at = hits[best] / accepted[best], curve.thresholds[best]
        reason = f"no threshold has a precision of {goal.target:g}; the highest is {highest:.3g}, at {at:.3g}"
        return _refused(curve, goal, reason)
    if low is None:
        reached = f"{good:,.0f} of the {some:,.0f} pairs above {value:.3g} are similar"
        lost = f"{np.isnan(draws[0]).mean():.0%} of the resamples have no such threshold"
        return _refused(curve, goal, f"{reached}, but {lost}; label more pairs")
    # F1 is 2 J / (1 + J) of the share J of similar ones among all that are accepted or should be.
    either = some + positives - good
    over, similar = np.arange(len(curve.order)) < some, curve.truth == 1

    def independent(rows: NDArray[np.bool_]) -> int:
        return units.select(curve.order[rows]).independent

    shares = [
        _share(good, some, independent(over), draws[1]),
        _share(good, positives, independent(similar), draws[2]),
        replace(_share(good, either, independent(over | similar), draws[3], dice=True), n=len(curve.values)),
    ]
    criterion = _CHOSEN_BY[goal.kind]
    low_share = (shares[criterion].low or 0.0) - max(float(np.nanmean(draws[4])), 0.0)
    shares[criterion] = replace(shares[criterion], low=max(low_share, 0.0))
    rate = None if background is None else float(rate_at(background, value))
    note = "it accepts every pair: no higher threshold does as well" if place == len(accepted) - 1 else ""
    precision, recall, f1 = shares
    return Operating(str(goal), value, low, high, precision, recall, f1, rate, note)


def _share(k: float, n: float, units: int, draws: _Floats, *, dice: bool = False) -> Score:
    """A share of n pairs with the wider of two intervals: draws respect shared texts, Wilson's holds for all and none.

    Wilson's is that of the same share of as many pairs as are independent.
    """
    shares = np.array([k / n, *wilson(k / n * units, units)])
    value, low, high = (2 * shares / (1 + shares) if dice else shares).tolist()
    own = bounds(draws)
    if own[0] is not None and own[1] is not None:
        low, high = min(low, own[0]), max(high, own[1])
    return Score(value, low, high, int(n))


def _refused(curve: PairCurve, goal: Goal, reason: str) -> Operating:
    none = Score(None, None, None, len(curve.values))
    return Operating(str(goal), None, None, None, none, none, none, None, reason)
