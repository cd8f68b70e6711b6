"""The cosines of unrelated pairs: exact mean and deviation, and quantiles of sampled pairs with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncone.analysis.calibration.excluded_pairs import (
    MANY_PRINTS,
    copies_among,
    distinct_among,
    group_numbers,
    overlap,
    same_document,
)
from uncone.analysis.calibration.quantiles import Quantiles, quantiles_of
from uncone.analysis.calibration.results import Background
from uncone.analysis.calibration.sampled_pairs import Side, sample_pairs
from uncone.analysis.intervals.intervals import Interval, around, mean_variance
from uncone.analysis.number_format import count
from uncone.analysis.space.space import Once
from uncone.data.batch import IntVector, Vector, batch_rows
from uncone.data.source import BLOCK, Source, batches, regrid
from uncone.errors import NoUsableRowsError, OptionError, ShapeError
from uncone.run.measure import Plan, StepProgress, measure, step_progress
from uncone.stats.hashing import Fingerprints, Sketches
from uncone.stats.row_sample import RowSample, SampledRows, cutoff_for
from uncone.stats.statistic import Bundle
from uncone.stats.unit_vectors import CosineSums, PairMoments, UnitScatter
from uncone.stats.unusable import Unusable

__all__ = ["RATES", "BackgroundSurvey", "background_from", "survey", "survey_between"]

RATES = (0.01,)
"""The default false-positive rate."""

_SAMPLE_ROWS, _MORE_ROWS = 25_000, 100_000
_RARE = 1e-3  # for such a rate more rows are sampled
_SAMPLE_NUMBERS = 1 << 27
_MOST_DIMENSIONS = 16_384


@dataclass(frozen=True, eq=False)
class BackgroundSurvey:
    """A background with the statistics behind it.

    `units` are the sums over the vectors, or over the queries, and `documents` those of the other side if there is one.
    `unusable` counts, for each side, the vectors that were left out. `sides` are the sampled vectors, and `base` is
    what the cosines of their products deviate from.
    """

    background: Background
    units: UnitScatter
    documents: UnitScatter | None
    unusable: tuple[Unusable, ...]
    sides: tuple[Side, Side | None]
    base: float


def survey(
    source: Source,
    *,
    name: str,
    rates: Sequence[float] = RATES,
    plan: Plan | None = None,
    seed: int = 0,
    groups: ArrayLike | None = None,
    progress: StepProgress | None = None,
) -> BackgroundSurvey:
    """Measure a source: in one pass, in two if `groups` names the document of every vector.

    Pairs of the same document and exact copies are left out, of the exact sums and of the sample.

    Raises:
        ShapeError: fewer than two vectors, or not one document for each.
        NoUsableRowsError: no two vectors are unrelated.
        OptionError: a rate that is not between 0 and 1.
    """
    plan, documents = plan or Plan(), None
    _check_request(source, rates)
    if groups is not None:
        documents = group_numbers(groups, source.rows, source.name)
    side = _SideStatistics.of(source, plan, min(rates), seed, progress, "measuring")
    units, copies = side.units, copies_among(side.prints)
    side.check_size(source, 2)
    left_out, counts = CosineSums(copies, copies, copies), {"exact copies": copies}
    if documents is not None:
        if len(documents) != (n_rows := side.unusable.n_read):
            n = len(documents)
            raise ShapeError(f"{source.name} has {n_rows:,} vectors, but documents for {n:,}: name one each.")
        together, twice = same_document(source, documents, plan.dtype)
        left_out += together + CosineSums(-twice, -twice, -twice)
        counts = {"same document": together.pairs, "exact copies": copies - twice}
    moments = units.among(left_out)
    if not moments.pairs:
        raise NoUsableRowsError(
            f"{source.name} has {units.n:,} vectors, and no two are unrelated: all are copies or from one document."
        )
    rows = Side.of(side.sample, units.mean, units.mean, documents)
    base = float(units.mean @ units.mean)
    quantiles = quantiles_of(partial(sample_pairs, rows, None, base), rates, max(int(rows.effective / 2), 1))
    interval = around(moments.mean, moments.variance, units.n)
    if rows.is_grouped:
        k = rows.effective
        # Each vector was multiplied with its own unit too, which is not among the pairs: as in the jackknife over rows.
        variance = (
            mean_variance(2 * side.dots(units.mean), units.n, rows.unit) * (k / (k - 2)) ** 2 if k > 2 else np.nan
        )
        interval = around(moments.mean, variance, int(k))
    distinct = distinct_among(side.prints) if copies else units.n
    independent, pairs = distinct, distinct * (distinct - 1) // 2
    if documents is not None:
        independent = int(rows.unit.max()) + 1
        pairs = min(moments.pairs, round(moments.pairs * (distinct / units.n) ** 2))
    sizes, unique = (units.n, None), (distinct, None, pairs, independent)
    background = background_from(name, sizes, moments, interval, quantiles, counts, unique)
    return BackgroundSurvey(background, units, None, (side.unusable,), (rows, None), base)


def survey_between(
    queries: Source,
    documents: Source,
    *,
    name: str,
    rates: Sequence[float] = RATES,
    plan: Plan | None = None,
    seed: int = 0,
    progress: StepProgress | None = None,
) -> BackgroundSurvey:
    """Measure two sides; pairs of a query and a document that is its exact copy are left out.

    Raises:
        ShapeError: the sides have different dimensions.
        NoUsableRowsError: a side has no usable vector, or every pair is one of copies.
        OptionError: a rate that is not between 0 and 1.
    """
    for source in (queries, documents):
        _check_request(source, rates, minimum=1)
    if queries.dim != documents.dim:
        raise ShapeError(
            f"{queries.name} has {queries.dim} dimensions and {documents.name} has {documents.dim}. Encode queries and "
            "documents with the same model."
        )
    plan = plan or Plan()
    ours, theirs = (
        _SideStatistics.of(source, plan, min(rates), seed + place, progress, step, alone=False)
        for place, (step, source) in enumerate({"queries": queries, "documents": documents}.items())
    )
    ours.check_size(queries, 1)
    theirs.check_size(documents, 1)
    common = overlap(ours.prints, theirs.prints)
    copies = common.pairs
    moments = ours.units.between(theirs.units, CosineSums(copies, copies, copies))
    if not moments.pairs:
        raise NoUsableRowsError(f"All vectors of {queries.name} and {documents.name} are copies of each other.")
    means = ours.units.mean, theirs.units.mean
    left, right = Side.of(ours.sample, *means), Side.of(theirs.sample, *means[::-1])
    shared = bool(copies) and left.shares_rows(right)
    if shared:
        left, right = left.joined(right)
    base = float(means[0] @ means[1])
    fewer = min(left.effective, right.effective)
    quantiles = quantiles_of(partial(sample_pairs, left, right, base), rates, max(int(fewer), 1))
    interval = around(moments.mean, moments.variance, min(ours.units.n, theirs.units.n))
    if shared or left.is_grouped or right.is_grouped:
        dots = ours.dots(means[1]), theirs.dots(means[0])
        variance = mean_variance(dots[0], ours.units.n, left.unit) + mean_variance(dots[1], theirs.units.n, right.unit)
        variance += _shared_variance(*dots, left.unit, right.unit) if shared else 0.0
        interval = around(moments.mean, variance, int(fewer))
    n, m = common.distinct, common.distinct_others
    sizes, unique = (ours.units.n, theirs.units.n), (n, m, n * m - common.shared * (common.shared + 1) // 2, min(n, m))
    background = background_from(name, sizes, moments, interval, quantiles, {"exact copies": copies}, unique)
    unusable = (ours.unusable, theirs.unusable)
    return BackgroundSurvey(background, ours.units, theirs.units, unusable, (left, right), base)


def background_from(
    name: str,
    sizes: tuple[int, int | None],
    moments: PairMoments,
    interval: Interval,
    quantiles: Quantiles,
    left_out: Mapping[str, int],
    unique: tuple[int, int | None, int, int],
) -> Background:
    """A background of `sizes` vectors on each side.

    `unique` are the distinct vectors of each side, their unrelated pairs, and the number of independent units.
    """
    low, high = interval
    mean = min(max(moments.mean, -1.0), 1.0)
    low = -1.0 if low is None else min(max(low, -1.0), mean)
    high = 1.0 if high is None else max(min(high, 1.0), mean)
    curves = quantiles.tails, quantiles.scores, quantiles.lows, quantiles.highs
    histogram = {"edges": quantiles.edges.tolist(), "counts": quantiles.counts.tolist()}
    reasons = {reason: number for reason, number in left_out.items() if number}
    pairs, beyond = (moments.pairs, quantiles.pairs), min(quantiles.beyond, 1.0)
    return Background(name, *sizes, *pairs, mean, low, high, moments.sd, *curves, histogram, reasons, *unique, beyond)


def _shared_variance(dots: Vector, others: Vector, units: IntVector, other_units: IntVector) -> float:
    """What vectors that stand on both sides add to the variance of the mean: twice the covariance of their parts."""
    last = 1 + max(int(units.max()), int(other_units.max()))
    sums = (
        np.bincount(place, weights=values - values.mean(), minlength=last) / len(values)
        for values, place in ((dots, units), (others, other_units))
    )
    return 2 * max(float(np.vecdot(*sums)), 0.0)


class _SideStatistics(NamedTuple):
    """The statistics of one side."""

    units: UnitScatter
    prints: Fingerprints
    unusable: Unusable
    sample: SampledRows

    @classmethod
    def of(
        cls,
        source: Source,
        plan: Plan,
        rate: float,
        seed: int,
        progress: StepProgress | None,
        step: str,
        *,
        alone: bool = True,
    ) -> _SideStatistics:
        """Measure one side; copies are counted within it if it is `alone`, else with fingerprints of all bits."""
        k = max(min(_SAMPLE_ROWS if rate > _RARE else _MORE_ROWS, _SAMPLE_NUMBERS // source.dim), 2)
        cutoff = cutoff_for(k, source.rows, seed) if source.rows is not None and source.rereadable else None
        stream, reference = _with_reference(source, plan)
        bundle = Bundle(
            units=UnitScatter(source.dim, dtype=plan.dtype, reference=reference),
            prints=Sketches(MANY_PRINTS) if alone and source.random_access else Fingerprints(MANY_PRINTS),
            unusable=Unusable(),
            sample=RowSample(source.dim, k, seed=seed, cutoff=cutoff, keep_texts=False),
        )
        statistics = measure(stream, bundle, plan, step_progress(progress, step, source.rows))
        units, prints, sample = statistics["units"], statistics["prints"], statistics["sample"]
        if cutoff is not None and 2 * sample.sampled.n < min(k, units.n):
            # Most vectors are unusable, and so were most of those that were to be the sample.
            room = int(1.2 * cutoff * k / max(sample.sampled.n, 1))
            again = RowSample(source.dim, k, seed=seed, cutoff=room if room < 2**64 else None, keep_texts=False)
            sample = measure(source, again, plan)
        if isinstance(prints, Sketches) and prints.may_hold_copies:  # a file may be read again; texts are encoded once
            prints = measure(source, Fingerprints(MANY_PRINTS), plan)
        return cls(units, prints, statistics["unusable"], sample.sampled)

    def dots(self, mean: Vector) -> Vector:
        """The cosine of each sampled vector with a mean, times the length of the mean; in the order of `Side`."""
        return np.asarray((self.sample.dot(mean) / self.sample.norms)[self.sample.order])

    def check_size(self, source: Source, minimum: int) -> None:
        """Refuse fewer usable vectors than this."""
        counts = self.unusable
        if counts.n_read < minimum:
            raise ShapeError(f"{source.name} has {count(counts.n_read, 'vector')}; cosines need at least {minimum}.")
        if self.units.n < minimum:
            raise NoUsableRowsError(
                f"{source.name}: {self.units.n} of {counts.n_read:,} vectors can be used; {counts.bad:,} hold NaN, "
                f"infinity or huge numbers, {counts.zero:,} are zero. Cosines need at least {minimum}: check how the "
                "vectors were made."
            )


def _with_reference(source: Source, plan: Plan) -> tuple[Source, Vector | None]:
    """The source, and the mean direction of its first vectors, which a stream gives only once."""
    n_rows = batch_rows(source.dim)
    if source.random_access or source.divisible:
        opening = next(batches(source.read(0, min(n_rows, source.rows or 0)), plan.dtype), None)
    else:
        stream = regrid(source.read(), BLOCK)
        block = next(stream, None)
        if block is None:
            return source, None
        block = replace(block, vectors=block.vectors.copy())
        opening = next(batches(iter([block.part(0, n_rows)]), plan.dtype))
        source = Once(source, [block], stream)
    if opening is None or not opening.n:
        return source, None
    units = opening.vectors / opening.norms[:, None]
    return source, units.mean(axis=0, dtype=np.float64).astype(plan.dtype).astype(np.float64)


def _check_request(source: Source, rates: Sequence[float], minimum: int = 2) -> None:
    wrong = [rate for rate in rates if not 0 < rate < 1]
    if wrong or not rates:
        raise OptionError(f"A false-positive rate lies between 0 and 1, such as 0.01, not {wrong or 'none'}.")
    if source.rows is not None and source.rows < minimum:
        raise ShapeError(f"{source.name} has {count(source.rows, 'vector')}; cosines need at least {minimum}.")
    if source.dim > _MOST_DIMENSIONS:
        raise ShapeError(
            f"{source.name} has {source.dim:,} dimensions, more than any embedding space ({_MOST_DIMENSIONS:,}). Is it "
            "transposed?"
        )
