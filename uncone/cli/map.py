"""`uncone map`: rows of a space as points of a picture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
from uncone.cli.output import Outputs, deliver
from uncone.data.writing.atomic import check_output
from uncone.errors import OptionError, OutputError

if TYPE_CHECKING:
    from uncone.report.results.map import Angles

__all__ = ["map"]

_MOST_SIDES = 36
_SIDES = 3


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
    latex: Annotated[Path | None, typer.Option(help="Write the tables as LaTeX.")] = None,
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
    outputs = Outputs(None if no_html else html, json, markdown, latex)
    if model is not None and (column or tensor):
        raise OptionError("--column and --tensor are for vectors; with --model the source holds texts: use --text.")
    given: dict[str, Any] = {"layer": layer, "pooling": pooling, "limit": limit, "sample": sample, "split": split}
    listed = [word.strip() for word in (words or "").split(",") if word.strip()]
    if words is not None and not listed:
        raise OptionError(f"--words is a list such as bank,river, not {words!r}.")
    check_encoding(model, **given, prompt=prompt or None, batch_size=batch_size)
    is_file = png is not None and png.suffix.lower() == ".png"
    outputs.check(
        [source, repair, *([*(text or []), label] if model is None else [model])],
        [("--png", png)] if png is not None and is_file else [],
    )
    sides = _sides(angles, png, dims)
    if png is not None:
        _check_pictures(png, is_file)
    import uncone
    from uncone.cli.progress import progress_bar

    with progress_bar() as progress:
        found = uncone.map(
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
    drawn = {} if png is None else _pictures(found.pictures(sides), png, is_file)
    named = {"report": outputs.html, "json": outputs.json_file, "markdown": outputs.markdown, "latex": outputs.latex}
    written = {what: str(path) for what, path in named.items() if path is not None}
    if png is not None:
        written["pictures"] = ", ".join(str(path) for path in drawn) if is_file else str(png)
    folders = [] if png is None or is_file else [png]
    return deliver(replace(found, written=written), outputs, drawn, folders=folders)


def _check_pictures(png: Path, is_file: bool) -> None:
    from uncone.extras import require
    from uncone.report.charts.figures import check_folder

    require("matplotlib", extra="models")
    if not is_file:
        check_folder(png)


def _sides(angles: str | None, png: Path | None, dims: int) -> Angles:
    """From how many sides a map in space is drawn, or from which heights and directions.

    Raises:
        OptionError: it is not said so that we understand.
    """
    if angles is None:
        return _SIDES
    if png is None or dims != 3:
        raise OptionError("--angles is for pictures of a map in space: add --dims 3 and --png.")
    wrong = f"--angles is a number of sides up to {_MOST_SIDES}, or heights:directions in degrees such as "
    wrong += f"20:45,20:135, not {angles!r}."
    try:
        if ":" in angles:
            pairs = [one.split(":") for one in angles.split(",")]
            return [(float(height), float(direction)) for height, direction in pairs]
        if 1 <= int(angles) <= _MOST_SIDES:
            return int(angles)
    except ValueError as error:
        raise OptionError(wrong) from error
    raise OptionError(wrong)


def _pictures(drawn: dict[str, bytes], png: Path, is_file: bool) -> dict[Path, bytes]:
    """Where the pictures go: a folder has all of them; a file the first PNG, with others numbered beside it."""
    if not is_file:
        try:
            png.mkdir(exist_ok=True)
        except OSError as error:
            raise OutputError(f"{png} cannot be a folder for pictures: {error.strerror}. Name another.") from error
        return {png / name: data for name, data in drawn.items()}
    sheets = [data for name, data in drawn.items() if name.endswith(".png")]
    beside = [png.with_stem(f"{png.stem}-{number}") for number in range(2, len(sheets) + 1)]
    for place in beside:
        check_output(place, devices=True)
    return dict(zip([png, *beside], sheets, strict=True))
