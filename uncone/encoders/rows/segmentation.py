"""Words of a text by character offsets: our own segmentation, so that every tokenizer is measured on the same words."""

from __future__ import annotations

import re
import unicodedata
from enum import IntEnum
from functools import cache, lru_cache
from itertools import groupby
from typing import NamedTuple

import numpy as np

from uncone.data.batch import IntVector

__all__ = ["Kind", "Word", "find_words", "identity", "token_kinds"]


class Kind(IntEnum):
    """What a word or a token is; a piece is a token that holds only a part of a word or a number."""

    WORD = 0
    NUMBER = 1
    SYMBOL = 2
    PIECE = 3
    SPECIAL = 4


class Word(NamedTuple):
    """A word of a text: where it begins and ends, in characters, and its kind."""

    start: int
    end: int
    kind: Kind


def find_words(text: str) -> list[Word]:
    """The words of a text in order; white space is what is left.

    A contraction, a URL, a number with its separators and an emoji are one word each; Han characters are words of
    their own, because nothing separates them; a run of one punctuation mark is one word.

    >>> text = "It's 3.14 at http://a.b/c ... 中文 👍🏽!"
    >>> [text[word.start : word.end] for word in find_words(text)]
    ["It's", '3.14', 'at', 'http://a.b/c', '...', '中', '文', '👍🏽', '!']
    """
    return list(_segment_cached(text) if len(text) <= _SHORT else _segment(text))


@lru_cache(maxsize=4096)
def _segment_cached(text: str) -> list[Word]:
    """A text is looked at twice, to count its words and to lay them out."""
    return _segment(text)


def _segment(text: str) -> list[Word]:
    pattern = _SIMPLE if text.isascii() and not any(sign in text.lower() for sign in _SIGNS) else _pattern()
    return [Word(*match.span(), _KINDS[match.lastgroup or "symbol"]) for match in pattern.finditer(text)]


def token_kinds(text: str, starts: IntVector, ends: IntVector) -> list[Kind]:
    """The kinds of tokens that stand at these places of a text, by the first word that each has a part of.

    >>> token_kinds("going, 1984", np.array([0, 2, 5, 7]), np.array([2, 5, 6, 11]))
    [<Kind.PIECE: 3>, <Kind.PIECE: 3>, <Kind.SYMBOL: 2>, <Kind.NUMBER: 1>]
    """
    words = find_words(text)
    firsts, lasts = (np.array([word[i] for word in words], np.int64) for i in (0, 1))
    kinds = []
    for place, start, end in zip(np.searchsorted(lasts, starts, side="right").tolist(), starts, ends, strict=True):
        if place == len(words) or firsts[place] >= end:
            kinds.append(Kind.SYMBOL)  # white space
            continue
        word = words[place]
        whole = start <= word.start and word.end <= end
        kinds.append(word.kind if whole or word.kind == Kind.SYMBOL else Kind.PIECE)
    return kinds


def identity(word: str, cased: bool = False) -> str:
    r"""What makes two occurrences the same word: the letters, whatever their case and composition.

    >>> identity("Straße") == identity("STRASSE"), identity("E\u0301") == identity("é")
    (True, True)
    """
    if word.isascii():
        return word if cased else word.lower()
    return unicodedata.normalize("NFC", word if cased else word.casefold())


_KINDS = {"word": Kind.WORD, "url": Kind.WORD, "han": Kind.WORD, "number": Kind.NUMBER, "symbol": Kind.SYMBOL}
_KINDS["keycap"] = Kind.SYMBOL
_SHORT = 1_000
_SIGNS = ("@", "://", "www.")  # of an address
_SIMPLE = re.compile(
    r"(?P<word>[A-Za-z][A-Za-z\d]*(?:'[A-Za-z]+)*)|(?P<number>\d+(?:[.,:/]\d+)*(?:st|nd|rd|th)?(?!\w)|\d+)"
    r"|(?P<symbol>(?P<same>[^\w\s])(?P=same)*|_+)"
)
"""The same for plain ASCII, quicker."""

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"


_LAST = 0x1F000  # beyond lie emoji, Han and tags


@cache
def _pattern() -> re.Pattern[str]:
    marks = _ranges("Mn", "Mc", "Me") + "\U000e0100-\U000e01ef"
    letter = rf"(?:[^\W\d_{_HAN}][{marks}\u200c\u200d]*)"
    # Letters, then letters or digits; an apostrophe only between letters.
    word = rf"{letter}(?:{letter}|\d)*(?:['’]{letter}+)*"
    address = r"(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+"
    url = rf"(?i:https?://|www\.)[^\s<>\"]*[^\s<>\".,;:!?)\]}}'’]|{address}"
    number = r"\d+(?:[.,:/]\d+)*(?:st|nd|rd|th)?(?!\w)|\d+"
    # An emoji is drawn from several characters: skin tones, joiners, flags.
    joined = "[\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
    flag = "[\U0001f1e6-\U0001f1ff]{2}"
    emoji = rf"{flag}|[^\w\s]{joined}*(?:\u200d[^\w\s]{joined}*)+|[^\w\s]{joined}+"
    return re.compile(
        rf"(?P<url>{url})|(?P<keycap>[0-9#*]\ufe0f?\u20e3)|(?P<number>{number})|(?P<word>{word})|(?P<han>[{_HAN}][{marks}]*)"
        rf"|(?P<symbol>{emoji}|(?P<same>[^\w\s])(?P=same)*|_+|\w)"
    )


def _ranges(*categories: str) -> str:
    """A character class of everything in these Unicode categories."""
    members = [i for i in range(_LAST) if unicodedata.category(chr(i)) in categories]
    runs = [[i for _, i in run] for _, run in groupby(enumerate(members), key=lambda pair: pair[1] - pair[0])]
    return "".join(f"{re.escape(chr(run[0]))}-{re.escape(chr(run[-1]))}" for run in runs)
