"""Documents by every renderer: headings, tabs, and tables with their marks, groups and width."""

from __future__ import annotations

import itertools
import re

from uncone.analysis.measures.finding import Level
from uncone.report.document import Cell, Column, Document, Facts, Row, Section, Sentences, Table, Tabs, Verdict
from uncone.report.render import html, latex, markdown, terminal
from uncone.report.render.html import environment, notebook

COLUMNS = [Column("method", align="left", wrap=True), Column("STS-B", "1,379 pairs"), Column("[odd] *", divider=True)]
ROWS = [
    Row([Cell("pairs"), Cell("1,379"), Cell("")], muted=True),
    Row([Cell("nothing fitted")]),
    Row([Cell("raw"), Cell("32.0"), Cell("-3.5")]),
    Row([Cell("fitted on snli")]),
    Row([Cell("whiten"), Cell("54.1", strong=True, mark="*"), Cell("1.0", small="0.5 to 1.5")]),
    Row([Cell("mute"), Cell("27.1", level=Level.CROWDED, mark="↓*"), Cell("2.0", level=Level.CROWDED)]),
]
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


def _page():
    return html.page(_DOCUMENT, "{}", "1.0")


def test_headings_go_down_one_level_at_a_time():
    levels = [int(level) for level in re.findall(r"<h(\d)", _page())]
    assert levels == [1, 2, 2, 2, 3]
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_title_of_a_section_is_not_repeated_inside():
    assert re.findall(r"<h\d[^>]*>Tables<", _page()) == ['<h2 class="section">Tables<']


def test_tabs_of_the_same_titles_are_groups_of_their_own():
    names = re.findall(r'<input type="radio" name="([^"]+)"', _page())
    assert len(names) == 4
    assert names[0] == names[1] != names[2] == names[3]


def test_long_facts_are_parted():
    assert _page().count("<dl>") == 1
    assert _page().count('<dl class="long">') == 1


def test_markdown_is_headed_by_the_name_and_says_the_headline_once():
    text = markdown.render(_DOCUMENT)
    assert text.startswith("## file.npy\n\n3 x 2\n\n**It is so.**\n")
    assert text.count("It is so.") == 1


def document(table, tabs=()):
    blocks = [Tabs(tabs)] if tabs else [table]
    return Document("Title", "name", "", [Verdict("Headline")], [Section("Scores", blocks, brief=blocks)])


def lines_of(table):
    return terminal.render(document(table)).splitlines()


def test_numbers_of_a_terminal_stand_in_line():
    lines = {line.split()[0]: line for line in lines_of(Table(COLUMNS, ROWS)) if line.strip()}
    ends = {
        name: lines[name].index(number) + 4 for name, number in (("raw", "32.0"), ("whiten", "54.1"), ("mute", "27.1"))
    }
    assert len(set(ends.values())) == 1, lines
    assert lines["whiten"][ends["whiten"]] == "*" and lines["mute"][ends["mute"] :].startswith("↓*")
    assert lines["raw"].startswith("    raw") and lines["pairs"].startswith("  pairs"), "indented below a heading only"
    assert "▲ 2.0" in lines["mute"] and "▲ 27.1" not in lines["mute"], "a mark of its own replaces that of the level"


def test_no_table_is_wider_than_a_terminal():
    wide = [Column("method", align="left", wrap=True), Column("a" * 200), *(Column(f"column {i}") for i in range(20))]
    rows = [Row([Cell("word " * 30), *(Cell("12.3") for _ in wide[1:])])]
    lines = lines_of(Table(wide, rows))
    assert max(map(len, lines)) <= terminal.WIDTH
    assert sum("column 19" in line for line in lines) == 1


def test_latex():
    text = latex.render(document(Table(COLUMNS, ROWS, title="Spearman")))
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert rows[0] == r"method & STS-B & {[}odd{]} \textasteriskcentered{} \\"
    assert rows[1] == r" & {\footnotesize 1,379 pairs} &  \\"
    assert r"\textit{pairs} & \textit{1,379} &  \\" in rows
    assert r"raw & 32.0 & $-$3.5 \\" in rows
    assert r"whiten & \textbf{54.1}\textsuperscript{*} & 1.0 {\footnotesize (0.5 to 1.5)} \\" in rows
    assert r"mute & 27.1\textsuperscript{$\downarrow$*} & 2.0 \\" in rows
    assert text.count("\\midrule") == 3 and text.count("\\multicolumn{3}{l}{\\emph{") == 2
    assert r"\caption{name: Spearman.}" in text


def test_markdown():
    text = markdown.render(document(Table(COLUMNS, ROWS)))
    assert "| whiten | **54.1\\*** | 1.0 (0.5 to 1.5) |" in text
    assert "| mute | 27.1↓\\* | ▲ 2.0 |" in text


def test_a_tab_is_not_named_twice_in_markdown():
    titled, plain = Table(COLUMNS, ROWS, title="Spearman, all"), Table(COLUMNS, ROWS)
    text = markdown.render(document(plain, [("all", [titled]), ("Pearson", [plain])]))
    assert re.findall(r"^\*\*(.*)\*\*$", text, flags=re.M)[1:] == ["Spearman, all", "Pearson"]


def test_a_page_leaves_room_for_marks():
    module = environment().get_template("blocks.html").make_module({"figures": {}})
    page = str(module.table(Table(COLUMNS, ROWS)))
    second = re.findall(r'<td class="[a-z]+\s+right([a-z ]*)"', page)[::2]
    assert second and all(classes.strip() == "marked" for classes in second)
    assert '<i class="star">↓*</i>' in page and page.count("▲") == 1
    assert "54.1" in notebook(document(Table(COLUMNS, ROWS)))
