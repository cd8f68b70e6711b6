"""`prescribe`: the repair that helps on held-out pairs, or none.

The pairs are dealt into folds. To test fold t, every candidate is fitted without t and without another fold c, and
scored on c, for each c in turn; the one that does best on these is fitted without t alone and scored on t. So neither
the choice nor the fit has seen what it is tested on. A fit without t and c serves to choose for t, and to choose for c.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.cosine.units import pair_cosines
from uncone.analysis.intervals.bootstrap import Replicates, differences
from uncone.analysis.intervals.resampling import LEVEL, REPLICATES
from uncone.data.batch import IntVector, Matrix
from uncone.data.vectors.memory import ArrayVectors
from uncone.errors import FitError, FormatError, OptionError, ShapeError
from uncone.evaluation.folds import Folds, Judge, PairProblem, split
from uncone.evaluation.prescription import Prescription, Tried, reason_for
from uncone.evaluation.table import Method
from uncone.repairs.affine import Affine
from uncone.repairs.directions import rounding
from uncone.repairs.registry import make_seeded
from uncone.repairs.repair import Progress, Repair
from uncone.run.measure import Plan, measure
from uncone.stats.moments import Moments
from uncone.stats.statistic import Bundle
from uncone.stats.unit_vectors import UnitSum

__all__ = ["LEAST_GAIN", "candidates_for", "fit_all", "prescribe"]

LEAST_GAIN = 0.01
"""The smallest gain worth a change: one point."""

_FEWEST_ROWS = 5
_MOST_ROWS = 20_000  # that a trial is fitted on; the recommended repair learns from all

_TOPS = (1, 3, 7, 15)
_NARROW = 256
_PER_CLUSTER = 100
_FEWEST_CLUSTERS = 5

_Floats = NDArray[np.float64]


def prescribe(
    vectors: Matrix,
    pairs: PairProblem,
    *,
    candidates: Sequence[Method] | None = None,
    folds: int = 5,
    seed: int = 0,
    replicates: int = REPLICATES,
    level: float = LEVEL,
    least_gain: float = LEAST_GAIN,
    progress: Progress | None = None,
) -> Prescription:
    """Try candidates on pairs of rows, and recommend the best only if choosing it helps on unseen pairs.

    That is: there are at least 30 independent pairs, the interval of the gain excludes zero, and the gain is at least
    `least_gain`. Rows in no pair are used to fit. Rows that are not finite are not, and it is an error if a pair has
    one, or one of zeros.

    Args:
        vectors: the rows (n, d), one per distinct text; equal rows count as one text.
        pairs: which rows are compared, and how alike they are: Spearman for scores, ROC-AUC for labels 0 and 1.
        candidates: what to try; the family of `candidates_for` when not given.
        folds: at least three; fewer than asked for if they would have under 10 distinct pairs.
        seed: deals the folds, draws the replicates and begins the repairs that draw.
        replicates: how often pairs are drawn again for the intervals.
        level: of the intervals.
        least_gain: a smaller gain is not worth a change; 0.01 is a point.
        progress: called with the step, the fits done since the last call, and the fits there are.

    Raises:
        ShapeError: the pairs name rows that are not there, or too few rows are left to fit on.
        FormatError: too few pairs of a label, or vectors of pairs that have no direction.
        OptionError: fewer than three folds, or no candidates.
    """
    rows = _check_vectors(vectors, pairs)
    texts = _texts(rows)
    if (texts == texts[0]).all():
        raise FormatError(f"{pairs.name}: all {len(rows):,} vectors are the same, and no repair can tell them apart.")
    if not 0 <= seed < 1 << 32:
        raise OptionError(f"A seed is 0 or more and under {1 << 32:,}, not {seed}.")
    partition = split(pairs, texts, folds, seed)
    n_fit = len(rows) * (partition.k - 2) // partition.k
    methods = candidates_for(rows.shape[1], n_fit) if candidates is None else candidates
    if not methods:
        raise OptionError("There are no candidates to try. Give some, or leave them out for the usual family.")
    trials = _CrossValidation(rows, pairs, texts, partition, methods, seed)
    outer, choices = trials.run(progress)
    estimates = Judge(pairs, partition).over_folds(outer, replicates, seed)
    table = _table(methods, estimates, trials.notes, choices, level)
    gain = differences(_select(estimates, [0, 1]), level=level, correction="none")[1]
    best = max((row for row in table if row.score is not None), key=lambda row: row.score or 0.0, default=None)
    use, reason = reason_for(best, gain, pairs, least_gain, level)
    recommended = best.method if use and best is not None else None
    return Prescription(
        recommended=recommended,
        repair=None if recommended is None else _final(recommended, rows, seed),
        table=table,
        raw=_number(estimates.scores[0]),
        gain=gain,
        reason=reason,
        measure=pairs.measure,
        pairs=len(pairs),
        units=estimates.units,
        folds=partition.k,
        level=level,
        least_gain=least_gain,
        name=pairs.name,
        notes=_notes(partition, folds),
    )


class _CrossValidation:
    """Every candidate fitted without one fold and without each two, and scored on the held-out pairs."""

    def __init__(
        self, rows: Matrix, pairs: PairProblem, texts: IntVector, folds: Folds, methods: Sequence[Method], seed: int
    ) -> None:
        self.rows, self.pairs, self.texts, self.folds, self.methods = rows, pairs, texts, folds, methods
        self.seed = seed
        self.judge = Judge(pairs, folds)
        self.notes = [""] * len(methods)
        self._usable = np.flatnonzero(np.isfinite(rows).all(axis=1))

    def run(self, progress: Progress | None) -> tuple[_Floats, IntVector]:
        """Similarities (2 + M, n), raw ones first, then those of the chosen, then of all; and the choices (folds,)."""
        k, m, n = self.folds.k, len(self.methods), len(self.pairs)
        total = k + k * (k - 1) // 2
        outer, scores, n_pairs = np.full((2 + m, n), np.nan), np.full((k, k, m), np.nan), np.zeros((k, k))
        outer[0] = self._cosines(np.arange(n), None)
        for held_out in [*combinations(range(k), 1), *combinations(range(k), 2)]:
            repairs = self._fit(held_out)
            for fold, other in zip(held_out, held_out[::-1], strict=True):
                places = self.judge.places[fold]
                if len(held_out) == 1:
                    outer[2:, places] = np.stack([self._cosines(places, repair) for repair in repairs])
                else:
                    # The pairs that choose for the other fold share no text with it.
                    places = places[self.folds.clear(fold, other)]
                    cosines = np.stack([self._cosines(places, repair) for repair in repairs])
                    scores[other, fold], n_pairs[other, fold] = self.judge.on(places, cosines), len(places)
            if progress is not None:
                progress("trying repairs", 1, total)
        choices = self._choices(scores, n_pairs)
        for fold, choice in enumerate(choices):
            if choice >= 0:
                outer[1, self.judge.places[fold]] = outer[2 + choice, self.judge.places[fold]]
        return outer, choices

    def _choices(self, scores: _Floats, n_pairs: _Floats) -> IntVector:
        """For each fold, the candidate with the best mean over the others, weighted by their pairs; -1 for none.

        Folds in which nothing can be told apart are left out; a candidate has to have a score in all others.
        """
        choices = np.full(len(scores), -1, np.int64)
        for fold, (own, sizes) in enumerate(zip(scores, n_pairs, strict=True)):
            usable = np.isfinite(own).any(axis=1)
            if not usable.any():
                continue
            means = sizes[usable] @ own[usable] / sizes[usable].sum()
            if np.isfinite(means).any():
                choices[fold] = int(np.nanargmax(means))
        return choices

    def _fit(self, held_out: Sequence[int]) -> list[Repair | FitError]:
        """The candidates fitted on the rows that no pair of the held-out folds has."""
        places = self.folds.pairs(*held_out)
        texts = np.union1d(self.texts[self.pairs.left[places]], self.texts[self.pairs.right[places]])
        rows = self._usable[~np.isin(self.texts[self._usable], texts)]
        if len(rows) < _FEWEST_ROWS:
            raise ShapeError(
                f"Without the texts of the held-out pairs {len(rows)} rows are left to fit on; we need at least "
                f"{_FEWEST_ROWS}. Give more texts, or pairs that share fewer."
            )
        if len(rows) > _MOST_ROWS:
            rows = np.sort(np.random.default_rng(self.seed).choice(rows, _MOST_ROWS, replace=False))
        repairs = fit_all(self.methods, self.rows[rows], self.seed)
        for at, repair in enumerate(repairs):
            if isinstance(repair, FitError):
                self.notes[at] = str(repair)
        return repairs

    def _cosines(self, places: IntVector, repair: Repair | FitError | None) -> _Floats:
        if isinstance(repair, FitError):
            return np.full(len(places), np.nan)
        # Each pair once: the last digits of a matrix product may differ between copies, which breaks their tie.
        distinct, copies = np.unique([self.pairs.left[places], self.pairs.right[places]], axis=1, return_inverse=True)
        left, right = self.rows[distinct[0]], self.rows[distinct[1]]
        mapped = (left, right) if repair is None else (repair.map(left), repair.map(right))
        return pair_cosines(*mapped)[copies.reshape(-1)]


def _check_vectors(vectors: Matrix, pairs: PairProblem) -> Matrix:
    rows: Matrix = np.asarray(vectors)
    if rows.ndim != 2 or rows.dtype.kind != "f":
        raise ShapeError(f"The vectors have to be a table (n, d) of floats, not {rows.dtype} of shape {rows.shape}.")
    rows = rows.astype(np.float32) if rows.dtype == np.float16 else rows
    last = int(max(pairs.left.max(), pairs.right.max()))
    if last >= len(rows):
        raise ShapeError(f"{pairs.name} names row {last:,}, but there are {len(rows):,} (counted from 0).")
    pair_rows = rows[np.union1d(pairs.left, pairs.right)]
    bad = int((~np.isfinite(pair_rows).all(axis=1) | ~pair_rows.any(axis=1)).sum())
    if bad:
        raise FormatError(
            f"{pairs.name}: {bad:,} of the {len(pair_rows):,} texts in pairs have no vector (not finite, or zero). "
            "Leave those pairs out; blank texts are the usual cause."
        )
    return rows


def _texts(rows: Matrix) -> IntVector:
    """The text of each row: the number of the first row that is equal to it."""
    whole = np.ascontiguousarray(rows)
    bytewise = whole.view(np.dtype((np.void, whole.strides[0]))).ravel()
    _, first, inverse = np.unique(bytewise, return_index=True, return_inverse=True)
    return np.asarray(first[inverse], np.int64)


def _table(
    methods: Sequence[Method], estimates: Replicates, notes: Sequence[str], choices: IntVector, level: float
) -> list[Tried]:
    gains = differences(_select(estimates, [0, *range(2, len(estimates.scores))]), level=level)[1:]
    wins = np.bincount(choices[choices >= 0], minlength=len(methods))
    rows = []
    for at, (method, gain) in enumerate(zip(methods, gains, strict=True)):
        score = _number(estimates.scores[2 + at])
        note = notes[at] or ("" if score is not None else "some rows become zero, so that they have no cosine")
        rows.append(Tried(method, score, gain, int(wins[at]), note))
    return rows


def _select(estimates: Replicates, rows: Sequence[int]) -> Replicates:
    return Replicates(estimates.scores[rows], estimates.values[rows], estimates.n, estimates.units)


def _final(method: Method, rows: Matrix, seed: int) -> Repair:
    return make_seeded(method.repair, method.options, seed).fit(rows[np.isfinite(rows).all(axis=1)])


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _notes(folds: Folds, requested: int) -> list[str]:
    notes = [folds.units.note] if folds.units.note else []
    if folds.k < requested:
        notes.append(f"{folds.k} folds, not {requested}: more would have fewer than 10 distinct pairs each.")
    if not folds.apart:
        notes.append(
            "Folds share texts, because pairs linked through texts fill more than a fold. Each fold is judged by "
            "repairs that were fitted and chosen without its texts."
        )
    return notes


def candidates_for(dim: int, n: int, *, with_flow: bool = False) -> list[Method]:
    """The candidates for `n` rows of `dim` dimensions, simplest first: of equally good ones, the first wins.

    The clusters are as many as 100 rows each allow, at most the 27 of the paper, and there are none under 500 rows. A
    flow takes minutes, so it is tried only when asked for.

    >>> [method.name for method in candidates_for(8, 300)]
    ['center', 'standardize', 'mute', 'droptop 1', 'droptop 3', 'droptop 7', 'whiten']
    """
    candidates: list[tuple[str, str, dict[str, Any]]] = [(kind, kind, {}) for kind in ("center", "standardize", "mute")]
    candidates += [(f"droptop {k}", "droptop", {"k": k}) for k in _TOPS if k < dim]
    candidates += [("whiten", "whiten", {})]
    if dim > _NARROW:
        candidates += [(f"whiten {_NARROW}", "whiten", {"dim": _NARROW})]
    if n >= _FEWEST_CLUSTERS * _PER_CLUSTER:
        k, p = min(27, n // _PER_CLUSTER), min(12, dim // 8)
        candidates += [(f"clustered {k}, {p}", "clustered", {"k": k, "p": p})]
    if with_flow:
        candidates += [("flow", "flow", {})]
    return [Method(name, repair, options, protocol="inductive") for name, repair, options in candidates]


def fit_all(methods: Sequence[Method], rows: Matrix, seed: int) -> list[Repair | FitError]:
    """Each method fitted on the rows (n, d), or the error that prevents it."""
    repairs = [make_seeded(method.repair, method.options, seed) for method in methods]
    dim = rows.shape[1]
    # In float64, so that none of them has to measure again.
    plan = Plan(dtype=np.float64)
    shared = measure(ArrayVectors(rows), Bundle(units=UnitSum(dim), moments=Moments(dim, dtype=np.float64)), plan)
    noise = rounding(shared["moments"], rows.dtype)
    outcomes: list[Repair | FitError] = []
    for repair in repairs:
        try:
            outcomes.append(repair.fit_stats(shared, noise=noise) if isinstance(repair, Affine) else repair.fit(rows))
        except FitError as error:
            outcomes.append(error)
    return outcomes
