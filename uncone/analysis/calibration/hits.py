"""How the unrelated hits of a search are spread over its queries: hubs give some queries many, and most none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.calibration.results import Background, HitSpread
from uncone.analysis.calibration.sampled_pairs import Side
from uncone.analysis.calibration.thresholds import score_at
from uncone.run.blas_threads import in_order

__all__ = ["hit_spread"]

_PAIRS = 1_000_000
_FEWEST_QUERIES = 256
_BLOCK = 2048


def hit_spread(background: Background, sides: tuple[Side, Side | None], base: float, corpus_size: int) -> HitSpread:
    """Count the unrelated hits of sampled queries in a corpus of sampled rows, at its threshold of one on average.

    A corpus larger than the sample cannot be drawn from it, so the answer is for one as large as the sample then.
    """
    one, other = sides[0], sides[1] or sides[0]
    size = min(corpus_size, other.n)
    queries = slice(one.n - min(one.n, max(_PAIRS // size, _FEWEST_QUERIES)), one.n)
    limit = score_at(background, 1 / size) - base
    left = one.units[queries]

    def counted(part: slice) -> NDArray[np.int64]:
        reached = left @ other.right(part).T >= limit
        for ours, theirs in zip(one.marks, other.marks, strict=False):
            reached &= ours[queries, None] != theirs[None, part]
        return np.asarray(reached.sum(axis=1))

    blocks = [slice(start, min(start + _BLOCK, size)) for start in range(0, size, _BLOCK)]
    hits = np.sum(list(in_order(counted, blocks)), axis=0)
    return HitSpread(size, len(hits), float((hits > 1).mean()), int(hits.max()))
