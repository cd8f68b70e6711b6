"""The static tables of encoders: names by the words they stand for, and the vectors themselves."""

from __future__ import annotations

import struct

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2Model, LlamaConfig, LlamaModel, PreTrainedTokenizerFast
from transformers.utils import logging

from uncone.encoders import static
from uncone.encoders.encoder import Encoder, Window
from uncone.encoders.open import open_encoder
from uncone.encoders.transformer import table_names, usable_tokens

TEXTS = [
    "The bank of the river was steep, and the café was green.",
    "She went to the bank to open an account in the bank.",
    "Playing and playful players play: naïve!",
]


@pytest.mark.parametrize(
    ("tokens", "names"),
    [
        (["the", "##ing", ",", "##s"], ["the", "##ing", ",", "##s"]),
        (["▁the", "▁The", "ing", ",", "▁,", "▁▁", "<0x0A>"], ["the", "The", "##ing", ",", "▁,", "▁▁", "<0x0A>"]),
        (["Ġthe", "the", "ĠcafÃ©", ".", "ĠÃ", "Ġ", "ĊĊ"], ["the", "##the", "café", ".", "ĠÃ", "Ġ", "ĊĊ"]),
        (["the</w>", "the", "play", "ing</w>"], ["the", "the##", "play##", "ing"]),
        (["the", "cat", "x"], ["the", "cat", "x"]),
        ([], []),
    ],
)
def test_names(tokens, names):
    numbered = dict(enumerate(tokens))
    found = table_names(numbered)
    assert list(found.values()) == names and list(found) == list(numbered)


def test_names_are_as_many_as_tokens():
    tokens = ["▁a", "a", "##a", "▁##a", "▁", "▁▁", "▁ a", "▁,", ",", "▁▁,"]
    assert len(set(table_names(dict(enumerate(tokens))).values())) == len(tokens)


def test_a_few_marks_make_no_scheme():
    """A character tokenizer knows ▁ as one character among many."""
    tokens = [chr(i) for i in range(200, 700)] + ["▁"]
    assert table_names(dict(enumerate(tokens)))[0] == tokens[0]


def test_special_and_unused_tokens_are_left_out(tiny_model):
    encoder = open_encoder(tiny_model)
    names, vectors = encoder.input_table()
    weights = load_file(tiny_model / "model.safetensors")["embeddings.word_embeddings.weight"]
    assert not {"[PAD]", "[UNK]", "[CLS]", "[SEP]"} & set(names)
    assert len(names) == len(weights) - 4
    np.testing.assert_array_equal(vectors, weights[4:])
    assert names[:4] == ["the", "text", "go", "school"] and names[-1] == "##9"
    assert vectors.dtype == np.float32


@pytest.mark.parametrize(
    "token", ["[unused12]", "<unused3>", "<extra_id_0>", "<|reserved_special_token_7|>", "madeupword0001"]
)
def test_tokens_for_some_day(token):
    class Few:
        all_special_ids = (0,)

        @property
        def added_tokens_decoder(self):
            return {}

        def get_vocab(self):
            return {"the": 2, "[PAD]": 0, token: 1, "unused": 3}

    assert usable_tokens(Few()) == {2: "the", 3: "unused"}


def byte_level(folder):
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    inner.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=290, special_tokens=["<end>"], initial_alphabet=alphabet, show_progress=False
    )
    inner.train_from_iterator(TEXTS * 3, trainer)
    made = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<end>")
    GPT2Model(
        GPT2Config(vocab_size=len(made), n_embd=8, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
    ).save_pretrained(folder)
    made.save_pretrained(folder)
    return folder


def sentence_piece(folder):
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=90, special_tokens=["<s>", "</s>"], show_progress=False)
    inner.train_from_iterator(TEXTS * 3, trainer)
    made = PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>", eos_token="</s>")
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    # More rows than tokens, as models pad their tables.
    LlamaModel(LlamaConfig(vocab_size=len(made) + 6, **sizes)).save_pretrained(folder)
    made.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("make", [byte_level, sentence_piece])
def test_every_token_of_a_text_has_its_row(tmp_path, make):
    """What the model looks up for a token is the row under the token's name."""
    logging.disable_progress_bar()
    torch.manual_seed(1)
    encoder = open_encoder(make(tmp_path / "model"))
    names, vectors = encoder.input_table()
    marked, same = encoder.input_table(marked=True)
    np.testing.assert_array_equal(vectors, same)
    assert len(set(names)) == len(names) and "the" in names and "the" not in marked
    passages = [passage for found in encoder.passages(TEXTS, Window()) for passage in found]
    looked = encoder.model.get_input_embeddings()
    seen = set()
    for passage in passages:
        for token, special in zip(passage.tokens, passage.special, strict=True):
            if not special:
                row = looked(torch.tensor(token)).detach().numpy()
                np.testing.assert_array_equal(vectors[names.index(encoder.table_name(token))], row)
                assert encoder.token_name(token) in marked
                seen.add(encoder.table_name(token))
    assert "the" in seen and any(name.startswith("##") for name in seen)
    assert not {"<s>", "</s>", "<end>"} & set(names)


def test_real_tables(real_data):
    names, vectors = open_encoder(real_data.parent / "models" / "bert-tiny").input_table()
    assert vectors.shape == (29523, 128) and len(set(names)) == 29523
    assert not any(name.startswith("[unused") for name in names)
    assert names.index("the") < names.index("of") < names.index("##s") < names.index("zoo")
    names, vectors = open_encoder(real_data.parent / "models" / "stories-15m").input_table()
    assert vectors.shape == (31997, 288) and len(set(names)) == 31997


# Files of word vectors.

TABLE = {"the": [1.0, 2.0], "Bank": [3.0, 4.0], "cafe\u0301": [5.0, 6.0], "río": [7.0, 8.0]}


def written(path, table=TABLE, more=""):
    path.write_text("".join(f"{word} {a} {b}\n" for word, (a, b) in table.items()) + more, encoding="utf-8")
    return open_encoder(path)


def test_the_words_of_a_file(tmp_path):
    encoder = written(tmp_path / "vectors.txt", more="the 9 9\n")
    names, vectors = encoder.input_table()
    assert names == ["the", "Bank", "caf\u00e9", "río"]
    np.testing.assert_array_equal(vectors, list(TABLE.values()))
    assert encoder.table_note is None


def test_a_binary_file(tmp_path):
    path = tmp_path / "vectors.bin"
    rows = [word.encode() + b" " + struct.pack("<2f", *vector) + b"\n" for word, vector in TABLE.items()]
    path.write_bytes(b"4 2\n" + b"".join(rows))
    names, vectors = open_encoder(path).input_table()
    assert names[:2] == ["the", "Bank"]
    np.testing.assert_array_equal(vectors, list(TABLE.values()))


def test_words_of_texts_by_the_name_in_the_file(tmp_path):
    encoder = written(tmp_path / "vectors.txt")
    encoder.prepare(["The bank, the café"])
    assert [encoder.table_name(word) for word in ("The", "bank", "BANK", "cafe\u0301")] == [
        "the",
        "Bank",
        "Bank",
        "café",
    ]
    assert encoder.table_name("zebra") == "zebra"


def test_a_very_long_file_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(static, "_MOST", 10)
    table = {f"w{i}": (i, 1) for i in range(20_000)}
    encoder = written(tmp_path / "vectors.txt", table)
    names, vectors = encoder.input_table()
    assert 10 <= len(names) == len(vectors) < 20_000
    assert names == [f"w{i}" for i in range(len(names))]
    assert f"only the first {len(names):,} words" in encoder.table_note


def test_other_encoders_have_none():
    class Other(Encoder):
        name, kind, layers, dim, window = "other", "other", 1, 2, None

        def passages(self, texts, window):
            return []

        def encode(self, batch):
            raise AssertionError

        def fingerprint(self):
            return ""

    assert Other().input_table() is None and Other().head() is None
    assert Other().table_name("word") == "word"
