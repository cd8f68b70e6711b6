"""What every verb does with texts and a model before it has vectors."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uncone.data.source import Source
    from uncone.data.texts.texts import TextSource
    from uncone.encoders.open import Loading
    from uncone.encoders.source import Pooling

__all__ = ["WHOLE", "Encoding", "Progress", "encoded", "encoded_like", "open_texts_of", "pooling_of"]

WHOLE = "all modules"
"""The layer of a whole sentence-transformers pipeline, which has modules behind its pooling."""

Progress = Callable[[str, int, int | None], None]
"""Told the step, the rows or texts done since the last call, and how many there are."""


@dataclass(frozen=True)
class Encoding:
    """The model, and what was said about how it makes one vector of a text; None is as the model's own recipe says."""

    model: Any
    layer: str | int | None = None
    pooling: str | None = None
    prompt: str = ""
    batch_size: int | None = None
    limit: int | None = None
    loading: Loading | None = None
    cache: bool = True
    """Whether the vectors of texts are kept on disk, and taken from there."""


def encoded(texts: TextSource, asked: Encoding, least: int = 2) -> Source:
    """The vectors of texts: as the model's own recipe says, unless a layer or a pooling is asked for."""
    from uncone.data.cache.cache import VectorCache
    from uncone.encoders.open import sentence_source

    return sentence_source(
        texts,
        asked.model,
        layer=asked.layer,
        pooling=asked.pooling,
        prompt=asked.prompt,
        batch_size=asked.batch_size,
        limit=asked.limit,
        loading=asked.loading,
        cache=VectorCache() if asked.cache else None,
        least=least,
    )


def encoded_like(texts: TextSource, asked: Encoding, known: Mapping[str, Any], least: int = 1) -> Source:
    """The vectors of texts as a repair knows them: the layers, pooling, length and prompt that it was fitted on."""
    from uncone.data.cache.cache import VectorCache
    from uncone.encoders.cached import CachedTexts
    from uncone.encoders.open import open_encoder
    from uncone.encoders.source import EncodedTexts

    if known["layer"] == WHOLE:
        return encoded(texts, replace(asked, prompt=known["prompt"]), least)
    encoder = open_encoder(asked.model, asked.loading)
    found = EncodedTexts(texts, encoder, pooling_of(known, encoder.layers), asked.batch_size, asked.limit)
    found.least = least
    return CachedTexts(found, VectorCache()) if asked.cache else found


def pooling_of(known: Mapping[str, Any], layers: int) -> Pooling:
    """How a text becomes one vector, from what was saved with a repair."""
    from uncone.encoders.source import Pooling, parse_layers

    return Pooling(parse_layers(known["layer"], layers), known["pooling"], known["normalize"], known["prompt"])


def open_texts_of(
    source: Any,  # noqa: ANN401 - a path, a corpus, strings or an open source
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    data: str | os.PathLike[str] | None = None,
) -> TextSource:
    """The texts that a path, the name of a corpus or a list of strings stands for."""
    from uncone.data.texts.texts import TextSource, open_texts

    if isinstance(source, TextSource):
        return source
    columns = [] if text is None else [text] if isinstance(text, str) else list(text)
    return open_texts(source, text=columns, label=label, data=data)
