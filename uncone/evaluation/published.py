"""Rows that papers have published, to be put beside ours where the model is one of theirs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from uncone.analysis.intervals.correlation import Aggregated
from uncone.data.tasks.scored_pairs import STS
from uncone.evaluation.table import Cell, Method, Row

__all__ = ["PUBLISHED", "Published", "published_rows"]

_FLOW = "Li et al. 2020, On the Sentence Embeddings from Pre-trained Language Models"
_WHITENING = "Su et al. 2021, Whitening Sentence Representations for Better Semantics and Faster Retrieval"
_CLUSTERS = "Rajaee and Pilehvar 2021, A Cluster-based Approach for Improving Isotropy in Contextual Embedding Space"
_SBERT = "Reimers and Gurevych 2019, Sentence-BERT"
_SIMCSE = "Gao et al. 2021, SimCSE: Simple Contrastive Learning of Sentence Embeddings"

_BERT, _NLI_SBERT, _ANY = "bert-base-uncased", "bert-base-nli-mean-tokens", ""
_PATTERNS = {
    _BERT: r"bert-base-uncased",
    # The hub has it under several names: trained on NLI, base size, mean pooling.
    _NLI_SBERT: r"(sbert|bert|sentence-bert)-base-nli(-mean-tokens)?",
}


@dataclass(frozen=True)
class Published:
    """Spearman x 100 in the order of `datasets`, as a paper has them: which model, method, aggregation and source.

    `isotropy` is the paper's own measure (I(W) of Mu and Viswanath 2018), which is not our IsoScore. `average` is
    given where a paper tells only that. A model of "" is no model: it is a row for every table.
    """

    model: str
    method: Method
    values: Sequence[float | None]
    aggregation: str
    source: str
    isotropy: Sequence[float] = ()
    average: float | None = None
    stated: bool = True
    """Whether the source says how it sums up over subsets; if not, `all` is assumed."""
    datasets: Sequence[str] = field(default=STS)

    def row(self) -> Row:
        """As a row of a table: correlations between -1 and 1, no intervals, the source in the note."""
        cells = []
        for dataset, value in zip(self.datasets, self.values, strict=True):
            scores = {} if value is None else {self.aggregation: round(value / 100, 6)}
            # A single set has no subsets: all three ways to sum up are one.
            if value is not None and dataset in ("stsb", "sickr"):
                scores = dict.fromkeys(("all", "mean", "wmean"), round(value / 100, 6))
            how = self.aggregation if self.stated else "a single figure"
            reason = "not published" if value is None else f"published as {how}"
            spearman = Aggregated(scores.get("all"), scores.get("mean"), scores.get("wmean"), 0, reason)
            cells.append(Cell(dataset, spearman, Aggregated(None, None, None, 0, "not published"), None, None))
        measured = f"; isotropy I(W) {', '.join(f'{one:.3g}' for one in self.isotropy)}" if self.isotropy else ""
        average = None if self.average is None else round(self.average / 100, 6)
        how = self.aggregation if self.stated else "aggregation not stated"
        return Row(self.method, cells, average, note=f"{self.source} ({how}{measured})")


def _method(name: str, repair: str = "", protocol: str = "raw", fitted_on: str = "", **more: str | int) -> Method:
    layer, level = str(more.pop("layer", "-1")), str(more.pop("level", "sentence"))
    return Method(name, repair, more, layer, "mean", level, protocol, fitted_on)


_NLI, _TARGET = ("inductive", "NLI"), ("transductive", "target")
_NOTHING = (None,) * len(STS)

PUBLISHED = (
    Published(
        _BERT,
        _method("last layer mean"),
        (49.07, 55.92, 54.75, 62.75, 65.19, 47.29, 58.21),
        "wmean",
        _FLOW,
    ),
    Published(
        _BERT,
        _method("layers 1,-1 mean", layer="1,-1"),
        (57.84, 61.95, 62.48, 70.95, 69.81, 59.04, 63.75),
        "wmean",
        _FLOW,
    ),
    Published(
        _BERT,
        _method("flow", "flow", *_NLI, layer="1,-1"),
        (59.54, 64.69, 64.66, 72.92, 71.84, 58.56, 65.44),
        "wmean",
        _FLOW,
    ),
    Published(
        _BERT,
        _method("flow", "flow", *_TARGET, layer="1,-1"),
        (63.48, 72.14, 68.42, 73.77, 75.37, 70.72, 63.11),
        "wmean",
        _FLOW,
    ),
    Published(
        _BERT,
        _method("whiten 768", "whiten", *_NLI, layer="1,-1"),
        (61.69, 65.70, 66.02, 75.11, 73.11, 68.19, 63.6),
        "wmean",
        _WHITENING,
    ),
    Published(
        _BERT,
        _method("whiten 768", "whiten", *_TARGET, layer="1,-1"),
        (63.62, 73.02, 69.23, 74.52, 72.15, 71.34, 60.6),
        "wmean",
        _WHITENING,
    ),
    Published(
        _BERT,
        _method("whiten 256", "whiten", *_TARGET, layer="1,-1", dim=256),
        (63.89, 73.76, 69.08, 74.59, 74.40, 71.43, 62.2),
        "wmean",
        _WHITENING,
    ),
    Published(
        _BERT,
        _method("raw, tokens", level="token"),
        (43.53, 59.50, 53.36, 53.68, 61.11, 54.09, 59.38),
        "all",
        _CLUSTERS,
        (2.97e-5, 2.6e-4, 3.84e-6, 1.35e-5, 1.01e-4, 3.36e-5, 2.93e-4),
        stated=False,
    ),
    Published(
        _BERT,
        _method("k-means + PCA, tokens", "clustered", *_TARGET, level="token", k=27, p=12),
        (64.73, 68.89, 62.14, 66.33, 66.68, 67.50, 63.07),
        "all",
        _CLUSTERS,
        (0.55, 0.46, 0.53, 0.85, 0.48, 0.63, 0.49),
        stated=False,
    ),
    *(
        Published(
            _BERT,
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
        Published(_BERT, _method(name, repair, *how, layer=layer), _NOTHING, "all", _SIMCSE, average=value)
        for name, repair, how, layer, value in (
            ("layers 0,-1 mean", "", (), "0,-1", 56.70),
            ("flow", "flow", _NLI, "0,-1", 66.55),
            ("whiten", "whiten", _NLI, "0,-1", 66.28),
            ("SimCSE, unsupervised (another model)", "", (), "-1", 76.25),
            ("SimCSE, supervised (another model)", "", (), "-1", 81.57),
        )
    ),
    Published(
        _NLI_SBERT,
        _method("flow", "flow", *_TARGET),
        (68.95, 78.48, 77.62, 81.95, 78.94, 81.03, 74.97),
        "wmean",
        _FLOW,
    ),
    Published(
        _NLI_SBERT,
        _method("whiten 256", "whiten", *_TARGET, dim=256),
        (69.97, 79.48, 78.12, 81.60, 79.07, 80.80, 75.06),
        "wmean",
        _WHITENING,
    ),
    Published(
        _ANY,
        _method("GloVe mean", layer="input embeddings"),
        (55.14, 70.66, 59.73, 68.25, 63.66, 58.02, 53.76),
        "all",
        _SBERT,
    ),
)
"""What the literature reports for models that we can run too, and the mean of GloVe vectors."""


def published_rows(model: str, datasets: Sequence[str] = STS) -> tuple[Row, ...]:
    """The rows of a model that goes by this name, cut to the datasets of a table; none for an unknown model.

    >>> [row.method.name for row in published_rows("models/bert-base-uncased")][:2]
    ['last layer mean', 'layers 1,-1 mean']
    >>> published_rows("bert-large-uncased")
    ()
    """
    name = model.rstrip("/").rsplit("/", 1)[-1].lower()
    known = next((known for known, pattern in _PATTERNS.items() if re.fullmatch(pattern, name)), None)
    if known is None:
        return ()
    rows = []
    for row in (one.row() for one in PUBLISHED if one.model in (known, _ANY)):
        cells = {cell.dataset: cell for cell in row.cells}
        missing = Aggregated(None, None, None, 0, "not published")
        kept = [cells.get(name, Cell(name, missing, missing, None, None)) for name in datasets]
        told = any(cell.spearman.reason != "not published" for cell in kept)
        if told or (row.average is not None and tuple(datasets) == STS):
            rows.append(Row(row.method, kept, row.average if tuple(datasets) == STS else None, row.seeds, row.note))
    return tuple(rows)
