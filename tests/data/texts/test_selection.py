"""The splitter finds the sentences, and loses nothing but the space between them."""

from __future__ import annotations

import pytest
from commands import grows
from hypothesis import given
from hypothesis import strategies as st

from uncone.data.texts.selection import split_sentences

CASES = [
    ["It rained.", "We stayed in!", "Why?", "Nobody knows…", "3 men came."],
    ["Mr. Smith met Dr. J. R. Lee of Acme Inc. in St. Louis.", "They spoke."],
    ["Use fruit, e.g. Apples, i.e. Malus, etc. And so on vs. Nothing.", "Done."],
    ["The U.S. Army and the Ph.D. Student left.", "Both did."],
    ["See No. 5, Fig. 3 and p. 12.", "Is it so?", "No.", "It is not."],
    ["On Jan. 5 we sat.", "The sun.", "The end."],
    ['"Go!"', "He left.", "(It was late.)", "[Sic.]", "“So be it.”", "'Fine.'", "«Non.»", "Si."],
    ["Really?!", "Wait...", "What?"],
    ["It cost 3.50 at example.com yesterday.", "Cheap."],
    ["1. Buy milk.", "2. Drink it."],
    ["今日は晴れ。", "明日は雨！", "「本当？」", "はい。"],
    ["A lobster is blue .", "Some are red ?", "( One is white . )", "<unk> knows ."],
    ['He said , " Go . "', "They went .", '" Why ? " she asked .'],
    ["He said , `` Go . ''", "They went ."],
    ["he left. she stayed. nothing begins with a small letter."],
    ["no end"],
]


@pytest.mark.parametrize("sentences", CASES, ids=lambda sentences: sentences[0])
@pytest.mark.parametrize("space", [" ", "\n", "  \t"])
def test_sentences(sentences, space):
    assert split_sentences(space.join(sentences)) == sentences


def test_without_space():
    assert split_sentences("今日は。明日は！本当？") == ["今日は。", "明日は！", "本当？"]


def test_an_empty_line_ends_a_sentence():
    assert split_sentences("A title\n \nand a text\nof two lines\n") == ["A title", "and a text\nof two lines"]


@pytest.mark.parametrize("text", ["", " ", "\n\n"])
def test_nothing(text):
    assert split_sentences(text) == []


PIECES = st.sampled_from(
    [
        *" \n\t.\"'?!…。！」)(",
        "Mr.",
        "U.S.",
        "No.",
        "the",
        "The",
        "5",
        "J.",
        ' . " ',
        "\u3000",
        "🙂",
        "''",
        "e.g.",
        "।",
        "\x1c",
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
def test_only_space_is_lost(text):
    sentences = split_sentences(text)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    place = 0
    for sentence in sentences:
        assert sentence and sentence == sentence.strip()
        place = text.index(sentence, place) + len(sentence)
    assert all(split_sentences(sentence) for sentence in sentences)


@pytest.mark.parametrize("piece", [".", ". ", "a. ", '. " ', "\n", " ", "!)", "A.B ", "\n \n", "a"])
def test_long_runs_take_linear_time(piece):
    assert grows(split_sentences, piece * (50_000 // len(piece))) < 9, "quadratic would be 16"
