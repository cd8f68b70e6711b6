"""Names, numbers, findings and provenance as a document shows them."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from uncone.analysis.measures.finding import Finding
from uncone.analysis.measures.registry import measure
from uncone.analysis.number_format import plain

__all__ = [
    "between", "capitalized", "command", "file_name", "interval", "last_name", "listed", "number", "number_text",
    "printable", "provenance_facts", "shorten", "signed", "source_line", "with_interval",
]  # fmt: skip

Show = Callable[[float], str]


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


def shorten(name: str, limit: int = 20, tail: int = 8) -> str:
    """A name shortened in the middle to its beginning and `tail` letters, because names differ at either end.

    >>> shorten("bert-base-cased"), shorten("bert-large-uncased-whole-word-masking")
    ('bert-base-cased', 'bert-large-…-masking')
    """
    return name if len(name) <= limit else f"{name[: limit - tail - 1]}…{name[-tail:]}"


def capitalized(text: str) -> str:
    """The text with a capital first letter."""
    return f"{text[:1].upper()}{text[1:]}"


def listed(names: Sequence[str], most: int = 4) -> str:
    """Names with commas and "and"; if there are many, the first ones and how many more.

    >>> listed(["a", "b"]), listed([*"abcdefg"])
    ('a and b', 'a, b, c, d, and 3 more')
    """
    if len(names) > most + 1:
        return f"{', '.join(names[:most])}, and {len(names) - most} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def number(finding: Finding | None) -> str:
    """The value of a finding, short; a dash if it is unknown."""
    return "–" if finding is None else measure(finding.name).unit.format(finding.value)


def interval(finding: Finding) -> str:
    """The 95 % interval of a finding, short; empty if there is none."""
    return measure(finding.name).unit.interval(finding.low, finding.high)


def number_text(value: float | None, show: Show = plain) -> str:
    """A number as text; a dash if it is unknown."""
    return "–" if value is None or not math.isfinite(value) else show(value)


def between(low: float | None, high: float | None, show: Show = plain, to: str = " to ") -> str:
    """An interval as text; empty if it is unknown."""
    return "" if low is None or high is None else f"{show(low)}{to}{show(high)}"


def with_interval(value: float | None, low: float | None, high: float | None, show: Show = plain) -> str:
    """A number with its interval if it has one."""
    bounds = "" if value is None else between(low, high, show)
    return f"{number_text(value, show)} ({bounds})" if bounds else number_text(value, show)


def signed(text: str) -> str:
    """A number as text, with a plus if it is positive.

    >>> signed("0.3"), signed("-0.3"), signed("0.0"), signed("–")
    ('+0.3', '-0.3', '0.0', '–')
    """
    return f"+{text}" if text[0] not in "-–" and text.strip("0.") else text


def source_line(shape: str, source: Mapping[str, Any], *, layer: bool = True) -> str:
    """The shape, model, layer, pooling and repair of a source, as far as they are known."""
    parts = [shape]
    if model := source.get("encoder") or source.get("model"):
        *around, own = str(model).rstrip("/").split("/")
        parts.append(around[-1] if own == "model" and around else own)
        parts += [f"layer {source['layer']}"] if layer and source.get("layer") is not None else []
    parts += [f"{source['pooling']} pooling"] if source.get("pooling") else []
    parts += [f"repaired by {last_name(source['repair'])}"] if source.get("repair") else []
    return " · ".join(printable(part) for part in parts if part)


def command(verb: str, argument: object, options: Mapping[str, object]) -> str:
    """A command ready to paste; options that are None are left out."""
    words = [word for name, value in options.items() if value is not None for word in (f"--{name}", str(value))]
    return shlex.join(["uncone", verb, str(argument), *words])


def provenance_facts(provenance: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The provenance as pairs of a name and a value; versions and the like are on one line."""
    facts = {key: value for key, value in provenance.items() if value not in (None, {}, [], ())}
    return [(key.replace("_", " "), str(value) if key == "seed" else _joined(value)) for key, value in facts.items()]


def _joined(value: Any) -> str:  # noqa: ANN401 - any plain value
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {item}" for key, item in value.items() if item is not None)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
