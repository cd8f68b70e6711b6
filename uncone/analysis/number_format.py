"""Numbers as a sentence uses them."""

from __future__ import annotations

import math

__all__ = ["clipped", "cosine", "count", "percent", "plain"]


def plain(value: float) -> str:
    """Two decimals near one, two significant digits when small, no exponent where a reader can do without.

    >>> [plain(v) for v in (0.7081, -0.0312, 12.34, 1234.5, 0.00012, 3.2e9)]
    ['0.71', '-0.03', '12.3', '1,234', '0.00012', '3.2e+09']
    """
    size = abs(value)
    if not math.isfinite(value):
        return "unbounded"
    if size >= 1e6:
        return f"{value:.1e}"
    if size >= 100:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 0.01 or size < 1e-9:
        return f"{value:.2f}".replace("-0.00", "0.00")
    return f"{value:.2g}"


def cosine(value: float, digits: int = 2) -> str:
    """A cosine: decimals, never an exponent, and no minus before a zero.

    >>> cosine(0.7081), cosine(-0.00007), cosine(-0.00007, 3)
    ('0.71', '0.00', '0.000')
    """
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def percent(share: float) -> str:
    """A share in per cent, with as many digits as it needs.

    >>> [percent(s) for s in (0.234, 0.0312, 0.00042, 0.0, 1.0, 0.99997)]
    ['23 %', '3.1 %', '0.042 %', '0 %', '100 %', '99.997 %']
    """
    value = 100 * share
    if value in (0.0, 100.0):
        return f"{value:.0f} %"
    if value > 99.5:
        return f"{100 - float(f'{100 - value:.2g}'):.6g} %"
    return f"{value:.0f} %" if value >= 10 else f"{value:.2g} %"


def clipped(text: str, most: int) -> str:
    """The beginning of a text.

    >>> clipped("a long text", 6)
    'a long…'
    """
    return text if len(text) <= most else text[:most] + "…"


def count(n: int, noun: str, plural: str = "") -> str:
    """A number with its noun.

    >>> count(1, "row"), count(12000, "row"), count(2, "study", "studies")
    ('1 row', '12,000 rows', '2 studies')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"
