"""Names, texts, findings and provenance as a document shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uncone.analysis.measures.finding import Finding
from uncone.analysis.measures.registry import measure

__all__ = ["file_name", "fitted", "interval", "last_name", "number", "printable", "provenance_facts"]


def printable(text: str) -> str:
    r"""One line without control characters, which a terminal would obey.

    >>> printable("a\x1b[31m  b")
    'a�[31m b'
    """
    return "".join(letter if letter.isprintable() else "�" for letter in " ".join(text.split()))


def last_name(path: object) -> str:
    """A path by its last part, as it may be shown."""
    return printable(str(path).rstrip("/").rsplit("/", 1)[-1])


def file_name(name: str) -> str:
    """A name as part of a file name: letters, digits and dashes."""
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_") else "-" for letter in name)[:40]


def fitted(name: str, limit: int = 20) -> str:
    """A name shortened in the middle, because versions of a model differ at either end.

    >>> fitted("bert-base-cased"), fitted("bert-large-uncased-whole-word-masking")
    ('bert-base-cased', 'bert-large-…-masking')
    """
    return name if len(name) <= limit else f"{name[: limit - 9]}…{name[-8:]}"


def number(finding: Finding | None) -> str:
    """The value, short; a dash if it is unknown."""
    return "–" if finding is None else measure(finding.name).unit.format(finding.value)


def interval(finding: Finding) -> str:
    """The 95 % interval, short; empty if there is none."""
    return measure(finding.name).unit.interval(finding.low, finding.high)


def provenance_facts(provenance: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is known of the provenance, as pairs of words; versions and the like on one line."""
    known = {key: value for key, value in provenance.items() if value not in (None, {}, [], ())}
    return [(key.replace("_", " "), str(value) if key == "seed" else _listed(value)) for key, value in known.items()]


def _listed(value: Any) -> str:  # noqa: ANN401 - any plain value
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {one}" for key, one in value.items() if one is not None)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
