"""Options from a file (`--config uncone.toml`) and from the environment (`UNCONE_SEED=1`); flags win over both."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cyclopts import Token

from uncone.errors import OptionError

if TYPE_CHECKING:
    from cyclopts import App, Argument, ArgumentCollection

__all__ = ["DASH", "read_settings"]

DASH = "\ue000"
"""Stands for a single dash, standard input, while the command line is parsed: cyclopts takes it for a flag."""

_OTHERWISE_READ = {"cache", "data"}
"""Fields whose variables are read elsewhere: $UNCONE_CACHE and $UNCONE_DATA name folders."""


def read_settings(app: App, commands: Sequence[str], arguments: ArgumentCollection) -> None:
    """Fill in what the command line leaves open, first from the file, then from the environment.

    Raises:
        OptionError: the file cannot be read, or has an unknown key.
    """
    if not commands:
        return
    by_key = {key: argument for argument in arguments for key in _keys(argument)}
    debug = "debug" in by_key and by_key["debug"].has_tokens
    path = by_key["config"].tokens[0].value if by_key["config"].has_tokens else os.environ.get("UNCONE_CONFIG")
    if path:
        for key, value in _read(path, commands, by_key).items():
            _fill(by_key[key], value, f"{key} in {path}", debug)
    for key, argument in by_key.items():
        value = os.environ.get(f"UNCONE_{key.upper()}")
        if value and key not in _OTHERWISE_READ:
            _fill(argument, value, f"UNCONE_{key.upper()}", debug)


def _keys(argument: Argument) -> list[str]:
    """The names of an option: those of its field and of its flag; a positional argument has none."""
    flags = [name[2:].replace("-", "_") for name in argument.names if name.startswith("--")]
    return list(dict.fromkeys([argument.field_info.name, *flags])) if flags else []


def _read(path: str, commands: Sequence[str], keys: Collection[str]) -> dict[str, Any]:
    """The values for a verb: those for all verbs, and those of its table, such as [check] or [ablate.layers]."""
    from uncone.data.storage.path import path_of

    try:
        content = tomllib.loads(path_of(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(f"--config {path} cannot be read: {error.strerror}.") from error
    except ValueError as error:  # neither TOML nor UTF-8
        raise OptionError(f"--config {path} is not TOML: {error}.") from error
    from uncone.cli.main import FAMILIES, VERBS, build_app

    shared = {key.replace("-", "_"): value for key, value in content.items() if not isinstance(value, Mapping)}
    table = content
    for command in commands:
        table = table.get(command, {})
    own = {key.replace("-", "_"): value for key, value in table.items()}
    tables = [key for key, value in content.items() if isinstance(value, Mapping)]
    unknown = [f"[{table}]" for table in tables if table not in {*VERBS, *FAMILIES}]
    unknown += [key for key in own if key not in keys]
    if others := [key for key in shared if key not in keys]:  # a key for all verbs need not be one of each
        app = build_app()
        collections = [app.parse_commands(name)[1][-1].assemble_argument_collection() for name in VERBS]
        everywhere = {key for collection in collections for argument in collection for key in _keys(argument)}
        unknown += [key for key in others if key not in everywhere]
    if unknown:
        raise OptionError(
            f"--config {path}: unknown key {unknown[0]}. See uncone {' '.join(commands)} --help for the options."
        )
    return {**{key: value for key, value in shared.items() if key in keys}, **own}


def _fill(argument: Argument, value: Any, origin: str, debug: bool) -> None:  # noqa: ANN401 - a value of TOML
    if argument.has_tokens:
        if debug and argument.tokens[0].source == "cli":
            print(f"uncone: note: {argument.name} on the command line wins over {origin}.", file=sys.stderr)  # noqa: T201
        return
    values = value if isinstance(value, list) else [value]
    for index, item in enumerate(values):
        text = str(item).lower() if isinstance(item, bool) else str(item)
        argument.append(Token(keyword=origin, value=text, source=origin, index=index))
