"""A finding: one number with its interval, what it was measured on, what it means and what to do."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Finding", "Level", "Value", "failures", "finite", "worst"]

Value = float | int | list[int] | dict[str, float] | None


class Level(StrEnum):
    """How bad a finding is; `note` is not a judgment."""

    NOTE = "note"
    HEALTHY = "healthy"
    CROWDED = "crowded"
    COLLAPSED = "collapsed"

    @property
    def rank(self) -> int:
        """Its place from harmless to bad."""
        return list(Level).index(self)


def worst(levels: list[Level]) -> Level:
    """The worst of several levels.

    >>> worst([Level.HEALTHY, Level.CROWDED, Level.NOTE])
    <Level.CROWDED: 'crowded'>
    """
    return max(levels, key=lambda level: level.rank, default=Level.NOTE)


@dataclass(frozen=True)
class Finding:
    """What was found, and on how many rows; `low` and `high` bound it with 95 % confidence where they are known."""

    name: str
    value: Value
    n: int
    meaning: str
    advice: str = ""
    low: Any = None
    high: Any = None
    threshold: float | None = None
    level: Level = Level.NOTE
    rows: list[dict[str, Any]] = field(default_factory=list)
    replicates: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)
    """The value without each bucket of sentences in turn: two studies of the same sentences are compared by them."""

    failed: bool = False
    """Whether its function raised; the meaning says why."""

    @property
    def magnitude(self) -> float | None:
        """The number a gate compares: the value, or the length of a list."""
        if isinstance(self.value, list):
            return float(len(self.value))
        return float(self.value) if isinstance(self.value, int | float) else None

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain JSON values."""
        plain = {
            "value": finite(self.value),
            "low": finite(self.low),
            "high": finite(self.high),
            "n": self.n,
            "threshold": self.threshold,
            "level": str(self.level),
            "meaning": self.meaning,
            "advice": self.advice,
        }
        return {**plain, "rows": self.rows} if self.rows else plain


def failures(findings: Iterable[Finding]) -> list[str]:
    """What could not be measured, and why; a sentence for each reason."""
    return list(dict.fromkeys(finding.meaning for finding in findings if finding.failed))


def finite(value: Any) -> Any:  # noqa: ANN401 - numbers, lists and dicts of them
    """The same with None for what JSON cannot say."""
    if isinstance(value, dict):
        return {key: finite(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [finite(member) for member in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
