"""What lies behind the cone as plain JSON values: all numbers; of the rows only those that are named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from uncone.diagnosis.deep_results import Deep, Dimension
from uncone.diagnosis.finding import finite

__all__ = ["deep_values"]

_LARGE = {"labels", "points", "points_rows", "points_positions", "path", "shown", "logs", "facts", "rows"}
"""What pictures are drawn from: a number per row."""


def deep_values(deep: Deep) -> dict[str, Any]:
    """The numbers of a deep study under the names of their fields."""
    return {one.name: _plain(getattr(deep, one.name)) for one in fields(deep) if one.name not in _LARGE}


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever the results are made of
    if is_dataclass(value) and not isinstance(value, type):
        made = {
            one.name.rstrip("_"): _plain(getattr(value, one.name)) for one in fields(value) if one.name not in _LARGE
        }
        return {**made, "paper": value.paper} if isinstance(value, Dimension) else made
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(one) for one in value]
    return finite(value)
