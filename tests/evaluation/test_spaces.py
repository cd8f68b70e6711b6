"""Every distinct text is encoded once; tokens are repaired, then pooled; the same vectors by plain routes."""

from __future__ import annotations

import numpy as np
import pytest

from uncone.data.cache import VectorCache
from uncone.data.texts.texts import ListTexts
from uncone.encoders.encoder import Window
from uncone.encoders.open import open_encoder, sentence_source
from uncone.encoders.text_vectors import RepairedTexts
from uncone.errors import OptionError
from uncone.evaluation import spaces as module
from uncone.evaluation.spaces import Settings, open_spaces
from uncone.evaluation.static_means import static_means
from uncone.repairs.registry import make

TEXTS = ["the text", "go to school", "a word", "the text ", "some other words, too", "z"]


@pytest.fixture
def counted(tiny_model):
    """The encoder, and a list of the texts that went through it."""
    encoder, batches = open_encoder(tiny_model), []
    inner = encoder.encode

    def encode(batch):
        batches.extend(passage.text for passage in batch)
        return inner(batch)

    encoder.encode = encode
    return encoder, batches


def read(source):
    return np.concatenate([np.array(rows.vectors) for rows in source.read()])


@pytest.mark.parametrize("level", ["sentence", "token"])
def test_each_distinct_text_is_encoded_once(counted, level):
    encoder, batches = counted
    (space,) = open_spaces(encoder, [*TEXTS, *TEXTS], Settings(layer=1, level=level))
    assert sorted(batches) == sorted({text.strip() for text in TEXTS})
    assert space.vectors(TEXTS).shape == (6, 32)
    np.testing.assert_array_equal(space.vectors([" the text"]), space.vectors(["the text"]))


@pytest.mark.parametrize("pooling", ["mean", "max", "last", "cls"])
@pytest.mark.parametrize("layer", [1, "1,-1"])
def test_sentences_are_those_of_the_plain_source(tiny_model, layer, pooling):
    (space,) = open_spaces(tiny_model, TEXTS, Settings(layer=layer, pooling=pooling))
    plain = read(sentence_source(ListTexts(TEXTS), tiny_model, layer=layer, pooling=pooling))
    np.testing.assert_allclose(space.vectors(TEXTS), plain, atol=1e-5)
    assert (space.layer, space.pooling) == ("1" if layer == 1 else "1,2", pooling)


@pytest.mark.parametrize("pooling", ["mean", "max", "last"])
def test_tokens_are_repaired_then_pooled(tiny_model, pooling):
    texts = [*TEXTS, ""]
    (space,) = open_spaces(tiny_model, texts, Settings(layer=1, level="token", pooling=pooling))
    rows = read(space.rows(TEXTS, "x"))
    repair = make("center").fit(rows)
    encoder = open_encoder(tiny_model)
    for mended in (None, repair):
        transform = None if mended is None else mended.map
        plain = read(RepairedTexts(ListTexts(texts), encoder, space.recipe, transform))
        np.testing.assert_allclose(space.vectors(texts, mended), plain, atol=1e-5)
    assert np.isnan(space.vectors([""])).all()
    bare = sum(int((~passages[0].special).sum()) for passages in encoder.passages(TEXTS, Window()))
    assert len(rows) == bare, "a repeated text counts each time"


def test_tokens_beyond_the_limit_lie_in_a_file(tiny_model, monkeypatch):
    (in_memory,) = open_spaces(tiny_model, TEXTS, Settings(level="token"))
    monkeypatch.setattr(module, "TOKEN_BYTES", 512)
    (spooled,) = open_spaces(tiny_model, TEXTS, Settings(level="token"))
    assert isinstance(spooled.matrix, np.memmap)
    np.testing.assert_array_equal(spooled.matrix, in_memory.matrix)
    np.testing.assert_array_equal(spooled.vectors(TEXTS), in_memory.vectors(TEXTS))


def test_all_layers_come_out_of_one_pass_and_the_cache(counted, tmp_path):
    encoder, batches = counted
    cache = VectorCache(tmp_path / "cache")
    spaces = open_spaces(encoder, TEXTS, Settings(layer="all", cache=cache))
    assert [space.layer for space in spaces] == ["0", "1", "2"]
    assert len(batches) == 5
    for space in spaces:
        plain = read(sentence_source(ListTexts(TEXTS), encoder, layer=space.layer))
        np.testing.assert_allclose(space.vectors(TEXTS), plain, atol=1e-5)
    batches.clear()
    again = open_spaces(encoder, [*TEXTS, "a new one"], Settings(layer=["0", "2"], cache=cache))
    assert batches == ["a new one"]
    (single,) = open_spaces(encoder, TEXTS, Settings(layer=2, cache=cache))
    assert batches == ["a new one"], "one layer finds what the sweep has kept"
    np.testing.assert_array_equal(again[1].vectors(TEXTS), single.vectors(TEXTS))


def test_words_are_the_tokens_that_overlap_a_span(tiny_model):
    text = "  go to school"
    (space,) = open_spaces(tiny_model, [text, "the text"], Settings(layer=2, level="token"))
    first, last = space.starts[:2]
    words = space.words([text, text, "the text"], [(2, 4), (8, 14), (0, 3)])
    np.testing.assert_allclose(words[0], space.matrix[first], atol=1e-6)
    np.testing.assert_allclose(words[1], space.matrix[last - 1], atol=1e-6)
    assert np.isnan(space.words([text], [(4, 5)])).all(), "nothing but space"


def test_the_static_mean_is_of_the_input_embeddings(tiny_model, tmp_path):
    encoder = open_encoder(tiny_model)
    table = encoder.model.get_input_embeddings().weight.detach().numpy()
    ids = encoder.tokenizer("go to school", add_special_tokens=False)["input_ids"]
    result = static_means(encoder, ["go to school", ""])
    np.testing.assert_allclose(result[0], table[ids].mean(axis=0), atol=1e-6)
    assert np.isnan(result[1]).all()
    path = tmp_path / "words.vec"
    path.write_text("2 2\ngo 1 2\nschool 3 4\n")
    np.testing.assert_allclose(static_means(encoder, ["go to school"], path), [[2.0, 3.0]])


def test_what_cannot_be_asked_for(tiny_model):
    with pytest.raises(OptionError, match="level"):
        Settings(level="letter")
    with pytest.raises(OptionError, match="seeds"):
        Settings(seeds=0)
    with pytest.raises(OptionError, match="no layer 7"):
        open_spaces(tiny_model, TEXTS, Settings(layer=7))
    with pytest.raises(OptionError, match="CLS"):
        open_spaces(tiny_model, TEXTS, Settings(level="token", pooling="cls"))
    (space,) = open_spaces(tiny_model, TEXTS, Settings())
    with pytest.raises(OptionError, match="not among those"):
        space.vectors(["never seen"])
