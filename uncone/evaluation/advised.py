"""A prescription without labeled pairs: the rule that speaks, its record, the witness of words. It proves nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from uncone.analysis.advice.rules import Advice, AdviceValues
from uncone.analysis.advice.witness import AgreementChange
from uncone.analysis.measures.finding import Finding
from uncone.evaluation.prescription import LEAVE
from uncone.evaluation.table import Method
from uncone.repairs.repair import Repair

__all__ = ["Advised", "AdvisedValues", "NamedMethod"]


@dataclass(frozen=True, eq=False)
class Advised:
    """The repair that a rule names, or None: leave it alone, or not known.

    `findings` are those that the rule was asked about, `change` is that of the agreement with words by the repair; None
    for vectors without texts. `repair` is the recommended one, fitted on all rows of `dim` dimensions.
    """

    recommended: Method | None
    repair: Repair | None
    advice: Advice
    change: AgreementChange | None
    findings: Mapping[str, Finding]
    name: str
    dim: int
    notes: Sequence[str] = ()

    proven = False
    """Only labeled pairs prove."""

    @property
    def verdict(self) -> str:
        """The name of the method, "leave it alone", or "unknown"."""
        if self.recommended is not None:
            return self.recommended.name
        return "unknown" if self.advice.rule is None else LEAVE

    @property
    def reason(self) -> str:
        """The advice in sentences."""
        return self.advice.text

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they are saved with the repair."""
        method = self.recommended
        values = AdvisedValues(
            verdict=self.verdict,
            recommended=None if method is None else NamedMethod(method.name, method.repair, dict(method.options)),
            proven=self.proven,
            reason=self.reason,
            advice=self.advice.values(self.dim),
            witness=self.change,
            findings={name: finding.to_dict() for name, finding in self.findings.items()},
            name=self.name,
            notes=list(self.notes),
        )
        return asdict(values)


@dataclass(frozen=True)
class NamedMethod:
    """A repair with its options, as `uncone fix` takes them."""

    name: str
    method: str
    options: dict[str, Any]


@dataclass(frozen=True)
class AdvisedValues:
    """The prescription as JSON has it."""

    verdict: str
    recommended: NamedMethod | None
    proven: bool
    reason: str
    advice: AdviceValues
    witness: AgreementChange | None
    findings: dict[str, Any]
    name: str
    notes: list[str]
