"""The sentences about all layers: which layer they speak of, and that they do not contradict themselves."""

from dataclasses import replace

import numpy as np
import pytest

from uncone.analysis.clusters.clusters import clusters_of
from uncone.analysis.layers.deep_results import DeepLayer, Dimension, Hub, Hubness
from uncone.analysis.layers.story import deep_story, most_curved
from uncone.analysis.neighbors.manifold import manifold_of


def dimension(value):
    return {name: Dimension(name, value, None, None, None, 100, 300, 5000, 0.0) for name in ("euclidean", "cosine")}


def layer(number, *, lid=8.0, silhouette=0.4, chance=0.1, skew=0.5, visible=False, ratio=0.9):
    rng = np.random.default_rng(number)
    rows = rng.normal(size=(60, 4)) + 10 * rng.integers(2, size=(60, 1))
    numbers = np.arange(60)
    clusters = replace(
        clusters_of(rows, numbers, numbers), silhouette=silhouette, chance=chance, sentence=f"2 clusters of {number}."
    )
    manifold = manifold_of(rows, np.ones(60), None, None)
    manifold = replace(manifold, visible=visible, ratio=ratio, sentence=f"Here is the shape of {number}.")
    hubs = Hubness(skew, None, None, 0.25, 0.3, (Hub(3, 40, "A [hub] . And more"),), 10, 2500)
    return DeepLayer(number, 60, dimension(lid), hubs, clusters, None, manifold)


def told(*layers):
    return " ".join(deep_story(layers, None, None))


def test_the_clearest_clusters_are_those_that_stand_out_from_slices():
    said = told(layer(0, silhouette=0.5, chance=0.49), layer(1, silhouette=0.4, chance=0.1))
    assert "Clusters are clearest at layer 1: 2 clusters of 1." in said


def test_copies_are_told_of_before_the_clusters_that_they_make():
    one = layer(1)
    copied = replace(one, dimensions={name: replace(d, duplicates=0.4) for name, d in one.dimensions.items()})
    said = told(layer(0, silhouette=0.15), copied)
    assert (
        "clearest at layer 1, where 40 % of the vectors are copies of others, which form clusters: 2 clusters" in said
    )
    assert "40 % of the vectors are copies of others, which form clusters. 2 clusters of 1." in told(copied)


def test_slices_of_clouds_are_no_clusters():
    said = told(layer(0, silhouette=0.3, chance=0.29), layer(1, silhouette=0.5, chance=0.49))
    assert "No layer has clusters. Layer 1: 2 clusters of 1." in said and "clearest" not in said


@pytest.mark.parametrize(
    ("lids", "expected"),
    [
        ((9.0, 8.0, 12.0), "12.0 at layer 2, the highest of all layers; the lowest is 8.00 at layer 1 ("),
        ((9.0, 12.0, 8.0), "8.00 at layer 2, the lowest of all layers; the highest is 12.0 at layer 1 ("),
        ((8.0, 12.0, 9.0), "9.00 at layer 2; the lowest is 8.00 at layer 0 and the highest is 12.0 at layer 1 ("),
    ],
)
def test_no_layer_is_told_of_twice(lids, expected):
    assert expected in told(*(layer(number, lid=lid) for number, lid in enumerate(lids)))


def test_hubs_are_quoted_and_their_absence_has_an_n():
    assert "most of all “A [hub] . And more” (40). 25 % of the vectors are a neighbor of none." in told(
        layer(0, skew=3.0)
    )
    assert "There are no hubs: the skewness of neighbor counts is 0.50, over 2,500 vectors." in told(layer(0))
    assert "No layer has hubs: the skewness of neighbor counts is at most 0.50" in told(layer(0, skew=0.1), layer(1))


def test_hubs_that_are_not_proven_are_not_absent():
    """The skewness from which on there are hubs lies inside the interval."""
    one = layer(1, skew=1.76)
    wide = replace(one, hubness=replace(one.hubness, low=1.25, high=2.28))
    said = told(layer(0), wide)
    assert "There may be hubs: at layer 1, the skewness of neighbor counts is 1.76 (1.25 to 2.28)" in said
    assert "hubs begin at 1.4" in said and "No layer has hubs" not in said
    low = replace(one, hubness=replace(one.hubness, skew=0.9, low=0.6, high=1.2))
    assert "No layer has hubs:" in told(layer(0), low)


def test_a_sentence_on_one_layer_is_not_said_of_several():
    curved = [layer(0), layer(1, visible=True, ratio=0.6), layer(2, visible=True, ratio=0.4), layer(3)]
    assert told(*curved).endswith("Layers 1, 2 are curved, most clearly 2: here is the shape of 2.")
    assert told(*curved[:2]).endswith("At layer 1: here is the shape of 1.")
    assert told(layer(0), layer(1)).endswith("At layer 1: here is the shape of 1.")


def test_a_layer_whose_ratio_is_not_known_is_not_the_clearest():
    layers = [layer(0, ratio=None), layer(1, ratio=0.7), layer(2, ratio=0.5)]
    assert most_curved(layers).number == 2 and most_curved(layers[:1]).number == 0
