"""The choice of a repair in all its renderings."""

from __future__ import annotations

from dataclasses import replace

import pytest
from report.blocks import EVIL
from report.snapshots import assert_wording

from uncone.analysis.intervals.bootstrap import Difference
from uncone.analysis.measures.finding import Level
from uncone.evaluation.prescription import Prescription, Tried
from uncone.evaluation.table import Method
from uncone.report.documents.fix import Prescribed, candidate_blocks


def candidate(name, score, value, half=0.01, chosen=0, note="", units=143):
    significant = abs(value) > half
    return Tried(
        Method(name, name.split()[0], {"k": 3}),
        score,
        Difference(value, value - half, value + half, 0.01, significant, units),
        chosen,
        note,
    )


def build(*, use=True, units=143, name="pairs.csv"):
    tried = [
        candidate("center", 0.994, 0.014, chosen=3),
        candidate("droptop 3", 0.989, 0.009, chosen=2),
        candidate("whiten", 0.92, -0.061, half=0.03),
        Tried(Method("flow", "flow"), None, Difference(None, None, None, None, False, 0), 0, "it does not converge"),
    ]
    return Prescribed(
        Prescription(
            recommended=tried[0].method if use else None,
            repair=None,
            table=tried,
            raw=0.98,
            gain=Difference(0.013, 0.001, 0.027, 0.01, True, units),
            reason="On 399 pairs, held out, the repair chosen on the others gains 1.3 points.",
            measure="ROC-AUC",
            pairs=399,
            units=units,
            folds=5,
            level=0.95,
            least_gain=0.01,
            name=name,
            notes=["3 pairs were left out."],
        )
    )


@pytest.mark.parametrize(("name", "result"), [("use", build()), ("leave", build(use=False, units=12))])
def test_wording(name, result):
    assert_wording(f"prescribe_{name}", result)


def test_every_candidate_is_shown():
    result = build()
    table, notes = candidate_blocks(result.to_dict()["prescription"])
    rows = {row.cells[0].text: row.cells for row in table.rows}
    assert [[cell.text + cell.mark for cell in cells] for cells in rows.values()] == [
        ["raw", "98.0", "", ""],
        ["center", "99.4", "+1.4*", "3 of 5"],
        ["droptop 3", "98.9", "+0.9", "2 of 5"],
        ["whiten", "92.0", "−6.1↓*", ""],
        ["flow", "–", "–", ""],
    ]
    assert rows["center"][2].small == "+0.4 to +2.4"
    assert [name for name, cells in rows.items() if cells[0].strong] == ["center"]
    assert rows["whiten"][2].level is Level.CROWDED
    assert notes.lines == ["3 pairs were left out.", "flow: it does not converge"]


def test_the_verdict():
    assert build().document().verdicts[0].level is Level.CROWDED
    alone = build(use=False).document()
    assert alone.verdicts[0].level is Level.HEALTHY
    assert alone.verdicts[0].details == [build().prescription.reason]


def test_renderings(assert_renderings):
    for result in (build(), build(use=False), build(name=EVIL)):
        assert_renderings(result)
    odd = build().prescription
    evil = replace(odd, table=[replace(odd.table[0], method=Method(EVIL, EVIL), note=EVIL)], notes=[EVIL], reason=EVIL)
    assert_renderings(Prescribed(evil))
