"""Patterns of paths, as those of a shell, without a disk to look at."""

from __future__ import annotations

import re

__all__ = ["regular_expression"]


def regular_expression(pattern: str) -> str:
    """A pattern of names as a regular expression for paths; names that begin with a dot need one in the pattern."""
    folders = pattern.split("/")
    parts = []
    for place, folder in enumerate(folders):
        last = place == len(folders) - 1
        if folder == "**":
            parts.append(".*" if last else "(?:.*/)?")
            continue
        name = re.sub(r"\\\[(!?)(.+?)\\\]", _one_of, re.escape(folder).replace(r"\*", "[^/]*").replace(r"\?", "[^/]"))
        hidden = "" if folder.startswith(".") else r"(?!\.)"
        parts.append(hidden + name + ("" if last else "/"))
    return "".join(parts)


def _one_of(match: re.Match[str]) -> str:
    return f"[{'^' if match[1] else ''}{match[2].replace(chr(92) + '-', '-')}]"
