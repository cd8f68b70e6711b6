"""The sentences say what the numbers say, and the differences between studies have honest intervals."""

from __future__ import annotations

import numpy as np
import pytest

import uncone
from uncone.analysis.layers.contrast import contrast
from uncone.analysis.layers.layer import Layer
from uncone.analysis.layers.story import layer_story
from uncone.analysis.measures.finding import Finding


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
