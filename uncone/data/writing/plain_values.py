"""Results as plain JSON values, and results from plain JSON values: one serializer for every file and report."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import msgspec
import numpy as np

from uncone.errors import OptionError

__all__ = ["build", "plain_values"]

T = TypeVar("T")


def plain_values(value: Any, otherwise: Callable[[Any], Any] | None = None) -> Any:  # noqa: ANN401 - any result
    """The same as JSON values: arrays become lists, and a number that is not finite becomes None.

    `otherwise` converts what JSON does not have.

    >>> plain_values({"n": np.int64(3), "share": float("nan"), "words": ("a", "b")})
    {'n': 3, 'share': None, 'words': ['a', 'b']}

    Raises:
        OptionError: there is something that JSON does not have, and no `otherwise`.
    """
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str):
        # Half a surrogate pair has no bytes in UTF-8.
        return value.encode("utf-8", errors="replace").decode("utf-8")
    if value is None or isinstance(value, int):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain_values(item, otherwise) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain_values(value.tolist(), otherwise)
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_values(item, otherwise) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if otherwise is None:
        raise OptionError(
            f"Only plain values can be saved: numbers, texts, lists of them; not a {type(value).__name__}."
        )
    return otherwise(value)


def build(cls: type[T], values: Mapping[str, Any]) -> T:
    """The dataclass that `plain_values` described, of the types that it declares; unknown keys are ignored.

    Raises:
        ValueError: a value is missing or of the wrong type; the message says where.
    """
    return msgspec.convert(values, cls, dec_hook=_array)


def _array(cls: type, value: Any) -> Any:  # noqa: ANN401 - from JSON
    """A list of numbers as an array; None becomes NaN."""
    try:
        return np.array([*value], np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError("Expected a list of numbers") from error
