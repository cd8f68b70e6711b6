"""Writes uncone/__init__.pyi, the signatures of the verbs for type checkers and editors: `make stub`."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path

import uncone
from uncone.verbs.options.option import Options
from uncone.verbs.spaces.verb import VERBS, OpenOptions

STUB = Path(uncone.__file__).with_suffix(".pyi")
HEAD = '''"""The public names of uncone. Written by `make stub` from the options classes: do not edit."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypedDict, Unpack

__version__: str
'''
OTHERS = {
    "uncone.data.batch": ["Matrix"],
    "uncone.data.writing.rewrite": ["Rewritten"],
    "uncone.evaluation.advised": ["Advised"],
    "uncone.evaluation.prescription": ["Prescription"],
    "uncone.evaluation.table": ["Method"],
    "uncone.exports.export": ["Exported"],
    "uncone.repairs.repair": ["Repair"],
    "uncone.report.documents.demo": ["Demo"],
    "uncone.report.documents.evaluate": ["Evaluated"],
    "uncone.report.documents.evaluate.papers": ["PaperTables"],
    "uncone.verbs.encode": ["Encoded"],
}
"""Names in signatures that are not public, by their modules."""


def verbs() -> dict[str, tuple[inspect.Signature, type[Options]]]:
    functions = {name: getattr(uncone, name) for name in uncone.__all__}
    decorated = {name: verb for name, verb in functions.items() if hasattr(verb, "options_class")}
    return {name: (inspect.signature(verb.__wrapped__), verb.options_class) for name, verb in decorated.items()}


def keywords(name: str, kind: type[Options]) -> str:
    positional = {key for own, options in verbs().values() if options is kind for key in own.parameters}
    lines = "".join(f"    {field.name}: {field.type}\n" for field in fields(kind) if field.name not in positional)
    return f"class {name}(TypedDict, total=False):\n{lines}"


def signature(name: str, own: inspect.Signature, kind: type[Options], first: str = "") -> str:
    positional = [str(value).replace("'", "") for value in own.parameters.values() if value.name != "options"]
    listing = ", ".join([first, *positional[1:]] if first else positional)
    star = "" if any(value.kind is value.VAR_POSITIONAL for value in own.parameters.values()) else "*, "
    more = f"{star}options: {kind.__name__} | None = ..., **keywords: Unpack[_{kind.__name__}]"
    return f"def {name}({listing}, {more}) -> {own.return_annotation}: ..."


def stub() -> str:
    by_name = verbs()
    kinds = {kind.__name__: kind for _, kind in by_name.values()} | {"OpenOptions": OpenOptions}
    homes = {**OTHERS, **{kind.__module__: [] for kind in kinds.values()}}
    for kind in kinds.values():
        homes[kind.__module__] = sorted([*homes[kind.__module__], kind.__name__])
    imports = [f"from {home} import {', '.join(names)}" for home, names in sorted(homes.items())]
    plain = [
        name for name in uncone.__all__ if name not in by_name and name not in ("__version__", "Space", "open", "demo")
    ]
    imports += [f"from {uncone._HOMES[name]} import {name} as {name}" for name in plain if name != "compare"]
    dicts = [keywords(f"_{name}", kind) for name, kind in kinds.items()]
    methods = "".join(f"    {signature(name, *by_name[name], 'self')}\n" for name in VERBS)
    space = f"class Space:\n    source: Any\n    options: OpenOptions\n{methods}"
    functions = [signature(name, *parts) for name, parts in by_name.items()]
    functions += [
        "def compare(*sources: Any, **keywords: Unpack[_CheckOptions]) -> Comparison: ...",
        "def demo(progress: Callable[[str, int, int], None] | None = ...) -> Demo: ...",
        "def open(source: Any, **keywords: Unpack[_OpenOptions]) -> Space: ...",
    ]
    exported = f"__all__ = {sorted(uncone.__all__)!r}"
    return "\n".join([HEAD, *imports, "", exported, "", *dicts, space, *functions, ""])


if __name__ == "__main__":
    import subprocess
    import sys

    STUB.write_text(stub())
    subprocess.run([sys.executable, "-m", "ruff", "format", "-q", str(STUB)], check=True)
