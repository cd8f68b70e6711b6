"""The outline of a page and of markdown: headings in order, titles once, groups of tabs apart."""

from __future__ import annotations

import itertools
import re

from uncone.report.document import Cell, Column, Document, Facts, Row, Section, Sentences, Table, Tabs, Verdict
from uncone.report.render import html, markdown

_TABS = Tabs([("a", [Sentences(["one"])]), ("b", [Sentences(["two"])])])
_DOCUMENT = Document(
    title="It is so.",
    name="file.npy",
    subtitle="3 x 2",
    verdicts=[Verdict("It is so.", details=["Really."])],
    sections=[
        Section("", [Facts([("seed", "0")], "Facts of the whole")]),
        Section("Tables", [Table([Column("name")], [Row([Cell("x")])], title="Tables"), _TABS, _TABS]),
        Section("More", [Facts([("definition", "long " * 30)], "Definitions")]),
    ],
)


def _page() -> str:
    return html.page(_DOCUMENT, "{}", "1.0")


def test_headings_go_down_one_level_at_a_time() -> None:
    levels = [int(level) for level in re.findall(r"<h(\d)", _page())]
    assert levels == [1, 2, 2, 2, 3]
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_title_of_a_section_is_not_repeated_inside() -> None:
    assert re.findall(r"<h\d[^>]*>Tables<", _page()) == ['<h2 class="section">Tables<']


def test_tabs_of_the_same_titles_are_groups_of_their_own() -> None:
    names = re.findall(r'<input type="radio" name="([^"]+)"', _page())
    assert len(names) == 4
    assert names[0] == names[1] != names[2] == names[3]


def test_long_facts_are_parted() -> None:
    assert _page().count("<dl>") == 1
    assert _page().count('<dl class="long">') == 1


def test_markdown_is_headed_by_the_name_and_says_the_headline_once() -> None:
    text = markdown.render(_DOCUMENT)
    assert text.startswith("## file.npy\n\n3 x 2\n\n**It is so.**\n")
    assert text.count("It is so.") == 1
