"""The bias of frequency against scipy, scikit-learn and double loops; and what counts as removed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression

from uncone.analysis.frequency import bias as module
from uncone.analysis.frequency.bias import Association, changes_of, frequency_bias, outcome_of
from uncone.analysis.frequency.word_counts import corpus_frequencies
from uncone.analysis.intervals.correlation import pearson_change
from uncone.errors import ShapeError

N, D = 520, 14
EDGES = (20, 60, 200, 400)


def frequencies(n=N):
    return corpus_frequencies({f"w{i:04d}": 90_000 // (i + 1) + 1 for i in range(n)})


@pytest.fixture
def few_ranks(monkeypatch):
    """Bins of a size that a double loop can fill."""
    monkeypatch.setattr(module, "_EDGES", np.array(EDGES))


@pytest.fixture
def space():
    """Vectors whose norms and distances grow with rank; the words are shuffled."""
    rng = np.random.default_rng(3)
    order = rng.permutation(N)
    rows = rng.normal(size=(N, D)) * (1 + order[:, None] / N) + 2 * rng.normal(size=D)
    return rows.astype(np.float32), [f"w{i:04d}" for i in order], order


def test_the_table_of_the_paper_by_a_double_loop(space, few_ranks):
    rows, words, ranks = space
    found = frequency_bias(rows, words, frequencies())
    distances, products = cdist(rows, rows), rows.astype(np.float64) @ rows.T.astype(np.float64)
    assert found.n == EDGES[-1] and found.base == N
    for low, high, part in zip((0, *EDGES), EDGES, found.bins, strict=False):
        members = [i for i in range(N) if low <= ranks[i] < high]
        assert part.words == part.queries == len(members) == high - low
        norms = [np.sqrt(sum(float(x) ** 2 for x in rows[i])) for i in members]
        assert part.norm.value == pytest.approx(np.mean(norms), rel=1e-5)
        half = stats.t.ppf(0.975, len(norms) - 1) * np.std(norms, ddof=1) / np.sqrt(len(norms))
        assert part.norm.high - part.norm.value == pytest.approx(half, rel=0.1)
        for k in (3, 5, 7):
            near, large = [], []
            for i in members:
                others = [j for j in range(N) if j != i]
                near.append(np.mean(sorted(distances[i, others])[:k]))
                large.append(np.mean(sorted(products[i, others])[-k:]))
            assert part.distance[k].value == pytest.approx(np.mean(near), rel=1e-4)
            assert part.dot[k].value == pytest.approx(np.mean(large), rel=1e-4)


def test_the_ties_by_scipy_and_scikit_learn(space, few_ranks):
    rows, words, ranks = space
    found = frequency_bias(rows, words, frequencies())
    inside = np.flatnonzero(ranks < EDGES[-1])
    shares = np.array([90_000 // (rank + 1) + 1 for rank in range(N)], float)
    logs = np.log(shares / shares.sum())[ranks[inside]]
    norms = np.linalg.norm(rows[inside].astype(float), axis=1)
    assert found.ties["norm"].value == pytest.approx(stats.pearsonr(norms, logs)[0], abs=1e-5)
    away = np.sort(cdist(rows[inside], rows), axis=1)[:, 1:4].mean(axis=1)
    assert found.ties["distance"].value == pytest.approx(stats.pearsonr(away, logs)[0], abs=1e-4)
    columns = np.column_stack([norms, PCA(10).fit_transform(rows[inside].astype(float))])
    plain, n, p = LinearRegression().fit(columns, logs).score(columns, logs), len(logs), columns.shape[1]
    assert found.ties["explained"].value == pytest.approx(1 - (1 - plain) * (n - 1) / (n - p - 1), abs=1e-4)
    for tie in found.ties.values():
        assert tie.low < tie.value < tie.high
    draw = np.random.default_rng(0)
    again = [stats.pearsonr(norms[i], logs[i])[0] for i in draw.integers(0, n, (400, n))]
    width = found.ties["norm"].high - found.ties["norm"].low
    # At least as wide as for normal columns, which these are not.
    assert 0.9 < width / np.ptp(np.quantile(again, (0.025, 0.975))) < 1.6


def test_scale_and_rotation_move_no_tie(space):
    rows, words, _ = space
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(D, D)))[0].astype(np.float32)
    raw, turned = (frequency_bias(each, words, frequencies()) for each in (rows, 7 * rows @ turn))
    for name, tie in raw.ties.items():
        assert turned.ties[name].value == pytest.approx(tie.value, abs=1e-4)
    changes = changes_of(raw, turned)
    assert all(abs(change.value) < 1e-4 and change.high - change.low < 2e-3 for change in changes.values())


def test_words_of_no_or_a_high_rank_are_neighbors_only(space, few_ranks):
    rows, words, ranks = space
    named = [word if rank < EDGES[-1] else f"unknown {rank}" for word, rank in zip(words, ranks, strict=True)]
    a, b = (frequency_bias(rows, each, frequencies()) for each in (words, named))
    assert (a.n, a.base, a.ties) == (b.n, b.base, b.ties) and a.bins == b.bins


def test_a_change_by_the_bootstrap():
    rng = np.random.default_rng(5)
    y = rng.normal(size=700)
    before, after = y + rng.normal(size=700), 0.4 * y + rng.standard_t(4, size=700)
    value, low, high = pearson_change(before, after, y)
    size = [abs(stats.pearsonr(each, y)[0]) for each in (before, after)]
    assert value == pytest.approx(size[1] - size[0])
    draws = rng.integers(0, 700, (600, 700))
    drawn = [abs(stats.pearsonr(after[i], y[i])[0]) - abs(stats.pearsonr(before[i], y[i])[0]) for i in draws]
    assert high - low == pytest.approx(np.ptp(np.quantile(drawn, (0.025, 0.975))), rel=0.2)
    # Copies add nothing, and what both share cancels.
    twice = [np.concatenate([each, each]) for each in (before, after, y)]
    groups = np.concatenate([np.arange(700), np.arange(700)])
    assert pearson_change(*twice, groups)[1] == pytest.approx(low, abs=1e-6)
    same = pearson_change(before, before + 1e-6 * rng.normal(size=700), y)
    assert same[2] - same[1] < 1e-4


@pytest.mark.parametrize("strength", [0.0, 0.5])
def test_the_interval_of_a_change_covers_the_truth(strength):
    """Two correlations of known sizes, 0.6 and that of `strength`; if that is zero, its absolute value is biased."""
    rng, truth, hits = np.random.default_rng(int(10 * strength)), strength / np.sqrt(1 + strength**2) - 0.6, 0
    for _ in range(200):
        y = rng.normal(size=300)
        before = 0.75 * y + rng.normal(size=300)
        _, low, high = pearson_change(before, strength * y + rng.normal(size=300), y)
        hits += low <= truth <= high
    assert hits >= 180


def test_outcomes():
    raw, tie = Association(-0.5, -0.6, -0.4), Association
    assert outcome_of("norm", raw, tie(0.01, -0.05, 0.07), tie(-0.49, -0.5, -0.4)) == "removed"
    assert outcome_of("norm", raw, tie(0.05, -0.05, 0.15), tie(-0.45, -0.5, -0.4)) == "reduced"
    assert outcome_of("norm", raw, tie(0.4, 0.3, 0.5), tie(-0.1, -0.3, 0.1)) == "reversed"
    assert outcome_of("norm", raw, tie(-0.45, -0.55, -0.35), tie(-0.05, -0.1, 0.01)) == "unchanged"
    assert outcome_of("norm", raw, tie(-0.7, -0.8, -0.6), tie(0.2, 0.1, 0.3)) == "grown"
    assert outcome_of("norm", tie(0.01, -0.04, 0.06), tie(0.02, -0.03, 0.07), tie(0.01, -0.1, 0.1)) == "absent"
    assert outcome_of("norm", tie(0.01, -0.04, 0.06), tie(0.3, 0.2, 0.4), tie(0.29, 0.2, 0.4)) == "grown"
    assert outcome_of("explained", tie(0.4, 0.3, 0.5), tie(0.06, 0.02, 0.1), tie(-0.34, -0.4, -0.3)) == "reduced"
    assert outcome_of("explained", tie(0.4, 0.3, 0.5), tie(-0.01, -0.02, 0.01), tie(-0.41, -0.5, -0.3)) == "removed"
    assert outcome_of("norm", raw, tie(), tie()) == "unknown"


def test_odd_spaces():
    """Few words, equal vectors, none of known frequency: numbers are missing, nothing breaks."""
    for rows, words in (
        (np.ones((2, 3)), ["w0000", "w0001"]),
        (np.ones((40, 3)), [f"w{i:04d}" for i in range(40)]),
        (np.eye(5), list("vwxyz")),
        (np.zeros((0, 3)), []),
    ):
        found = frequency_bias(rows, words, frequencies())
        assert found.ties["norm"].value is None and len(found.bins) == 4
        assert {change.value for change in changes_of(found, found).values()} == {None}
    with pytest.raises(ShapeError, match="each needs a vector"):
        frequency_bias(np.eye(3), ["a"], frequencies())
    with pytest.raises(ShapeError, match="1 of 3 vectors are not finite"):
        frequency_bias(np.diag([1, np.nan, 1]) + np.diag([0, np.inf, 0]), ["a", "b", "c"], frequencies())
