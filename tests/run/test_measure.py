"""The same digits, however the rows are cut and whoever does the work."""

from __future__ import annotations

import numpy as np
import pytest

from uncone import check
from uncone.data.open import open_source
from uncone.data.vectors.memory import ArrayVectors, BlockStream
from uncone.run.fold import SPAN
from uncone.run.measure import Plan, measure
from uncone.stats.moments import Moments
from uncone.stats.statistic import Bundle
from uncone.stats.unit_vectors import UnitSum
from uncone.stats.unusable import Unusable


@pytest.fixture
def rows(cone):
    """Enough for three spans, with a few flaws."""
    made = cone(2 * SPAN + 777, 16, seed=5)
    made[10_000] = np.nan
    made[20_000:20_003] = 0.0
    made[30_000:30_100] = made[:100]
    return made


def findings(source, **options):
    return check(source, **options).to_dict()["findings"]


def test_sharding_and_workers_do_not_move_a_digit(rows, tmp_path):
    np.save(tmp_path / "whole.npy", rows)
    expected = findings(tmp_path / "whole.npy")
    for name, edges in {"even": [0, 11_000, 22_000], "odd": [0, 1, 513, 8_191, 8_192, 20_001]}.items():
        folder = tmp_path / name
        folder.mkdir()
        for i, (a, b) in enumerate(zip(edges, [*edges[1:], len(rows)], strict=True)):
            np.save(folder / f"shard-{i}.npy", rows[a:b])
        assert findings(folder) == expected
        assert findings(folder, workers=2) == expected
    assert findings(tmp_path / "whole.npy", workers=2) == expected
    assert findings(tmp_path / "whole.npy", workers=3) == expected
    assert findings(rows) == expected
    np.savez(tmp_path / "whole.npz", rows)
    assert findings(tmp_path / "whole.npz", workers=2) == expected


def test_a_small_sample_is_the_same_rows_everywhere(rows, tmp_path):
    """With fewer rows in the sample than in the source, and unusable ones among them."""
    rows[::50] = np.nan
    np.save(tmp_path / "whole.npy", rows)
    (tmp_path / "shards").mkdir()
    for i, part in enumerate(np.array_split(rows, 7)):
        np.save(tmp_path / "shards" / f"{i}.npy", part)
    np.savez(tmp_path / "whole.npz", rows)
    expected = findings(tmp_path / "whole.npy", sample=1_000)
    assert expected["partition_isotropy_log10"]["n"] == 1_000
    assert findings(tmp_path / "shards", sample=1_000) == expected
    assert findings(tmp_path / "shards", sample=1_000, workers=2) == expected
    assert findings(tmp_path / "whole.npz", sample=1_000) == expected
    assert findings((part for part in np.array_split(rows, 5)), sample=1_000) == expected


def test_three_good_rows_among_many(tmp_path):
    rows = np.full((60_000, 4), np.nan, np.float32)
    rows[[5, 30_000, 59_999]] = np.eye(4)[:3] + 1
    found = check(rows, sample=1_000)
    assert found["baseline"].n == 3 and found["bad_rows"].value == 59_997


def test_a_stream_of_blocks_of_any_size(rows):
    expected = findings(rows)
    edges = np.cumsum([0, 100, 5_000, 1, 8_000, 12_345])
    blocks = (rows[a:b] for a, b in zip(edges, [*edges[1:], len(rows)], strict=True))
    streamed = findings(blocks)
    # The number of rows is not known before, which only the sample can see; it holds every row here.
    assert streamed == expected


@pytest.mark.parametrize(("float64", "tolerance"), [(False, 1e-6), (True, 1e-9)])
def test_another_order_of_the_rows(cone, float64, tolerance):
    """Below the size of the samples nothing depends on the order but rounding."""
    made = cone(2_000, 12, seed=3)
    shuffled = made[np.random.default_rng(0).permutation(len(made))]
    one, other = check(made, float64=float64), check(shuffled, float64=float64)
    for name in one.findings:
        value, same = one[name].value, other[name].value
        if name == "central_rows" or isinstance(value, list):
            continue
        wanted = [value] if not isinstance(value, dict) else list(value.values())
        got = [same] if not isinstance(same, dict) else list(same.values())
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance, err_msg=name)
        if isinstance(one[name].low, float) and name not in _HALVED:
            bounds = [one[name].low, one[name].high], [other[name].low, other[name].high]
            np.testing.assert_allclose(*bounds, rtol=10 * tolerance, atol=10 * tolerance, err_msg=name)


# Their bias is read off half of the rows, and which half depends on the order.
_HALVED = {"effective_rank", "participation_ratio", "top1_share", "top10_share", "condition_number", "isoscore_star"}


def test_progress_counts_every_row(rows):
    seen = []
    measure(ArrayVectors(rows), UnitSum(16), Plan(), seen.append)
    assert sum(seen) == len(rows)


def test_an_error_in_a_worker_is_ours(rows):
    def blocks():
        yield rows[:100]
        raise RuntimeError("the reader broke")

    with pytest.raises(RuntimeError, match="the reader broke"):
        measure(BlockStream(blocks()), Unusable(), Plan(workers=2))


@pytest.mark.parametrize("stored", [np.float32, np.float64, np.float16])
def test_rows_that_are_read_into_their_place_give_the_same_digits(rows, tmp_path, stored):
    rows = rows.astype(stored)
    np.save(tmp_path / "whole.npy", rows)
    source, dim = open_source(tmp_path / "whole.npy"), rows.shape[1]
    for dtype in (np.float32, np.float64):
        empty = Bundle(moments=Moments(dim, dtype=dtype))
        placed, copied = (measure(one, empty, Plan(dtype=dtype)).state() for one in (source, ArrayVectors(rows)))
        for name, value in copied.items():
            assert np.array_equal(placed[name], value), name
    usable = rows[np.isfinite(rows).all(axis=1) & rows.any(axis=1)].astype(np.float64)
    assert placed["moments.n"] == len(usable)
    np.testing.assert_allclose(placed["moments.second"], np.cov(usable.T) * (len(usable) - 1), rtol=1e-9)


def test_a_statistic_that_changes_the_rows_it_reads_is_the_last_to_see_them(rows, tmp_path):
    np.save(tmp_path / "whole.npy", rows)
    dim = rows.shape[1]
    for order in (("moments", "units"), ("units", "moments")):
        members = {"moments": Moments(dim), "units": UnitSum(dim)}
        both = measure(open_source(tmp_path / "whole.npy"), Bundle(**{name: members[name] for name in order}))
        for name, member in members.items():
            alone = measure(ArrayVectors(rows), member).state()
            assert all(np.array_equal(both[name].state()[key], value) for key, value in alone.items()), name
        assert both.place(7).shape == (7, dim)
    assert Bundle(units=UnitSum(dim)).place(7) is None


def test_a_block_that_is_nearly_full_has_no_place():
    moments = Moments(2)
    moments.add(np.ones((8_000, 2), np.float32))
    assert moments.place(192).shape == (192, 2)
    assert moments.place(193) is None
