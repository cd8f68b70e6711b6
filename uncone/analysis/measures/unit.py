"""Units of measures: how a value, its interval and a difference are printed, and which JSON type they have."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from uncone.analysis.measures.finding import Value
from uncone.analysis.number_format import cosine, percent

__all__ = [
    "CORRELATION",
    "COSINE",
    "COUNT",
    "DIMENSION",
    "DIMENSION_LIST",
    "FLAG",
    "LOG",
    "LOG10",
    "NORM",
    "QUANTILES",
    "RATIO",
    "SCORE",
    "SHARE",
    "UNITS",
    "Unit",
    "scientific",
]

UNKNOWN = "–"
_LISTED = 5
_POWERS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Unit:
    """How the values of a measure are printed.

    `show` prints one number. `json` is the type of a value in JSON Schema. A gate can compare what is `numeric`; a list
    counts by its length.
    """

    name: str
    show: Callable[[float], str]
    json: str = "number"
    numeric: bool = True
    is_share: bool = False
    """Whether intervals stay between 0 and 1, differences are percentage points, and axes are in per cent."""

    def format(self, value: Value) -> str:
        """A value, short; a dash when it is not known."""
        match value:
            case None:
                return UNKNOWN
            case list():
                return (", ".join(map(str, value[:_LISTED])) + " …" * (len(value) > _LISTED)) or "none"
            case dict():
                return f"{cosine(value['0.025'])} to {cosine(value['0.975'])}"
        return self._number(value) if math.isfinite(value) else UNKNOWN

    def interval(self, low: Any, high: Any) -> str:  # noqa: ANN401 - numbers, or one per quantile
        """The bounds of a 95 % interval, short; empty when there is none."""
        if not _is_finite(low):
            return ""
        if high is None:
            return f"{self._number(low)} or more"
        if not _is_finite(high):
            return ""
        if self.is_share:
            low, high = max(low, 0.0), min(high, 1.0)
        return f"{self._number(low)} – {self._number(high)}"

    def difference(self, value: float | None) -> str:
        r"""A difference with its sign; that of shares in percentage points.

        >>> SHARE.difference(-0.0312), COSINE.difference(0.25), COSINE.difference(-1e-9)
        ('−3.1\xa0pp', '+0.250', '0.000')
        """
        if not _is_finite(value):
            return UNKNOWN
        assert value is not None
        text = f"{100 * abs(value):.1f}\u00a0pp" if self.is_share else self.show(abs(value))
        return text if _is_zero(text) else f"{'−' if value < 0 else '+'}{text}"

    def _number(self, value: float) -> str:
        text = self.show(value)
        return text.removeprefix("-") if _is_zero(text) else text


def _is_zero(text: str) -> bool:
    return not any(digit in text for digit in "123456789")


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _decimals(value: float) -> str:
    return cosine(value, 3)


def _share(value: float) -> str:
    """A share in per cent, with one decimal; the smallest with two digits.

    >>> [_share(value) for value in (0.23412, 0.0042, 0.0, 1e-9, -1e-9)]
    ['23.4 %', '0.42 %', '0 %', '<0.001 %', '0.0 %']
    """
    if value >= 0.01 or value < 0:
        return f"{cosine(100 * value, 1)} %"
    return "<0.001 %" if 0 < value < 1e-5 else percent(value)


def _digits(value: float) -> str:
    """Four digits; what is too small for three decimals is zero, and what is very large a power of ten.

    >>> [_digits(value) for value in (12345.6, 123.45, 1.23456, -1e-9, 3.21e9)]
    ['12,346', '123.5', '1.235', '0.000', '3.21 × 10⁹']
    """
    size = abs(value)
    if size >= 10_000_000:
        return scientific(value)
    return f"{value:,.0f}" if size >= 1000 else f"{value:.1f}" if size >= 10 else cosine(value, 3)


def _length(value: float) -> str:
    """Four digits; a small length keeps three of its own, because only zero vectors are of length zero.

    >>> [_length(value) for value in (9.311, 0.00031234, 1.42e-8, 0.0)]
    ['9.311', '0.000312', '1.42 × 10⁻⁸', '0.000']
    """
    if not 0 < abs(value) < 0.001:
        return _digits(value)
    return scientific(value) if abs(value) < 0.0001 else f"{value:.6f}"


def scientific(value: float) -> str:
    """A number as a power of ten, as a page sets it.

    >>> scientific(1.42e-08)
    '1.42 × 10⁻⁸'
    """
    digits, _, power = f"{value:.2e}".partition("e")
    return f"{digits} × 10{str(int(power)).translate(_POWERS)}"


COSINE = Unit("cosine", _decimals)
CORRELATION = Unit("correlation", _decimals)
SCORE = Unit("score", _decimals)
"""A number from 0 to 1 that is no share of anything countable."""
SHARE = Unit("share", _share, is_share=True)
COUNT = Unit("count", "{:,.0f}".format, "integer")
NORM = Unit("norm", _length)
DIMENSION = Unit("dimensions", _digits)
RATIO = Unit("ratio", _digits)
LOG10 = Unit("log10", _digits)
LOG = Unit("log", _digits)
FLAG = Unit("flag", lambda value: "yes" if value else "no", "integer")
DIMENSION_LIST = Unit("list of dimensions", "{:,.0f}".format, "array")
QUANTILES = Unit("quantiles", _decimals, "object", numeric=False)

UNITS = (
    *(COSINE, CORRELATION, SCORE, SHARE, COUNT, NORM, DIMENSION),
    *(RATIO, LOG10, LOG, FLAG, DIMENSION_LIST, QUANTILES),
)
