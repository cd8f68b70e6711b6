"""Spaces whose shape is known, because they were made: every finding has to say the right thing about them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest


def swiss_roll(n: int, rng: np.random.Generator, noise: float = 0.05) -> np.ndarray:
    """A sheet of two dimensions, rolled up in three around zero, in 50 with a little noise."""
    angle = 1.5 * np.pi * (1 + 2 * rng.random(n))
    rolled = np.column_stack([angle * np.cos(angle), 21 * rng.random(n), angle * np.sin(angle)])
    rolled -= rolled.mean(axis=0)
    return rolled @ turned(3, 50, rng) + noise * rng.normal(size=(n, 50))


def ball(n: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform in a ball of 20 dimensions around zero."""
    directions = rng.normal(size=(n, 20))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions * rng.random((n, 1)) ** (1 / 20)


def blobs(n: int, rng: np.random.Generator) -> np.ndarray:
    """Three Gaussians far from each other, in 20 dimensions; those of one blob come together."""
    centers = 12 * np.linalg.qr(rng.normal(size=(20, 20)))[0][:3]
    return centers[np.arange(n) * 3 // n] + rng.normal(size=(n, 20))


def cone(n: int, rng: np.random.Generator) -> np.ndarray:
    """A Gaussian in 20 dimensions far from zero: all rows point the same way."""
    return rng.normal(size=(n, 20)) + 3.0


def turned(few: int, many: int, rng: np.random.Generator) -> np.ndarray:
    """Orthogonal rows (few, many): a space of few dimensions inside one of many."""
    return np.linalg.qr(rng.normal(size=(many, many)))[0][:few]


SPACES = {"swiss roll": swiss_roll, "ball": ball, "blobs": blobs, "cone": cone}


@pytest.fixture(scope="session")
def generated() -> Callable[..., np.ndarray]:
    """A maker of generated spaces, by name."""

    def make(name: str, n: int = 3_000, seed: int = 0, **options: float) -> np.ndarray:
        return SPACES[name](n, np.random.default_rng(seed), **options).astype(np.float32)

    return make
