"""ELMo in its original format, options.json with weights.hdf5: every layer of a bidirectional language model.

Peters et al. 2018, Deep contextualized word representations. A word goes through a character CNN, highway layers
and a projection (layer 0), then through LSTM layers with projection, one stack in each direction.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from uncone.data.storage.files import file_digest
from uncone.encoders.encoder import Passage, States
from uncone.encoders.static import WordPassages
from uncone.errors import ModelError

__all__ = ["Elmo", "ElmoEncoder", "is_elmo", "load_elmo"]

_CHARACTERS = 261
"""The 256 bytes, then begin and end of sentence, begin and end of word, padding; as ids they count from 1."""
_BOS, _EOS, _BEGIN, _END, _PAD = range(257, 262)
_ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh}
_WORDS_AT_ONCE = 512
_STEPS_AT_ONCE = 64
"""Words of the CNN and time steps of the input's share of the gates, computed together: they bound the memory."""


def is_elmo(folder: Path) -> bool:
    """Whether the folder holds one `*options.json` and one `*weights.hdf5`."""
    return all(len(_files_named(folder, ending)) == 1 for ending in ("options.json", "weights.hdf5"))


def load_elmo(folder: Path) -> Elmo:
    """The model of a folder with one `*options.json` and one `*weights.hdf5`.

    Raises:
        ModelError: a file is missing or damaged, or the two do not belong together.
    """
    options, weights = _files_named(folder, "options.json"), _files_named(folder, "weights.hdf5")
    if len(options) != 1 or len(weights) != 1:
        raise ModelError(
            f"{folder} holds {len(options)} *options.json and {len(weights)} *weights.hdf5, "
            "and ELMo needs one of each: give a folder with the two files of one model."
        )
    settings = _OptionsFile(options[0]).settings()
    return Elmo(settings, _read(weights[0], _layout(settings)))


def _spell(sentence: Sequence[str], most: int) -> list[tuple[int, ...]]:
    """Ids of each word: begin, UTF-8 bytes, end, cut to `most`; before and after stand the words BOS and EOS.

    >>> _spell(["né"], 50)
    [(259, 257, 260), (259, 111, 196, 170, 260), (259, 258, 260)]
    """
    # Half a surrogate pair is no character, and has no bytes in UTF-8.
    words = [[byte + 1 for byte in word.encode("utf-8", "ignore")] for word in sentence]
    return [(_BEGIN, *letters[: most - 2], _END) for letters in ([_BOS], *words, [_EOS])]


@dataclass(frozen=True)
class _Settings:
    """What options.json says; no clipping is a clip at infinity."""

    filters: tuple[tuple[int, int], ...]
    activation: str
    n_highway: int
    embedding: int
    letters: int
    n_layers: int
    cells: int
    projection: int
    cell_clip: float
    proj_clip: float
    skip: bool


class Elmo(nn.Module):
    """A bidirectional language model that only reads: float32, no gradients.

    `layers` counts the LSTM layers and layer 0, the projected words; `dim` is the width of every layer.
    """

    def __init__(self, settings: _Settings, weights: Mapping[str, Tensor]) -> None:
        super().__init__()
        self.layers = settings.n_layers + 1
        self.dim = 2 * settings.projection
        self._settings = settings
        # As in the file, by its own names: the formulas below take a row on the left, a matrix on the right.
        self._weights = nn.ParameterDict({k: nn.Parameter(v, requires_grad=False) for k, v in weights.items()})
        self.eval()

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        """Each layer as (sentences, words, dim), as wide as the longest sentence; beyond a sentence's end is noise.

        Every sentence starts from a zero state: its vectors do not depend on its neighbors.
        """
        most = self._settings.letters
        lookup: dict[tuple[int, ...], int] = {(): 0}  # row 0 is the word that fills up short sentences
        numbers = [[lookup.setdefault(w, len(lookup)) for w in _spell(sentence, most)] for sentence in sentences]
        # Further to the right every window is the same, all padding: one of it is enough for the maximum.
        length = min(most, max(map(len, lookup)) + max(width for width, _ in self._settings.filters))
        letters = torch.tensor([[*word, *[_PAD] * (length - len(word))] for word in lookup])
        letters[0] = 0
        lengths = torch.tensor([len(row) for row in numbers], dtype=torch.long)
        longest = max(map(len, numbers), default=2)
        filled = [row + [0] * (longest - len(row)) for row in numbers]
        words = torch.tensor(filled, dtype=torch.long).reshape(len(numbers), longest)
        device = next(self.parameters()).device
        layers: list[Tensor] = self(letters.to(device), words.to(device), lengths.to(device))
        return layers

    def forward(self, letters: Tensor, words: Tensor, lengths: Tensor) -> list[Tensor]:
        """`letters` (v, l) spell v words, `words` (n, t) are rows of it, `lengths` (n) count BOS and EOS too."""
        ahead = torch.cat([self._project(part) for part in torch.split(letters, _WORDS_AT_ONCE)])[words]
        position = torch.arange(words.shape[1], device=words.device)
        # Each sentence is turned round within its own length: padding comes last both ways, and needs no mask.
        turned = torch.where(position < lengths[:, None], lengths[:, None] - 1 - position, position)[..., None]
        back = ahead.take_along_dim(turned, dim=1)
        layers = [torch.cat([ahead, ahead], dim=-1)]
        for layer in range(self._settings.n_layers):
            new_ahead, new_back = self._run(ahead, _cell(0, layer)), self._run(back, _cell(1, layer))
            skips = self._settings.skip and layer > 0
            ahead, back = (new_ahead + ahead, new_back + back) if skips else (new_ahead, new_back)
            layers.append(torch.cat([ahead, back.take_along_dim(turned, dim=1)], dim=-1))
        return [layer[:, 1:-1] for layer in layers]

    def _project(self, letters: Tensor) -> Tensor:
        """Character CNN, highway layers and projection: (v, l) ids to (v, projection)."""
        weights = self._weights
        # Id 0, of the word that fills up, is a row of zeros before those of the file.
        rows = F.embedding(letters, F.pad(weights["char_embed"], (0, 0, 1, 0))).transpose(1, 2)
        pooled = []
        for i in range(len(self._settings.filters)):
            windows = F.conv1d(rows, weights[f"CNN/W_cnn_{i}"][0].permute(2, 1, 0), weights[f"CNN/b_cnn_{i}"])
            pooled.append(windows.amax(dim=-1))
        # The maximum over all windows, those of padding too, comes before the activation.
        vectors = _ACTIVATIONS[self._settings.activation](torch.cat(pooled, dim=-1))
        for k in range(self._settings.n_highway):
            name = f"CNN_high_{k}"
            # What the file calls carry lets the transform through, not the input.
            carry = torch.sigmoid(vectors @ weights[f"{name}/W_carry"] + weights[f"{name}/b_carry"])
            transform = torch.relu(vectors @ weights[f"{name}/W_transform"] + weights[f"{name}/b_transform"])
            vectors = carry * transform + (1 - carry) * vectors
        projected: Tensor = vectors @ weights["CNN_proj/W_proj"] + weights["CNN_proj/b_proj"]
        return projected

    def _run(self, rows: Tensor, name: str) -> Tensor:
        """One LSTM in one direction, (n, t, projection) to the same; nn.LSTM with proj_size cannot clip."""
        cells, cell_clip, proj_clip = self._settings.cells, self._settings.cell_clip, self._settings.proj_clip
        from_input, from_output = self._weights[f"{name}/W_0"].chunk(2)
        # The forget gate's bias is 1 more than in the file: TensorFlow adds it at run time.
        bias = self._weights[f"{name}/B"] + F.pad(rows.new_ones(cells), (2 * cells, cells))
        projection = self._weights[f"{name}/W_P_0"]
        cell, output = rows.new_zeros(len(rows), cells), rows.new_zeros(len(rows), rows.shape[2])
        outputs = []
        for part in torch.split(rows, _STEPS_AT_ONCE, dim=1):
            for gates in (part @ from_input + bias).unbind(dim=1):
                enter, new, keep, leave = torch.addmm(gates, output, from_output).chunk(4, dim=-1)
                cell = (keep.sigmoid() * cell + enter.sigmoid() * new.tanh()).clamp(-cell_clip, cell_clip)
                output = ((leave.sigmoid() * cell.tanh()) @ projection).clamp(-proj_clip, proj_clip)
                outputs.append(output)
        return torch.stack(outputs, dim=1)


def _cell(way: int, layer: int) -> str:
    return f"RNN_{way}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"


def _layout(settings: _Settings) -> dict[str, tuple[int, ...]]:
    """Every array of weights.hdf5 and its shape."""
    filters, width, cells = sum(n for _, n in settings.filters), settings.projection, settings.cells
    layout: dict[str, tuple[int, ...]] = {"char_embed": (_CHARACTERS, settings.embedding)}
    for i, (window, n) in enumerate(settings.filters):
        layout |= {f"CNN/W_cnn_{i}": (1, window, settings.embedding, n), f"CNN/b_cnn_{i}": (n,)}
    for k, part in product(range(settings.n_highway), ("transform", "carry")):
        layout |= {f"CNN_high_{k}/W_{part}": (filters, filters), f"CNN_high_{k}/b_{part}": (filters,)}
    layout |= {"CNN_proj/W_proj": (filters, width), "CNN_proj/b_proj": (width,)}
    for way, layer in product(range(2), range(settings.n_layers)):
        cell = _cell(way, layer)
        layout |= {f"{cell}/W_0": (2 * width, 4 * cells), f"{cell}/B": (4 * cells,), f"{cell}/W_P_0": (cells, width)}
    return layout


def _read(path: Path, layout: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
    try:
        with h5py.File(path, "r") as file:
            return {key: _array(file, path, key, shape) for key, shape in layout.items()}
    except (OSError, RuntimeError, TypeError, ValueError) as error:  # h5py's ways to say that a file is damaged
        raise ModelError(f"{path} is not whole HDF5 ({_line(error)}): get ELMo's weights.hdf5 once more.") from error


def _array(file: h5py.File, path: Path, key: str, shape: tuple[int, ...]) -> Tensor:
    array = file.get(key)
    advice = "do options.json and weights.hdf5 belong to the same model?"
    if not isinstance(array, h5py.Dataset):
        raise ModelError(f"{path} has no array {key}, and its options.json asks for one of shape {shape}: {advice}")
    if array.shape != shape or array.dtype.kind != "f":
        actual = f"{array.dtype} of shape {array.shape}"
        raise ModelError(f"{path}: {key} is {actual}, and its options.json asks for floats of shape {shape}: {advice}")
    with np.errstate(over="ignore"):
        values = torch.from_numpy(array[()].astype(np.float32, copy=False))
    if not values.isfinite().all():
        raise ModelError(f"{path}: {key} holds NaN or infinity, and weights are finite: get weights.hdf5 once more.")
    return values


class _OptionsFile:
    """An options.json, with a message for everything in it that cannot be used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ModelError(f"{path} is not JSON ({_line(error)}): get ELMo's options.json once more.") from error

    def settings(self) -> _Settings:
        """What it says, checked."""
        filters: Any = self._value("char_cnn", "filters")
        if not isinstance(filters, list) or not filters or not all(map(_is_filter, filters)):
            raise self._refusal("char_cnn.filters", filters, "a list of [width, number] pairs")
        activation = self._value("char_cnn", "activation")
        if activation not in list(_ACTIVATIONS):
            raise self._refusal("char_cnn.activation", activation, " or ".join(_ACTIVATIONS))
        return _Settings(
            filters=tuple((width, number) for width, number in filters),
            activation=activation,
            n_highway=self._count("char_cnn", "n_highway", least=0),
            embedding=self._count("char_cnn", "embedding", "dim"),
            # Room for the two markers and a byte between them, and for the widest filter.
            letters=self._count("char_cnn", "max_characters_per_token", least=max(3, *(w for w, _ in filters))),
            n_layers=self._count("lstm", "n_layers"),
            cells=self._count("lstm", "dim"),
            projection=self._count("lstm", "projection_dim"),
            cell_clip=self._clip("cell_clip"),
            proj_clip=self._clip("proj_clip"),
            skip=bool(self._value("lstm").get("use_skip_connections")),
        )

    def _value(self, *keys: str) -> Any:  # noqa: ANN401 - whatever the JSON holds
        value = self.content
        for depth, key in enumerate(keys, 1):
            if not isinstance(value, dict) or key not in value:
                name = ".".join(keys[:depth])
                raise ModelError(f"{self.path} has no {name}, which ELMo needs: is it ELMo's own options.json?")
            value = value[key]
        return value

    def _count(self, *keys: str, least: int = 1) -> int:
        value = self._value(*keys)
        if not _is_count(value, least):
            raise self._refusal(".".join(keys), value, f"a whole number, {least} or more")
        return int(value)

    def _clip(self, key: str) -> float:
        value = self._value("lstm").get(key) or 0
        if not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise self._refusal(f"lstm.{key}", value, "0 or more, where 0 is no clipping")
        return float(value) or math.inf

    def _refusal(self, name: str, value: object, need: str) -> ModelError:
        return ModelError(
            f"{self.path} sets {name} to {value!r}, and it must be {need}: is it ELMo's own options.json?"
        )


def _is_count(value: object, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_filter(pair: object) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(map(_is_count, pair))


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _files_named(folder: Path, ending: str) -> list[Path]:
    # Files whose name begins with a dot are what other systems leave beside the real ones.
    return sorted(path for path in folder.glob(f"*{ending}") if path.is_file() and not path.name.startswith("."))


class ElmoEncoder(WordPassages):
    """ELMo in its original form: layer 0 is the character projection, doubled."""

    kind = "ELMo"
    window = None

    def __init__(self, name: str, folder: Path, device: str = "cpu") -> None:
        self.name = name
        self.folder = folder
        self.device = device
        self.model = load_elmo(folder).to(device)
        self.layers = self.model.layers
        self.dim = self.model.dim
        self.model_bytes = sum(parameter.numel() * parameter.element_size() for parameter in self.model.parameters())
        self.bytes_per_token = 4 * self.dim * (self.layers + 24)

    def encode(self, batch: Sequence[Passage]) -> States:
        from uncone.encoders.transformer import TorchStates

        layers = self.model.encode([passage.tokens for passage in batch])
        longest = int(layers[0].shape[1])
        mask = np.arange(longest) < np.array([passage.length for passage in batch])[:, None]
        return TorchStates(layers, np.flatnonzero(mask))

    def fingerprint(self) -> str:
        return file_digest([*self.folder.glob("*options.json"), *self.folder.glob("*weights.hdf5")])
