"""Single fields of a table: numbers, missing values, texts, and how a message quotes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real

from uncone.errors import FormatError

__all__ = ["MISSING", "clipped", "finite_number", "is_number", "label_text", "list_names", "parse_number", "whole_text"]

MISSING = {"", "na", "n/a", "nan", "none", "null"}
"""How tables write a number that is missing."""


def parse_number(text: str, where: str) -> float:
    """The number in a field; a missing one is NaN, and its row will be counted as bad."""
    if text.strip().lower() in MISSING:
        return float("nan")
    try:
        return float(text)
    except ValueError as error:
        raise FormatError(
            f"{where}: {clipped(text)!r} is not a number. Correct it, or leave the field empty."
        ) from error


def finite_number(value: object, where: str, low: float = -math.inf, high: float = math.inf) -> float:
    """The score in a field, which has to be finite and in range.

    >>> finite_number("3.5", "a.tsv, line 1", 0, 5)
    3.5

    Raises:
        FormatError: it is not a number, or out of range.
    """
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"{where}: {clipped(str(value))!r} is not a number; we need a score.") from error
    if not math.isfinite(number) or not low <= number <= high:
        need = "a finite one" if math.isinf(low) else f"one from {low:g} to {high:g}"
        raise FormatError(f"{where}: the score {clipped(str(value))} is out of range; we need {need}.")
    return number


def is_number(text: str) -> bool:
    """Whether a field holds a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def whole_text(text: str, where: str) -> str:
    """The text, unless it holds half of a character: no tokenizer takes the lone surrogate of a cut emoji.

    Raises:
        FormatError: it does.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = f"U+{ord(text[error.start]):04X}"
        raise FormatError(f"{where}: half a character ({half}), perhaps of a cut-off emoji. Remove it.") from error
    return text


def label_text(label: object) -> str | None:
    """A label as text; None if it is missing. Whole numbers may come as text, integers or floats.

    >>> label_text(1.0), label_text("1"), label_text(0.5), label_text(float("nan")), label_text(" "), label_text(True)
    ('1', '1', '0.5', None, None, 'True')
    """
    if isinstance(label, Real) and not isinstance(label, Integral):  # numpy's numbers too
        number = float(label)
        return None if math.isnan(number) else str(int(number) if number.is_integer() else label)
    return None if label is None else str(label).strip() or None


def clipped(text: str, limit: int = 40) -> str:
    """The beginning of a text."""
    return text if len(text) <= limit else text[:limit] + "…"


def list_names(names: Sequence[str]) -> str:
    """Column names as a message lists them."""
    return clipped(", ".join(clipped(name) or "(unnamed)" for name in names) or "none", 200)
