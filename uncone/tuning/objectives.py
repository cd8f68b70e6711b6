"""Objectives: the loss of each, the dataset and the batches that it is trained on, and settings that suit a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from uncone.errors import ShapeError, require
from uncone.tuning.examples import Examples

require("torch", "sentence_transformers", "datasets", "accelerate", extra="tune")

import torch  # noqa: E402
from datasets import Dataset  # noqa: E402
from sentence_transformers import SentenceTransformer  # noqa: E402
from sentence_transformers.sentence_transformer import losses  # noqa: E402
from torch import Tensor, nn  # noqa: E402

__all__ = ["ClassifyLoss", "SupervisedContrastiveLoss", "batch_sampler", "default_lr", "make_dataset", "make_loss"]

_COLUMNS = {
    "contrastive": ("anchor", "positive"),
    "nli": ("anchor", "positive", "negative"),
    "triplets": ("anchor", "positive", "negative"),
    "pairs": ("anchor", "positive"),
    "scored": ("sentence1", "sentence2"),
    "labeled": ("sentence",),
    "classify": ("sentence",),
}
_RATE, _WIDTH, _POWER = 5e-4, 128, 1.5
"""A model 128 wide learns best at 5e-4; the published 3e-5 is for one of 768."""


def default_lr(width: int) -> float:
    """A learning rate for a model of this hidden size.

    >>> [f"{default_lr(width):.0e}" for width in (128, 256, 768)]
    ['5e-04', '2e-04', '3e-05']
    """
    return float(f"{_RATE * min(1.0, _WIDTH / width) ** _POWER:.1e}")


def make_dataset(examples: Examples) -> Dataset:
    """The examples as sentence-transformers' trainer takes them. Two dropout views of a text are two equal columns."""
    texts = examples.texts * 2 if examples.objective == "contrastive" else examples.texts
    columns: dict[str, Any] = dict(zip(_COLUMNS[examples.objective], texts, strict=True))
    if examples.objective == "scored":
        columns["score"] = [float(score) for score in examples.scores]
    elif examples.labels:
        codes = {label: code for code, label in enumerate(sorted(set(examples.labels)))}
        columns["label"] = [codes[label] for label in examples.labels]
    return Dataset.from_dict(columns)


def batch_sampler(objective: str) -> str:
    """How batches are drawn: texts that must not be each other's negatives are kept apart."""
    samplers = {"nli": "no_duplicates", "pairs": "no_duplicates", "triplets": "no_duplicates"}
    return samplers.get(objective, "group_by_label" if objective == "labeled" else "batch_sampler")


def make_loss(model: SentenceTransformer, examples: Examples, scale: float) -> nn.Module:
    """The loss of an objective; `scale` multiplies cosines, one over the temperature."""
    objective, classes = examples.objective, len(set(examples.labels))
    if objective in ("labeled", "classify") and classes < 2:
        raise ShapeError(f"{examples.name}: {objective} needs two classes or more, and there is {classes}.")
    if objective == "labeled":
        return SupervisedContrastiveLoss(model, scale)
    if objective == "classify":
        return ClassifyLoss(model, classes)
    stock = losses.CoSENTLoss if objective == "scored" else losses.MultipleNegativesRankingLoss
    loss: nn.Module = stock(model, scale=scale)
    return loss


class SupervisedContrastiveLoss(nn.Module):
    """Texts of one class attract each other, all others repel (Khosla et al. 2020)."""

    def __init__(self, model: SentenceTransformer, scale: float) -> None:
        super().__init__()
        self.model, self.scale = model, scale

    def forward(self, sentence_features: Iterable[Mapping[str, Tensor]], labels: Tensor) -> Tensor:
        """The mean over texts that have a partner in the batch."""
        vectors = self.model(next(iter(sentence_features)))["sentence_embedding"]
        return supervised_contrastive(vectors, labels.view(-1), self.scale)


def supervised_contrastive(vectors: Tensor, labels: Tensor, scale: float) -> Tensor:
    """Minus the mean log-probability of a text's partners among all other texts of the batch."""
    units = nn.functional.normalize(vectors, dim=1)
    itself = torch.eye(len(units), dtype=torch.bool, device=units.device)
    scores = (scale * units @ units.T).masked_fill(itself, float("-inf"))
    partners = (labels[:, None] == labels[None, :]) & ~itself
    log_shares = (scores - scores.logsumexp(dim=1, keepdim=True)).masked_fill(~partners, 0.0)
    counts = partners.sum(dim=1)
    means = log_shares.sum(dim=1) / counts.clamp(min=1)
    return -(means * (counts > 0)).sum() / (counts > 0).sum().clamp(min=1)


class ClassifyLoss(nn.Module):
    """Cross-entropy of a linear head on the vector of a text; the head itself is not saved with the model."""

    def __init__(self, model: SentenceTransformer, classes: int) -> None:
        super().__init__()
        self.model = model
        self.head = nn.Linear(int(model.get_embedding_dimension() or 0), classes)

    def forward(self, sentence_features: Iterable[Mapping[str, Tensor]], labels: Tensor) -> Tensor:
        """The mean over the batch."""
        vectors = self.model(next(iter(sentence_features)))["sentence_embedding"]
        return nn.functional.cross_entropy(self.head(vectors), labels.view(-1))
