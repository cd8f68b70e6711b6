"""Hugging Face models: every layer out of one forward pass, and the vocabulary by readable names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import torch

from uncone.data.bags import bag_means
from uncone.data.batch import IntVector, Matrix
from uncone.data.lazy_property import once
from uncone.data.storage.files import file_digest
from uncone.encoders.encoder import Encoder, Passage, States, Window
from uncone.encoders.head import Head
from uncone.errors import ModelError

__all__ = ["TorchStates", "Transformer", "table_names", "usable_tokens"]

_FINAL_NORMS = (
    "norm",
    "norm_f",
    "ln_f",
    "layer_norm",
    "final_norm",
    "final_layer_norm",
    "final_layernorm",
    "layernorm",
)
_PROBE = "a few words to see what comes out"


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
        indices, bags = (torch.from_numpy(array).to(states.device) for array in (self.places[tokens], starts))
        return np.asarray(torch.nn.functional.embedding_bag(indices, states.float(), bags, mode="mean").cpu().numpy())

    def longest(self, layer: int, tokens: IntVector, starts: IntVector) -> Matrix:
        states = self._flat(layer)
        indices, bags = (torch.from_numpy(array).to(states.device) for array in (self.places[tokens], starts))
        return np.asarray(torch.nn.functional.embedding_bag(indices, states.float(), bags, mode="max").cpu().numpy())

    def _flat(self, layer: int) -> torch.Tensor:
        states = self.layers[layer]
        return states.reshape(-1, states.shape[-1])


class Transformer(Encoder):
    """A model and its tokenizer, on a device. Layer 0 is the output of the embeddings; the last may be normalized.

    `load_head` gives the language-model head of the same weights, or says why there is none; it is called once, late.
    `fresh` is the seed that the weights were drawn with, if they are not those of the files.
    """

    kind = "transformer"

    def __init__(
        self,
        name: str,
        model: Any,
        tokenizer: Any,
        files: Sequence[Path] = (),
        most: int | None = None,
        load_head: Callable[[Transformer], Head | str | None] | None = None,
        fresh: int | None = None,
    ) -> None:
        self.name = name if fresh is None else f"{name} (random weights)"
        self._fresh = fresh
        self._load_head = load_head
        self.model = model.get_encoder() if model.config.is_encoder_decoder else model
        self.model.eval()
        self.files = files
        self.device = next(self.model.parameters()).device
        self.tokenizer, self._lock = tokenizer, Lock()
        self._backend = getattr(tokenizer, "backend_tokenizer", None)
        if self._backend is None:
            raise ModelError(
                f"The tokenizer of {name} does not say where in the text a token stands (it is not a fast one), so "
                "words cannot be found. Save the model with its tokenizer.json."
            )
        self._backend.no_padding()
        self.unknown_token = tokenizer.unk_token_id
        self.window = _longest_input(self.model, tokenizer, most)
        self._pad = self._usable_pad(tokenizer.pad_token_id, getattr(model.config, "pad_token_id", None))
        self.layers, self.dim = self._probe()
        self.model_bytes = sum(parameter.numel() * parameter.element_size() for parameter in self.model.parameters())
        width = getattr(self.model.config, "intermediate_size", None) or 4 * self.dim
        self.bytes_per_token = 4 * (self.dim * (self.layers + 8) + 2 * int(width))
        inner = getattr(self.model, "decoder", None) or getattr(self.model, "encoder", None)
        if any(hasattr(self.model, norm) for norm in _FINAL_NORMS) or any(hasattr(inner, n) for n in _FINAL_NORMS):
            self.note = f"Layer {self.layers - 1} is taken after the model's final normalization, the others before it."

    def _usable_pad(self, *ids: int | None) -> int:
        """An id that the embeddings know; what stands there is masked, so any will do."""
        vocabulary_size = self.model.get_input_embeddings().num_embeddings
        return next((int(token_id) for token_id in ids if token_id is not None and 0 <= token_id < vocabulary_size), 0)

    def _probe(self) -> tuple[int, int]:
        """How many layers come out, and how wide, found by looking."""
        (passage,) = self.passages([_PROBE], Window())[0][:1]
        states = self._forward([passage])[0]
        if any(int(layer.shape[1]) != passage.length for layer in states):
            raise ModelError(f"The layers of {self.name} differ in length: we need a vector per token at every layer.")
        shapes = {tuple(layer.shape[2:]) for layer in states}
        if len(shapes) != 1:
            raise ModelError(
                f"The layers of {self.name} differ in width ({sorted(shapes)}): we need one space per layer."
            )
        return len(states), int(next(iter(shapes))[0])

    def passages(self, texts: Sequence[str], window: Window) -> list[list[Passage]]:
        assert self._backend is not None
        size, shared = min(filter(None, (window.size, self.window)), default=None), 0
        with self._lock:  # a tokenizer can't be used by two threads at once
            if size is None:
                self._backend.no_truncation()
            else:
                shared = _overlap(self._backend, size, window)
                self._backend.enable_truncation(size, stride=shared)
            encodings = self._backend.encode_batch(list(texts))
        return [self._cut(text, encoding, window, shared) for text, encoding in zip(texts, encodings, strict=True)]

    def _cut(self, text: str, encoding: Any, window: Window, shared: int) -> list[Passage]:
        pieces = [encoding] if window.cut else [encoding, *encoding.overflowing]
        whole = not (window.cut and encoding.overflowing)
        passages, first = [], 0
        for piece in pieces:
            starts, ends, special = _arrays(piece)
            passages.append(Passage(text, piece.ids, starts, ends, special, first, whole))
            first += int((~special).sum()) - shared
        return passages

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
        inputs = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
        try:
            with torch.inference_mode():
                out = self.model(
                    **{key: tensor.to(self.device) for key, tensor in inputs.items()}, output_hidden_states=True
                )
        except (RuntimeError, IndexError, ValueError, TypeError) as error:
            raise _failure(self.name, len(batch), longest, error) from error
        states = getattr(out, "hidden_states", None)
        if not states:
            raise ModelError(f"{self.name} gives no hidden states; we need a language model that AutoModel can load.")
        return states, places

    def token_name(self, token: Any) -> str:
        return str(self.tokenizer.convert_ids_to_tokens(int(token)))

    def input_table(self, *, marked: bool = False) -> tuple[Sequence[str], Matrix] | None:
        weights = self.model.get_input_embeddings().weight.detach()
        names = usable_tokens(self.tokenizer) if marked else self._table_names
        ids = [i for i in names if i < len(weights)]
        places = torch.tensor(ids, dtype=torch.int64, device=weights.device)
        return [names[i] for i in ids], np.asarray(weights[places].float().cpu().numpy())

    def table_name(self, token: Any) -> str:
        return self._table_names.get(int(token)) or self.token_name(token)

    @once
    def _table_names(self) -> dict[int, str]:
        return table_names(usable_tokens(self.tokenizer))

    def head(self) -> Head | None:
        return self._head

    @once
    def _head(self) -> Head | None:
        head = None if self._load_head is None else self._load_head(self)
        if isinstance(head, str):
            self.head_note, head = head, None
        return head

    def fingerprint(self) -> str:
        settings = {key: value for key, value in self.model.config.to_dict().items() if key != "_name_or_path"}
        # The weights of the files are not those of a model whose weights were drawn anew.
        return file_digest(
            self.files, settings if self._fresh is None else {**settings, "drawn_with_seed": self._fresh}
        )


def _arrays(encoding: Any) -> tuple[IntVector, IntVector, np.ndarray]:
    offsets = np.array(encoding.offsets, np.int64).reshape(-1, 2)
    return offsets[:, 0], offsets[:, 1], np.array(encoding.special_tokens_mask, np.bool_)


def _overlap(backend: Any, size: int, window: Window) -> int:
    """Tokens that two windows share; a window also holds the special tokens."""
    room = size - int(backend.num_special_tokens_to_add(False))
    if room < 1:
        raise ModelError(
            f"A window of {size} tokens has no room for a word beside the special tokens. Try --window 64."
        )
    return 0 if window.stride is None else min(max(room - window.stride, 0), room - 1)


def _longest_input(model: Any, tokenizer: Any, most: int | None) -> int | None:
    """The tokens that a model takes at once; positions beyond would crash it."""
    config = model.config
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    if positions is not None:
        # RoBERTa and its kin count positions from behind that of padding.
        tables = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
        padding = max((getattr(module, "padding_idx", None) or -1 for module in tables), default=-1)
        positions -= padding + 1
    limits = [most, positions, tokenizer.model_max_length]
    return min((int(limit) for limit in limits if limit and 1 < limit < 1_000_000), default=None)


def _failure(name: str, texts: int, longest: int, error: Exception) -> ModelError:
    reason = " ".join(str(error).split())[:160]
    hint = "Try a smaller --memory or --batch-size" if "memory" in reason.lower() else "Try a smaller --window"
    return ModelError(f"{name} failed on {texts} texts of up to {longest} tokens ({reason}). {hint}.")


_UNUSED = re.compile(r"[\[<]\|?(?:unused|reserved|extra_id|placeholder)[\w|-]*[\]>]|madeupword\d+", re.IGNORECASE)
_BYTE = re.compile(r"<0x[0-9A-Fa-f]{2}>")
_SHARE = 0.01
"""Of the tokens have a mark that a tokenizer uses."""


def usable_tokens(tokenizer: Any) -> dict[int, str]:
    """The tokens that a text can give, as the tokenizer writes them, by their ids in order.

    Special tokens are left out, and those that were put there to be used some day, such as [unused12].
    """
    special = {int(token_id) for token_id in tokenizer.all_special_ids}
    special |= {int(i) for i, token in tokenizer.added_tokens_decoder.items() if token.special}
    by_id = sorted((int(i), str(token)) for token, i in tokenizer.get_vocab().items())
    return {i: token for i, token in by_id if i not in special and not _UNUSED.fullmatch(token)}


def table_names(tokens: Mapping[int, str]) -> dict[int, str]:
    """A name for each token: the word that it is or begins, or "##" and the letters with which a word goes on.

    A name that another token has already stays as the tokenizer writes it.

    >>> table_names({5: "▁the", 7: "ing", 8: ",", 9: "▁,"})
    {5: 'the', 7: '##ing', 8: ',', 9: '▁,'}
    """
    name_of = _naming(tokens)
    names_in_use = {token for token in tokens.values() if name_of(token) == token}
    names: dict[int, str] = {}
    for i, token in tokens.items():
        name = name_of(token)
        if not name or name in names_in_use:
            name = token
        names_in_use.add(name)
        names[i] = name
    return names


def _naming(tokens: Mapping[int, str]) -> Callable[[str], str]:
    """How this tokenizer marks its tokens, by looking: not at all, when no mark is common."""
    marks: dict[str, Callable[[str], str]] = {"##": _plain, "▁": _spaced, "Ġ": _byte_level, "</w>": _closed}
    counts = {
        mark: sum(token.endswith(mark) if mark == "</w>" else token.startswith(mark) for token in tokens.values())
        for mark in marks
    }
    mark = max(counts, key=counts.__getitem__)
    return marks[mark] if counts[mark] > _SHARE * len(tokens) else _plain


def _plain(token: str) -> str:
    return token


def _spaced(token: str) -> str:
    """SentencePiece: a word begins with ▁."""
    if _BYTE.fullmatch(token):
        return token
    return _begun(token.replace("▁", " "))


def _byte_level(token: str) -> str:
    """GPT-2 and its kin: every byte is a letter, a space is Ġ; a part of a character stays as it is."""
    if not all(letter in _bytes() for letter in token):
        return token
    try:
        return _begun(bytes(_bytes()[letter] for letter in token).decode("utf-8"))
    except UnicodeDecodeError:
        return token


def _closed(token: str) -> str:
    """GPT and CLIP: a word ends with </w>."""
    return token.removesuffix("</w>") if token.endswith("</w>") else f"{token}##"


def _begun(text: str) -> str:
    word = text.strip()
    inside = text == word and any(letter.isalnum() for letter in word)
    return f"##{word}" if inside else word


@cache
def _bytes() -> dict[str, int]:
    """The byte that each letter stands for: itself where it can be seen, else the next letter from 256 on."""
    visible = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {**{chr(byte): byte for byte in visible}, **{chr(256 + i): byte for i, byte in enumerate(hidden)}}
