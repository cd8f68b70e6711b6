"""The contract of an encoder: texts become passages of tokens, passages become the states of every layer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import IntVector, Matrix

if TYPE_CHECKING:
    from uncone.encoders.head import Head

__all__ = ["Encoder", "EncoderIdentity", "Passage", "States", "Window", "model_files", "unknown_share"]


class EncoderIdentity(NamedTuple):
    """The name of a model and a digest of its files: a copy in another folder is the same encoder."""

    name: str
    content: str


@dataclass(frozen=True)
class Window:
    """How long texts are cut: windows of `size` tokens, each `stride` after the last; `cut` takes the first only."""

    size: int | None = None
    stride: int | None = None
    cut: bool = False


@dataclass(frozen=True)
class Passage:
    """What a model sees at once: a text, or a window of a long one.

    `tokens` are what the encoder understands (ids, or the words themselves), `starts` and `ends` their places in the
    text in characters, `special` those that the tokenizer added. `first_token` is the number, in the whole text, of
    the first token that is not special; `whole` is False when the text goes on and is not read further.
    """

    text: str
    tokens: Sequence[Any]
    starts: IntVector
    ends: IntVector
    special: NDArray[np.bool_]
    first_token: int = 0
    whole: bool = True

    @property
    def length(self) -> int:
        """Tokens, with the special ones."""
        return len(self.tokens)


class States(ABC):
    """The vectors of the tokens of a batch of passages at every layer, valid until the next batch.

    Tokens are numbered through the batch: those of the first passage, then those of the second, no padding.
    """

    @abstractmethod
    def pooled(self, layer: int, tokens: IntVector, starts: IntVector) -> Matrix:
        """The mean of each bag of tokens (m, d), float32; bag i is tokens[starts[i] : starts[i + 1]]."""

    @abstractmethod
    def longest(self, layer: int, tokens: IntVector, starts: IntVector) -> Matrix:
        """The maximum per dimension of each bag of tokens (m, d)."""


class Encoder(ABC):
    """A model that gives a vector to every token at every layer: `layers` of them, with layer 0, `dim` wide."""

    name: str
    kind: str
    layers: int
    dim: int
    window: int | None
    """Tokens that the model takes at once; None when there is no limit."""
    note: str | None = None
    """What a reader of the curves has to know of this kind of model."""
    model_bytes: int = 0
    """Memory that the weights take."""
    bytes_per_token: int = 0
    """Memory that encoding takes per token of a batch, about."""
    device: Any = "cpu"
    """Where the model runs, as torch names it."""
    table_note: str | None = None
    """What `input_table` left out, when that has to be known."""
    unknown_token: Any = None
    """The token that stands for what the model doesn't know; None when there is none."""
    head_note: str | None = None
    """Why `head` gives none although the model is of a kind that has one."""

    @abstractmethod
    def passages(self, texts: Sequence[str], window: Window) -> list[list[Passage]]:
        """Each text as one passage or, when it is too long, as several."""

    @abstractmethod
    def encode(self, batch: Sequence[Passage]) -> States:
        """The states of a batch."""

    @abstractmethod
    def fingerprint(self) -> str:
        """A short name for exactly this model, to notice that it was changed."""

    def prepare(self, texts: Iterable[str]) -> None:  # noqa: B027 - most encoders know every word
        """Shown all texts before the first one is encoded."""

    def token_name(self, token: Any) -> str:  # noqa: ANN401 - an id or a word
        """A token as text."""
        return str(token)

    def input_table(self, *, marked: bool = False) -> tuple[Sequence[str], Matrix] | None:
        """The static vectors that texts are looked up in, a name and a row (m, e) for each; None when there are none.

        The order is that of the model's ids or of the file; tokens that no text gives are left out. A name is the word
        that a token is or begins, "##ing" one that goes on; `marked`, it is the token as the tokenizer writes it.
        """
        return None

    def table_name(self, token: Any) -> str:  # noqa: ANN401 - an id or a word
        """The name in `input_table` of the row that a token is looked up in."""
        return self.token_name(token)

    def head(self) -> Head | None:
        """The language-model head behind the last layer, loaded when it is first asked for; None when there is none."""
        return None


def unknown_share(passages: Sequence[Passage], unknown_token: Any) -> float:  # noqa: ANN401 - an id
    """The share of the letters and digits of passages that no token stands for, or an unknown one alone."""
    letters = covered_letters = 0
    for passage in passages:
        covered = np.zeros(len(passage.text), np.bool_)
        # Of a text that was cut, nothing is known beyond the last token.
        end = len(passage.text) if passage.whole else int(passage.ends.max(initial=0))
        for token, start, stop, special in zip(
            passage.tokens, passage.starts, passage.ends, passage.special, strict=True
        ):
            if not special and (unknown_token is None or token != unknown_token):
                covered[start:stop] = True
        is_letter = np.array([letter.isalnum() for letter in passage.text[:end]], np.bool_)
        letters += int(is_letter.sum())
        covered_letters += int((covered[:end] & is_letter).sum())
    return 1 - covered_letters / letters if letters else 0.0


_MODEL_FILES = (".safetensors", ".hdf5", ".json", ".txt", ".model", ".py")


def model_files(encoder: Encoder) -> list[Path]:
    """The files that an encoder was read from, if it knows."""
    if isinstance(path := getattr(encoder, "path", None), Path):
        return [path]
    files = list(getattr(encoder, "files", ()))
    folder = files[0].parent if files else getattr(encoder, "folder", None)
    if not isinstance(folder, Path):
        return []
    inside = [path for path in folder.iterdir() if path.suffix in _MODEL_FILES and path.is_file()]
    return inside if any(path.suffix == ".safetensors" for path in inside) else sorted({*inside, *files})
