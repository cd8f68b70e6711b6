"""A classifier on a transformer, fine-tuned by transformers' Trainer. Frozen layers at the bottom are run only once.

Frozen layers run without dropout: what they give for a text is then the same in every epoch, so it is computed once
and reused. Training with and without this reuse gives the same weights, up to rounding.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import IntVector, Matrix
from uncone.encoders.open import Loading, open_encoder
from uncone.errors import ModelError, OptionError, ShapeError, require
from uncone.tuning.surgery import Surgery, blocks_of, frozen_depth, layer_module, operate
from uncone.tuning.tasks import Items

require("torch", "transformers", "accelerate", extra="tune")

import torch  # noqa: E402
from torch import nn  # noqa: E402

from uncone.encoders.transformer import Transformer  # noqa: E402
from uncone.tuning.prefix import block_inputs, from_states  # noqa: E402

__all__ = [
    "Classifier",
    "FitSettings",
    "Progress",
    "Watcher",
    "build",
    "check_layers",
    "collate",
    "default_lr",
    "fit",
    "head_inputs",
    "layer_vectors",
    "predict",
    "train",
]

Progress = Callable[[str, int, int], None]
Watcher = Callable[["Classifier", int], None]
_MOST_CACHE = 2 << 30  # bytes of states that are kept; beyond it, frozen layers run again
_HEAD_SPREAD = 0.02  # of the new head's weights, as transformers draws them


@dataclass(frozen=True)
class FitSettings:
    """How a classifier is trained: `pooling` is "cls" (the last token, if the model has no such token) or "mean".

    `reuse` runs frozen layers at the bottom once, not in every epoch.
    """

    epochs: int = 2
    batch_size: int = 32
    lr: float = 5e-4
    max_length: int = 64
    seed: int = 0
    device: str = "cpu"
    pooling: str = "cls"
    reuse: bool = True

    def __post_init__(self) -> None:
        if self.pooling not in ("cls", "mean"):
            raise OptionError(f"There is no pooling {self.pooling!r} for a classifier; choose cls or mean.")


def default_lr(width: int) -> float:
    """The learning rate for a hidden width: 5e-4 up to 256 dimensions, then less: 3e-5 at 768.

    >>> default_lr(256), round(default_lr(768), 6)
    (0.0005, 3.2e-05)
    """
    return 5e-4 * min(1.0, math.pow(256 / width, 2.5))


class Classifier(nn.Module):
    """An encoder, a bridge (or none) and a linear head, which sees `bridge(pooled vector)`."""

    def __init__(
        self,
        encoder: nn.Module,
        bridge: nn.Module | None,
        head: nn.Linear,
        tokenizer: Any,  # noqa: ANN401 - transformers' tokenizers share no typed class
        settings: FitSettings,
    ) -> None:
        super().__init__()
        self.encoder, self.bridge, self.head = encoder, bridge, head
        self.tokenizer, self.settings = tokenizer, settings
        self.classes: tuple[str, ...] = ()
        self.window: int | None = None
        self.frozen: list[nn.Module] = []
        """Modules that stay in evaluation mode, without dropout, while the rest is trained."""
        self._inputs = set(inspect.signature(encoder.forward).parameters)

    def train(self, mode: bool = True) -> Classifier:
        """Set the mode of everything but the frozen layers."""
        super().train(mode)
        for part in self.frozen:
            part.eval()
        return self

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        states: torch.Tensor | None = None,
        vectors: torch.Tensor | None = None,
    ) -> dict[str, torch.Tensor]:
        """The logits, and the loss if there are labels; `states` or `vectors` are what frozen layers gave before."""
        if vectors is None:
            hidden = self.hidden_states(input_ids, attention_mask, token_type_ids, states)[-1]
            vectors = self.pool(hidden, attention_mask)
        logits = self.head(vectors if self.bridge is None else self.bridge(vectors))
        if labels is None:
            return {"logits": logits}
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}

    def hidden_states(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
        states: torch.Tensor | None = None,
    ) -> Sequence[torch.Tensor]:
        """The states of every layer (b, t, d); with `states`, of the layers from which these are the input on."""
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        if token_type_ids is not None and "token_type_ids" in self._inputs:
            inputs["token_type_ids"] = token_type_ids
        if "use_cache" in self._inputs:
            inputs["use_cache"] = False  # type: ignore[assignment]
        if states is None:
            return list(self.encoder(**inputs, output_hidden_states=True).hidden_states)
        with from_states(self.encoder, self.depth - 1, states):
            return [self.encoder(**inputs).last_hidden_state]

    def pool(self, hidden: torch.Tensor, mask: torch.Tensor, pooling: str | None = None) -> torch.Tensor:
        """One vector per text (b, d) of padded states (b, t, d)."""
        if (pooling or self.settings.pooling) == "mean":
            weights = mask.unsqueeze(-1).to(hidden.dtype)
            return (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1.0)
        if self.tokenizer.cls_token_id is not None:
            return hidden[:, 0]
        last = (mask.sum(dim=1) - 1).clamp(min=0)
        return hidden[torch.arange(len(hidden), device=hidden.device), last]

    depth: int = 0
    """Layers from the bottom, the embeddings among them, that are frozen without a gap."""

    @property
    def headless(self) -> bool:
        """Whether the head alone is trained, so that the pooled vectors never change."""
        return self.depth > len(blocks_of(self.encoder))


def build(
    model: str | Path,
    classes: Sequence[str],
    settings: FitSettings,
    *,
    surgery: Surgery | None = None,
    bridge: nn.Module | None = None,
    loading: Loading | None = None,
) -> Classifier:
    """An untrained classifier: the model after surgery, with a new head drawn from the seed.

    Raises:
        ModelError: the model is not a transformer, or can't be loaded.
    """
    surgery = surgery or Surgery()
    loading = replace(loading or Loading(), device=settings.device, dtype="float32")
    opened = open_encoder(model, loading)
    if not isinstance(opened, Transformer):
        raise ModelError(f"{model} is not a transformer, so it can't be fine-tuned. Name a model with layers to train.")
    encoder = opened.model
    check_layers(surgery, len(blocks_of(encoder)))
    operate(encoder, surgery, settings.seed)
    head = nn.Linear(opened.dim, len(classes))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        nn.init.normal_(head.weight, std=_HEAD_SPREAD)
        nn.init.zeros_(head.bias)
    classifier = Classifier(encoder, bridge, head, opened.tokenizer, settings)
    classifier.to(opened.device)
    classifier.classes, classifier.window = tuple(classes), opened.window
    _freeze(classifier, surgery)
    return classifier.eval()


def check_layers(surgery: Surgery, n: int) -> None:
    """Refuse layers that the model does not have.

    Raises:
        OptionError: there is one.
    """
    layers = surgery.freeze | surgery.drop | surgery.reinit
    if layers and not 0 <= min(layers) <= max(layers) <= n:
        wrong = next(layer for layer in sorted(layers, reverse=True) if not 0 <= layer <= n)
        raise OptionError(f"There is no layer {wrong}; the model has layers 1 to {n}, and 0 is the embeddings.")


def _freeze(classifier: Classifier, surgery: Surgery) -> None:
    encoder = classifier.encoder
    classifier.depth = frozen_depth(encoder, surgery)
    if classifier.headless:
        encoder.requires_grad_(False)  # a final normalization belongs to the last layer
        classifier.frozen = [encoder]
        return
    n = len(blocks_of(encoder)) + len(surgery.drop)
    after_surgery = [layer for layer in range(n + 1) if layer not in surgery.drop]
    classifier.frozen = [
        part
        for number, layer in enumerate(after_surgery)
        if layer in surgery.freeze
        for part in layer_module(encoder, number)
    ]
    if 0 in surgery.freeze:  # GPT-2 has the dropout of its embeddings beside them
        inside = {id(part) for part in blocks_of(encoder).modules()}
        classifier.frozen += [
            part for part in encoder.modules() if isinstance(part, nn.Dropout) and id(part) not in inside
        ]


def fit(
    model: str | Path,
    items: Items,
    classes: Sequence[str],
    settings: FitSettings,
    *,
    surgery: Surgery | None = None,
    bridge: nn.Module | None = None,
    after_epoch: Watcher | None = None,
    before_epoch: Watcher | None = None,
    progress: Progress | None = None,
    loading: Loading | None = None,
) -> Classifier:
    """A model fine-tuned with cross-entropy on the pooled vector of the last layer.

    `before_epoch` and `after_epoch` are called with the classifier and the number of the epoch, from 1. `progress` is
    told of every step.

    Raises:
        ModelError: the model can't be trained, or its loss stopped being a number.
        ShapeError: there are fewer items than a batch.
        OptionError: the surgery names a layer that is not there.
    """
    classifier = build(model, classes, settings, surgery=surgery, bridge=bridge, loading=loading)
    train(classifier, items, after_epoch=after_epoch, before_epoch=before_epoch, progress=progress)
    return classifier


def train(
    classifier: Classifier,
    items: Items,
    *,
    after_epoch: Watcher | None = None,
    before_epoch: Watcher | None = None,
    progress: Progress | None = None,
) -> None:
    """Train a classifier that was built, in place.

    Raises:
        ModelError: the loss stopped being a number.
        ShapeError: there are fewer items than a batch.
    """
    from uncone.tuning.class_trainer import run_trainer

    settings = classifier.settings
    if len(items) < settings.batch_size:
        raise ShapeError(
            f"There are {len(items):,} items to train on, fewer than a batch of {settings.batch_size}. "
            f"Add texts, or use --batch-size {max(len(items) // 4, 1)}."
        )
    codes = {name: code for code, name in enumerate(classifier.classes)}
    rows: list[dict[str, Any]] = _tokenize(classifier, items)
    for row, label in zip(rows, items.labels, strict=True):
        row["labels"] = codes[label]
    if settings.reuse and classifier.depth:
        _remember(classifier, rows)
    loss = run_trainer(
        classifier, rows, partial(collate, classifier), before=before_epoch, after=after_epoch, progress=progress
    )
    if not math.isfinite(loss):
        raise ModelError(
            f"The training loss is no longer a number at a learning rate of {settings.lr:g}. "
            f"Try --lr {min(settings.lr / 10, default_lr(classifier.head.in_features)):g}."
        )


def _tokenize(classifier: Classifier, items: Items) -> list[dict[str, Any]]:
    longest = min(filter(None, (classifier.settings.max_length, classifier.window)))
    sides = [list(items.left)] if items.right is None else [list(items.left), list(items.right)]
    encoded = classifier.tokenizer(*sides, truncation=True, max_length=longest, padding=False)
    keys = [key for key in ("input_ids", "token_type_ids") if key in encoded]
    return [{key: encoded[key][row] for key in keys} for row in range(len(items))]


def collate(classifier: Classifier, rows: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
    """Rows padded to the longest, on the right."""
    longest = max(len(row["input_ids"]) for row in rows)
    pad = classifier.tokenizer.pad_token_id or 0

    def padded(key: str, filler: int) -> torch.Tensor:
        return torch.tensor([[*row[key], *[filler] * (longest - len(row[key]))] for row in rows])

    batch = {"input_ids": padded("input_ids", pad)}
    lengths = torch.tensor([len(row["input_ids"]) for row in rows])
    batch["attention_mask"] = (torch.arange(longest) < lengths[:, None]).long()
    if "token_type_ids" in rows[0]:
        batch["token_type_ids"] = padded("token_type_ids", 0)
    if "labels" in rows[0]:
        batch["labels"] = torch.tensor([row["labels"] for row in rows])
    if "vectors" in rows[0]:
        batch["vectors"] = torch.stack([row["vectors"] for row in rows])
    if "states" in rows[0]:
        first = rows[0]["states"]
        batch["states"] = first.new_zeros((len(rows), longest, first.shape[-1]))
        for at, row in enumerate(rows):
            batch["states"][at, : len(row["states"])] = row["states"]
    return batch


def _remember(classifier: Classifier, rows: list[dict[str, Any]]) -> None:
    """Give each row what the frozen layers make of it: pooled vectors, or the states of its tokens."""
    tokens = 1 if classifier.headless else sum(len(row["input_ids"]) for row in rows)
    if tokens * classifier.head.in_features * 4 > _MOST_CACHE:
        return
    for at, batch in _batches(classifier, rows, 64):
        if classifier.headless:
            hidden = classifier.hidden_states(*_model_inputs(batch))[-1]
            for row, vector in zip(at, classifier.pool(hidden, batch["attention_mask"]).cpu(), strict=True):
                rows[row]["vectors"] = vector
            continue
        run = partial(classifier.hidden_states, *_model_inputs(batch))
        inputs = block_inputs(classifier.encoder, classifier.depth - 1, run)
        for row, states in zip(at, inputs.cpu(), strict=True):
            rows[row]["states"] = states[: len(rows[row]["input_ids"])].clone()


def _model_inputs(batch: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    return batch["input_ids"], batch["attention_mask"], batch.get("token_type_ids")


def _batches(
    classifier: Classifier, rows: Sequence[Mapping[str, Any]], batch_size: int, order: IntVector | None = None
) -> Iterator[tuple[IntVector, dict[str, torch.Tensor]]]:
    """Batches in `order`, else texts of similar length together; in evaluation mode and without gradients."""
    if order is None:
        order = np.argsort([len(row["input_ids"]) for row in rows], kind="stable")
    device = classifier.head.weight.device
    was_training = classifier.training
    classifier.eval()
    try:
        with torch.no_grad():
            for start in range(0, len(order), batch_size):
                at = order[start : start + batch_size]
                batch = collate(classifier, [rows[row] for row in at])
                yield at, {key: value.to(device) for key, value in batch.items()}
    finally:
        classifier.train(was_training)


def predict(
    classifier: Classifier, items: Items, *, batch_size: int = 32, order: Sequence[int] | IntVector | None = None
) -> NDArray[np.float64]:
    """The logits (n, c), in the items' own order; `order` says which items come into a batch together.

    Without it, items come in their own order if there is a bridge, and else by length, which is faster.
    """
    rows = _tokenize(classifier, items)
    if order is None and classifier.bridge is not None:
        order = range(len(rows))
    logits = np.empty((len(rows), classifier.head.out_features))
    for at, batch in _batches(classifier, rows, batch_size, None if order is None else np.asarray(order, np.int64)):
        logits[at] = classifier(**batch)["logits"].double().cpu().numpy()
    return logits


def layer_vectors(
    classifier: Classifier, items: Items, pooling: str = "cls", batch_size: int = 64
) -> list[NDArray[np.float32]]:
    """One vector per item at every layer: L + 1 matrices (n, d), the embeddings first."""
    rows = _tokenize(classifier, items)
    layers: list[NDArray[np.float32]] = []
    for at, batch in _batches(classifier, rows, batch_size):
        states = classifier.hidden_states(*_model_inputs(batch))
        if not layers:
            layers = [np.empty((len(rows), state.shape[-1]), np.float32) for state in states]
        for layer, state in zip(layers, states, strict=True):
            layer[at] = classifier.pool(state, batch["attention_mask"], pooling).float().cpu().numpy()
    return layers


def head_inputs(classifier: Classifier, items: Items, batch_size: int = 32) -> Matrix:
    """What the head sees of each item (n, d): the pooled vector of the last layer, after the bridge if there is one.

    Batches are those of `predict`: with a bridge, the items in their own order.
    """
    rows = _tokenize(classifier, items)
    vectors = np.empty((len(rows), classifier.head.in_features), np.float32)
    order = None if classifier.bridge is None else np.arange(len(rows))
    for at, batch in _batches(classifier, rows, batch_size, order):
        pooled = classifier.pool(classifier.hidden_states(*_model_inputs(batch))[-1], batch["attention_mask"])
        vectors[at] = (pooled if classifier.bridge is None else classifier.bridge(pooled)).float().cpu().numpy()
    return vectors
