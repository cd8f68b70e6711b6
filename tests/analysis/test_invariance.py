"""What a rotation, a reflection or a change of scale must not change."""

from __future__ import annotations

import numpy as np
import pytest

from uncone import check

ROTATION_INVARIANT = (
    "baseline",
    "pair_cosine_quantiles",
    "mean_over_rms",
    "effective_rank",
    "participation_ratio",
    "top1_share",
    "top10_share",
    "condition_number",
    "isoscore",
    "isoscore_corrected",
    "partition_isotropy_log10",
    "partition_isotropy_unit_log10",
    "uniformity",
    "norm_mean",
)


def numbers(value):
    return list(value.values()) if isinstance(value, dict) else [value]


def assert_alike(one, other, tolerance):
    for name in ROTATION_INVARIANT:
        for key in ("value", "low", "high"):
            a, b = getattr(one[name], key), getattr(other[name], key)
            assert (a is None) == (b is None), (name, key)
            if a is not None:
                np.testing.assert_allclose(numbers(b), numbers(a), rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("n", [400, 6_000])
def test_a_negative(cone, n):
    rows = cone(n, 10)
    assert_alike(check(rows), check(-rows), 1e-6)


@pytest.mark.parametrize("n", [400, 6_000])
def test_a_rotation(cone, n):
    """Samples are drawn by row number, so they are the same rows after a rotation, at any n."""
    rows = cone(n, 10).astype(np.float64)
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(10, 10)))[0]
    assert_alike(check(rows, float64=True), check(rows @ rotation, float64=True), 1e-7)


def test_scale_changes_only_what_knows_lengths(cone):
    rows = cone(500, 10)
    one, other = check(rows), check(1024 * rows)
    for name in ROTATION_INVARIANT:
        if name not in ("norm_mean", "partition_isotropy_log10"):
            np.testing.assert_allclose(numbers(other[name].value), numbers(one[name].value), rtol=1e-5, err_msg=name)
    assert other["norm_mean"].value == pytest.approx(1024 * one["norm_mean"].value, rel=1e-6)
