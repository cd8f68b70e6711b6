"""The command `uncone`: verbs, and our errors in one line."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from uncone._version import __version__
from uncone.cli.check import check
from uncone.cli.demo import demo
from uncone.errors import UnconeError

__all__ = ["app", "main"]

app = typer.Typer(
    name="uncone",
    help="Tells why cosine similarities look random, and what a score means in an embedding space.",
    epilog="Example: uncone check vectors.npy --score 0.75",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(check)
app.command()(demo)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"uncone {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Tells why cosine similarities look random, and what a score means in an embedding space."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command; exit code 0 is fine, 1 a gate that did not hold, 2 bad input, 130 interrupted."""
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: list[str]) -> int:
    try:
        code = int(app(arguments, prog_name="uncone", standalone_mode=False) or 0)
    except UnconeError as error:
        if "--debug" in arguments:
            raise
        return _complain(str(error), 2)
    except typer.TyperException as error:
        verb = next((word for word in arguments if word in ("check", "demo")), None)
        return _complain(f"{error.format_message()} See uncone {verb + ' ' if verb else ''}--help.", 2)
    except BrokenPipeError:
        # The reader went away (| head): not our error, and not worth a traceback when Python closes the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    # Typer turns Ctrl-C into this code without a word.
    return _complain("interrupted; nothing was written.", 130) if code == 130 else code


def _complain(message: str, code: int) -> int:
    print(f"uncone: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201 - the one line of an error
    return code
