"""`uncone calibrate`: what a score means in a space, and where to cut."""

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
from uncone.data.writing.atomic import check_outside
from uncone.errors import OptionError

__all__ = ["calibrate"]

Source = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE",
        help="A file of vectors, a folder or quoted glob of shards; with --model, texts. Or --queries and --documents.",
        show_default=False,
    ),
]


def calibrate(
    source: Source = None,
    score: Annotated[
        list[float] | None, typer.Option(help="Ask what this cosine means here. Repeatable. [default: 0.7, 0.75, 0.8]")
    ] = None,
    fpr: Annotated[
        list[float] | None,
        typer.Option(help="Give the threshold that this share of unrelated pairs reaches. Repeatable. [default: 0.01]"),
    ] = None,
    corpus_size: Annotated[
        int | None,
        typer.Option(
            help="Size of the corpus that a query searches: count unrelated hits, and find the threshold that leaves "
            "one per query on average."
        ),
    ] = None,
    background: Annotated[
        str | None, typer.Option(help="A diverse corpus beside SOURCE, of the same kind: both are shown.")
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(
            help="Labelled pairs: a table of two texts (or two row numbers or ids) and a label 0/1 or a grade, or a "
            "set such as stsb:dev."
        ),
    ] = None,
    left: Annotated[str | None, typer.Option(help="Column of --pairs with the first text, row or id.")] = None,
    right: Annotated[str | None, typer.Option(help="Column of --pairs with the second.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of --pairs with the label or grade.")] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="Column of SOURCE with the ids that --pairs names rows by.")
    ] = None,
    cut: Annotated[float | None, typer.Option(help="Graded pairs: alike from this grade on.")] = None,
    precision: Annotated[
        list[float] | None, typer.Option(help="With --pairs: the threshold for this precision. Repeatable.")
    ] = None,
    recall: Annotated[
        list[float] | None, typer.Option(help="With --pairs: the threshold for this recall. Repeatable.")
    ] = None,
    translate: Annotated[
        float | None, typer.Option(help="A threshold of another space; with --from, which gives its place here.")
    ] = None,
    old: Annotated[
        Path | None, typer.Option("--from", help="The folder of a saved calibration of that other space.")
    ] = None,
    queries: Annotated[
        str | None, typer.Option(help="The side of queries, where it differs from --documents; then without SOURCE.")
    ] = None,
    documents: Annotated[str | None, typer.Option(help="The side of documents.")] = None,
    query_prompt: Annotated[
        str | None, typer.Option(help="Put before every query in place of --prompt, for models that want two.")
    ] = None,
    document: Annotated[
        str | None,
        typer.Option(help="Column (or file of lines) with the document of each row: its own pairs are left out."),
    ] = None,
    repair: Annotated[Path | None, typer.Option(help="The folder of a repair: calibrate the repaired space.")] = None,
    save: Annotated[
        Path | None, typer.Option("--save", "-o", help="Folder for the calibration, to be asked by programs.")
    ] = None,
    column: Annotated[str | None, typer.Option(help="Column, field or array that holds the vectors.")] = None,
    tensor: Annotated[str | None, typer.Option(help="Tensor of a .safetensors file.")] = None,
    text: Annotated[list[str] | None, typer.Option(help="Column with the texts. Repeatable with --model.")] = None,
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
    html: Annotated[Path, typer.Option(help="The report.")] = Path("uncone-calibrate.html"),
    no_html: Annotated[bool, typer.Option("--no-html", help="Write no report.")] = False,
    json: Annotated[str | None, typer.Option(help="Write all numbers as JSON; - for standard output.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the tables as markdown.")] = None,
    latex: Annotated[Path | None, typer.Option(help="Write the tables as LaTeX.")] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Folder for the charts as SVG and PNG, with their numbers as CSV.")
    ] = None,
    float64: Annotated[bool, typer.Option("--float64", help="Products in double precision.")] = False,
    workers: Annotated[int, typer.Option(help="Processes to measure with; 0 uses threads.")] = 0,
    replicates: Annotated[int, typer.Option(help="How often labelled pairs are drawn for the intervals.")] = 1000,
    seed: Annotated[int, typer.Option(help="Chooses every sample.")] = 0,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> int:
    """Tell what a score means: how many unrelated pairs reach it, where to cut, and how sure that is.

    Unrelated pairs are random pairs of the corpus. A threshold for a share of them comes with its interval, or with
    the number of rows that it would need. Labelled pairs add precision, recall and probabilities. The calibration is
    saved without code, and answers in Python: uncone.Calibration.load("calibration").percentile(0.75).

    Example: uncone calibrate vectors.npy --score 0.75 --corpus-size 100000
    """
    outputs = Outputs(None if no_html else html, json, markdown, latex, figures)
    if model is not None and (column or tensor):
        raise OptionError("--column and --tensor are for vectors; with --model the source holds texts: use --text.")
    check_encoding(
        model,
        text=text or None,
        layer=layer,
        pooling=pooling,
        prompt=prompt or None,
        query_prompt=query_prompt,
        limit=limit,
        batch_size=batch_size,
    )
    read = [source, background, queries, documents, model, pairs, document if model is None else None]
    folders = {"the repair": repair, "the old calibration": old, "the model": Path(model) if model else None}
    _check_folders(outputs, save, folders)
    outputs.check([*read, *(str(one) for one in (repair, old) if one is not None)])
    loading = loading_of(revision, device, dtype, allow_pickle, trust_remote_code) if model is not None else None
    from uncone import verbs
    from uncone.cli.progress import progress_bar

    with progress_bar() as progress:
        found = verbs.calibrate(
            source,
            scores=score or [],
            rates=fpr or [0.01],
            corpus_size=corpus_size,
            background=background,
            pairs=pairs,
            pair_columns=(left, right, label),
            ids=id_column,
            cut=cut,
            precisions=precision or [],
            recalls=recall or [],
            translate=translate,
            old=old,
            queries=queries,
            documents=documents,
            query_prompt=query_prompt,
            document=document,
            repair=repair,
            save=save,
            column=column,
            tensor=tensor,
            text=text,
            model=model,
            layer=layer,
            pooling=pooling,
            prompt=prompt,
            batch_size=batch_size,
            limit=limit,
            data=data,
            loading=loading,
            cache=not no_cache,
            float64=float64,
            workers=workers,
            replicates=replicates,
            seed=seed,
            progress=progress,
        )
    return deliver(found, outputs)


def _check_folders(outputs: Outputs, save: Path | None, read: dict[str, Path | None]) -> None:
    """Say early that a folder cannot be written; a report inside a saved folder would make it something else."""
    files = (("--html", outputs.html), ("--markdown", outputs.markdown), ("--json", outputs.json_file))
    named = (*files, ("--latex", outputs.latex), ("--figures", outputs.figures))
    for what, folder in {"the calibration": save, **read}.items():
        for option, path in named:
            if path is not None and folder is not None:
                check_outside(option, path, folder, what)
    for what, folder in read.items():
        if save is not None and folder is not None:
            check_outside("--save", save, folder, what)
