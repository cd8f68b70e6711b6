import numpy as np
import pytest
from scipy import stats

from uncone.data.batch import Batch
from uncone.stats.hashing import Fingerprints, fingerprints, hash_keys
from uncone.stats.norms import Norms
from uncone.stats.partition import PartitionSums
from uncone.stats.row_sample import ALL_PAIRS, PairCosines, RowSample, cutoff_for


def batches(rows, size=512):
    return [Batch.of(rows[a : a + size], first_row=a) for a in range(0, len(rows), size)]


def test_hashes_are_uniform():
    shares = hash_keys(np.arange(50_000), seed=3) / 2.0**64
    assert stats.kstest(shares, "uniform").pvalue > 1e-3


def test_the_sample_is_uniform_over_the_rows():
    """Over many seeds every row is drawn equally often."""
    rows, counts = np.ones((200, 1)), np.zeros(200)
    for seed in range(400):
        sample = RowSample(1, k=20, seed=seed)
        sample.update(Batch.of(rows))
        counts[sample.sampled.rows] += 1
    assert stats.chisquare(counts).pvalue > 1e-3


def test_a_cutoff_changes_nothing():
    rows = np.random.default_rng(0).normal(size=(5_000, 3))
    with_cutoff = RowSample(3, k=300, cutoff=cutoff_for(300, 5_000))
    without = RowSample(3, k=300)
    for batch in batches(rows):
        with_cutoff.update(batch)
        without.update(batch)
    np.testing.assert_array_equal(with_cutoff.sampled.rows, without.sampled.rows)
    np.testing.assert_array_equal(with_cutoff.sampled.vectors, rows[with_cutoff.sampled.rows])


def test_texts_and_labels_stay_with_their_rows():
    rows = np.arange(1.0, 101.0)[:, None]
    names = [str(int(row[0])) for row in rows]
    sample = RowSample(1, k=10)
    for a in range(0, 100, 30):
        sample.update(Batch.of(rows[a : a + 30], first_row=a, texts=names[a : a + 30], labels=names[a : a + 30]))
    kept = sample.sampled
    assert list(kept.texts) == list(kept.labels) == [str(int(v)) for v in kept.vectors[:, 0]]


@pytest.mark.parametrize("n", [2, 3, 50, 51])
def test_all_pairs_when_there_are_few_rows(n, cone):
    rows = cone(n, 6).astype(np.float64)
    pairs = PairCosines(6)
    pairs.update(Batch.of(rows))
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    expected = np.sort([units[i] @ units[j] for i in range(n) for j in range(n) if i != j])
    np.testing.assert_allclose(np.sort(pairs.cosines().values.ravel()), expected, atol=1e-12)
    assert pairs.cosines().pairs == n * (n - 1) // 2


def test_sampled_pairs_use_every_row_equally(cone):
    rows = cone(ALL_PAIRS + 100, 5).astype(np.float64)
    pairs = PairCosines(5, shifts=4)
    for batch in batches(rows):
        pairs.update(batch)
    cosines = pairs.cosines()
    assert cosines.values.shape == (4, len(rows)) and not cosines.complete
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    ordered = units[pairs.sampled.order]
    np.testing.assert_allclose(cosines.values[2], (ordered * np.roll(ordered, -3, axis=0)).sum(axis=1), atol=1e-12)
    kernel = cosines.values
    row = 17
    partners = [(row + s) % len(rows) for s in (1, 2, 3, 4)] + [(row - s) % len(rows) for s in (1, 2, 3, 4)]
    assert cosines.per_row(kernel)[row] == pytest.approx(np.mean([ordered[row] @ ordered[p] for p in partners]))


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
    for batch in batches(rows):
        copies.update(batch)
    assert copies.n_compared <= 4_000
    assert copies.duplicate_share == pytest.approx(0.25, abs=0.03)


def test_norms_against_numpy():
    rows = np.random.default_rng(2).lognormal(size=(4_000, 3))
    norms = Norms(keep=4)
    for batch in batches(rows):
        norms.update(batch)
    norms.finish()
    lengths = np.linalg.norm(rows, axis=1)
    assert norms.mean == pytest.approx(lengths.mean(), rel=1e-12)
    assert norms.spread == pytest.approx(lengths.std(ddof=1), rel=1e-9)
    assert norms.quantile(0.5) == pytest.approx(np.median(lengths), rel=0.02)
    assert [one.row for one in norms.longest] == list(np.argsort(-lengths)[:4])
    assert [one.row for one in norms.shortest] == list(np.argsort(lengths)[:4])
    assert norms.count_over(10.0) == pytest.approx((lengths > 10).sum(), rel=0.03)


@pytest.mark.parametrize("scale", [1.0, 50.0, 5_000.0])
def test_partition_sums_do_not_overflow(scale, cone):
    rows = cone(200, 5).astype(np.float64) * scale
    directions = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    sums = PartitionSums(directions, scales=(1.0, 0.01))
    for batch in batches(rows, 64):
        sums.update(batch)
    for place, factor in enumerate((1.0, 0.01)):
        products = rows @ directions * factor
        expected = np.stack([np.logaddexp.reduce(products, axis=0), np.logaddexp.reduce(-products, axis=0)])
        np.testing.assert_allclose(sums.log_sums[place], expected, rtol=1e-12)
