"""The sentences say what the numbers say and don't contradict themselves; differences have intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import uncone
from uncone.analysis.clusters.clusters import clusters_of
from uncone.analysis.layers.contrast import contrast
from uncone.analysis.layers.deep_results import DeepLayer, Dimension, Hub, Hubness
from uncone.analysis.layers.layer import Layer
from uncone.analysis.layers.story import deep_story, layer_story, most_curved
from uncone.analysis.measures.finding import Finding
from uncone.analysis.neighbors.manifold import manifold_of


def layer(number, **values):
    found = {
        "baseline": 0.1,
        "selfsim_adjusted": 0.5,
        "intrasim_adjusted_matched": 0.1,
        "mev": 0.8,
        "mev_adjusted": 0.4,
        "rogue_share_3": 0.1,
        "sinks": 0,
        **values,
    }
    findings = {
        name: Finding(name, value, 100, "", low=value - 0.01, high=value + 0.01) for name, value in found.items()
    }
    findings["rogue_dimensions"] = Finding("rogue_dimensions", [7], 100, "")
    return Layer(number, findings)


def test_a_step_in_which_both_rise_is_told_with_its_numbers():
    told = layer_story([layer(11), layer(12, selfsim_adjusted=0.54, intrasim_adjusted_matched=0.16)], None)
    assert (
        "From layer 11 to 12, SelfSim rises by 0.04 and IntraSim by 0.06: words become less contextual, and words in "
        "the same sentence more similar." in told
    )


def test_opposite_steps_and_steps_within_the_interval():
    told = " ".join(layer_story([layer(0), layer(1, selfsim_adjusted=0.3, intrasim_adjusted_matched=0.2)], None))
    assert "SelfSim falls by 0.20 and IntraSim rises by 0.10: words become more contextual" in told
    assert "From layer" not in " ".join(layer_story([layer(0), layer(1, selfsim_adjusted=0.505)], None))


@pytest.mark.parametrize(("most", "word"), [(0.1, "Healthy"), (0.4, "Crowded"), (0.95, "Collapsed")])
def test_the_first_sentence_is_the_verdict(most, word):
    told = layer_story([layer(0), layer(1, baseline=most), layer(2)], None)[0]
    assert told.startswith(f"{word}: two random words score 0.10 at layer 0 and 0.10 at layer 2")
    assert ("at layer 1" in told) == (most > 0.1)


def test_context_is_told_from_the_first_layer_to_the_extreme():
    numbers = [(0.86, 0.01), (0.53, 0.2), (0.6, 0.32)]
    layers = [layer(i, selfsim_adjusted=a, intrasim_adjusted_matched=b) for i, (a, b) in enumerate(numbers)]
    told = layer_story(layers, None)
    assert (
        "Self-similarity (above the random baseline) falls from 0.86 at layer 0 to 0.53 at layer 1, the most "
        "contextual layer. It is 0.60 at layer 2." in told
    )
    assert "Words in the same sentence are 0.32 more similar than unrelated words at layer 2 (0.01 at layer 0)." in told
    rising = " ".join(layer_story([layer(0, intrasim_adjusted_matched=-0.1), layer(1, selfsim_adjusted=0.7)], None))
    assert "rises from 0.50 at layer 0 to 0.70 at layer 1, the least contextual layer." in rising


def test_sinks_and_rogue_dimensions_are_told_with_their_layers():
    told = " ".join(layer_story([layer(0), layer(1, rogue_share_3=0.7), layer(2, rogue_share_3=0.6, sinks=12)], None))
    assert "at layers 1-2: 70 % at layer 1 (7)" in told
    assert "Sinks at layer 2: up to 12 vectors" in told


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(1)
    words = ["the", "text", "go", "school", "a", "b", "c", "d", "e", "f"]
    return [" ".join(rng.choice(words, rng.integers(3, 9))) + f" {i}" for i in range(150)]


def test_a_model_does_not_differ_from_itself(tiny_model, texts):
    both = uncone.compare_layers([tiny_model, tiny_model], [texts])
    assert both.differences[0].paired
    for found in both.differences[0].findings:
        for name, finding in found.items():
            assert finding.value == pytest.approx(0, abs=1e-9), name
            if name in ("baseline", "selfsim", "intrasim", "mev"):
                assert finding.high - finding.low < 1e-9, "pairing leaves no noise"


def test_two_halves_of_a_corpus_do_not_differ(tiny_model, texts):
    """Different texts are not paired, and the intervals of most differences hold zero."""
    halves = uncone.compare_layers([tiny_model], [texts[::2], texts[1::2]])
    assert not halves.differences[0].paired
    inside = [
        finding.low <= 0 <= finding.high
        for found in halves.differences[0].findings
        for finding in found.values()
        if finding.low is not None
    ]
    assert np.mean(inside) > 0.7


def test_studies_of_other_depth_are_compared_at_both_ends():
    class Study:
        words = None

        def __init__(self, name, n):
            self.name, self.layers = name, [layer(i) for i in range(n)]

    found = contrast(Study("b", 7), Study("a", 3), paired=False)
    assert list(found.layers) == [(0, 0), (2, 6)]


def test_corpora_of_unequal_size_are_compared_at_the_smaller(tiny_model, texts):
    both = uncone.compare_layers([tiny_model], [texts, texts[:60]])
    assert [one.source["texts"] for one in both.studies] == [60, 60]
    assert both.studies[0].source["texts_in_corpus"] == 150 and "texts_in_corpus" not in both.studies[1].source
    for page in (both.to_html(), both.to_markdown()):
        assert "compared at 60 texts, the size of the smallest" in page
    alone = uncone.layers(tiny_model, texts, sample=60)
    assert alone.curve("s_inter") == both.studies[0].curve("s_inter")


def test_the_curve_shows_the_measures_at_parts_of_the_texts(tiny_model, texts):
    found = uncone.layers(tiny_model, texts, curve=True)
    assert [one.texts for one in found.sizes] == [37, 75, 150]
    assert "18 texts are too few for --curve." in found.notes
    half = uncone.layers(tiny_model, texts, sample=75)
    for name in ("baseline", "s_inter", "mev"):
        assert found.sizes[1].layers[-1].value(name) == half[-1].value(name)
        assert found.sizes[-1].layers[-1].value(name) == found[-1].value(name)
    assert [one["texts"] for one in found.to_dict()["curve"]] == [37, 75, 150]
    assert "by the number of texts" in found.to_markdown() and "By the number of texts" in found.to_html()
    plain = uncone.layers(tiny_model, texts)
    assert "curve" not in plain.to_dict() and "for this number of texts" in plain.to_html()


def dimension(value):
    return {name: Dimension(name, value, None, None, None, 100, 300, 5000, 0.0) for name in ("euclidean", "cosine")}


def deep(number, *, lid=8.0, silhouette=0.4, chance=0.1, skew=0.5, visible=False, ratio=0.9):
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
    said = told(deep(0, silhouette=0.5, chance=0.49), deep(1, silhouette=0.4, chance=0.1))
    assert "Clusters are clearest at layer 1: 2 clusters of 1." in said


def test_copies_are_told_of_before_the_clusters_that_they_make():
    one = deep(1)
    copied = replace(one, dimensions={name: replace(d, duplicates=0.4) for name, d in one.dimensions.items()})
    said = told(deep(0, silhouette=0.15), copied)
    assert (
        "clearest at layer 1, where 40 % of the vectors are copies of others, which form clusters: 2 clusters" in said
    )
    assert "40 % of the vectors are copies of others, which form clusters. 2 clusters of 1." in told(copied)


def test_slices_of_clouds_are_no_clusters():
    said = told(deep(0, silhouette=0.3, chance=0.29), deep(1, silhouette=0.5, chance=0.49))
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
    assert expected in told(*(deep(number, lid=lid) for number, lid in enumerate(lids)))


def test_hubs_are_quoted_and_their_absence_has_an_n():
    assert "most of all “A [hub] . And more” (40). 25 % of the vectors are a neighbor of none." in told(
        deep(0, skew=3.0)
    )
    assert "There are no hubs: the skewness of neighbor counts is 0.50, over 2,500 vectors." in told(deep(0))
    assert "No layer has hubs: the skewness of neighbor counts is at most 0.50" in told(deep(0, skew=0.1), deep(1))


def test_hubs_that_are_not_proven_are_not_absent():
    """The skewness from which on there are hubs lies inside the interval."""
    one = deep(1, skew=1.76)
    wide = replace(one, hubness=replace(one.hubness, low=1.25, high=2.28))
    said = told(deep(0), wide)
    assert "There may be hubs: at layer 1, the skewness of neighbor counts is 1.76 (1.25 to 2.28)" in said
    assert "hubs begin at 1.4" in said and "No layer has hubs" not in said
    low = replace(one, hubness=replace(one.hubness, skew=0.9, low=0.6, high=1.2))
    assert "No layer has hubs:" in told(deep(0), low)


def test_a_sentence_on_one_layer_is_not_said_of_several():
    curved = [
        deep(0),
        deep(1, visible=True, ratio=0.6),
        deep(2, visible=True, ratio=0.4),
        deep(3),
    ]
    assert told(*curved).endswith("Layers 1, 2 are curved, most clearly 2: here is the shape of 2.")
    assert told(*curved[:2]).endswith("At layer 1: here is the shape of 1.")
    assert told(deep(0), deep(1)).endswith("At layer 1: here is the shape of 1.")


def test_a_layer_whose_ratio_is_not_known_is_not_the_clearest():
    layers = [deep(0, ratio=None), deep(1, ratio=0.7), deep(2, ratio=0.5)]
    assert most_curved(layers).number == 2 and most_curved(layers[:1]).number == 0
