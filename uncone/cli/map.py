"""`uncone map`: rows of a space as points of a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from uncone.cli.map_output import MapOutputs, deliver_map
from uncone.cli.model_options import (
    AllowPickle,
    BatchSize,
    Data,
    Device,
    Dtype,
    Model,
    NoCache,
    Pooling,
    Prompt,
    Revision,
    TrustRemoteCode,
    check_encoding,
    loading_of,
)
from uncone.cli.output import Outputs
from uncone.errors import OptionError

__all__ = ["map"]


def map(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A file of vectors, a folder or quoted glob of shards, - for a .npy on standard input; with --model, "
            "texts: a file, or snli, wikitext2, ptb, sts.",
            show_default=False,
        ),
    ],
    method: Annotated[str, typer.Option(help="pca, svd (not centred), tsne or umap.")] = "pca",
    dims: Annotated[int, typer.Option(help="2 or 3.")] = 2,
    points: Annotated[
        int | None,
        typer.Option(
            help="Rows shown, at most 200000; more with --png. [default: 5000; pca and svd of one layer 50000]"
        ),
    ] = None,
    colour: Annotated[
        str | None,
        typer.Option(
            help="frequency, kind, position, cluster, label, words, norm or none. [default: words, label, kind or "
            "cluster: the first that there is]"
        ),
    ] = None,
    words: Annotated[
        str | None, typer.Option(help="Words to mark, such as bank,river; rows with them are added.")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", help="How many clusters. [default: the clearest number]")] = None,
    repair: Annotated[
        str | None, typer.Option(help="Folder of a saved repair: the same rows before and after, side by side.")
    ] = None,
    column: Annotated[str | None, typer.Option(help="Column, field or array that holds the vectors.")] = None,
    tensor: Annotated[str | None, typer.Option(help="Tensor of a .safetensors file.")] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(help="Column with the rows' texts; for vectors without columns, a file of lines."),
    ] = None,
    label: Annotated[str | None, typer.Option(help="Column (or file of lines) with labels, to colour by.")] = None,
    model: Model = None,
    layer: Annotated[
        str | None, typer.Option(help="Layer of the model: -1 is the last, 1,-1 averages, all shows every one.")
    ] = None,
    rows: Annotated[
        str, typer.Option(help="With --model, what a point is: sentences, words, tokens or cls.")
    ] = "sentences",
    pooling: Pooling = None,
    prompt: Prompt = "",
    batch_size: BatchSize = None,
    limit: Annotated[int | None, typer.Option(help="With --model: take the first so many texts.")] = None,
    sample: Annotated[int | None, typer.Option(help="With --model: take a seeded sample of so many texts.")] = None,
    split: Annotated[
        bool | None,
        typer.Option("--split/--no-split", help="Cut texts into sentences. [default: line files, for words]"),
    ] = None,
    data: Data = None,
    no_cache: NoCache = False,
    revision: Revision = None,
    device: Device = "auto",
    dtype: Dtype = "float32",
    allow_pickle: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
    html: Annotated[Path, typer.Option(help="The page.")] = Path("uncone-map.html"),
    no_html: Annotated[bool, typer.Option("--no-html", help="Write no page.")] = False,
    json: Annotated[str | None, typer.Option(help="Write all numbers as JSON; - for standard output.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write what it shows as markdown.")] = None,
    png: Annotated[Path | None, typer.Option(help="Write pictures: a .png, or a folder for PNG and SVG.")] = None,
    angles: Annotated[
        str | None,
        typer.Option(help="With --png and --dims 3: from how many sides, or heights:directions as 20:45,20:135."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Chooses rows, starts and clusters.")] = 0,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> int:
    """Show the rows of a space as points: PCA, SVD, t-SNE or UMAP, in the plane or in space.

    Coloured by what is known of the rows, with the word in its sentence under the pointer, and with a sentence on how
    far the picture can be trusted. Millions of vectors make a static picture.

    Example: uncone map vectors.npy --png map.png
    """
    outputs = MapOutputs(Outputs(None if no_html else html, json, markdown), png, angles, dims)
    if model is not None and (column or tensor):
        raise OptionError("--column and --tensor are for vectors; with --model the source holds texts: use --text.")
    given: dict[str, Any] = {"layer": layer, "pooling": pooling, "limit": limit, "sample": sample, "split": split}
    listed = [word.strip() for word in (words or "").split(",") if word.strip()]
    if words is not None and not listed:
        raise OptionError(f"--words is a list such as bank,river, not {words!r}.")
    check_encoding(model, **given, prompt=prompt or None, batch_size=batch_size)
    outputs.check([source, repair, *([*(text or []), label] if model is None else [model])])
    from uncone import api
    from uncone.cli.progress import progress_bar

    with progress_bar() as progress:
        found = api.map(
            source,
            method=method,
            dims=dims,
            points=points,
            colour=colour,
            words=listed,
            k=k,
            repair=repair,
            column=column,
            tensor=tensor,
            text=text,
            label=label,
            model=model,
            rows=rows,
            prompt=prompt,
            batch_size=batch_size,
            data=data,
            loading=loading_of(revision, device, dtype, allow_pickle, trust_remote_code) if model is not None else None,
            cache=not no_cache,
            static=png is not None,
            seed=seed,
            progress=progress,
            **given,
        )
    return deliver_map(found, outputs)
