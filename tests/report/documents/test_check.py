"""One summary, many renderings: each says the same and none can be broken by what it shows."""

from __future__ import annotations

import json

import numpy as np
import pytest
from report.blocks import EVIL
from report.snapshots import assert_wording

from uncone import check, compare
from uncone.analysis.advice import rules
from uncone.analysis.advice.rules import Record


@pytest.fixture
def found(cone):
    texts = [f"{EVIL} {i}" for i in range(300)]
    return check(cone(), scores=[0.75, 0.9], texts=texts, labels=["x", EVIL, "z"] * 100)


def test_wording(cone):
    assert_wording("check_one", check(cone(), scores=[0.75, 0.9], name="vectors.npy"))
    assert_wording("check_several", compare(cone(), cone(mean=0.0)))


def test_wording_of_advice(cone, monkeypatch):
    record = {"similarity": Record(184, 177, 3, -3.7), "search": Record(25, 24, 0, 0.5)}
    monkeypatch.setattr(rules, "stored_records", lambda: {"crowded": record})
    np.save("vectors.npy", cone(1_200, 64))
    assert_wording("check_advice", check("vectors.npy"))


def test_renderings(found, cone, assert_renderings):
    rows = cone(400, 30)
    rows[:50] = rows[50:100]
    for result in (found, check(rows), compare(rows, cone(), cone(mean=0.0))):
        assert_renderings(result, screen=45)


def test_many_sources_and_wide_spaces_fit_too(assert_renderings):
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(200, 1_500))
    wide[:, [1_111, 1_222, 1_333, 1_444, 1_499]] += 30
    one = check(wide)
    assert_renderings(one)
    assert "of 1,500" in one.to_text()
    line = np.outer(rng.normal(size=200), np.ones(20)) + 0.1 * rng.normal(size=(200, 20))
    many = compare(*[wide, line] * 3)
    assert_renderings(many, screen=80)
    assert [verdict.level for verdict in many.document().verdicts] == ["crowded", "collapsed"] * 3


@pytest.mark.browser
def test_the_page_in_a_browser(found, cone, assert_page_works):
    assert_page_works(found, compare(cone(), cone(mean=0.0)))


def test_terminal_says_the_verdict_first(found):
    lines = found.to_text().splitlines()
    assert next(line for line in lines[1:] if line).endswith(found.document().verdicts[0].headline)


def test_json_is_strict_and_whole(found):
    data = json.loads(found.to_json(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert data["schema"] == 1
    assert data["source"] == {"name": "array", "kind": "array", "rows": 300, "dimensions": 12, "dtype": "float32"}
    assert data["verdict"]["level"] == "crowded"
    assert data["verdict"]["text"].startswith(found.document().verdicts[0].headline)
    assert data["findings"]["baseline"]["value"] == found["baseline"].value
    assert [score["score"] for score in data["scores"]] == [0.75, 0.9]


def test_several_sources_stand_under_sources(cone):
    data = json.loads(compare(cone(), cone(mean=0.0)).to_json())
    assert data["schema"] == 1 and len(data["sources"]) == 2
    assert {"source", "verdict", "findings"} <= set(data["sources"][0])


def test_the_same_command_gives_the_same_summary(cone):
    assert check(cone()).to_json() == check(cone()).to_json()


def test_markdown_has_a_row_per_finding(found, cone):
    titles = [item.title for section in found.document().sections for block in section.blocks for item in items(block)]
    assert len(titles) == len(found.findings)
    text = found.to_markdown().replace("\\*", "*")
    assert all(f"| {title} |" in text for title in titles)
    both = compare(cone(), cone(seed=1)).to_markdown()
    assert both.count("**▲ array · 300 x 12") == 2


def items(block):
    return getattr(block, "items", [])


def test_notebook(found):
    headline = found.document().verdicts[0].headline
    assert headline in found._repr_html_() and headline in repr(found)


def test_fifty_thousand_rows_stay_small():
    rng = np.random.default_rng(0)
    found = check(rng.normal(size=(50_000, 8)).astype(np.float32), texts=["a text of sixty characters " * 2] * 50_000)
    assert len(found.to_html()) < 15_000_000
