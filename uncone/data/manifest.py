"""A saved folder is described by a JSON file of a schema: read here, with a line for all that can be wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from uncone.errors import UnconeError

__all__ = ["Described", "read_described"]


class Described(NamedTuple):
    """What a folder is to be: its name, the command that writes it, the schema we read, and the errors it may raise."""

    what: str
    written_by: str
    schema: int
    again: str
    """What to try where it is damaged."""
    missing: type[UnconeError]
    damaged: type[UnconeError]


def read_described(path: Path, form: Described) -> dict[str, Any]:
    """What the file says: an object of a schema that we know.

    Raises:
        UnconeError: `form.missing` where there is none, `form.damaged` where it cannot be used.
    """
    folder = path.parent
    try:
        said = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise form.missing(
            f"{folder} is not a {form.what}: it has no {path.name}. Name a folder that {form.written_by} has written."
        ) from error
    except OSError as error:
        raise form.missing(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise form.damaged(f"{path} is damaged: it is not JSON. {form.again}") from error
    if not isinstance(said, dict):
        raise form.damaged(f"{path} is damaged: it is JSON of another kind, not an object. {form.again}")
    schema = said.get("schema")
    if type(schema) is int and schema > form.schema:
        raise form.damaged(
            f"{folder} was written by a newer uncone ({said.get('uncone')}, schema {schema}; this one reads "
            f"{form.schema}). Update uncone."
        )
    if type(schema) is not int or schema != form.schema:
        raise form.damaged(f"{path} is damaged: schema cannot be read. {form.again}")
    return said


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")
