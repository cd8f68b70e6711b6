"""What a score means in a calibrated space: how many unrelated pairs reach it, and how many labeled ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.calibration.calibration import Calibration
from uncone.analysis.calibration.curves import wilson
from uncone.analysis.calibration.results import Background
from uncone.analysis.calibration.thresholds import rate_at, score_at
from uncone.analysis.cosine.baseline import Evidence, evidence
from uncone.analysis.intervals.intervals import LEAST_UNITS, effective_number
from uncone.analysis.intervals.pair_units import PairUnits
from uncone.analysis.intervals.resampling import REPLICATES, Score

__all__ = ["GUESSES", "NO_RATIO", "STRONG_RATIO", "Asked", "LabelledScores", "ask", "rate_bounds", "ratio_evidence"]

GUESSES = (0.7, 0.75, 0.8)
"""Common guesses at a threshold."""

STRONG_RATIO = 10.0
"""A score that similar pairs reach at least ten times as often as unrelated pairs is evidence of similarity."""

NO_RATIO = 2.0
"""A score that they reach less than twice as often is not."""

_Floats = NDArray[np.float64]


class LabelledScores(NamedTuple):
    """Labeled pairs with a score: whether each is similar (n,), its cosine (n,), and their sampling units."""

    similar: _Floats
    cosines: _Floats
    units: PairUnits
    replicates: int = REPLICATES
    seed: int = 0


@dataclass(frozen=True)
class Asked:
    """A score, raw and calibrated; `guessed` if it is a common guess and not a score of the user.

    `rate` is the share of unrelated pairs that reach the score, with 95 % bounds; `hits` how many of them a query meets
    in a corpus of the given size. Of labeled pairs, `found` is the share of the similar ones that reach it,
    `let_through` that of the others, `precision` the share of similar ones among those that reach it. `ratio` is the
    likelihood ratio: how many times as often similar pairs reach it as unrelated pairs do; `labelled_ratio` the same
    against the labeled pairs that are not similar; the `n` of both counts the independent similar pairs. `evidence`
    grades the score: by the ratio if there are at least 30 of these, else by the share of unrelated pairs alone.
    """

    score: float
    guessed: bool
    percentile: float
    rate: float
    rate_low: float
    rate_high: float
    rescaled: float
    evidence: Evidence
    hits: float | None = None
    probability: float | None = None
    found: Score | None = None
    let_through: Score | None = None
    precision: Score | None = None
    ratio: Score | None = None
    labelled_ratio: Score | None = None

    @property
    def is_judged_by_ratio(self) -> bool:
        """Whether enough similar pairs were labelled to judge the score by what it finds of them."""
        return self.ratio is not None and self.ratio.value is not None and self.ratio.n >= LEAST_UNITS

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**asdict(self), "evidence": str(self.evidence)}


def ask(
    calibration: Calibration, scores: Sequence[float], labelled: LabelledScores | None = None, *, guessed: bool = False
) -> list[Asked]:
    """What each of the `scores` means; `labelled` pairs add how many of them reach it."""
    shares: list[dict[str, Score]] = [{} for _ in scores] if labelled is None else _shares(labelled, scores)
    return [_ask(calibration, float(score), part, guessed) for score, part in zip(scores, shares, strict=True)]


def _ask(calibration: Calibration, score: float, shares: dict[str, Score], guessed: bool) -> Asked:
    background, rate = calibration.backgrounds[0], float(calibration.rate(score))
    low, high = rate_bounds(background, score)
    grade, ratio = evidence(rate, low, high, background.independent), None
    if shares:
        ratio = _ratio(shares["found"], Score(rate, low, high, 0), shares["labelled_ratio"].n)
        if ratio.value is not None and min(ratio.n, background.independent) >= LEAST_UNITS:
            grade = ratio_evidence(ratio)
    known = calibration.labelled is not None and bool(calibration.labelled.mappings)
    return Asked(
        score,
        guessed,
        calibration.percentile(score),
        rate,
        low,
        high,
        calibration.rescale(score),
        grade,
        None if calibration.corpus_size is None else rate * calibration.corpus_size,
        calibration.probability(score) if known else None,
        **shares,
        ratio=ratio,
    )


def ratio_evidence(ratio: Score) -> Evidence:
    """Grade a score by its likelihood ratio; unknown when the interval reaches from strong evidence to none.

    >>> ratio_evidence(Score(17.0, 12.0, 22.0, 200)), ratio_evidence(Score(1.3, 1.2, 1.4, 200))
    (<Evidence.STRONG: 'strong'>, <Evidence.NONE: 'none'>)
    """
    if (
        ratio.value is None
        or ratio.low is None
        or ratio.high is None
        or ratio.low < NO_RATIO <= STRONG_RATIO <= ratio.high
    ):
        return Evidence.UNKNOWN
    strong, weak = ratio.value >= STRONG_RATIO, ratio.value >= NO_RATIO
    return Evidence.STRONG if strong else Evidence.WEAK if weak else Evidence.NONE


def rate_bounds(background: Background, score: float) -> tuple[float, float]:
    """95 % bounds of the share of unrelated pairs that reach a score: the shares at the bounds of its own quantile.

    At least the share that may lie above all sampled pairs is possible.
    """
    tails, lows, highs = (np.asarray(one, np.float64) for one in (background.tails, background.lows, background.highs))
    if not (np.isfinite(lows).all() and np.isfinite(highs).all()):
        return 0.0, 1.0
    rate = float(rate_at(background, score))
    if 0 < rate < 1:
        low, high = (float(rate_at(background, score_at(background, rate, bound=one))) for one in ("highs", "lows"))
    else:
        low, high = (float(np.interp(score, one, tails, left=1.0, right=0.0)) for one in (lows, highs))
    return min(low, rate), max(high, rate, float(tails[-1]) if background.beyond is None else background.beyond)


def _shares(labelled: LabelledScores, scores: Sequence[float]) -> list[dict[str, Score]]:
    """For each score: the similar pairs found, the others let through, the precision, and the ratio of the first two.

    The variance is that over draws of whole units. Wilson's interval is then the one of as many independent pairs as
    would vary as much: it holds where all or none are, too.
    """
    similar, cosines, units, replicates, seed = labelled
    alike, over = similar > 0, cosines[:, None] >= np.asarray(scores, np.float64)
    every = np.ones_like(over)
    # Numerators and denominators of every share, as sums over pairs: (n, 3 scores) each.
    wholes = np.concatenate([alike[:, None] & every, ~alike[:, None] & every, over], axis=1)
    parts = wholes & np.concatenate([over, over, alike[:, None] & every], axis=1)

    def shares(counts: NDArray[np.int64]) -> _Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((counts @ parts.astype(np.float64)).T / (counts @ wholes.astype(np.float64)).T)

    values = shares(np.ones((1, len(alike)), np.int64))[:, 0]
    drawn = units.replicate(shares, replicates, seed)
    each = [_share(*column, units) for column in zip(values, drawn, wholes.T, strict=True)]
    pairs = len(np.unique(units.unit[alike]))
    result = []
    for found, let_through, precision in zip(*np.array_split(np.array(each, object), 3), strict=True):
        ratio = _ratio(found, let_through, pairs)
        result.append({"found": found, "let_through": let_through, "precision": precision, "labelled_ratio": ratio})
    return result


def _share(value: float, drawn: _Floats, whole: NDArray[np.bool_], units: PairUnits) -> Score:
    """A share of the pairs of `whole`, with its interval."""
    n = int(whole.sum())
    if not n:
        return Score(None, None, None, 0)
    most = effective_number(np.unique(units.unit[whole], return_inverse=True)[1])
    known = drawn[np.isfinite(drawn)]
    variance = float(known.var()) if known.size else 0.0
    size = min(value * (1 - value) / variance, most) if variance > 0 else most
    low, high = wilson(value * size, size)
    return Score(float(value), min(float(low), float(value)), max(float(high), float(value)), n)


def _ratio(found: Score, let_through: Score, units: int) -> Score:
    """How many times as often pairs are found as let through; the two shares are uncertain by themselves."""
    if not found.value or not let_through.value:
        return Score(None, None, None, units)
    value = found.value / let_through.value
    down = math.hypot(_log_ratio(found.value, found.low), _log_ratio(let_through.high, let_through.value))
    up = math.hypot(_log_ratio(found.high, found.value), _log_ratio(let_through.value, let_through.low))
    return Score(value, value * math.exp(-down), value * math.exp(up) if math.isfinite(up) else None, units)


def _log_ratio(one: float | None, other: float | None) -> float:
    return math.log(one / other) if one and other else math.inf
