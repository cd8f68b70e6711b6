"""Spaces whose background is known in closed form.

A row is sqrt(b) e0 + sqrt(1 - b) w with w uniform on the sphere of the other dimensions, so the cosine of two rows is
sqrt(b b') + sqrt((1 - b)(1 - b')) c, and (1 + c)/2 follows a beta distribution. With one b for all rows the space is
a cone; with several, some rows are close to everything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats


@dataclass(frozen=True)
class Known:
    """Shares `weights` of the rows have these `leanings` b, in d dimensions."""

    leanings: tuple[float, ...]
    weights: tuple[float, ...] = (1.0,)
    d: int = 12

    def rows(self, n: int, seed) -> np.ndarray:
        rng = np.random.default_rng(seed)
        b = rng.choice(self.leanings, size=n, p=self.weights)
        w = rng.normal(size=(n, self.d - 1))
        w /= np.linalg.norm(w, axis=1, keepdims=True)
        units = np.column_stack([np.sqrt(b), np.sqrt(1 - b)[:, None] * w])
        return (units * rng.uniform(0.5, 5, size=(n, 1))).astype(np.float32)

    def share(self, score, other: Known | None = None) -> np.ndarray:
        """The share of unrelated pairs at or above a score; with `other`, of rows of this side and of that."""
        other = other or self
        score, found = np.asarray(score, np.float64), 0.0
        half = (self.d - 2) / 2
        for b, weight in zip(self.leanings, self.weights, strict=True):
            for c, times in zip(other.leanings, other.weights, strict=True):
                inner = (score - np.sqrt(b * c)) / np.sqrt((1 - b) * (1 - c))
                found = found + weight * times * stats.beta.sf((1 + inner) / 2, half, half)
        return found

    def mean(self) -> float:
        return float(np.dot(np.sqrt(self.leanings), self.weights) ** 2)


SPACES = {
    "all directions": Known((0.0,)),
    "a cone": Known((0.7,)),
    "a tight cone": Known((0.999,)),
    "some rows close to everything": Known((0.05, 0.4, 0.8), (0.5, 0.4, 0.1)),
}


@pytest.fixture(scope="session")
def spaces() -> dict[str, Known]:
    return SPACES
