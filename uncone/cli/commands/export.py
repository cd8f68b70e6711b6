"""`uncone export`: a saved repair as something that runs without uncone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from uncone.cli.output import say
from uncone.verbs.options.fix import ExportOptions

__all__ = ["export"]


def export(
    repair: Annotated[str, Parameter(help="A folder that uncone fix --save has written.")],
    /,
    *,
    to: Annotated[str, Parameter(help="Target: sentence-transformers, onnx, faiss, numpy or sql.")],
    out: Annotated[Path, Parameter(name=["--out", "-o"], help="A folder; for onnx and faiss a file.")],
    options: ExportOptions,
) -> int:
    """Export.

    What is written is compared with the repair on random vectors before it is kept.

    Example: uncone export repair --to numpy -o plain
    """
    from uncone.verbs.fix import export as run

    result = run(repair, to, out, options=options)
    for note in result.notes:
        print(f"uncone: note: {note}", file=sys.stderr)  # noqa: T201 - beside what is written
    say("".join(f"  wrote {path}\n" for path in result.paths))
    return 0
