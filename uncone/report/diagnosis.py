"""What `check` returns: findings, verdict and provenance of one space, with their renderings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uncone.diagnosis.baseline import ScoreMeaning
from uncone.diagnosis.finding import Finding
from uncone.diagnosis.pictures import Pictures
from uncone.diagnosis.verdict import Verdict
from uncone.report.plain import json_text

__all__ = ["SCHEMA", "Comparison", "Diagnosis"]

SCHEMA = 1


class _Rendered(ABC):
    """The renderings that one diagnosis and a comparison share."""

    @property
    @abstractmethod
    def spaces(self) -> Sequence[Diagnosis]:
        """The diagnoses it is made of."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The summary: plain JSON values, versioned by `schema`."""

    def to_json(self) -> str:
        """The summary as JSON text."""
        return json_text(self.to_dict())

    def to_html(self) -> str:
        """The report: one self-contained page."""
        from uncone.report.html import render

        return render(self.spaces, self.to_json())

    def to_markdown(self) -> str:
        """The findings as markdown."""
        from uncone.report.markdown import render

        return render(self.spaces)

    def _repr_html_(self) -> str:
        """The verdict and the findings, for notebooks."""
        from uncone.report.html import notebook

        return notebook(self.spaces)


@dataclass(frozen=True)
class Diagnosis(_Rendered):
    """One space: what it is, what was found, what it means."""

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
    def spaces(self) -> Sequence[Diagnosis]:
        return [self]

    def to_dict(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **self._body()}

    def _body(self) -> dict[str, Any]:
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
class Comparison(_Rendered):
    """Several spaces side by side."""

    diagnoses: Sequence[Diagnosis]

    @property
    def spaces(self) -> Sequence[Diagnosis]:
        return self.diagnoses

    def to_dict(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "sources": [one._body() for one in self.diagnoses]}
