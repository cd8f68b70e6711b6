"""Curves and operating points of labeled pairs: ROC, precision and recall, and thresholds for a goal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.calibration.results import Background, Curve, Operating
from uncone.analysis.intervals.labeled_pairs import PairCurve
from uncone.analysis.intervals.pair_units import PairUnits
from uncone.analysis.intervals.resampling import LEVEL, Score, Weights, bounds
from uncone.data.batch import IntVector
from uncone.data.lazy_property import once
from uncone.errors import OptionError

__all__ = ["Cuts", "Goal", "background_rate", "curves", "goals", "operate", "wilson"]

_Floats = NDArray[np.float64]

_POINTS = 300  # of a curve: more than a picture shows
_SMALL = 1e-9  # what rounding may take from a whole number of pairs
_Z = 1.959963984540054


class Cuts(PairCurve):
    """Labeled pairs sorted once: what each threshold takes, as a function of how often each pair is drawn.

    Pairs of one score are a group; `distinct` are their scores, the highest first, and `thresholds` lie half-way
    between a group that is taken and the next.
    """

    def __init__(self, truth: _Floats, values: _Floats) -> None:
        super().__init__(truth, values)
        self.distinct: _Floats = self.values[self.starts]
        below = np.append(self.distinct[1:], self.distinct[-1])
        middle = below + (self.distinct - below) / 2
        # Between neighbouring numbers there is no third.
        self.thresholds: _Floats = np.where(middle > below, middle, self.distinct)

    def taken_and_hits(self, counts: Weights) -> tuple[_Floats, _Floats]:
        """How many pairs, and how many alike ones, are taken down to each group: two times (r, groups)."""
        _, taken, hits = self.cumulated(counts)
        return taken, hits

    @once
    def whole(self) -> tuple[_Floats, _Floats]:
        """The same of the pairs themselves: two times (groups,)."""
        taken, hits = self.taken_and_hits(np.ones((1, len(self.values)), np.int64))
        return taken[0], hits[0]


def curves(cuts: Cuts, units: PairUnits, replicates: int, seed: int) -> tuple[Curve, Curve]:
    """The ROC curve, false against true positive rate, and the precision-recall curve, recall against precision.

    The points of the ROC are the corners of scikit-learn's. Those of the other are, for each recall that is reached,
    the precision of the highest threshold that reaches it: steps up to them from the left have the average precision as
    area. Beyond 300 points, 300 are chosen along the curve. The bands are percentiles, point by point, of the true
    positive rate at a false positive rate, and of the precision at a recall; none where over a tenth of the draws have
    pairs of one kind only.
    """
    false_rate, true_rate, upper = _roc(*cuts.whole)
    recall, precision = _precision_recall(*cuts.whole)
    # At a vertical piece of the curve its lower end is what is approached from the left.
    asked = np.where(upper, false_rate, np.nextafter(false_rate, -1.0))

    def drawn(counts: Weights) -> _Floats:
        taken, hits = cuts.taken_and_hits(counts)
        found = np.full((len(asked) + len(recall), len(counts)), np.nan)
        for at, (some, good) in enumerate(zip(taken, hits, strict=True)):
            if 0 < good[-1] < some[-1]:
                bad = some - good
                x, y = np.append(0.0, bad / bad[-1]), np.append(0.0, good / good[-1])
                found[: len(asked), at] = np.interp(asked, x, y)
                first = np.searchsorted(good, recall * good[-1] - _SMALL)
                found[len(asked) :, at] = good[first] / some[first]
        return found

    band = _band(units.replicate(drawn, replicates, seed))
    roc, rest = ([end[part] for end in band] for part in (slice(None, len(asked)), slice(len(asked), None)))
    return Curve(false_rate, true_rate, *roc), Curve(recall, precision, *rest)


def wilson(k: _Floats | float, n: _Floats | float) -> tuple[_Floats, _Floats]:
    """Wilson's 95 % interval of shares k of n; an honest one where all or none are.

    >>> low, high = wilson(3, 3)
    >>> round(float(low), 2), round(float(high), 2)
    (0.44, 1.0)
    """
    size = np.asarray(n, np.float64)
    share, square = np.asarray(k, np.float64) / size, _Z**2
    middle = (share + square / (2 * size)) / (1 + square / size)
    reach = _Z / (1 + square / size) * np.sqrt(share * (1 - share) / size + square / (4 * size**2))
    return np.clip(middle - reach, 0.0, 1.0), np.clip(middle + reach, 0.0, 1.0)


def _roc(taken: _Floats, hits: _Floats) -> tuple[_Floats, _Floats, NDArray[np.bool_]]:
    """The corners, and whether each is the upper end of what stands above its false positive rate."""
    x, y = np.append(0.0, taken - hits), np.append(0.0, hits)
    across, up = np.diff(x), np.diff(y)
    corner = np.ones(len(x), np.bool_)
    corner[1:-1] = across[:-1] * up[1:] != across[1:] * up[:-1]
    x, y = x[corner], y[corner]
    upper = np.append(np.diff(x) > 0, True)
    chosen = _chosen(x / x[-1] + y / y[-1])
    return x[chosen] / x[-1], y[chosen] / y[-1], upper[chosen]


def _precision_recall(taken: _Floats, hits: _Floats) -> tuple[_Floats, _Floats]:
    first = np.flatnonzero(np.diff(hits, prepend=0.0) > 0)
    first = first[_chosen(hits[first])]
    return hits[first] / hits[-1], hits[first] / taken[first]


def _chosen(length: _Floats) -> NDArray[np.int64]:
    """The places of points along a curve of growing length: all, or 300 that are evenly spread, ends included."""
    if len(length) <= _POINTS:
        return np.arange(len(length))
    places = np.searchsorted(length, np.linspace(length[0], length[-1], _POINTS))
    return np.unique(np.minimum(places, len(length) - 1))


def _band(drawn: _Floats) -> list[_Floats]:
    """The lower and the upper end of each value (points,); nothing if too many draws are undefined."""
    known = drawn[:, np.isfinite(drawn).all(axis=0)]
    if known.shape[1] < 0.9 * drawn.shape[1]:
        return []
    return list(np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=1))


_CHOSEN_BY = {"precision": 0, "recall": 1, "F1": 2}
"""The figure that a threshold is chosen by, among precision, recall and F1."""


@dataclass(frozen=True)
class Goal:
    """What a threshold is chosen for."""

    kind: Literal["F1", "precision", "recall"]
    wanted: float = 0.0

    def __str__(self) -> str:
        return "best F1" if self.kind == "F1" else f"{self.kind} {self.wanted:g}"

    def places(self, taken: _Floats, hits: _Floats) -> IntVector:
        """The last group that is taken, by draws: (r, groups) -> (r,); -1 where the goal cannot be had.

        Of the thresholds of a wanted precision the lowest, which has the highest recall; of those of a wanted recall
        the highest.
        """
        positives = hits[:, -1:]
        if self.kind == "F1":
            place = (2 * hits / np.maximum(taken + positives, _SMALL)).argmax(axis=1)
        elif self.kind == "recall":
            place = (hits >= self.wanted * positives - _SMALL).argmax(axis=1)
        else:
            drawn = np.diff(taken, axis=1, prepend=0.0) > 0
            good = drawn & (hits >= self.wanted * taken - _SMALL)
            place = np.where(good.any(axis=1), good.shape[1] - 1 - good[:, ::-1].argmax(axis=1), -1)
        return np.where(positives[:, 0] > 0, place, -1).astype(np.int64)


def goals(precisions: Sequence[float], recalls: Sequence[float]) -> list[Goal]:
    """The best F1 and what is wanted beside it.

    Raises:
        OptionError: a wanted precision or recall is not a share.
    """
    wanted = [Goal("F1")]
    wanted += [Goal("precision", float(share)) for share in dict.fromkeys(precisions)]
    wanted += [Goal("recall", float(share)) for share in dict.fromkeys(recalls)]
    for goal in wanted[1:]:
        if not 0 < goal.wanted <= 1:
            raise OptionError(f"A {goal.kind} is above 0 and at most 1, such as 0.9, not {goal.wanted:g}.")
    return wanted


def operate(
    cuts: Cuts, wanted: Sequence[Goal], units: PairUnits, background: Background | None, replicates: int, seed: int
) -> list[Operating]:
    """A threshold for each goal, with its interval and what it does.

    In each draw the threshold is chosen anew, which gives its interval; precision, recall and F1 are those of the one
    threshold that was chosen. It was chosen on the pairs that it is judged on, so they flatter it a little: by as much
    as a draw flatters the threshold chosen on it, compared with all pairs. The lower bound of what was chosen by makes
    up for that.
    """
    if len(cuts.distinct) == 1:
        return [_refused(cuts, goal, f"all scores are {cuts.distinct[0]:g}") for goal in wanted]
    taken, hits = cuts.whole
    chosen = [int(goal.places(taken[None], hits[None])[0]) for goal in wanted]

    def drawn(counts: Weights) -> _Floats:
        some, good = cuts.taken_and_hits(counts)
        found = []
        for goal, fixed in zip(wanted, chosen, strict=True):
            place = goal.places(some, good)
            found.append(np.where(place < 0, np.nan, cuts.thresholds[place]))
            found += _figures(some[:, fixed], good[:, fixed], good[:, -1])
            rows = np.arange(len(place))
            here = _figures(some[rows, place], good[rows, place], good[:, -1])
            all_pairs = _figures(taken[place], hits[place], hits[-1])
            flattered = here[_CHOSEN_BY[goal.kind]] - all_pairs[_CHOSEN_BY[goal.kind]]
            found.append(np.where(place < 0, np.nan, flattered))
        return np.stack(found)

    every = units.replicate(drawn, replicates, seed).reshape(len(wanted), 5, replicates)
    return [
        _operating(cuts, goal, place, own, units, background)
        for goal, place, own in zip(wanted, chosen, every, strict=True)
    ]


def _figures(taken: _Floats, hits: _Floats, similar: _Floats | np.float64) -> list[_Floats]:
    """Precision, recall and F1 of so many pairs, of which some are hits."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return [hits / taken, hits / similar, 2 * hits / (taken + similar)]


def background_rate(background: Background, threshold: float) -> float:
    """The share of unrelated pairs at or above a threshold, between those that are known; none beyond the highest."""
    return float(np.interp(threshold, background.scores, background.tails, left=1.0, right=0.0))


def _operating(
    cuts: Cuts, goal: Goal, place: int, drawn: _Floats, units: PairUnits, background: Background | None
) -> Operating:
    taken, hits = cuts.whole
    some, good, alike, value = taken[place], hits[place], hits[-1], float(cuts.thresholds[place])
    low, high = bounds(drawn[0])
    if place < 0:
        return _refused(cuts, goal, _unreached(cuts, goal))
    if low is None:
        reached = f"{good:,.0f} of the {some:,.0f} pairs above {value:.3g} are similar"
        lost = f"{np.isnan(drawn[0]).mean():.0%} of the resamples have no such threshold"
        return _refused(cuts, goal, f"{reached}, but {lost}; label more pairs")
    # F1 is 2 J / (1 + J) of the share J of alike ones among all that are taken or should be.
    either = some + alike - good
    over, similar = np.arange(len(cuts.order)) < some, cuts.truth == 1

    def independent(rows: NDArray[np.bool_]) -> int:
        return units.select(cuts.order[rows]).independent

    shares = [
        _share(good, some, independent(over), drawn[1]),
        _share(good, alike, independent(similar), drawn[2]),
        replace(_share(good, either, independent(over | similar), drawn[3], dice=True), n=len(cuts.values)),
    ]
    at = _CHOSEN_BY[goal.kind]
    shares[at] = replace(shares[at], low=max((shares[at].low or 0.0) - max(float(np.nanmean(drawn[4])), 0.0), 0.0))
    rate = None if background is None else background_rate(background, value)
    note = "it accepts every pair: no higher threshold does as well" if place == len(taken) - 1 else ""
    precision, recall, f1 = shares
    return Operating(str(goal), value, low, high, precision, recall, f1, rate, note)


def _share(k: float, n: float, units: int, drawn: _Floats, *, dice: bool = False) -> Score:
    """A share of n pairs with the wider of two intervals: draws know of shared texts, Wilson's of all and none.

    Wilson's is that of the same share of as many pairs as are independent.
    """
    shares = np.array([k / n, *wilson(k / n * units, units)])
    value, low, high = (2 * shares / (1 + shares) if dice else shares).tolist()
    own = bounds(drawn)
    if own[0] is not None and own[1] is not None:
        low, high = min(low, own[0]), max(high, own[1])
    return Score(value, low, high, int(n))


def _unreached(cuts: Cuts, goal: Goal) -> str:
    taken, hits = cuts.whole
    best = int((hits / taken).argmax())
    highest, at = hits[best] / taken[best], cuts.thresholds[best]
    return f"no threshold has a precision of {goal.wanted:g}; the highest is {highest:.3g}, at {at:.3g}"


def _refused(cuts: Cuts, goal: Goal, reason: str) -> Operating:
    none = Score(None, None, None, len(cuts.values))
    return Operating(str(goal), None, None, None, none, none, none, None, reason)
