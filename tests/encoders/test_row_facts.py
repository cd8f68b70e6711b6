"""What is known of rows after a pass, found by laying the texts out again."""

import numpy as np
import pytest

from uncone.data.texts.selection import Selection
from uncone.data.texts.texts import open_texts
from uncone.encoders.encoder import Window
from uncone.encoders.open import open_encoder
from uncone.encoders.rows.rows import IGNORED, RowRule
from uncone.encoders.rows.segmentation import Kind, find_words, identity
from uncone.run.layers import LayerPass
from uncone.run.memory import Room
from uncone.stats.row_sample import RowSample
from uncone.stats.statistic import Bundle
from uncone.stats.unit_vectors import GroupedUnitSum

TEXTS = [
    "The school, the text!",
    "go go 12 times",
    "zebra at school . .",
    "the zebra goes to the long school of texts, again",
    "?",
]


def passing(tiny_model, rule, window=None):
    window = window or Window(cut=not rule.has_words)
    room = Room(tokens=64, sample=1000, words=0, mev_words=0, occurrences=0, planned=0)
    selection = Selection(open_texts(TEXTS))
    return LayerPass(open_encoder(tiny_model), selection, rule, window, room, lambda _: IGNORED)


def test_words_stand_where_they_are_said_to(tiny_model):
    run = passing(tiny_model, RowRule())
    words = [(identity(text[w.start : w.end]), text, w) for text in TEXTS for w in find_words(text)]
    facts = run.facts(np.arange(len(words)))
    assert facts.words == [word for word, _, _ in words]
    for place, (_, text, word) in enumerate(words):
        assert facts.sentences[facts.sentence[place]] == text
        assert (facts.starts[place], facts.ends[place]) == (word.start, word.end)
        assert Kind(facts.kinds[place]) == word.kind
    assert facts.excerpt(1) == "The [school], the text!"
    assert facts.kind(1) == "word"


def test_positions_are_those_of_the_first_token(tiny_model):
    from transformers import AutoTokenizer

    run = passing(tiny_model, RowRule())
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    facts = run.facts(np.arange(1000))
    for place in range(facts.n):
        offsets = tokenizer(facts.sentences[facts.sentence[place]], return_offsets_mapping=True)["offset_mapping"]
        first = next(i for i, (start, end) in enumerate(offsets) if start < end and end > facts.starts[place])
        assert facts.positions[place] == first


@pytest.mark.parametrize("rows", ["words", "tokens", "sentences", "cls"])
@pytest.mark.parametrize("size", [None, 12])
def test_some_rows_are_the_same_as_all_of_them(tiny_model, rows, size):
    rule = RowRule(rows=rows)
    run = passing(tiny_model, rule, Window(size, cut=not rule.has_words))
    everything = run.facts(np.arange(1000))
    assert (np.diff(everything.rows) > 0).all()
    chosen = everything.rows[::3]
    some = run.facts(chosen)
    assert some.rows.tolist() == chosen.tolist()
    again = everything.at(chosen)
    assert some.words == again.words
    for place in range(some.n):
        assert some.excerpt(place) == again.excerpt(place)
        assert some.positions[place] == again.positions[place]


def test_rows_have_the_numbers_of_the_pass(tiny_model):
    """The vector of layer 0 at a row's number is that of the word that the facts name."""
    run = passing(tiny_model, RowRule())
    rows = RowSample(32, 1000)
    result = run.run(Bundle(units=GroupedUnitSum(32), rows=rows))
    sample = result.layers[2]["rows"].sampled
    facts = run.facts(sample.rows)
    assert facts.rows.tolist() == sample.rows.tolist()
    encoder = run.encoder
    for place in range(0, sample.n, 4):
        text = facts.sentences[facts.sentence[place]]
        (passage,) = encoder.passages([text], Window())[0]
        states = encoder.encode([passage])
        inside = (passage.starts < facts.ends[place]) & (passage.ends > facts.starts[place]) & ~passage.special
        tokens = np.flatnonzero(inside)
        expected = states.pooled(2, tokens, np.zeros(1, np.int64))[0]
        assert np.allclose(sample.vectors[place], expected, atol=1e-5)


def test_no_rows_are_no_facts(tiny_model):
    run = passing(tiny_model, RowRule())
    assert run.facts(np.empty(0, np.int64)).n == 0


def test_a_whole_text_is_a_row_without_a_kind(tiny_model):
    run = passing(tiny_model, RowRule(rows="sentences"))
    facts = run.facts(np.array([1]))
    assert facts.excerpt(0) == "[go go 12 times]"
    assert facts.kind(0) == "text"
    assert facts.words == ["go go 12 times"]
