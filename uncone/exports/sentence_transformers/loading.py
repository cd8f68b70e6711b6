"""The model of a folder in float32, whole or cut after a layer, its special tokens, and pooling in torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from uncone.errors import require

require("torch", "transformers", extra="models")

import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from uncone.encoders.open import Loading, open_encoder  # noqa: E402
from uncone.encoders.transformer import Transformer  # noqa: E402
from uncone.errors import ExportError  # noqa: E402

__all__ = ["cut_after", "inner_mask", "layers_of", "load", "pooled", "save", "special_edges"]


def load(folder: Path) -> Transformer:
    """Model and tokenizer, on the CPU, checked as every verb does: float32, no pickle, no code of the folder's own.

    Raises:
        ExportError: not a transformer.
    """
    encoder = open_encoder(folder, Loading(device="cpu"))
    if not isinstance(encoder, Transformer):
        raise ExportError(
            f"{folder} is no transformer, and an export behind a model needs one. Export without --model."
        )
    return encoder


def save(model: Any, folder: Path) -> None:  # noqa: ANN401
    """Write the weights and the configuration of a model, without a progress bar.

    Raises:
        ExportError: what we have is only part of a model, such as the encoder of a T5.
    """
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES
    from transformers.utils import logging

    if type(model).__name__ not in MODEL_MAPPING_NAMES.values():
        raise ExportError(
            f"A {type(model).__name__} cannot be saved as a model of its own. Name a sentence-transformers folder that "
            "holds it in float32, or export to onnx."
        )
    enabled = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        model.save_pretrained(folder)
    finally:
        if enabled:
            logging.enable_progress_bar()


def special_edges(tokenizer: Any) -> tuple[int, int]:  # noqa: ANN401
    """How many special tokens stand in front of a text and behind it."""
    special = tokenizer("a", return_special_tokens_mask=True)["special_tokens_mask"]
    before = next((i for i, flag in enumerate(special) if not flag), len(special))
    return before, len(special) - before - sum(not flag for flag in special)


def layers_of(encoder: Transformer, numbers: tuple[int, ...] | None) -> tuple[int, ...]:
    """The layers by their numbers from 0, the output of the embeddings; None is the last.

    Raises:
        ExportError: not a layer of this model.
    """
    for number in numbers or ():
        if not -encoder.layers <= number < encoder.layers:
            last = encoder.layers - 1
            raise ExportError(f"There is no layer {number}: the model has layers 0 to {last} (-1 is the last).")
    return tuple(number % encoder.layers for number in numbers or (-1,))


def cut_after(model: Any, layer: int) -> None:  # noqa: ANN401
    """Remove the layers after this one from the model.

    Raises:
        ExportError: something stands behind the last layer, or its layers cannot be found.
    """
    count = int(model.config.num_hidden_layers)
    stacks = [part for _, part in model.named_modules() if isinstance(part, nn.ModuleList) and len(part) == count]
    probe = {"input_ids": torch.tensor([[1, 2, 3]]), "attention_mask": torch.ones(1, 3, dtype=torch.long)}
    with torch.inference_mode():
        expected = model(**probe, output_hidden_states=True).hidden_states[layer]
        if len(stacks) == 1:
            del stacks[0][layer:]
            model.config.num_hidden_layers = layer
        output = model(**probe).last_hidden_state
    if not torch.allclose(output, expected, rtol=1e-5, atol=1e-5):
        raise ExportError(
            f"Layer {layer} of a {model.config.model_type} model cannot become its last: it normalizes, or does more, "
            "behind its last layer. Fit the repair on the last layer, or export to onnx with --model."
        )


def inner_mask(mask: Tensor, before: int, after: int) -> Tensor:
    """The mask (b, t) without the special tokens in front and behind; a text of nothing else keeps them.

    >>> import torch
    >>> inner_mask(torch.tensor([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]]), 1, 1)
    tensor([[0, 1, 1, 0, 0],
            [1, 1, 0, 0, 0]])
    """
    place, length = mask.cumsum(dim=1), mask.sum(dim=1, keepdim=True)
    inside = mask * (place > before) * (place <= length - after)
    bare = (inside.sum(dim=1, keepdim=True) == 0).to(mask.dtype)
    return inside + bare * mask


def pooled(states: Tensor, mask: Tensor, kind: str) -> Tensor:
    """Vectors (b, d) of states (b, t, d): the mean or the maximum, or the first or the last, of the tokens that count.

    >>> import torch
    >>> pooled(torch.tensor([[[1.0], [3.0], [9.0]]]), torch.tensor([[1, 1, 0]]), "mean")
    tensor([[2.]])
    """
    if kind == "max":
        return states.masked_fill(mask.unsqueeze(-1) == 0, float("-inf")).amax(dim=1)
    if kind in ("cls", "last"):
        place = mask.cumsum(dim=1)
        position = 1 if kind == "cls" else mask.sum(dim=1, keepdim=True)
        mask = mask * (place == position)
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1.0)
