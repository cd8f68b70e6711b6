"""The part of plotly.js that a page needs.

plotly's Python package ships one script with every kind of chart, maps and 3-D among them: 4.8 MB. It is a row of
modules, each a function that runs when another calls it by name. A page gets the modules that can be reached from the
charts it draws, word for word, in their order, with plotly's license.
"""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

__all__ = ["packed", "script", "smaller"]

_TRACES = {"Histogram": "bar", "Bars": "bar", "Heatmap": "heatmap", "Line": "scatter", "Points": "scatter"}
_TRACES |= {"Forest": "scatter"}
_LAST = re.compile(r"var (?P<name>[\w$]+)=(?P<wrap>[\w$]+)\(\([\w$]+,[\w$]+\)=>\{var [\w$]+=(?P<core>[\w$]+)\(\);"
                   r"[\w$]+\.register\(\[(?P<listed>(?:[\w$]+\(\),?)+)\]\)")  # fmt: skip
_WORD = re.compile(r"[\w$]+", re.ASCII)
_EXPORTED = re.compile(r"exports=([\w$]+)\(\)")
_KIND = re.compile(r'moduleType:"\w+",name:"(\w+)"')
_SETUP = re.compile(r"([\w$]+)=[\w$]+$")
"""The setup function of a newer kind of module, whose functions stand beside it."""


def script(kinds: Iterable[str]) -> str:
    """plotly.js for charts of these kinds, packed; nothing if there are none.

    `kinds` are names of marks or of plotly's own traces.
    """
    traces = frozenset(_TRACES.get(kind, kind) for kind in kinds)
    return _script(traces) if traces else ""


@cache
def _script(traces: frozenset[str]) -> str:
    spec = find_spec("plotly")  # without importing the package
    assert spec is not None and spec.origin is not None
    whole = (Path(spec.origin).parent / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    return packed(smaller(whole, traces))


def smaller(whole: str, traces: Iterable[str]) -> str:
    """The script with the modules for these traces alone; the whole script where it is not built as we know it."""
    last = _LAST.search(whole)
    if last is None:
        return whole
    # It begins with letters, not with a look behind: ten times as fast.
    begin = re.compile(rf";var ([\w$]+)={re.escape(last['wrap'])}\((?:\([\w$,]*\)|[\w$]+)=>\{{")
    starts = [(match.start() + 1, match[1]) for match in begin.finditer(whole)]
    ends = [*(start for start, _ in starts[1:]), len(whole)]
    modules = {name: whole[start:end] for (start, name), end in zip(starts, ends, strict=True)}
    listed = [name.removesuffix("()") for name in last["listed"].split(",") if name]
    entries = _listed(modules, listed, set(traces) - {"scatter"})
    closed = all(text.endswith("});") for name, text in modules.items() if name != last["name"])
    if entries is None or not closed or len(modules) != len(starts) or starts[-1][1] != last["name"]:
        return whole
    head = whole[: starts[0][0]]
    root = modules.pop(last["name"]).replace(last["listed"], ",".join(f"{name}()" for name in entries))
    reached = _reached(modules, head + root)
    return head + "".join(text for name, text in modules.items() if name in reached) + root


def _listed(modules: dict[str, str], listed: Iterable[str], traces: set[str]) -> list[str] | None:
    """The entries of plotly's list that draw these traces; None where one is missing."""
    by_kind: dict[str, str] = {}
    for name in listed:
        exported = _EXPORTED.search(modules.get(name, ""))
        kind = _KIND.search(modules.get(exported[1], "")) if exported else None
        if kind:
            by_kind.setdefault(kind[1], name)
    return [by_kind[trace] for trace in sorted(traces)] if traces <= by_kind.keys() else None


def _reached(modules: dict[str, str], start: str) -> set[str]:
    """Modules that are named in the text, or in one that is; a word that only looks like a name keeps one too many."""
    owners = {name: name for name in modules}
    owners |= {setup: name for name, text in modules.items() for setup in _setups(text)}
    reached: set[str] = set()
    todo = [start]
    while todo:
        new = {owners[word] for word in set(_WORD.findall(todo.pop())) if word in owners} - reached
        reached |= new
        todo += [modules[name] for name in new]
    return reached


def _setups(text: str) -> Iterator[str]:
    at = text.find("(()=>{")
    while at >= 0:
        match = _SETUP.search(text, max(at - 80, 0), at)
        if match:
            yield match[1]
        at = text.find("(()=>{", at + 1)


def packed(text: str) -> str:
    """A text as base64 of gzip, which `unpack` in page.js reads."""
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), mtime=0)).decode("ascii")
