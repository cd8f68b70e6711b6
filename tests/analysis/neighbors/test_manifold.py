"""The manifold question: what is a curved sheet, and what only looks like one."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import spearmanr

from uncone.analysis.layers.deep_results import Dimension
from uncone.analysis.neighbors import curvature as manifold_local
from uncone.analysis.neighbors.curvature import Path, base_rows, path_of, sheet_of
from uncone.analysis.neighbors.manifold import _by_position, _is_curve, manifold_findings, manifold_of


def look(rows, positions=None, labels=None, **options):
    rows = np.asarray(rows, np.float32)
    positions = None if positions is None else np.asarray(positions, np.int64)
    return manifold_of(rows, np.linalg.norm(rows, axis=1), positions, labels, **options)


def normal(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def draw(seed=0):
    return np.random.default_rng(seed)


# Around a row


def naive_local(rows, k):
    """Local dimension and spread of every row by double loops and numpy's covariance."""
    dimensions, spreads, wide = [], [], []
    for x in rows:
        distances = np.array([np.linalg.norm(x - y) for y in rows])
        order = np.argsort(distances)[1:]
        near = distances[order[:k]]
        dimensions.append(1 / np.mean([np.log(near[-1] / r) for r in near[:-1]]))
        for found, count in ((spreads, k), (wide, 2 * k)):
            values = np.linalg.eigvalsh(np.cov(rows[order[:count]].T))
            found.append(values.sum() ** 2 / (values**2).sum())
    low, middle, high = np.percentile(dimensions, [10, 50, 90])
    return np.mean(dimensions), np.median(spreads), np.median(wide), (high - low) / middle


def test_local_numbers_are_those_of_double_loops(monkeypatch):
    monkeypatch.setattr(manifold_local, "_QUERIES", 1_000)
    monkeypatch.setattr(manifold_local, "_PATCHES", 1_000)
    rows = (normal(420, 6) * [3, 2, 1, 1, 0.5, 0.1] + 5).astype(np.float32)
    sheet = sheet_of(rows, None, 100, 0)
    assert (sheet.k, sheet.n, sheet.clouds) == (10, 420, 1)
    lid, spread, wide, uneven = naive_local(rows.astype(np.float64), 10)
    assert sheet.rows[:4] == pytest.approx((lid, spread, wide, uneven), rel=1e-4)


def test_steps_between_neighbors_are_exponential_in_an_even_space():
    """The largest of k - 1 exponential steps over their mean: what nine in ten rows stay under, by drawing some."""
    k = 75
    steps = draw().exponential(size=(20_000, k - 1))
    expected = np.percentile(steps.max(axis=1) / steps.mean(axis=1), 90)
    found = sheet_of(draw(1).random((3_000, 2)).astype(np.float32), None, k, 0)
    assert found.rows.jump == pytest.approx(expected, rel=0.1)


def test_the_flat_cloud_is_gaussian_with_the_same_covariance():
    rng = draw(3)
    rows = (rng.laplace(size=(3_000, 12)) @ rng.normal(size=(12, 12)) + 4).astype(np.float32)
    again = rng.multivariate_normal(rows.mean(axis=0), np.cov(rows.T), size=3_000).astype(np.float32)
    flat, expected = sheet_of(rows, None, 75, 0).flat, sheet_of(again, None, 75, 0).rows
    assert flat.lid == pytest.approx(expected.lid, rel=0.05)
    assert flat.spread == pytest.approx(expected.spread, rel=0.05)


def test_fewer_rows_than_dimensions_make_no_sheet_of_a_cloud():
    found = look(normal(500, 768))
    assert found.ratio > 0.9 and not found.visible and found.base == 500


def test_one_row_of_every_word_and_no_copies():
    words = np.repeat(np.arange(1_500), 4)
    rows = normal(6_000, 3).astype(np.float32)
    everywhere = np.arange(6_000)
    chosen = base_rows(rows, everywhere, words, 0)
    assert len(chosen) == 1_500 and sorted(words[chosen]) == list(range(1_500))
    few = base_rows(rows, everywhere, words // 10, 0)
    assert len(few) == 3_000, "150 words are too few: all rows count"
    once = base_rows(rows, everywhere[:2_000], np.full(6_000, -1), 0)
    assert len(once) == 2_000, "a negative number is a word of one row"
    rows[3_000:] = rows[:3_000]
    copies = base_rows(rows, everywhere, None, 0)
    assert len(np.unique(rows[copies], axis=0)) == len(copies) < 3_000


def test_repeated_words_do_not_lower_the_dimension():
    """Occurrences of a word in a heap of their own: with the words known, the cloud of words is what is looked at."""
    rng = draw(5)
    counts = np.minimum(rng.zipf(1.5, size=2_000), 300)
    words = np.repeat(np.arange(2_000), counts)
    rows = rng.normal(size=(2_000, 30))[words] + 0.3 * rng.normal(size=(len(words), 30))
    assert look(rows).ratio < 0.7
    assert look(rows, words=words).ratio == pytest.approx(1.0, abs=0.1)


# What is a sheet


def s_curve(n, rng):
    t = 3 * np.pi * (rng.random(n) - 0.5)
    return np.column_stack([np.sin(t), 2 * rng.random(n), np.sign(t) * (np.cos(t) - 1)])


def sphere(n, rng):
    rows = rng.normal(size=(n, 3))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def helix(n, rng):
    t = 2 * np.pi * rng.random(n)
    return np.column_stack([np.cos(4 * t), np.sin(4 * t), t])


def net(n, rng):
    """A sheet of four dimensions, bent by a random network into a hundred."""
    return np.tanh(1.5 * rng.normal(size=(n, 4)) @ rng.normal(size=(4, 100))) @ rng.normal(size=(100, 100)) / 10


@pytest.mark.parametrize("make", [s_curve, sphere, helix, net])
def test_curved_sheets_are_seen(make):
    rng = draw(1)
    rows = make(3_000, rng)
    rows = rows + 0.005 * rng.normal(size=rows.shape)
    found = look(rows)
    assert found.visible and found.ratio < 0.8
    assert found.sentence.startswith("A curved sheet of few dimensions is visible")


@pytest.mark.parametrize("n", [500, 1_000, 3_000])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_swiss_roll_is_seen_however_many_rows(generated, n, seed):
    found = look(generated("swiss roll", n, seed=seed))
    assert found.visible and found.pca == 3
    assert 1.8 < found.lid < 2.6 < found.flat


def test_clusters_that_cut_a_sheet_do_not_flatten_it(generated):
    rows = generated("swiss roll")
    angle = np.digitize(np.arctan2(*(rows - rows.mean(axis=0))[:, :2].T), np.linspace(-3, 3, 9))
    assert look(rows, labels=angle.astype(np.int64)).visible


def tails(n, rng):
    return rng.normal(size=(n, 30)) / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)


def scales(n, rng):
    return rng.normal(size=(n, 30)) * np.array([0.3, 1.0, 3.0])[rng.integers(3, size=n)][:, None]


def widths(n, rng):
    own = rng.integers(3, size=n)
    return 8 * rng.normal(size=(3, 30))[own] + rng.normal(size=(n, 30)) * np.array([0.2, 1.0, 3.0])[own][:, None]


def cube(n, rng):
    return rng.random((n, 10))


def falling(n, rng):
    return rng.normal(size=(n, 100)) / np.arange(1, 101)


def heaps(count, width, d, zipf=0.0):
    def make(n, rng):
        weights = 1 / np.arange(1, count + 1) ** zipf
        own = rng.choice(count, size=n, p=weights / weights.sum())
        return rng.normal(size=(count, d))[own] + width * rng.normal(size=(n, d))

    make.__name__ = f"{count}_heaps_{width}_{d}_{zipf:g}"
    return make


FLAT = [tails, scales, widths, cube, falling]
LUMPY = [heaps(40, 0.5, 10), heaps(200, 0.3, 30), heaps(200, 0.05, 3), heaps(120, 0.2, 6, 1.0), heaps(1_000, 0.2, 10)]


@pytest.mark.parametrize("make", [*FLAT, *LUMPY], ids=lambda make: make.__name__)
@pytest.mark.parametrize("seed", [0, 1])
def test_what_only_lowers_the_dimension_is_no_sheet(make, seed):
    found = look(make(3_000, draw(seed)))
    assert not found.visible
    assert found.sentence.startswith("No curved sheet is visible")
    if make in FLAT:
        assert found.ratio > 0.85, "heavy tails, scales and edges do not look curved"
    else:
        assert found.ratio < 0.8, "but small clusters do, by their local dimension alone"


def test_flat_sheets_that_stand_apart_are_flat():
    """Five discs in different planes: together they span more dimensions than each has."""
    rng = draw(2)
    own = rng.integers(5, size=3_000)
    planes = np.stack([np.linalg.qr(rng.normal(size=(40, 2)))[0].T for _ in range(5)])
    rows = 6 * rng.normal(size=(5, 40))[own] + np.einsum("ni,nij->nj", rng.normal(size=(3_000, 2)), planes[own])
    assert look(rows).ratio < 0.8, "as one cloud"
    found = look(rows, labels=own.astype(np.int64))
    assert found.ratio == pytest.approx(1.0, abs=0.07) and not found.visible
    assert sheet_of(rows.astype(np.float32), own, 75, 0).clouds == 5


# By position


def rolled(n=8_000, turns=1.5, noise=0.3, seed=0, last=80):
    """Rows on a spiral: the angle goes with the position."""
    rng = draw(seed)
    positions = rng.integers(last, size=n)
    angle = 2 * np.pi * turns * positions / last
    radius = 4 + 2 * positions / last
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), rng.normal(size=n)])
    return points + noise * rng.normal(size=(n, 3)), positions


@pytest.mark.parametrize("turns", [0.4, 0.8, 1.5, 3.0])
def test_a_curve_by_position(turns):
    points, positions = rolled(turns=turns)
    path = path_of(points, positions)
    assert abs(path.angle_r) > 0.98 and path.chance <= 0.05
    assert path.turns == pytest.approx(turns, rel=0.15)
    assert path.share > 0.8


def test_means_share_and_correlation_by_other_routes():
    points, positions = rolled(turns=0.7)
    path = path_of(points, positions)
    means = np.stack([points[positions == p].mean(axis=0) for p in range(80)])
    np.testing.assert_allclose(path.means, means, rtol=1e-9, atol=1e-9)
    between = sum((positions == p).sum() * ((means[p] - points.mean(axis=0)) ** 2).sum() for p in range(80))
    total = ((points - points.mean(axis=0)) ** 2).sum()
    within = (total - between) / (8_000 - 80)
    assert path.share == pytest.approx((between - 79 * within) / total, rel=1e-9)
    # About the middle of the roll the angle is that of the spiral, which we know.
    angles = np.unwrap(np.arctan2(means[:, 1], means[:, 0]))
    assert abs(path.angle_r) == pytest.approx(abs(spearmanr(np.arange(80), angles).statistic), abs=0.01)


def test_a_straight_path_makes_no_turn():
    rng = draw(1)
    positions = rng.integers(60, size=6_000)
    points = np.column_stack([positions / 10, np.zeros(6_000), np.zeros(6_000)])
    for noise in (0.0, 0.5):
        path = path_of(points + noise * rng.normal(size=(6_000, 3)), positions)
        assert abs(path.angle_r) > 0.98 and path.turns < 0.05
    rows = np.column_stack([points, np.zeros((6_000, 5))]) + rng.normal(size=(6_000, 8))
    found = look(rows, positions)
    assert not found.visible and "a straight path" in found.sentence


def test_noise_walks_at_random_but_is_not_believed():
    rng = draw(0)
    positions = rng.integers(100, size=4_000)
    paths = [path_of(normal(4_000, 3, seed), positions) for seed in range(20)]
    assert max(abs(path.angle_r) for path in paths) > 0.8, "unwrapped angles of noise do correlate with position"
    assert sum(path.chance <= 0.05 for path in paths) <= 3
    assert all(path.share < 0.01 for path in paths)


def test_rows_along_a_roll_by_position_are_seen_although_the_cloud_is_thick():
    points, positions = rolled(turns=0.8)
    rows = np.column_stack([points, normal(8_000, 20, 3)])
    found = look(rows, positions)
    assert found.visible and abs(found.angle_r) > 0.98 and found.position_share > 0.8
    assert found.sentence.startswith("A curve of 0.78 turns is visible, which vectors follow by their position")
    assert "It is no thin sheet" in found.sentence and "No curved sheet" not in found.sentence
    assert found.path.shape == (80, 3)
    shuffled = look(rows, draw(9).permutation(positions))
    assert not shuffled.visible and shuffled.position_share < 0.01
    assert "Position does not order the vectors" in shuffled.sentence


def test_one_position_far_away_is_no_curve():
    rng = draw(4)
    positions = rng.integers(50, size=5_000)
    rows = normal(5_000, 20, 5)
    rows[positions == 0] += 30
    found = look(rows, positions)
    assert found.position_share > 0.5 and not found.visible
    assert "without the first position" in found.sentence


@pytest.mark.parametrize(
    ("without", "turns", "reason"),
    [
        (0.2, 0.5, "explains 30 % of the variance on the components 1 to 3, 20 % without the first position."),
        (0.3, 6.0, "40 means are too few to see so many turns"),
        (0.3, 0.2, "make less than a quarter turn"),
    ],
)
def test_a_path_that_is_no_curve_says_what_it_lacks(without, turns, reason):
    path = Path(np.zeros((40, 3)), 0.3, without, True, 0.95, turns, 0.02)
    assert not _is_curve(path)
    assert reason in _by_position(path, False)[0]
    assert _is_curve(path._replace(without=0.3, turns=0.5))


def test_rare_and_unknown_positions():
    points, positions = rolled(turns=0.8)
    positions[:2_000] = -1
    positions[2_000:2_003] = [500, 900, 901]
    path = path_of(points, positions)
    assert len(path.means) == 80, "three rows go with those before them"
    few = path_of(points, np.where(positions < 4, positions, -1))
    assert few.angle_r is None and few.means.shape == (0, 3)


# Sinks, pictures, edges


def test_sinks_are_left_out_once_more(generated):
    rows = generated("swiss roll")
    rows[[5, 77]] = 2_000.0
    found = look(rows)
    assert found.sinks == 2 and found.without_sinks is not None and found.without_sinks.sinks == 0
    assert found.without_sinks.n == 2_998 and not {5, 77} & set(found.without_sinks.points_rows.tolist())
    assert found.pca == 1 and found.without_sinks.pca == 3
    assert found.without_sinks.visible and found.visible
    assert "2 sinks" in found.sentence and found.without_sinks.sentence in found.sentence
    assert look(generated("swiss roll")).without_sinks is None


def test_points_are_those_of_the_principal_components():
    rows = (normal(2_000, 7) * [5, 4, 3, 1, 1, 1, 1] + 10).astype(np.float32)
    positions = np.arange(2_000) % 50
    found = look(rows, positions)
    centered = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    directions = np.linalg.svd(centered, full_matrices=False)[2][:3]
    expected = centered[found.points_rows] @ directions.T
    np.testing.assert_allclose(abs(found.points), abs(expected), atol=1e-3)
    np.testing.assert_array_equal(found.points_positions, positions[found.points_rows])
    shares = np.cumsum(np.linalg.svd(centered, compute_uv=False) ** 2)
    assert found.pca == int(np.searchsorted(shares / shares[-1], 0.95)) + 1
    assert found.picture_share == pytest.approx(shares[2] / shares[-1], rel=1e-4)
    assert f"the three of the picture {100 * found.picture_share:.0f} %" in found.sentence
    many = look(normal(5_000, 4))
    assert many.points.shape == (3_000, 3) and (many.points_positions == -1).all()


def test_the_same_seed_gives_the_same_answer():
    rows, positions = normal(5_000, 12), np.arange(5_000) % 70
    one, two, other = look(rows, positions), look(rows, positions), look(rows, positions, seed=1)
    assert (one.lid, one.flat, one.angle_r, one.sentence) == (two.lid, two.flat, two.angle_r, two.sentence)
    np.testing.assert_array_equal(one.points, two.points)
    assert one.lid != other.lid


def test_the_answer_does_not_depend_on_scale_and_place():
    rows = normal(1_500, 10)
    one = look(rows)
    assert look(rows * 1e12).ratio == pytest.approx(one.ratio, rel=1e-3)
    assert look(rows * 1e-12).ratio == pytest.approx(one.ratio, rel=1e-3)
    assert look(rows + 100).ratio == pytest.approx(one.ratio, rel=1e-2)


def test_k_is_that_of_the_local_dimension():
    dimension = Dimension("euclidean", 9.0, 8.0, 10.0, 9.0, 20, 1_000, 50_000, 0.0)
    assert look(normal(3_000, 5), lid=dimension).k == 20
    assert look(normal(3_000, 5)).k == 75
    assert look(normal(600, 5)).k == 15


EDGES = {
    "no rows": np.empty((0, 4)),
    "one row": np.ones((1, 4)),
    "two rows": normal(2, 4),
    "all alike": np.ones((500, 4)),
    "twenty rows": normal(20, 4),
    "one dimension": normal(600, 1),
    "two dimensions": normal(600, 2),
    "on a line": np.outer(np.arange(600.0), np.ones(5)),
    "copies": np.tile(normal(3, 5), (300, 1)),
    "equally far": np.eye(500),
    "all but the same": np.vstack([normal(60, 5), np.ones((600, 5)) + 1e-6 * normal(600, 5)]),
    "grid": np.stack(np.meshgrid(range(25), range(25)), -1).reshape(-1, 2),
}


@pytest.mark.parametrize("rows", EDGES.values(), ids=EDGES)
def test_odd_rows_get_an_answer(rows):
    found = look(rows, np.arange(len(rows)) % 30, np.zeros(len(rows), np.int64))
    assert found.sentence and "nan" not in found.sentence and not found.visible
    assert found.points.shape == (len(found.points_rows), 3) and np.isfinite(found.points).all()
    for finding in manifold_findings(found):
        assert finding.meaning and "nan" not in finding.meaning
        json.dumps(finding.to_dict(), allow_nan=False)
    if len(np.unique(rows, axis=0)) < 400 or np.array_equal(rows, np.eye(500)):
        assert found.ratio is None and manifold_findings(found)[0].value is None


def test_findings_carry_the_numbers():
    points, positions = rolled(turns=0.8)
    found = look(np.column_stack([points, normal(8_000, 20, 3)]), positions)
    ratio, angle, visible = manifold_findings(found)
    assert (ratio.name, angle.name, visible.name) == ("manifold_ratio", "position_angle_r", "manifold_visible")
    assert ratio.value == pytest.approx(found.lid / found.flat) and ratio.n == visible.n == 8_000
    assert "the 75 nearest of 3,000" in ratio.meaning
    assert angle.value == found.angle_r and "more than permuted positions reach" in angle.meaning
    assert visible.value == 1 and visible.meaning == found.sentence and visible.advice
    assert [finding.name for finding in manifold_findings(look(points))] == ["manifold_ratio", "manifold_visible"]
