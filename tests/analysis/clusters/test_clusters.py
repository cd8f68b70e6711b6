"""Clusters of generated rows: how many, what they hold and explain, against double loops and scikit-learn."""

from __future__ import annotations

import json
import math
from itertools import combinations, permutations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_samples, silhouette_score

from uncone.analysis.clusters import kmeans as cluster_choice
from uncone.analysis.clusters import shape as cluster_shape
from uncone.analysis.clusters.clusters import cluster_labels, clusters_of
from uncone.analysis.clusters.kmeans import LEAST, best_clusters, chance_silhouette
from uncone.analysis.clusters.shape import Types, corrected_isoscore, mean_over_clusters
from uncone.analysis.clusters.story import cluster_findings
from uncone.analysis.layers.deep_results import TypeCosines
from uncone.encoders.rows.row_facts import RowFacts
from uncone.encoders.rows.segmentation import Kind
from uncone.errors import NoUsableRowsError, OptionError, ShapeError
from uncone.run.threads import on_all_cores


def ball(n=2500, d=40, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def blobs(n=2500, d=40, k=3, seed=0, apart=2.0, mean=0.0):
    """Rows around k centers without a mean of their own, and around which."""
    rng = np.random.default_rng(seed)
    centers = np.linalg.qr(rng.normal(size=(d, k)))[0].T * apart * math.sqrt(d)
    own = rng.integers(0, k, n)
    common = rng.normal(size=d)
    common *= mean * math.sqrt(d) / np.linalg.norm(common)
    return ((centers - centers.mean(axis=0))[own] + rng.normal(size=(n, d)) + common).astype(np.float32), own


def words_of(n, seed=0, types=300):
    """A type and a sentence for every row; some types stand twice in a sentence, and some are types of one row."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, types, n)
    words[rng.random(n) < 0.1] = -1
    return words, np.sort(rng.integers(0, max(n // 10, 1), n))


def found_in(rows, seed=0, **options):
    return clusters_of(rows, *words_of(len(rows)), seed=seed, **options)


@pytest.mark.parametrize("seed", range(4))
def test_three_blobs_are_three_clusters(seed):
    rows, own = blobs(seed=seed)
    found = found_in(rows, seed)
    assert found.k == 3 and not found.asked
    assert adjusted_rand_score(found.labels, own) > 0.99
    assert set(found.tried) == set(range(2, 16)) and max(found.tried, key=found.tried.get) == 3
    assert found.silhouette == found.tried[3] > 0.5 > found.chance
    assert found.sentence.startswith("3 clusters with a silhouette of 0.")
    assert "They are similar because they share a cluster, not because of a cone." in found.sentence
    assert found.within_raw.inter > found.raw.inter + 0.3 and found.across < 0


@pytest.mark.parametrize("d", [10, 40, 300])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_ball_is_one_cluster(d, seed):
    found = found_in(ball(d=d, seed=seed), seed)
    assert found.k == 1 and max(found.tried.values()) < LEAST
    assert found.silhouette is None and found.silhouette_cosine is None and found.chance is None
    assert not found.labels.any()
    assert found.sentence.startswith("No clusters: for k = 2 to 15, the highest silhouette is 0.0")
    assert found.sentence.endswith("Different types score 0.00: there is no cone either.")
    assert found.within == found.global_ and found.within_raw == found.raw


def test_a_cone_is_one_cluster():
    found = found_in(ball(seed=3) + np.float32(2.0))
    assert found.k == 1 and found.raw.inter > 0.7 and abs(found.global_.inter) < 0.01
    scores = f"Different types score {found.raw.inter:.2f}, and 0.00 after subtracting the overall mean"
    assert found.sentence.endswith(f"{scores}: one cone explains it, without clusters.")


def test_blobs_in_a_cone():
    rows, own = blobs(apart=1.5, mean=3.0)
    found = found_in(rows)
    assert found.k == 3 and adjusted_rand_score(found.labels, own) > 0.99
    assert found.across > 0.7 and found.within_raw.inter > found.across + 0.05
    more, above = found.within_raw.inter - found.across, 1 - found.across
    assert f"A cone that all clusters share explains {found.across:.2f};" in found.sentence
    assert f"sharing a cluster adds {more:.2f} of the remaining {above:.2f}." in found.sentence
    assert "by construction and says nothing about clusters" in found.sentence


@pytest.mark.parametrize("seed", range(3))
def test_a_cloud_that_is_cut_is_said_to_be_one(seed, cone):
    """Few directions carry the variance: any cut has a silhouette over 0.1, and that of a Gaussian cloud."""
    found = found_in(cone(2500, seed=seed), seed)
    assert found.k > 1 and found.silhouette > LEAST
    assert found.silhouette - found.chance < 0.03
    assert "slices of one cloud, not clusters" in found.sentence and "Clusters explain" in found.sentence
    asked = found_in(ball() + np.float32(2.0), seed, k=3)
    assert asked.k == 3 and asked.asked and asked.tried == {}
    assert "slices of one cloud" in asked.sentence and "Clusters explain almost none of it." in asked.sentence
    for one in (found, asked):
        assert "is due to clusters" not in one.sentence, "there are none"


def test_the_cloud_to_compare_with_has_the_same_covariance():
    """Its silhouette is that of Gaussian rows drawn with the covariance itself, and cut by scikit-learn."""
    rows, _ = blobs(n=1000, d=8)
    rows -= rows.mean(axis=0)
    drawn = np.random.default_rng(0).multivariate_normal(np.zeros(8), np.cov(rows.T), 1000)
    expected = silhouette_score(drawn, KMeans(3, n_init=3, random_state=0).fit_predict(drawn))
    assert chance_silhouette(rows, 3, 0) == pytest.approx(expected, abs=0.03)


def test_silhouettes_equal_scikit_learn():
    rows, _ = blobs(n=1500, d=20, k=6, apart=0.9)
    found = found_in(rows)
    each = silhouette_samples(rows.astype(np.float64), found.labels)
    assert found.judged == 1500 and found.silhouette == pytest.approx(each.mean(), abs=1e-5)
    by_cosine = silhouette_score(rows.astype(np.float64), found.labels, metric="cosine")
    assert found.silhouette_cosine == pytest.approx(by_cosine, abs=1e-5)
    for place, one in enumerate(found.clusters):
        assert one.silhouette == pytest.approx(each[found.labels == place].mean(), abs=1e-5)


def test_k_means_of_all_k_is_as_good_as_that_of_scikit_learn():
    """By the sum of squared distances; the silhouette is that of scikit-learn where the clusters are clear."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(1800, 60)) * np.arange(1, 61) ** -0.6
    rows += 1.2 * rng.normal(size=(8, 60))[rng.integers(0, 8, 1800)]
    rows = (rows - rows.mean(axis=0)).astype(np.float32)
    found = cluster_choice._k_means(rows, range(2, 16), 0)
    for k in (2, 4, 8, 15):
        fitted = KMeans(k, n_init=2, random_state=0).fit(rows)
        own = ((rows[:, None] - found[k]) ** 2).sum(axis=2).min(axis=1).sum()
        assert own < 1.06 * fitted.inertia_, k
    tried = best_clusters(rows, 0).tried
    expected = silhouette_score(rows, KMeans(8, n_init=3, random_state=0).fit_predict(rows))
    assert max(tried, key=tried.get) == 8 and tried[8] == pytest.approx(expected, abs=1e-3)


def type_cosines(rows, types):
    """S_inter and S_intra of all rows."""
    lengths = np.sqrt(np.vecdot(rows, rows))
    return types.inside(np.zeros(len(rows), np.int64), 1, (rows, lengths))[0].each[0]


def cosines_by_loops(rows, words, groups, other=None):
    """S_inter and S_intra by every pair of rows; with `other` labels, S_inter of pairs with different ones alone."""
    inter, intra = {}, {}
    for i, j in combinations(range(len(rows)), 2):
        if not (rows[i].any() and rows[j].any()):
            continue
        score = rows[i] @ rows[j] / np.linalg.norm(rows[i]) / np.linalg.norm(rows[j])
        if words[i] != words[j]:
            pair = [(words[i], other[i]), (words[j], other[j])] if other is not None else [words[i], words[j]]
            if other is None or other[i] != other[j]:
                inter.setdefault(frozenset(pair), []).append(score)
        elif groups[i] != groups[j]:
            intra.setdefault(words[i], []).append(score)
    means = [[np.mean(pairs) for pairs in one.values()] for one in (inter, intra)]
    return tuple(np.mean(one) if one else None for one in means)


def test_cosines_of_types_equal_a_double_loop():
    rows, _ = blobs(n=150, d=6, apart=0.8, mean=1.0)
    words, groups = words_of(150, types=25)
    named = np.where(words < 0, 1000 + np.arange(150), words)  # each its own type
    found = clusters_of(rows, words, groups, k=3)
    wide, labels = rows.astype(np.float64), found.labels
    means = np.stack([wide[labels == c].mean(axis=0) for c in range(3)])

    def check(ours, given, these=slice(None)):
        inter, intra = cosines_by_loops(given[these], named[these], groups[these])
        assert ours.inter == pytest.approx(inter, abs=1e-5) and ours.intra == pytest.approx(intra, abs=1e-5)
        return inter, intra

    check(found.raw, wide)
    check(found.global_, wide - wide.mean(axis=0))
    for each, given, weighted, plain in (
        ([one.raw for one in found.clusters], wide, found.within_raw, found.within_raw_plain),
        ([one.centred for one in found.clusters], wide - means[labels], found.within, found.within_plain),
    ):
        parts = np.array([check(one, given, labels == c) for c, one in enumerate(each)])
        sizes = np.bincount(labels)
        assert (weighted.inter, weighted.intra) == pytest.approx(tuple(sizes @ parts / 150), abs=1e-5)
        assert (plain.inter, plain.intra) == pytest.approx(tuple(parts.mean(axis=0)), abs=1e-5)
        assert weighted.inter != pytest.approx(plain.inter, abs=1e-6)
    assert found.across == pytest.approx(cosines_by_loops(wide, named, groups, labels)[0], abs=1e-5)


def test_one_type_and_rows_without_a_length():
    rows = np.random.default_rng(0).normal(size=(12, 3))
    rows[[2, 7]] = 0.0
    words, groups = np.arange(12) % 3, np.arange(12) // 2
    inter, intra = cosines_by_loops(rows, words, groups)
    found = type_cosines(rows, Types(words, groups))
    assert (found.inter, found.intra) == pytest.approx((inter, intra))
    assert type_cosines(rows, Types(np.zeros(12, np.int64), groups)).inter is None
    assert type_cosines(rows, Types(np.arange(12), groups)).intra is None
    assert type_cosines(rows, Types(words, np.zeros(12, np.int64))).intra is None  # all in one sentence
    assert type_cosines(np.zeros((4, 3)), Types(words[:4], groups[:4])) == TypeCosines(None, None)
    assert mean_over_clusters([TypeCosines(None, None)], [3]) == TypeCosines(None, None)


def test_isoscore_equals_the_mean_over_all_quadruples():
    """With x, y, z, w different rows, ((x - y).(z - w))^2/4 has mean tr S^2, and |x - y|^2 |z - w|^2/4 (tr S)^2."""
    rows = np.random.default_rng(1).normal(size=(9, 3)) * [3.0, 1.0, 0.5] + 7
    fours = [rows[list(four)] for four in permutations(range(9), 4)]
    squares = np.mean([((a - b) @ (c - d)) ** 2 / 4 for a, b, c, d in fours])
    traces = np.mean([((a - b) @ (a - b)) * ((c - d) @ (c - d)) / 4 for a, b, c, d in fours])
    assert corrected_isoscore(rows) == pytest.approx((traces / squares - 1) / 2, rel=1e-9)
    assert corrected_isoscore(rows[:3]) is None and corrected_isoscore(rows[:, :1]) is None
    assert corrected_isoscore(np.ones((9, 3))) is None


def test_isoscore_inside_clusters():
    rows, _ = blobs(apart=3.0)
    found = found_in(rows)
    assert found.isoscore > 0.95 and found.isoscore_all < 0.2  # balls, on a sheet of two directions
    sizes, each = [one.size for one in found.clusters], [one.isoscore for one in found.clusters]
    assert found.isoscore == pytest.approx(np.average(each, weights=sizes))


def facts_for(own):
    """Three clusters of words: "the" everywhere, and a word of its own in each."""
    n = len(own)
    rng = np.random.default_rng(2)
    common = rng.random(n) < 0.3
    words = np.where(common, 0, own + 1)
    names = np.array(["the", "bank", "7", ","])
    kinds = np.array([Kind.WORD, Kind.WORD, Kind.NUMBER, Kind.SYMBOL])[words]
    positions = np.where(own == 2, 1, 4 + np.arange(n) % 3)
    texts = [f"in {names[word]} {i}" for i, word in enumerate(words)]
    ends = np.array([3 + len(names[word]) for word in words])
    rows = np.arange(n)
    facts = RowFacts(rows, names[words].tolist(), kinds, positions, rows, np.full(n, 3), ends, texts)
    return words, facts, ["0-100" if word == 0 else "5k-" for word in words]


def test_what_clusters_hold():
    rows, own = blobs(n=900, k=3, apart=3.0)
    words, facts, bins = facts_for(own)
    found = clusters_of(rows, words, np.arange(900), facts, bins)
    assert found.k == 3 and [one.size for one in found.clusters] == sorted(np.bincount(own), reverse=True)
    for place, one in enumerate(found.clusters):
        these = found.labels == place
        blob = int(own[these][0])
        assert (own[these] == blob).all() and one.share == pytest.approx(these.mean())
        assert one.words[0] == ["bank", "7", ","][blob] and len(one.words) <= 2
        share = (words[these] == 0).mean()
        assert one.bins == pytest.approx({"0-100": share, "5k-": 1 - share})
        assert list(one.kinds) == ["word", "number", "symbol"]
        expected = {
            kind.name.lower(): float((facts.kinds[these] == kind).mean()) for kind in (0, 1, 2) for kind in [Kind(kind)]
        }
        assert one.kinds == pytest.approx(expected)
        assert one.first == (1.0 if blob == 2 else 0.0) and one.position == np.median(facts.positions[these])
        near = np.linalg.norm(rows - rows[these].mean(axis=0), axis=1)
        nearest = min(np.flatnonzero(these), key=lambda i, near=near: near[i])
        assert one.examples[0] == facts.excerpt(int(nearest)) and len(one.examples) == 2  # one of each word


def test_facts_may_be_unknown():
    rows, own = blobs(n=300)
    words, _, bins = facts_for(own)
    found = clusters_of(rows, words, np.arange(300), None, None)
    assert all(not (one.words or one.kinds or one.bins or one.examples) for one in found.clusters)
    assert all(math.isnan(one.first) and math.isnan(one.position) for one in found.clusters)
    assert clusters_of(rows, words, np.arange(300), None, bins).clusters[0].bins


def test_clusters_of_a_sample_are_those_of_all_rows(monkeypatch):
    for module, name, few in (
        (cluster_choice, "_LEARNT_FROM", 400),
        (cluster_choice, "_JUDGED_ON", 300),
        (cluster_choice, "_CLOUD_SAMPLE", 300),
        (cluster_shape, "_FRAMED_BY", 400),
        (cluster_shape, "_SPREAD_OVER", 600),
        (cluster_shape, "_AT_ONCE", 256),
    ):
        monkeypatch.setattr(module, name, few)
    rows, own = blobs(n=5000, apart=1.5, mean=40.0)
    found = found_in(rows)
    assert found.k == 3 and found.n == len(found.labels) == 5000 and found.judged == 300
    assert adjusted_rand_score(found.labels, own) > 0.99
    assert found.silhouette == pytest.approx(silhouette_score(rows, found.labels), abs=0.03)
    inter, _ = found.global_.inter, found.global_.intra
    whole = type_cosines(rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64), Types(*words_of(5000)))
    assert inter == pytest.approx(whole.inter, abs=1e-5)
    assert found.isoscore == pytest.approx(1.0, abs=0.1)


def test_far_from_zero_and_any_unit_of_length():
    rows, _ = blobs(n=600, apart=1.5)
    words, groups = words_of(600)
    near = clusters_of(rows, words, groups)
    for given in (rows + np.float32(300.0), rows.astype(np.float64) * 1e-9, rows * np.float32(1e9)):
        found = clusters_of(given, words, groups)
        assert found.k == 3 and np.array_equal(found.labels, near.labels)
        assert found.within.inter == pytest.approx(near.within.inter, abs=1e-3)
        assert found.silhouette == pytest.approx(near.silhouette, abs=1e-3)


def test_labels_alone_are_the_same():
    rows, _ = blobs(n=700)
    found, asked = found_in(rows), found_in(rows, k=5)
    labels, tried = cluster_labels(rows)
    assert np.array_equal(labels, found.labels) and tried == found.tried
    assert np.array_equal(cluster_labels(rows, k=5)[0], asked.labels)
    with pytest.raises(OptionError, match="k=701 clusters cannot be made of 700 rows"):
        cluster_labels(rows, k=701)


def test_seeds_and_threads():
    rows, words = ball(3000, 12), words_of(3000)
    alone = [clusters_of(rows, *words, k=5, seed=seed) for seed in (1, 1, 2)]
    with on_all_cores() as threads:
        beside = list(threads.map(lambda seed: clusters_of(rows, *words, k=5, seed=seed), (1, 1, 2)))
    for one, other in zip(alone, beside, strict=True):
        assert np.array_equal(one.labels, other.labels) and one.within == other.within
    assert np.array_equal(alone[0].labels, alone[1].labels) and not np.array_equal(alone[0].labels, alone[2].labels)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("asked", [None, 4])
def test_all_rows_equal(dtype, asked):
    rows = np.full((30, 5), 0.1, dtype)
    found = found_in(rows, k=asked)
    assert found.k == 1 and found.sentence.startswith("All vectors are equal: one cluster.")
    assert found.raw.inter == pytest.approx(1.0) and found.global_ == TypeCosines(None, None)
    assert found.isoscore is None and found.isoscore_all is None and found.tried == {}


def test_equal_rows_but_for_one_that_is_not_in_the_sample():
    rows = np.full((6000, 4), 0.1, np.float32)
    drawn = np.random.default_rng(0).permutation(6000)[: cluster_choice._LEARNT_FROM]
    rows[np.setdiff1d(np.arange(6000), drawn)[0]] = [3.0, 0.0, 0.0, 1.0]
    found = found_in(rows)
    assert found.k == 1 and found.sentence.startswith("All vectors of the sample are equal: one cluster.")
    assert found.raw.inter > 0.99 and not found.labels.any()


def test_fewer_different_rows_than_clusters():
    rows = np.repeat(np.random.default_rng(0).normal(size=(3, 4)), 20, axis=0)
    found = found_in(rows)
    assert found.k == 3 and found.silhouette == pytest.approx(1.0) and set(found.tried) == {2, 3}
    assert found.within == TypeCosines(None, None) and found.within_raw.inter == pytest.approx(1.0)
    asked = found_in(rows, k=5)
    assert asked.k == 3 and "3 clusters (you chose 5, but no more hold vectors)" in asked.sentence


def test_a_cluster_for_every_type():
    """All pairs of types are in different clusters, and are said to be."""
    own = np.repeat(np.arange(3), 20)
    rows = np.eye(3, 8)[own] + 1.0
    found = clusters_of(rows, own, np.arange(60))
    assert found.k == 3 and found.within_raw.inter is None and found.across == pytest.approx(found.raw.inter)
    assert (
        f"Different types score {found.raw.inter:.2f}: no cluster holds two, so these are scores across"
        in found.sentence
    )


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_few_rows(n):
    rows = np.random.default_rng(0).normal(size=(n, 4)).astype(np.float32)
    found = clusters_of(rows, np.arange(n), np.arange(n))
    assert sum(one.size for one in found.clusters) == n and found.sentence
    if n < 3:
        assert found.k == 1 and "cannot form clusters" in found.sentence
    every = clusters_of(rows, np.arange(n), np.arange(n), k=n)
    assert every.k == n and every.silhouette is None and every.within == TypeCosines(None, None)
    assert all(one.isoscore is None and one.size == 1 for one in every.clusters) or n == 1
    json.dumps([one.to_dict() for one in cluster_findings(every)], allow_nan=False)


def test_a_row_far_away_is_a_cluster_of_its_own():
    rows = ball(400, 20)
    rows[7] += 500.0
    found = found_in(rows)
    assert [one.size for one in found.clusters] == [399, 1] and found.labels[7] == 1
    alone = found.clusters[1]
    assert alone.silhouette == 0.0 and alone.isoscore is None
    assert alone.raw == alone.centred == TypeCosines(None, None)
    assert found.within.inter == found.clusters[0].centred.inter == found.within_plain.inter


def test_types_of_one_row_each():
    rows, _ = blobs(n=300)
    found = clusters_of(rows, np.full(300, -1), np.arange(300))
    assert found.raw.intra is None and found.within.intra is None
    assert found.raw == clusters_of(rows, np.arange(300), np.arange(300)).raw
    told = {one.name: one for one in cluster_findings(found)}
    assert told["s_intra_within"].value is None and "No type stands in two sentences" in told["s_intra_within"].meaning


def test_findings():
    found = found_in(blobs()[0])
    told = {one.name: one for one in cluster_findings(found)}
    assert list(told) == [
        "cluster_count",
        "cluster_silhouette",
        *(f"s_{which}_{name}" for name in ("global", "within_raw", "within") for which in ("inter", "intra")),
        "isoscore_within",
    ]
    assert told["cluster_count"].value == 3 and told["cluster_silhouette"].value == found.silhouette
    assert told["cluster_silhouette"].threshold == LEAST and told["cluster_silhouette"].n == found.judged
    assert told["s_inter_within"].value == found.within.inter and told["s_intra_global"].value == found.global_.intra
    plain = f"({found.within_raw_plain.inter:.2f} as a plain mean over clusters)"
    assert plain in told["s_inter_within_raw"].meaning
    assert told["isoscore_within"].value == found.isoscore
    one = {finding.name: finding for finding in cluster_findings(found_in(ball()))}
    assert (
        one["cluster_silhouette"].value is None and "One cluster has no silhouette" in one["cluster_silhouette"].meaning
    )
    assert one["cluster_count"].value == 1 and one["cluster_count"].meaning.startswith("No clusters")


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"k": 31}, OptionError, "k=31 clusters cannot be made of 30 rows"),
        ({"k": 0}, OptionError, "k=0 is no number of clusters"),
        ({"k": 2.5}, OptionError, "whole number"),
        ({"bins": ["0-100"]}, ShapeError, "30 rows came with 1 bins"),
    ],
)
def test_bad_options(options, error, words):
    with pytest.raises(error, match=words) as caught:
        found_in(ball(30), **options)
    assert "\n" not in str(caught.value)


def test_bad_rows():
    with pytest.raises(ShapeError, match="30 rows came with 29 types"):
        clusters_of(ball(30), np.zeros(29, np.int64), np.zeros(30, np.int64))
    with pytest.raises(NoUsableRowsError, match="no rows"):
        clusters_of(ball(0), np.zeros(0, np.int64), np.zeros(0, np.int64))
