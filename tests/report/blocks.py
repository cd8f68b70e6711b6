"""Parts of a document, looked up by their names, and texts that must never become markup."""

from __future__ import annotations

from html.parser import HTMLParser

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)> | *b* `c` $\\frac \x1b[31m"


def charts(result):
    return {chart.name: chart for chart in result.document().charts()}


def lines(chart):
    return {line.label: line for line in chart.marks}


def section(result, title):
    return next(one for one in result.document().sections if one.title == title)


def texts(table):
    return [[cell.text for cell in row.cells] for row in table.rows]


class Tags(HTMLParser):
    """The tags of a page."""

    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def assert_stays_text(evil, clean):
    """What strangers wrote adds no script, picture or handler to the page and the notebook of a result."""
    for page, expected_page in ((evil.to_html(), clean.to_html()), (evil._repr_html_(), clean._repr_html_())):
        parsed, expected = Tags(), Tags()
        parsed.feed(page)
        expected.feed(expected_page)
        scripts = [[attrs for tag, attrs in one.tags if tag == "script"] for one in (parsed, expected)]
        assert scripts[0] == scripts[1], "a script more than there should be"
        assert not any(tag == "img" or "onerror" in attrs for tag, attrs in parsed.tags)
    assert "\x1b" not in evil.to_text()
