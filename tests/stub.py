"""Writes uncone/__init__.pyi, the signatures of the verbs for type checkers and editors: `make stub`."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path

import uncone
from uncone.verbs.options.option import Options
from uncone.verbs.verb import VERBS, OpenOptions

STUB = Path(uncone.__file__).with_suffix(".pyi")
HEAD = '''"""The public names of uncone. Written by `make stub` from the options classes: do not edit."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypedDict, Unpack

__version__: str
'''
OTHERS = {
    "uncone.data.batch": ["Matrix"],
    "uncone.data.writing.rewrite": ["Rewritten"],
    "uncone.evaluation.papers": ["PaperTable"],
    "uncone.evaluation.prescription": ["Prescription"],
    "uncone.evaluation.table": ["Method"],
    "uncone.exports.export": ["Exported"],
    "uncone.repairs.repair": ["Repair"],
    "uncone.report.documents.demo": ["Demo"],
    "uncone.report.documents.evaluate": ["Evaluated"],
    "uncone.verbs.encode": ["Encoded"],
}
"""Names in signatures that are not public, by their modules."""


def verbs() -> dict[str, tuple[inspect.Signature, type[Options]]]:
    functions = {name: getattr(uncone, name) for name in uncone.__all__}
    found = {name: one for name, one in functions.items() if hasattr(one, "options_class")}
    return {name: (inspect.signature(one.__wrapped__), one.options_class) for name, one in found.items()}


def keywords(name: str, kind: type[Options]) -> str:
    taken = {one for given, own in verbs().values() if own is kind for one in given.parameters}
    lines = "".join(f"    {one.name}: {one.type}\n" for one in fields(kind) if one.name not in taken)
    return f"class {name}(TypedDict, total=False):\n{lines}"


def signature(name: str, given: inspect.Signature, kind: type[Options], first: str = "") -> str:
    positional = [str(one).replace("'", "") for one in given.parameters.values() if one.name != "options"]
    shown = ", ".join([first, *positional[1:]] if first else positional)
    more = f"*, options: {kind.__name__} | None = ..., **keywords: Unpack[_{kind.__name__}]"
    return f"def {name}({shown}, {more}) -> {given.return_annotation}: ..."


def stub() -> str:
    known = verbs()
    kinds = {kind.__name__: kind for _, kind in known.values()} | {"OpenOptions": OpenOptions}
    homes = {**OTHERS, **{kind.__module__: [] for kind in kinds.values()}}
    for kind in kinds.values():
        homes[kind.__module__] = sorted([*homes[kind.__module__], kind.__name__])
    imports = [f"from {home} import {', '.join(names)}" for home, names in sorted(homes.items())]
    plain = [
        name for name in uncone.__all__ if name not in known and name not in ("__version__", "Space", "open", "demo")
    ]
    imports += [f"from {uncone._HOMES[name]} import {name} as {name}" for name in plain if name != "compare"]
    dicts = [keywords(f"_{name}", kind) for name, kind in kinds.items()]
    methods = "".join(f"    {signature(name, *known[name], 'self')}\n" for name in VERBS)
    space = f"class Space:\n    source: Any\n    options: OpenOptions\n{methods}"
    functions = [signature(name, *one) for name, one in known.items()]
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
