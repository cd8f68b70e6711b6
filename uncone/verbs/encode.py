"""Texts to vectors in a file: `encode`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uncone.verbs.options.encode import ALL_LAYERS, EncodeOptions
from uncone.verbs.spaces.encoding import Encoding, encoded, open_texts_of
from uncone.verbs.spaces.verb import verb

if TYPE_CHECKING:
    from uncone.data.source import Source
    from uncone.data.texts.texts import TextSource

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

    The columns of a table go along. The file appears when it is complete. An interrupted run goes on where it stopped
    if it is started again, and gives the same bytes.
    """
    from uncone.data.writing.atomic import check_output, check_output_folder
    from uncone.data.writing.rewrite import SHARDS, output_suffix, rewrite
    from uncone.data.writing.side_columns import files_of
    from uncone.encoders.cached import ResumableTexts

    assert options.out is not None
    out, separate = Path(options.out), options.layer == ALL_LAYERS
    suffix = output_suffix(out, shards=True, layers=separate)
    opened = open_texts_of(texts, options.text, None, options.data)
    check_output_folder(out) if suffix == SHARDS else check_output(out, opened.files)
    count = _count(opened, options.limit)
    source = _source(opened, options, separate)
    resumable = ResumableTexts(source, count, out, options.batch_size, options.progress)
    layers = [f"layer_{i}" for i in range(_layers(source))] if separate else []
    if suffix != SHARDS:
        check_output(out, files_of(resumable))
    result = rewrite(resumable, out, layers=layers, shards=True)
    resumable.remove_journal()
    notes = tuple(getattr(source, "notes", ()))
    dim = result.dim // (len(layers) or 1)
    blank = result.unusable
    return Encoded(
        str(out), result.rows, dim, tuple(layers), blank, resumable.resumed, result.dropped, resumable.note or "", notes
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


def _layers(source: Source) -> int:
    model_texts: Any = getattr(source, "source", source)
    return len(model_texts.pooling.layers)
