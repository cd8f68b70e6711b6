"""Output of results: the terminal with its progress bar, files, and the exit code of a gate."""

from __future__ import annotations

import glob
import io
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from uncone.data.storage.path import ObjectPath, path_of
from uncone.data.vectors.databases.url import is_database
from uncone.data.writing.atomic import check_output, write_all
from uncone.errors import OptionError, OutputError

if TYPE_CHECKING:
    from rich.console import Console

    from uncone.report.documents.check import Diagnosis
    from uncone.report.result import Result
    from uncone.verbs.options.check import CheckOutput
    from uncone.verbs.options.shared import OutputOptions

__all__ = ["Gate", "check_outputs", "deliver", "gates_of", "printed", "progress_bar", "rendered", "say"]


@dataclass(frozen=True)
class Gate:
    """A bound that a finding has to keep."""

    name: str
    bound: float
    above: bool

    @classmethod
    def parse(cls, text: str, above: bool) -> Gate:
        """From NAME=VALUE.

        Raises:
            OptionError: not of that form, or no such finding.
        """
        from uncone.analysis.measures.registry import gates

        option = "--fail-above" if above else "--fail-below"
        name, _, value = text.partition("=")
        if name not in gates():
            raise OptionError(f"{option} {text}: there is no finding {name!r}; choose from {', '.join(gates())}.")
        try:
            bound = float(value)
        except ValueError as error:
            raise OptionError(f"{option} {text}: {value!r} is not a number; write {name}=0.5.") from error
        if not math.isfinite(bound):
            raise OptionError(f"{option} {text}: a bound must be finite; write {name}=0.5.")
        return cls(name, bound, above)

    def broken(self, space: Diagnosis) -> str | None:
        """The message if the finding is over (or under) the bound, or was not or cannot be measured; else None."""
        if self.name not in space.findings:
            return f"{self.name} was not measured: add --deep"
        value = space[self.name].magnitude
        if value is None:
            return f"{self.name} could not be measured: {space[self.name].meaning}"
        if (value > self.bound) if self.above else (value < self.bound):
            return f"{self.name} is {value:.4g}, {'over' if self.above else 'under'} {self.bound:g}"
        return None


def check_outputs(
    output: OutputOptions,
    sources: Sequence[object] = (),
    *,
    others: Sequence[tuple[str, object]] = (),
    saved: Mapping[str, object] | None = None,
    folders: Mapping[str, object] | None = None,
) -> None:
    """Fail before a long run, not after it: an output may not overwrite a source or lie in a folder that is read.

    Args:
        output: the files of every verb.
        sources: files, folders and globs that are read; data in memory is ignored.
        others: files that the verb itself writes, with their flags.
        saved: folders that the verb itself writes, by their content.
        folders: folders that are read, by their content.

    Raises:
        OptionError: two outputs, or an output and a source, are the same.
        OutputError: one of them cannot be written.
    """
    from uncone.data.writing.atomic import check_outside

    inputs, outputs = (
        {content: path_of(folder) for content, folder in (each or {}).items() if isinstance(folder, str | os.PathLike)}
        for each in (folders, saved)
    )
    for content, folder in {**outputs, **inputs}.items():
        for flag, path in output.paths():
            check_outside(flag, path, folder, content)
    for content, folder in inputs.items():
        for saved_to in outputs.values():
            check_outside("--save", saved_to, folder, content)
    names = [os.fspath(source) for source in (*sources, *inputs.values()) if isinstance(source, str | os.PathLike)]
    owners = {path.resolve(): "the source" for path in _files(names)}
    own = [
        (flag, path_of(path))
        for flag, path in others
        if isinstance(path, str | os.PathLike) and not is_database(os.fspath(path))
    ]
    for flag, path in (*output.files(), *own):
        check_output(path, devices=True)
        if path.resolve() in owners:
            raise OptionError(f"{flag} {path} would overwrite {owners[path.resolve()]}. Name another file.")
        owners[path.resolve()] = f"what {flag} writes"
    if output.figures is not None:
        from uncone.report.charts.files import check_folder

        check_folder(output.figures)


def gates_of(output: CheckOutput) -> list[Gate]:
    """The bounds that findings have to keep."""
    above = [Gate.parse(text, above=True) for text in output.fail_above]
    return above + [Gate.parse(text, above=False) for text in output.fail_below]


def _files(sources: Sequence[str | None]) -> list[Path]:
    """Every file that is read: those named, those in a folder, those that match a glob."""
    files: list[Path] = []
    for source in sources:
        if source is None or source == "-":
            continue
        path = path_of(source)
        if isinstance(path, ObjectPath):
            files += [path, *path.iterdir(), *(path.matches() if glob.has_magic(source) else [])]
        elif os.path.isdir(path):  # noqa: PTH112 - unlike pathlib's, it does not raise for a name that cannot be
            files += path.iterdir()
        else:
            files += [path, *(Path(name) for name in glob.glob(source, recursive=True))]  # noqa: PTH207
    return files


def deliver(
    result: Result,
    output: OutputOptions,
    files: Mapping[Path, str | bytes] | None = None,
    gates: Sequence[Gate] = (),
    diagnoses: Sequence[Diagnosis] = (),
    folders: Sequence[Path] = (),
    extra_paths: Sequence[Path] = (),
) -> int:
    """Write the files, print the document, and return the exit code.

    `files` are tables and the like that only this verb writes; those in `folders` are not named one by one.
    `extra_paths` are files that the verb has already written, such as a matrix. `gates` apply to `diagnoses`.
    """
    rendered_files: dict[Path, str | bytes] = dict(files or {})
    for path, render in (
        (output.html, result.to_html),
        (output.markdown, result.to_markdown),
        (output.latex, result.to_latex),
        (output.json_file, result.to_json),
    ):
        if path is not None:
            rendered_files[path] = render()
    if output.figures is not None:
        result.save_figures(output.figures)
    write_all(rendered_files)
    single = [path for path in rendered_files if path not in (files or {}) or path.parent not in folders]
    paths = [*single, *folders, *([output.figures] if output.figures is not None else []), *extra_paths]
    say(result.to_json() if output.json == "-" else printed(result, paths))
    return _gated(diagnoses, gates)


def say(text: str) -> None:
    """Write to standard output, whether somebody listens or not."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away (| head): not our error, nor worth a traceback when Python closes the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        raise OutputError(f"Standard output cannot be written: {error.strerror}. Name a file with --json.") from error


def printed(result: Result, files: Sequence[Path]) -> str:
    """The text of a result for the terminal, and the files that were written."""
    from uncone.report.render.terminal import print_document

    return rendered(lambda console: print_document(result.document(), console), files)


def rendered(draw: Callable[[Console], None], files: Sequence[Path]) -> str:
    """The text that `draw` prints, and the files that were written, for this terminal.

    Not printed yet: rich would write to standard output itself, where a full disk is not its business.
    """
    from rich.console import Console

    terminal = Console()
    page = io.StringIO()
    console = Console(
        file=page,
        width=terminal.width,
        force_terminal=terminal.is_terminal,
        no_color=terminal.no_color,
        color_system=terminal.color_system,  # type: ignore[arg-type]
    )
    draw(console)
    for path in files:
        word = "report" if path.suffix == ".html" else "wrote"
        console.print(f"  {word} {path}", soft_wrap=True, highlight=False, markup=False)
    return page.getvalue()


def _gated(diagnoses: Sequence[Diagnosis], gates: Sequence[Gate]) -> int:
    code = 0
    for space in diagnoses:
        for gate in gates:
            broken = gate.broken(space)
            if broken:
                print(f"uncone: gate: {space.source['name']}: {broken}", file=sys.stderr)  # noqa: T201 - says why we exit with 1
                code = 1
    return code


@contextmanager
def progress_bar(unit: str = "vectors") -> Iterator[Callable[..., None] | None]:
    """A function to report progress to, or None without a terminal; `unit` is what it counts.

    It takes the step, the amount done since the last call, the total, and perhaps a text such as the loss.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn(unit))
    with Progress(
        *columns,
        TextColumn("{task.fields[detail]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        tasks: dict[str, int] = {}

        def report(step: str, amount: int, total: int | None, detail: str = "") -> None:
            if step not in tasks or bar.tasks[tasks[step]].finished:
                tasks[step] = bar.add_task(step, total=total, detail=detail)
            bar.update(bar.tasks[tasks[step]].id, advance=amount, detail=detail)

        yield report
