"""`uncone export`: a saved repair as something that runs without uncone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from uncone.cli.model_options import Layer, Pooling, Revision
from uncone.cli.output import say

__all__ = ["export"]


def export(
    repair: Annotated[
        str, typer.Argument(metavar="REPAIR", help="A folder that uncone fix --save has written.", show_default=False)
    ],
    to: Annotated[str, typer.Option(help="sentence-transformers, onnx, faiss, numpy or sql.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder; for onnx and faiss a file.", show_default=False)],
    model: Annotated[
        str | None,
        typer.Option(help="The model before it: for sentence-transformers, and for onnx to have both in one graph."),
    ] = None,
    layer: Layer = None,
    pooling: Pooling = None,
    level: Annotated[
        str | None, typer.Option(help="sentence or token, where the repair does not know what it was fitted on.")
    ] = None,
    revision: Revision = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> int:
    """Write a repair as stock sentence-transformers modules, ONNX, FAISS, plain arrays or SQL.

    What is written is compared with the repair on random rows before it is kept.

    Example: uncone export repair --to numpy -o plain
    """
    import uncone
    from uncone.encoders.open import Loading

    done = uncone.export(
        repair, to, out, model=model, loading=Loading(revision), layer=layer, pooling=pooling, level=level
    )
    for note in done.notes:
        print(f"uncone: note: {note}", file=sys.stderr)  # noqa: T201 - beside what is written
    say("".join(f"  wrote {path}\n" for path in done.paths))
    return 0
