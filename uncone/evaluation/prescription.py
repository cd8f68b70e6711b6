"""The prescription: every candidate with its gain on held-out pairs, and the repair to use, if any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from uncone.analysis.intervals.bootstrap import Difference
from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.evaluation.folds import PairProblem
from uncone.evaluation.table import Method
from uncone.repairs.repair import Repair

__all__ = ["Prescription", "Tried", "reason_for"]

LEAVE = "leave it alone"


@dataclass(frozen=True)
class Tried:
    """A candidate on held-out pairs: its score, and its gain over raw, corrected for the number of candidates.

    `wins` counts the folds for which the other folds chose it. Without a score, the note gives the reason.
    """

    method: Method
    score: float | None
    difference: Difference
    wins: int
    note: str = ""

    @property
    def significant(self) -> bool:
        """Whether the difference is significant, in either direction."""
        return self.difference.significant


@dataclass(frozen=True, eq=False)
class Prescription:
    """The repair to use, or None: leave it alone.

    Scores and gains are between -1 and 1 in Spearman, or 0 and 1 in ROC-AUC; 0.01 is a point. `gain` is that of
    choosing: in every fold, of the candidate that the other folds chose. It is honest, where the best line of `table`
    flatters. `repair` is the recommended one, fitted on all rows. `units` is how many of the pairs are independent.
    """

    recommended: Method | None
    repair: Repair | None
    table: Sequence[Tried]
    raw: float | None
    gain: Difference
    reason: str
    measure: str
    pairs: int
    units: int
    folds: int
    level: float
    least_gain: float
    name: str
    notes: Sequence[str] = ()

    @property
    def proven(self) -> bool:
        """Whether the gain is proven; only then is a repair recommended."""
        return self.recommended is not None

    @property
    def verdict(self) -> str:
        """The name of the method, or "leave it alone"."""
        return LEAVE if self.recommended is None else self.recommended.name

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they are saved with the repair."""
        return {
            "verdict": self.verdict,
            "recommended": None if self.recommended is None else _plain(self.recommended),
            "proven": self.proven,
            "reason": self.reason,
            "gain": _interval(self.gain),
            "raw": self.raw,
            "measure": self.measure,
            "pairs": self.pairs,
            "independent_pairs": self.units,
            "name": self.name,
            "folds": self.folds,
            "level": self.level,
            "least_gain": self.least_gain,
            "notes": list(self.notes),
            "table": [
                {
                    **_plain(row.method),
                    "score": row.score,
                    "difference": asdict(row.difference),
                    "chosen": row.wins,
                    "note": row.note,
                }
                for row in self.table
            ],
        }


def reason_for(
    best: Tried | None, gain: Difference, pairs: PairProblem, least: float, level: float
) -> tuple[bool, str]:
    """Whether to recommend the best candidate, and a sentence that explains the decision."""
    if best is None:
        return False, f"None of the repairs can be fitted and scored here: {LEAVE}."
    if gain.value is None or gain.low is None or gain.high is None:
        return (
            False,
            f"The gain of {best.method.name} has no interval on {_pairs(pairs, gain)}. These are too few: {LEAVE}.",
        )
    does = "loses" if gain.value <= -0.0005 else "gains"
    result = (
        f"On {_pairs(pairs, gain)}, the chosen repair {does} {100 * abs(gain.value):.1f} points of {pairs.measure} "
        f"({100 * level:g} % interval {_points(gain.low)} to {_points(gain.high)})"
    )
    if gain.low <= 0:
        reason = "No repair helps" if gain.high < 0 else "The interval includes zero"
        return False, f"{result}. {reason}: {LEAVE}."
    if gain.units < LEAST_UNITS:
        return False, f"{result}. A proof needs {LEAST_UNITS} independent pairs: {LEAVE}, or label more pairs."
    if gain.value < least:
        return False, f"{result}. That is less than the {_size(least)} that a change is worth: {LEAVE}."
    proven = f"proven on {gain.units:,} independent pairs"
    return True, f"{result}, {proven}. Over all pairs the best repair is {best.method.name}: use it."


def _pairs(pairs: PairProblem, gain: Difference) -> str:
    independent = "" if gain.units == len(pairs) else f" ({gain.units:,} independent)"
    return f"{len(pairs):,} held-out pairs{independent}"


def _points(value: float) -> str:
    return f"{100 * value:+.1f}".replace("-", "−")


def _size(least: float) -> str:
    return "1 point" if least == 0.01 else f"{100 * least:g} points"


def _plain(method: Method) -> dict[str, Any]:
    return {"name": method.name, "method": method.repair, "options": dict(method.options)}


def _interval(gain: Difference) -> dict[str, float | None]:
    return {"value": gain.value, "low": gain.low, "high": gain.high}
