"""The form of a verb in Python: `verb(source, **keywords)`; a space brings its own options."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from uncone.verbs.options.option import Options
from uncone.verbs.space import Space

__all__ = ["verb"]

R = TypeVar("R")


def verb(kind: type[Options]) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Give a function whose last parameter is `options` the fields of `kind` as keywords, with signature and help."""

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        @functools.wraps(function)
        def call(*arguments: Any, options: Options | None = None, **keywords: Any) -> R:  # noqa: ANN401
            arguments, keywords = _unpacked(kind, arguments, keywords)
            own = {name: keywords.pop(name) for name in list(keywords) if name in positional}
            keywords = _known(function.__name__, kind, keywords)
            made = kind(**keywords) if options is None else replace(options, **keywords)
            return function(*arguments, **own, options=made)

        signature = inspect.signature(function)
        positional = [name for name in signature.parameters if name != "options"]
        given = [signature.parameters[name] for name in positional]
        call.__signature__ = signature.replace(parameters=[*given, *_keywords(kind, positional)])  # type: ignore[attr-defined]
        call.__doc__ = _documented(function, kind)
        call.options_class = kind  # type: ignore[attr-defined]
        return call

    return decorate


def _unpacked(
    kind: type[Options], arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a space stands for: its source, and the options it was opened with."""
    spaces = [one for one in arguments if isinstance(one, Space)]
    if not spaces:
        return arguments, keywords
    bare = tuple(one.source if isinstance(one, Space) else one for one in arguments)
    return bare, {**spaces[0].keywords(kind), **keywords}


def _known(verb: str, kind: type[Options], keywords: dict[str, Any]) -> dict[str, Any]:
    """The keywords, all of which are fields; those of repairs go into the field `others`."""
    known = [one.name for one in fields(kind)]
    others = {name: value for name, value in keywords.items() if name not in known}
    if not others:
        return keywords
    if "others" in known:
        return {**{name: value for name, value in keywords.items() if name in known}, "others": others}
    name = next(iter(others))
    near = difflib.get_close_matches(name, known, 1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise TypeError(f"{verb}() got an unexpected keyword argument {name!r}.{hint}")


def _keywords(kind: type[Options], positional: Sequence[str]) -> list[inspect.Parameter]:
    return [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type)
        for one in fields(kind)
        if one.name not in positional
    ]


def _documented(function: Callable[..., Any], kind: type[Options]) -> str:
    """The docstring, with a line for every keyword before its example."""
    text = inspect.getdoc(function) or ""
    head, mark, example = text.partition("\n>>> ")
    listed = "\n".join(f"    {one.name}: {one.metadata['help']}" for one in fields(kind))
    return f"{head.rstrip()}\n\nKeywords:\n{listed}\n{mark}{example}"
