"""The result of choosing a repair by labeled pairs, as `fix --method auto` reports it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uncone.report.document import Document
from uncone.report.result import Result, json_values

if TYPE_CHECKING:
    from uncone.evaluation.prescribe.verdict import Prescription

__all__ = ["PRESCRIBED_SCHEMA", "Prescribed"]

PRESCRIBED_SCHEMA = 1


@dataclass(frozen=True, eq=False)
class Prescribed(Result):
    """A prescription with all its renderings."""

    prescription: Prescription

    def to_dict(self) -> dict[str, Any]:
        """The numbers: plain JSON values, versioned by `schema`."""
        return {"schema": PRESCRIBED_SCHEMA, "prescription": json_values(self.prescription.to_dict())}

    def document(self) -> Document:
        """The advice and every candidate."""
        from uncone.report.documents.prescribe import prescription_document

        return prescription_document(self.to_dict()["prescription"])
