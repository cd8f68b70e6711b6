"""Texts to vectors in a file: `encode`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from uncone.data.storage.path import path_of
from uncone.verbs.options.encode import ALL_LAYERS, EncodeOptions
from uncone.verbs.spaces.encoding import Encoding, encoded, open_texts_of
from uncone.verbs.spaces.verb import verb

if TYPE_CHECKING:
    from uncone.data.source import Source
    from uncone.data.texts.texts import TextSource
    from uncone.data.writing.rewrite import Rewritten

__all__ = ["Encoded", "encode"]


@dataclass(frozen=True)
class Encoded:
    """What was written: `vectors` of `dim` numbers, in one column or one for each of `layers`.

    `blank` texts have a vector of NaN. `dropped` are columns of the source that the file has no place for. `resumed`
    texts had been encoded by an interrupted run.
    """

    path: str
    vectors: int
    dim: int
    layers: tuple[str, ...]
    blank: int
    resumed: int
    dropped: tuple[str, ...]
    reading: str
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"schema": 1, "verb": "encode", **asdict(self)}

    def __str__(self) -> str:
        """A summary to print."""
        columns = f", {len(self.layers)} layers" if self.layers else ""
        lines = [f"{self.vectors:,} vectors of {self.dim} dimensions{columns}", self.reading]
        lines += [f"{self.resumed:,} of them from an interrupted run"] if self.resumed else []
        lines += [f"{self.blank:,} blank texts have no vector (NaN)"] if self.blank else []
        lines += [f"no place for {', '.join(self.dropped)}"] if self.dropped else []
        return "\n".join([*lines, *self.notes, f"wrote {self.path}"])


@verb(EncodeOptions)
def encode(texts: Any, *, options: EncodeOptions) -> Encoded:  # noqa: ANN401 - a path, a corpus or strings
    """Encode texts with a model, at any layer and pooling, and write the vectors to a file.

    The columns of a table are copied. A file appears when it is complete. An interrupted run continues where it stopped
    when it is started again, and gives the same bytes. An engine writes a folder.
    """
    from uncone.data.writing.rewrite import FOLDER, output_suffix

    assert options.out is not None
    separate = options.layer == ALL_LAYERS
    suffix = output_suffix(options.out, folder=True, layers=separate)
    opened = open_texts_of(texts, options.text, None, options.data)
    return _to_folder(opened, options, separate) if suffix == FOLDER else _to_file(opened, options, separate)


def _to_file(texts: TextSource, options: EncodeOptions, separate: bool) -> Encoded:
    """One file, with the cache, and with a journal that an interrupted run goes on from."""
    from uncone.data.writing.atomic import check_output
    from uncone.data.writing.rewrite import rewrite
    from uncone.data.writing.side_columns import files_of
    from uncone.encoders.cached import ResumableTexts

    out = path_of(str(options.out))
    check_output(out, texts.files)
    count = _count(texts, options.limit)
    source = _source(texts, options, separate)
    resumable = ResumableTexts(source, count, out, options.batch_size, options.progress)
    check_output(out, files_of(resumable))
    names = _layer_names(source, separate)
    result = rewrite(resumable, out, layers=names)
    resumable.remove_journal()
    notes = tuple(getattr(source, "notes", ()))
    return _encoded(result, names, resumable.resumed, resumable.note, notes)


def _to_folder(texts: TextSource, options: EncodeOptions, separate: bool) -> Encoded:
    """A folder of files, without the cache: what is in it must not depend on who encodes which texts."""
    from uncone.encoders.encoder import Encoder
    from uncone.run.models import sent_model
    from uncone.run.shards import write_folder

    engine = options.executor
    source = _source(texts, replace(options, cache=False), separate)
    names = _layer_names(source, separate)
    model = None
    if engine is not None or not isinstance(options.model, Encoder):
        model = sent_model(source, options.model, options.loading)
    folder = write_folder(
        source,
        str(options.out),
        layers=names,
        model=model,
        identity={**source.identity(), "batch_size": options.batch_size},
        engine=engine,
        any_kernel=options.any_kernel,
        progress=("encoding", options.progress),
    )
    return _encoded(folder.written, names, folder.resumed, source.describe(folder.truncated))


def _encoded(
    result: Rewritten, layers: Sequence[str], resumed: int, reading: str | None, notes: tuple[str, ...] = ()
) -> Encoded:
    dim = result.dim // (len(layers) or 1)
    return Encoded(
        str(result.path),
        result.rows,
        dim,
        tuple(layers),
        result.unusable,
        resumed,
        result.dropped,
        reading or "",
        notes,
    )


def _count(texts: TextSource, limit: int | None) -> int:
    """The number of texts to encode, counted first to estimate the time left."""
    from itertools import islice

    from uncone.encoders.text_vectors import check_count

    count = sum(1 for _ in islice(texts.read(), limit))
    check_count(texts.name, count, 1)
    return count


def _source(texts: TextSource, options: EncodeOptions, separate: bool) -> Any:  # noqa: ANN401 - a cached source or not
    settings = (options.pooling, options.prompt, options.batch_size, options.limit, options.loading, options.cache)
    if not separate:
        return encoded(texts, Encoding(options.model, options.layer, *settings), least=1)
    from uncone.data.cache import VectorCache
    from uncone.encoders.cached import CachedTexts
    from uncone.encoders.open import pooled_encoder
    from uncone.encoders.text_vectors import EncodedTexts

    encoder, pooling = pooled_encoder(
        options.model, layer=-1, pooling=options.pooling, prompt=options.prompt, loading=options.loading
    )
    pooling = replace(pooling, layers=tuple(range(encoder.layers)))
    source = EncodedTexts(texts, encoder, pooling, options.batch_size, options.limit, separate=True)
    source.least = 1
    return CachedTexts(source, VectorCache()) if options.cache else source


def _layer_names(source: Source, separate: bool) -> list[str]:
    """The columns or tensors of separate layers."""
    texts: Any = getattr(source, "source", source)
    return [f"layer_{i}" for i in range(len(texts.pooling.layers))] if separate else []
