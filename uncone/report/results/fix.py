"""What `fix` returns: a space before and after a repair, with the repair itself, and their renderings."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from uncone.analysis.measures.finding import Level
from uncone.report.result import NarratedResult, Result
from uncone.report.results.check import Diagnosis

if TYPE_CHECKING:
    from uncone.evaluation.prescription import Prescription
    from uncone.repairs.repair import Repair

__all__ = ["REMINDER", "Prescribed", "Repaired"]

REMINDER = "Re-index your documents and apply the same repair to queries: raw and repaired vectors can't be compared."
_WARNING = (
    "The space was not crowded before the repair. Don't use the repair unless labeled pairs show that it helps: uncone "
    "fix --method auto --pairs."
)


@dataclass(frozen=True)
class Repaired(NarratedResult):
    """One space before and after a repair.

    `method` is the repair as it was asked for, `repair` the fitted one. `provenance` says what it was fitted on: n,
    encoder, layer, pooling, level, seed, versions. `notes` are what was decided or left out on the way. `history` is
    the learning curve of a flow: epoch, bits per dimension of the rows trained on, and of those held out. `saved` is
    the folder of the repair, `written` the file of the repaired vectors, where there are any.
    """

    _module: ClassVar[str] = "fix"
    _narrator: ClassVar[str] = "fix"

    before: Diagnosis
    after: Diagnosis
    method: str
    repair: Repair
    provenance: Mapping[str, Any]
    notes: Sequence[str] = ()
    history: Sequence[tuple[int, float, float | None]] = ()
    saved: str | None = None
    written: str | None = None

    @property
    def healthy(self) -> bool:
        """Whether there was nothing to repair."""
        return self.before.verdict.level is Level.HEALTHY

    @property
    def warning(self) -> str:
        """What to be told when the space was healthy before; else empty."""
        return _WARNING if self.healthy else ""

    @property
    def reminder(self) -> str:
        """What has to happen to the vectors that are in use."""
        return REMINDER

    @property
    def suggestion(self) -> str | None:
        """A command that repairs new vectors or texts, ready to paste; None when the repair was not saved."""
        if self.saved is None:
            return None
        encoder = self.provenance.get("encoder")
        new = "new.npy -o new-fixed.npy" if encoder is None else f"new.csv --model {shlex.quote(str(encoder))}"
        return f"uncone apply {shlex.quote(self.saved)} {new}"

    @property
    def spaces(self) -> Sequence[Diagnosis]:
        """The two diagnoses, named before and after."""
        named = (("before", self.before), ("after", self.after))
        return [replace(space, source={**space.source, "name": name}) for name, space in named]

    def _values(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "repair": _described(self.repair),
            "headline": self.headline,
            "lines": self.lines(),
            "was_healthy": self.healthy,
            "warning": self.warning,
            "reminder": self.reminder,
            "next": self.suggestion,
            "notes": list(self.notes),
            "history": [{"epoch": epoch, "train": train, "held_out": held} for epoch, train, held in self.history],
            "saved": self.saved,
            "written": self.written,
            "provenance": dict(self.provenance),
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
        }

    def __repr__(self) -> str:
        """Before and after in a line."""
        return f"<Repaired {self.before.source['name']} by {self.method}: {self.headline}>"


@dataclass(frozen=True, eq=False)
class Prescribed(Result):
    """The choice of a repair by labeled pairs, as `fix --method auto` reports it if none helps."""

    _module: ClassVar[str] = "prescribe"

    prescription: Prescription

    def _values(self) -> dict[str, Any]:
        return {"prescription": self.prescription.to_dict()}


def _described(repair: Repair) -> dict[str, Any]:
    """The steps of a repair with their parameters, and what goes in and comes out."""
    steps: Sequence[Repair] = getattr(repair, "steps_", [repair])
    return {
        "steps": [{"kind": one.kind, "parameters": one.get_params(deep=False), "note": one.note_} for one in steps],
        "dim_in": repair.n_features_in_,
        "dim_out": repair._n_features_out,
    }
