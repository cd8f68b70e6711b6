"""Where the frequencies of word vectors come from: texts, a table of counts, `wordfreq`, or the order of the file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from uncone.data.batch import Vector
from uncone.data.storage.path import path_of
from uncone.data.tables.read import TABLE_SUFFIXES, plain_suffix, read_table
from uncone.data.texts.texts import open_texts
from uncone.encoders.rows.segmentation import find_words, identity
from uncone.errors import FormatError, NoUsableRowsError, OptionError, require

__all__ = ["counts_from", "word_shares"]

_WORD, _COUNT = "word", "count"
"""The columns of a table of counts."""


def counts_from(source: str, names: Sequence[str]) -> Mapping[str, float]:
    """How often each word occurs.

    Args:
        source: a file of texts; a table with the columns word and count; `wordfreq`; or `order`: the words in `names`
            are in the order of their frequency, and the share of the r-th is 1/r (Zipf's law).
        names: the words that have vectors.

    Raises:
        SourceError: the file cannot be read.
        NoUsableRowsError: it has no words.
        OptionError: `order` for words in alphabetical order.
    """
    if source == "order":
        if len(names) > 2 and list(names) == sorted(names):
            raise OptionError(
                "The words are in alphabetical order, not in that of their frequency: give --frequencies a file."
            )
        return {name: 1 / rank for rank, name in enumerate(dict.fromkeys(names), 1)}
    if source == "wordfreq":
        require("wordfreq", extra="frequency")
        import wordfreq

        return wordfreq.get_frequency_dict("en", "best")
    path = path_of(source)
    counts = _table(path) if plain_suffix(path, TABLE_SUFFIXES) else None
    if counts is None:
        texts = Counter[str]()
        for _, text, _ in open_texts(source).read():
            texts.update(text[word.start : word.end] for word in find_words(text))
        counts = dict(texts)
    if not counts:
        raise NoUsableRowsError(f"{source} has no words to count. Name texts, or a table with the columns word,count.")
    return counts


def _table(path: Path) -> Mapping[str, float] | None:
    """The counts of a table with the columns of one; None for any other table, which holds texts."""
    table = read_table(path)
    if not {_WORD, _COUNT} <= set(table.names):
        return None
    counts: dict[str, float] = {}
    for block in table.blocks([_WORD, _COUNT]):
        rows = zip(block.values(_WORD), block.values(_COUNT), strict=True)
        for row, (word, value) in enumerate(rows):
            try:
                number = float(value)
            except (TypeError, ValueError):
                number = math.nan
            if not (math.isfinite(number) and number >= 0):
                raise FormatError(f"{table.where(block.line(row))}: a count of {value!r}; we need a number from 0 on.")
            counts[str(word)] = counts.get(str(word), 0.0) + number
    return counts


def word_shares(names: Sequence[str], counts: Mapping[str, float]) -> tuple[Vector, float]:
    """The share of each name in all occurrences, and the share of occurrences that have none of these names.

    A word counts for the name that is written like it, else in lower case, else in any case, as texts are looked up in
    word vectors. Of a repeated name the first counts.

    >>> word_shares(["the", "Bank"], {"The": 1, "the": 4, "bank": 3, "river": 2})
    (array([0.5, 0.3]), 0.2)
    """
    places: dict[str, int] = {}
    folded: dict[str, int] = {}
    for place, name in enumerate(names):
        places.setdefault(name, place)
        folded.setdefault(identity(name), place)
    sums, missing = np.zeros(len(names)), 0.0
    for word, count in counts.items():
        place = places.get(word, places.get(word.lower(), folded.get(identity(word), -1)))
        if place < 0:
            missing += count
        else:
            sums[place] += count
    total = float(sums.sum()) + missing
    return (sums / total, float(missing / total)) if total > 0 else (sums, 0.0)
