"""The command `uncone`: verbs, and our errors in one line."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import inspect
import io
import signal
import sys
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from itertools import pairwise

from cyclopts import App, CycloptsError

from uncone import __version__
from uncone.cli.settings import DASH, read_settings
from uncone.errors import UnconeError

__all__ = ["FAMILIES", "MODULES", "VERBS", "build_app", "command_of", "main"]

VERBS = {
    "check": "Diagnose a set of embeddings: how crowded it is, what a cosine score means, and what to do about it.",
    "layers": "Measure every layer of a language model: how crowded it is, and how much a word depends on its context.",
    "similarity": "Compare the texts in a table: heatmap, labels, most similar pairs, near-duplicates, groups, maps.",
    "map": "Plot vectors with PCA, SVD, t-SNE or UMAP, in two or three dimensions.",
    "calibrate": "Find out what a score means: how many unrelated pairs reach it, and which threshold to use.",
    "encode": "Encode texts with a model, at any layer and pooling, and write the vectors to a file.",
    "fix": "Repair a set of embeddings: center it, remove dominant directions, whiten it, and more.",
    "apply": "Apply a saved repair to new vectors or texts.",
    "export": "Export a repair to sentence-transformers, ONNX, FAISS, NumPy or SQL.",
    "evaluate": "Evaluate a model, or vectors you have, before and after each repair, with paired intervals.",
    "tune": "Train a model against the cone, and compare it with the best repair of the untuned model.",
    "ablate layers": "Find out what each layer is worth: freeze, drop or re-initialize it, and train.",
    "ablate data": "Find out what a biased training set leaves in every layer.",
    "ablate repair": "Find out what a repair between the encoder and the head does while a model is trained.",
    "plan": "Estimate what a run would take, here or on a cluster: time, memory, network, bytes.",
    "schema": "Print the JSON Schema of results, or validate a saved result.",
    "cache": "List or clear cached text embeddings.",
    "demo": "See it all on a real model: crowded scores, what they mean, a repair, and a test of the repair.",
}
"""The verbs in the order of --help, each with its summary."""

FAMILIES = {
    "ablate": (
        "Train a model with a layer, its data or a repair changed, and see what difference it makes.",
        "uncone ablate layers model/ --task sst2",
    )
}
"""Verbs that come in several kinds: what they have in common, and an example."""

MODULES = {
    **dict.fromkeys(("encode", "fix", "apply", "export"), "vectors"),
    **dict.fromkeys(("tune", "ablate layers", "ablate data", "ablate repair"), "training"),
    **dict.fromkeys(("schema", "cache"), "upkeep"),
}
"""The module of cli/commands with the function of a verb, if it is not `reports`; it is imported when it is needed."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""What mallopt of glibc calls these."""


def build_app(verbs: Collection[str] = tuple(VERBS)) -> App:
    """The command line, with the options of these verbs; of the others only what they are for."""
    app = App(
        name="uncone",
        help="Find out why your cosine similarities look random, and what a score means in your embedding space.",
        help_epilogue="Example: uncone check vectors.npy --score 0.75\n",
        help_format="plaintext",
        version=f"uncone {__version__}",
        version_flags="--version",
        config=read_settings,
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
        result_action="return_value",
    )
    families = {
        name: App(name=name, help=summary, help_epilogue=f"Example: {example}\n")
        for name, (summary, example) in FAMILIES.items()
    }
    for place, (verb, summary) in enumerate(VERBS.items()):
        head, _, kind = verb.partition(" ")
        parent = families[head] if kind else app
        if kind and head not in app:
            parent.sort_key = place
            app.command(parent)
        if verb in verbs:
            _add(parent, verb, place)
        else:
            parent.command(App(name=kind or verb, help=summary, sort_key=place))
    app.register_install_completion_command(name="--install-completion")
    return app


def command_of(verb: str) -> Callable[..., int]:
    """The function that runs a verb."""
    function: Callable[..., int] = getattr(
        import_module(f"uncone.cli.commands.{MODULES.get(verb, 'reports')}"), verb.replace(" ", "_")
    )
    return function


def _add(app: App, verb: str, place: int) -> None:
    from uncone.cli.command import command

    function = command_of(verb)
    text, _, example = (inspect.getdoc(function) or "").partition("Example: ")
    paragraphs = [VERBS[verb], *(" ".join(part.split()) for part in text.strip().split("\n\n")[1:])]
    app.command(
        command(function),
        name=verb.rpartition(" ")[2],
        help="\n\n".join(paragraphs),
        help_epilogue=f"Example: {example}\n",
        sort_key=place,
    )


def main() -> None:
    """Run the command; exit code 0 is fine, 1 a gate that did not hold, 2 bad input, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a character shows another
    # What a command imports lives until its end: looking through it for garbage takes a sixth of the time.
    gc.set_threshold(100_000, 50, 100)
    _keep_freed_memory()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leave in order: workers end, half files go
    sys.exit(_run(sys.argv[1:]))


def _keep_freed_memory() -> None:
    """Let malloc keep freed blocks of megabytes: the next needs them, and the system would fill each with zeros."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, 1 << 25)
        mallopt(_TRIM_THRESHOLD, 1 << 27)


def _run(arguments: list[str]) -> int:
    debug = "--debug" in arguments
    verb = _verb_of(arguments)
    try:
        app = build_app([verb] if verb else VERBS if "--install-completion" in arguments else ())
        return int(app([DASH if argument == "-" else argument for argument in _joined(arguments)]) or 0)
    except UnconeError as error:
        if debug:
            raise
        return _complain(str(error), 2)
    except CycloptsError as error:
        message = str(error).partition(" Available commands")[0].rstrip(".")
        stop = "" if message.endswith("?") else "."
        return _complain(f"{message}{stop} See uncone {verb + ' ' if verb else ''}--help.", 2)
    except KeyboardInterrupt:
        return _complain("interrupted; no file is left half-written.", 130)
    except Exception as error:
        if debug:
            raise
        reason = f"{type(error).__name__}: {error}"
        return _complain(f"something unexpected happened ({reason[:200]}). With --debug you see where.", 2)


def _verb_of(arguments: Sequence[str]) -> str | None:
    """The verb that a command line names, such as `check` or `ablate layers`."""
    words = [f"{word} {kind}" if word in FAMILIES else word for word, kind in pairwise([*arguments, ""])]
    return next((word for word in words if word in VERBS), None)


def _joined(arguments: Sequence[str]) -> list[str]:
    """`--freeze all-but 4` without quotes: the layers belong to the word before them."""
    words: list[str] = []
    for word in arguments:
        if words and words[-1] == "all-but":
            words[-1] += f" {word}"
        else:
            words.append(word)
    return words


def _complain(message: str, code: int) -> int:
    from uncone.data.vectors.databases.url import without_secrets  # --help has no need of it

    message = without_secrets(message.replace(DASH, "-"))
    line = "".join(letter if letter.isprintable() else "�" for letter in " ".join(message.split()))
    if sys.stderr is not None:
        with contextlib.suppress(OSError):  # there is nobody left to tell
            print(f"uncone: {line}", file=sys.stderr, flush=True)  # noqa: T201 - the one line of an error
    return code
