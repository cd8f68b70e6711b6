"""The witness of words for a measured space that has texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uncone.analysis.measures.finding import Finding
from uncone.analysis.number_format import cosine
from uncone.analysis.space.space import Space
from uncone.data.batch import IntVector, Matrix
from uncone.errors import ShapeError

if TYPE_CHECKING:
    from uncone.analysis.advice.witness import AgreementChange, WordPairs

__all__ = ["WordSample", "agreement_of_space", "word_sample"]


@dataclass(frozen=True, eq=False)
class WordSample:
    """The pairs of texts of a space, and the vectors (m, d) that they need, with their row numbers (m,)."""

    pairs: WordPairs
    rows: IntVector
    vectors: Matrix

    def change(self, after: Space) -> AgreementChange:
        """The agreement here and after a repair; rows that it made unusable are left out of both."""
        sample = after.sample
        order = np.argsort(sample.rows, kind="stable")
        places = order[np.searchsorted(sample.rows, self.rows, sorter=order).clip(max=sample.n - 1)]
        vectors = sample.vectors_at(places).astype(np.float64)
        vectors[sample.rows[places] != self.rows] = np.nan
        return self.pairs.change(self.vectors, vectors)


def word_sample(space: Space) -> WordSample | str | None:
    """What the witness needs of a space; the reason, if its texts are too few, and None if it has no texts at all."""
    texts = space.sample.texts
    if texts is None or space.source.kind == "word2vec":
        return None
    from uncone.analysis.advice.witness import word_pairs  # with scipy, which vectors alone don't need

    try:
        rows, pairs = word_pairs(texts, seed=space.seed).compact()
    except ShapeError as error:
        return str(error)
    return WordSample(pairs, space.sample.rows[rows], space.sample.vectors_at(rows))


def agreement_of_space(space: Space) -> list[Finding]:
    """The agreement of cosines with words as a finding; none for vectors without texts."""
    sample = space.derived(word_sample)
    if sample is None:
        return []
    if isinstance(sample, str):
        return [Finding(_NAME, None, space.n, f"Not measured. {sample}")]
    try:
        result = sample.pairs.agreement(sample.vectors, _DRAWS)
    except ShapeError as error:
        return [Finding(_NAME, None, space.n, f"Not measured. {error}")]
    if result.value is None:
        return [Finding(_NAME, None, result.texts, "Not measured: the cosines of the texts are all the same.")]
    meaning = (
        f"Cosines agree with the {result.terms} that texts share at {cosine(result.value)} (rank correlation, "
        f"{result.pairs:,} pairs of {result.texts:,} texts with near and random ones)."
    )
    return [Finding(_NAME, result.value, result.texts, meaning, _COMPARE, result.low, result.high)]


_NAME = "word_agreement"
_DRAWS = 400
"""Draws for the interval of a finding, of which nothing depends on the last digit."""
_COMPARE = "Words are not meaning: compare it before and after a repair, on the same texts."
