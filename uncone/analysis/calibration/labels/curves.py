"""ROC and precision-recall curves of labeled pairs, each with a pointwise band over resampled pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.calibration.results import Curve
from uncone.analysis.intervals.labeled_pairs import PairCurve
from uncone.analysis.intervals.pair_units import PairUnits
from uncone.analysis.intervals.resampling import LEVEL, Weights
from uncone.data.lazy_property import once

__all__ = ["Cuts", "curves", "wilson"]

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
