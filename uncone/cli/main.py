"""The command `uncone`: verbs, and our errors in one line."""

from __future__ import annotations

import contextlib
import io
import signal
import sys
from typing import Annotated

import typer

from uncone._version import __version__
from uncone.cli.apply import apply
from uncone.cli.cache import cache
from uncone.cli.calibrate import calibrate
from uncone.cli.check import check
from uncone.cli.demo import demo
from uncone.cli.evaluate import evaluate
from uncone.cli.export import export
from uncone.cli.fix import fix
from uncone.cli.layers import layers
from uncone.cli.map import map
from uncone.cli.similarity import similarity
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
app.command()(layers)
app.command()(similarity)
app.command()(map)
app.command()(calibrate)
app.command()(fix)
app.command()(apply)
app.command()(export)
app.command()(evaluate)
app.command()(cache)
app.command()(demo)


_VERBS = {command.callback.__name__ for command in app.registered_commands if command.callback}


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
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a character shows another
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leave in order: workers end, half files go
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: list[str]) -> int:
    debug = "--debug" in arguments
    try:
        code = int(app(arguments, prog_name="uncone", standalone_mode=False) or 0)
    except UnconeError as error:
        if debug:
            raise
        return _complain(str(error), 2)
    except typer.TyperException as error:
        verb = next((word for word in arguments if word in _VERBS), None)
        return _complain(f"{error.format_message().rstrip('.')}. See uncone {verb + ' ' if verb else ''}--help.", 2)
    except KeyboardInterrupt:
        code = 130
    except Exception as error:
        if debug:
            raise
        reason = f"{type(error).__name__}: {error}"
        return _complain(f"something unexpected happened ({reason[:200]}). With --debug you see where.", 2)
    # Typer turns Ctrl-C into this code without a word.
    return _complain("interrupted; no file is left half-written.", 130) if code == 130 else code


def _complain(message: str, code: int) -> int:
    line = "".join(letter if letter.isprintable() else "�" for letter in " ".join(message.split()))
    if sys.stderr is not None:
        with contextlib.suppress(OSError):  # there is nobody left to tell
            print(f"uncone: {line}", file=sys.stderr, flush=True)  # noqa: T201 - the one line of an error
    return code
