"""Values as plain JSON, and texts packed for a page."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from uncone.analysis.measures.finding import finite

__all__ = ["json_text", "json_values", "packed"]


def packed(text: str) -> str:
    """A text as base64 of gzip, which `unpack` in page.js reads."""
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), mtime=0)).decode("ascii")


def json_values(value: Any) -> Any:  # noqa: ANN401 - whatever a summary holds
    """The same as plain JSON values: numbers of NumPy as Python's, None for what is not finite, the rest as text.

    >>> json_values({"n": np.int64(3), "share": float("nan"), "words": ("a", "b")})
    {'n': 3, 'share': None, 'words': ['a', 'b']}
    """
    return finite(_plain(value))


def json_text(summary: Mapping[str, Any]) -> str:
    """A summary of JSON values as text."""
    return json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a summary holds
    if dataclasses.is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, str):
        # Half a surrogate pair has no bytes in UTF-8.
        return value.encode("utf-8", errors="replace").decode("utf-8")
    return value if value is None or isinstance(value, bool | int | float) else str(value)
