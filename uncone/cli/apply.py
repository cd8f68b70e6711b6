"""`uncone apply`: a saved repair on new vectors, on texts, or on one sentence."""

from __future__ import annotations

import json as plain_json
import math
from pathlib import Path
from typing import Annotated, Any

import typer

from uncone.cli.model_options import (
    AllowPickle,
    BatchSize,
    Data,
    Device,
    Dtype,
    Layer,
    Model,
    NoCache,
    Pooling,
    Revision,
    TrustRemoteCode,
    check_encoding,
    loading_of,
)
from uncone.cli.output import say
from uncone.errors import OptionError

__all__ = ["apply"]


def apply(
    repair: Annotated[
        str, typer.Argument(metavar="REPAIR", help="A folder that uncone fix --save has written.", show_default=False)
    ],
    source: Annotated[
        str | None,
        typer.Argument(metavar="SOURCE", help="Vectors; with --model, texts. Not with --text.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The repaired vectors: .npy, .npz, .parquet, .csv, .tsv, .jsonl, .safetensors, .vec or .txt.",
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(help="Without a SOURCE: a text to repair the vector of. With one: its column of texts."),
    ] = None,
    column: Annotated[str | None, typer.Option(help="Column, field or array that holds the vectors.")] = None,
    tensor: Annotated[str | None, typer.Option(help="Tensor of a .safetensors file.")] = None,
    model: Model = None,
    layer: Layer = None,
    pooling: Pooling = None,
    batch_size: BatchSize = None,
    limit: Annotated[int | None, typer.Option(help="With --model: take the first so many texts.")] = None,
    data: Data = None,
    no_cache: NoCache = False,
    revision: Revision = None,
    device: Device = "auto",
    dtype: Dtype = "float32",
    allow_pickle: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> int:
    """Apply a saved repair to new vectors or texts, in the layer and pooling that it was fitted on.

    Example: uncone apply repair new.npy -o new-fixed.npy
    """
    if model is not None and (column or tensor):
        raise OptionError("--column and --tensor are for vectors; with --model the source holds texts: use --text.")
    check_encoding(model, layer=layer, pooling=pooling, limit=limit, batch_size=batch_size)
    loading = loading_of(revision, device, dtype, allow_pickle, trust_remote_code) if model is not None else None
    encoding: dict[str, Any] = {
        "model": model,
        "layer": layer,
        "pooling": pooling,
        "batch_size": batch_size,
        "limit": limit,
        "data": data,
        "loading": loading,
        "cache": not no_cache,
    }
    import uncone
    from uncone.cli.progress import progress_bar

    if source is None:
        return _texts(repair, text or [], out, encoding)
    if out is None:
        raise OptionError("Say where the repaired vectors go: -o fixed.npy.")
    with progress_bar() as progress:
        done: Any = uncone.apply(
            repair, source, out=out, text=text, column=column, tensor=tensor, progress=progress, **encoding
        )
    lines = [f"{done.rows:,} rows of {done.dim} dimensions ({done.dtype})"]
    lines += [f"{done.unusable:,} rows that are not finite stay so"] if done.unusable else []
    lines += [f"no place for {', '.join(done.dropped)}"] if done.dropped else []
    say("".join(f"  {line}\n" for line in [*lines, f"wrote {out}"]))
    return 0


def _texts(repair: str, texts: list[str], out: Path | None, encoding: dict[str, Any]) -> int:
    """Texts from the command line: their vectors as JSON lines, or as a file."""
    if not texts:
        raise OptionError("Name what to repair: a file of vectors, or --text with --model.")
    if encoding["model"] is None:
        raise OptionError("A text needs the model that the repair was fitted for: name it with --model.")
    blank = next((text for text in texts if not text.strip()), None)
    if blank is not None:
        raise OptionError(f"--text {blank!r} is blank, and a blank text has no vector. Write a sentence.")
    import uncone

    if out is not None:
        uncone.apply(repair, texts, out=out, **encoding)
        say(f"  wrote {out}\n")
        return 0
    vectors: Any = uncone.apply(repair, texts, **encoding)
    for text, vector in zip(texts, vectors.tolist(), strict=True):
        if not all(map(math.isfinite, vector)):
            raise OptionError(f"--text {text[:40]!r} has no vector: the model sees no token in it. Write a sentence.")
        say(plain_json.dumps({"text": text, "embedding": vector}, ensure_ascii=False) + "\n")
    return 0
