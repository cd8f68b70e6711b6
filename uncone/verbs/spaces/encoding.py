"""From texts and a model to vectors, for every verb."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from uncone.errors import FormatError

if TYPE_CHECKING:
    from uncone.data.batch import IntVector, Matrix
    from uncone.data.source import Source
    from uncone.data.texts.texts import TextSource
    from uncone.encoders.open import Loading
    from uncone.encoders.pooling import Pooling
    from uncone.verbs.options.shared import SpaceOptions

__all__ = [
    "WHOLE",
    "Encoding",
    "Progress",
    "encoded",
    "encoded_like",
    "gather_rows",
    "is_paragraphs",
    "open_space",
    "open_texts_of",
    "pooling_of",
    "read_vectors",
    "row_count",
]

WHOLE = "all modules"
"""The layer of a whole sentence-transformers pipeline, which has modules behind its pooling."""

Progress = Callable[[str, int, int | None], None]
"""Told the step, the rows or texts done since the last call, and how many there are."""


@dataclass(frozen=True)
class Encoding:
    """A model, and how it encodes texts; None stands for the model's own recipe."""

    model: Any
    layer: str | int | None = None
    pooling: str | None = None
    prompt: str = ""
    batch_size: int | None = None
    limit: int | None = None
    loading: Loading | None = None
    cache: bool = True
    """Whether the vectors of texts are kept on disk, and taken from there."""


def encoded(texts: TextSource, encoding: Encoding, least: int = 2) -> Source:
    """The vectors of texts: by the model's own recipe, unless a layer or a pooling is requested."""
    from uncone.data.cache import VectorCache
    from uncone.encoders.open import sentence_source

    return sentence_source(
        texts,
        encoding.model,
        layer=encoding.layer,
        pooling=encoding.pooling,
        prompt=encoding.prompt,
        batch_size=encoding.batch_size,
        limit=encoding.limit,
        loading=encoding.loading,
        cache=VectorCache() if encoding.cache else None,
        least=least,
    )


def encoded_like(texts: TextSource, encoding: Encoding, provenance: Mapping[str, Any], least: int = 1) -> Source:
    """The vectors of texts with the layers, pooling, length and prompt that a repair was fitted on."""
    from uncone.data.cache import VectorCache
    from uncone.encoders.cached import CachedTexts
    from uncone.encoders.open import open_encoder
    from uncone.encoders.text_vectors import EncodedTexts

    if provenance["layer"] == WHOLE:
        return encoded(texts, replace(encoding, prompt=provenance["prompt"]), least)
    encoder = open_encoder(encoding.model, encoding.loading)
    source = EncodedTexts(texts, encoder, pooling_of(provenance, encoder.layers), encoding.batch_size, encoding.limit)
    source.least = least
    return CachedTexts(source, VectorCache()) if encoding.cache else source


def pooling_of(provenance: Mapping[str, Any], layers: int) -> Pooling:
    """The pooling in the provenance of a repair."""
    from uncone.encoders.pooling import Pooling, parse_layers

    layer, *settings = (provenance[name] for name in ("layer", "pooling", "normalize", "prompt"))
    return Pooling(parse_layers(layer, layers), *settings)


def open_space(source: Any, options: SpaceOptions, repair: str | os.PathLike[str] | None = None) -> Source:  # noqa: ANN401
    """The vectors of a source: as they are, or made from its texts by a model; through a repair if there is one."""
    from uncone.data.open import open_source
    from uncone.data.source import Options

    if repair is not None:
        from uncone.verbs.spaces.opener import SpaceOpener

        return SpaceOpener(options, repair).space(source)[0]
    encoding = options.encoding
    if encoding is not None:
        return encoded(open_texts_of(source, options.text, options.label, options.data), encoding)
    texts, labels, text = options.texts, options.labels, next(iter(options.text), None)
    return open_source(source, Options(options.column, options.tensor, text, options.label), texts=texts, labels=labels)


def open_texts_of(
    source: Any,  # noqa: ANN401 - a path, a corpus, strings or an open source
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    data: str | os.PathLike[str] | None = None,
) -> TextSource:
    """The texts that a path, the name of a corpus or a list of strings stands for."""
    from uncone.data.texts.texts import open_texts

    return open_texts(source, text=text or (), label=label, data=data)


def read_vectors(source: Source, rows: int, step: str, progress: Progress | None) -> Matrix:
    """All vectors of a source in memory (rows, d); NaN for missing ones."""
    import numpy as np

    vectors: Matrix = np.full((rows, source.dim), np.nan, np.float32)
    first = 0
    for part in source.read():
        last = first + len(part.vectors)
        with np.errstate(over="ignore"):
            vectors[first:last] = part.vectors
        if progress is not None:
            progress(step, last - first, rows)
        first = last
    return vectors


def row_count(source: Source) -> int:
    """The number of vectors of a source, which may have to be read for it."""
    return source.rows if source.rows is not None else sum(len(part.vectors) for part in source.read())


def gather_rows(source: Source, rows: IntVector, progress: Progress | None = None) -> Matrix:
    """Some vectors of a stream (n, d), in the order of `rows`, with repeats.

    Raises:
        FormatError: there is no such row.
    """
    import numpy as np

    distinct, places = np.unique(rows, return_inverse=True)
    vectors: Matrix = np.full((len(distinct), source.dim), np.nan, np.float32)
    first = 0
    for part in source.read():
        inside = slice(*np.searchsorted(distinct, [first, first + len(part.vectors)]).tolist())
        vectors[inside] = np.asarray(part.vectors)[distinct[inside] - first]
        first += len(part.vectors)
        if progress is not None:
            progress("labeled pairs", len(part.vectors), source.rows)
    if first <= (distinct[-1] if len(distinct) else -1):
        raise FormatError(f"{source.name} has {first:,} rows, but a pair names row {distinct[-1]:,}.")
    return np.asarray(vectors[places])


def is_paragraphs(source: TextSource) -> bool:
    """Whether a text of the source may hold several sentences, one after another."""
    return source.kind == "lines" or source.name.lower().replace("-", "").startswith("wikitext2")
