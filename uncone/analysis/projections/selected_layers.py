"""Some layers of an encoder, as if it had no others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from uncone.data.batch import IntVector, Matrix
from uncone.encoders.encoder import Encoder, Passage, States, Window

__all__ = ["ChosenLayers"]


class ChosenLayers(Encoder):
    """An encoder whose layer i is the mean of the layers `chosen[i]` of another."""

    def __init__(self, encoder: Encoder, chosen: Sequence[tuple[int, ...]]) -> None:
        self.inner = encoder
        self.chosen = tuple(chosen)
        self.name, self.kind, self.dim, self.window = encoder.name, encoder.kind, encoder.dim, encoder.window
        self.note = encoder.note
        self.layers = len(self.chosen)
        self.model_bytes, self.bytes_per_token = encoder.model_bytes, encoder.bytes_per_token

    def passages(self, texts: Sequence[str], window: Window) -> list[list[Passage]]:
        """The passages of the encoder."""
        return self.inner.passages(texts, window)

    def encode(self, batch: Sequence[Passage]) -> States:
        """The states of a batch, at the chosen layers."""
        return _ChosenStates(self.inner.encode(batch), self.chosen)

    def fingerprint(self) -> str:
        """The fingerprint of the encoder, whatever layers are chosen."""
        return self.inner.fingerprint()

    def prepare(self, texts: Iterable[str]) -> None:
        """Prepare the encoder."""
        self.inner.prepare(texts)

    def token_name(self, token: Any) -> str:  # noqa: ANN401 - an id or a word
        """The name of a token in the encoder."""
        return self.inner.token_name(token)


class _ChosenStates(States):
    def __init__(self, inner: States, chosen: Sequence[tuple[int, ...]]) -> None:
        self.inner, self.chosen = inner, chosen

    def pooled(self, layer: int, tokens: IntVector, starts: IntVector) -> Matrix:
        return self._mean(self.inner.pooled, layer, tokens, starts)

    def longest(self, layer: int, tokens: IntVector, starts: IntVector) -> Matrix:
        return self._mean(self.inner.longest, layer, tokens, starts)

    def _mean(
        self, pool: Callable[[int, IntVector, IntVector], Matrix], layer: int, tokens: IntVector, starts: IntVector
    ) -> Matrix:
        states = [pool(one, tokens, starts) for one in self.chosen[layer]]
        return states[0] if len(states) == 1 else np.asarray(np.mean(states, axis=0, dtype=np.float32))
