"""A space: a source, and the options that say how its vectors are read or made."""

from __future__ import annotations

import html
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from uncone.errors import OptionError
from uncone.verbs.options.option import Options, option
from uncone.verbs.options.source import SpaceOptions

__all__ = ["VERBS", "Space", "open"]

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

    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        named = (one.name for one in fields(self.options))
        return {name: getattr(self.options, name) for name in named if self.options.is_given(name)}

    def keywords(self, kind: type[Options]) -> dict[str, Any]:
        """The options of this space for a verb.

        Raises:
            OptionError: the verb does not take one of them.
        """
        known = {one.name for one in fields(kind) if one.metadata["group"] is None}  # another group: another meaning
        for name in self.given():
            if name not in known:
                raise OptionError(f"This space was opened with {name}=, which this verb does not take.")
        return self.given()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in VERBS:
            raise AttributeError(f"A space has no {name!r}; its verbs are {', '.join(VERBS)}.")
        from functools import partial
        from importlib import import_module

        return partial(getattr(import_module(VERBS[name]), name), self)

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *VERBS])

    def __repr__(self) -> str:
        shown = "".join(f", {name}={value!r}" for name, value in self.given().items())
        return f"uncone.open({self._name()}{shown})"

    def _repr_html_(self) -> str:
        rows = {"source": self._name(), **self.given()}
        cells = "".join(
            f"<tr><th style='text-align:left'>{name}</th><td>{html.escape(str(value)[:80])}</td></tr>"
            for name, value in rows.items()
        )
        verbs = " ".join(f"<code>.{name}()</code>" for name in VERBS)
        return f"<table><caption><b>space</b></caption>{cells}<tr><td colspan='2'>{verbs}</td></tr></table>"

    def _name(self) -> str:
        if isinstance(self.source, str | os.PathLike):
            return repr(os.fspath(self.source))
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
