"""What `calibrate` returns: what a score means in a space, where to cut, and how sure that is, with its renderings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from uncone.analysis.measures.finding import Level
from uncone.report.result import NarratedResult

if TYPE_CHECKING:
    from uncone.analysis.calibration.calibration import Calibration
    from uncone.analysis.calibration.score_meaning import Asked

__all__ = ["Calibrated"]


@dataclass(frozen=True)
class Calibrated(NarratedResult):
    """A calibration, the scores that were asked about, and how it was made.

    `asked` are the scores of the user, or the thresholds that people guess. `provenance` says how the calibration came
    to be, `saved` is its folder, where it has one.
    """

    _module: ClassVar[str] = "calibrate"
    _narrator: ClassVar[str] = "calibrate.sentences"

    calibration: Calibration
    asked: Sequence[Asked]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    saved: str | None = None

    @property
    def level(self) -> Level:
        """How bad it is to take the first of the asked scores for a threshold."""
        from uncone.report.documents.calibrate.sentences import level

        return level(self)

    @property
    def usage(self) -> str | None:
        """How a program asks the saved calibration; None when it was not saved."""
        return None if self.saved is None else f"uncone.Calibration.load({self.saved!r}).percentile(score)"

    def _values(self) -> dict[str, Any]:
        return {
            "level": str(self.level),
            "headline": self.headline,
            "lines": self.lines(),
            "asked": [one.to_dict() for one in self.asked],
            "calibration": self.calibration.to_dict(),
            "saved": self.saved,
            "provenance": dict(self.provenance),
        }

    def __repr__(self) -> str:
        """What it says, in a line."""
        return f"<Calibrated {self.calibration.source.get('name')}: {self.headline}>"
