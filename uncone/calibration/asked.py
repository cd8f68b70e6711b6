"""What a score means in a calibrated space: how many unrelated pairs reach it, and what it finds of labelled ones."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.calibration.calibration import Calibration
from uncone.calibration.curves import wilson
from uncone.calibration.results import Background
from uncone.evaluation.resampling import Score

__all__ = ["GUESSES", "Asked", "ask", "rate_bounds"]

GUESSES = (0.7, 0.75, 0.8)
"""The thresholds that people take when nobody tells them what a score means."""


@dataclass(frozen=True)
class Asked:
    """A score, raw and calibrated; `guessed` where nobody asked for it, but many would have taken it.

    `rate` is the share of unrelated pairs that reach the score, with 95 % bounds; `hits` how many of them a query meets
    in a corpus of the size that was named. Of labelled pairs: `found` is the share of the alike ones that reach it,
    `let_through` that of the unlike ones, `precision` the share of alike ones among those that reach it.
    """

    score: float
    guessed: bool
    percentile: float
    rate: float
    rate_low: float
    rate_high: float
    rescaled: float
    hits: float | None = None
    probability: float | None = None
    found: Score | None = None
    let_through: Score | None = None
    precision: Score | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def ask(
    calibration: Calibration,
    score: float,
    labels: ArrayLike | None = None,
    cosines: ArrayLike | None = None,
    *,
    guessed: bool = False,
) -> Asked:
    """What `score` means; `labels` 0/1 and `cosines` are those of the labelled pairs, where there are some."""
    rate = float(calibration.rate(score))
    low, high = rate_bounds(calibration.backgrounds[0], score)
    known = calibration.labelled is not None and bool(calibration.labelled.mappings)
    shares: dict[str, Score | None] = {}
    if labels is not None and cosines is not None:
        shares = _shares(np.asarray(labels, np.float64), np.asarray(cosines, np.float64) >= score)
    return Asked(
        score,
        guessed,
        float(calibration.percentile(score)),
        rate,
        min(low, rate),
        max(high, rate),
        float(calibration.rescale(score)),
        None if calibration.corpus_size is None else rate * calibration.corpus_size,
        float(calibration.probability(score)) if known else None,
        **shares,
    )


def rate_bounds(background: Background, score: float) -> tuple[float, float]:
    """The shares of unrelated pairs whose thresholds could be `score`: its place in the band of the quantiles."""
    lows, highs = (np.maximum.accumulate(np.asarray(one, np.float64)) for one in (background.lows, background.highs))
    if not (np.isfinite(lows).all() and np.isfinite(highs).all()):
        return 0.0, 1.0
    tails = np.asarray(background.tails, np.float64)
    return _tail_at(score, lows, tails, 0.0), _tail_at(score, highs, tails, float(tails[-1]))


def _tail_at(score: float, scores: NDArray[np.float64], tails: NDArray[np.float64], beyond: float) -> float:
    return float(np.interp(score, scores, tails, left=1.0, right=beyond))


def _shares(labels: NDArray[np.float64], over: NDArray[np.bool_]) -> dict[str, Score | None]:
    alike = labels > 0
    return {
        "found": _share(int((over & alike).sum()), int(alike.sum())),
        "let_through": _share(int((over & ~alike).sum()), int((~alike).sum())),
        "precision": _share(int((over & alike).sum()), int(over.sum())),
    }


def _share(k: int, n: int) -> Score:
    """A share of n pairs, with its interval."""
    if not n:
        return Score(None, None, None, 0)
    low, high = wilson(k, n)
    return Score(k / n, min(float(low), k / n), max(float(high), k / n), n)
