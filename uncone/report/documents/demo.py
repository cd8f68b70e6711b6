"""The result of `demo` and its document: unreadable scores, what they mean, the repair, the test, and how to go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from uncone.report.document import Block, Command, Document, Section, Sentences, Verdict
from uncone.report.documents.calibrate import Calibrated
from uncone.report.documents.check import Diagnosis, cosine_chart, verdict
from uncone.report.documents.evaluate.scores import interval, points
from uncone.report.documents.fix import Repaired, candidate_blocks
from uncone.report.result import Result

if TYPE_CHECKING:
    from uncone.evaluation.prescription import Prescription

__all__ = ["Demo"]

_COMMANDS = (
    "uncone check vectors.npy --score 0.75",
    "uncone similarity texts.csv --text text",
    "uncone fix texts.txt --model MODEL --method auto --pairs pairs.csv",
)
_CAVEAT = "On your own pairs, this would be proof. The demo's pairs were written to illustrate it."
_LAST = "The last layer was trained for cosine similarity, so the advice differs there."


@dataclass(frozen=True, eq=False)
class Demo(Result):
    """One layer diagnosed, calibrated, repaired and tested on labeled pairs, and the `last` layer for contrast."""

    before: Diagnosis
    calibrated: Calibrated
    prescription: Prescription
    repaired: Repaired
    last: Prescription

    def _values(self) -> dict[str, Any]:
        return {
            "check": self.before.to_dict(),
            "calibrate": self.calibrated.to_dict(),
            "fix": self.repaired.to_dict(),
            "prescribe": self.prescription.to_dict(),
            "prescribe_last_layer": self.last.to_dict(),
        }

    def document(self) -> Document:
        """Five steps, each a section with its sentences and its picture."""
        before, repaired = self.before, self.repaired
        crowded = verdict(before, with_advice=False)
        picture, after = replace(cosine_chart([before]), name="crowded"), cosine_chart(repaired.spaces)
        choices = (self.prescription, self.last)
        candidates, last = (candidate_blocks(each.to_dict(), illustration=True) for each in choices)
        steps: list[tuple[str, str, Sequence[str], list[Block]]] = [
            ("problem", "Unrelated texts look similar", crowded.details, [picture]),
            ("score", "What a score of 0.75 means", [self.calibrated.headline], []),
            ("repair", "The repair", [repaired.headline], [after]),
            ("test", "The test on labeled pairs", [_outcome(self.prescription), _CAVEAT], candidates),
            ("last", "When to leave it alone", [_LAST, _outcome(self.last)], last),
        ]
        sections = [
            Section(f"{number}. {title}", [Sentences(lines), *blocks], brief=[Sentences(lines, label)])
            for number, (label, title, lines, blocks) in enumerate(steps, start=1)
        ]
        commands = [Command(text) for text in _COMMANDS]
        return Document(
            title="uncone demo",
            name="all-MiniLM-L6-v2, layer 5",
            subtitle=f"{before.source['rows']:,} sentences · {self.prescription.pairs:,} labeled pairs",
            verdicts=[Verdict(crowded.headline, crowded.level)],
            sections=[*sections, Section("Now with your own data", commands, brief=commands)],
        )


def _outcome(tried: Prescription) -> str:
    """A sentence on the gain of the chosen repair; the demo's pairs are too few to prove anything."""
    gain, advice = tried.gain, "leave it alone" if tried.recommended is None else f"use {tried.recommended.name}"
    if gain.value is None or gain.low is None or gain.high is None:
        return tried.reason
    excludes = "excludes" if gain.low > 0 or gain.high < 0 else "includes"
    return (
        f"On {tried.pairs:,} held-out pairs, the chosen repair {'gains' if gain.value >= 0 else 'loses'} "
        f"{points(abs(gain.value))} points of {tried.measure} ({100 * tried.level:g} % interval "
        f"{interval(gain.low, gain.high)}). The interval {excludes} zero: {advice}."
    )
