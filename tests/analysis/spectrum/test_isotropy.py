"""I(W) as published and in the safe form, against plain loops; and what would overflow or depend on a sign."""

from __future__ import annotations

import math

import numpy as np
import pytest

from uncone.analysis.space.spectrum.isotropy import log10_isotropy, partition_isotropy


def plain(rows, directions):
    """log10 of the smallest sum of exponentials over the largest, as the papers write it."""
    sums = [sum(math.exp(float(row @ direction)) for row in rows) for direction in directions]
    return math.log10(min(sums) / max(sums))


@pytest.mark.parametrize("shift", [0.0, 0.7])
def test_all_three_forms(cone, shift):
    rows = cone(90, 6, mean=shift).astype(np.float64)
    isotropy = partition_isotropy(lambda: np.array_split(rows, 4))
    one_sign = np.linalg.eig(rows.T @ rows)[1].T
    both = np.concatenate([vectors := np.linalg.eigh(rows.T @ rows)[1].T, -vectors])
    assert isotropy.published == pytest.approx(plain(rows, one_sign), abs=1e-9)
    assert isotropy.both_signs == pytest.approx(plain(rows, both), abs=1e-9)
    assert isotropy.both_signs == pytest.approx(log10_isotropy(rows), abs=1e-9)
    assert isotropy.unit == pytest.approx(plain(rows / np.linalg.norm(rows, axis=1).mean(), both), abs=1e-9)


def test_a_sign_changes_the_published_form_alone():
    """Reflected vectors are the same space, but a solver returns the same axes for them, with the same signs."""
    lopsided = np.concatenate([[10.0], np.full(100, -0.1)])
    rows = np.stack([lopsided, np.resize([0.5, -0.5], 101)], axis=1)
    one, other = (partition_isotropy(lambda rows=side: [rows]) for side in (rows, -rows))
    assert one.both_signs == pytest.approx(other.both_signs, abs=1e-9)
    assert one.unit == pytest.approx(other.unit, abs=1e-9)
    assert abs(one.published - other.published) > 2


def test_nothing_overflows_in_single_precision(cone):
    rows = 200 * cone(50, 4, mean=3.0)
    with np.errstate(over="ignore"):
        assert not np.isfinite(np.exp(rows @ np.linalg.eigh(rows.T @ rows)[1])).all()
    isotropy = partition_isotropy(lambda: [rows])
    assert isotropy.both_signs < -100 and math.isfinite(isotropy.published)
    assert isotropy.both_signs == pytest.approx(log10_isotropy(rows), rel=1e-4)


def test_zero_rows_count_and_rows_that_are_not_finite_do_not(cone):
    rows = cone(40, 5).astype(np.float64)
    padded = np.concatenate([rows, np.zeros((7, 5)), np.full((2, 5), np.nan)])
    both = np.concatenate([vectors := np.linalg.eigh(rows.T @ rows)[1].T, -vectors])
    isotropy = partition_isotropy(lambda: [padded])
    assert isotropy.both_signs == pytest.approx(plain(padded[:-2], both), abs=1e-9)
    assert partition_isotropy(lambda: [np.zeros((3, 5))]) is None and partition_isotropy(lambda: []) is None
