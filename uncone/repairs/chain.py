"""Several repairs, one after the other, fitted in as few passes over the rows as possible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_array, check_is_fitted

from uncone.data.batch import Matrix, Vector
from uncone.data.source import Source
from uncone.errors import DamagedRepairError, FitError, NoInverseError
from uncone.repairs.affine import Affine
from uncone.repairs.directions import grain, precision, rounding
from uncone.repairs.repair import Arrays, Mapped, Progress, Repair
from uncone.run.measure import Plan
from uncone.stats.moments import Moments
from uncone.stats.statistic import Bundle

__all__ = ["Chain", "merged", "push_moments"]


class Chain(Repair):
    """The repairs `steps`, each fitted on what those before it give; `steps_` are the fitted ones.

    Neighbors that learn from moments are fitted from one measurement, whose mean and scatter are carried through
    each step by algebra. Any other step costs a pass over the rows of its own.

    >>> from uncone.repairs.dimensions import Center
    >>> from uncone.repairs.dimensions import Normalize
    >>> chain = Chain([Center(), Normalize()])
    >>> chain.fit_transform(np.array([[1.0, 2.0], [5.0, 2.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """

    kind = "chain"

    def __init__(self, steps: Sequence[Repair] = ()) -> None:
        self.steps = steps

    def _learn(self, source: Source, plan: Plan, progress: Progress | None) -> None:
        steps = _check_steps(self.steps)
        self.__dict__.pop("steps_", None)
        line = _FittingChain(source, plan, progress)
        for step in steps:
            line.fit(clone(step))
        self._settle(line.steps)
        self.note_ = " ".join(f"{step.kind}: {step.note_}" for step in self.steps_ if step.note_)

    def _settle(self, steps: list[Repair]) -> Self:
        self.steps_ = steps
        self.n_features_in_, self._n_features_out = steps[0].n_features_in_, steps[-1]._n_features_out
        self._merged = merged(steps)
        return self

    @property
    def is_of_tokens(self) -> bool:
        """Whether a step is."""
        return any(step.is_of_tokens for step in self.steps)

    @property
    def flops_per_row(self) -> float:
        """Those of the steps, with every run of affine ones as one."""
        return sum(step.flops_per_row for step in self._merged)

    def _map(self, rows: Matrix) -> Matrix:
        for step in self._merged:
            rows = step.map(rows)
        return rows

    def inverse_transform(self, X: Any) -> Matrix:  # noqa: ANN401 - scikit-learn's contract
        """The rows (n, d) before `transform`.

        Raises:
            NoInverseError: a step has none.
        """
        check_is_fitted(self)
        rows = check_array(X, dtype=[np.float64, np.float32])
        for step in reversed(self.steps_):
            if not hasattr(step, "inverse_transform"):
                raise NoInverseError(
                    f"{step.kind} has no inverse, so the chain has none. Keep the vectors it was given."
                )
            rows = step.inverse_transform(rows)
        return np.asarray(rows)

    def collapsed(self) -> Chain:
        """The same chain, fitted, with every run of affine steps as one matrix."""
        check_is_fitted(self)
        return Chain(list(self._merged))._settle(list(self._merged))

    def arrays(self) -> Arrays:
        """The arrays of every step, after its place: `0.mean`, `1.matrix`."""
        return {f"{i}.{name}": value for i, step in enumerate(self.steps_) for name, value in step.arrays().items()}

    def restore(self, arrays: Arrays) -> Self:
        """Take over what another chain of the same steps learned.

        Raises:
            DamagedRepairError: the arrays are not those of these steps, or the steps do not fit each other.
        """
        steps = _check_steps(self.steps)
        parts: list[Arrays] = [{} for _ in steps]
        for key, value in arrays.items():
            place, _, name = key.partition(".")
            if not place.isascii() or not place.isdigit() or int(place) >= len(steps):
                raise DamagedRepairError(f"A chain of {len(steps)} steps has no array {key!r}.")
            parts[int(place)][name] = value
        repairs = [clone(step).restore(part) for step, part in zip(steps, parts, strict=True)]
        for before, after in pairwise(repairs):
            if before._n_features_out != after.n_features_in_:
                raise DamagedRepairError(
                    f"{before.kind} gives {before._n_features_out} dimensions and {after.kind} takes "
                    f"{after.n_features_in_}: they are not of one chain."
                )
        return self._settle(repairs)


class _RowMoments(NamedTuple):
    """The moments of the rows as they leave the last step, and the rounding variance of each dimension."""

    moments: Moments
    noise: Vector


class _FittingChain:
    """A chain while it is fitted: the fitted steps, and the moments after them, if known."""

    def __init__(self, source: Source, plan: Plan, progress: Progress | None) -> None:
        self.source, self.plan, self.progress = source, plan, progress
        self.steps: list[Repair] = []
        self.state: _RowMoments | None = None
        self.grain: Vector | None = None  # squared spacing of the numbers, carried through the affine steps
        self.passes = 0

    def fit(self, step: Repair) -> None:
        """Fit the next step, from the known moments or in another pass."""
        if not isinstance(step, Affine) or set(step.statistics(1).members) != {"moments"}:
            self.state = self.grain = None
            step.fit_source(self._rows(step), self.plan, self.progress)
        else:
            self._fit_to_moments(step)
        self.steps.append(step)

    def _fit_to_moments(self, step: Affine) -> None:
        if self.state is None:
            self.state = self._measure(step, precision(self.source, self.plan))
        step.fit_stats(Bundle(moments=self.state.moments), noise=self.state.noise)
        if step.doubt_ and (self.source.rereadable or np.isnan(self.state.moments.fourth)):
            self.state = self._measure(step, np.dtype(np.float64), higher=True)
            step.fit_stats(Bundle(moments=self.state.moments), noise=self.state.noise)
        moments, made_up = push_moments(self.state.moments, step)
        weights, before = (step.matrix_**2).T, grain(self.state.moments, self.plan.dtype)
        self.state = _RowMoments(moments, weights @ self.state.noise + made_up + rounding(moments, self.plan.dtype))
        self.grain = weights @ (before if self.grain is None else before + self.grain)

    def _measure(self, step: Affine, dtype: np.dtype[np.generic], *, higher: bool = False) -> _RowMoments:
        moments = step.measure_source(self._rows(step), self.plan, dtype, self.progress, higher=higher)["moments"]
        noise = rounding(moments, self.plan.dtype)
        return _RowMoments(moments, noise if self.grain is None else noise + self.grain)

    def _rows(self, step: Repair) -> Source:
        """The rows as the next step sees them.

        Raises:
            FitError: they were read already, and cannot be read again.
        """
        looks = isinstance(step, Affine) or step.kind != "normalize"
        if looks and self.passes and not self.source.rereadable:
            raise FitError(
                f"{step.kind} needs pass {self.passes + 1} over the rows, and {self.source.name} can be read only "
                "once: save it to a file."
            )
        self.passes += looks
        return Mapped(self.source, Chain(self.steps)._settle(list(self.steps))) if self.steps else self.source


def push_moments(moments: Moments, step: Affine) -> tuple[Moments, Vector]:
    """The moments of the rows after a fitted step, and the variance (m,) that rounding may have added.

    The third and fourth moments survive a shift and a common scale; after any other step they are not known (NaN).
    """
    matrix, scatter = step.matrix_, moments.centered.second
    size = np.abs(matrix)
    made_up = np.finfo(np.float64).eps * ((size.T @ np.abs(scatter)) * size.T).sum(axis=1)
    scale = step.diagonal
    common = scale[0] if scale is not None and (scale == scale[0]).all() else np.nan
    state = {
        "n": np.array(moments.n, np.int64),
        "mean": (moments.mean - step.mean_) @ matrix + step.offset_,
        "second": matrix.T @ scatter @ matrix,
        "third": np.full(matrix.shape[1], np.nan) if np.isnan(common) else common**3 * moments.centered.third,
        "fourth": np.array(common**4 * moments.fourth),
    }
    return Moments.from_state(state, dim=matrix.shape[1], dtype=moments.dtype), made_up / max(moments.n - 1, 1)


def merged(steps: Iterable[Repair]) -> list[Repair]:
    """Fitted steps with chains unfolded and every run of affine ones as one."""
    combined: list[Repair] = []
    for step in steps:
        for part in step._merged if isinstance(step, Chain) else [step]:
            last = combined[-1] if combined else None
            if isinstance(last, Affine) and isinstance(part, Affine):
                combined[-1] = last.then(part)
            else:
                combined.append(part)
    return combined


def _check_steps(steps: Sequence[Repair]) -> list[Repair]:
    if not isinstance(steps, list | tuple) or not steps or not all(isinstance(step, Repair) for step in steps):
        raise FitError(f"A chain is a list of at least one repair; we got {steps!r}.")
    if any(step.weighs_tokens for step in steps):
        raise FitError("sif weighs tokens before they are pooled, so it can't be a step of a chain. Use it alone.")
    return list(steps)
