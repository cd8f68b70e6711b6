"""Retrieval stability against brute force, against FAISS, and its intervals."""

from __future__ import annotations

import json

import numpy as np
import pytest
from simulations import exhaustive

import uncone
from uncone.analysis.measures.registry import gates
from uncone.analysis.neighbors import neighborhood
from uncone.analysis.neighbors.stability import MOVED, Stability, stability_findings, stability_of
from uncone.cli.main import _run
from uncone.verbs.schema.schema import validate

NAMES = ["top10_moved", "top10_int8", "top10_bits", "top10_bits_centered"]


def directions(rows):
    exact = np.asarray(rows, np.float64)
    return exact / np.linalg.norm(exact, axis=1, keepdims=True)


def top_ten(scores, own):
    """The ten highest scores but that of the query itself; what is equally high may be there or not, by chance."""
    others = [(score, place) for place, score in enumerate(scores) if place != own]
    last = sorted(others, reverse=True)[9][0]
    above = [place for score, place in others if score > last]
    equal = [place for score, place in others if score == last]
    return dict.fromkeys(above, 1.0) | {place: (10 - len(above)) / len(equal) for place in equal}


def kept(before, after, queries):
    """The share of the ten nearest by `before` (n, n) that are so by `after`, query by query."""
    shares = []
    for own in queries.tolist():
        chances = top_ten(after[own], own)
        shares.append(sum(chances.get(place, 0.0) for place in top_ten(before[own], own)) / 10)
    return np.array(shares)


def naive(rows, queries, seed=0):
    """All four by double precision and loops."""
    u = directions(rows)
    exact = u @ u.T
    low, high = u.min(axis=0), u.max(axis=0)
    span = np.where(high > low, high - low, 1)
    levels = np.minimum(np.floor((u - low) / span * 255), 255)
    rounded = low + (levels + 0.5) / 255 * (high - low)
    rng, moved = np.random.default_rng([seed, 77]), []
    for own, query in enumerate(u):
        apart = np.linalg.norm(u - query, axis=1)
        step = rng.normal(size=u.shape[1])
        moved.append(query + MOVED * apart[apart > 1e-6].min() * step / np.linalg.norm(step))
        assert apart[own] == 0
    signs, centered = np.where(u >= 0, 1.0, -1.0), np.where(u - u.mean(axis=0) >= 0, 1.0, -1.0)
    after = (np.array(moved) @ u.T, u @ rounded.T, signs @ signs.T, centered @ centered.T)
    return dict(zip(NAMES, (kept(exact, scores, queries) for scores in after), strict=True))


def clustered(n, d=24, offset=1.0, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(30, d))
    rows = centers[rng.integers(0, 30, n)] + 0.5 * rng.normal(size=(n, d)) * np.linspace(2, 0.3, d)
    return (scale * rows + offset).astype(np.float32)


@pytest.mark.parametrize(
    ("offset", "scale"), [(0.0, 1.0), (1.0, 1.0), (5.0, 0.02)], ids=["around zero", "a cone", "a tight cone"]
)
def test_against_brute_force(offset, scale):
    """Query by query; the random directions differ, so their mean over seeds is compared."""
    rows = clustered(800, offset=offset, scale=scale)
    found = stability_of(rows)
    expected = naive(rows, found.queries)
    assert found.base == 800 and list(found.shares) == NAMES and len(set(found.queries.tolist())) == 200
    for name in NAMES[1:]:
        assert found.shares[name].mean() == pytest.approx(expected[name].mean(), abs=0.012), name
    moved = []
    for seed in (1, 2):
        again = stability_of(rows, seed=seed)
        moved.append([again.shares["top10_moved"].mean(), naive(rows, again.queries, seed)["top10_moved"].mean()])
    own, other = np.mean(moved, axis=0)
    assert own == pytest.approx(other, abs=0.02)
    double = stability_of(rows.astype(np.float64))
    expected = naive(rows, double.queries)
    for name in NAMES[1:]:
        np.testing.assert_allclose(double.shares[name], expected[name], atol=1e-9, err_msg=name)


def test_against_faiss():
    faiss = pytest.importorskip("faiss")
    rows = clustered(900, d=32)
    u, found = directions(rows).astype(np.float32), stability_of(rows)
    exact, coded = faiss.IndexFlatIP(32), faiss.IndexScalarQuantizer(
        32, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )  # fmt: skip
    coded.train(u)
    places = []
    for index in (exact, coded):
        index.add(u)
        at = index.search(u[found.queries], 11)[1].tolist()
        places.append(
            [[place for place in row if place != own][:10] for own, row in zip(found.queries, at, strict=True)]
        )
    expected = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(*places, strict=True)])
    assert found.shares["top10_int8"].mean() == pytest.approx(expected, abs=2e-3) and expected < 0.999
    binary = faiss.IndexBinaryFlat(32)
    bits = np.packbits(u >= 0, axis=1)
    binary.add(bits)
    distances, at = binary.search(bits, 900)
    scores = np.empty((900, 900))
    np.put_along_axis(scores, at, -distances.astype(float), axis=1)
    assert found.shares["top10_bits"].mean() == pytest.approx(
        kept(u.astype(float) @ u.T, scores, found.queries).mean(), abs=2e-3
    )


def test_neither_order_nor_copies_matter():
    n = 900
    rows = clustered(n)
    once, rng = stability_of(rows), np.random.default_rng(0)
    for other in (rows[rng.permutation(n)], np.repeat(rows, 3, axis=0)[rng.permutation(3 * n)]):
        again = stability_of(other)
        assert again.base == once.base == n
        for name in NAMES:
            np.testing.assert_allclose(again.shares[name].mean(), once.shares[name].mean(), atol=1e-4)
    assert set(stability_of(rows, seed=1).queries) != set(once.queries)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (clustered(119), "Unknown: 119 distinct vectors; at least 120 are needed."),
        (np.repeat(clustered(50), 9, axis=0), "Unknown: 50 distinct vectors"),
        (np.arange(1.0, 300.0)[:, None], ""),
        (np.outer(np.arange(1.0, 300.0), np.ones(7)), ""),
        (np.concatenate([clustered(200), np.zeros((1, 24)), np.full((1, 24), np.nan)]), ""),
        (np.eye(150), ""),
    ],
    ids=["too few", "copies", "one dimension", "one direction", "zero and NaN", "equally far"],
)
def test_odd_spaces(rows, words):
    found = uncone.check(rows.astype(np.float32), deep=True)
    for name in NAMES:
        finding = found[name]
        if words:
            assert finding.value is None and finding.meaning.startswith(words)
        else:
            assert 0 <= finding.low <= finding.value <= finding.high <= 1
    validate(found.to_json(), verb="check")
    assert found.to_html() and found.to_text() and found.to_markdown()


def test_only_with_deep_and_the_same_by_any_route():
    rows = clustered(5_000, d=16)
    np.save("x.npy", rows)
    np.savez("x.npz", rows)
    assert not set(NAMES) & set(uncone.check("x.npy").findings) and set(NAMES) <= set(gates())
    validate(uncone.check("x.npy").to_json(), verb="check")
    one, *others = (uncone.check(source, deep=True, workers=w) for source, w in (("x.npy", 1), ("x.npy", 3), (rows, 0)))
    for name in NAMES:
        finding = one[name]
        assert all(finding.to_dict() == other[name].to_dict() for other in others)
        assert uncone.check("x.npz", deep=True)[name].value == finding.value
        assert f'id="{name}"' in one.to_html() and "among 5,000 distinct vectors, by cosine" in finding.meaning
    text = one.to_text()
    assert "top 10 kept, query moved" in text and "top 10 kept, centered bits" in text
    assert json.loads(one.to_json())["findings"]["top10_bits"]["advice"].startswith("Fetch more candidates")


def test_gates(capsys):
    np.save("x.npy", clustered(600))
    assert _run(["check", "x.npy", "--deep", "--no-html", "--fail-below", "top10_int8=0.5"]) == 0
    assert _run(["check", "x.npy", "--deep", "--no-html", "--fail-below", "top10_bits=0.999"]) == 1
    capsys.readouterr()
    assert _run(["check", "x.npy", "--no-html", "--fail-below", "top10_bits=0.1"]) == 1
    assert "top10_bits was not measured: add --deep" in capsys.readouterr().err


def test_the_sample_is_that_of_neighborhoods(monkeypatch):
    monkeypatch.setattr("uncone.analysis.neighbors.stability.BASE_ROWS", 500)
    assert neighborhood.BASE_ROWS == 10_000
    assert uncone.check(clustered(2_000), deep=True)["top10_int8"].n == 500


def test_a_query_that_keeps_all_is_not_certain():
    found = stability_findings(Stability({NAMES[0]: np.ones(200)}, np.arange(200), 900))
    assert found[0].value == 1.0 and 0.97 < found[0].low < 1.0 and found[0].high == 1.0
    assert [finding.value for finding in found[1:]] == [None] * 3


@pytest.mark.parametrize(("n", "spaces"), [(500, 60), *exhaustive((500, 400), (2_500, 300))])
def test_intervals_cover_the_truth(n, spaces):
    """The mean over many spaces of n vectors, by the interval of each: 91 times in 100, and 85 in a quick run."""
    found = [stability_findings(stability_of(clustered_like(n, seed))) for seed in range(spaces)]
    for place, name in enumerate(NAMES):
        values = np.array([each[place].value for each in found])
        covered = np.mean([each[place].low <= values.mean() <= each[place].high for each in found])
        assert covered >= (0.85 if spaces < 100 else 0.91), (name, covered)


def clustered_like(n, seed):
    """Vectors of one fixed distribution."""
    rng = np.random.default_rng([seed, n])
    centers = np.random.default_rng(0).normal(size=(30, 24))
    rows = centers[rng.integers(0, 30, n)] + 0.5 * rng.normal(size=(n, 24)) * np.linspace(2, 0.3, 24) + 1
    return rows.astype(np.float32)
