"""The document of `prescribe`: the repair to use, or the advice to use none, with every candidate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.measures.finding import Level
from uncone.analysis.number_format import count
from uncone.report.document import Block, Cell, Column, Document, Notes, Section, Verdict, table
from uncone.report.documents.evaluate.scores import interval, points, signed_points
from uncone.report.result import Result

if TYPE_CHECKING:
    from uncone.evaluation.prescription import Prescription

__all__ = ["Prescribed", "candidate_blocks"]


@dataclass(frozen=True, eq=False)
class Prescribed(Result):
    """The choice of a repair by labeled pairs, as `fix --method auto` reports it if none helps."""

    prescription: Prescription

    def _values(self) -> dict[str, Any]:
        return {"prescription": self.prescription.to_dict()}

    def document(self) -> Document:
        """The advice, its reason, and what every candidate gains."""
        prescription = self.to_dict()["prescription"]
        recommended, pairs, units = (prescription[key] for key in ("recommended", "pairs", "independent_pairs"))
        headline = "Leave it alone." if recommended is None else f"Use {recommended['name']}."
        level = Level.HEALTHY if recommended is None else Level.CROWDED
        blocks = candidate_blocks(prescription)
        return Document(
            title=headline,
            name=prescription["name"],
            subtitle=f"{count(pairs, 'pair')}, {units:,} independent · {count(prescription['folds'], 'fold')}",
            verdicts=[Verdict(headline, level, [prescription["reason"]])],
            sections=[Section("Candidates", blocks, brief=blocks)],
        )


def candidate_blocks(prescription: Mapping[str, Any], *, illustration: bool = False) -> list[Block]:
    """Every candidate with its score on held-out pairs and its difference to raw vectors.

    Pairs that were written for an `illustration` prove nothing.
    """
    folds, recommended = prescription["folds"], prescription["recommended"]
    level = Column("to raw", f"{100 * prescription['level']:g} % interval")
    rows: list[list[object]] = [["raw", points(prescription["raw"]), "", ""]]
    notes = list(prescription["notes"])
    for candidate in prescription["table"]:
        keys = ("name", "method", "options")
        is_chosen = recommended is not None and all(candidate[key] == recommended[key] for key in keys)
        chosen = f"{candidate['chosen']} of {folds}" if candidate["chosen"] else ""
        name, difference = Cell(candidate["name"], strong=is_chosen), _difference(candidate["difference"])
        rows.append([name, points(candidate["score"]), difference, chosen])
        notes += [f"{candidate['name']}: {candidate['note']}"] if candidate["note"] else []
    held_out = "Each pair is scored by repairs that were fitted without its texts."
    proof = "A star marks a proven difference, ↓* a proven loss, corrected for the number of candidates."
    if illustration:
        proof = "A star marks an interval above zero, ↓* one below zero, corrected for the number of candidates."
    elif prescription["independent_pairs"] < LEAST_UNITS:
        proof = f"A proof needs {LEAST_UNITS} independent pairs."
    heads = ["candidate", f"{prescription['measure']} x 100", level, Column("chosen", "folds")]
    candidates = table(heads, rows, remarks=[held_out, proof], name="candidates")
    return [candidates, *([Notes(notes, most=len(notes))] if notes else [])]


def _difference(difference: Mapping[str, Any]) -> Cell:
    value, proven = difference["value"], difference["significant"]
    loss = proven and value < 0
    level, mark = Level.CROWDED if loss else Level.NOTE, "↓*" if loss else "*" if proven else ""
    return Cell(signed_points(value), interval(difference["low"], difference["high"]), level, mark=mark)
