"""Published results: rows to show beside ours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from uncone.analysis.intervals.correlation import Aggregated
from uncone.data.tasks.sts import STS
from uncone.evaluation.table import Cell, Method, Row

__all__ = ["ACCURACY", "BERT", "NLI_SBERT", "PUBLISHED", "Published", "published_family", "published_rows"]

_FLOW = "Li et al. 2020, On the Sentence Embeddings from Pre-trained Language Models"
_WHITENING = "Su et al. 2021, Whitening Sentence Representations for Better Semantics and Faster Retrieval"
_CLUSTERS = "Rajaee and Pilehvar 2021, A Cluster-based Approach for Improving Isotropy in Contextual Embedding Space"
_SBERT = "Reimers and Gurevych 2019, Sentence-BERT"
_SIMCSE = "Gao et al. 2021, SimCSE: Simple Contrastive Learning of Sentence Embeddings"

BERT = "bert-base-uncased"
"""The model of most published rows."""
NLI_SBERT = "bert-base-nli-mean-tokens"
"""The sentence model, trained on NLI, of the supervised rows."""
_ANY = ""
_PATTERNS = {
    BERT: r"bert-base-uncased",
    # The hub has it under several names: trained on NLI, base size, mean pooling.
    NLI_SBERT: r"(sbert|bert|sentence-bert)-base-nli(-mean-tokens)?",
}
_MISSING = Aggregated(None, None, None, 0, "not published")


@dataclass(frozen=True)
class Published:
    """Spearman x 100 in the order of `datasets`, as a paper has them: which model, method, aggregation and source.

    `isotropy` is the paper's own measure (I(W) of Mu and Viswanath 2018), which is not our IsoScore. `average` is
    given if a paper reports only that. The model "" stands for a row that every table gets.
    """

    model: str
    method: Method
    values: Sequence[float | None]
    aggregation: str
    source: str
    isotropy: Sequence[float] = ()
    average: float | None = None
    stated: bool = True
    """Whether the source says how it aggregates over subsets; if not, `all` is assumed."""
    datasets: Sequence[str] = field(default=STS)

    def row(self) -> Row:
        """A row of a table: correlations between -1 and 1, no intervals, the source in the note."""
        aggregation = self.aggregation if self.stated else "a single figure"
        cells = []
        for dataset, value in zip(self.datasets, self.values, strict=True):
            spearman = _MISSING
            if value is not None:
                # A single set has no subsets: all three aggregations are the same.
                names = ("all", "mean", "wmean") if dataset in ("stsb", "sickr") else (self.aggregation,)
                scores = dict.fromkeys(names, round(value / 100, 6))
                every, mean, wmean = (scores.get(name) for name in ("all", "mean", "wmean"))
                spearman = Aggregated(every, mean, wmean, 0, f"published as {aggregation}")
            cells.append(Cell(dataset, spearman, _MISSING, None, None))
        isotropy = f"; isotropy I(W) {', '.join(f'{value:.3g}' for value in self.isotropy)}" if self.isotropy else ""
        average = None if self.average is None else round(self.average / 100, 6)
        aggregation = self.aggregation if self.stated else "aggregation not stated"
        return Row(self.method, cells, average, note=f"{self.source} ({aggregation}{isotropy})")


def _method(name: str, repair: str = "", protocol: str = "raw", fitted_on: str = "", **more: str | int) -> Method:
    layer, level = str(more.pop("layer", "-1")), str(more.pop("level", "sentence"))
    return Method(name, repair, more, layer, "mean", level, protocol, fitted_on)


def _rows(model: str, source: str, aggregation: str, *rows: tuple[Any, ...]) -> list[Published]:
    return [
        Published(model, _method(name, repair, *fit, **more), values, aggregation, source)
        for name, repair, fit, more, values in rows
    ]


_NLI, _TARGET = ("inductive", "NLI"), ("transductive", "target")
_TWO = {"layer": "1,-1"}

PUBLISHED = (
    *_rows(
        BERT,
        _FLOW,
        "wmean",
        ("last layer mean", "", (), {}, (49.07, 55.92, 54.75, 62.75, 65.19, 47.29, 58.21)),
        ("layers 1,-1 mean", "", (), _TWO, (57.84, 61.95, 62.48, 70.95, 69.81, 59.04, 63.75)),
        ("flow", "flow", _NLI, _TWO, (59.54, 64.69, 64.66, 72.92, 71.84, 58.56, 65.44)),
        ("flow", "flow", _TARGET, _TWO, (63.48, 72.14, 68.42, 73.77, 75.37, 70.72, 63.11)),
    ),
    *_rows(
        BERT,
        _WHITENING,
        "wmean",
        ("whiten 768", "whiten", _NLI, _TWO, (61.69, 65.70, 66.02, 75.11, 73.11, 68.19, 63.6)),
        ("whiten 768", "whiten", _TARGET, _TWO, (63.62, 73.02, 69.23, 74.52, 72.15, 71.34, 60.6)),
        ("whiten 256", "whiten", _TARGET, {**_TWO, "dim": 256}, (63.89, 73.76, 69.08, 74.59, 74.40, 71.43, 62.2)),
    ),
    *(
        Published(BERT, method, values, "all", _CLUSTERS, isotropy, stated=False)
        for method, values, isotropy in (
            (
                _method("raw, tokens", level="token"),
                (43.53, 59.50, 53.36, 53.68, 61.11, 54.09, 59.38),
                (2.97e-5, 2.6e-4, 3.84e-6, 1.35e-5, 1.01e-4, 3.36e-5, 2.93e-4),
            ),
            (
                _method("k-means + PCA, tokens", "clustered", *_TARGET, level="token", k=27, p=12),
                (64.73, 68.89, 62.14, 66.33, 66.68, 67.50, 63.07),
                (0.55, 0.46, 0.53, 0.85, 0.48, 0.63, 0.49),
            ),
        )
    ),
    *(
        Published(
            BERT,
            _method(f"{name}, tokens", repair, *_TARGET, level="token", **options),
            (None, None, None, None, None, value, None),
            "all",
            f"{_CLUSTERS}, ablation",
            stated=False,
        )
        for name, repair, options, value in (
            ("mean", "center", {}, 57.00),
            ("mean + PCA", "droptop", {}, 46.67),
            ("k-means + mean", "clustered", {"k": 27, "p": 0}, 64.25),
            ("GMM + mean + PCA", "clustered", {"k": 27, "p": 12, "assign": "gmm"}, 67.32),
        )
    ),
    *(
        Published(BERT, _method(name, repair, *fit, layer=layer), (None,) * len(STS), "all", _SIMCSE, average=value)
        for name, repair, fit, layer, value in (
            ("layers 0,-1 mean", "", (), "0,-1", 56.70),
            ("flow", "flow", _NLI, "0,-1", 66.55),
            ("whiten", "whiten", _NLI, "0,-1", 66.28),
            ("SimCSE, unsupervised (another model)", "", (), "-1", 76.25),
            ("SimCSE, supervised (another model)", "", (), "-1", 81.57),
        )
    ),
    *_rows(NLI_SBERT, _FLOW, "wmean", ("flow", "flow", _TARGET, {}, (68.95, 78.48, 77.62, 81.95, 78.94, 81.03, 74.97))),
    *_rows(
        NLI_SBERT,
        _WHITENING,
        "wmean",
        ("whiten 256", "whiten", _TARGET, {"dim": 256}, (69.97, 79.48, 78.12, 81.60, 79.07, 80.80, 75.06)),
    ),
    *_rows(
        _ANY,
        _SBERT,
        "all",
        ("GloVe mean", "", (), {"layer": "input embeddings"}, (55.14, 70.66, 59.73, 68.25, 63.66, 58.02, 53.76)),
    ),
)
"""Results in the literature for models that we can run too, and for the mean of GloVe vectors."""


ACCURACY = {"raw": 55.67, "k-means + mean + PCA": 56.08}
"""Accuracy x 100 on SST-2 before and after the cluster-based repair of bert-base-uncased, by Rajaee and Pilehvar."""


def published_family(model: str) -> str | None:
    """The model of the literature that goes by this name; None for any other.

    >>> published_family("models/BERT-base-uncased/"), published_family("bert-mini")
    ('bert-base-uncased', None)
    """
    name = model.rstrip("/").rsplit("/", 1)[-1].lower()
    return next((family for family, pattern in _PATTERNS.items() if re.fullmatch(pattern, name)), None)


def published_rows(model: str, datasets: Sequence[str] = STS) -> tuple[Row, ...]:
    """The rows of a model that goes by this name, cut to the datasets of a table; none for an unknown model.

    >>> [row.method.name for row in published_rows("models/bert-base-uncased")][:2]
    ['last layer mean', 'layers 1,-1 mean']
    >>> published_rows("bert-large-uncased")
    ()
    """
    family = published_family(model)
    rows = []
    for row in (published.row() for published in PUBLISHED if family is not None and published.model in (family, _ANY)):
        average = row.average if tuple(datasets) == STS else None
        cells = [row.cell(dataset) or Cell(dataset, _MISSING, _MISSING, None, None) for dataset in datasets]
        if average is not None or any(cell.spearman is not _MISSING for cell in cells):
            rows.append(replace(row, cells=cells, average=average))
    return tuple(rows)
