"""The document of `prescribe`: the repair to use, or the advice to use none, with every candidate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.measures.finding import Level
from uncone.analysis.number_format import count
from uncone.report.document import Block, Cell, Column, Document, Notes, Row, Section, Table, Verdict
from uncone.report.documents.evaluate.scores import interval, points, signed
from uncone.report.results.fix import Prescribed

__all__ = ["candidate_blocks", "document"]


def document(result: Prescribed) -> Document:
    """The advice, its reason, and what every candidate gains."""
    prescription = result.to_dict()["prescription"]
    recommended = prescription["recommended"]
    headline = "Leave it alone." if recommended is None else f"Use {recommended['name']}."
    level = Level.HEALTHY if recommended is None else Level.CROWDED
    pairs, units = prescription["pairs"], prescription["independent_pairs"]
    blocks = candidate_blocks(prescription)
    return Document(
        title=headline,
        name=prescription["name"],
        subtitle=f"{count(pairs, 'pair')}, {units:,} independent · {count(prescription['folds'], 'fold')}",
        verdicts=[Verdict(headline, level, [prescription["reason"]])],
        sections=[Section("Candidates", blocks, brief=blocks)],
    )


def candidate_blocks(prescription: Mapping[str, Any]) -> list[Block]:
    """Every candidate with its score on held-out pairs and its difference to raw vectors."""
    level = f"{100 * prescription['level']:g} %"
    columns = [
        Column("candidate", align="left"),
        Column(f"{prescription['measure']} x 100"),
        Column("to raw", f"{level} interval"),
        Column("chosen", "folds"),
    ]
    rows = [Row([Cell("raw"), Cell(points(prescription["raw"])), Cell(""), Cell("")])]
    for candidate in prescription["table"]:
        name = Cell(candidate["name"], strong=_same(candidate, prescription["recommended"]))
        chosen = f"{candidate['chosen']} of {prescription['folds']}" if candidate["chosen"] else ""
        rows.append(Row([name, Cell(points(candidate["score"])), _difference(candidate["difference"]), Cell(chosen)]))
    notes = [*prescription["notes"], *(f"{one['name']}: {one['note']}" for one in prescription["table"] if one["note"])]
    proof = (
        "A star marks a proven difference, ↓* a proven loss, corrected for the number of candidates."
        if prescription["independent_pairs"] >= LEAST_UNITS
        else f"A proof needs {LEAST_UNITS} independent pairs."
    )
    held_out = "Each pair is scored by repairs that were fitted without its texts."
    table = Table(columns, rows, remarks=[held_out, proof], name="candidates")
    return [table, *([Notes(notes, most=len(notes))] if notes else [])]


def _same(candidate: Mapping[str, Any], recommended: Mapping[str, Any] | None) -> bool:
    return recommended is not None and all(candidate[key] == recommended[key] for key in ("name", "method", "options"))


def _difference(difference: Mapping[str, Any]) -> Cell:
    value = difference["value"]
    loss = difference["significant"] and value < 0
    return Cell(
        signed(value),
        small=interval(difference["low"], difference["high"]),
        level=Level.CROWDED if loss else Level.NOTE,
        mark="" if not difference["significant"] else "↓*" if loss else "*",
    )
