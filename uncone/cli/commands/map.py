"""`uncone map`: vectors as points of a picture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from uncone.cli.output import check_outputs, deliver
from uncone.data.writing.atomic import check_output
from uncone.errors import OutputError
from uncone.verbs.options.map import MapOptions, MapOutput

__all__ = ["map"]


def map(
    source: Annotated[
        str,
        Parameter(
            help="A file of vectors, a folder or quoted glob of shards, - for a .npy on standard input; with --model, "
            "texts: a file, or snli, wikitext2, ptb, sts."
        ),
    ],
    /,
    *,
    options: MapOptions,
    output: MapOutput,
) -> int:
    """Show.

    Points are colored by what is known of them, with the word in its sentence under the pointer, and with a sentence on
    how far the picture can be trusted. Millions of vectors make a static picture.

    Example: uncone map vectors.npy --png map.png
    """
    check_outputs(output, [source, options.repair, *options.files_read])
    views = output.views(options.dims)
    if output.png is not None:
        _check_pictures(output.png, output.is_file)
    from uncone.cli.progress import progress_bar
    from uncone.verbs.map.map import map as run

    with progress_bar() as progress:
        result = run(source, options=options, static=output.png is not None, progress=progress)
    pictures = {} if output.png is None else _pictures(result.pictures(views), output.png, output.is_file)
    named = {"report": output.html, "json": output.json_file, "markdown": output.markdown, "latex": output.latex}
    written = {what: str(path) for what, path in named.items() if path is not None}
    if output.png is not None:
        written["pictures"] = ", ".join(str(path) for path in pictures) if output.is_file else str(output.png)
    folders = [] if output.png is None or output.is_file else [output.png]
    return deliver(replace(result, written=written), output, pictures, folders=folders)


def _check_pictures(png: Path, is_file: bool) -> None:
    from uncone.extras import require
    from uncone.report.charts.files import check_folder

    require("matplotlib", extra="models")
    if not is_file:
        check_folder(png)


def _pictures(pictures: dict[str, bytes], png: Path, is_file: bool) -> dict[Path, bytes]:
    """Where the pictures go: a folder has all of them; a file the first PNG, with others numbered beside it."""
    if not is_file:
        try:
            png.mkdir(exist_ok=True)
        except OSError as error:
            raise OutputError(f"{png} cannot be a folder for pictures: {error.strerror}. Name another.") from error
        return {png / name: data for name, data in pictures.items()}
    sheets = [data for name, data in pictures.items() if name.endswith(".png")]
    beside = [png.with_stem(f"{png.stem}-{number}") for number in range(2, len(sheets) + 1)]
    for place in beside:
        check_output(place, devices=True)
    return dict(zip([png, *beside], sheets, strict=True))
