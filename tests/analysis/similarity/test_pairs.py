"""All pairs in tiles against the whole matrix at once, and the rows most similar to one text against a loop."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from itertools import combinations

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uncone.analysis.cosine.units import unit_vector, units_of
from uncone.analysis.similarity import matrix as matrices
from uncone.analysis.similarity.matrix import write_matrix
from uncone.analysis.similarity.pairs import BINS, coarser, near, survey
from uncone.errors import DtypeError, NoUsableRowsError, OptionError, OtherSpaceError, OutputError, ShapeError


def rows(n=1300, d=16, seed=0, mean=0.3):
    rng = np.random.default_rng(seed)
    return units_of(rng.normal(size=(n, d)) + mean)[0]


def written(units, folder):
    write_matrix(units, folder / "m.npy")
    return np.load(folder / "m.npy")


def ordered(matrix, keep=lambda cosine: True):
    """Every pair by a sort of all, most similar first and then by row numbers."""
    one, other = np.triu_indices(len(matrix), 1)
    values = matrix[one, other].astype(np.float64)
    order = np.lexsort((other, one, -values))
    order = order[keep(values[order]) & np.ones(len(order), bool)]
    return one[order], other[order], values[order]


def same(pairs, expected, most):
    for ours, theirs in zip((pairs.one, pairs.other, pairs.cosines), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs[:most])


@pytest.mark.parametrize("n", [2, 3, 511, 512, 513, 1300])
def test_histogram_is_that_of_numpy(n, tmp_path):
    units = rows(n)
    matrix = written(units, tmp_path)
    found = survey(units)
    counts, edges = np.histogram(matrix[np.triu_indices(n, 1)].astype(np.float64), bins=np.linspace(-1, 1, BINS + 1))
    assert found.histogram["edges"] == edges.tolist()
    assert found.histogram["counts"] == counts.tolist()
    assert found.pairs == sum(found.histogram["counts"]) == n * (n - 1) // 2


def test_edges_belong_to_the_bin_above():
    # Cosines of exactly -1, -0.5, 0, 0.5 and 1, and a negative one that float32 loses when 1 is added to it.
    units = np.array([[1, 0, 0, 0], [-1, 0, 0, 0], [0.5, 0.5, 0.5, 0.5], [0, 1, 0, 0], [1, 0, 0, 0]], np.float32)
    found = survey(units).histogram["counts"]
    cosines = [float(np.dot(a, b)) for a, b in combinations(units.astype(np.float64), 2)]
    assert found == np.histogram(cosines, bins=BINS, range=(-1, 1))[0].tolist()
    tiny = np.array([[1, 0], [-1e-9, 1]], np.float32)
    assert np.flatnonzero(survey(tiny).histogram["counts"]).tolist() == [BINS // 2 - 1]


@given(
    st.integers(2, 40),
    st.integers(1, 5),
    st.integers(0, 30),
    st.sampled_from([None, -1.0, 0.0, 0.5, 1.0]),
    st.sampled_from([None, 0.25, 1.0]),
)
def test_any_table_is_listed_as_by_sorting_all_pairs(n, d, most, low, high):
    # Few directions, so that there are many ties and copies; small tiles, so that there are many of them.
    rng = np.random.default_rng(n * 100 + d)
    units = units_of(rng.integers(-1, 2, (n, d)) + np.eye(1, d) * 0.5)[0]
    if low is not None and high is not None and low > high:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("uncone.analysis.similarity.pairs.TILE", 7)
        found = survey(units, top=most, most=most, low=low, high=high, duplicate=0.9)
    scale = units.astype(np.float64)
    matrix = np.clip(scale @ scale.T, -1, 1)
    least, greatest = -1 if low is None else min(low, 1 - 1e-6), 1 if high is None else high
    # The naive route has other digits: a pair within 1e-6 of a bound may fall on either side of it.
    values = matrix[np.triu_indices(n, 1)]
    inside = [((values >= least + e) & (values <= greatest - e)).sum() for e in (1e-6, -1e-6)]
    if low is not None or high is not None:
        assert inside[0] <= found.within_range.found <= inside[1]
        assert len(found.within_range.one) == min(most, found.within_range.found)
    else:
        assert found.within_range is None
    assert len(found.top.one) == min(most, n * (n - 1) // 2)
    np.testing.assert_allclose(found.top.cosines, np.sort(values)[::-1][:most], atol=1e-6)
    assert (found.top.one < found.top.other).all()
    keys = list(zip(-found.top.cosines, found.top.one, found.top.other, strict=True))
    assert keys == sorted(keys) and len(set(keys)) == len(keys)


def test_lists_and_counts_equal_a_sort_of_the_matrix(tmp_path):
    units = rows(1300)
    units[700] = units[3]
    units[1299] = units[3]
    matrix = written(units, tmp_path)
    found = survey(units, top=50, low=0.2, high=0.31, most=300, duplicate=0.9)
    same(found.top, ordered(matrix), 50)
    inside = ordered(matrix, lambda cosine: (cosine >= 0.2) & (cosine <= 0.31))
    same(found.within_range, inside, 300)
    assert found.within_range.found == len(inside[0]) > 300
    alike = ordered(matrix, lambda cosine: cosine >= 0.9)
    same(found.duplicates, alike, 300)
    assert found.duplicates.found == len(alike[0]) >= 3
    assert found.top.found == found.pairs
    assert "0.2 to 0.31" in found.within_range.why and "0.9" in found.duplicates.why


def test_ties_go_to_the_first_rows_and_cost_no_memory():
    units = np.repeat(np.eye(2, dtype=np.float32), [1000, 300], axis=0)
    found = survey(units, top=1200, most=5, duplicate=1.0)
    copies = 1000 * 999 // 2 + 300 * 299 // 2
    assert found.duplicates.found == copies
    first = [(0, j) for j in range(1, 1000)] + [(1, j) for j in range(2, 203)]
    assert list(zip(found.top.one.tolist(), found.top.other.tolist(), strict=True)) == first
    assert (found.top.cosines == 1).all()


def test_the_number_of_cores_changes_nothing(monkeypatch):
    units = rows(1400)
    one, other = [], []
    for cores, into in (({0}, one), ({0, 1, 2}, other)):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, cores=cores: cores)
        found = survey(units, top=200, low=0.4)
        into += [found.histogram, found.top.one.tolist(), found.top.other.tolist(), found.top.cosines.tolist()]
        into += [found.within_range.found, found.within_range.other.tolist()]
    assert one == other


def test_labels_are_counted_apart(tmp_path):
    n = 1100
    units = rows(n)
    labels = [None if k == 3 else float(k) for k in np.random.default_rng(1).integers(0, 4, n)]
    found = survey(units, labels=labels, top=20)
    matrix = written(units, tmp_path).astype(np.float64)
    within, between, rest = [], [], []
    for i, j in combinations(range(n), 2):
        if labels[i] is None or labels[j] is None:
            rest.append(matrix[i, j])
        else:
            (within if labels[i] == labels[j] else between).append(matrix[i, j])

    def counts(values):
        return np.histogram(values, bins=BINS, range=(-1, 1))[0].tolist()

    assert found.histogram["within"] == counts(within)
    assert found.histogram["between"] == counts(between)
    assert found.histogram["counts"] == counts(within + between + rest)
    assert found.top.found == found.pairs == n * (n - 1) // 2


def test_percentiles_and_progress():
    done = []
    found = survey(rows(1100), percentile=lambda cosines: 100 * cosines, progress=done.append, top=5)
    np.testing.assert_array_equal(found.top.percentiles, 100 * found.top.cosines)
    assert len(done) == 3 and sum(done) == 1100 * 1099 // 2
    assert np.isnan(survey(rows(10)).top.percentiles).all()


def test_one_row_has_no_pairs():
    found = survey(rows(1))
    assert found.pairs == found.top.found == len(found.top.one) == 0


def test_bad_input_is_one_line():
    units = rows(20)
    with pytest.raises(OptionError, match="Swap"):
        survey(units, low=0.5, high=0.4)
    with pytest.raises(OptionError, match="at least 0"):
        survey(units, top=-1)
    with pytest.raises(ShapeError, match="one label per text: there are 3 for 20"):
        survey(units, labels=["a"] * 3)
    with pytest.raises(DtypeError, match="Row 0 has the length 2"):
        survey(2 * units)
    units[4] = np.nan
    with pytest.raises(DtypeError, match="Row 4"):
        survey(units)
    with pytest.raises(ShapeError):
        survey(units[0])


def test_units_leave_out_rows_without_a_direction():
    table = np.array([[1e200, 1e200], [0, 0], [np.nan, 1], [-2, 0], [np.inf, 0]])
    units, usable = units_of(table)
    assert usable.tolist() == [0, 3] and units.dtype == np.float32
    np.testing.assert_allclose(units, [[0.5**0.5, 0.5**0.5], [-1, 0]], rtol=1e-6)
    with pytest.raises(NoUsableRowsError, match="None of the 2 vectors"):
        units_of(np.zeros((2, 3)))
    with pytest.raises(ShapeError):
        units_of(np.zeros(3))
    with pytest.raises(NoUsableRowsError):
        unit_vector([0.0, 0.0])
    with pytest.raises(ShapeError):
        unit_vector([[1.0, 0.0]])


def test_matrix_is_symmetric_exact_and_the_same_in_both_files(tmp_path):
    units = rows(1100)
    done = []
    size = write_matrix(units, tmp_path / "m.npy", progress=done.append)
    matrix = np.load(tmp_path / "m.npy")
    assert size == (tmp_path / "m.npy").stat().st_size and sum(done) == 1100
    assert matrix.dtype == np.float32 and matrix.shape == (1100, 1100)
    assert (matrix == matrix.T).all() and (np.diag(matrix) == 1).all()
    wide = units.astype(np.float64)
    np.testing.assert_allclose(matrix, wide @ wide.T, atol=3e-7)
    write_matrix(units, tmp_path / "m.parquet")
    table = pq.read_table(tmp_path / "m.parquet")
    assert table["row"].to_pylist() == list(range(1100))
    np.testing.assert_array_equal(np.array(table["cosines"].to_pylist(), np.float32), matrix)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["m.npy", "m.parquet"]


def test_a_matrix_too_large_is_refused(tmp_path, monkeypatch):
    units = rows(200)
    with pytest.raises(OptionError, match=r"\.npy or \.parquet, not as \.csv"):
        write_matrix(units, tmp_path / "m.csv")
    with pytest.raises(OutputError, match="no folder"):
        write_matrix(units, tmp_path / "none" / "m.npy")
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    with pytest.raises(OutputError, match=r"the disk has 0\.0 MB left"):
        write_matrix(units, tmp_path / "m.npy")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["npy", "parquet"])
@pytest.mark.parametrize("when", ["write", "close"])
def test_a_full_disk_leaves_what_was_there(kind, when, tmp_path, monkeypatch):
    path = tmp_path / f"m.{kind}"
    path.write_bytes(b"before")

    sink = getattr(matrices, f"_{kind}_file")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    @contextmanager
    def full_disk(*given):
        with sink(*given) as write:
            yield full if when == "write" else write
        full()

    monkeypatch.setattr(matrices, f"_{kind}_file", full_disk)
    with pytest.raises(OutputError, match="No space left on device"):
        write_matrix(rows(30), path)
    assert path.read_bytes() == b"before" and list(tmp_path.iterdir()) == [path]


def test_coarser_keeps_every_pair():
    found = survey(rows(600), labels=["a", "b"] * 300).histogram
    few = coarser(found, 40)
    assert 20 < len(few["counts"]) <= 40 and len(few["edges"]) == len(few["counts"]) + 1
    assert sum(few["counts"]) == sum(found["counts"]) and sum(few["within"]) == sum(found["within"])
    edges, counts = np.array(found["edges"]), np.array(found["counts"])
    for low, high, count in zip(few["edges"][:-1], few["edges"][1:], few["counts"], strict=True):
        assert counts[(edges[:-1] >= low) & (edges[1:] <= high)].sum() == count
    assert coarser({"edges": [-1, 0, 1], "counts": [0, 0]})["counts"] == [0]


@pytest.fixture(scope="module")
def units():
    return units_of(np.random.default_rng(0).normal(size=(400, 8)) + 0.4)[0]


def naive(units, vector):
    pairs = []
    for i, row in enumerate(units.astype(np.float64)):
        pairs.append((-float(row @ vector) / float(np.linalg.norm(vector)), i))
    return sorted(pairs)


def test_the_most_alike_come_first(units):
    vector = np.random.default_rng(1).normal(size=8) * 7
    found = near(units, vector, top=25, percentile=lambda cosines: 50 + cosines)
    expected = naive(units, vector)[:25]
    assert found.other.tolist() == [i for _, i in expected]
    np.testing.assert_allclose(found.cosines, [-c for c, _ in expected], atol=1e-6)
    np.testing.assert_array_equal(found.percentiles, 50 + found.cosines)
    assert (found.one == -1).all() and found.found == 400


def test_a_range_is_counted_exactly(units):
    vector = np.ones(8)
    found = near(units, vector, top=5, low=0.2, high=0.6)
    inside = [(c, i) for c, i in naive(units, vector) if 0.2 <= -c <= 0.6]
    assert found.found == len(inside) > 5
    assert found.other.tolist() == [i for _, i in inside[:5]]
    none = near(units, -vector, low=0.999)
    assert none.found == len(none.other) == 0


def test_ties_and_copies(units):
    table = np.concatenate([units[:3], units[:3]])
    found = near(table, units[1], low=1.0)
    assert found.other.tolist() == [1, 4] and found.found == 2


def test_bad_input(units):
    with pytest.raises(OtherSpaceError, match="9 dimensions and the table has 8"):
        near(units, np.ones(9))
    with pytest.raises(NoUsableRowsError, match="no direction"):
        near(units, np.zeros(8))
    with pytest.raises(OptionError, match="at least 1 text"):
        near(units, np.ones(8), top=0)
    with pytest.raises(OptionError, match="Swap"):
        near(units, np.ones(8), low=0.5, high=0.1)
