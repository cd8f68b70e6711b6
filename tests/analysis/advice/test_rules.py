"""Rules on repairs: their records, the bounds of their conditions, when they are silent, and what `check` says."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest

from uncone import check
from uncone.analysis.advice import rules
from uncone.analysis.advice.rules import (
    DROPTOP_7,
    FEWEST_DIMENSIONS,
    FEWEST_VECTORS,
    LOW,
    RULES,
    USES,
    WITNESSED,
    Condition,
    Record,
    Rule,
    first_rule,
    spoken,
    stored_records,
)
from uncone.cli.main import _run
from uncone.repairs.registry import make

GOOD, BAD = Record(100, 97, 2, -3.0), Record(100, 91, 2, -3.0)
RELIABLE = {rule.name: dict.fromkeys(rule.uses, GOOD) for rule in RULES}
BELOW, ABOVE = -1e-9, 1e-9


@pytest.fixture
def reliable(monkeypatch):
    """Records on which every rule may speak."""
    monkeypatch.setattr(rules, "stored_records", lambda: RELIABLE)


def name_of(baseline, diverse=None, witness=None, records=RELIABLE):
    rule, _ = first_rule(records, baseline, diverse, witness)
    return None if rule is None else rule.name


def crowded_vectors(n=1_500, shift=1.2, d=64):
    return np.random.default_rng(0).normal(size=(n, d)) + shift


def test_a_rule_that_names_a_repair_speaks_only_on_a_good_record():
    stored = stored_records()
    naming = [rule for rule in RULES if rule.repair is not None]
    assert naming and any(rule.reliable_uses(stored) for rule in naming)
    for rule in naming:
        for use in rule.reliable_uses(stored):
            own = stored[rule.name][use]
            assert own.cases >= 10 and own.good / own.cases >= 0.92 and own.harm / own.cases <= 0.04
            assert own.harm <= own.cases - own.good and (own.worst < 1.0 or own.good == own.cases)


def test_leaving_it_alone_is_right():
    for rule in RULES:
        if rule.repair is None:
            own = stored_records()[rule.name]
            cases, harm, good = (
                sum(getattr(each, part) for each in own.values()) for part in ("cases", "harm", "good")
            )
            assert cases >= 10 and harm / cases >= 0.5 and good / cases <= 0.1


def test_no_rule_centers_and_every_repair_can_be_made():
    for rule in RULES:
        assert rule.condition.required and set(rule.uses) <= set(USES)
        if rule.repair is not None:
            assert rule.repair.method in ("droptop", "whiten") and "center" not in rule.repair.title
            assert make(rule.repair.method, **rule.repair.options(64)).kind == rule.repair.method
    assert DROPTOP_7.options(64) == {"k": 7} and WITNESSED.options(65) == {"dim": 32}
    assert WITNESSED.flags(64) == ["--method", "whiten", "--dim", "32"]


@pytest.mark.parametrize(
    ("measured", "rule"),
    [
        ((0.4,), "crowded"),
        ((0.4 + BELOW,), None),
        ((1.0,), "crowded"),
        ((0.26,), None),  # what a topic alone does to a healthy model
        ((0.35,), None),
        ((0.05,), None),
        # Words.
        ((0.35, None, 0.0), "words-agree"),
        ((0.35 + BELOW, None, 0.3), None),
        ((0.35, None, BELOW), None),
        ((0.4, None, BELOW), "crowded"),
        ((0.4 + BELOW, None, 0.0), "words-agree"),
        # Diverse text has the last word.
        ((0.02, LOW), "low-on-diverse-text"),
        ((0.9, LOW, 0.3), "low-on-diverse-text"),
        ((0.9, LOW + ABOVE, 0.3), None),
        ((0.9, 0.35 + BELOW, 0.3), None),
        ((0.9, 0.35, 0.3), "words-agree"),
        ((0.9, 0.4, 0.3), "crowded"),
        ((0.9, 0.35), None),
        ((0.9, 0.4), "crowded"),
        ((0.3, 0.9), None),
        ((0.1, 0.9, 0.3), None),
    ],
)
def test_the_bounds_of_conditions(measured, rule):
    assert name_of(*measured) == rule


def test_a_rule_without_a_good_record_is_silent():
    whole = dict.fromkeys(USES, GOOD)
    assert name_of(0.5, records={"crowded": whole}) == "crowded"
    assert name_of(0.5, records={"crowded": {"similarity": BAD}}) is None
    assert name_of(0.5, records={"crowded": {"similarity": Record(100, 95, 5, -3.0)}}) is None
    assert name_of(0.5, records={"crowded": {"classes": GOOD}}) is None, "another use"
    assert name_of(0.5, records={}) is None
    _, uses = first_rule({"words-agree": {"similarity": BAD, "search": GOOD}}, 0.5, None, 0.1)
    assert uses == ("search",)
    assert [Record(100, 92, 4, 0).reliable, Record(100, 91, 0, 0).reliable, Record(0, 0, 0, 0).reliable] == [1, 0, 0]


def test_what_is_required_has_to_be_known():
    condition = Condition(diverse=(0.0, 0.5), required=("diverse",))
    assert condition.holds(0.9, 0.5) and not condition.holds(0.9) and not condition.holds(0.9, 0.51)
    assert Condition(diverse=(0.0, 0.5)).holds(0.9), "where it is not required"


def test_silence_says_why_and_what_would_tell(reliable):
    for advice in (
        spoken(None, vectors=5_000),
        spoken(0.9, vectors=FEWEST_VECTORS - 1),
        spoken(0.9, vectors=5_000, dim=63),
        spoken(0.3, vectors=5_000),
        spoken(0.9, vectors=5_000, diverse=0.25),
    ):
        assert advice.rule is None and advice.repair is None and not advice.uses and not advice.records
        assert "--pairs" in advice.text or advice.baseline is None
    assert "can't tell" in spoken(0.3, vectors=5_000).text and "--model" in spoken(0.3, vectors=5_000).text
    assert "0.25 on diverse text" in spoken(0.9, vectors=5_000, diverse=0.25).text
    assert "1,000 distinct" in spoken(0.9, vectors=999).text
    assert spoken(0.9, vectors=FEWEST_VECTORS, dim=FEWEST_DIMENSIONS).rule is not None
    assert "64 dimensions" in check(crowded_vectors(d=63)).verdict.todo


def test_the_sentence_has_the_record(monkeypatch):
    own = {"similarity": Record(200, 190, 4, -2.0), "search": Record(50, 50, 0, 1.5)}
    monkeypatch.setattr(rules, "stored_records", lambda: {"words-agree": own})
    advice = spoken(0.5, vectors=5_000, witness=0.1)
    assert advice.uses == ("similarity", "search")
    assert "96 %" in advice.text and "1.6 %" in advice.text and "250 measured cases" in advice.text
    assert "similarity scores and search" in advice.text and "estimate" in advice.text
    assert "proven" not in advice.text and "center" not in advice.text.lower()
    values = advice.values(64, {"prove": "a", "apply": "b"})
    assert values.repair is not None and values.repair.options == {"dim": 32} and values.prove == "a"


def test_check_names_the_repair_with_its_record_and_its_commands(reliable, tmp_path, monkeypatch, capsys):
    np.save("vectors.npy", crowded_vectors())
    assert _run(["check", "vectors.npy", "--json", "r.json", "--markdown", "r.md"]) == 0
    shown, written = capsys.readouterr().out, json.loads((tmp_path / "r.json").read_text())["advice"]
    assert written["rule"] == "crowded" and written["repair"] == {"method": "droptop", "options": {"k": 7}}
    assert written["uses"] == ["similarity", "search"] and written["record"]["similarity"]["cases"] == 100
    assert written["prove"] == "uncone fix vectors.npy --method auto --pairs pairs.csv"
    assert written["prove"] in shown and written["apply"] in shown and "97 %" in shown
    page, notes = (tmp_path / "uncone-report.html").read_text(), (tmp_path / "r.md").read_text()
    assert (
        "measured cases" in page and "| similarity scores | 100 | 97 % | 2 % |" in notes and written["apply"] in notes
    )
    assert _run([*shlex.split(written["apply"])[1:]]) == 0
    assert json.loads((tmp_path / "repair" / "repair.json").read_text())["kind"] == "droptop"


def test_commands_read_the_same_vectors(reliable, tmp_path):
    np.savez("two.npz", first=crowded_vectors(), second=crowded_vectors(shift=0.0))
    commands = check("two.npz", column="first", float64=True).commands
    assert all("--column first --float64" in command for command in commands.values()) and len(commands) == 2
    assert not check(crowded_vectors()).commands, "vectors in memory have no name"
    np.save("-v.npy", crowded_vectors())
    assert check("-v.npy").commands["prove"].endswith("-- -v.npy")


def test_check_on_vectors_alone(reliable):
    middle, ball = check(crowded_vectors(shift=0.6)), check(crowded_vectors(shift=0.0))
    assert 0.2 < middle["baseline"].value < 0.3 and "can't tell" in middle.verdict.todo
    assert ball.verdict.todo == "Leave it as it is." and ball.advice.rule is None
    few = check(crowded_vectors(300))
    assert few.advice.rule is None and "1,000 distinct" in few.verdict.todo
    copies = check(np.repeat(crowded_vectors(300), 5, axis=0))
    assert copies.advice.rule is None, "copies are not more vectors"


def test_repaired_vectors_get_no_advice(reliable):
    from uncone import fix

    fixed = fix(crowded_vectors(), "center")
    assert fixed.before.advice.rule is not None and fixed.after.advice is None
    assert json.loads(fixed.to_json())["after"]["advice"] is None


def test_a_rule_is_data():
    rule = Rule("mine", Condition(baseline=(0.7, 1.0)), None, ("search",), "a baseline of 0.7 or more")
    assert rule.reliable_uses({}) == ("search",) and rule.condition.holds(0.7)


@pytest.mark.exhaustive
def test_no_repair_is_named_for_a_good_encoder_on_one_topic(real_data, minilm):
    """A topic raises the baseline of all-MiniLM-L6-v2 on Cranfield, where every repair does harm."""
    for options in ({}, {"layer": -1, "pooling": "mean"}):
        found = check(str(real_data / "cranfield" / "corpus.jsonl"), text="text", model=minilm, **options)
        assert 0.2 < found["baseline"].value < 0.4
        assert found.advice.repair is None and not found.commands
        assert "droptop" not in found.to_text() and "whiten" not in found.to_text()
