"""`uncone check`: diagnose a space of vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from uncone.cli.output import Outputs, deliver
from uncone.errors import OptionError

__all__ = ["check"]

Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE...",
        help="A file of vectors, a folder or quoted glob of shards, or - for a .npy on standard input. "
        "Several are compared side by side.",
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
    html: Annotated[Path, typer.Option(help="The report.")] = Path("uncone-report.html"),
    no_html: Annotated[bool, typer.Option("--no-html", help="Write no report.")] = False,
    json: Annotated[str | None, typer.Option(help="Write all numbers as JSON; - for standard output.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the findings as markdown.")] = None,
    fail_above: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Exit with 1 when a finding is over. Repeatable.")
    ] = None,
    fail_below: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Exit with 1 when a finding is under. Repeatable.")
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Partition function over all rows, not the sample: a second pass.")
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
    (.faiss, .index), as a stream. Prints the verdict and writes one HTML page that works offline.

    Example: uncone check vectors.npy --score 0.75
    """
    outputs = Outputs(None if no_html else html, json, markdown, fail_above or [], fail_below or [])
    outputs.check([*sources, text, label])
    if sources.count("-") > 1:
        raise OptionError("Standard input (-) can be read only once.")
    from uncone import api
    from uncone.cli.progress import progress_bar

    with progress_bar() as progress:
        found = [
            api.check(
                source,
                scores=score or [],
                column=column,
                tensor=tensor,
                text=text,
                label=label,
                exact=exact,
                float64=float64,
                workers=workers,
                sample=sample,
                seed=seed,
                progress=progress,
            )
            for source in sources
        ]
    return deliver(found, outputs)
