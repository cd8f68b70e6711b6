"""The layouts of the papers' tables: which rows, datasets and measures each has, and the published figures in it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from uncone.data.tasks.sts import STS
from uncone.evaluation.papers.published import ACCURACY, BERT, NLI_SBERT, PUBLISHED, Published

__all__ = [
    "ABLATION", "CLUSTERS", "LAST_LAYER", "LAYOUTS", "NLI", "OWN_RECIPE", "TARGET", "TITLES", "TWO_LAYERS",
    "Layout", "PublishedRow",
]  # fmt: skip

ABLATION = ("raw", "mean", "mean + PCA", "k-means + mean", "GMM + mean + PCA", "k-means + mean + PCA")
"""The six rows of the cluster-based paper."""
CLUSTERS = (ABLATION[0], ABLATION[-1])
"""Before and after."""
LAST_LAYER = "last layer mean"
"""Raw vectors of sentences, from the last layer."""
TWO_LAYERS = "layers 1,-1 mean"
"""Raw vectors of sentences, from the first layer and the last."""
OWN_RECIPE = "raw, by its own recipe"
"""Raw vectors of a sentence model."""
NLI = "NLI"
"""Fitted on sentences of natural language inference."""
TARGET = "target"
"""Fitted on the texts that are judged."""
TITLES = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "wmean": "Spearman",
    "accuracy": "accuracy",
    "published": "I(W)",
    "both_signs": "safe I(W)",
}
"""The measures, as their columns are headed."""
_NAMES = {
    "raw, tokens": ABLATION[0],
    "k-means + PCA, tokens": ABLATION[-1],
    "whiten 768": "whiten",
    "GloVe mean": "GloVe mean (another model)",
    "last layer mean": LAST_LAYER,
    "layers 1,-1 mean": TWO_LAYERS,
}
_CLUSTER_PAPER = "Rajaee and Pilehvar 2021, A Cluster-based Approach for Improving Isotropy"
_FLOW_PAPERS = "Li et al. 2020, BERT-flow; Su et al. 2021, Whitening Sentence Representations"
_TOKENS = ("pearson", "spearman", "published", "both_signs")


@dataclass(frozen=True)
class PublishedRow:
    """A row of a paper: figures by dataset and measure, as in `Figure.values`, and the average if it has one."""

    label: str
    fit: str
    source: str
    values: Mapping[str, Mapping[str, float]]
    average: float | None = None


@dataclass(frozen=True)
class Layout:
    """A table of a paper: rows by datasets, with some measures for each; `family` is the model that was published.

    `parts` hold its figures. A table with many columns is set in panels of so many datasets.
    """

    name: str
    title: str
    source: str
    parts: Sequence[str]
    datasets: Sequence[str]
    measures: Sequence[str]
    family: str = BERT
    labels: Sequence[str] = ()
    """The rows, all of the parts if empty."""
    panel: int = 7

    def published(self) -> list[PublishedRow]:
        """The published rows of this table, in the order of its own rows."""
        order = {label: at for at, label in enumerate(self.labels)}
        return sorted(self._published(), key=lambda row: order.get(row.label, len(order)))

    def _published(self) -> Iterator[PublishedRow]:
        if self.parts == ("classes",):
            for label, value in ACCURACY.items():
                fit = TARGET if label != ABLATION[0] else ""
                yield PublishedRow(label, fit, self.source, {"sst2": {"accuracy": round(value / 100, 6)}})
            return
        for row in PUBLISHED:
            # The row of GloVe has no model of its own, and belongs to every table of sentences.
            is_token = row.method.level == "token"
            if row.model in (self.family, "") and is_token == ("tokens" in self.parts):
                yield from self._rows(row)

    def _rows(self, row: Published) -> Iterator[PublishedRow]:
        name = row.method.name
        label = _NAMES.get(name, name.removesuffix(", tokens"))
        measure, aggregation = ("wmean", "wmean") if "wmean" in self.measures else ("spearman", "all")
        if row.aggregation != aggregation or (self.labels and label not in self.labels):
            return
        values: dict[str, dict[str, float]] = {dataset: {} for dataset in self.datasets}
        for at, dataset in enumerate(row.datasets):
            value = row.values[at]
            if dataset in values and value is not None:
                values[dataset][measure] = round(value / 100, 6)
            if dataset in values and row.isotropy:
                values[dataset]["published"] = math.log10(row.isotropy[at])
        present = [scores[measure] for scores in values.values() if measure in scores]
        average = None if row.average is None else round(row.average / 100, 6)
        if len(present) == len(self.datasets):
            average = round(fmean(present), 6)
        if present or average is not None:
            fit = {"inductive": NLI, "transductive": TARGET}.get(row.method.protocol, "")
            yield PublishedRow(label, fit, row.source, values, average)


LAYOUTS = (
    Layout(
        "methods",
        "What the parts of the cluster-based repair do",
        _CLUSTER_PAPER,
        ("tokens",),
        ("sts15", "stsb"),
        _TOKENS,
        labels=ABLATION,
    ),
    Layout(
        "clusters",
        "Before and after the cluster-based repair, on seven datasets",
        _CLUSTER_PAPER,
        ("tokens",),
        STS,
        _TOKENS,
        labels=CLUSTERS,
        panel=2,
    ),
    Layout(
        "classification",
        "SST-2 by logistic regression on frozen vectors",
        _CLUSTER_PAPER,
        ("classes",),
        ("sst2",),
        ("accuracy", "published", "both_signs"),
        labels=CLUSTERS,
    ),
    Layout(
        "flow-whitening",
        "Flow and whitening without supervision, as the papers average (wmean)",
        _FLOW_PAPERS,
        ("last-layer", "sentences"),
        STS,
        ("wmean",),
    ),
    Layout(
        "flow-whitening-all",
        "Flow and whitening without supervision, over all pairs (all)",
        _FLOW_PAPERS,
        ("last-layer", "sentences"),
        STS,
        ("spearman",),
    ),
    Layout(
        "flow-whitening-nli",
        "Flow and whitening with NLI supervision, as the papers average (wmean)",
        _FLOW_PAPERS,
        ("supervised",),
        STS,
        ("wmean",),
        NLI_SBERT,
    ),
    Layout(
        "flow-whitening-nli-all",
        "Flow and whitening with NLI supervision, over all pairs (all)",
        _FLOW_PAPERS,
        ("supervised",),
        STS,
        ("spearman",),
        NLI_SBERT,
    ),
)
"""Every table of the cluster-based, flow and whitening papers that a model, or two, can fill."""
