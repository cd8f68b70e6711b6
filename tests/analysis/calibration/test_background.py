import numpy as np
import pytest

import uncone.analysis.calibration.excluded_pairs as left_out_module
import uncone.analysis.calibration.quantiles as quantiles_module
from uncone.analysis.calibration.background import survey, survey_between
from uncone.analysis.calibration.excluded_pairs import copies_among, distinct_among, overlap
from uncone.analysis.calibration.sampled_pairs import Side, sample_pairs
from uncone.data.batch import Batch
from uncone.data.vectors.memory import ArrayVectors, BlockStream
from uncone.data.vectors.shards import Shards
from uncone.errors import NoUsableRowsError, OptionError, ShapeError
from uncone.run.measure import Plan
from uncone.stats.hashing import Fingerprints
from uncone.stats.row_sample import RowSample

DOUBLE = Plan(dtype=np.float64)


def units_of(rows):
    rows = np.asarray(rows, np.float64)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def unrelated(rows, groups=None):
    """The cosines of all pairs but those of one document and of exact copies: a double loop."""
    units, groups = units_of(rows), np.arange(len(rows)) if groups is None else groups
    found = []
    for i in range(len(rows)):
        for j in range(i + 1, len(rows)):
            if groups[i] != groups[j] and not np.array_equal(rows[i], rows[j]):
                found.append(units[i] @ units[j])
    return np.array(found)


def at(background, tail, curve="scores"):
    return float(np.interp(-tail, -background.tails, getattr(background, curve)))


@pytest.fixture
def rows(spaces):
    found = spaces["some rows close to everything"].rows(150, 3).astype(np.float64)
    found[100:105] = found[7]
    found[40] = found[41]
    return found


@pytest.mark.parametrize("groups", [None, np.arange(150) // 3, np.arange(150) % 40, np.minimum(np.arange(150), 60)])
def test_equals_a_double_loop(rows, groups):
    found = survey(ArrayVectors(rows), name="x", plan=DOUBLE, groups=groups).background
    expected = unrelated(rows, groups)
    assert found.all_pairs == found.pairs == len(expected)
    assert (found.mean, found.sd) == pytest.approx((expected.mean(), expected.std()), rel=1e-9)
    assert sum(found.left_out.values()) == 150 * 149 // 2 - len(expected)
    assert found.mean_low < found.mean < found.mean_high
    for tail in (0.9, 0.5, 0.1, 0.01):
        assert at(found, tail) == pytest.approx(np.quantile(expected, 1 - tail), abs=4e-3)
    # The k-th largest of n stands for a share of (k - 1/2)/n.
    shares = (np.arange(len(expected), 0, -1) - 0.5) / len(expected)
    inside = (found.tails < shares[0]) & (found.tails > shares[-1])
    by_hand = np.interp(-found.tails[inside], -shares, np.sort(expected))
    np.testing.assert_allclose(found.scores[inside], by_hand, atol=1e-6)
    counts = np.histogram(expected, found.histogram["edges"])[0]
    assert sum(found.histogram["counts"]) == len(expected) and len(found.histogram["edges"]) == 101
    assert np.abs(np.subtract(counts, found.histogram["counts"])).sum() <= 4  # of a value on an edge, in float32


def test_curves_are_in_order(rows):
    found = survey(ArrayVectors(rows), name="x", rates=(0.01, 0.05)).background
    assert (np.diff(found.tails) < 0).all() and {0.01, 0.05} <= set(found.tails.tolist())
    for curve in (found.scores, found.lows, found.highs):
        assert (np.diff(curve) >= 0).all() and (np.abs(curve) <= 1).all()
    assert (found.lows <= found.scores).all() and (found.scores <= found.highs).all()


def test_two_sides_equal_a_double_loop(rows):
    queries, documents = rows[:30] + 0.1, np.concatenate([rows[30:], rows[:2] + 0.1, rows[:1] + 0.1])
    found = survey_between(ArrayVectors(queries), ArrayVectors(documents), name="x", plan=DOUBLE).background
    table = units_of(queries) @ units_of(documents).T
    kept = ~(queries[:, None, :] == documents[None, :, :]).all(axis=2)
    assert (~kept).sum() == 3 == found.left_out["exact copies"]
    assert (found.rows, found.documents, found.all_pairs, found.pairs) == (30, 123, kept.sum(), kept.sum())
    assert (found.mean, found.sd) == pytest.approx((table[kept].mean(), table[kept].std()), rel=1e-9)
    assert at(found, 0.1) == pytest.approx(np.quantile(table[kept], 0.9), abs=4e-3)


def test_a_tight_cone_keeps_its_digits_in_single_precision(spaces):
    rows = spaces["a tight cone"].rows(400, 1)
    found = survey(ArrayVectors(rows), name="x").background
    expected = unrelated(rows)
    assert expected.std() < 1e-3
    assert found.mean == pytest.approx(expected.mean(), abs=2e-7)
    assert found.sd == pytest.approx(expected.std(), rel=1e-3)
    assert at(found, 0.1) == pytest.approx(np.quantile(expected, 0.9), abs=0.02 * expected.std())


def sides(rows, groups=None):
    sample = RowSample(rows.shape[1], len(rows))
    sample.update(Batch.of(rows))
    mean = units_of(rows).mean(axis=0)
    order = sample.sampled.order
    return Side.of(sample.sampled, mean, mean, groups), order, float(mean @ mean)


@pytest.mark.parametrize("pairs", [200, 700, 1_500])
def test_every_row_stands_in_equally_many_sampled_pairs(pairs, monkeypatch, spaces):
    rows = spaces["a cone"].rows(180, 5).astype(np.float64)
    side, order, base = sides(rows)
    monkeypatch.setattr("uncone.analysis.calibration.sampled_pairs._STEP", 16)
    found = sample_pairs(side, None, base, pairs)
    table = (units_of(rows) @ units_of(rows).T)[np.ix_(order, order)]
    size = pairs // 180
    parts = 180 // size
    assert found.total == len(found.values) == parts * size**2 and 0.7 * pairs < found.total <= pairs
    expected = [
        table[i, j]
        for part in range(parts)
        for i in range(part * size, (part + 1) * size)
        for j in range((part + 1) % parts * size, ((part + 1) % parts + 1) * size)
    ]
    np.testing.assert_allclose(np.sort(found.base + found.values), np.sort(expected), atol=1e-6)
    assert set(found.touched[: size * parts].tolist()) == {2.0 * size}
    high = sample_pairs(side, None, base, pairs, floor=0.05)
    assert high.total == found.total and (high.touched == found.touched).all()
    np.testing.assert_allclose(np.sort(high.values), np.sort(found.values[found.values >= 0.05]), atol=1e-7)


@pytest.mark.parametrize("floor", [-np.inf, 0.1])
def test_what_is_left_out_is_not_counted_either(rows, floor, monkeypatch):
    monkeypatch.setattr("uncone.analysis.calibration.sampled_pairs._STEP", 32)
    groups = np.arange(150) // 5
    side, _, base = sides(rows, groups)
    found = sample_pairs(side, None, base, 10**6, floor)
    expected = unrelated(rows, groups)
    assert found.total == len(expected) and found.touched.sum() == 2 * len(expected)
    np.testing.assert_allclose(
        np.sort(found.base + found.values), np.sort(expected[expected - base >= floor]), atol=1e-6
    )


def test_a_small_rate_is_measured_on_more_pairs(monkeypatch, spaces):
    """The tail comes from more pairs than the bulk, and both meet without a step."""
    space = spaces["some rows close to everything"]
    rows = space.rows(3_000, 1)
    monkeypatch.setattr(quantiles_module, "_PAIRS", 100_000)
    monkeypatch.setattr(quantiles_module, "_MOST_TAIL", 20_000)
    bulk = survey(ArrayVectors(rows), name="x", rates=(0.02,)).background
    both = survey(ArrayVectors(rows), name="x", rates=(0.02, 5e-4)).background
    assert bulk.pairs == pytest.approx(100_000, rel=0.3) and both.pairs == pytest.approx(2_000_000, rel=0.3)
    units = units_of(rows)
    every = np.sort((units @ units.T)[np.triu_indices(3_000, 1)])
    for tail in (0.1, 0.02, 5e-3, 5e-4, 1e-4):
        share = (every >= at(both, tail)).mean()
        assert share == pytest.approx(tail, rel=0.03 if tail >= 0.01 else 0.1), tail
    assert at(bulk, 0.5) == at(both, 0.5) and at(bulk, 5e-4) != at(both, 5e-4)


def test_the_answer_does_not_depend_on_shards(rows):
    one = survey(ArrayVectors(rows), name="x").background
    other = survey(
        Shards([ArrayVectors(part) for part in (rows[:40], rows[40:41], rows[41:])], "x"), name="x"
    ).background
    for name in ("mean", "sd", "pairs", "all_pairs", "left_out"):
        assert getattr(one, name) == getattr(other, name)
    np.testing.assert_array_equal(one.scores, other.scores)
    np.testing.assert_array_equal(one.highs, other.highs)


def test_a_stream_gives_the_same_answer(rows):
    """But for the last digits: the rows cannot be looked at beforehand."""
    one = survey(ArrayVectors(rows), name="x").background
    other = survey(BlockStream(iter([rows[:40], rows[40:41], rows[41:]])), name="x").background
    assert (one.pairs, one.all_pairs, one.left_out) == (other.pairs, other.all_pairs, other.left_out)
    assert (one.mean, one.sd) == pytest.approx((other.mean, other.sd), rel=1e-5)
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-6)


def test_sparse_rows_are_no_copies():
    """The sixteen numbers that are looked at first are zero in most of them."""
    found = survey(ArrayVectors(np.concatenate([np.eye(200), np.eye(200)[:3]])), name="x").background
    assert found.left_out == {"exact copies": 3} and found.mean == pytest.approx(0.0, abs=1e-8)


def test_the_seed_chooses_the_pairs(monkeypatch, spaces):
    monkeypatch.setattr(quantiles_module, "_PAIRS", 5_000)
    source = ArrayVectors(spaces["a cone"].rows(1_000, 2))
    first, again, other = (survey(source, name="x", seed=seed).background for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.scores, again.scores)
    assert (first.scores != other.scores).any() and first.mean == other.mean


def test_unusable_rows_are_passed_over(rows):
    bad = np.concatenate([rows[:50], np.zeros((3, 12)), rows[50:], np.full((2, 12), np.nan)])
    groups = np.concatenate([np.arange(50) // 3, [0, 0, 0], np.arange(50, 150) // 3, [1, 1]])
    found = survey(ArrayVectors(bad), name="x", plan=DOUBLE, groups=groups)
    expected = unrelated(rows, np.arange(150) // 3)
    assert found.background.rows == 150 and (found.unusable[0].zero, found.unusable[0].bad) == (3, 2)
    assert (found.background.mean, found.background.sd) == pytest.approx((expected.mean(), expected.std()), rel=1e-9)


def test_a_sample_of_mostly_unusable_rows_is_drawn_again(monkeypatch, spaces):
    monkeypatch.setattr("uncone.analysis.calibration.background._SAMPLE_ROWS", 300)
    rows = np.zeros((3_000, 12), np.float32)
    rows[::5] = spaces["a cone"].rows(600, 0)
    found = survey(ArrayVectors(rows), name="x").background
    assert found.rows == 600 and 200 * 199 // 2 < found.pairs <= 300 * 299 // 2


def test_documents_may_lie_anywhere(monkeypatch, spaces):
    """Few rows at a time, so that documents wait for their rest."""
    monkeypatch.setattr(left_out_module, "_TOGETHER", 50)
    monkeypatch.setattr("uncone.data.source.batch_rows", lambda dim: 512)
    rows = spaces["a cone"].rows(2_000, 4)
    groups = np.random.default_rng(0).integers(0, 300, 2_000)
    groups[1_200:1_300] = 500  # one large document
    found = survey(ArrayVectors(rows), name="x", groups=groups).background
    apart = groups[:, None] != groups[None, :]
    table = units_of(rows) @ units_of(rows).T
    assert found.all_pairs == apart.sum() // 2
    assert (found.mean, found.sd) == pytest.approx((table[apart].mean(), table[apart].std()), rel=1e-5)
    monkeypatch.setattr(left_out_module, "_MOST_HELD", 1_000)
    with pytest.raises(OptionError, match="vectors wait for the rest of their documents, too many for memory"):
        survey(ArrayVectors(rows), name="x", groups=groups)


def test_documents_by_name(rows):
    names = [f"doc {i // 3}" for i in range(150)]
    by_name = survey(ArrayVectors(rows), name="x", groups=names).background
    assert by_name.mean == survey(ArrayVectors(rows), name="x", groups=np.arange(150) // 3).background.mean


def test_documents_widen_the_intervals():
    """Thirty chunks of a document are one thing, not thirty."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(40, 12)) + 0.5
    rows = (np.repeat(centers, 30, axis=0) + 0.1 * rng.normal(size=(1_200, 12))).astype(np.float32)
    groups = np.repeat(np.arange(40), 30)
    with_groups, without = (survey(ArrayVectors(rows), name="x", groups=g).background for g in (groups, None))
    for tail in (0.5, 0.05):
        width, narrow = (at(one, tail, "highs") - at(one, tail, "lows") for one in (with_groups, without))
        assert width > 3 * narrow
    assert with_groups.mean_high - with_groups.mean_low > 3 * (without.mean_high - without.mean_low)


def test_copies_beyond_the_limit_are_estimated():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(8_000, 3))
    rows[6_000:] = rows[:2_000]
    every, some = Fingerprints(), Fingerprints(limit=2_000)
    for prints in (every, some):
        prints.update(Batch.of(rows))
    assert copies_among(every) == 2_000 and copies_among(some) == pytest.approx(2_000, rel=0.15)
    other = Fingerprints()
    other.update(Batch.of(rows[:3_000]))
    assert overlap(every, other) == (5_000, 6_000, 3_000, 3_000)
    assert overlap(some, other) == pytest.approx((5_000, 6_000, 3_000, 3_000), rel=0.15)
    assert distinct_among(every) == 6_000 and distinct_among(some) == pytest.approx(6_000, rel=0.15)


def test_few_rows(spaces):
    for n in (2, 3, 10):
        rows = spaces["a cone"].rows(n, 0)
        found = survey(ArrayVectors(rows), name="x", plan=DOUBLE).background
        assert found.pairs == n * (n - 1) // 2 and found.mean == pytest.approx(unrelated(rows).mean(), abs=1e-6)
        assert found.mean_low <= found.mean <= found.mean_high and len(found.tails) >= 1


@pytest.mark.parametrize(
    ("rows", "groups", "error", "said"),
    [
        (np.ones((1, 3)), None, ShapeError, "has 1 vector; cosines need at least 2"),
        (np.zeros((9, 3)), None, NoUsableRowsError, "0 of 9 vectors can be used"),
        (np.ones((9, 3)), None, NoUsableRowsError, "no two are unrelated"),
        (np.eye(9), np.zeros(9), NoUsableRowsError, "no two are unrelated"),
        (np.eye(9), np.zeros(8), ShapeError, "documents"),
        (np.ones((2, 20_000)), None, ShapeError, "20,000 dimensions"),
    ],
)
def test_bad_rows(rows, groups, error, said):
    with pytest.raises(error, match=said):
        survey(ArrayVectors(rows), name="x", groups=groups)


@pytest.mark.parametrize("rates", [(), (0.0,), (0.01, 1.0), (float("nan"),)])
def test_bad_rates(rates):
    with pytest.raises(OptionError, match="between 0 and 1"):
        survey(ArrayVectors(np.eye(3)), name="x", rates=rates)


def test_bad_sides():
    with pytest.raises(ShapeError, match="has 3 dimensions and array has 4"):
        survey_between(ArrayVectors(np.eye(3)), ArrayVectors(np.eye(4)), name="x")
    with pytest.raises(NoUsableRowsError, match="0 of 4 vectors"):
        survey_between(ArrayVectors(np.eye(4)), ArrayVectors(np.zeros((4, 4))), name="x")
    one = survey_between(ArrayVectors(np.eye(4)[:1]), ArrayVectors(np.eye(4)[1:]), name="x").background
    assert one.all_pairs == 3 and one.mean == 0
    with pytest.raises(NoUsableRowsError, match="copies of each other"):
        survey_between(ArrayVectors(np.eye(4)[:1]), ArrayVectors(np.eye(4)[:1]), name="x")


def test_a_stream_with_documents_needs_a_second_look():
    with pytest.raises(OptionError, match="can be read only once"):
        survey(BlockStream(iter([np.eye(4)])), name="x", groups=[0, 0, 1, 1])


def test_three_documents_have_intervals_without_end():
    """Nothing can be known from three documents, however many rows they have."""
    rows = (np.random.default_rng(0).normal(size=(300, 16)) + 1).astype(np.float32)
    found = survey(ArrayVectors(rows), name="x", groups=np.arange(300) % 3).background
    assert found.independent == 3 and np.isfinite(found.lows).all() and at(found, 0.1, "highs") > at(found, 0.01)
