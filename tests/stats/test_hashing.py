import numpy as np
import pytest
from scipy import stats

from uncone.data.batch import Batch
from uncone.stats.hashing import Fingerprints, fingerprints, hash_keys


def test_hashes_are_uniform():
    shares = hash_keys(np.arange(50_000), seed=3) / 2.0**64
    assert stats.kstest(shares, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_fingerprints_tell_rows_apart_and_copies_together(dtype, d):
    rows = np.random.default_rng(d).normal(size=(3_000, d)).astype(dtype)
    rows[2_000:] = rows[:1_000]
    prints = fingerprints(rows)
    np.testing.assert_array_equal(prints[2_000:], prints[:1_000])
    assert len(np.unique(prints)) == len(np.unique(rows, axis=0))


COARSE = {
    "one-hot": np.eye(1_000),
    "signs": np.sign(np.random.default_rng(0).normal(size=(5_000, 256))),
    "bits": np.random.default_rng(1).integers(0, 2, size=(5_000, 128)),
    "small integers": np.random.default_rng(2).integers(-3, 4, size=(5_000, 64)),
    "opposites": np.concatenate([np.eye(64) + 1, -np.eye(64) - 1]),
    "powers of two": np.exp2(np.random.default_rng(3).integers(-9, 9, size=(5_000, 8))),
    "halves": np.random.default_rng(4).normal(size=(5_000, 16)).astype(np.float16),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", COARSE.values(), ids=COARSE)
def test_coarse_numbers_are_told_apart(rows, dtype):
    """Few bits are set in them, and those on top: a careless product forgets them."""
    assert len(np.unique(fingerprints(rows.astype(dtype)))) == len(np.unique(rows, axis=0))


def test_one_changed_number_is_no_copy():
    rows = np.tile(np.arange(1.0, 65.0, dtype=np.float32), (64, 1))
    rows[np.arange(64), np.arange(64)] += 1
    assert len(np.unique(fingerprints(rows))) == 64


def test_duplicate_share_beyond_the_limit_is_close():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 3))
    rows[15_000:] = rows[rng.integers(0, 15_000, 5_000)]
    copies = Fingerprints(limit=4_000)
    for a in range(0, len(rows), 512):
        copies.update(Batch.of(rows[a : a + 512], first_row=a))
    assert copies.n_compared <= 4_000
    assert copies.duplicate_share == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize(("rows", "level"), [(4_000, 0), (4_001, 1), (8_000, 1), (8_001, 2), (64_000, 4)])
def test_the_number_of_rows_sets_the_level_from_the_start(rows, level):
    """As it would be in the end: no part keeps more than its share on the way there."""
    vectors = np.random.default_rng(0).normal(size=(rows, 2))
    planned, grown = Fingerprints(4_000, rows), Fingerprints(4_000)
    assert planned.level == level
    for first in range(0, rows, 500):
        batch = Batch.of(vectors[first : first + 500], first_row=first)
        planned.update(batch)
        grown.update(batch)
    assert planned.n_compared <= 4_000
    if planned.level == grown.level:
        np.testing.assert_array_equal(planned.state()["kept"], grown.state()["kept"])
    part = planned.empty()
    part.update(Batch.of(vectors[:500]))
    assert part.n_compared < 1_000 / 2**level
