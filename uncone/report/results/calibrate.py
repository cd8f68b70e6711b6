"""What `calibrate` returns: what a score means in a space, where to cut, and how sure that is, with its renderings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from uncone.analysis.measures.finding import Level
from uncone.report.document import Document
from uncone.report.result import Result, json_values

if TYPE_CHECKING:
    from uncone.analysis.calibration.calibration import Calibration
    from uncone.analysis.calibration.score_meaning import Asked

__all__ = ["CALIBRATED_SCHEMA", "Calibrated"]

CALIBRATED_SCHEMA = 1


@dataclass(frozen=True)
class Calibrated(Result):
    """A calibration, the scores that were asked about, and how it was made.

    `asked` are the scores of the user, or the thresholds that people guess. `provenance` says how the calibration came
    to be, `saved` is its folder, where it has one.
    """

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
    def headline(self) -> str:
        """What the first of the asked scores means, and where to cut, in two sentences."""
        from uncone.report.documents.calibrate.sentences import headline

        return headline(self)

    @property
    def usage(self) -> str | None:
        """How a program asks the saved calibration; None when it was not saved."""
        return None if self.saved is None else f"uncone.Calibration.load({self.saved!r}).percentile(score)"

    def lines(self) -> list[str]:
        """What a score means here, why, and what to do, in sentences written from the numbers."""
        from uncone.report.documents.calibrate.sentences import sentences

        return [line for one in sentences(self).values() for line in one]

    def to_dict(self) -> dict[str, Any]:
        """The summary: plain JSON values, versioned by `schema`; `calibration` is as it is saved."""
        summary = {
            "schema": CALIBRATED_SCHEMA,
            "level": str(self.level),
            "headline": self.headline,
            "lines": self.lines(),
            "asked": [one.to_dict() for one in self.asked],
            "calibration": self.calibration.to_dict(),
            "saved": self.saved,
            "provenance": dict(self.provenance),
        }
        plain: dict[str, Any] = json_values(summary)
        return plain

    def document(self) -> Document:
        """What there is to say, for all renderers."""
        from uncone.report.documents.calibrate.document import document

        return document(self)

    def __repr__(self) -> str:
        """What it says, in a line."""
        return f"<Calibrated {self.calibration.source.get('name')}: {self.headline}>"
