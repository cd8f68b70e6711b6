"""The document of `ablate repair`: sentences that follow the numbers, the table of the source, and the charts."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from uncone.analysis.intervals.bootstrap import Difference
from uncone.analysis.intervals.resampling import Score
from uncone.report.document import Table, leaves
from uncone.report.documents.ablate.repair import RepairAblation
from uncone.tuning.ablation.pairing import PairedAccuracy
from uncone.tuning.ablation.repair import RepairRow, TaskAblation, published
from uncone.tuning.classifier import FitSettings
from uncone.tuning.results import Agreement, LabelTrace, LayerGeometry, RepairRun

LAYERS = [
    LayerGeometry(1, [-14.0, -12.0, -8.0], [1.0, 0.9, 0.8]),
    LayerGeometry(2, [-14.0, -11.0, -7.0], [1.0, 0.9, 0.7]),
]


def row(method, accuracy, log10, *, gain=None, proven=False, moved=(0.0, 0.0), ami=None, label=None, seeds=1):
    """A row with an accuracy, a difference with an interval of two points, and what moved."""
    clusters = {} if ami is None else {"3": Agreement(ami, 0.6 + ami, 0.6)}
    runs = [RepairRun(method, seed, [0, 1], log10, LAYERS, *moved, clusters, label) for seed in range(seeds)]
    gap = None if gain is None else Difference(gain, gain - 0.02, gain + 0.02, 0.001 if proven else 0.5, proven, 872)
    pair = PairedAccuracy(Score(accuracy, accuracy - 0.03, accuracy + 0.03, 872), gap, 872)
    return RepairRow(method, pair, [accuracy] * seeds, runs)


def ablation(*rows, name="sst2", model="models/bert-mini"):
    task = TaskAblation(name, "dev", 2000, 872, 0.51, 872, FitSettings(), rows, published(name))
    return RepairAblation(model, [task])


@pytest.fixture
def ablation_rows():
    return [
        row("none", 0.75, -8.5, ami=0.3),
        row("batch/1/0", 0.745, -4.5, gain=-0.005, moved=(0.06, 0.47)),
        row(
            "batch/3/2",
            0.55,
            -0.05,
            gain=-0.2,
            proven=True,
            moved=(0.39, 0.42),
            ami=0.3,
            label=LabelTrace(0.78, 0.6, 0.76),
        ),
        row("running/3/2", 0.745, -1.7, gain=-0.005, ami=0.2, label=LabelTrace(0.76, 0.75, None)),
    ]


def test_renderings(ablation_rows, assert_renderings):
    assert_renderings(ablation(*ablation_rows, name="rte"))


def test_the_page_in_a_browser(ablation_rows, assert_page_works):
    assert_page_works(ablation(*ablation_rows, name="rte"))


def test_the_sentences_follow_the_numbers(ablation_rows):
    result = ablation(*ablation_rows)
    assert "No repair in the loop improves" in result.headline and "1 of 3" in result.headline
    text = " ".join(result.lines())
    assert "batch/3/2 raises the isotropy I(W) at the head from 3e-09 to 0.89" in text
    assert "accuracy falls from 75.0 to 55.0, proven" in text
    assert "6 to 39 % of the predictions" in text and "42 to 47 % when a text comes alone" in text
    assert "With running statistics, no prediction changes." in text
    assert "finds the class of 78 % of the texts in CLS, and of 60 % in what the head sees" in text
    assert "with random clusters of the same sizes, of 76 %. So the clusters follow the classes (90 % of" in text
    assert "need not cost the label: with running/3/2, it stays" in text
    assert "CLS is not zero-mean" in text and "0.70 of the rms norm" in text
    assert "2.0 points on sst2 (872 texts)" in text and "--seeds 3" in text


def test_gains_are_said_and_need_proof(ablation_rows):
    none = ablation_rows[0]
    better = row("frozen/3/0", 0.8, -2.0, gain=0.05, proven=True)
    assert ablation(none, better).headline == "frozen/3/0 gains 5.0 points of accuracy on sst2, proven."
    unsure = row("frozen/3/0", 0.8, -2.0, gain=0.05)
    assert "by more than chance" in ablation(none, unsure).headline
    assert "not proven to be a change" in " ".join(ablation(none, unsure).lines())
    assert "No repair was tried" in ablation(none).headline
    assert ablation(none).to_text()


def test_other_states_of_the_numbers(ablation_rows):
    none, _, batch, _ = ablation_rows
    for label, sentence in (
        (LabelTrace(0.78, 0.77, 0.76), "The label is still there, so its removal does not explain the loss"),
        (LabelTrace(0.78, 0.6, 0.61), "it is the repair that removes the label, whatever the clusters are"),
        (LabelTrace(0.78, 0.6, None), "the repair removes part of the label"),
    ):
        assert sentence in " ".join(ablation(none, replace(batch, runs=[replace(batch.runs[0], label=label)])).lines())
    assert "probe" not in " ".join(ablation(none, replace(batch, runs=[replace(batch.runs[0], label=None)])).lines())
    narrow = row("frozen/1/0", 0.7, -9.0, gain=-0.05)
    assert "no repair makes what the head sees more isotropic" in " ".join(ablation(none, narrow).lines())
    rounding = row("running/1/0", 0.75, -4.0, gain=0.0, moved=(0.001, 0.002))
    assert "at most 0.2 % change" in " ".join(ablation(none, rounding).lines())
    centered = [replace(layer, offset=[0.9, 0.5, 0.03]) for layer in LAYERS]
    zero = replace(none, runs=[replace(none.runs[0], layers=centered)])
    assert "CLS is close to zero-mean" in " ".join(ablation(zero).lines())
    seeds = ablation(row("none", 0.75, -8.0, seeds=3), row("batch/3/0", 0.6, -1.0, gain=-0.15, proven=True, seeds=3))
    assert "--seeds" not in " ".join(seeds.lines())


def test_published_rows_stand_beside(ablation_rows):
    def first_table(result):
        return next(part for part in leaves(result.document().sections[0].blocks) if isinstance(part, Table))

    result = ablation(*ablation_rows, name="rte")
    table = first_table(result)
    assert [[cell.text for cell in line.cells] for line in table.rows if line.muted] == [
        ["none, published, BERT-base (not run)", "65.3", "", "5e-05", ""],
        ["batch, published, BERT-base (not run)", "62.8", "−2.5", "0.29", ""],
    ]
    assert "Published for BERT-base on rte: accuracy from 65.3 to 62.8" in " ".join(result.lines())
    own = first_table(ablation(*ablation_rows, name="rte", model="hub/bert-base-uncased"))
    assert own.rows[-1].cells[0].text == "batch, published"
    assert not any(line.muted for line in first_table(ablation(*ablation_rows)).rows)


def test_charts_have_both_epochs(ablation_rows):
    charts = {chart.name: chart for chart in ablation(*ablation_rows).document().charts()}
    assert list(charts) == ["differences-sst2", "isotropy-sst2", "offset-sst2"]
    labels = [mark.label for mark in charts["offset-sst2"].marks]
    assert labels[:2] == ["none, 1 epoch", "none, 2 epochs"] and "batch/3/2, 2 epochs" in labels
    assert "batch/1/0, 2 epochs" not in labels, "of each mode, the one that does most"
    assert list(charts["offset-sst2"].marks[1].y) == [1.0, 0.9, 0.7]


def test_the_numbers_as_json(ablation_rows):
    values = json.loads(ablation(*ablation_rows, name="rte").to_json())["tasks"][0]
    assert values["methods"][2]["changed_in_other_batches"] == 0.39
    assert values["methods"][2]["clusters_and_classes"]["ami"] == 0.3
    assert values["methods"][0]["difference"] is None and len(values["methods"][0]["layers"]) == 2
    assert values["methods"][2]["label"] == {"before": 0.78, "after": 0.6, "control": 0.76}
    assert values["published"][0]["accuracy"] == 65.3
