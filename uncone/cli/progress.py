"""A progress bar on standard error; silent when that is not a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]

Progress = Callable[[str, int, int | None], None]


@contextmanager
def progress_bar(what: str = "rows") -> Iterator[Progress | None]:
    """A function to report progress to, or None where nobody looks; `what` is counted."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn(what))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, int] = {}

        def report(step: str, done: int, total: int | None) -> None:
            if step not in tasks or bar.tasks[tasks[step]].finished:
                tasks[step] = bar.add_task(step, total=total)
            bar.advance(bar.tasks[tasks[step]].id, done)

        yield report
