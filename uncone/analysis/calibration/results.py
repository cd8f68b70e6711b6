"""What a calibration consists of: plain values, so that it can be saved as JSON, drawn and asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from uncone.analysis.intervals.resampling import Score
from uncone.data.batch import Vector

__all__ = [
    "Background",
    "Curve",
    "Fit",
    "HitSpread",
    "Labelled",
    "Operating",
    "ScoreMapping",
    "Threshold",
    "Translation",
]


@dataclass(frozen=True, eq=False)
class Background:
    """The cosines of unrelated pairs of one corpus, or of queries with documents.

    `mean` and `sd` are exact over `all_pairs`; the quantiles are of `pairs` sampled ones: a share `tails[i]` of them
    lies at or above `scores[i]`, which is between `lows[i]` and `highs[i]` with 95 % confidence (distinct rows, or
    documents, are the sampling units). `tails` falls, `scores` rise. `left_out` counts the pairs that are not there, by
    reason.

    Copies have weight in the values, and add nothing to what is known: `distinct` and `distinct_documents` count the
    rows of each side that differ, `distinct_pairs` the unrelated pairs of these, and `units` the independent ones of
    the smaller side (documents where they were named). None of a background of an earlier version: as if all differed.
    """

    name: str
    rows: int
    documents: int | None
    """Rows of the other side, where queries and documents differ."""
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
    """`edges` (b + 1,) and `counts` (b,) of the sampled pairs."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    distinct: int | None = None
    distinct_documents: int | None = None
    distinct_pairs: int | None = None
    units: int | None = None
    beyond: float | None = None
    """The share of unrelated pairs that may lie above all that were sampled, with 95 % confidence."""

    @property
    def counts(self) -> tuple[int, int | None, int]:
        """Distinct rows of each side, and unrelated pairs of them."""
        ours, theirs, pairs = self.distinct, self.distinct_documents, self.distinct_pairs
        return (
            self.rows if ours is None else ours,
            self.documents if theirs is None else theirs,
            self.all_pairs if pairs is None else pairs,
        )

    @property
    def independent(self) -> int:
        """How many units the intervals rest on: those of the smaller side."""
        return min(self.rows, self.documents or self.rows) if self.units is None else self.units


@dataclass(frozen=True)
class HitSpread:
    """How the unrelated hits of a corpus are spread over queries, when there is one per query on average.

    Counted in a corpus of `corpus_size` sampled rows, with `queries` sampled ones: a share `over_one` of them has more
    than one hit, and the worst `largest`.
    """

    corpus_size: int
    queries: int
    over_one: float
    largest: int


@dataclass(frozen=True)
class Threshold:
    """The score that a share `rate` of unrelated pairs reaches; `value` is None where the rows cannot support it.

    `reason` then says why, and `rows_needed` how many rows would. `hits` are the unrelated hits that a query finds on
    average in a corpus of `corpus_size`; `spread` says how unevenly, where that was measured.
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
    """A threshold chosen on labelled pairs: why, and what it does; `value` is None where it cannot be had.

    `goal` is "best F1", "precision 0.9", "recall 0.95" and so on; `background_rate` is the share of unrelated pairs
    that it lets through.
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

    `kind` is "logistic" or "isotonic"; `knots` (k, 2) are score and probability, to be interpolated between; for the
    logistic also `slope` and `intercept`. `reliability`: the mean prediction of each bin against the share of alike.
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
class Labelled:
    """What labelled pairs say: how well scores tell alike from unlike pairs, where to cut, and probabilities.

    `graded` pairs were labelled 1 where their grade is at least `cut`.
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
    """The best by Brier score first."""
    spearman: Score | None = None
    """Of graded pairs."""
    alike: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Histogram of the scores of alike pairs: `edges` and `counts`."""
    unlike: Mapping[str, Sequence[float]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
