"""A Swiss roll, a ball, three blobs and a cone: every finding says the right thing about each of them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import silhouette_score

from uncone import Level, check
from uncone.analysis.clusters.clusters import clusters_of
from uncone.analysis.clusters.story import cluster_findings
from uncone.analysis.neighbors.dimension import dimensions_of
from uncone.analysis.neighbors.manifold import manifold_findings, manifold_of
from uncone.analysis.neighbors.neighborhood import hubness_of, neighborhood_findings

SPACES = ("swiss roll", "ball", "blobs", "cone")
ROWS = 3_000


class Seen:
    """A generated space with all that is found in it; three rows after each other are one word."""

    def __init__(self, rows):
        self.rows = rows
        self.check = check(rows)
        self.dimensions = dimensions_of(rows)
        self.hubness = hubness_of(rows)
        self.clusters = clusters_of(rows, np.arange(len(rows)) // 3, np.arange(len(rows)))
        norms = np.linalg.norm(rows, axis=1)
        self.manifold = manifold_of(rows, norms, None, self.clusters.labels, lid=self.dimensions["euclidean"])
        deep = [
            *neighborhood_findings(self.dimensions, self.hubness),
            *cluster_findings(self.clusters),
            *manifold_findings(self.manifold),
        ]
        self.deep = {finding.name: finding for finding in deep}

    def __getitem__(self, name):
        return (self.deep[name] if name in self.deep else self.check[name]).value


@pytest.fixture(scope="module")
def seen(generated):
    return {name: Seen(generated(name, ROWS)) for name in SPACES}


def test_all_of_them_are_in_words(seen):
    for name, space in seen.items():
        assert space.deep.keys() == seen["ball"].deep.keys(), name
        for finding in (*space.deep.values(), *space.check.findings.values()):
            assert finding.meaning and "nan" not in finding.meaning.lower().split(), (name, finding.name)


def test_the_cone(seen):
    """Only the cone is one: random rows are alike, and one mean explains it all."""
    assert seen["cone"].check.verdict.level is Level.COLLAPSED
    # 20 dimensions of mean 3 and variance 1.
    assert seen["cone"]["baseline"] == pytest.approx(9 / 10, abs=0.02)
    assert seen["cone"]["mean_over_rms"] == pytest.approx(np.sqrt(9 / 10), abs=0.02)
    for name in ("ball", "swiss roll"):
        assert abs(seen[name]["baseline"]) < 0.02, name
        assert seen[name]["mean_over_rms"] < 0.05, name
    assert seen["ball"].check.verdict.level is Level.HEALTHY
    assert seen["cone"]["s_inter_global"] == pytest.approx(0.0, abs=0.01)
    assert "one cone explains it, without clusters" in seen["cone"].clusters.sentence
    assert "no cone" in seen["ball"].clusters.sentence


def test_directions(seen):
    """Ball and cone use all directions alike, the roll three of fifty, the blobs the two between them most."""
    assert seen["ball"]["isoscore_corrected"] > 0.98
    assert seen["cone"]["isoscore_corrected"] > 0.98, "a cone has a mean, not a narrow covariance"
    assert seen["swiss roll"]["isoscore"] < 0.05
    assert seen["swiss roll"]["effective_rank"] == pytest.approx(3.0, abs=0.1)
    assert seen["blobs"]["isoscore"] < 0.15
    assert {name: seen[name].manifold.pca for name in SPACES} == {"swiss roll": 3, "ball": 19, "blobs": 14, "cone": 19}


def test_dimension_around_a_row(seen):
    """Two for the roll, many for the others: less than the 20 there are, as the estimate is at so few rows."""
    assert seen["swiss roll"]["lid_euclidean"] == pytest.approx(2.0, abs=0.3)
    for name in ("ball", "blobs", "cone"):
        assert 11 < seen[name]["lid_euclidean"] < 20, name
        assert 11 < seen[name]["lid_cosine"] < 20, name
        assert 14 < seen[name]["twonn_euclidean"] < 20, name
    assert seen["swiss roll"]["twonn_euclidean"] > 4, "the two nearest see the noise"
    for name in SPACES:
        dimension = seen[name].dimensions["euclidean"]
        assert dimension.low < dimension.value < dimension.high
        assert seen[name].check["lid_euclidean"].value == pytest.approx(dimension.value, rel=0.05), "as check says"
        assert dimension.paper == dimension.value / 2
        assert f"among {ROWS:,} distinct vectors" in seen[name].deep["lid_euclidean"].meaning


def test_hubs(seen):
    """In a cone, and in each blob seen from zero, rows near the middle are neighbors of many; not in a ball."""
    for name in ("swiss roll", "ball"):
        assert seen[name]["hubness_skew"] < 0.6, name
        assert seen[name]["antihub_share"] < 0.01, name
        assert seen[name].deep["hubness_skew"].level is Level.HEALTHY
    for name in ("blobs", "cone"):
        assert seen[name]["hubness_skew"] > 1.4, name
        assert seen[name].deep["hubness_skew"].level is Level.CROWDED
    for name in SPACES:
        assert (seen[name].check["hubness_skew"].value > 1.4) == (name in ("blobs", "cone")), "as check says"
    centered = seen["cone"].rows - seen["cone"].rows.mean(axis=0)
    assert hubness_of(centered).skew < 0.7 * seen["cone"]["hubness_skew"], "as the advice says"


def test_clusters(seen):
    """Three blobs are three clusters; ball and cone none; those of the roll are weak: slices of it."""
    assert {name: seen[name]["cluster_count"] for name in ("ball", "cone", "blobs")} == {
        "ball": 1,
        "cone": 1,
        "blobs": 3,
    }
    blobs = seen["blobs"]
    own = np.arange(ROWS) * 3 // ROWS
    pairs = {(int(a), int(b)) for a, b in zip(own, blobs.clusters.labels, strict=True)}
    assert len(pairs) == 3, "and the right ones"
    expected = silhouette_score(blobs.rows.astype(np.float64), own)
    assert blobs["cluster_silhouette"] == pytest.approx(expected, abs=0.02)
    assert blobs["isoscore_within"] > 0.98 > 0.2 > blobs["isoscore"]
    assert seen["ball"]["cluster_silhouette"] is None
    roll = seen["swiss roll"].clusters
    assert roll.k == 1 or roll.silhouette < 0.4


def test_what_clusters_explain(seen):
    """Rows of one blob are alike, those of two are not; subtracting means takes cosines away everywhere."""
    blobs = seen["blobs"]
    # 20 dimensions of variance 1 around a center at 12.
    alike = 144 / 164
    assert blobs["s_inter_within_raw"] == pytest.approx(alike, abs=0.02)
    assert blobs.clusters.raw.inter == pytest.approx(alike / 3, abs=0.02)
    assert "They are similar because they share a cluster, not because of a cone." in blobs.clusters.sentence
    for name in SPACES:
        assert seen[name]["s_inter_within"] == pytest.approx(0.0, abs=0.02), "by construction"
    assert seen["cone"]["s_inter_within_raw"] == pytest.approx(seen["cone"]["baseline"], abs=0.01)
    assert blobs["s_intra_global"] > 0.7, "the three rows of a word are in one blob"
    assert seen["ball"]["s_intra_global"] == pytest.approx(0.0, abs=0.02)


def test_the_manifold_question(seen):
    """Only the roll is a curved sheet."""
    assert {name: bool(seen[name]["manifold_visible"]) for name in SPACES} == {
        "swiss roll": True,
        "ball": False,
        "blobs": False,
        "cone": False,
    }
    assert seen["swiss roll"]["manifold_ratio"] < 0.75
    for name in ("ball", "blobs", "cone"):
        assert seen[name]["manifold_ratio"] == pytest.approx(1.0, abs=0.06), name
        assert seen[name].manifold.sentence.startswith("No curved sheet is visible"), name
    assert seen["swiss roll"].manifold.sentence.startswith("A curved sheet of few dimensions is visible")
    assert all("position_angle_r" not in seen[name].deep for name in SPACES), "these rows have no position"


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("seed", [1, 2])
def test_other_draws_get_the_same_answers(generated, name, seed):
    space = Seen(generated(name, 1_500, seed=seed))
    assert bool(space["manifold_visible"]) == (name == "swiss roll")
    assert (space["cluster_count"] == 3) == (name == "blobs") or name == "swiss roll"
    assert (space["lid_euclidean"] < 3) == (name == "swiss roll")
    assert (space["hubness_skew"] > 1.3) == (name in ("blobs", "cone"))
    assert (space["baseline"] > 0.5) == (name == "cone")
