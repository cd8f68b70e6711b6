"""What `check` says of neighborhoods, on the sample and in a graph, and hubness against a naive count."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import skew

from uncone import check
from uncone.analysis.layers.deep_results import Dimension, Hub, Hubness
from uncone.analysis.measures.finding import Level
from uncone.analysis.measures.registry import gates, measure, measures
from uncone.analysis.neighbors import neighborhood as neighborhood
from uncone.analysis.neighbors.dimension import dimensions_of
from uncone.analysis.neighbors.neighborhood import UNEVEN, has_hubs, hubness_of, neighborhood_findings, skewness
from uncone.cli.main import _run

NAMES = ("lid_euclidean", "lid_cosine", "hubness_skew", "antihub_share")


@pytest.fixture
def rows(cone):
    return cone(1_200, 16)


def test_check_finds_what_the_functions_find(rows):
    found = check(rows)
    dimensions, hubness = dimensions_of(rows, queries=1_200), hubness_of(rows)
    for metric in ("euclidean", "cosine"):
        assert found[f"lid_{metric}"].value == pytest.approx(dimensions[metric].value, rel=1e-5)
        assert found[f"lid_{metric}"].low < found[f"lid_{metric}"].value < found[f"lid_{metric}"].high
        assert f"{found[f'lid_{metric}'].value / 2:.2f}" in found[f"lid_{metric}"].meaning
        assert "100 nearest vectors of 1,200 among 1,200 distinct vectors" in found[f"lid_{metric}"].meaning
    assert found["hubness_skew"].value == pytest.approx(hubness.skew)
    assert found["antihub_share"].value == hubness.antihubs
    # Rows that are hubs equally often may come in another order, because the sample does.
    worst = [(hub.row, hub.count) for hub in hubness.hubs]
    assert {row["value"] for row in found["hubness_skew"].rows} == {count for _, count in worst}
    assert found["hubness_skew"].rows[0]["row"] == worst[0][0]


def test_they_are_in_every_rendering_and_gates_know_them(rows):
    assert set(NAMES) <= set(gates()) <= set(measures("check")) and set(NAMES) <= set(measures("deep"))
    found = check(rows, texts=[f"text {i}" for i in range(1_200)])
    page, table = found.to_html(), found.to_markdown()
    for name in NAMES:
        assert f'id="{name}"' in page and measure(name).title in table
    assert f"text {found['hubness_skew'].rows[0]['row']}" in page
    np.save("x.npy", rows)
    assert _run(["check", "x.npy", "--no-html", "--fail-above", "hubness_skew=0.001"]) == 1
    assert _run(["check", "x.npy", "--no-html", "--fail-below", "lid_cosine=1"]) == 0


def test_hubs_are_said_by_text_on_the_terminal(capsys):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(900, 60)) + 0.5
    rows[::9] = 0.4 * rows[::9] + 0.3  # nearer to the mean than the others, and so nearer to all
    rows[17] = 0.5
    np.save("x.npy", rows)
    lines = [f"text {i}" for i in range(900)]
    lines[17] = "a boilerplate footer that is in every answer " * 3
    with open("texts.txt", "w") as file:  # noqa: PTH123 - short
        file.write("\n".join(lines) + "\n")
    assert _run(["check", "x.npy", "--text", "texts.txt", "--no-html"]) == 0
    said = capsys.readouterr().out
    assert "“a boilerplate footer" in said and "(row 17) is near" in said
    assert max(map(len, said.splitlines())) <= 80
    assert _run(["check", "x.npy", "--no-html"]) == 0
    said = capsys.readouterr().out
    assert "vectors: row 17 (" in said and max(map(len, said.splitlines())) <= 80
    finding = check(rows, texts=lines)["hubness_skew"]
    assert finding.level is Level.CROWDED and "boilerplate" in finding.meaning and finding.advice


@pytest.fixture
def many(monkeypatch):
    """More rows than the sample of neighborhoods, some of them copies, bad or zero."""
    monkeypatch.setattr(neighborhood, "BASE_ROWS", 1_000)
    monkeypatch.setattr(neighborhood, "_MOST_QUERIES", 150)
    rng = np.random.default_rng(4)
    rows = (rng.normal(size=(20_000, 6)) * [3, 2, 2, 1, 1, 1] + 1).astype(np.float32)
    rows[500:700] = rows[100:300]
    rows[19_000] = np.nan
    rows[3] = 0
    return rows


def test_against_all_rows_it_is_larger_than_on_a_sample(many):
    sample, whole = check(many), check(many, deep=True)
    distinct = 20_000 - 202
    assert "among 1,000 distinct vectors" in sample["lid_euclidean"].meaning
    for metric in ("euclidean", "cosine"):
        one, other = sample[f"lid_{metric}"], whole[f"lid_{metric}"]
        assert other.n == distinct and "the 1 % that are copies are left out" in other.meaning
        assert other.value > one.value
    usable = np.unique(many[np.isfinite(many).all(axis=1) & (many != 0).any(axis=1)], axis=0)
    assert len(usable) == distinct
    expected = dimensions_of(usable, queries=600)["euclidean"]
    assert whole["lid_euclidean"].value == pytest.approx(expected.value, rel=0.06)
    assert whole.provenance["local_dimension"] == "exact search, all rows"
    assert sample.provenance["local_dimension"] == "exact search, row sample"


@pytest.mark.parametrize("copies", [True, False])
def test_all_rows_from_a_file_in_blocks_and_without_random_access(many, copies):
    rows = many if copies else np.delete(many, np.arange(500, 700), axis=0)
    np.save("x.npy", rows)
    np.savez("x.npz", rows)
    one, other, array = (check(source, deep=True) for source in ("x.npy", "x.npz", rows))
    for name in NAMES:
        assert one[name].value == pytest.approx(array[name].value, rel=1e-6)
        assert other[name].value == pytest.approx(array[name].value, rel=1e-6)


def test_a_graph_says_its_recall(many, monkeypatch, capsys):
    below = check(many, ann=True)
    assert below.provenance["local_dimension"] == "exact search, all rows (--ann: from 2,000,000 rows on)"
    assert "approximate" not in below["lid_cosine"].meaning
    monkeypatch.setattr(neighborhood, "ANN_ROWS", 5_000)
    monkeypatch.setattr("uncone.verbs.check.ANN_ROWS", 5_000)
    np.save("x.npy", many[:6_000])
    assert _run(["check", "x.npy", "--ann", "--json", "-", "--no-html"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["provenance"]["local_dimension"] == "approximate search (HNSW), all rows"
    exact = check(many[:6_000], deep=True)
    for metric in ("euclidean", "cosine"):
        finding = found["findings"][f"lid_{metric}"]
        assert "approximate and found" in finding["meaning"] and "of the true neighbors" in finding["meaning"]
        assert finding["value"] == pytest.approx(exact[f"lid_{metric}"].value, rel=0.1)


def test_a_graph_needs_another_look(capsys):
    def blocks():
        yield np.random.default_rng(0).normal(size=(50, 4))

    with pytest.raises(Exception, match=r"--ann needs another pass, but .* can be read only once"):
        check(blocks(), ann=True)


@pytest.mark.parametrize(
    "rows",
    [
        np.array([[1.0, 2.0], [3.0, 1.0]]),
        np.ones((30, 4)),
        np.arange(1.0, 40.0)[:, None],
        np.concatenate([np.eye(6), np.eye(6)]),
        np.random.default_rng(0).normal(size=(9, 3)),
        np.array([[np.nan, 1.0], [1.0, 2.0], [2.0, 1.0], [2.0, 1.5]]),
    ],
    ids=["two rows", "all alike", "one dimension", "equally far, twice", "fewer than k", "a bad row"],
)
def test_odd_spaces_get_words_and_not_an_error(rows):
    for deep in (False, True):
        found = check(rows, deep=deep)
        for name in NAMES:
            assert found[name].meaning and (found[name].value is None) == found[name].meaning.startswith("Unknown")
        json.loads(found.to_json(), parse_constant=lambda name: pytest.fail(name))
        assert found.to_html() and found.to_markdown()


def test_why_it_is_unknown():
    two = check(np.array([[1.0, 2.0], [3.0, 1.0]]))
    assert "2 distinct vectors; at least 3 are needed" in two["lid_euclidean"].meaning
    assert "2 vectors; at least 12 are needed for 10 neighbors" in two["hubness_skew"].meaning
    assert "equally far" in check(np.eye(20))["lid_cosine"].meaning


def test_two_nn_is_for_layers():
    known = Dimension("euclidean", 8.0, 7.5, 8.5, 9.2, 100, 300, 5_000, 0.25)
    unknown = Dimension("cosine", None, None, None, None, 0, 0, 1, 0.9)
    hubness = Hubness(3.0, 2.0, 4.0, 0.1, 0.3, (Hub(7, 90, "a text"),), 10, 400)
    found = {one.name: one for one in neighborhood_findings({"euclidean": known, "cosine": unknown}, hubness)}
    assert set(found) == {*NAMES, "twonn_euclidean", "twonn_cosine"}
    assert found["twonn_euclidean"].value == 9.2 and "25 % that are copies" in found["twonn_euclidean"].meaning
    assert found["twonn_cosine"].value is None and "at least 3" in found["twonn_cosine"].meaning
    assert found["hubness_skew"].level is Level.CROWDED
    assert found["hubness_skew"].rows == [{"row": 7, "text": "a text", "value": 90}]


def test_seed_and_order():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(1_500, 8)) + 1
    one, turned, other = check(rows), check(rows[::-1].copy()), check(rows, seed=3)
    for name in NAMES:
        assert turned[name].value == pytest.approx(one[name].value, rel=1e-5)
        assert other[name].value == pytest.approx(one[name].value, rel=1e-5)
    rotation = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    again = check(rows @ rotation)
    for name in NAMES:
        assert again[name].value == pytest.approx(one[name].value, rel=1e-3)


def counted(rows, k):
    """How often each row is among the k nearest of another: a double loop."""
    units = rows.astype(np.float64) / np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    counts = np.zeros(len(rows), int)
    for i in range(len(rows)):
        order = sorted((j for j in range(len(rows)) if j != i), key=lambda j: -float(units[i] @ units[j]))
        for j in order[:k]:
            counts[j] += 1
    return counts


@pytest.mark.parametrize("k", [3, 10])
def test_it_equals_a_naive_count(cone, k):
    rows = cone(250, 12)
    counts = counted(rows, k)
    found = hubness_of(rows, k=k)
    assert found.skew == pytest.approx(skew(counts), rel=1e-12)
    assert found.antihubs == np.mean(counts == 0)
    assert found.top_share == np.sort(counts)[-3:].sum() / counts.sum()
    worst = sorted(range(250), key=lambda i: (-counts[i], i))[:5]
    assert [(hub.row, hub.count) for hub in found.hubs] == [(i, counts[i]) for i in worst]
    assert (found.k, found.n) == (k, 250)
    assert found.low < found.skew < found.high


def test_hubs_by_name():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 40)).astype(np.float32)
    rows[123] = rows.mean(axis=0) + 0.02 * rng.normal(size=40)
    rows[:] += 3 * rows[123] / np.linalg.norm(rows[123])
    found = hubness_of(rows, name=lambda place: f"text {place}", numbers=1_000 + np.arange(600))
    assert (found.hubs[0].row, found.hubs[0].text) == (1_123, "text 123")
    assert found.hubs[0].count > 150 and found.skew > 5


def test_directions_on_a_sphere_have_no_hubs():
    found = hubness_of(np.random.default_rng(0).normal(size=(2_000, 100)))
    assert abs(found.skew) < 0.6 and found.low < found.skew < found.high


def test_a_sample_is_seeded_and_keeps_its_row_numbers(cone):
    rows = cone(900, 10)
    one, again, other = (hubness_of(rows, rows=300, seed=seed) for seed in (1, 1, 2))
    assert one == again and one != other and one.n == 300
    places = np.sort(np.random.default_rng(1).permutation(900)[:300])
    counts = counted(rows[places], 10)
    assert one.hubs[0].row == places[counts.argmax()] and one.hubs[0].count == counts.max()


def test_too_few_rows_or_all_alike():
    for n in (2, 11):
        found = hubness_of(np.random.default_rng(0).normal(size=(n, 4)))
        assert found.skew is None and found.antihubs is None and not found.hubs and found.n == n
    assert hubness_of(np.random.default_rng(0).normal(size=(12, 4))).skew is not None
    same = hubness_of(np.ones((40, 3)))
    assert same.skew is None and same.n == 1, "copies are one row"


def test_skewness_of_a_constant():
    assert skewness(np.full(9, 10)) is None


def test_intervals_cover_what_other_samples_say():
    rng = np.random.default_rng(0)

    def sample():
        return rng.normal(size=(400, 12)) * np.linspace(2, 0.2, 12) + 0.5

    found = [hubness_of(sample()) for _ in range(120)]
    truth = np.mean([one.skew for one in found])
    hits = sum(one.low <= truth <= one.high for one in found)
    assert hits / 120 > 0.85


def test_copies_of_rows_make_no_hubs():
    """Copies are each other's nearest, and which of them come first is chance."""
    rows = np.random.default_rng(0).normal(size=(300, 32))
    found = hubness_of(np.repeat(rows, 10, axis=0))
    assert found.n == 300 and found.skew == hubness_of(rows).skew and not has_hubs(found)
    equal = hubness_of(np.ones((500, 8)))
    assert (equal.skew, equal.n) == (None, 1) and not has_hubs(equal)
    numbers = 7 * np.arange(3_000)
    named = hubness_of(np.repeat(rows, 10, axis=0), name=str, numbers=numbers)
    assert all(hub.row % 70 == 0 and int(hub.text) * 7 == hub.row for hub in named.hubs), "the first of the copies"


@pytest.mark.parametrize("rows", [np.eye(200), np.eye(200) + 1.0], ids=["orthogonal", "in a cone"])
def test_equal_cosines_make_no_hubs(rows):
    """Every row is equally far from every other: which ten come first says nothing."""
    found = hubness_of(rows.astype(np.float32))
    assert found.skew < UNEVEN and not has_hubs(found)
    assert found.hubs[0].count < 40
