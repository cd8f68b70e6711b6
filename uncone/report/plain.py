"""Values as plain JSON, and texts packed for a page."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from typing import Any

from uncone.data.plain_values import plain_values

__all__ = ["json_text", "json_values", "packed"]


def packed(text: str) -> str:
    """A text as base64 of gzip, which `unpack` in page.js reads."""
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), mtime=0)).decode("ascii")


def json_values(value: Any) -> Any:  # noqa: ANN401 - whatever a summary holds
    """The same as plain JSON values: numbers of NumPy as Python's, None for what is not finite, the rest as text.

    >>> json_values({"share": float("nan"), "words": ("a", "b"), "error": ValueError("no")})
    {'share': None, 'words': ['a', 'b'], 'error': 'no'}
    """
    return plain_values(value, otherwise=str)


def json_text(summary: Mapping[str, Any]) -> str:
    """A summary of JSON values as text."""
    return json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
