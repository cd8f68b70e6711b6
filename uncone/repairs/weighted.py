"""Repairs by word frequency: `sif` weighs tokens before they are pooled, `zipf` whitens by how often words occur."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import _check_sample_weight, validate_data

from uncone.analysis.frequency.sources import counts_from, word_shares
from uncone.data.batch import Batch, Matrix, Vector
from uncone.data.source import BLOCK, Rows, Source, regrid
from uncone.data.vectors.memory import ArrayVectors
from uncone.encoders.rows.tokens import TokenSource
from uncone.errors import DamagedRepairError, FitError
from uncone.repairs.affine import Affine
from uncone.repairs.directions import leading, rounding
from uncone.repairs.repair import Arrays, Progress, widened
from uncone.repairs.spectral import Whiten
from uncone.run.measure import Plan, step_progress
from uncone.stats.moments import Moments
from uncone.stats.statistic import Bundle

__all__ = ["Sif", "Zipf"]

_BETWEEN = b"\0"
_FEW = 5  # rows per dimension below which a covariance without shrinkage is a poor one
_AT_TOKENS = "At token level each word counts as often as it occurs in the texts already: leave --frequencies out."


class Sif(Affine):
    """Smooth inverse frequency: each token is weighed by a/(a + p), and the first singular vector of texts is removed.

    p is the token's share of the texts that the repair is fitted on, or of `frequencies` (see `counts_from`) if the
    tokens are whole words; a token that is not there has p = 0 and weight 1. The vectors of texts are the means of
    their weighed tokens, and `direction_` (d, 1) is the first right singular vector of these, which are not centered.
    What is left is x - direction (direction . x). A table has no names of tokens: it teaches the direction alone.
    """

    kind = "sif"
    more = ("direction", "words", "shares")
    weighs_tokens = True

    direction_: Matrix
    words_: np.ndarray
    """The tokens, in UTF-8 with zero bytes between them."""
    shares_: Vector
    """The share p of each of them."""

    def __init__(self, a: float = 1e-3, frequencies: str | None = None) -> None:
        self.a = a
        self.frequencies = frequencies

    def _learn(self, source: Source, plan: Plan, progress: Progress | None) -> None:
        self._name([], np.empty(0))
        if not isinstance(source, TokenSource):
            super()._learn(source, plan, progress)
            return
        self._check_a()
        counts: dict[str, float] = dict(source.counts())
        names = sorted(counts)
        missing = 0.0
        if self.frequencies is not None:
            if not source.has_words:
                raise FitError(
                    "The model's tokens are pieces of words, so sif counts them in the texts. Leave --frequencies out."
                )
            shares, missing = word_shares(names, counts_from(self.frequencies, names))
        else:
            shares = np.array([counts[name] for name in names]) / sum(counts.values())
        self._name(names, shares)
        moments, report = Moments(source.dim, dtype=np.float64), step_progress(progress, "weighing", None)
        for means in source.text_means(self.token_weight):
            moments.add(Batch.of(np.asarray(means, np.float64)).vectors)
            if report is not None:
                report(len(means))
        self.fit_stats(Bundle(moments=moments), noise=rounding(moments, plan.dtype))
        unknown = f" {missing:.1%} of {self.frequencies} are words that no text has." if missing else ""
        self.note_ = f"{len(names):,} tokens weighed by a/(a + p), a = {self.a:g}. {self.note_}{unknown}"

    def _solve(self, statistics: Bundle, noise: Vector | None) -> tuple[Vector, Matrix]:
        self._check_a()
        moments = statistics["moments"]
        d, n = moments.dim, moments.n
        if d == 1:
            raise FitError("sif removes a direction, and vectors of 1 feature(s) have only one. Give wider vectors.")
        second = moments.centered.second + n * np.outer(moments.mean, moments.mean)
        values, vectors = leading(second, 1)
        largest = np.abs(vectors[:, 0]).argmax()
        self.direction_ = np.ascontiguousarray(vectors * (-1.0 if vectors[largest, 0] < 0 else 1.0))
        share = float(values[0] / np.trace(second))
        self.note_ = f"The direction that is removed held {share:.1%} of the squared length of {n:,} vectors."
        return np.zeros(d), np.eye(d) - self.direction_ @ self.direction_.T

    def _check_a(self) -> None:
        if not isinstance(self.a, Real) or isinstance(self.a, bool) or not 0 < float(self.a) < np.inf:
            raise FitError(f"sif: a is a number above 0, such as 0.001; we got {self.a!r}.")

    @property
    def has_weights(self) -> bool:
        """Whether it learned weights of tokens, and not only a direction."""
        return self.words_.size > 0

    def token_weight(self, name: str) -> float:
        """The weight a/(a + p) of a token; 1 for one that it has not met."""
        return float(self.a / (self.a + self._shares.get(name, 0.0)))

    def _name(self, names: Sequence[str], shares: Vector) -> None:
        encoded = _BETWEEN.join(name.encode("utf-8", "surrogatepass") for name in names)
        self.words_, self.shares_ = np.frombuffer(encoded, np.uint8), np.asarray(shares, np.float64)
        self._shares = dict(zip(names, self.shares_.tolist(), strict=True))

    def restore(self, arrays: Arrays) -> Self:
        """Take over what another one learned.

        Raises:
            DamagedRepairError: arrays are missing, too many, or do not fit each other.
        """
        super().restore(arrays)
        self._check_a()
        words, shares, direction = (arrays[name] for name in ("words", "shares", "direction"))
        names = words.tobytes().split(_BETWEEN) if words.size else []
        if words.dtype != np.uint8 or shares.shape != (len(names),) or direction.shape != (len(self.mean_), 1):
            raise DamagedRepairError("sif: tokens, shares and direction do not fit each other.")
        self._name([name.decode("utf-8", "surrogatepass") for name in names], shares)
        return self


class Zipf(Whiten):
    """Zipfian whitening: (x - mean) U S^-1/2, with mean and covariance by how often each word occurs, not by words.

    Rows are occurrences of words, such as the tokens of texts: each counts once, so a word counts by its frequency.
    For word vectors, one for each word, give their `frequencies` (see `counts_from`), or `sample_weight` in Python.
    Mean and covariance are the sums of p x and of p (x - mean)(x - mean)', p the weights over their sum. There is no
    shrinkage; directions in which no row varies become zero. `dim` keeps the strongest directions.
    """

    kind = "zipf"
    rotation = "pca"
    shrinkage = None
    needs_occurrences = True

    def __init__(self, dim: int | None = None, frequencies: str | None = None) -> None:
        self.dim = dim
        self.frequencies = frequencies

    def fit(self, X: Any, y: object = None, sample_weight: Any = None) -> Self:  # noqa: ANN401 - scikit-learn's contract
        """Learn from a table (n, d) whose rows count as often as `sample_weight` says, by default once."""
        if sample_weight is None:
            return super().fit(X, y)
        rows = validate_data(self, widened(X), dtype=[np.float64, np.float32], ensure_min_samples=2)
        weights = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        return self._fit_weighted(ArrayVectors(rows), weights, Plan(dtype=rows.dtype), None)

    def _learn(self, source: Source, plan: Plan, progress: Progress | None) -> None:
        if self.frequencies is None:
            super()._learn(source, plan, progress)
            if isinstance(source, TokenSource):
                self.note_ += " Each token counts once, so a word counts as often as it occurs in the texts."
            return
        if isinstance(source, TokenSource):
            raise FitError(_AT_TOKENS)
        names: list[str] = []
        for rows in source.read():
            if rows.texts is None:
                raise FitError(f"{source.name} has no words beside its vectors, so --frequencies can't be used.")
            names += rows.texts
        shares, missing = word_shares(names, counts_from(self.frequencies, names))
        if not shares.any():
            raise FitError(f"{source.name} has a vector for no word of {self.frequencies}. Are they in one language?")
        self._fit_weighted(source, shares, plan, progress)
        if self.frequencies == "order":
            self.note_ += " The r-th word of the file has the share 1/r (Zipf's law)."
            return
        self.note_ += (
            f" {(shares > 0).sum():,} of {len(names):,} words occur in {self.frequencies}; {missing:.1%} of its "
            "occurrences are words without a vector."
        )

    def _fit_weighted(self, source: Source, weights: Vector, plan: Plan, progress: Progress | None) -> Self:
        moments = weighted_moments(source, weights, progress)
        return self.fit_stats(Bundle(moments=moments), noise=rounding(moments, plan.dtype))

    def _solve(self, statistics: Bundle, noise: Vector | None) -> tuple[Vector, Matrix] | None:
        solution = super()._solve(statistics, noise)
        if solution is None:
            return None
        # By probabilities, as published: the covariance has 1/n, not 1/(n - 1).
        n = statistics["moments"].n
        self.variances_ = self.variances_ * ((n - 1) / n)
        return solution[0], solution[1] * np.sqrt(n / (n - 1))

    def _share(self, moments: Moments) -> tuple[float, str]:
        n, d = moments.n, moments.dim
        few = "" if n > _FEW * d else f" That is few for {d} dimensions, and there is no shrinkage."
        return 0.0, f"Mean and covariance by word frequency, over {n:,} vectors.{few}"


def weighted_moments(source: Source, weights: Vector, progress: Progress | None = None) -> Moments:
    """Moments whose mean is sum p x and whose scatter is n sum p (x - mean)(x - mean)', p the weights over their sum.

    n is the number of usable rows with a weight.

    Raises:
        FitError: fewer than two rows have a weight.
    """
    report = step_progress(progress, "measuring", source.rows)
    first, second = np.zeros(source.dim), np.zeros((source.dim, source.dim))
    total, n, reference = 0.0, 0, None
    for rows, own in _weighted_rows(source, weights):
        if report is not None:
            report(len(rows))
        batch = Batch.of(np.asarray(rows, np.float64))
        usable = own[batch.rows]
        vectors, usable = batch.vectors[usable > 0], usable[usable > 0]
        if not len(vectors):
            continue
        reference = np.average(vectors, axis=0, weights=usable) if reference is None else reference
        y = vectors - reference
        total, n = total + float(usable.sum()), n + len(vectors)
        first += usable @ y
        second += (y * usable[:, None]).T @ y
    if n < 2 or reference is None:
        raise FitError(f"zipf learns from at least 2 rows that occur; we got n_samples={n}.")
    delta = first / total
    scatter = n * (second / total - np.outer(delta, delta))
    unknown = np.full(source.dim, np.nan)
    state = {"n": np.array(n), "mean": reference + delta, "second": (scatter + scatter.T) / 2}
    state |= {"third": unknown, "fourth": np.array(np.nan)}
    return Moments.from_state(state, dim=source.dim, dtype=np.float64)


def _weighted_rows(source: Source, weights: Vector) -> Iterator[tuple[Matrix, Vector]]:
    """The rows in blocks, with their weights."""
    start = 0
    blocks: Iterator[Rows] = regrid(source.read(), BLOCK)
    for rows in blocks:
        stop = start + len(rows.vectors)
        yield np.asarray(rows.vectors), weights[start:stop]
        start = stop
