"""`uncone check`: diagnose a space of vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    Prompt,
    Revision,
    TrustRemoteCode,
    check_encoding,
    loading_of,
)
from uncone.cli.output import Outputs, deliver
from uncone.errors import OptionError

__all__ = ["check"]

Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE...",
        help="A file of vectors, a folder or quoted glob of shards, or - for a .npy on standard input; with --model, "
        "texts. Several are compared side by side.",
        show_default=False,
    ),
]


def check(
    sources: Sources,
    score: Annotated[list[float] | None, typer.Option(help="Ask what this cosine means here. Repeatable.")] = None,
    column: Annotated[str | None, typer.Option(help="Column, field or array that holds the vectors.")] = None,
    tensor: Annotated[str | None, typer.Option(help="Tensor of a .safetensors file.")] = None,
    text: Annotated[
        str | None, typer.Option(help="Column with the rows' texts; for a file without columns, a file of lines.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="Column (or file of lines) with labels, to colour the map.")] = None,
    model: Model = None,
    layer: Layer = None,
    pooling: Pooling = None,
    prompt: Prompt = "",
    batch_size: BatchSize = None,
    limit: Annotated[int | None, typer.Option(help="With --model: take the first so many texts.")] = None,
    data: Data = None,
    no_cache: NoCache = False,
    revision: Revision = None,
    device: Device = "auto",
    dtype: Dtype = "float32",
    allow_pickle: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
    html: Annotated[Path, typer.Option(help="The report.")] = Path("uncone-report.html"),
    no_html: Annotated[bool, typer.Option("--no-html", help="Write no report.")] = False,
    json: Annotated[str | None, typer.Option(help="Write all numbers as JSON; - for standard output.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the findings as markdown.")] = None,
    latex: Annotated[Path | None, typer.Option(help="Write the tables as LaTeX.")] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Folder for the charts as SVG and PNG, with their numbers as CSV.")
    ] = None,
    fail_above: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Exit with 1 when a finding is over. Repeatable.")
    ] = None,
    fail_below: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Exit with 1 when a finding is under. Repeatable.")
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Partition function over all rows, not the sample: a second pass.")
    ] = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="Local dimension among all rows, not among the sample: one more pass.")
    ] = False,
    ann: Annotated[
        bool,
        typer.Option(
            "--ann",
            help="As --deep; above 2 million rows by a graph in memory (HNSW), with its recall.",
        ),
    ] = False,
    float64: Annotated[
        bool, typer.Option("--float64", help="Products in double precision, at half the speed.")
    ] = False,
    workers: Annotated[int, typer.Option(help="Processes to measure with; 0 uses threads. Same digits.")] = 0,
    sample: Annotated[int, typer.Option(help="Rows kept for pair cosines, partition function and map.")] = 50_000,
    seed: Annotated[int, typer.Option(help="Chooses the sample.")] = 0,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> int:
    """Tell what is wrong with a space of vectors, what a score means in it, and what to do.

    Reads .npy, .npz, .parquet, .safetensors, .jsonl, .csv/.tsv, word2vec/GloVe/fastText (.vec, .txt, .bin) and FAISS
    (.faiss, .index), as a stream; with --model, texts (.txt, .csv, .tsv, .jsonl, .parquet). Prints the verdict and
    writes one HTML page that works offline.

    Example: uncone check vectors.npy --score 0.75
    """
    outputs = Outputs(None if no_html else html, json, markdown, latex, figures, fail_above or [], fail_below or [])
    if model is not None and (column or tensor):
        raise OptionError("--column and --tensor are for vectors; with --model the source holds texts: use --text.")
    check_encoding(model, layer=layer, pooling=pooling, prompt=prompt or None, limit=limit, batch_size=batch_size)
    outputs.check([*sources, *([text, label] if model is None else [model])])
    if sources.count("-") > 1:
        raise OptionError("Standard input (-) can be read only once.")
    loading = loading_of(revision, device, dtype, allow_pickle, trust_remote_code) if model is not None else None
    import uncone
    from uncone.cli.progress import progress_bar

    with progress_bar() as progress:
        found = [
            uncone.check(
                source,
                scores=score or [],
                column=column,
                tensor=tensor,
                text=text,
                label=label,
                model=model,
                layer=layer,
                pooling=pooling,
                prompt=prompt,
                batch_size=batch_size,
                limit=limit,
                data=data,
                loading=loading,
                cache=not no_cache,
                exact=exact,
                deep=deep,
                ann=ann,
                float64=float64,
                workers=workers,
                sample=sample,
                seed=seed,
                progress=progress,
            )
            for source in sources
        ]
    from uncone.report.results.check import Comparison

    return deliver(found[0] if len(found) == 1 else Comparison(found), outputs, diagnoses=found)
