"""Engines by name: `open_engine("ray", address="auto")`."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from uncone.run.job import Executor

__all__ = ["ENGINES", "open_engine"]

ENGINES = {"threads": None, "ray": "Ray", "spark": "Spark", "dask": "Dask"}
"""The engines by name, with their classes; threads need none."""


def open_engine(engine: Any, address: str | None = None, workers: int = 0) -> Executor | None:  # noqa: ANN401
    """The engine of a name, connected; an executor is what it is, and threads are None.

    Raises:
        MissingPackageError: the package of the engine is not installed.
        WorkerError: there is no cluster at the address.
    """
    if not isinstance(engine, str):
        return engine  # type: ignore[no-any-return]
    return None if ENGINES[engine] is None else _connected(engine, address, workers)


@cache
def _connected(name: str, address: str | None, workers: int) -> Executor:
    module = importlib.import_module(f"uncone.run.engines.{name}")
    executor: Executor = getattr(module, str(ENGINES[name]))(address, workers)
    return executor
