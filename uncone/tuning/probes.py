"""Probes: the geometry of held-out texts, and the score on held-out pairs, while a model is being trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.cosine.alignment import alignment, exact_uniformity
from uncone.analysis.cosine.units import pair_cosines
from uncone.analysis.intervals.correlation import spearman
from uncone.data.batch import Matrix
from uncone.data.tasks.sts import PairTask
from uncone.evaluation.tasks.sts import isotropy
from uncone.tuning.results import Probe

__all__ = ["Prober", "dev_score"]

_MOST_TEXTS = 256
_MOST_PAIRS = 400


class Prober:
    """The texts and pairs of every probe, drawn once: 256 texts and 400 pairs, so that a probe stays cheap."""

    def __init__(self, texts: Sequence[str], pairs: PairTask | None, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        picked = rng.permutation(len(texts))[:_MOST_TEXTS]
        self.texts = [texts[place] for place in sorted(picked.tolist())]
        self.pairs = pairs
        rows = np.sort(rng.permutation(len(pairs))[:_MOST_PAIRS]) if pairs is not None else np.zeros(0, np.int64)
        self.left, self.right = ([] if pairs is None else [side[row] for row in rows] for side in _sides(pairs))
        self.scores: NDArray[np.float64] = np.zeros(0) if pairs is None else pairs.scores[rows]
        self.distinct = list(dict.fromkeys([*self.texts, *self.left, *self.right]))

    def __call__(
        self, step: int, encode: Callable[[list[str]], Matrix], views: Callable[[list[str], int], Matrix]
    ) -> Probe:
        """Encode every text once, and measure; `views` are vectors with dropout, drawn from a seed."""
        vectors = encode(self.distinct)
        places = {text: place for place, text in enumerate(self.distinct)}
        rows = vectors[[places[text] for text in self.texts]]
        left, right = (vectors[[places[text] for text in side]] for side in (self.left, self.right))
        dev = dev_score(self.scores, left, right) if len(self.scores) else None
        isoscore, baseline = isotropy(rows)
        close = _positives(self.scores)
        if close.any():
            aligned = alignment(left[close], right[close])
        else:
            aligned = alignment(views(self.texts, 1), views(self.texts, 2))
        return Probe(step, baseline, isoscore, exact_uniformity(rows), aligned, dev)

    @property
    def cost(self) -> int:
        """The number of texts that a probe encodes."""
        return len(self.distinct) + (0 if _positives(self.scores).any() else 2 * len(self.texts))


def _sides(pairs: PairTask | None) -> tuple[Sequence[str], Sequence[str]]:
    return ((), ()) if pairs is None else (pairs.left, pairs.right)


def _positives(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The pairs in the upper fifth of the scale."""
    if not len(scores):
        return np.zeros(0, np.bool_)
    low, high = scores.min(), scores.max()
    return np.asarray(scores >= low + 0.8 * (high - low)) if high > low else np.zeros(len(scores), np.bool_)


def dev_score(scores: NDArray[np.float64], left: Matrix, right: Matrix) -> float | None:
    """The rank correlation of the cosines with scores or labels; None if it is undefined."""
    cosines = pair_cosines(left, right)
    usable = np.isfinite(cosines)
    return spearman(scores[usable], cosines[usable]).value
