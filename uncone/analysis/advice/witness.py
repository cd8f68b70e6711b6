"""The witness of words: do texts that share rare words score higher than others?

It needs no labels. For 400 of the texts it takes the 5 that are nearest by TF-IDF and 5 at random, and compares the
cosine of the vectors with that of the TF-IDF weights by rank. A repair that is fit for use raises the agreement more
often than not. Words are not meaning: a low value is no fault of a model, and only the difference between two spaces of
the same texts is evidence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.cosine.units import unit_rows
from uncone.analysis.intervals.bootstrap import Replicates, bootstrap, differences
from uncone.analysis.intervals.correlation import spearman
from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.intervals.pair_units import pair_units
from uncone.analysis.intervals.resampling import REPLICATES, score
from uncone.data.batch import IntVector, Matrix
from uncone.errors import ShapeError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "ANCHORS",
    "AgreementChange",
    "WordAgreement",
    "WordPairs",
    "agreement",
    "word_pairs",
]

ANCHORS = 400
"""The number of texts whose neighbors are compared."""

_EACH = 5
"""Pairs of a text with its nearest ones, and with random ones."""
_MOST_TEXTS = 10_000
"""Texts among which neighbors are searched: a random sample of a larger corpus."""
_LONGEST = 5_000
"""Characters of a text that are read: models don't read further either."""
_BLOCK = 100
"""Texts that are compared with all others at a time."""
_DIGITS = 12
"""Decimals of the cosine of two texts' words."""
_GRAMS = (2, 3)
"""Lengths of the character n-grams, in a language without spaces."""
_UNSPACED_SHARE = 0.3
"""The share of letters of such a language from which on n-grams stand in for words."""

_WORD = re.compile(r"\b\w\w+\b")
_LETTER = re.compile(r"[^\W\d_]")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
"""Thai, Lao, Tibetan, Burmese, Khmer, Japanese and Chinese letters."""

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class WordAgreement:
    """The rank correlation of cosines with those of TF-IDF, with its 95 % interval by texts.

    Attributes:
        value: from -1 to 1; None if it is undefined, such as for vectors that are all the same.
        low: the lower bound.
        high: the upper bound.
        texts: how many texts were compared with others.
        pairs: how many pairs of texts that makes.
        terms: what TF-IDF counts, "words" or "character n-grams".
    """

    value: float | None
    low: float | None
    high: float | None
    texts: int
    pairs: int
    terms: str


@dataclass(frozen=True)
class AgreementChange:
    """The agreement in two spaces of the same texts, and the difference with its paired 95 % interval."""

    before: WordAgreement
    after: WordAgreement
    value: float | None
    low: float | None
    high: float | None
    significant: bool
    """Whether the interval excludes zero, on at least 30 independent pairs."""


@dataclass(frozen=True, eq=False)
class WordPairs:
    """Pairs of texts by their numbers, near ones and random ones, with the cosine of their TF-IDF weights.

    Attributes:
        left: the texts that were chosen, once per pair (m,).
        right: their nearest ones and random ones (m,).
        similarity: the cosine of the TF-IDF weights of each pair (m,).
        terms: what was counted, "words" or "character n-grams".
        seed: draws the intervals.
    """

    left: IntVector
    right: IntVector
    similarity: _Floats
    terms: str
    seed: int = 0

    def compact(self) -> tuple[IntVector, WordPairs]:
        """The numbers of the texts that are in pairs, and the pairs of these alone."""
        rows, places = np.unique(np.concatenate([self.left, self.right]), return_inverse=True)
        left, right = places[: len(self.left)], places[len(self.left) :]
        return rows, WordPairs(left, right, self.similarity, self.terms, self.seed)

    def agreement(self, vectors: Matrix, replicates: int = REPLICATES) -> WordAgreement:
        """The agreement of vectors (n, d), the texts' in their order; pairs with an unusable one are left out."""
        return self._agreements(self._replicates([vectors], replicates))[0]

    def difference(self, before: Matrix, after: Matrix) -> float | None:
        """The agreement after minus that before, without an interval; None if one is undefined."""
        cosines, usable = self._cosines([before, after])
        first, second = (spearman(row, self.similarity[usable]).value for row in cosines)
        return None if first is None or second is None else second - first

    def change(self, before: Matrix, after: Matrix, replicates: int = REPLICATES) -> AgreementChange:
        """The agreement before and after a repair, on the same pairs and the same draws."""
        estimates = self._replicates([before, after], replicates)
        first, second = self._agreements(estimates)
        gain = differences(estimates, correction="none")[1]
        return AgreementChange(first, second, gain.value, gain.low, gain.high, gain.significant)

    def _cosines(self, spaces: Sequence[Matrix]) -> tuple[_Floats, NDArray[np.bool_]]:
        """The cosines of the pairs that are usable in all spaces (spaces, u), and which these are (m,)."""
        cosines = np.stack([_pair_cosines(space, self.left, self.right) for space in spaces])
        usable = np.asarray(np.isfinite(cosines).all(axis=0), np.bool_)
        return cosines[:, usable], usable

    def _replicates(self, spaces: Sequence[Matrix], replicates: int) -> Replicates:
        cosines, usable = self._cosines(spaces)
        left, right = self.left[usable], self.right[usable]
        if len(np.unique(left)) < LEAST_UNITS:
            raise ShapeError(
                f"Only {len(np.unique(left))} texts have usable vectors in pairs with others; agreement with words "
                f"needs at least {LEAST_UNITS}. Add texts."
            )
        units = pair_units(len(left), (left.tolist(), right.tolist()))
        return bootstrap(self.similarity[usable], cosines, replicates=replicates, seed=self.seed, units=units)

    def _agreements(self, estimates: Replicates) -> list[WordAgreement]:
        texts = len(np.unique(self.left))
        results = []
        for value, draws in zip(estimates.scores, estimates.values, strict=True):
            figure = score(float(value), draws, estimates.n)
            results.append(WordAgreement(figure.value, figure.low, figure.high, texts, estimates.n, self.terms))
        return results


def agreement(texts: Sequence[str], vectors: Matrix, *, seed: int = 0) -> WordAgreement:
    """The agreement of cosines with words, of the texts' vectors (n, d).

    Raises:
        ShapeError: not one vector per text, too few distinct texts, or too few that share words.
    """
    return word_pairs(texts, seed=seed).agreement(vectors)


def word_pairs(texts: Sequence[str], *, seed: int = 0) -> WordPairs:
    """Pairs of distinct texts: 400 texts with their 5 nearest by TF-IDF and 5 random ones each.

    TF-IDF is that of scikit-learn: lowercase words of two letters or more, weights tf · (log((1 + n)/(1 + df)) + 1) at
    length 1. A text that shares no word with any other has random partners alone.

    Raises:
        ShapeError: too few distinct texts, or too few that share words.
    """
    rng = np.random.default_rng(seed)
    rows = _distinct(texts)
    if len(rows) > _MOST_TEXTS:
        rows = np.sort(rng.choice(rows, _MOST_TEXTS, replace=False))
    if len(rows) < LEAST_UNITS:
        raise ShapeError(
            f"{len(rows)} distinct texts are too few for agreement with words: it needs at least {LEAST_UNITS}, and "
            f"{ANCHORS} or more are better. Add texts."
        )
    corpus = [texts[row][:_LONGEST] for row in rows.tolist()]
    terms = terms_of(corpus)
    weights = tf_idf([_TERMS[terms](text) for text in corpus])
    n = len(rows)
    anchors = np.sort(rng.choice(n, min(ANCHORS, n), replace=False))
    left, right, similarity, sharing = [], [], [], 0
    for start in range(0, len(anchors), _BLOCK):
        block = anchors[start : start + _BLOCK]
        # Rounded, because texts that are equally near have to be tied whatever the order of a sum.
        products = (weights[block] @ weights.T).toarray().clip(0.0, 1.0).round(_DIGITS)
        for anchor, cosines in zip(block.tolist(), products, strict=True):
            near = _nearest(cosines, anchor)
            sharing += len(near) > 0
            partners = np.concatenate([near, _random_others(rng, n, {anchor, *near.tolist()})])
            left.append(np.full(len(partners), anchor))
            right.append(partners)
            similarity.append(cosines[partners])
    if sharing < LEAST_UNITS:
        raise ShapeError(
            f"Only {sharing} of {len(anchors)} texts share {terms} with another; agreement with words needs at least "
            f"{LEAST_UNITS}. The texts are too short or too few: add some."
        )
    first, second = (rows[np.concatenate(side)] for side in (left, right))
    return WordPairs(first, second, np.concatenate(similarity), terms, seed)


def terms_of(texts: Iterable[str]) -> str:
    """What to count in these texts: character n-grams, if many letters are of a language without spaces.

    >>> terms_of(["plain words"]), terms_of(["今日はいい天気です"])
    ('words', 'character n-grams')
    """
    letters = unspaced = 0
    for text in texts:
        letters += len(_LETTER.findall(text))
        unspaced += 0 if text.isascii() else len(_UNSPACED.findall(text))
    return _GRAM_TERMS if unspaced > _UNSPACED_SHARE * letters else _WORD_TERMS


def tf_idf(documents: Sequence[Sequence[str]]) -> csr_array:
    """The TF-IDF weights of documents, given as lists of terms: (n, terms) at length 1, or 0 without terms."""
    from scipy.sparse import csr_array  # here: vectors without texts do without

    numbers: dict[str, int] = {}
    indptr, columns = [0], list[int]()
    counts: list[int] = []
    for document in documents:
        tally = Counter(document)
        columns += [numbers.setdefault(term, len(numbers)) for term in tally]
        counts += tally.values()
        indptr.append(len(columns))
    shape = (len(documents), max(len(numbers), 1))
    places = np.array(columns, np.int64)
    frequency = np.bincount(places, minlength=shape[1])
    idf = np.log((1 + shape[0]) / (1 + frequency)) + 1
    values = np.array(counts, np.float64) * idf[places]
    rows = np.repeat(np.arange(shape[0]), np.diff(indptr))
    lengths = np.sqrt(np.bincount(rows, weights=values**2, minlength=shape[0]))
    return csr_array((values / lengths[rows], places, indptr), shape=shape)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _grams(text: str) -> list[str]:
    """The n-grams of each run without white space, which is marked at both ends."""
    runs = [f" {run} " for run in text.lower().split()]
    return [run[i : i + n] for run in runs for n in _GRAMS for i in range(len(run) - n + 1)]


_WORD_TERMS, _GRAM_TERMS = "words", "character n-grams"
_TERMS: dict[str, Callable[[str], list[str]]] = {_WORD_TERMS: _words, _GRAM_TERMS: _grams}


def _distinct(texts: Sequence[str]) -> IntVector:
    """The number of the first of each text that is not blank; copies don't count."""
    first: dict[str, int] = {}
    for row, text in enumerate(texts):
        if text and (stripped := text.strip()):
            first.setdefault(stripped, row)
    return np.array(list(first.values()), np.int64)


def _nearest(cosines: _Floats, own: int) -> IntVector:
    """The nearest of those that share a term, the first of equally near ones."""
    others = np.flatnonzero(cosines > 0)
    others = others[others != own]
    return np.asarray(others[np.lexsort((others, -cosines[others]))[:_EACH]], np.int64)


def _random_others(rng: np.random.Generator, n: int, excluded: set[int]) -> IntVector:
    candidates = rng.choice(n, min(n, _EACH + len(excluded)), replace=False)
    return np.array([row for row in candidates.tolist() if row not in excluded][:_EACH], np.int64)


def _pair_cosines(vectors: Matrix, left: IntVector, right: IntVector) -> _Floats:
    """The cosine of each pair of rows; NaN if one has no direction."""
    last = int(max(left.max(), right.max()))
    if np.ndim(vectors) != 2 or len(vectors) <= last:
        raise ShapeError(f"Agreement with words needs one vector per text, not {np.shape(vectors)}.")
    rows, places = np.unique(np.concatenate([left, right]), return_inverse=True)
    units = unit_rows(np.asarray(vectors)[rows])
    first, second = places[: len(left)], places[len(left) :]
    return np.asarray(np.vecdot(units[first], units[second]).clip(-1.0, 1.0))
