"""Selection of the texts to measure: without blanks and exact duplicates, the first ones or a sample, perhaps split."""

from __future__ import annotations

import hashlib
import heapq
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from uncone.data.texts.texts import TextSource
from uncone.errors import ShapeError

__all__ = ["Selection", "Tally", "Unit", "split_sentences", "text_key"]


def text_key(text: str) -> int:
    """A 64-bit number that identical texts share."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


class Unit(NamedTuple):
    """A text as it is measured: its number among those taken, from 0, the row it comes from, its label."""

    number: int
    row: int
    text: str
    label: str | None = None


@dataclass
class Tally:
    """What one reading met."""

    n_texts: int = 0
    blank: int = 0
    duplicates: int = 0
    passed_over: int = 0
    """Left out by `limit` or `sample`; those behind the limit are not read, and not counted."""
    digest: str = ""
    """Of the texts taken, in their order."""


class Selection:
    """The texts of a source that are measured; reading twice gives the same.

    `limit` takes the first texts, `sample` a seeded sample of them, drawn by their content, in their order. `split`
    cuts every text into sentences first.
    """

    def __init__(
        self,
        source: TextSource,
        *,
        limit: int | None = None,
        sample: int | None = None,
        seed: int = 0,
        keep_duplicates: bool = False,
        split: bool = False,
    ) -> None:
        self.source = source
        self.limit = limit
        self.sample = sample
        self.seed = seed
        self.keep_duplicates = keep_duplicates
        self.split = split
        self.tally = Tally()
        self._cutoff: bytes | None = None

    def read(self) -> Iterator[Unit]:
        """The texts taken; `tally` tells what was met once all are read.

        Raises:
            ShapeError: there is no text at all.
        """
        if self.sample is not None and self._cutoff is None:
            self._cutoff = self._sample_cutoff(self.sample)
        self.tally = tally = Tally()
        digest = hashlib.sha256()
        for row, text, label in self._distinct(tally):
            sampled = self._cutoff is None or self._key(text) <= self._cutoff
            if not sampled or (self.sample is not None and tally.n_texts >= self.sample):
                tally.passed_over += 1
                continue
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
            yield Unit(tally.n_texts, row, text, label)
            tally.n_texts += 1
        tally.digest = digest.hexdigest()[:32]
        if not tally.n_texts:
            raise ShapeError(f"{self.source.name} holds no text: we need at least 2 lines or rows that are not blank.")

    def _distinct(self, tally: Tally) -> Iterator[tuple[int, str, str | None]]:
        earlier: set[bytes] = set()
        passed = 0
        for row, whole, label in self.source.read():
            for text in (split_sentences(whole) or [""]) if self.split else [whole]:
                text = text.strip()
                if not text:
                    tally.blank += 1
                    continue
                if not self.keep_duplicates:
                    key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
                    if key in earlier:
                        tally.duplicates += 1
                        continue
                    earlier.add(key)
                if self.limit is not None and passed >= self.limit:
                    return
                passed += 1
                yield row, text, label

    def _key(self, text: str) -> bytes:
        salt = self.seed.to_bytes(8, "little")
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, salt=salt).digest()

    def _sample_cutoff(self, k: int) -> bytes | None:
        """The largest of the k smallest keys."""
        keys = (self._key(text) for _, text, _ in self._distinct(Tally()))
        smallest = heapq.nsmallest(k, keys)
        return smallest[-1] if len(smallest) == k else b"\xff" * 16


_ABBREVIATION = re.compile(
    r"""adm|brig|capt|cmdr|col|cpl|dr|drs|fr|gen|gov|hon|lt|maj|messrs|mr|mrs|ms|mt|pres|prof|rep|reps|rev|sen|sens|sgt
    |sr|st|supt                                                               # titles, which a name follows
    |ave|bldg|blvd|bros|co|corp|dept|inc|jr|ltd|univ                          # companies and places
    |al|approx|ca|cf|eds|eg|esp|etc|ie|incl|misc|resp|viz|vs                  # in running text
    |(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}                                       # with dots inside: U.S., e.g., Ph.D.
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Also words, or the ends of sentences, unless a number follows.
_BEFORE_NUMBER = re.compile(
    r"art|ch|eq|est|figs?|nos?|nr|pp?|sec|vols?|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec", re.IGNORECASE
)
_OPENING = "\"'“‘„‚«‹([{<¿¡`「『（【《〈"
_CLOSING = "\"'”’»›)]}」』）】》〉"
_CLOSING_TOKENS = frozenset(["''", "”", "’", "»", "›", ")", "]", "}", "-RRB-", "-RSB-"])

# Possessive and anchored, so that long runs of dots take no time.
_END = re.compile(
    rf"""(?P<cjk>[。！？｡]++[{re.escape(_CLOSING)}]*+)          # needs no space behind it
      | (?<![.!?…؟।])(?P<stop>[.!?…؟।]++)[{re.escape(_CLOSING)}]*+(?=\s)
      | (?P<blank>\n[^\S\n]*+\n)                              # an empty line ends whatever stands above it
    """,
    re.VERBOSE,
)
_NEXT = re.compile(r"\s*+(\S{1,8})")  # enough to know a closing token
_BREAK = re.compile(r"[\s\"'“”‘’«»()\[\]{}<>/—–-]")
_LONGEST = 24  # letters of the longest word that is looked up


def split_sentences(text: str) -> list[str]:
    """The sentences of a text; only the white space between them is lost.

    A sentence ends after . ! ? or … and any closing quotes, where white space and then a capital, a digit or an
    opening quote or bracket follows, but not after abbreviations and initials; after 。！？ at once; at an empty line.
    In tokenized text, where the full stop stands alone, closing quotes that stand alone are taken along.

    >>> split_sentences('Dr. Lee paid $3.50. "Too much!" he said. It was, e.g. in Bonn, less.')
    ['Dr. Lee paid $3.50.', '"Too much!" he said.', 'It was, e.g. in Bonn, less.']
    >>> split_sentences('A lobster may be red . Most are blue .')
    ['A lobster may be red .', 'Most are blue .']
    """
    sentences, start = [], 0
    for match in _END.finditer(text):
        if match.end() <= start:
            continue  # a quote that was taken along reached past it
        end = match.end()
        if match["stop"]:
            alone = text[match.start() - 1 : match.start()].isspace()
            if alone:
                end = _after_closing_tokens(text, start, end)
            if not _can_begin(text, end) or (not alone and _is_abbreviated(text, start, match)):
                continue
        sentences.append(text[start:end].strip())
        start = end
    sentences.append(text[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _after_closing_tokens(text: str, start: int, end: int) -> int:
    """Where the quotes and brackets that close behind a lone full stop end; a straight quote closes an open one."""
    while token := _NEXT.match(text, end):
        straight = token[1] == '"' and text.count('"', start, end) % 2 == 1
        if not straight and token[1] not in _CLOSING_TOKENS:
            break
        end = token.end()
    return end


def _can_begin(text: str, end: int) -> bool:
    """Whether what follows can begin a sentence; letters of scripts without capitals can."""
    token = _NEXT.match(text, end)
    if token is None:
        return False
    first = token[1][0]
    return first in _OPENING or first.isdigit() or (first.isalpha() and not first.islower())


def _is_abbreviated(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether the full stop belongs to the word before it: an abbreviation, an initial, the number of a list."""
    if match["stop"] != ".":
        return False
    word = _BREAK.split(text[max(start, match.start() - _LONGEST) : match.start()])[-1]
    if word.isdigit():
        return not text[start : match.start() - len(word)].strip()
    if len(word) == 1 and word.isupper():
        return True
    if _BEFORE_NUMBER.fullmatch(word):
        following = _NEXT.match(text, match.end())
        return following is not None and following[1][0].isdigit()
    return _ABBREVIATION.fullmatch(word) is not None
