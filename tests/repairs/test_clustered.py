import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from uncone.data.open import open_source
from uncone.data.vectors.memory import BlockStream, in_memory
from uncone.errors import FitError, NoUsableRowsError, OptionError
from uncone.repairs import clustered
from uncone.repairs.clustered import Clustered
from uncone.repairs.laws import check_repair
from uncone.repairs.saving import load
from uncone.run.measure import Plan

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")


def clusters(n=1500, d=16, k=4, far=2.0, seed=0, dtype=np.float32):
    """Clusters with directions of their own, away from zero."""
    rng = np.random.default_rng(seed)
    centers = 3 * rng.normal(size=(k, d)) + far
    turns = rng.normal(size=(k, d, d)) * np.geomspace(1.5, 0.1, d)[None, :, None]
    codes = rng.integers(0, k, n)
    return (centers[codes] + np.einsum("nd,nde->ne", rng.normal(size=(n, d)), turns[codes]) / 4).astype(dtype)


def nearest(rows, centroids):
    apart = rows[:, None].astype(np.float64) - centroids[None]
    return (apart**2).sum(axis=2).argmin(axis=1)


def naive(fitted_on, rows, repair):
    """A loop over the clusters with scikit-learn's PCA, on the same labels."""
    members, labels = nearest(fitted_on, repair.centroids_), nearest(rows, repair.centroids_)
    out = np.empty(rows.shape)
    for i in range(repair.k_):
        pca = PCA(repair.p, svd_solver="full").fit(fitted_on[members == i].astype(np.float64))
        y = rows[labels == i] - pca.mean_
        out[labels == i] = y - y @ pca.components_.T @ pca.components_
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [0, 3])
def test_equals_a_loop_over_the_clusters(p, dtype):
    rows, others = clusters(dtype=dtype), clusters(seed=0, n=400, dtype=dtype)
    repair = Clustered(k=6, p=p).fit(rows)
    for table in (rows, others):
        result = repair.transform(table)
        assert result.dtype == dtype
        np.testing.assert_allclose(result, naive(rows, table, repair), atol=1e-5)
    assert repair.sizes_.sum() == len(rows) and repair.k_ == 6


def test_far_from_zero_the_same_clusters_are_found():
    near, far = clusters(far=0.0), clusters(far=0.0) + np.float32(300.0)
    first, other = Clustered(k=4, p=2).fit(near), Clustered(k=4, p=2).fit(far)
    assert sorted(first.sizes_) == sorted(other.sizes_)
    np.testing.assert_allclose(first.transform(near), other.transform(far), atol=2e-3)  # float32 at 300


@pytest.mark.parametrize("length", [1e-12, 1e12])
def test_the_length_of_the_rows_does_not_matter(length):
    rows = clusters(dtype=np.float64)
    first, other = Clustered(k=4, p=2).fit(rows), Clustered(k=4, p=2).fit(rows * length)
    np.testing.assert_allclose(first.transform(rows), other.transform(rows * length) / length, atol=1e-5)


def test_stream_memory_and_workers_agree(tmp_path):
    rows = clusters(40_000, d=12)
    np.save(tmp_path / "rows.npy", rows)
    source = open_source(tmp_path / "rows.npy")
    memory = Clustered(k=5, p=3, sample=3000).fit(rows)
    for plan in (Plan(), Plan(workers=4)):
        stream = Clustered(k=5, p=3, sample=3000).fit_source(source, plan)
        for name, learned in memory.arrays().items():
            np.testing.assert_allclose(stream.arrays()[name], learned, rtol=1e-6, atol=1e-6, err_msg=name)
    assert memory.sizes_.sum() == 40_000
    assert "a seeded sample of 3,000 vectors" in memory.note_
    blocks = np.concatenate([memory.map(rows[start : start + 700]) for start in range(0, len(rows), 700)])
    np.testing.assert_allclose(memory.transform(rows), blocks, atol=1e-5)


def test_a_centroid_per_many_passes_gives_the_same(monkeypatch):
    rows = clusters()
    whole = Clustered(k=5, p=3).fit(rows)
    monkeypatch.setattr(clustered, "_SCATTER_BYTES", 2 * 8 * 16 * 16)
    steps = []
    parts = Clustered(k=5, p=3).fit_source(in_memory(rows), progress=lambda *step: steps.append(step))
    assert sum(rows for step, rows, _ in steps if step == "clustered, directions") == 3 * 1500
    for name, learned in whole.arrays().items():
        np.testing.assert_array_equal(parts.arrays()[name], learned)


@pytest.mark.parametrize("assign", ["kmeans", "gmm"])
def test_arrays_bring_it_back_to_the_digit(assign):
    rows = clusters()
    repair = Clustered(k=4, p=2, assign=assign).fit(rows)
    arrays = repair.arrays()
    assert {value.dtype for value in arrays.values()} == {np.dtype(np.float64)}
    back = Clustered(k=4, p=2, assign=assign).restore({name: value.copy() for name, value in arrays.items()})
    np.testing.assert_array_equal(back.transform(rows), repair.transform(rows))
    assert back.k_ == repair.k_ and back.sizes_.tolist() == repair.sizes_.tolist()


def test_gaussians_assign_as_scikit_learn_does():
    """Two clouds at one place, one wide and one narrow: only a mixture can tell them apart."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([0.1 * rng.normal(size=(800, 6)), 3 * rng.normal(size=(800, 6))]) + 5
    repair = Clustered(k=2, p=1, assign="gmm", iterations=200).fit(rows)
    labels = repair.cells_.labels(rows)
    narrow = labels[:800].mean() > 0.5
    assert ((labels == narrow)[:800]).mean() > 0.98 and ((labels == narrow)[800:]).mean() < 0.05
    assert "still moving" in Clustered(k=8, p=1, assign="gmm", iterations=1).fit(rows).note_


def test_seeds():
    rows = clusters(k=9)
    first, again, other = (Clustered(k=9, p=2, seed=seed).fit(rows).arrays() for seed in (1, 1, 2))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["centroids"], other["centroids"])


def test_the_state_of_numpy_and_faiss_is_left_alone():
    import faiss

    threads, state = faiss.omp_get_max_threads(), np.random.get_state()[1].copy()  # noqa: NPY002
    Clustered(k="auto", p=1).fit(clusters(200))
    assert faiss.omp_get_max_threads() == threads
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_auto_finds_the_number_of_clusters():
    rng = np.random.default_rng(1)
    rows = 20 * rng.normal(size=(5, 8))[rng.integers(0, 5, 600)] + rng.normal(size=(600, 8))
    repair = Clustered(k="auto", p=2).fit(rows)
    assert repair.k_ == 5
    assert "5 k-means clusters (of 2 to 30 the best silhouette, 0." in repair.note_


def test_small_clusters_are_merged():
    rows = clusters(500, k=2)
    rows[:3] += 40  # three rows far away: a cluster, but not one that could lose four directions
    repair = Clustered(k=8, p=4, iterations=50).fit(rows)
    assert repair.k_ < 8 and repair.sizes_.min() >= 10 and repair.sizes_.sum() == 500
    assert "of fewer than 10 vectors merged into others" in repair.note_
    assert np.linalg.norm(repair.transform(rows), axis=1).min() > 1e-3


def test_copies_of_few_rows():
    """More clusters than distinct rows, each of them all copies of one."""
    rng = np.random.default_rng(0)
    distinct = rng.normal(size=(3, 5)).astype(np.float32) * 10
    rows = distinct[rng.integers(0, 3, 300)]
    for assign in ("kmeans", "gmm"):
        repair = Clustered(k=7, p=2, assign=assign).fit(rows)
        assert repair.k_ <= 3 and np.isfinite(repair.transform(rows)).all()
    single = Clustered(k=3, p=2, seed=1).fit(rows)
    alike = [np.ptp(rows[single.cells_.labels(rows) == i], axis=0).max() == 0 for i in range(single.k_)]
    assert any(alike) and not single.counts_[alike].any()


def test_fewer_directions_than_asked_for():
    line = np.outer(np.random.default_rng(0).normal(size=60), np.ones(5)) + np.arange(5.0)
    repair = Clustered(k=1, p=3).fit(line)
    assert repair.counts_.tolist() == [1] and not repair.directions_[0, 1:].any()
    np.testing.assert_allclose(repair.transform(line), 0, atol=1e-12)


def test_rows_of_zeros_and_nan_in_a_stream():
    rows = clusters()
    flawed = np.insert(rows, [5, 70], [np.zeros(16), np.full(16, np.nan)], axis=0)
    result = Clustered(k=4, p=2).fit_source(in_memory(flawed))
    assert result.sizes_.sum() == len(rows)
    out = result.map(flawed)
    assert np.isnan(out[71]).all() and np.isfinite(np.delete(out, 71, axis=0)).all()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"k": 31}, FitError, "k=31 clusters cannot be made of 30 rows"),
        ({"k": 0}, OptionError, "k=0 is no number"),
        ({"k": "many"}, OptionError, '"auto"'),
        ({"k": 2.0}, OptionError, "whole number"),
        ({"p": 16}, FitError, "p=16 directions of 16"),
        ({"p": -1}, OptionError, "p=-1"),
        ({"p": 29, "k": 1}, FitError, "p=29"),
        ({"assign": "nearest"}, OptionError, "kmeans"),
        ({"iterations": 0}, OptionError, "iterations=0"),
        ({"sample": 1}, OptionError, "sample=1"),
        ({"seed": -1}, OptionError, "seed=-1"),
    ],
)
def test_bad_options(options, error, words):
    with pytest.raises(error, match=words) as caught:
        Clustered(**{"k": 2, "p": 1, **options}).fit(clusters(30))
    assert "\n" not in str(caught.value)


def test_bad_rows():
    with pytest.raises(FitError, match="all equal"):
        Clustered(k=1, p=1).fit(np.full((20, 4), 0.1, np.float32))
    with pytest.raises(FitError, match="at most 4 directions"):
        Clustered(k=1, p=6).fit(clusters(5))
    with pytest.raises(NoUsableRowsError, match="NaN, infinite or zero"):
        Clustered(k=1, p=1).fit(np.zeros((20, 4)))
    with pytest.raises(ValueError, match="NaN"):
        Clustered(k=1, p=1).fit(np.full((20, 4), np.nan))
    with pytest.raises(OptionError, match="only once"):
        Clustered(k=2, p=1).fit_source(BlockStream(iter([clusters(30)])))
    with pytest.raises(ValueError, match="16 features"):
        Clustered(k=2, p=1).fit(clusters(30)).transform(np.ones((2, 5)))


def test_frames_and_pipelines():
    frame = pd.DataFrame(clusters(200), columns=[f"x{i}" for i in range(16)])
    result = Clustered(k=3, p=2).set_output(transform="pandas").fit_transform(frame)
    assert list(result.columns[:2]) == ["clustered0", "clustered1"] and result.shape == (200, 16)
    assert make_pipeline(StandardScaler(), Clustered(k=3, p=2)).fit_transform(frame).shape == (200, 16)


@pytest.mark.parametrize("assign", ["kmeans", "gmm"])
def test_scikit_learn_contract(assign):
    check_estimator(Clustered(k=2, p=1, assign=assign), on_skip=None)


@pytest.mark.parametrize("assign", ["kmeans", "gmm"])
def test_laws_and_saving(assign, tmp_path):
    repair = Clustered(k=3, p=2, assign=assign)
    check_repair(repair)
    repair.fit(clusters()).save(tmp_path / "repair")
    back = load(tmp_path / "repair").repair
    np.testing.assert_array_equal(back.transform(clusters()), repair.transform(clusters()))
    assert back.note_ == repair.note_
    with pytest.raises(ValueError, match="means has shape"):
        Clustered(k=3, p=2).restore({**repair.arrays(), "means": np.zeros((2, 16))})
