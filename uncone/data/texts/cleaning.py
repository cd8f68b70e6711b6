"""Texts cleaned on request: Unicode, HTML, control characters, white space, empty texts and copies; each is counted."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html.entities import html5
from html.parser import HTMLParser
from unicodedata import normalize

import numpy as np

from uncone.data.batch import IntVector
from uncone.errors import OptionError, ShapeError

__all__ = ["STEPS", "Cleaned", "clean", "plain_text"]

STEPS = ("html", "control", "unicode", "whitespace", "empty", "duplicate")
"""What is cleaned, in this order: the first four change texts, the last two drop rows."""

_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff\u00ad\u200b\u2060\ufeff]")
"""Control characters that are no white space, lone surrogates, and marks that only tell where a line may break.

Joiners (U+200C, U+200D) stay: they make one emoji of several, and are letters to some scripts."""
_MARKED = re.compile("[<&]")
_AMPERSAND = re.compile(r"&(#[0-9]+;|#[xX][0-9a-fA-F]+;|[A-Za-z][A-Za-z0-9]*;)?")
_IN_A_LINE = """
a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark q s samp small span strike strong sub sup
time tt u var wbr
"""
_BREAKING = """
address article aside audio blockquote body br button canvas caption center col colgroup dd details dialog dir div dl dt
embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe img input label
legend li link main map menu meta meter nav noscript object ol optgroup option output p param picture pre progress rp rt
ruby script section select source style summary svg table tbody td template textarea tfoot th thead title tr track ul
video
"""
_INLINE, _BLOCK = frozenset(_IN_A_LINE.split()), frozenset(_BREAKING.split())
_HIDDEN = ("script", "style")


@dataclass(frozen=True)
class Cleaned:
    """The texts that are left, the numbers of their rows, and how many texts each step changed or dropped.

    `against` are the texts beside them, where there are two columns.
    """

    texts: Sequence[str]
    rows: IntVector
    counts: dict[str, int]
    against: Sequence[str] | None = None


def clean(texts: Sequence[str], against: Sequence[str] | None = None, *, steps: Iterable[str] = STEPS) -> Cleaned:
    """Clean texts; with `against`, both columns: a row is empty when one side is, and a copy when both sides are.

    Unicode is brought to NFC, which changes how a character is written and never which one it is; NFKC would make "x2"
    of "x²". Of copies the first is kept. A text of digits is a text like any other.

    >>> cleaned = clean(["caf\u0065\u0301", "<p>1 &lt; 2</p>", " 1 < 2", "", "42"])
    >>> cleaned.texts, cleaned.rows.tolist(), cleaned.counts["html"], cleaned.counts["duplicate"]
    (['café', '1 < 2', '42'], [0, 1, 4], 1, 1)

    Raises:
        OptionError: no such step.
        ShapeError: the two columns do not have the same length.
    """
    selected = set(steps)
    if unknown := sorted(selected - set(STEPS)):
        raise OptionError(f"There is no cleaning step {unknown[0]!r}; choose from {', '.join(STEPS)}.")
    if against is not None and len(against) != len(texts):
        raise ShapeError(f"The columns have {len(texts):,} and {len(against):,} texts; they need the same number.")
    counts = {step: 0 for step in STEPS if step in selected}
    columns = [list(column) for column in (texts, against) if column is not None]
    for step in filter(selected.__contains__, _CHANGES):
        changed = [list(map(_CHANGES[step], column)) for column in columns]
        counts[step] = sum(sum(map(str.__ne__, *both)) for both in zip(columns, changed, strict=True))
        columns = changed
    rows = _rows_to_keep(list(zip(*columns, strict=True)), counts)
    left = [[column[row] for row in rows] for column in columns]
    return Cleaned(left[0], np.array(rows, np.int64), counts, left[1] if against is not None else None)


def _rows_to_keep(lines: Sequence[tuple[str, ...]], counts: dict[str, int]) -> list[int]:
    """The numbers of the rows that are neither empty nor copies, as far as these steps are wanted."""
    earlier: set[tuple[str, ...]] = set()
    rows = []
    for row, line in enumerate(lines):
        if "empty" in counts and not all(text.strip() for text in line):
            counts["empty"] += 1
        elif "duplicate" in counts and line in earlier:
            counts["duplicate"] += 1
        else:
            earlier.add(line)
            rows.append(row)
    return rows


def plain_text(text: str) -> str:
    """A text without HTML: tags gone, entities as characters, scripts, styles and comments dropped.

    Only what is HTML: a tag has the name of an element, an entity ends in a semicolon. So "a < b", "x<y and y>z",
    "AT&T" and "?a=1&copy=2" stay as they are. A tag that breaks a line becomes a space.

    >>> [plain_text(text) for text in ("un<b>believ</b>able", "one<br>two &amp; three", "if x<y and y>z, AT&T")]
    ['unbelievable', 'one two & three', 'if x<y and y>z, AT&T']
    """
    if not _MARKED.search(text):
        return text
    parser = _Text()
    parser.feed(_AMPERSAND.sub(_entity, text))
    # What is left open at the end, a tag or a script, is text: better a trace of markup than a lost sentence.
    return "".join([*parser.parts, *parser.hidden, html.unescape(parser.rawdata)])


def _entity(match: re.Match[str]) -> str:
    name = match[1]
    return match[0] if name is not None and (name[0] == "#" or name in html5) else f"&amp;{name or ''}"


class _Text(HTMLParser):
    """What a reader sees of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.hidden: list[str] = []
        self.inside = ""

    def handle_data(self, data: str) -> None:
        (self.hidden if self.inside else self.parts).append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        source = self.get_starttag_text() or ""
        # "a <b and c> d" is no bold text: tags of one letter have attributes with values, or none.
        words = len(tag) == 1 and attrs and all(value is None for _, value in attrs)
        self._tag("" if words else tag, source)
        if tag in _HIDDEN:
            self.inside = tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag(tag, self.get_starttag_text() or "")

    def handle_endtag(self, tag: str) -> None:
        if tag == self.inside:
            self.inside = ""
            self.hidden.clear()
        self._tag(tag, self._tag_source())

    def handle_comment(self, data: str) -> None:
        self._unless("<!--")

    def handle_pi(self, data: str) -> None:
        self._unless("<?xml", "<?php")

    def handle_decl(self, decl: str) -> None:
        self._unless("<!doctype")

    def unknown_decl(self, data: str) -> None:
        self.parts.append(data.removeprefix("CDATA["))

    def _tag(self, tag: str, source: str) -> None:
        if tag in _BLOCK:
            self.parts.append(" ")
        elif tag not in _INLINE:
            self.parts.append(html.unescape(source))

    def _unless(self, *openings: str) -> None:
        """Leave what stands here in the text, unless it begins as HTML does."""
        source = self._tag_source()
        if not source.lower().startswith(openings):
            self.parts.append(html.unescape(source))

    def _tag_source(self) -> str:
        """What stands at the current place, up to the end of the tag."""
        line, offset = self.getpos()
        start = offset + sum(len(before) + 1 for before in self.rawdata.split("\n")[: line - 1])
        return self.rawdata[start : self.rawdata.find(">", start) + 1]


_CHANGES: dict[str, Callable[[str], str]] = {
    "html": plain_text,
    "control": lambda text: _INVISIBLE.sub("", text),
    "unicode": lambda text: normalize("NFC", text),
    "whitespace": lambda text: " ".join(text.split()),
}
