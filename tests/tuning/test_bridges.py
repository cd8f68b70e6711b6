"""Repairs in the loop against naive numpy: the batch's own clusters, moving averages, and a fit before an epoch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from uncone.errors import OptionError
from uncone.tuning.bridges import (
    MODES,
    BatchBridge,
    FrozenBridge,
    RepairMethod,
    RunningBridge,
    clusters_of,
    make_bridge,
    parse_methods,
)


def clusters(n=12, d=8, seed=0, k=3):
    """Vectors (k n, d) in k clusters that no k-means can miss, far from zero; in random order, with their clusters."""
    rng = np.random.default_rng(seed)
    centers = 30 * np.eye(d)[:k] + 5
    names = rng.permutation(np.repeat(np.arange(k), n))
    return (centers[names] + rng.normal(size=(k * n, d)) * np.linspace(2, 0.5, d)).astype(np.float32), names


def naive(rows, names, p):
    """Every cluster by itself: minus its mean, minus its first p right singular vectors."""
    out = np.empty(rows.shape)
    for name in np.unique(names):
        own = rows[names == name].astype(np.float64)
        own = own - own.mean(axis=0)
        axes = np.linalg.svd(own, full_matrices=False)[2][:p]
        out[names == name] = own - own @ axes.T @ axes
    return out


@pytest.mark.parametrize(("k", "p"), [(1, 0), (3, 0), (3, 2), (1, 2)])
def test_the_batch_is_repaired_by_its_own_clusters(k, p):
    rows, names = clusters()
    expected = naive(rows, names if k == 3 else np.zeros(len(rows)), p)
    bridge = BatchBridge(8, k, p)
    for mode in (True, False):
        np.testing.assert_allclose(bridge.train(mode)(torch.tensor(rows)).numpy(), expected, atol=2e-5)


def test_batch_statistics_depend_on_the_batch_and_stored_ones_do_not():
    rows = torch.tensor(clusters()[0])
    frozen, running = FrozenBridge(8, 3, 2), RunningBridge(8, 3, 2)
    frozen.fit(rows.numpy())
    running.train()(rows)
    for bridge in (frozen.eval(), running.eval()):
        together = bridge(rows)
        torch.testing.assert_close(torch.cat([bridge(row[None]) for row in rows]), together)
        torch.testing.assert_close(bridge(rows[5:20]), together[5:20])
    batch = BatchBridge(8, 3, 2)
    assert (batch(rows[:9]) - batch(rows)[:9]).abs().max() > 0.1
    assert not batch(rows[:1]).any(), "a vector alone is its own mean"


def test_running_statistics_are_moving_averages():
    (first, names), (second, others) = clusters(seed=1), clusters(seed=2)
    second += 0.5
    bridge = RunningBridge(8, 3, 2).train()
    bridge(torch.tensor(first))
    got = bridge(torch.tensor(second)).numpy()
    for name in range(3):
        own, new = first[names == name].astype(np.float64), second[others == name].astype(np.float64)
        start = own.mean(axis=0)
        mean = 0.9 * start + 0.1 * new.mean(axis=0)
        covariance = 0.9 * (own - start).T @ (own - start) / len(own) + 0.1 * (new - mean).T @ (new - mean) / len(new)
        axes = np.linalg.eigh(covariance)[1][:, ::-1][:, :2]
        expected = (new - mean) - (new - mean) @ axes @ axes.T
        np.testing.assert_allclose(got[others == name], expected, atol=1e-3)
        cluster = int(bridge.assign(torch.tensor(new[:1], dtype=torch.float32)))
        np.testing.assert_allclose(bridge.means[cluster], mean, rtol=1e-5)


def test_running_statistics_rest_outside_training_and_are_saved():
    rows = torch.tensor(clusters()[0])
    bridge = RunningBridge(8, 3, 1).train()
    bridge(rows)
    before = {name: value.clone() for name, value in bridge.state_dict().items()}
    expected = bridge.eval()(rows + 1)
    assert all(torch.equal(value, before[name]) for name, value in bridge.state_dict().items())
    other = RunningBridge(8, 3, 1)
    other.load_state_dict(before)
    assert torch.equal(other.eval()(rows + 1), expected)


def test_a_frozen_fit_gives_new_vectors_to_the_nearest_centroid():
    rows, names = clusters(n=40)
    bridge = FrozenBridge(8, 3, 2)
    bridge.fit(rows)
    new, others = clusters(seed=5)
    for name in range(3):
        own = rows[names == name].astype(np.float64)
        mean = own.mean(axis=0)
        axes = np.linalg.svd(own - mean, full_matrices=False)[2][:2]
        y = new[others == name] - mean
        np.testing.assert_allclose(bridge(torch.tensor(new[others == name])).numpy(), y - y @ axes.T @ axes, atol=2e-3)
    saved = FrozenBridge(8, 3, 2)
    saved.load_state_dict(bridge.state_dict())
    assert torch.equal(saved(torch.tensor(new)), bridge(torch.tensor(new)))
    bridge.fit(rows + 7)
    assert not torch.equal(saved(torch.tensor(new)), bridge(torch.tensor(new)))


def test_a_frozen_fit_with_fewer_clusters_leaves_the_others_empty():
    rows, _ = clusters(n=20, k=2)
    rows = np.concatenate([rows, rows[:1] + 200])  # an outlier is no cluster: with p = 2 it needs six vectors
    bridge = FrozenBridge(8, 3, 2)
    bridge.fit(rows)
    assert int(bridge.centroids.isfinite().all(dim=1).sum()) == 2
    assert bridge(torch.tensor(rows)).isfinite().all()


@pytest.mark.parametrize("mode", ["batch", "running", "frozen"])
@pytest.mark.parametrize("p", [0, 2])
def test_gradients_flow_through_subtraction_and_projection(mode, p):
    rows, names = clusters()
    bridge = make_bridge(RepairMethod(mode, 3, p), 8)
    if isinstance(bridge, FrozenBridge):
        bridge.fit(rows)
    bridge.train()(torch.tensor(rows))
    bridge.eval()
    vectors = torch.tensor(rows, requires_grad=True)
    weights = torch.tensor(np.random.default_rng(3).normal(size=rows.shape), dtype=torch.float32)
    out = bridge(vectors)
    (out * weights).sum().backward()
    # The map of a cluster is a projection, I - D'D, after the mean; that of a batch takes off the mean of gradients.
    gradient = weights.numpy().astype(np.float64)
    expected = np.empty_like(gradient)
    for name in range(3):
        own, part = rows[names == name].astype(np.float64), gradient[names == name]
        axes = np.linalg.svd(own - own.mean(axis=0), full_matrices=False)[2][:p]
        part = part - part @ axes.T @ axes
        expected[names == name] = part - part.mean(axis=0) if mode == "batch" else part
    np.testing.assert_allclose(vectors.grad.numpy(), expected, atol=2e-3)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_small_batches_and_copies_are_no_accident(n):
    rows = torch.tensor(clusters()[0][:n])
    for batch in (rows, rows[:1].repeat(n, 1)):
        out = BatchBridge(8, 3, 4)(batch)
        assert out.isfinite().all()
        assert RunningBridge(8, 3, 4).train()(batch).isfinite().all()
    assert BatchBridge(8, 3, 4)(rows[:1].repeat(n, 1)).abs().max() < 1e-5
    assert not BatchBridge(8, 5, 0)(rows).any(), "a cluster of one vector is zero"


def test_clusters_are_seeded_and_found():
    rows, names = clusters()
    labels = clusters_of(torch.tensor(rows), 3).numpy()
    assert len({*zip(labels.tolist(), names.tolist(), strict=True)}) == 3
    assert np.array_equal(labels, clusters_of(torch.tensor(rows), 3).numpy())


def test_methods_are_read():
    names = ["batch/3/2", "none", "frozen", "offline/5", "batch/3/2"]
    assert [method.name for method in parse_methods(names)] == ["none", "batch/3/2", "frozen/1/0", "offline/5/0"]
    assert make_bridge(RepairMethod("none"), 8) is None and make_bridge(RepairMethod("offline", 3, 2), 8) is None
    assert set(MODES) == {"none", "batch", "running", "frozen", "offline"}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("online/3/2", "no mode 'online'"),
        ("batch/3/2/1", "mode/k/p"),
        ("batch/x/2", "mode/k/p"),
        ("batch/-1/0", "mode/k/p"),
        ("batch/0/0", "from 1 on"),
        ("none/3/0", "none repairs nothing"),
        ("", "no mode ''"),
    ],
)
def test_methods_that_cannot_be_read(name, reason):
    with pytest.raises(OptionError, match=reason) as caught:
        parse_methods([name])
    assert "\n" not in str(caught.value)


def test_methods_that_do_not_fit_the_batch_or_the_model():
    RepairMethod("batch", 32, 31).check(32, 32)
    with pytest.raises(OptionError, match="33 clusters of a batch of 32"):
        RepairMethod("batch", 33, 0).check(32, 256)
    with pytest.raises(OptionError, match="the vectors have 32"):
        RepairMethod("running", 3, 32).check(32, 32)
