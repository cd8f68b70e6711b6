"""The reference of options, docs/options.md: written from the options classes.

`python -m uncone.cli.reference docs/options.md` renews it.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

from uncone.cli.command import ORDER, CommandOptions, default_text
from uncone.cli.main import VERBS, command_of
from uncone.verbs.options.option import Options, flag_of, group_of

__all__ = ["reference"]

_HEAD = """# Options

Give an option on the command line, as a keyword in Python (dashes become underscores), in a TOML file
(`--config uncone.toml`, under `[VERB]`, or above for every verb) or as an environment variable (`UNCONE_SEED=1`). The
command line wins. A list is `a,b` or the option repeated.
"""
_COLUMNS = "| group | option | what it does | default |\n|---|---|---|---|"


def reference() -> str:
    """The page: a table of options for every verb."""
    return "\n".join([_HEAD, *(_section(verb) for verb in VERBS)])


def _section(verb: str) -> str:
    hints = get_type_hints(command_of(verb)).values()
    kinds = [hint for hint in hints if inspect.isclass(hint) and issubclass(hint, Options)]
    declared = [(kind, field) for kind in (*kinds, CommandOptions) for field in fields(kind) if field.metadata["cli"]]
    rows = [
        (group_of(kind, field.name), f"`{flag_of(field)}`", field.metadata["help"], default_text(field))
        for kind, field in declared
    ]
    rows.sort(key=lambda row: ORDER.index(row[0] if row[0] in ORDER else ""))
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([f"## {verb}\n", f"{VERBS[verb]}\n", _COLUMNS, *lines, ""])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(reference(), encoding="utf-8")
