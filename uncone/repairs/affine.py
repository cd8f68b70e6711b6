"""The affine family: repairs that are a mean and a matrix, which makes composition, inverse and export simple."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils.validation import check_array, check_is_fitted

from uncone.analysis.space.space import with_reference
from uncone.data.batch import Matrix, Vector
from uncone.data.buffers import borrow, give_back
from uncone.data.source import Source
from uncone.errors import DamagedRepairError, FitError, NoInverseError
from uncone.repairs.directions import precision, product, rounding
from uncone.repairs.repair import Arrays, Progress, Repair
from uncone.run.measure import Plan, measure, step_progress
from uncone.run.threads import on_all_cores, one_blas_thread
from uncone.stats.moments import Moments
from uncone.stats.statistic import Bundle

__all__ = ["Affine", "Collapsed"]

_TOGETHER = 4080  # rows that are multiplied at once, a multiple of what kernels take
_AT_ONCE = 8192  # rows of a thread
_IN_CACHE = 512  # rows that are only shifted and scaled
_SINGULAR = 1e-12
_MANY = 1 << 16  # rows from which a first look at some of them pays


class Affine(Repair):
    """x becomes (x - mean_) @ matrix_ + offset_; a new one is a `_solve` that gives mean and matrix."""

    mean_: Vector
    matrix_: Matrix
    offset_: Vector
    doubt_: str = ""
    """Why the statistics were too coarse to learn from; then the rows are measured again, in float64."""

    more: ClassVar[tuple[str, ...]] = ()
    """Further arrays that are learned and saved: `directions` is the attribute `directions_`."""

    def statistics(self, dim: int, dtype: DTypeLike = np.float32) -> Bundle:
        """The statistics to measure, with products in `dtype`."""
        return Bundle(moments=Moments(dim, dtype=dtype))

    def fit_stats(self, statistics: Bundle, *, noise: Vector | None = None) -> Self:
        """Learn from statistics that were measured anywhere: a stream, shards, workers.

        `noise` (d,) is the variance that is only rounding; without it, the rows count as stored like the products.

        Raises:
            FitError: there are fewer than two rows, or they and the parameters do not allow a map.
        """
        n = statistics[next(iter(statistics.members))].n
        if n < 2:
            raise FitError(f"{self.kind} learns from at least 2 usable rows (finite, not zero); we got n_samples={n}.")
        self.note_ = self.doubt_ = ""
        solution = self._solve(statistics, noise)
        return self if solution is None else self._settle(*solution)

    @abstractmethod
    def _solve(self, statistics: Bundle, noise: Vector | None) -> tuple[Vector, Matrix] | None:
        """The mean (d,) and the matrix (d, m), or its diagonal; None if the statistics are too coarse for any.

        Sets `note_` and `doubt_` if there is something to say.
        """

    def needs_fourth(self, rows: int, dim: int) -> bool:
        """Whether to measure the fourth moment of so many rows, which takes time."""
        return False

    def measure_source(
        self, source: Source, plan: Plan, dtype: DTypeLike, progress: Progress | None, *, higher: bool = False
    ) -> Bundle:
        """The statistics for `fit_stats`, in one pass over the rows; with `higher`, the fourth moment too."""
        rows, statistics = source.rows, self.statistics(source.dim, dtype)
        moments = statistics.get("moments")
        if moments is not None and (rows or 0) >= _MANY:
            # Sums about one point are merged by adding them; about many, each has to be moved first.
            moments.higher = higher or not source.rereadable or self.needs_fourth(rows or 0, source.dim)
            source, moments.reference = with_reference(source, replace(plan, dtype=dtype))
        return measure(source, statistics, plan, step_progress(progress, "measuring", rows))

    def _learn(self, source: Source, plan: Plan, progress: Progress | None) -> None:
        dtype = precision(source, plan)
        first = self.measure_source(source, plan, dtype, progress)
        self._take(first, plan)
        moments = first.get("moments")
        better = moments is not None and (dtype != np.float64 or not moments.higher)
        if self.doubt_ and source.rereadable and better:
            self._take(self.measure_source(source, plan, np.float64, progress, higher=True), plan)

    def _take(self, statistics: Bundle, plan: Plan) -> None:
        moments = statistics.get("moments")
        self.fit_stats(statistics, noise=None if moments is None else rounding(moments, plan.dtype))

    def _settle(self, mean: Vector, matrix: Matrix, offset: Vector | None = None) -> Self:
        """Set what was learned; a matrix of one axis is a diagonal."""
        matrix = np.asarray(np.diag(matrix) if matrix.ndim == 1 else matrix, np.float64)
        self.mean_, self.matrix_ = np.asarray(mean, np.float64), matrix
        self.offset_ = np.zeros(matrix.shape[1]) if offset is None else np.asarray(offset, np.float64)
        self.n_features_in_, self._n_features_out = matrix.shape
        # Filled at the first use of a precision; a dictionary, because `transform` may not set attributes.
        self._ready: dict[object, _Ready] = {}
        self._back: list[Collapsed] = []
        return self

    @property
    def diagonal(self) -> Vector | None:
        """The diagonal (d,) of the matrix when there is nothing beside it."""
        d, m = self.matrix_.shape
        scale = np.diagonal(self.matrix_).copy()
        return scale if d == m and np.count_nonzero(self.matrix_) == np.count_nonzero(scale) else None

    @property
    def flops_per_row(self) -> float:
        """The product with the matrix, unless it is a diagonal."""
        return 2.0 * self.matrix_.size if self.diagonal is None else 0.0

    def _map(self, rows: Matrix) -> Matrix:
        return self._in(rows.dtype).apply(rows)

    def _in(self, dtype: np.dtype[Any]) -> _Ready:
        if dtype not in self._ready:
            self._ready[dtype] = _Ready.of(self, dtype)
        return self._ready[dtype]

    def _spreads(self) -> bool:
        factor = self._in(np.dtype(np.float32)).factor
        return factor is not None and factor.ndim == 2

    def inverse_transform(self, X: Any) -> Matrix:  # noqa: ANN401 - scikit-learn's contract
        """The rows (n, d) before `transform`.

        Raises:
            NoInverseError: the repair has thrown something away.
        """
        check_is_fitted(self)
        inverse = self.inverse()
        rows = check_array(X, dtype=[np.float64, np.float32])
        if rows.shape[1] != self._n_features_out:
            raise ValueError(f"X has {rows.shape[1]} features, but {self.kind} gave {self._n_features_out}.")
        return inverse.map(rows)

    def inverse(self) -> Collapsed:
        """The repair that undoes this one.

        Raises:
            NoInverseError: there is none.
        """
        if not self._back:
            lost = self._lost()
            if lost:
                raise NoInverseError(f"{self.kind} has no inverse: {lost}. Keep the vectors it was given.")
            scale = self.diagonal
            matrix = np.linalg.inv(self.matrix_) if scale is None else 1.0 / scale
            self._back.append(Collapsed.of(self.offset_, matrix, self.mean_))
        return self._back[0]

    def _lost(self) -> str:
        """What the repair discards, in words; empty if nothing."""
        d, m = self.matrix_.shape
        if d != m:
            return f"it keeps {m} of {d} dimensions"
        values = np.linalg.svd(self.matrix_, compute_uv=False) if self.diagonal is None else np.abs(self.diagonal)
        rank = int((values > _SINGULAR * values.max()).sum())
        return f"it keeps {rank} of {d} directions" if rank < d else ""

    def then(self, other: Affine) -> Collapsed:
        """Both repairs in sequence, as one matrix."""
        first, second = self.diagonal, other.diagonal
        if first is not None:
            matrix = first * second if second is not None else first[:, None] * other.matrix_
        else:
            matrix = self.matrix_ * second if second is not None else self.matrix_ @ other.matrix_
        moved = (self.offset_ - other.mean_) @ other.matrix_ + other.offset_
        return Collapsed.of(self.mean_, matrix, moved)

    def arrays(self) -> Arrays:
        """Mean, offset, and the matrix or its diagonal (`scale`); and the further learned arrays."""
        scale = self.diagonal
        linear = {"matrix": self.matrix_} if scale is None else {"scale": scale}
        further = {name: np.asarray(getattr(self, f"{name}_")) for name in self.more}
        return {"mean": self.mean_, **linear, "offset": self.offset_, **further}

    def restore(self, arrays: Arrays) -> Self:
        """Take over what another repair learned, after a check of the shapes.

        Raises:
            DamagedRepairError: arrays are missing, too many, or do not fit each other.
        """
        factor = "scale" if "scale" in arrays else "matrix"
        expected = {"mean", factor, "offset", *self.more}
        if set(arrays) != expected:
            raise DamagedRepairError(f"{self.kind} is saved as {sorted(expected)}; we got {sorted(arrays)}.")
        mean, matrix, offset = arrays["mean"], arrays[factor], arrays["offset"]
        ends = (matrix.shape[0], matrix.shape[-1]) if matrix.ndim == (1 if factor == "scale" else 2) else None
        floats = all(array.dtype == np.float64 for array in (mean, matrix, offset))
        if not floats or ends is None or mean.shape != ends[:1] or offset.shape != ends[1:]:
            shapes = ", ".join(f"{name} {array.dtype}{array.shape}" for name, array in arrays.items())
            raise DamagedRepairError(f"The arrays of {self.kind} do not fit each other: {shapes}.")
        for name in self.more:
            setattr(self, f"{name}_", arrays[name])
        return self._settle(mean, matrix, offset)


class Collapsed(Affine):
    """Several affine repairs as one matrix, or the inverse of one; constructed, not fitted."""

    kind = "affine"

    @classmethod
    def of(cls, mean: Vector, matrix: Matrix, offset: Vector) -> Collapsed:
        """The map x to (x - mean) @ matrix + offset; a matrix of one axis is a diagonal."""
        return cls()._settle(mean, matrix, offset)

    def _solve(self, statistics: Bundle, noise: Vector | None) -> tuple[Vector, Matrix] | None:
        raise FitError("An affine map is composed of fitted repairs; it cannot be fitted itself. Fit its parts.")


@dataclass(frozen=True)
class _Ready:
    """An affine map in one precision: subtract `shift`, multiply by `factor` (d,) or (d, m), add `bias`.

    The mean of a narrow cone is far from a number of float32: `shift` is the nearest one, and the rest is in `bias`.
    """

    shift: Vector | None
    factor: NDArray[Any] | None
    bias: Vector | None
    width: int

    @classmethod
    def of(cls, affine: Affine, dtype: np.dtype[Any]) -> _Ready:
        """Round to a precision, without the parts that change nothing."""
        shift, scale = affine.mean_.astype(dtype), affine.diagonal
        rest = affine.mean_ - shift
        factor = affine.matrix_ if scale is None else scale
        bias = (affine.offset_ - (rest @ factor if scale is None else rest * scale)).astype(dtype)
        plain = scale is not None and bool((scale == 1.0).all())
        return cls(
            shift if shift.any() else None,
            None if plain else factor.astype(dtype),
            bias if bias.any() else None,
            affine.matrix_.shape[1],
        )

    def apply(self, rows: Matrix) -> Matrix:
        """The map of all rows, a block at a time."""
        mapped = np.empty((len(rows), self.width), rows.dtype)
        starts = range(0, len(rows), _AT_ONCE)

        def put(start: int) -> None:
            self._put(rows[start : start + _AT_ONCE], mapped[start : start + _AT_ONCE])

        # One BLAS thread, whoever asks: how a product is shared out may change its last digits.
        if len(starts) == 1:
            with one_blas_thread():
                put(0)
        else:
            with on_all_cores() as threads:
                deque(threads.map(put, starts), maxlen=0)
        return mapped

    def _put(self, rows: Matrix, mapped: Matrix) -> None:
        has_product = self.factor is not None and self.factor.ndim == 2
        size = _TOGETHER if has_product else _IN_CACHE
        buffer = borrow(min(size, len(rows)), rows.shape[1], rows.dtype) if has_product else mapped
        for start in range(0, len(rows), size):
            block, out = rows[start : start + size], mapped[start : start + size]
            into = buffer[: len(block)] if has_product else out
            if self.shift is None:
                into[...] = block
            else:
                np.subtract(block, self.shift, out=into)
            if self.factor is not None:
                (product if has_product else np.multiply)(into, self.factor, out=out)
            if self.bias is not None:
                out += self.bias
        if has_product:
            give_back(buffer)
