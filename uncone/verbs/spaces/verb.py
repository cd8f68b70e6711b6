"""Verbs in Python: `verb(source, **keywords)`, or a method of a space, which brings its own options."""

from __future__ import annotations

import difflib
import functools
import html
import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import Any, TypeVar

from uncone.data.vectors.databases.url import without_secrets
from uncone.errors import OptionError
from uncone.verbs.options.option import Options, option
from uncone.verbs.options.shared import SpaceOptions

__all__ = ["VERBS", "OpenOptions", "Space", "open", "verb"]

R = TypeVar("R")

VERBS = {
    "calibrate": "uncone.verbs.calibrate",
    "check": "uncone.verbs.check",
    "fix": "uncone.verbs.fix",
    "map": "uncone.verbs.map.map",
    "prescribe": "uncone.verbs.evaluate",
    "similarity": "uncone.verbs.similarity.similarity",
}
"""The verbs of a space, and their modules."""


@dataclass(frozen=True, kw_only=True)
class OpenOptions(SpaceOptions):
    """What `open` takes."""

    repair: str | os.PathLike[str] | None = option(None, "Folder of a saved repair, applied to the vectors.")


class Space:
    """Vectors, or texts with their model, as one noun for every verb.

    >>> import numpy as np
    >>> space = open(np.eye(50))
    >>> len(space.calibrate(fpr=[0.05]).calibration.thresholds)
    1
    """

    def __init__(self, source: Any, options: OpenOptions) -> None:  # noqa: ANN401 - whatever holds vectors or texts
        self.source, self.options = source, options

    def explicit_options(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        options = self.options
        return {name: getattr(options, name) for name in options.field_names() if options.is_given(name)}

    def keywords(self, kind: type[Options]) -> dict[str, Any]:
        """The options of this space for a verb.

        Raises:
            OptionError: the verb does not take one of them.
        """
        # In another group, a name has another meaning.
        names = {field.name for field in fields(kind) if field.metadata["group"] is None}
        for name in self.explicit_options():
            if name not in names:
                raise OptionError(f"This space was opened with {name}=, which this verb does not take.")
        return self.explicit_options()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in VERBS:
            raise AttributeError(f"A space has no {name!r}; its verbs are {', '.join(VERBS)}.")
        return functools.partial(getattr(import_module(VERBS[name]), name), self)

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *VERBS])

    def __repr__(self) -> str:
        arguments = "".join(f", {name}={value!r}" for name, value in self.explicit_options().items())
        return f"uncone.open({self._name()}{arguments})"

    def _repr_html_(self) -> str:
        rows = {"source": self._name(), **self.explicit_options()}
        cells = "".join(
            f"<tr><th style='text-align:left'>{name}</th><td>{html.escape(str(value)[:80])}</td></tr>"
            for name, value in rows.items()
        )
        verbs = " ".join(f"<code>.{name}()</code>" for name in VERBS)
        return f"<table><caption><b>space</b></caption>{cells}<tr><td colspan='2'>{verbs}</td></tr></table>"

    def _name(self) -> str:
        if isinstance(self.source, str | os.PathLike):
            return repr(without_secrets(os.fspath(self.source)))
        shape = getattr(self.source, "shape", None)
        kind = type(self.source).__name__
        return f"<{kind} {' x '.join(map(str, shape))}>" if shape else f"<{kind}>"


def open(source: Any, **keywords: Any) -> Space:  # noqa: ANN401 - whatever holds vectors or texts
    """Open vectors, or texts with the model that encodes them.

    >>> import numpy as np
    >>> open(np.eye(3))
    uncone.open(<ndarray 3 x 3>)
    """
    return Space(source, OpenOptions(**keywords))


def verb(kind: type[Options]) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Give a function whose last parameter is `options` the fields of `kind` as keywords, with signature and help."""

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        @functools.wraps(function)
        def call(*arguments: Any, options: Options | None = None, **keywords: Any) -> R:  # noqa: ANN401
            arguments, keywords = _unpack(kind, arguments, keywords)
            own = {name: keywords.pop(name) for name in list(keywords) if name in positional}
            keywords = _check_keywords(function.__name__, kind, keywords)
            options = kind(**keywords) if options is None else replace(options, **keywords)
            return function(*arguments, **own, options=options)

        signature = inspect.signature(function)
        positional = [name for name in signature.parameters if name != "options"]
        parameters = [signature.parameters[name] for name in positional]
        call.__signature__ = signature.replace(parameters=[*parameters, *_keywords(kind, positional)])  # type: ignore[attr-defined]
        call.__doc__ = _docstring(function, kind)
        call.options_class = kind  # type: ignore[attr-defined]
        return call

    return decorate


def _unpack(
    kind: type[Options], arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Replace a space by its source and the options it was opened with."""
    spaces = [argument for argument in arguments if isinstance(argument, Space)]
    if not spaces:
        return arguments, keywords
    bare = tuple(argument.source if isinstance(argument, Space) else argument for argument in arguments)
    return bare, {**spaces[0].keywords(kind), **keywords}


def _check_keywords(verb: str, kind: type[Options], keywords: dict[str, Any]) -> dict[str, Any]:
    """The keywords, all of which are fields; those of repairs go into the field `others`."""
    names = kind.field_names()
    others = {name: value for name, value in keywords.items() if name not in names}
    if not others:
        return keywords
    if "others" in names:
        return {**{name: value for name, value in keywords.items() if name in names}, "others": others}
    name = next(iter(others))
    near = difflib.get_close_matches(name, names, 1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise TypeError(f"{verb}() got an unexpected keyword argument {name!r}.{hint}")


def _keywords(kind: type[Options], positional: Sequence[str]) -> list[inspect.Parameter]:
    return [
        inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
        for field in fields(kind)
        if field.name not in positional
    ]


def _docstring(function: Callable[..., Any], kind: type[Options]) -> str:
    """The docstring, with a line for every keyword before its example."""
    text = inspect.getdoc(function) or ""
    head, mark, example = text.partition("\n>>> ")
    listed = "\n".join(f"    {field.name}: {field.metadata['help']}" for field in fields(kind))
    return f"{head.rstrip()}\n\nKeywords:\n{listed}\n{mark}{example}"
