"""How the vectors of tokens, in one layer or several, become the vector of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from uncone.data.batch import Matrix
from uncone.encoders.encoder import Encoder
from uncone.encoders.rows.rows import POOLINGS
from uncone.errors import OptionError

__all__ = ["Pooling", "parse_layers"]


@dataclass(frozen=True)
class Pooling:
    """How a text becomes one vector: the mean over `layers` of its tokens pooled as `kind`; perhaps at length one."""

    layers: tuple[int, ...] = (-1,)
    kind: str = "mean"
    normalize: bool = False
    prompt: str = ""

    def __post_init__(self) -> None:
        if self.kind not in POOLINGS:
            raise OptionError(f"There is no pooling {self.kind!r}; choose from {', '.join(POOLINGS)}.")

    @property
    def values(self) -> dict[str, Any]:
        """The same as plain values, as they are saved with vectors and repairs."""
        layer = ",".join(map(str, self.layers))
        return {"layer": layer, "pooling": self.kind, "normalize": self.normalize, "prompt": self.prompt}

    def average(self, layers: Sequence[Matrix]) -> Matrix:
        """The mean over the vectors (n, d) of several layers."""
        return layers[0] if len(layers) == 1 else np.asarray(np.mean(layers, axis=0, dtype=np.float32))

    def finished(self, vectors: Matrix) -> Matrix:
        """Pooled vectors (n, d), at length one if `normalize` is set."""
        if not self.normalize:
            return vectors
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(lengths > 0, lengths, 1))

    def describe(self, encoder: Encoder, truncated: int) -> str:
        """The note of a report on how texts became vectors."""
        parts = [f"{encoder.name}, layer {', '.join(map(str, self.layers))}, {self.kind} pooling"]
        parts += ["normalized"] if self.normalize else []
        parts += [f"prompt {self.prompt!r}"] if self.prompt else []
        parts += [f"{truncated:,} texts truncated to {encoder.window} tokens"] if truncated else []
        return ", ".join(parts)


def parse_layers(text: str | int, layers: int) -> tuple[int, ...]:
    """Layer numbers from "12", "-1" or "1,-1"; negative ones count from the end.

    >>> parse_layers("1,-1", 13)
    (1, 12)

    Raises:
        OptionError: not a layer of this model.
    """
    try:
        numbers = [int(part) for part in str(text).split(",")]
    except ValueError as error:
        raise OptionError(f"--layer takes numbers such as 12, -1 or 1,-1, not {text!r}.") from error
    for number in numbers:
        if not -layers <= number < layers:
            raise OptionError(f"There is no layer {number}: the model has layers 0 to {layers - 1} (-1 is the last).")
    return tuple(number % layers for number in numbers)
