"""The document of `ablate data`: what the bias costs, the control beside it, and what the layers keep."""

from __future__ import annotations

from uncone.analysis.intervals.bootstrap import Difference
from uncone.analysis.intervals.resampling import Score
from uncone.report.documents.ablate.data import DataAblation
from uncone.tuning.ablation.data import DRAWS, DataStudy
from uncone.tuning.ablation.pairing import PairedAccuracy
from uncone.tuning.classifier import FitSettings
from uncone.tuning.results import DrawRun, LayerTrace, Skew

CKA = {"classify": {"control": 0.77, "skewed": 0.47}, "contrastive": {"control": 0.9, "skewed": 0.89}}
GAINS = {"control": (0.005, False), "skewed": (-0.25, True)}


def traces(cka, probe=0.72):
    return [LayerTrace(cka, probe, 0.9, 0.1), LayerTrace(cka, probe, 0.5, 0.2)]


def ablation(objectives=("classify", "contrastive"), gains=GAINS):
    runs = [
        DrawRun(objective, draw, 0, {"0": 1000, "1": 1000}, [], traces(CKA[objective].get(draw)), 20.0)
        for objective in objectives
        for draw in DRAWS
    ]
    accuracies = {"balanced": PairedAccuracy(Score(0.77, 0.75, 0.79, 900), None, 900)}
    for draw, (gain, proven) in gains.items():
        gap = Difference(gain, gain - 0.02, gain + 0.02, 0.001 if proven else 0.4, proven, 900)
        accuracies[draw] = PairedAccuracy(Score(0.77 + gain, 0.75 + gain, 0.79 + gain, 900), gap, 900)
    recalls = {"balanced": {"0": 0.8, "1": 0.74}, "control": {"0": 0.75, "1": 0.8}, "skewed": {"0": 0.03, "1": 0.99}}
    study = DataStudy(
        task="sst2",
        split="test",
        classes=("0", "1"),
        skew=Skew(0.95, "1"),
        skewed_to="1",
        n_train=2000,
        n_test=900,
        settings=FitSettings(),
        runs=runs,
        accuracies=accuracies if "classify" in objectives else {},
        recalls=recalls if "classify" in objectives else {},
    )
    return DataAblation("models/bert-mini", study)


def test_renderings(assert_renderings):
    assert_renderings(ablation())


def test_the_page_in_a_browser(assert_page_works):
    assert_page_works(ablation())


def test_the_bias_and_what_the_layers_keep():
    result = ablation()
    assert "costs 25.0 points of accuracy" in result.headline
    text = " ".join(result.lines())
    assert "Recall of '0' falls from 80" in text
    assert "second balanced draw" in text
    assert "has less in common with the balanced model than the control has" in text
    assert "about as much in common with the balanced model as the control has" in text, (
        "a contrastive training leaves hardly a trace"
    )
    assert "the layers keep the class, the head does not" in text


def test_a_skew_that_costs_nothing():
    result = ablation(gains={"control": (0.0, False), "skewed": (-0.01, False)})
    assert "nothing that could be proven" in result.headline
    assert "the head does not" not in " ".join(result.lines())


def test_a_contrastive_training_alone_has_layers_only():
    result = ablation(objectives=("contrastive",))
    assert "CKA of the last layer" in result.headline
    names = {chart.name for chart in result.document().charts()}
    assert {"contrastive-cka", "contrastive-probe", "contrastive-baseline", "contrastive-isoscore"} <= names
    assert "draws" not in names


def test_curves_are_those_of_the_runs():
    charts = {chart.name: chart for chart in ablation().document().charts()}
    curves = {line.label: list(line.y) for line in charts["classify-cka"].marks}
    assert curves == {"second balanced draw": [0.77, 0.77], "skewed": [0.47, 0.47]}
