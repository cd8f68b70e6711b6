"""Results of a calibration: plain values that can be saved as JSON and drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from uncone.analysis.intervals.resampling import Score
from uncone.data.batch import Vector

__all__ = [
    "Background",
    "Curve",
    "Fit",
    "Guarantee",
    "HitSpread",
    "LabeledPairs",
    "Operating",
    "ScoreMapping",
    "Threshold",
    "Translation",
]


@dataclass(frozen=True, eq=False)
class Background:
    """The cosines of unrelated pairs of one corpus, or of queries with documents.

    `mean` and `sd` are exact over `all_pairs`; the quantiles are of `pairs` sampled ones: a share `tails[i]` of them
    lies at or above `scores[i]`, which is between `lows[i]` and `highs[i]` with 95 % confidence (distinct vectors, or
    documents, are the sampling units). `tails` fall, `scores` rise. `histogram` has the `edges` (b + 1,) and `counts`
    (b,) of the sampled pairs. `left_out` counts the pairs that are not there, by reason. `documents` are the vectors of
    the other side if queries and documents differ, and `beyond` is the share of unrelated pairs that may lie above all
    that were sampled, with 95 % confidence.

    Copies have weight in the values, but add no certainty: `distinct` and `distinct_documents` count the distinct
    vectors of each side, `distinct_pairs` the unrelated pairs of these, and `units` the independent units of the
    smaller side (documents if they were named). They are None in a background without copies of an earlier version.
    """

    name: str
    rows: int
    documents: int | None
    all_pairs: int
    pairs: int
    mean: float
    mean_low: float
    mean_high: float
    sd: float
    tails: Vector
    scores: Vector
    lows: Vector
    highs: Vector
    histogram: Mapping[str, Sequence[float]]
    left_out: Mapping[str, int] = field(default_factory=dict)
    distinct: int | None = None
    distinct_documents: int | None = None
    distinct_pairs: int | None = None
    units: int | None = None
    beyond: float | None = None

    @property
    def counts(self) -> tuple[int, int | None, int]:
        """Distinct vectors of each side, and unrelated pairs of them."""
        if self.distinct is None or self.distinct_pairs is None:
            return self.rows, self.documents, self.all_pairs
        return self.distinct, self.distinct_documents, self.distinct_pairs

    @property
    def independent(self) -> int:
        """The number of units that the intervals rest on: those of the smaller side."""
        return min(self.rows, self.documents or self.rows) if self.units is None else self.units


@dataclass(frozen=True)
class HitSpread:
    """How unrelated hits are spread over queries, if there is one per query on average.

    They are counted for `queries` sampled vectors in a corpus of `corpus_size` others: a share `over_one` of the
    queries has more than one hit, and the worst has `largest`.
    """

    corpus_size: int
    queries: int
    over_one: float
    largest: int


@dataclass(frozen=True)
class Threshold:
    """The score that a share `rate` of unrelated pairs reaches; `value` is None if there are too few vectors for it.

    `reason` then says why, and `rows_needed` how many vectors are enough. `hits` are the unrelated hits that a query
    meets on average in a corpus of `corpus_size`, and `spread` is how unevenly, if that was measured.
    """

    rate: float
    value: float | None
    low: float | None
    high: float | None
    rows_needed: int | None = None
    reason: str = ""
    corpus_size: int | None = None
    hits: float | None = None
    spread: HitSpread | None = None


@dataclass(frozen=True)
class Guarantee:
    """A threshold with a promise on new pairs; `value` is None if there are too few labeled pairs for it.

    Of `kind` "miss", a share of at most `rate` of new similar pairs scores below it on average; of kind "false", a
    share of at most `rate` of new dissimilar pairs scores at or above it. It rests on `units` independent pairs of that
    kind: `method` says how they were made of `pairs` labeled ones, "linked" (pairs linked through shared texts count
    as one) or "disjoint" (pairs that share no text, drawn by the seed). `expected` is the rate that was reached in the
    calibration, `low` and `high` the range of the true rate of such thresholds in 95 of 100 sets of so many pairs.

    `found` is the share of the labeled similar pairs at or above the threshold, `let_through` that of the dissimilar
    ones, `background_rate` that of unrelated pairs. Without a value, `reason` says why, and `units_needed` how many
    independent pairs of the kind are enough.
    """

    kind: Literal["miss", "false"]
    rate: float
    value: float | None
    units: int
    pairs: int
    method: Literal["linked", "disjoint"]
    expected: float | None = None
    low: float | None = None
    high: float | None = None
    found: Score | None = None
    let_through: Score | None = None
    background_rate: float | None = None
    units_needed: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class Translation:
    """A threshold of another space, and the one of this space that as many unrelated pairs reach."""

    old: float
    rate: float
    new: float | None
    low: float | None
    high: float | None
    old_name: str
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve through `x` and `y` of the same length; `lows` and `highs` bound y with 95 % confidence."""

    x: Vector
    y: Vector
    lows: Vector | None = None
    highs: Vector | None = None


@dataclass(frozen=True)
class Operating:
    """A threshold chosen on labeled pairs for a goal, and its figures; `value` is None if it cannot be reached.

    `goal` is "best F1", "precision 0.9", "recall 0.95" and so on; `background_rate` is the share of unrelated pairs
    that reach the threshold.
    """

    goal: str
    value: float | None
    low: float | None
    high: float | None
    precision: Score
    recall: Score
    f1: Score
    background_rate: float | None
    reason: str = ""


class Fit(NamedTuple):
    """A rising curve from score to probability: the logistic of slope and intercept, or interpolated knots (k, 2)."""

    knots: Vector
    slope: float | None = None
    intercept: float | None = None

    def __call__(self, scores: Vector) -> Vector:
        """The probability of each score."""
        if self.slope is None or self.intercept is None:
            return np.interp(scores, self.knots[:, 0], self.knots[:, 1])
        return np.asarray(1 / (1 + np.exp(-(self.slope * scores + self.intercept).clip(-700, 700))))


@dataclass(frozen=True, eq=False)
class ScoreMapping:
    """A mapping from score to probability, judged on pairs that it was not fitted on (cross-validated).

    `kind` is "logistic" or "isotonic"; `knots` (k, 2) are score and probability, to be interpolated; a logistic one
    also has `slope` and `intercept`. `reliability` is the share of similar pairs against the mean prediction, by bin.
    """

    kind: str
    knots: Vector
    slope: float | None
    intercept: float | None
    brier: Score
    ece: Score
    reliability: Curve
    bins: Sequence[int]

    def __call__(self, scores: Vector) -> Vector:
        """The probability of each score."""
        return Fit(self.knots, self.slope, self.intercept)(scores)


@dataclass(frozen=True, eq=False)
class LabeledPairs:
    """Labeled pairs: how well scores separate similar ones, where to cut, and probabilities.

    Of `graded` pairs, those with a grade of at least `cut` are similar, and there is a `spearman` correlation. The best
    of the `mappings` by Brier score comes first. `similar` and `dissimilar` are histograms of the scores: `edges` and
    `counts`.
    """

    name: str
    n: int
    positives: int
    graded: bool
    cut: float | None
    roc_auc: Score
    average_precision: Score
    roc: Curve
    precision_recall: Curve
    operating: Sequence[Operating]
    mappings: Sequence[ScoreMapping]
    spearman: Score | None = None
    similar: Mapping[str, Sequence[float]] = field(default_factory=dict)
    dissimilar: Mapping[str, Sequence[float]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
