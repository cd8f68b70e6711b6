"""Tables and collections that vectors are written to: `postgresql://host/db?table=fixed`, or by another scheme.

A table that exists is kept. A new one appears whole or not at all where the database allows it.
"""

from __future__ import annotations

import importlib
import os
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any

from uncone.data.vectors.databases.url import DatabaseUrl, is_database
from uncone.data.writing.sinks import Plan, Sink
from uncone.errors import OutputError, require

__all__ = ["Target", "open_target", "refuse_existing"]

_TARGETS = {
    "postgresql": ("postgres", "PostgresTarget"),
    "postgres": ("postgres", "PostgresTarget"),
    "duckdb": ("duck", "DuckTarget"),
    "lancedb": ("lance", "LanceTarget"),
    "qdrant": ("qdrant", "QdrantTarget"),
    "chroma": ("chroma", "ChromaTarget"),
}


class Target(ABC):
    """A table or collection to be written."""

    package: str
    extra: str
    note: str = ""
    """What the database changes."""

    def __init__(self, url: DatabaseUrl) -> None:
        require(self.package, extra=self.extra)
        self.url = url

    @property
    def name(self) -> str:
        """What may be shown of it."""
        return self.url.name

    @abstractmethod
    def check(self) -> None:
        """Say early, before anything is read, that it can't be written.

        Raises:
            OptionError: the URL names no table, or something that means nothing.
            OutputError: the table exists, or its database can't be reached or written to.
        """

    @abstractmethod
    def open(self, plan: Plan) -> AbstractContextManager[Sink]:
        """A sink; what it wrote is kept once it is closed, and gone after an error."""


def open_target(out: Any) -> Target | None:  # noqa: ANN401 - a path or a URL
    """The table or collection that an output names; None for a file or folder."""
    if not isinstance(out, str | os.PathLike) or not is_database(os.fspath(out)):
        return None
    url = DatabaseUrl.parse(os.fspath(out))
    module, name = _TARGETS[url.scheme]
    target: Target = getattr(importlib.import_module(f"uncone.data.writing.databases.{module}"), name)(url)
    return target


def refuse_existing(name: str, exists: bool, advice: str = "Name another, or drop it first.") -> None:
    """Keep a table that is there.

    Raises:
        OutputError: it is.
    """
    if exists:
        raise OutputError(f"{name} exists, and is kept. {advice}")
