"""What a token is: whole word, number, symbol, piece of a word, or special; found by looking at every letter."""

from __future__ import annotations

import csv
from collections import Counter

import numpy as np
import pytest

import uncone
from uncone.encoders.rows.segmentation import Kind, find_words, token_kinds
from uncone.report.documents.layers.words import word_table

FAMILIES = ("bert", "gpt2", "t5")


def naive_kind(text, start, end):
    """Letter by letter: the first word under the token, and whether all of that word is under it."""
    of = {place: word for word in find_words(text) for place in range(word.start, word.end)}
    under = [of[place] for place in range(start, end) if place in of]
    if not under:
        return "symbol"
    word = under[0]
    whole = all(start <= place < end for place in range(word.start, word.end))
    return "piece" if not whole and word.kind != Kind.SYMBOL else word.kind.name.lower()


def naive_tokens(hidden, family, texts):
    for text in dict.fromkeys(texts):
        seen = hidden(family, text)
        for name, (start, end), special in zip(seen.names, seen.offsets, seen.special, strict=True):
            if special:
                yield name, "special"
            elif end > start:
                yield name, naive_kind(text, start, end)


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_by_kind(folder_of, hidden, sentences, family):
    study = uncone.layers(folder_of(family), sentences, rows="tokens", special=True, min_contexts=2)
    counted = Counter(kind for _, kind in naive_tokens(hidden, family, sentences))
    assert study.source["rows_by_kind"] == dict(counted)
    assert {"word", "piece", "symbol"} <= set(counted), "the texts have to hold what is tested"
    assert any(note.startswith("Vectors by kind: ") for note in study.notes)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kinds", ["word", "piece", "number,symbol", "word,piece"])
def test_some_kinds_of_tokens(folder_of, hidden, sentences, family, kinds):
    found = Counter(name for name, kind in naive_tokens(hidden, family, sentences) if kind in kinds.split(","))
    study = uncone.layers(folder_of(family), sentences, rows="tokens", kinds=kinds, min_contexts=2)
    assert study.source["rows"] == found.total()
    table = dict(zip(study.words.words, study.words.counts.tolist(), strict=True))
    assert table == {name: n for name, n in found.items() if n > 1}


def test_the_kind_of_every_word_is_in_the_tables(folder_of, sentences, tmp_path):
    study = uncone.layers(folder_of("bert"), sentences, min_contexts=2)
    out = tmp_path / "words.csv"
    out.write_bytes(word_table(study, out))
    with out.open(newline="") as file:
        kinds = {row["word"]: row["kind"] for row in csv.DictReader(file)}
    assert kinds == {word: find_words(word)[0].kind.name.lower() for word in kinds}
    assert len(set(kinds.values())) > 1
    assert {one["word"]: one["kind"] for one in study.to_dict()["words"]}.items() <= kinds.items()


def test_pieces_are_no_words(folder_of, sentences):
    with pytest.raises(uncone.UnconeError, match="--kinds is some of word, number, symbol, not 'piece'"):
        uncone.layers(folder_of("bert"), sentences, kinds="piece")


def test_white_space_is_a_symbol():
    assert token_kinds("a  b", np.array([1]), np.array([3])) == [Kind.SYMBOL]
