import numpy as np
import pytest
from scipy import stats

from uncone.data.batch import Batch
from uncone.stats.row_sample import ALL_PAIRS, PairCosines, RowSample, cutoff_for


def batches(rows, size=512):
    return [Batch.of(rows[a : a + size], first_row=a) for a in range(0, len(rows), size)]


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
