"""Frames by their type, so that no package is imported that the user has not imported."""

from __future__ import annotations

import importlib
from typing import Any

from uncone.data.source import Options, Source

__all__ = ["is_frame", "open_frame"]

_FRAMES = {
    "ray.data": ("ray", "RayVectors", ("Dataset", "MaterializedDataset")),
    "dask.dataframe": ("dask", "DaskVectors", ("DataFrame",)),
    "pyspark.sql": ("spark", "SparkVectors", ("DataFrame",)),
}
"""The package of each kind of frame, with our module and class, and the names of its own."""


def is_frame(value: object) -> bool:
    """Whether a value is a frame of Ray Data, Dask or Spark.

    >>> is_frame([1.0])
    False
    """
    return _kind(value) is not None


def open_frame(frame: Any, options: Options) -> Source:  # noqa: ANN401 - of one of three packages
    """The vectors of a frame, in its order."""
    module, name, _ = _FRAMES[_kind(frame) or ""]
    opened: Source = getattr(importlib.import_module(f"uncone.data.vectors.frames.{module}"), name)(frame, options)
    return opened


def _kind(value: object) -> str | None:
    kind = type(value)
    return next(
        (
            package
            for package, (_, _, names) in _FRAMES.items()
            if kind.__name__ in names and f"{kind.__module__}.".startswith(f"{package}.")
        ),
        None,
    )
