"""`uncone similarity`: the texts of a table against each other, and what their cosines mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
    Prompt,
    Revision,
    TrustRemoteCode,
    loading_of,
)
from uncone.cli.output import Outputs, deliver
from uncone.errors import OptionError

__all__ = ["similarity"]


def similarity(
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="A .csv, .tsv, .jsonl or .parquet with texts (or vectors), .txt with a text a line, - for such lines; "
            "a file of vectors.",
            show_default=False,
        ),
    ],
    text: Annotated[str | None, typer.Option(help="Column with the texts; 2 is the second without a header.")] = None,
    label: Annotated[str | None, typer.Option(help="Column with labels; for bare vectors, a file of lines.")] = None,
    against: Annotated[
        str | None, typer.Option(help="A second text column: the cosine of the two texts of each row, by label.")
    ] = None,
    column: Annotated[str | None, typer.Option(help="Column that holds vectors, in place of a model.")] = None,
    model: Model = None,
    layer: Layer = None,
    pooling: Annotated[
        str | None, typer.Option(help="Tokens to one vector: mean, cls, max or last; cls,mean shows both.")
    ] = None,
    prompt: Prompt = "",
    repair: Annotated[str | None, typer.Option(help="Folder of a saved repair, to apply to the vectors.")] = None,
    calibration: Annotated[
        str | None, typer.Option(help="Folder of a saved calibration: percentiles by it, not by the table itself.")
    ] = None,
    clean: Annotated[
        bool,
        typer.Option("--clean", help="Normalise Unicode, remove HTML, spare whitespace, empty and duplicate texts."),
    ] = False,
    near: Annotated[str | None, typer.Option(metavar="TEXT", help="List the texts nearest to this one.")] = None,
    low: Annotated[
        str | None, typer.Option("--min", metavar="COSINE", help="List pairs from this cosine on, or p99: percentile.")
    ] = None,
    high: Annotated[str | None, typer.Option("--max", metavar="COSINE", help="List pairs up to this one.")] = None,
    top: Annotated[
        int | None, typer.Option(help="List so many pairs, most alike first. [default: 100; 1000 with --min, --max]")
    ] = None,
    duplicates: Annotated[
        str | None,
        typer.Option(
            metavar="COSINE", help="Near-duplicates from here on. [default: 98 % of the way from the background to 1]"
        ),
    ] = None,
    groups: Annotated[
        str, typer.Option(metavar="K", help="How many groups; auto: as many as labels, or the clearest; 0 for none.")
    ] = "auto",
    group_method: Annotated[str, typer.Option(help="kmeans, average or ward; several joined by commas.")] = "kmeans",
    order: Annotated[
        str | None, typer.Option(help="Order of the heatmap: label or clustering. [default: label, where there is one]")
    ] = None,
    projection: Annotated[str, typer.Option("--map", help="pca, tsne, umap, joined by commas; none.")] = "pca",
    map_dims: Annotated[str, typer.Option(help="2, 3 or 2,3.")] = "2",
    pairs_out: Annotated[Path | None, typer.Option(help="Write all listed pairs: .csv or .parquet.")] = None,
    labels_out: Annotated[Path | None, typer.Option(help="Write the table of labels: .csv or .parquet.")] = None,
    groups_out: Annotated[Path | None, typer.Option(help="Write every row with its group: .csv or .parquet.")] = None,
    matrix: Annotated[Path | None, typer.Option(help="Write the whole cosine matrix: .npy or .parquet.")] = None,
    latex: Annotated[Path | None, typer.Option(help="Write the tables as LaTeX.")] = None,
    figures: Annotated[Path | None, typer.Option(help="Folder for the figures as SVG and PNG.")] = None,
    batch_size: BatchSize = None,
    limit: Annotated[int | None, typer.Option(help="Take the first so many rows.")] = None,
    sample: Annotated[int, typer.Option(help="Rows that are compared at most; of more, a seeded sample.")] = 50_000,
    data: Data = None,
    no_cache: NoCache = False,
    revision: Revision = None,
    device: Device = "auto",
    dtype: Dtype = "float32",
    allow_pickle: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
    html: Annotated[Path, typer.Option(help="The report.")] = Path("uncone-similarity.html"),
    no_html: Annotated[bool, typer.Option("--no-html", help="Write no report.")] = False,
    json: Annotated[str | None, typer.Option(help="Write all numbers as JSON; - for standard output.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the tables as markdown.")] = None,
    seed: Annotated[int, typer.Option(help="Chooses every sample and every start.")] = 0,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> int:
    """Compare the texts of a table: heatmap, labels, most alike pairs, near-duplicates, groups, a map.

    Every cosine stands beside its percentile among unrelated pairs, because a cosine alone says little. Without --model
    and without vectors in the table, all-MiniLM-L6-v2 is taken where the package of `uncone demo` is installed.

    Example: uncone similarity texts.csv --label label --model model/
    """
    outputs = Outputs(None if no_html else html, json, markdown, latex, figures)
    tables = {"pairs": pairs_out, "labels": labels_out, "groups": groups_out}
    if model is not None and column is not None:
        raise OptionError(
            "--column names vectors that are there already, and --model makes new ones: give one of them."
        )
    if labels_out is not None and label is None:
        raise OptionError("--labels-out writes the table of labels: name their column with --label.")
    if groups_out is not None and (groups == "0" or against is not None):
        why = "--groups 0" if against is None else "--against"
        raise OptionError(f"--groups-out writes the groups, and with {why} there are none: leave one of them out.")
    _check_files(outputs, tables, matrix, [table, model, repair, calibration, *([label] if model is None else [])])
    asked: dict[str, Any] = {"min": low, "max": high, "top": top, "near": near, "duplicates": duplicates}
    asked |= {"groups": groups, "group_method": group_method, "order": order, "clean": clean}
    asked |= {"maps": _listed(projection), "map_dims": _listed(map_dims), "matrix": matrix}
    encoding: dict[str, Any] = {"model": model, "layer": layer, "pooling": pooling, "prompt": prompt}
    encoding |= {"repair": repair, "calibration": calibration, "batch_size": batch_size, "cache": not no_cache}
    import uncone
    from uncone.cli.progress import progress_bar

    with progress_bar() as progress:
        result = uncone.similarity(
            table,
            text=text,
            label=label,
            against=against,
            column=column,
            limit=limit,
            sample=sample,
            data=data,
            loading=loading_of(revision, device, dtype, allow_pickle, trust_remote_code),
            seed=seed,
            progress=progress,
            **asked,
            **encoding,
        )
    from uncone.report.results import similarity_tables

    files = {"report": outputs.html, "json": outputs.json_file, "markdown": outputs.markdown, "figures": figures}
    written = {kind: str(path) for kind, path in {**files, **tables}.items() if path is not None}
    result = replace(result, written={**written, **result.written})
    contents: dict[Path, str | bytes] = {
        path: getattr(similarity_tables, f"{kind}_table")(result, path)
        for kind, path in tables.items()
        if path is not None
    }
    return deliver(result, outputs, contents, written=[] if matrix is None else [matrix])


def _check_files(
    outputs: Outputs, tables: Mapping[str, Path | None], matrix: Path | None, sources: Sequence[str | None]
) -> None:
    """Refuse early what would be refused after a long run, and never write over a source."""
    named = [(f"--{kind}-out", path) for kind, path in tables.items() if path is not None]
    outputs.check(sources, [*named, *([("--matrix", matrix)] if matrix is not None else [])])
    if named:
        from uncone.report.tables import table_format

        for _, path in named:
            table_format(path)
    if matrix is not None and matrix.suffix.lower() not in (".npy", ".parquet"):
        raise OptionError(f"{matrix.name} does not say how to write a matrix. End it with .npy or .parquet.")


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip() and part.strip() != "none"]
