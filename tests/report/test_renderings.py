"""One summary, many renderings: each says the same and none can be broken by what it shows."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from rich.console import Console

from uncone import check, compare
from uncone.report.terminal import print_report

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)> | *bold* `code`"


@pytest.fixture
def found(cone):
    texts = [f"{EVIL} {i}" for i in range(300)]
    return check(cone(), scores=[0.75, 0.9], texts=texts, labels=["x", EVIL, "z"] * 100)


def printed(spaces, width=80):
    console = Console(width=width, no_color=True, record=True, file=None)
    with console.capture() as capture:
        print_report(spaces, console)
    return capture.get()


def test_terminal_fits_80_columns_and_one_screen(found, cone):
    rows = cone(400, 30)
    rows[:50] = rows[50:100]
    for spaces in ([found], [check(rows)], compare(rows, cone(), cone(mean=0.0)).spaces):
        lines = printed(spaces).splitlines()
        assert max(map(len, lines)) <= 80
        assert len(lines) <= 36


def test_many_sources_and_wide_spaces_fit_too():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(200, 1_500))
    wide[:, [1_111, 1_222, 1_333, 1_444, 1_499]] += 30
    text = printed([check(wide)])
    assert "of 1,500" in text and max(map(len, text.splitlines())) <= 80
    line = np.outer(rng.normal(size=200), np.ones(20)) + 0.1 * rng.normal(size=(200, 20))
    many = compare(*[wide, line] * 3).spaces
    text = printed(many)
    assert max(map(len, text.splitlines())) <= 80
    assert " ".join(text.split()).count("one direction carries") == 3


def test_terminal_says_the_verdict_first(found):
    text = printed([found])
    assert text.index("Crowded: two random rows score") < text.index("random pairs")
    assert "of random pairs score 0.75 or more" in " ".join(text.split())


def test_json_is_strict_and_whole(found):
    data = json.loads(found.to_json(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert data["schema"] == 1
    assert data["source"] == {"name": "array", "kind": "array", "rows": 300, "dimensions": 12, "dtype": "float32"}
    assert data["verdict"]["level"] == "crowded"
    assert data["verdict"]["text"].startswith("Crowded: two random rows score")
    assert data["findings"]["baseline"]["value"] == found["baseline"].value
    assert [score["score"] for score in data["scores"]] == [0.75, 0.9]


def test_several_sources_stand_under_sources(cone):
    data = json.loads(compare(cone(), cone(mean=0.0)).to_json())
    assert data["schema"] == 1 and len(data["sources"]) == 2
    assert {"source", "verdict", "findings"} <= set(data["sources"][0])


def test_the_same_command_gives_the_same_summary(cone):
    assert check(cone()).to_json() == check(cone()).to_json()


def test_html_is_one_file_that_fetches_nothing(found):
    page = found.to_html()
    assert page.count("plotly.js v") == 1
    without_plotly = re.sub(r"<script>/\*\*.*?</script>", "", page, flags=re.S)
    assert not re.search(r"(src|href)=[\"']?(http|//)", without_plotly)
    assert '<link rel="icon" href="data:,">' in page


def test_texts_cannot_become_markup(found):
    for page in (found.to_html(), found._repr_html_()):
        assert "<img src=x" not in page
        assert "<script>alert" not in page
    assert "\\|" in found.to_markdown() or EVIL not in found.to_markdown()


def test_markdown_has_a_row_per_finding(found, cone):
    assert found.to_markdown().count("\n| ") == len(found.findings) + 1
    both = compare(cone(), cone(seed=1)).to_markdown()
    assert both.count("\n## ") + both.startswith("## ") == 2


def test_notebook(found):
    assert "Crowded" in found._repr_html_() and "Crowded" in repr(found)


def test_fifty_thousand_rows_stay_small():
    rng = np.random.default_rng(0)
    found = check(rng.normal(size=(50_000, 8)).astype(np.float32), texts=["a text of sixty characters " * 2] * 50_000)
    assert len(found.to_html()) < 15_000_000
