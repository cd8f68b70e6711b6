"""The document of `ablate layers`: sentences that follow the numbers, the table, the forest and the last layer."""

from __future__ import annotations

import pytest

from uncone.analysis.intervals.bootstrap import Difference
from uncone.analysis.intervals.resampling import Score
from uncone.report.charts.model import Forest, Line
from uncone.report.documents.ablate.layers import LayerAblation, _frozen_verdict
from uncone.tuning.ablation.layers import LayerRow, LayersStudy, variants_of
from uncone.tuning.ablation.pairing import PairedAccuracy
from uncone.tuning.classifier import FitSettings
from uncone.tuning.results import ContextTrace, LayerRun

GAINS = {"layer 1 dropped": (-0.015, True), "head alone trained": (-0.2, True), "layer 2 frozen": (0.004, False)}


def ablation(gains=GAINS, frozen=0.3, kinds=("freeze", "drop", "reinit", "first", "head")):
    rows = []
    for variant in variants_of(2, kinds):
        gain, proven = gains.get(variant.name, (-0.003, False))
        gain = 0.0 if variant.kind == "none" else gain
        gap = Difference(gain, gain - 0.01, gain + 0.01, 0.001 if proven else 0.5, proven, 500)
        accuracy = Score(0.75 + gain, 0.72 + gain, 0.78 + gain, 500)
        after = ContextTrace(0.3, 0.2, frozen if variant.name == "layer 2 frozen" else 0.31)
        runs = [
            LayerRun(variant.name, seed, [0, 1], round(500 * (0.75 + gain)), ContextTrace(0.5, 0.4, 0.1), after, 9.0)
            for seed in range(2)
        ]
        rows.append(LayerRow(variant, PairedAccuracy(accuracy, None if variant.kind == "none" else gap, 500), runs))
    return LayerAblation(
        "models/bert-mini", LayersStudy("sst2", "test", 2, 2000, 500, 0.51, FitSettings(), [0, 1], rows, 90.0)
    )


def test_renderings(assert_renderings):
    assert_renderings(ablation())


def test_the_page_in_a_browser(assert_page_works):
    assert_page_works(ablation())


def test_a_layer_that_is_needed():
    result = ablation()
    assert result.headline == "SST-2 needs layer 1: dropping it costs 1.5 points of accuracy, proven."
    text = " ".join(result.lines())
    assert "75.0 % of 500 test items are right (2 seeds)" in text
    assert "Dropping a layer costs accuracy in 1 of 2 cases, proven; at worst −1.5 points" in text
    assert "Freezing a layer costs nothing that could be proven; at worst −0.3 points" in text
    assert "The head alone reaches 55.0 %" in text


def test_without_proof_there_is_a_bound_and_no_claim():
    headline = ablation(gains={}).headline
    assert "costs nothing that could be proven, and at most 1.3 points" in headline
    several = ablation(gains={f"layer {i} dropped": (-0.01 * i - 0.01, True) for i in (1, 2)}).headline
    assert several == "SST-2 needs layers 1 and 2: dropping one costs up to 3.0 points of accuracy, proven."
    assert ablation(gains={}, kinds=("freeze",)).headline == "No variant is proven worse than the whole model."


@pytest.mark.parametrize(
    ("frozen", "words"),
    [(0.3, "It rises although the layer is frozen"), (0.105, "It rises only if the layer itself is trained")],
)
def test_the_last_layer_when_it_is_frozen(frozen, words):
    assert words in " ".join(ablation(frozen=frozen).lines())
    assert _frozen_verdict(0.01, 0.5) == "Training hardly changes it."
    assert _frozen_verdict(-0.2, -0.1).startswith("It falls although")


def test_charts_and_numbers():
    result = ablation()
    charts = {chart.name: chart for chart in result.document().charts()}
    (forest,) = charts["layers"].marks
    assert isinstance(forest, Forest)
    assert charts["layers"].y.categories[2] == "layer 1 dropped"
    assert (forest.values[2], forest.open[2], forest.open[0]) == (pytest.approx(-1.5), False, True)
    lines = [mark for mark in charts["context-intrasim"].marks if isinstance(mark, Line)]
    assert {line.label for line in lines} == {"frozen", "dropped", "re-initialized", "all trained", "before training"}
    values = result.to_dict()
    assert values["variants"][0]["variant"] == "all layers trained"
    assert values["variants"][3]["runs"][0]["correct"] == 368
