"""The tables of the papers, as settings of `evaluate`: which datasets, methods, layer, level and protocol each has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from uncone.data.tasks.scored_pairs import STS

__all__ = ["PAPERS", "PaperTable"]

_CLUSTERED = "Rajaee and Pilehvar 2021, A Cluster-based Approach for Improving Isotropy"
_FLOW = "Li et al. 2020, BERT-flow; Su et al. 2021, Whitening Sentence Representations"


@dataclass(frozen=True)
class PaperTable:
    """One table: `layer` and `pooling` are None where a sentence model's own recipe stands for them."""

    name: str
    title: str
    source: str
    methods: str
    datasets: Sequence[str] = ()
    tasks: Sequence[str] = ()
    layer: str | None = "-1"
    pooling: str | None = "mean"
    level: str = "token"
    protocols: Sequence[str] = ("transductive",)
    seeds: int = 1


PAPERS = (
    PaperTable(
        "ablation",
        "What the parts of the cluster-based repair do, on STS-B",
        _CLUSTERED,
        "raw,center,droptop:k=12,clustered:k=27;p=0,clustered:k=27;p=12;assign=gmm,clustered:k=27;p=12",
        datasets=("stsb",),
        seeds=3,
    ),
    PaperTable(
        "clusters",
        "Before and after the cluster-based repair, on seven sets",
        _CLUSTERED,
        "raw,clustered:k=27;p=12",
        datasets=STS,
    ),
    PaperTable(
        "classification",
        "SST-2 by logistic regression on frozen vectors",
        _CLUSTERED,
        "raw,clustered:k=27;p=12",
        tasks=("sst2",),
        protocols=("inductive",),
    ),
    PaperTable(
        "flow-whitening",
        "Flow and whitening, fitted on NLI and on the target, on seven sets",
        _FLOW,
        "raw,flow,whiten,whiten:dim=256",
        datasets=STS,
        layer="1,-1",
        level="sentence",
        protocols=("inductive", "transductive"),
    ),
    PaperTable(
        "flow-whitening-sentence-model",
        "The same on the vectors of a sentence model, by its own recipe",
        _FLOW,
        "raw,flow,whiten,whiten:dim=256",
        datasets=STS,
        layer=None,
        pooling=None,
        level="sentence",
        protocols=("inductive", "transductive"),
    ),
)
"""Every table of the cluster-based, flow and whitening papers that one model can fill."""
