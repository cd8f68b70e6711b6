"""ELMo as an encoder: its tokens are words, its layers the character network and the biLM layers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from uncone.data.digest import file_digest
from uncone.encoders.elmo.model import load_elmo
from uncone.encoders.encoder import Passage, States
from uncone.encoders.static import WordPassages

__all__ = ["ElmoEncoder"]


class ElmoEncoder(WordPassages):
    """ELMo in its original form: layer 0 is the character projection, doubled."""

    kind = "ELMo"
    window = None

    def __init__(self, name: str, folder: Path, device: str = "cpu") -> None:
        self.name = name
        self.folder = folder
        self.model = load_elmo(folder).to(device)
        self.layers = self.model.layers
        self.dim = self.model.dim
        self.model_bytes = sum(one.numel() * one.element_size() for one in self.model.parameters())
        self.bytes_per_token = 4 * self.dim * (self.layers + 24)

    def encode(self, batch: Sequence[Passage]) -> States:
        from uncone.encoders.transformer.transformer import TorchStates

        layers = self.model.encode([passage.tokens for passage in batch])
        longest = int(layers[0].shape[1])
        mask = np.arange(longest) < np.array([passage.length for passage in batch])[:, None]
        return TorchStates(layers, np.flatnonzero(mask))

    def fingerprint(self) -> str:
        return file_digest([*self.folder.glob("*options.json"), *self.folder.glob("*weights.hdf5")])
