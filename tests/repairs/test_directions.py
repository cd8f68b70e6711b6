"""The leading directions of a symmetric matrix, against LAPACK taking it apart."""

from __future__ import annotations

import numpy as np
import pytest

from uncone.repairs import directions
from uncone.repairs.directions import leading


def matrix(values: np.ndarray, seed: int = 0) -> np.ndarray:
    turned = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    return (turned * values) @ turned.T


SPECTRA = {
    "falling": 1e6 / np.arange(1, 513) ** 1.2,
    "one rogue dimension": np.concatenate([[1e9], 1 / np.arange(1, 512)]),
    "a gap behind the last": np.concatenate([np.arange(24, 12, -1.0), np.full(500, 0.01)]),
    "no gap": 1 + np.linspace(0.1, 0, 512),
    "all equal": np.ones(512),
    "few": np.concatenate([[5.0, 4.0, 3.0], np.zeros(509)]),
    "none": np.zeros(512),
}


@pytest.mark.parametrize("name", SPECTRA)
def test_eigenvalues_and_span_are_those_of_lapack(name):
    square = matrix(SPECTRA[name])
    values, vectors = leading(square, 12)
    expected, turned = np.linalg.eigh(square)
    size = max(float(np.abs(expected).max()), 1e-300)
    np.testing.assert_allclose(values, expected[::-1][:12], atol=1e-11 * size)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(12), atol=1e-12)
    assert np.abs(square @ vectors - vectors * values).max() <= 1e-10 * size
    if name in ("falling", "a gap behind the last"):
        top = turned[:, ::-1][:, :12]
        np.testing.assert_allclose(vectors @ vectors.T, top @ top.T, atol=1e-9)


def test_products_are_given_up_where_they_are_not_exact():
    square = matrix(SPECTRA["no gap"])
    assert directions._by_products(square, 12) is None
    assert directions._by_products(matrix(SPECTRA["falling"]), 12) is not None


def test_the_same_twice():
    square = matrix(SPECTRA["falling"])
    first, second = leading(square, 12), leading(square, 12)
    assert np.array_equal(first[0], second[0])
    assert np.array_equal(first[1], second[1])
