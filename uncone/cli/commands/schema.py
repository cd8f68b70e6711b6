"""`uncone schema`: the JSON Schema of results, and whether a saved result follows it."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from uncone.cli.output import say
from uncone.errors import OptionError
from uncone.verbs.options.option import Options, option

__all__ = ["SchemaOptions", "schema"]


@dataclass(frozen=True, kw_only=True)
class SchemaOptions(Options):
    """What `schema` takes."""

    GROUP = "Schema"

    verb: str | None = option(None, "Only the results of this verb.", default_text="all verbs")


def schema(
    action: Annotated[
        str | None, Parameter(help="check, to validate files; without it, the schema is printed.")
    ] = None,
    /,
    *files: Annotated[str, Parameter(help="JSON files that --json has written, or - for standard input.")],
    options: SchemaOptions,
) -> int:
    """Print.

    `uncone schema check result.json` says in one line whether a file is a valid result of uncone, and what is wrong if
    it is not (exit code 2).

    Example: uncone schema --verb check
    """
    from uncone.verbs import schema as schemas

    if action is None:
        say(json.dumps(schemas.schema(options.verb), indent=1, ensure_ascii=False) + "\n")
        return 0
    if action != "check" or not files:
        raise OptionError("Write uncone schema check FILE to validate a file, or uncone schema to print the schema.")
    for file in files:
        verb = schemas.validate(_read(file), file, options.verb)
        say(f"{file} is a valid result of uncone {verb} (schema {schemas.VERSION}).\n")
    return 0


def _read(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise OptionError(f"{file} cannot be read: {error.strerror}.") from error
