"""`uncone fix`: fit a repair, look at the space before and after it, write the repair and the repaired vectors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from uncone.cli.output import Outputs, deliver, printed, say
from uncone.data.writing.atomic import check_outside
from uncone.errors import OptionError

if TYPE_CHECKING:
    from uncone.evaluation.prescribe.verdict import Prescription

__all__ = ["fix"]

_NUMBER = "[0-9]{1,18}"

Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A file of vectors, a folder or quoted glob of shards; with --model, texts.",
        show_default=False,
    ),
]


def fix(
    source: Source,
    method: Annotated[
        str,
        typer.Option(
            help="center, standardize, droptop, whiten, mute, clustered, flow or normalize; several joined by commas "
            "are applied one after the other. auto tries them on --pairs and takes the best, or none.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write the repaired vectors: .npy, .npz, .parquet, .csv, .tsv, .jsonl, .safetensors, .vec or .txt. "
            "Other columns are carried through.",
        ),
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Folder for the repair, to be applied to other vectors.")] = None,
    pairs: Annotated[
        str | None,
        typer.Option(
            help="auto: labelled pairs to choose by, a table of two texts (for vectors, of two row numbers) and a "
            "score or 0/1, or a set such as stsb:dev."
        ),
    ] = None,
    left: Annotated[str | None, typer.Option(help="Column of --pairs with the first text.")] = None,
    right: Annotated[str | None, typer.Option(help="Column of --pairs with the second.")] = None,
    score: Annotated[str | None, typer.Option(help="Column of --pairs with the score or label.")] = None,
    dim: Annotated[int | None, typer.Option(help="whiten: keep the strongest so many directions.")] = None,
    k: Annotated[
        str | None,
        typer.Option(help="droptop: directions removed; clustered: clusters, or auto. [default: d/100; 27]"),
    ] = None,
    p: Annotated[
        int | None, typer.Option(help="clustered: directions removed in each cluster; 0 takes only its mean off.")
    ] = None,
    rotation: Annotated[str | None, typer.Option(help="whiten: pca or zca.")] = None,
    shrinkage: Annotated[
        str | None, typer.Option(help="whiten: auto, ledoit-wolf, none, or a number from 0 to 1.")
    ] = None,
    how: Annotated[str | None, typer.Option(help="mute: zero or zscore.")] = None,
    dimensions: Annotated[str | None, typer.Option(help="mute: these dimensions, such as 92,308.")] = None,
    assign: Annotated[str | None, typer.Option(help="clustered: kmeans or gmm.")] = None,
    epochs: Annotated[int | None, typer.Option(help="flow: passes over the vectors, at most.")] = None,
    lr: Annotated[float | None, typer.Option(help="flow: learning rate.")] = None,
    column: Annotated[str | None, typer.Option(help="Column, field or array that holds the vectors.")] = None,
    tensor: Annotated[str | None, typer.Option(help="Tensor of a .safetensors file.")] = None,
    text: Annotated[list[str] | None, typer.Option(help="Column with the texts. Repeatable with --model.")] = None,
    label: Annotated[str | None, typer.Option(help="Column with labels, to colour the map.")] = None,
    model: Model = None,
    layer: Layer = None,
    pooling: Pooling = None,
    level: Annotated[
        str, typer.Option(help="sentence repairs pooled vectors; token repairs those of subwords, then pools.")
    ] = "sentence",
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
    html: Annotated[Path, typer.Option(help="The report.")] = Path("uncone-fix.html"),
    no_html: Annotated[bool, typer.Option("--no-html", help="Write no report.")] = False,
    json: Annotated[str | None, typer.Option(help="Write all numbers as JSON; - for standard output.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the findings as markdown.")] = None,
    latex: Annotated[Path | None, typer.Option(help="Write the tables as LaTeX.")] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Folder for the charts as SVG and PNG, with their numbers as CSV.")
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave rows with NaN out of the fit, and write them as NaN.")
    ] = False,
    float64: Annotated[bool, typer.Option("--float64", help="Products in double precision.")] = False,
    workers: Annotated[int, typer.Option(help="Processes to measure with; 0 uses threads.")] = 0,
    seed: Annotated[int, typer.Option(help="Chooses every sample and every start.")] = 0,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> int:
    """Repair a space of vectors: subtract its mean, remove what all vectors share, whiten, or more.

    The repair is fitted as a stream, looked at before and after, and saved without code, so that `uncone apply` can use
    it on other vectors. An index that holds the old vectors has to be rebuilt.

    Example: uncone fix vectors.npy --method droptop -o fixed.npy --save repair
    """
    outputs = Outputs(None if no_html else html, json, markdown, latex, figures)
    if model is not None and (column or tensor):
        raise OptionError("--column and --tensor are for vectors; with --model the source holds texts: use --text.")
    check_encoding(model, layer=layer, pooling=pooling, prompt=prompt or None, limit=limit, batch_size=batch_size)
    outputs.check([source, model, pairs], [("-o", out)] if out is not None else [])
    _check_outside(outputs, save)
    given: dict[str, Any] = {"dim": dim, "k": _whole(k), "p": p, "rotation": rotation, "how": how, "assign": assign}
    given |= {"dimensions": _listed(dimensions), "epochs": epochs, "lr": lr}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if shrinkage is not None:
        options["shrinkage"] = _shrinkage(shrinkage)
    loading = loading_of(revision, device, dtype, allow_pickle, trust_remote_code) if model is not None else None
    told: dict[str, Any] = {
        "column": column,
        "tensor": tensor,
        "text": text,
        "model": model,
        "layer": layer,
        "pooling": pooling,
        "prompt": prompt,
        "batch_size": batch_size,
        "limit": limit,
        "data": data,
        "loading": loading,
        "cache": not no_cache,
        "seed": seed,
    }
    chosen = None
    if method == "auto":
        if pairs is None and (left or right or score):
            raise OptionError("--left, --right and --score are columns of --pairs: name that too.")
        if options or level != "sentence":
            raise OptionError("auto tries methods with their own options, on vectors of texts: leave the options out.")
        chosen = _chosen(source, {**told, "pairs": pairs, "pair_columns": (left, right, score)})
        _report_choice(chosen, outputs)
        if chosen.recommended is None:
            return 0
        method, options = chosen.recommended.repair, dict(chosen.recommended.options)
    elif pairs is not None or left or right or score:
        raise OptionError("--pairs is what --method auto chooses by; with a method named there is nothing to choose.")
    more: dict[str, Any] = {"label": label, "level": level, "skip_bad": skip_bad}
    more |= {"float64": float64, "workers": workers}
    import uncone
    from uncone.cli.progress import progress_bar

    with progress_bar() as progress:
        found = uncone.fix(
            source,
            method,
            out=out,
            save=save,
            prescription=chosen,
            progress=progress,
            **told,
            **more,
            **options,
        )
    return deliver(found, outputs)


def _check_outside(outputs: Outputs, save: Path | None) -> None:
    """A report inside the folder of the repair would make it something else."""
    files = (("--html", outputs.html), ("--markdown", outputs.markdown), ("--json", outputs.json_file))
    for option, path in (*files, ("--latex", outputs.latex), ("--figures", outputs.figures)):
        if path is not None and save is not None:
            check_outside(option, path, save, "the repair")


def _chosen(source: str, told: dict[str, Any]) -> Prescription:
    import uncone
    from uncone.cli.progress import progress_bar

    with progress_bar("fits") as progress:
        return uncone.prescribe(source, progress=progress, **told)


def _report_choice(chosen: Prescription, outputs: Outputs) -> None:
    """Print the advice; if it is to leave the space alone, that is the report."""
    from uncone.report.results.prescribe import Prescribed

    result = Prescribed(chosen)
    if chosen.recommended is None:
        deliver(result, outputs)
    if outputs.json != "-":
        say(f"{printed(result, [])}\n" if chosen.recommended else "  No repair and no vectors were written.\n")


def _whole(text: str | None) -> int | str | None:
    if text is None or text == "auto":
        return text
    if not re.fullmatch(f"-?{_NUMBER}", text):
        raise OptionError(f"--k is a whole number or auto, not {text[:40]!r}.")
    return int(text)


def _listed(text: str | None) -> list[int] | None:
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch(_NUMBER, part) for part in parts):
        raise OptionError(f"--dimensions is a list of numbers from 0 on, such as 92,308, not {text[:40]!r}.")
    return [int(part) for part in parts]


def _shrinkage(text: str) -> str | float | None:
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        return text
