"""Commands that go on from a diagnosis, ready to paste: those that prove its advice, and those that follow it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from uncone.data.vectors.databases.url import without_secrets
from uncone.report.documents.check import Diagnosis
from uncone.verbs.options.check import CheckOptions

__all__ = ["command_line", "repair_commands", "source_flags"]

_SOURCE = ("column", "tensor", "text", "data", "limit", "model", "layer", "pooling", "prompt", "repair", "float64")
_LOADING = ("revision", "device", "dtype", "allow_pickle", "trust_remote_code")
"""Options that say which vectors are meant; those of Python alone have no flags."""


def source_flags(options: CheckOptions) -> list[str]:
    """The flags by which another command reads the same vectors."""
    words = []
    for name in (*_SOURCE, *_LOADING):
        value = getattr(options, name)
        if not options.is_given(name):
            continue
        if isinstance(value, bool):
            words += [options.flag(name)]
        elif isinstance(value, str | int | os.PathLike):
            words += [options.flag(name), os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
        elif isinstance(value, tuple):
            words += [options.flag(name), ",".join(map(str, value))]
    return words


def command_line(verb: str, source: str, words: Sequence[str]) -> str:
    """A command on a source, which may begin like a flag; without the secrets of its address."""
    path = without_secrets(source)
    parts = ["uncone", verb, *words, "--", path] if path.startswith("-") else ["uncone", verb, path, *words]
    return shlex.join(parts)


def repair_commands(source: object, diagnosis: Diagnosis, options: CheckOptions) -> dict[str, str]:
    """The commands that prove the repair which the advice names, and that apply it; none without such a repair."""
    repair = None if diagnosis.advice is None else diagnosis.advice.repair
    if repair is None or not isinstance(source, str | os.PathLike) or source == "-":
        return {}
    if options.model is not None and not isinstance(options.model, str | os.PathLike):
        return {}  # a model in memory has no name
    path, words = os.fspath(source), source_flags(options)
    return {
        "prove": command_line("fix", path, [*words, "--method", "auto", "--pairs", "pairs.csv"]),
        "apply": command_line("fix", path, [*words, *repair.flags(diagnosis.source["dimensions"]), "--save", "repair"]),
    }
