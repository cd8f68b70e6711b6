"""Tables by every renderer: marks, headings of groups, muted rows, and the width of a terminal."""

from __future__ import annotations

import re

from uncone.analysis.measures.finding import Level
from uncone.report.document import Cell, Column, Document, Row, Section, Table, Tabs, Verdict
from uncone.report.render import latex, markdown, terminal
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
