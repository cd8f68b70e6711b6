"""The contract of a repair: a scikit-learn transformer that can also be fitted on a stream, and is saved as arrays."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from uncone.data.batch import Batch, Matrix
from uncone.data.source import BLOCK, Rows, Source, regrid
from uncone.data.storage.path import path_of
from uncone.data.texts.texts import TextSource
from uncone.data.vectors.memory import ArrayVectors
from uncone.errors import FitError, NoUsableRowsError
from uncone.run.measure import Plan, measure, step_progress
from uncone.stats.row_sample import RowSample, cutoff_for

__all__ = ["Arrays", "Mapped", "Progress", "Repair", "as_floats", "level_problem", "sampled_rows", "widened"]

Arrays = dict[str, NDArray[Any]]
Progress = Callable[[str, int, int | None], None]
"""Told the step, the rows done since the last call, and the rows there are (None: not known)."""


class Repair(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A map of vectors (n, d) to (n, m), learned from a corpus: `fit` takes a table, `fit_source` a stream.

    A repair states its parameters in `__init__`, learns in `_learn`, maps in `_map`, and gives what it learned as
    `arrays`, from which `restore` brings it back in another process, digit for digit.
    """

    kind: ClassVar[str]
    """The name on the command line and in a saved folder."""

    weighs_tokens: ClassVar[bool] = False
    """Whether it gives each token a weight by its name (`token_weight`), before `map`."""
    needs_occurrences: ClassVar[bool] = False
    """Whether its rows have to be occurrences of words, such as tokens, unless it is given `frequencies`."""

    note_: str = ""
    """What was decided while fitting, in a sentence; empty when there was nothing to decide."""

    n_features_in_: int
    _n_features_out: int

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: ANN401 - scikit-learn's contract
        """Learn from a table (n, d) of float32 or float64; NaN is an error here, rows of zeros are left out."""
        rows = validate_data(self, widened(X), dtype=[np.float64, np.float32], ensure_min_samples=2)
        self._learn(ArrayVectors(rows), Plan(dtype=rows.dtype), None)
        return self

    def fit_source(self, source: Source, plan: Plan | None = None, progress: Progress | None = None) -> Self:
        """Learn from a stream, in bounded memory; rows that are not finite or are zero are left out."""
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit to a DataFrame
        self.n_features_in_ = source.dim
        self._learn(source, plan or Plan(), progress)
        return self

    def transform(self, X: Any) -> Matrix:  # noqa: ANN401 - scikit-learn's contract
        """The repaired rows (n, m), in the precision given; float16 becomes float32."""
        check_is_fitted(self)
        seen_later = self._spreads()
        rows = validate_data(
            self, widened(X), dtype=[np.float64, np.float32], reset=False, ensure_all_finite=not seen_later
        )
        mapped = self.map(rows)
        if seen_later and not np.isfinite(mapped[:, 0]).all():
            check_array(rows, dtype=None)  # raises with the reason
        return mapped

    def _spreads(self) -> bool:
        """Whether NaN or infinity anywhere in a row shows in every output number, so that one of them tells."""
        return False

    def map(self, rows: NDArray[np.generic]) -> Matrix:
        """`transform` without checks, for streams whose blocks were checked already; NaN stays NaN."""
        floats = as_floats(rows)
        with np.errstate(over="ignore", invalid="ignore"):  # a bad row becomes NaN, and is counted where it is used
            return np.asarray(self._map(floats), floats.dtype)

    @property
    def flops_per_row(self) -> float:
        """Multiplications and additions of matrix products that map a row, once it is fitted."""
        return 0.0

    def save(self, folder: str | os.PathLike[str], **provenance: Any) -> None:  # noqa: ANN401 - any plain value
        """Write the repair to a folder, with the provenance of its fit."""
        from uncone.repairs.saving import save

        save(self, path_of(folder), provenance)

    @property
    def is_of_tokens(self) -> bool:
        """Whether texts are repaired token by token, before they are pooled."""
        return self.weighs_tokens or self.needs_occurrences

    @property
    def has_weights(self) -> bool:
        """Whether tokens have to be multiplied by `token_weight` before `map`."""
        return False

    def token_weight(self, name: str) -> float:
        """The weight of a token."""
        return 1.0

    @abstractmethod
    def _learn(self, source: Source, plan: Plan, progress: Progress | None) -> None:
        """Set what `arrays` gives, and `_n_features_out`."""

    @abstractmethod
    def _map(self, rows: Matrix) -> Matrix:
        """The repaired rows."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """All that was learned."""

    @abstractmethod
    def restore(self, arrays: Arrays) -> Self:
        """Take over what another repair with the same parameters learned."""

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - scikit-learn's
        """Both precisions are kept."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def level_problem(repair: Repair, *, of_texts: bool) -> str:
    """Why a repair can't be fitted on the vectors of whole texts, or on vectors of unknown origin; empty if it can."""
    has_counts = not of_texts and getattr(repair, "frequencies", None) is not None
    if not repair.is_of_tokens or (has_counts and not repair.weighs_tokens):
        return ""
    reason = "weighs tokens before they are pooled" if repair.weighs_tokens else "counts how often words occur"
    texts = "Add --level token" if of_texts else "Give texts, with --model and --level token"
    words = "" if repair.weighs_tokens or of_texts else "; or word vectors, with --frequencies"
    return f"{repair.kind} {reason}, and these are vectors without words. {texts}{words}."


class Mapped(Source):
    """The rows of a source, repaired as they are read; texts and labels stay with them."""

    def __init__(self, source: Source, repair: Repair) -> None:
        self.name, self.kind, self.note = source.name, source.kind, source.note
        self.dtype = "float64" if source.dtype == "float64" else "float32"
        self.dim, self.rows = repair._n_features_out, source.rows
        self.random_access, self.divisible = source.random_access, source.divisible
        self.rereadable, self.unit_length = source.rereadable, source.unit_length
        self.source, self.repair = source, repair
        self.flops_per_row = source.flops_per_row + repair.flops_per_row

    def with_texts(self, texts: TextSource) -> Source | None:
        """The repaired vectors of other texts, if these are made of texts."""
        others = self.source.with_texts(texts)
        return None if others is None else Mapped(others, self.repair)

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        """The repaired rows from start to stop."""
        # In the blocks that a file is written in, so that both have the same digits.
        for rows in regrid(self.source.read(start, stop), BLOCK):
            yield Rows(self.repair.map(rows.vectors), rows.texts, rows.labels, rows.beside)


def as_floats(rows: NDArray[np.generic]) -> Matrix:
    """Rows as float32 or float64: as they are, or float32 for float16 and quantized ones."""
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float32)  # type: ignore[return-value]


def widened(X: Any) -> Any:  # noqa: ANN401 - whatever the user has
    """Half precision as float32, where scikit-learn would make it float64; all else as it is."""
    dtypes = getattr(X, "dtypes", None)  # of a DataFrame
    kinds = {getattr(X, "dtype", None)} if dtypes is None or not np.iterable(dtypes) else set(dtypes)
    return X.astype(np.float32) if kinds == {np.dtype(np.float16)} else X


def sampled_rows(source: Source, plan: Plan, most: int, seed: int, step: str, progress: Progress | None) -> Matrix:
    """All usable rows, up to `most`; of more, a uniform sample, in the order of the source.

    Raises:
        NoUsableRowsError: every row is NaN, infinite or zero.
        FitError: there is one row, or all are equal: nothing can be learned from them.
    """
    report = step_progress(progress, step, source.rows)
    rows = _as_it_is(source, plan) if (source.rows or 0) <= most else None
    if rows is None:
        cutoff = None if source.rows is None else cutoff_for(most, source.rows, seed)
        sample = RowSample(source.dim, most, seed=seed, cutoff=cutoff, keep_texts=False)
        rows = measure(source, sample, plan, report).sampled.vectors
    elif report is not None:
        report(len(rows))
    if len(rows) == 0:
        raise NoUsableRowsError(f"{source.name}: every row is NaN, infinite or zero. Check how it was made.")
    if not any((block != rows[0]).any() for block in _blocks(rows)):
        raise FitError(
            f"{source.name}: its {len(rows):,} usable rows (n_samples={len(rows)}) are all equal, "
            "so there is nothing to learn from them. Give rows that differ."
        )
    return rows


def _as_it_is(source: Source, plan: Plan) -> Matrix | None:
    """A table in memory whose rows can all be used, so that no copy is needed."""
    if not isinstance(source, ArrayVectors) or source.array.dtype != plan.dtype:
        return None
    rows: Matrix = source.array  # type: ignore[assignment] # floating, like the plan
    return rows if all(Batch.of(block).n == len(block) for block in _blocks(rows)) else None


def _blocks(rows: Matrix) -> Iterator[Matrix]:
    return (rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK))
