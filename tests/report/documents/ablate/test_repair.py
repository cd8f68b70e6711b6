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
from uncone.tuning.results import Agreement, LayerGeometry, RepairRun

LAYERS = [LayerGeometry(1, [-14.0, -12.0, -8.0], [1.0, 0.9, 0.8]), LayerGeometry(2, [-14.0, -11.0, -7.0], [1.0, 0.9, 0.7])]


def row(method, accuracy, log10, *, gain=None, proven=False, moved=(0.0, 0.0), ami=None, seeds=1):
    """A row with an accuracy, a difference with an interval of two points, and what moved."""
    clusters = {} if ami is None else {"3": Agreement(ami, 0.6 + ami, 0.6)}
    runs = [RepairRun(method, seed, [0, 1], log10, LAYERS, *moved, clusters) for seed in range(seeds)]
    gap = None if gain is None else Difference(gain, gain - 0.02, gain + 0.02, 0.001 if proven else 0.5, proven, 872)
    pair = PairedAccuracy(Score(accuracy, accuracy - 0.03, accuracy + 0.03, 872), gap, 872)
    return RepairRow(method, pair, [accuracy] * seeds, runs)


def ablation(*rows, name="sst2", model="models/bert-mini"):
    task = TaskAblation(name, "dev", 2000, 872, 872, 0.51, 872, FitSettings(), rows, published(name))
    return RepairAblation(model, [task])


@pytest.fixture
def ablation_rows():
    return [
        row("none", 0.75, -8.5, ami=0.3),
        row("batch/1/0", 0.745, -4.5, gain=-0.005, moved=(0.06, 0.47)),
        row("batch/3/2", 0.55, -0.05, gain=-0.2, proven=True, moved=(0.39, 0.42), ami=0.3),
        row("running/3/2", 0.745, -1.7, gain=-0.005, ami=0.2),
    ]
