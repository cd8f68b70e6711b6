"""The cosines of unrelated pairs: exact mean and deviation, and quantiles of sampled pairs with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from uncone.data.batch import CUT, IntVector, Vector
from uncone.data.source import Source, batches
from uncone.errors import NoUsableRowsError, OptionError, ShapeError
from uncone.run.measure import Plan, StepProgress, measure, step_progress
from uncone.stats.hashing import Fingerprints, Sketches
from uncone.stats.row_sample import RowSample, SampledRows, cutoff_for
from uncone.stats.statistic import Bundle
from uncone.stats.unit_vectors import CosineSums, PairMoments, UnitScatter
from uncone.stats.unusable import Unusable

__all__ = ["RATES", "Surveyed", "survey", "survey_between"]

RATES = (0.01,)
"""The default false-positive rate."""

_SAMPLE_ROWS, _MORE_ROWS = 25_000, 100_000
_RARE = 1e-3  # for such a rate more rows are sampled
_SAMPLE_NUMBERS = 1 << 27
_MOST_DIMENSIONS = 16_384


@dataclass(frozen=True, eq=False)
class Surveyed:
    """A background with the statistics behind it.

    `units` are those of the rows, or of the queries; `documents` those of the other side, if there is one. For each
    side `unusable` counts the rows that had to be left out. `sides` are the sampled rows, and `base` is what the
    cosines of their products deviate from.
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
) -> Surveyed:
    """Measure a source: in one pass, in two when `groups` names the document of every row.

    Pairs of the same document and exact copies are left out, of the exact sums and of the sample.

    Raises:
        ShapeError: fewer than two rows, or not one document for each.
        NoUsableRowsError: no two rows are unrelated.
        OptionError: a rate that is none.
    """
    _check_request(source, rates)
    plan = plan or Plan()
    numbers = None if groups is None else group_numbers(groups, source.rows, source.name)
    side = _measured(source, plan, min(rates), seed, step_progress(progress, "measuring", source.rows))
    units, copies = side.units, copies_among(side.prints)
    if units.n < 2:
        raise _too_few(source, side, 2)
    left_out, counts = CosineSums(copies, copies, copies), {"exact copies": copies}
    if numbers is not None:
        if len(numbers) != (seen := side.unusable.seen):
            raise ShapeError(f"{source.name} has {seen:,} vectors, but documents for {len(numbers):,}: name one each.")
        together, twice = same_document(source, numbers, plan.dtype)
        left_out += together + CosineSums(-twice, -twice, -twice)
        counts = {"same document": together.pairs, "exact copies": copies - twice}
    moments = units.among(left_out)
    if not moments.pairs:
        raise NoUsableRowsError(
            f"{source.name} has {units.n:,} vectors, and no two are unrelated: all are copies or from one document."
        )
    rows = Side.of(side.sample, units.mean, units.mean, numbers)
    base = float(units.mean @ units.mean)
    found = quantiles_of(partial(sample_pairs, rows, None, base), rates, max(int(rows.effective / 2), 1))
    interval = around(moments.mean, moments.variance, units.n)
    if rows.is_grouped:
        each = 2 * _dots(side.sample, units.mean)
        k = rows.effective
        # Each row was multiplied with its own unit too, which is not among the pairs: as in the jackknife over rows.
        variance = mean_variance(each, units.n, rows.unit) * (k / (k - 2)) ** 2 if k > 2 else np.nan
        interval = around(moments.mean, variance, int(k))
    distinct = distinct_among(side.prints) if copies else units.n
    if numbers is None:
        independent, pairs = distinct, distinct * (distinct - 1) // 2
    else:
        independent = int(rows.unit.max()) + 1
        pairs = min(moments.pairs, round(moments.pairs * (distinct / units.n) ** 2))
    known = (distinct, None, pairs, independent)
    background = _background(name, (units.n, None), moments, interval, found, counts, known)
    return Surveyed(background, units, None, (side.unusable,), (rows, None), base)


def survey_between(
    queries: Source,
    documents: Source,
    *,
    name: str,
    rates: Sequence[float] = RATES,
    plan: Plan | None = None,
    seed: int = 0,
    progress: StepProgress | None = None,
) -> Surveyed:
    """Measure two sides; pairs of a query and a document that is its exact copy are left out.

    Raises:
        ShapeError: the sides have different dimensions.
        NoUsableRowsError: a side has no usable row, or every pair is one of copies.
        OptionError: a rate that is none.
    """
    for source in (queries, documents):
        _check_request(source, rates, least=1)
    if queries.dim != documents.dim:
        raise ShapeError(
            f"{queries.name} has {queries.dim} dimensions and {documents.name} has {documents.dim}. Encode queries and "
            "documents with the same model."
        )
    plan = plan or Plan()
    ours, theirs = (
        _measured(side, plan, min(rates), seed + place, step_progress(progress, name, side.rows), alone=False)
        for place, (name, side) in enumerate({"queries": queries, "documents": documents}.items())
    )

    for source, side in ((queries, ours), (documents, theirs)):
        if not side.units.n:
            raise _too_few(source, side, 1)
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
    found = quantiles_of(partial(sample_pairs, left, right, base), rates, max(int(fewer), 1))
    interval = around(moments.mean, moments.variance, min(ours.units.n, theirs.units.n))
    if shared or left.is_grouped or right.is_grouped:
        each = _dots(ours.sample, means[1]), _dots(theirs.sample, means[0])
        variance = sum(
            mean_variance(one, side.units.n, rows.unit)
            for one, side, rows in zip(each, (ours, theirs), (left, right), strict=True)
        )
        variance += _shared_variance(*each, left.unit, right.unit) if shared else 0.0
        interval = around(moments.mean, variance, int(fewer))
    sizes, counts = (ours.units.n, theirs.units.n), {"exact copies": copies}
    here, there = common.distinct, common.distinct_others
    known = (here, there, here * there - common.shared * (common.shared + 1) // 2, min(here, there))
    background = _background(name, sizes, moments, interval, found, counts, known)
    return Surveyed(background, ours.units, theirs.units, (ours.unusable, theirs.unusable), (left, right), base)


def _dots(sample: SampledRows, mean: Vector) -> Vector:
    """The cosine of each sampled row with a mean, times its length; in the order of `Side`."""
    return np.asarray((sample.dot(mean) / sample.norms)[sample.order])


def _shared_variance(each: Vector, others: Vector, units: IntVector, other_units: IntVector) -> float:
    """What rows that stand on both sides add to the variance of the mean: twice the covariance of their two parts."""
    last = 1 + max(int(units.max()), int(other_units.max()))
    sums = (
        np.bincount(place, weights=one - one.mean(), minlength=last) / len(one)
        for one, place in ((each, units), (others, other_units))
    )
    return 2 * max(float(np.vecdot(*sums)), 0.0)


class _Measured(NamedTuple):
    """The statistics of one side."""

    units: UnitScatter
    prints: Fingerprints
    unusable: Unusable
    sample: SampledRows


def _measured(
    source: Source, plan: Plan, rate: float, seed: int, progress: Callable[[int], None] | None, *, alone: bool = True
) -> _Measured:
    """Measure one side; `alone`, copies are sought within it, else its fingerprints are those of all bits."""
    k = max(min(_SAMPLE_ROWS if rate > _RARE else _MORE_ROWS, _SAMPLE_NUMBERS // source.dim), 2)
    known = source.rows is not None and source.rereadable
    cutoff = cutoff_for(k, source.rows or 0, seed) if known else None
    bundle = Bundle(
        units=UnitScatter(source.dim, dtype=plan.dtype, reference=_reference(source, plan)),
        prints=Sketches(MANY_PRINTS) if alone and source.random_access else Fingerprints(MANY_PRINTS),
        unusable=Unusable(),
        sample=RowSample(source.dim, k, seed=seed, cutoff=cutoff, named=False),
    )
    measured = measure(source, bundle, plan, progress)
    sample: RowSample = measured["sample"]
    if cutoff is not None and 2 * sample.sampled.n < min(k, measured["units"].n):
        # Most rows are unusable, and so were most of those that were to be the sample.
        room = int(1.2 * cutoff * k / max(sample.sampled.n, 1))
        again = RowSample(source.dim, k, seed=seed, cutoff=room if room < 2**64 else None, named=False)
        sample = measure(source, again, plan)
    prints = measured["prints"]
    if isinstance(prints, Sketches) and prints.may_hold_copies:  # a file may be read again; texts are not encoded twice
        prints = measure(source, Fingerprints(MANY_PRINTS), plan)
    return _Measured(measured["units"], prints, measured["unusable"], sample.sampled)


def _reference(source: Source, plan: Plan) -> Vector | None:
    """The mean direction of the first rows, where reading them twice is free."""
    if not source.random_access:
        return None
    opening = next(batches(source.read(0, min(CUT, source.rows or 0)), plan.dtype))
    units = opening.vectors / opening.norms[:, None]
    return units.mean(axis=0, dtype=np.float64).astype(plan.dtype).astype(np.float64) if opening.n else None


def _background(
    name: str,
    sizes: tuple[int, int | None],
    moments: PairMoments,
    interval: Interval,
    quantiles: Quantiles,
    left_out: Mapping[str, int],
    known: tuple[int, int | None, int, int],
) -> Background:
    """`known` are the distinct rows of both sides, the unrelated pairs of them, and the independent units."""
    low, high = interval
    mean = min(max(moments.mean, -1.0), 1.0)
    low = -1.0 if low is None else min(max(low, -1.0), mean)
    high = 1.0 if high is None else max(min(high, 1.0), mean)
    rows, documents = sizes
    pairs = moments.pairs, quantiles.pairs
    curves = quantiles.tails, quantiles.scores, quantiles.lows, quantiles.highs
    histogram = {"edges": quantiles.edges.tolist(), "counts": quantiles.counts.tolist()}
    reasons = {reason: number for reason, number in left_out.items() if number}
    beyond = min(quantiles.beyond, 1.0)
    return Background(
        name, rows, documents, *pairs, mean, low, high, moments.sd, *curves, histogram, reasons, *known, beyond
    )


def _check_request(source: Source, rates: Sequence[float], least: int = 2) -> None:
    wrong = [rate for rate in rates if not 0 < rate < 1]
    if wrong or not rates:
        raise OptionError(f"A false-positive rate lies between 0 and 1, such as 0.01, not {wrong or 'none'}.")
    if source.rows is not None and source.rows < least:
        raise ShapeError(f"{source.name} has {count(source.rows, 'vector')}; cosines need at least {least}.")
    if source.dim > _MOST_DIMENSIONS:
        raise ShapeError(
            f"{source.name} has {source.dim:,} dimensions, more than any embedding space ({_MOST_DIMENSIONS:,}). Is it "
            "transposed?"
        )


def _too_few(source: Source, side: _Measured, least: int) -> Exception:
    counts = side.unusable
    if counts.seen < least:
        return ShapeError(f"{source.name} has {count(counts.seen, 'vector')}; cosines need at least {least}.")
    return NoUsableRowsError(
        f"{source.name}: {side.units.n} of {counts.seen:,} vectors can be used; {counts.bad:,} hold NaN, infinity or "
        f"huge numbers, {counts.zero:,} are zero. Cosines need at least {least}: check how the vectors were made."
    )
