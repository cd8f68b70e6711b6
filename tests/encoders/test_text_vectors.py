"""Token vectors against plain transformers, one text at a time; repaired tokens against a loop."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from uncone.data.texts.texts import ListTexts
from uncone.encoders import text_vectors as module
from uncone.encoders.open import open_encoder, pooled_encoder
from uncone.encoders.pooling import Pooling
from uncone.encoders.text_vectors import RepairedTexts, TokenRows
from uncone.errors import OptionError, ShapeError

LONGEST = 64
TEXTS = [
    "the text",
    "",
    "a school, 42 texts!",
    "text " * 90,
    "go",
    "  ",
    "school go the zebra?",
    *[f"the {'text ' * (i % 9)} {i}" for i in range(30)],
]


@pytest.fixture(scope="module")
def encoder(tiny_model):
    torch.set_num_threads(1)
    return open_encoder(str(tiny_model))


@pytest.fixture(scope="module")
def plain(tiny_model):
    return AutoTokenizer.from_pretrained(tiny_model), AutoModel.from_pretrained(tiny_model).eval()


def naive(plain, texts, layers=(-1,), prompt=""):
    """The vectors of the tokens of each text that are not special, without batches."""
    tokenizer, model = plain
    found = []
    for text in texts:
        if not text.strip():
            found.append(np.empty((0, 32)))
            continue
        given = tokenizer(prompt + text.strip(), return_tensors="pt", truncation=True, max_length=LONGEST)
        with torch.no_grad():
            states = model(
                input_ids=given["input_ids"], attention_mask=given["attention_mask"], output_hidden_states=True
            ).hidden_states
        real = ~np.isin(given["input_ids"][0].numpy(), [tokenizer.cls_token_id, tokenizer.sep_token_id])
        found.append(np.mean([states[layer][0].double().numpy()[real] for layer in layers], axis=0))
    return found


def read(source):
    return np.concatenate([rows.vectors.copy() for rows in source.read()])


@pytest.mark.parametrize("layers", [(-1,), (0,), (1,), (0, 2)])
@pytest.mark.parametrize("prompt", ["", "go: "])
def test_every_token_in_reading_order(encoder, plain, layers, prompt):
    source = TokenRows(ListTexts(TEXTS), encoder, Pooling(layers, prompt=prompt))
    wanted = np.concatenate(naive(plain, TEXTS, layers, prompt))
    found = read(source)
    assert found.dtype == np.float32 and source.dim == 32
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(read(source), found)
    assert "every subword token" in source.note and "1 texts truncated to 64 tokens" in source.note


def test_memory_is_bounded_by_a_budget_of_tokens(encoder, plain, monkeypatch):
    monkeypatch.setattr(module, "_LIMIT", 100)
    source = TokenRows(ListTexts(TEXTS), encoder, Pooling())
    parts = [rows.vectors.copy() for rows in source.read()]
    assert len(parts) > 3 and max(map(len, parts)) <= 100
    np.testing.assert_allclose(np.concatenate(parts), np.concatenate(naive(plain, TEXTS)), rtol=1e-4, atol=1e-5)
    monkeypatch.setattr(module, "_POOL", 5)
    np.testing.assert_allclose(read(source), np.concatenate(naive(plain, TEXTS)), rtol=1e-4, atol=1e-5)


def test_batches_and_limits(encoder, plain):
    for batch_size in (1, 3):
        source = TokenRows(ListTexts(TEXTS), encoder, Pooling(), batch_size, 7)
        np.testing.assert_allclose(read(source), np.concatenate(naive(plain, TEXTS[:7])), rtol=1e-4, atol=1e-5)


WAYS = {"mean": lambda rows: rows.mean(axis=0), "max": lambda rows: rows.max(axis=0), "last": lambda rows: rows[-1]}


@pytest.mark.parametrize("pooling", WAYS)
@pytest.mark.parametrize("normalize", [False, True])
def test_repaired_tokens_are_pooled(encoder, plain, pooling, normalize, monkeypatch):
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(32, 5)).astype(np.float32)

    def transform(rows):
        assert rows.ndim == 2 and len(rows)
        return np.tanh((rows - 0.1) @ matrix)

    def finished(row):
        return row / np.linalg.norm(row) if normalize else row

    tokens = naive(plain, TEXTS, (1, 2))
    wanted = [finished(WAYS[pooling](np.tanh((rows - 0.1) @ matrix))) if len(rows) else [np.nan] * 5 for rows in tokens]
    for most in (1 << 14, 80):
        monkeypatch.setattr(module, "_LIMIT", most)
        source = RepairedTexts(ListTexts(TEXTS), encoder, Pooling((1, 2), pooling, normalize), transform, 5)
        parts = list(source.read())
        np.testing.assert_allclose(np.concatenate([one.vectors for one in parts]), wanted, rtol=1e-3, atol=1e-4)
        assert [text for one in parts for text in one.texts] == [text.strip() for text in TEXTS]
        assert source.dim == 5


def test_without_a_repair_it_is_the_raw_row_over_the_same_tokens(encoder, plain):
    found = read(RepairedTexts(ListTexts(TEXTS), encoder, Pooling()))
    wanted = [rows.mean(axis=0) if len(rows) else [np.nan] * 32 for rows in naive(plain, TEXTS)]
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(read(RepairedTexts(ListTexts(TEXTS), encoder, Pooling(), lambda x: x)), found)


def test_texts_without_tokens_are_rows_of_nan(tmp_path):
    (tmp_path / "words.vec").write_text("the 1.5 2.0\ntext 0.5 -1.0\n")
    encoder, pooling = pooled_encoder(str(tmp_path / "words.vec"))
    texts = ListTexts(["the text", "unknown words", "", "text text the"])
    found = read(RepairedTexts(texts, encoder, pooling, lambda rows: 2 * rows))
    np.testing.assert_allclose(
        found, [[2.0, 1.0], [np.nan] * 2, [np.nan] * 2, [2 * (0.5 + 0.5 + 1.5) / 3, 0.0]], atol=1e-6
    )
    np.testing.assert_allclose(
        read(TokenRows(texts, encoder, pooling)), [[1.5, 2], [0.5, -1], [0.5, -1], [0.5, -1], [1.5, 2]]
    )


def test_what_cannot_be(encoder):
    with pytest.raises(OptionError, match="no CLS vector"):
        RepairedTexts(ListTexts(TEXTS), encoder, Pooling(kind="cls"))
    with pytest.raises(ShapeError, match="fitted on this model"):
        read(RepairedTexts(ListTexts(TEXTS), encoder, Pooling(), lambda rows: rows[:, :3], 4))
    with pytest.raises(ShapeError, match="0 tokens"):
        list(TokenRows(ListTexts(["", " "]), encoder, Pooling()).read())
    with pytest.raises(ShapeError, match="1 text"):
        list(RepairedTexts(ListTexts(["the"]), encoder, Pooling()).read())
    assert len(read(RepairedTexts(ListTexts(["the"]), encoder, Pooling(), least=1))) == 1
