"""What `check` returns: findings, verdict and provenance of one space, with their renderings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from uncone.analysis.cosine.baseline import ScoreMeaning
from uncone.analysis.measures.finding import Finding
from uncone.analysis.measures.verdict import Verdict
from uncone.analysis.space.chart_data import Pictures
from uncone.report.result import Result

__all__ = ["Comparison", "Diagnosis"]


@dataclass(frozen=True)
class Diagnosis(Result):
    """One space: what it is, what was found, what it means."""

    _module: ClassVar[str] = "check"

    source: Mapping[str, Any]
    findings: Mapping[str, Finding]
    verdict: Verdict
    scores: Sequence[ScoreMeaning]
    pictures: Pictures
    provenance: Mapping[str, Any]
    suggestion: str | None = None
    """A command that goes on from here, ready to paste."""

    def __getitem__(self, name: str) -> Finding:
        """A finding by name."""
        return self.findings[name]

    @property
    def diagnoses(self) -> Sequence[Diagnosis]:
        """The diagnoses of a comparison; here, itself."""
        return [self]

    def _values(self) -> dict[str, Any]:
        verdict = self.verdict
        return {
            "source": dict(self.source),
            "verdict": {
                "level": str(verdict.level),
                "text": verdict.text,
                "headline": verdict.headline,
                "why": verdict.why,
                "advice": verdict.todo,
                "next": self.suggestion,
            },
            "findings": {name: finding.to_dict() for name, finding in self.findings.items()},
            "scores": [score.to_dict() for score in self.scores],
            "charts": self.pictures.to_dict(),
            "provenance": dict(self.provenance),
        }

    def __repr__(self) -> str:
        """The verdict in a line."""
        return f"<Diagnosis of {self.source['name']}: {self.verdict.headline}>"


@dataclass(frozen=True)
class Comparison(Result):
    """Several spaces side by side."""

    _module: ClassVar[str] = "check"

    diagnoses: Sequence[Diagnosis]

    def _values(self) -> dict[str, Any]:
        return {"sources": [one._values() for one in self.diagnoses]}
