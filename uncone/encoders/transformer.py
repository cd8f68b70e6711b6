"""Any Hugging Face model: all layers out of one forward pass."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from uncone.extras import require

require("torch", "transformers", extra="models")

import numpy as np  # noqa: E402
import torch  # noqa: E402

from uncone.data.batch import IntVector, Matrix  # noqa: E402
from uncone.data.digest import file_digest  # noqa: E402
from uncone.data.runs import bag_means  # noqa: E402
from uncone.encoders.encoder import Encoder, Passage, States, Window  # noqa: E402
from uncone.errors import ModelError  # noqa: E402

__all__ = ["TorchStates", "Transformer"]

_FINAL_NORMS = ("norm", "ln_f", "final_layer_norm", "final_layernorm")


class TorchStates(States):
    """Padded hidden states (b, t, d) per layer; `places` says where each token of the batch stands in them."""

    def __init__(self, layers: Sequence[torch.Tensor], places: IntVector) -> None:
        self.layers = layers
        self.places = places

    def pooled(self, layer: int, tokens: IntVector, starts: IntVector) -> Matrix:
        states = self._flat(layer)
        if states.device.type == "cpu" and states.dtype == torch.float32:
            # A view: a few rows are gathered at a time, and stay in the cache of the core that measures them.
            return bag_means(states.numpy(), self.places[tokens], starts)
        indices, bags = (torch.from_numpy(one).to(states.device) for one in (self.places[tokens], starts))
        return np.asarray(torch.nn.functional.embedding_bag(indices, states.float(), bags, mode="mean").cpu().numpy())

    def longest(self, layer: int, tokens: IntVector, starts: IntVector) -> Matrix:
        states = self._flat(layer)
        indices, bags = (torch.from_numpy(one).to(states.device) for one in (self.places[tokens], starts))
        return np.asarray(torch.nn.functional.embedding_bag(indices, states.float(), bags, mode="max").cpu().numpy())

    def _flat(self, layer: int) -> torch.Tensor:
        states = self.layers[layer]
        return states.reshape(-1, states.shape[-1])


class Transformer(Encoder):
    """A model and its tokenizer, on a device. Layer 0 is the output of the embeddings; the last may be normalised."""

    kind = "transformer"

    def __init__(
        self, name: str, model: Any, tokenizer: Any, files: Sequence[Path] = (), most: int | None = None
    ) -> None:
        self.name = name
        self.model = model.get_encoder() if model.config.is_encoder_decoder else model
        self.model.eval()
        self.files = files
        self.device = next(self.model.parameters()).device
        self.tokenizer = tokenizer
        self._backend = getattr(tokenizer, "backend_tokenizer", None)
        if self._backend is None:
            raise ModelError(
                f"The tokenizer of {name} does not say where in the text a token stands (it is not a fast one), so "
                "words cannot be found. Save the model with its tokenizer.json."
            )
        self._backend.no_padding()
        self.window = _longest_input(self.model.config, tokenizer, most)
        self._pad = _first_known(
            getattr(tokenizer, "pad_token_id", None), getattr(model.config, "pad_token_id", None), 0
        )
        self.layers, self.dim = self._probed()
        self.model_bytes = sum(one.numel() * one.element_size() for one in self.model.parameters())
        width = getattr(self.model.config, "intermediate_size", None) or 4 * self.dim
        self.bytes_per_token = 4 * (self.dim * (self.layers + 8) + 2 * int(width))
        if any(hasattr(self.model, norm) for norm in _FINAL_NORMS):
            self.note = f"Layer {self.layers - 1} is taken after the model's final normalisation, the others before it."

    def _probed(self) -> tuple[int, int]:
        """How many layers come out, and how wide, found by looking."""
        (passage,) = self.passages(["a"], Window())[0][:1]
        shapes = {tuple(one.shape[2:]) for one in self._forward([passage])[0]}
        if len(shapes) != 1:
            raise ModelError(
                f"The layers of {self.name} differ in width ({sorted(shapes)}): we need one space per layer."
            )
        return len(self._forward([passage])[0]), int(next(iter(shapes))[0])

    def passages(self, texts: Sequence[str], window: Window) -> list[list[Passage]]:
        assert self._backend is not None
        size = min(filter(None, (window.size, self.window)), default=None)
        if size is None:
            self._backend.no_truncation()
        else:
            self._backend.enable_truncation(size, stride=_overlap(self._backend, size, window))
        found = self._backend.encode_batch(list(texts))
        return [self._cut(text, one, window) for text, one in zip(texts, found, strict=True)]

    def _cut(self, text: str, encoding: Any, window: Window) -> list[Passage]:
        pieces = [encoding] if window.cut else [encoding, *encoding.overflowing]
        read = [_arrays(piece) for piece in pieces]
        spans = [_span(starts, ends, special) for starts, ends, special in read]
        found = []
        for i, (piece, (starts, ends, special)) in enumerate(zip(pieces, read, strict=True)):
            # Where two windows overlap, each has the half in which it knows more of the context.
            first = 0 if i == 0 else (spans[i - 1][1] + spans[i][0]) // 2
            last = len(text) if i == len(pieces) - 1 else (spans[i][1] + spans[i + 1][0]) // 2
            whole = i == len(pieces) - 1 and not (window.cut and encoding.overflowing)
            found.append(Passage(text, piece.ids, starts, ends, special, first, last, whole))
        return found

    def encode(self, batch: Sequence[Passage]) -> States:
        layers, places = self._forward(batch)
        return TorchStates(layers, places)

    def _forward(self, batch: Sequence[Passage]) -> tuple[Sequence[torch.Tensor], IntVector]:
        longest = max(passage.length for passage in batch)
        ids = np.full((len(batch), longest), self._pad, np.int64)
        mask = np.zeros((len(batch), longest), np.int64)
        for row, passage in enumerate(batch):
            ids[row, : passage.length] = passage.tokens
            mask[row, : passage.length] = 1
        places = np.flatnonzero(mask)
        given = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
        try:
            with torch.inference_mode():
                out = self.model(**{key: one.to(self.device) for key, one in given.items()}, output_hidden_states=True)
        except (RuntimeError, IndexError, ValueError, TypeError) as error:
            raise _failed(self.name, len(batch), longest, error) from error
        states = getattr(out, "hidden_states", None)
        if not states:
            raise ModelError(f"{self.name} gives no hidden states; we need a language model that AutoModel can load.")
        return states, places

    def token_name(self, token: Any) -> str:
        return str(self.tokenizer.convert_ids_to_tokens(int(token)))

    def fingerprint(self) -> str:
        settings = {key: value for key, value in self.model.config.to_dict().items() if key != "_name_or_path"}
        return file_digest(self.files, settings)


def _arrays(encoding: Any) -> tuple[IntVector, IntVector, np.ndarray]:
    offsets = np.array(encoding.offsets, np.int64).reshape(-1, 2)
    return offsets[:, 0], offsets[:, 1], np.array(encoding.special_tokens_mask, np.bool_)


def _span(starts: IntVector, ends: IntVector, special: np.ndarray) -> tuple[int, int]:
    """The characters that the tokens of a passage cover."""
    real = ~special & (ends > starts)
    return (int(starts[real].min()), int(ends[real].max())) if real.any() else (0, 0)


def _overlap(backend: Any, size: int, window: Window) -> int:
    """Tokens that two windows share; a window also holds the special tokens."""
    room = size - int(backend.num_special_tokens_to_add(False))
    if room < 1:
        raise ModelError(
            f"A window of {size} tokens has no room for a word beside the special tokens. Try --window 64."
        )
    return 0 if window.stride is None else min(max(room - window.stride, 0), room - 1)


def _longest_input(config: Any, tokenizer: Any, most: int | None) -> int | None:
    """The tokens that a model takes at once; positions beyond would crash it."""
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    if positions is not None and config.model_type in {"roberta", "xlm-roberta", "camembert", "mpnet"}:
        positions -= 2  # the first positions are those of padding
    limits = [most, positions, tokenizer.model_max_length]
    return min((int(one) for one in limits if one and 1 < one < 1_000_000), default=None)


def _first_known(*values: int | None) -> int:
    return next(int(value) for value in values if value is not None)


def _failed(name: str, texts: int, longest: int, error: Exception) -> ModelError:
    reason = " ".join(str(error).split())[:160]
    hint = "Try a smaller --memory or --batch-size" if "memory" in reason.lower() else "Try a smaller --window"
    return ModelError(f"{name} failed on {texts} texts of up to {longest} tokens ({reason}). {hint}.")
