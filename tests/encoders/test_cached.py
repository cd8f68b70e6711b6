"""Texts through the cache: the same rows, each distinct text encoded once, nothing mixed."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from uncone.data.cache import VectorCache
from uncone.data.storage.files import file_digest
from uncone.data.texts.texts import ListTexts, TextSource
from uncone.encoders.cached import CachedTexts, _content
from uncone.encoders.open import Loading, open_encoder, sentence_source
from uncone.errors import ShapeError

TEXTS = [
    "the text",
    "go to school",
    "  the text ",
    "",
    "a much longer text that goes on and on, to the school and back",
    "   ",
    "go to school",
    "text " * 80,
    "z",
]


class Labeled(TextSource):
    """Texts with labels, and one without."""

    kind, name = "list", "labeled"

    def read(self):
        for row, text in enumerate(TEXTS):
            yield row, text, None if row == 3 else f"label {row}"


@pytest.fixture
def kept(tmp_path):
    return VectorCache(tmp_path / "cache", 1 << 24)


@pytest.fixture(scope="module")
def encoder(tiny_model):
    torch.set_num_threads(1)
    return open_encoder(str(tiny_model))


def read(source):
    parts = list(source.read())
    vectors = np.concatenate([part.vectors for part in parts])
    texts = [text for part in parts for text in part.texts]
    labels = None if parts[0].labels is None else [label for part in parts for label in part.labels]
    return vectors, texts, labels


@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "last"])
@pytest.mark.parametrize("layer", [None, "0", "1,-1"])
def test_the_same_rows_with_and_without(encoder, kept, pooling, layer):
    options = {"layer": layer, "pooling": pooling, "prompt": "go: "}
    plain = sentence_source(Labeled(), encoder, **options)
    wanted = read(plain)
    for turn in range(3):
        cached = sentence_source(Labeled(), encoder, **options, cache=kept)
        found = read(cached)
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-4, atol=1e-5)
        assert found[0].dtype == np.float32 and np.isnan(found[0][[3, 5]]).all()
        assert found[1:] == wanted[1:] and cached.note == plain.note and "1 texts truncated" in cached.note
        assert (cached.n_encoded, cached.n_cached) == ((5, 0) if turn == 0 else (0, 5))
    assert (cached.dim, cached.kind, cached.name, cached.dtype) == (plain.dim, plain.kind, plain.name, plain.dtype)


def test_only_what_is_new_is_encoded_and_once(encoder, kept, monkeypatch):
    from uncone.encoders import text_vectors as module

    monkeypatch.setattr(module, "_POOL", 4)
    seen = []
    passages = encoder.passages
    monkeypatch.setattr(encoder, "passages", lambda texts, window: seen.extend(texts) or passages(texts, window))
    texts = [f"text {i % 7}" for i in range(30)]
    first, _, _ = read(sentence_source(ListTexts(texts), encoder, cache=kept))
    assert sorted(seen) == sorted(set(texts))
    seen.clear()
    more = ["new one", *texts[::-1], "text 3", "new one"]
    second, names, _ = read(sentence_source(ListTexts(more), encoder, cache=kept))
    assert seen == ["new one"] and names == more
    np.testing.assert_array_equal(second[1:31], first[::-1])
    np.testing.assert_array_equal(second[0], second[-1])


def test_a_run_that_broke_off_goes_on_where_it_stood(encoder, kept, monkeypatch):
    from uncone.encoders import text_vectors as module

    monkeypatch.setattr(module, "_POOL", 4)
    texts = [f"text {i}" for i in range(12)]
    next(rows := sentence_source(ListTexts(texts), encoder, cache=kept).read())
    next(rows)
    rows.close()
    again = sentence_source(ListTexts(texts), encoder, cache=VectorCache(kept.folder))
    read(again)
    assert (again.n_cached, again.n_encoded) == (8, 4)


def test_settings_never_mix(encoder, kept, tiny_model):
    """Every setting that changes the numbers: a text encoded under one is unknown under the others."""
    settings = [
        {},
        {"layer": "1"},
        {"layer": "0,1"},
        {"pooling": "cls"},
        {"pooling": "max"},
        {"prompt": "the "},
        {"prompt": "go "},
    ]
    spaces = []
    for options in settings:
        source = sentence_source(ListTexts(TEXTS), encoder, **options, cache=kept)
        wanted = read(sentence_source(ListTexts(TEXTS), encoder, **options))[0]
        np.testing.assert_allclose(read(source)[0], wanted, rtol=1e-4, atol=1e-5)
        assert source.n_cached == 0
        spaces.append(source.space.folder)
    half = sentence_source(ListTexts(TEXTS), str(tiny_model), loading=Loading(dtype="float16"), cache=kept)
    assert len({*spaces, half.space.folder}) == len(settings) + 1


def test_other_weights_are_another_space_and_a_copy_is_not(tiny_model, kept, tmp_path):
    copy, tuned, words = (tmp_path / name for name in ("copy", "tuned", "words"))
    for folder in (copy, tuned, words):
        shutil.copytree(tiny_model, folder)
    weights = load_file(tuned / "model.safetensors")
    weights["encoder.layer.1.output.dense.bias"][3] += 1  # one number, as a light fine-tuning may leave it
    save_file(weights, tuned / "model.safetensors", metadata={"format": "pt"})
    vocabulary = (words / "tokenizer.json").read_text()
    (words / "tokenizer.json").write_text(vocabulary.replace('"school": 7', '"schoox": 7'))
    assert (words / "tokenizer.json").read_text() != vocabulary
    known = {}
    for name, folder in (("first", tiny_model), ("copy", copy), ("tuned", tuned), ("words", words)):
        source = sentence_source(ListTexts(TEXTS), str(folder), cache=kept)
        np.testing.assert_allclose(
            read(source)[0], read(sentence_source(ListTexts(TEXTS), str(folder)))[0], rtol=1e-4, atol=1e-5
        )
        known[name] = source.n_cached
    assert known == {"first": 0, "copy": 5, "tuned": 0, "words": 0}


def test_one_changed_byte_of_a_large_model_is_noticed(tiny_model, kept, tmp_path):
    """The quick digest looks at blocks from all over a large file; for the cache every byte counts."""
    path = tmp_path / "model.safetensors"
    path.write_bytes(bytes(20 << 20))
    quick, whole = file_digest([path]), _content([path])
    with path.open("r+b") as file:
        file.seek((20 << 20) // 64 * 3 + 100_000)
        file.write(b"x")
    assert file_digest([path]) == quick and _content([path]) != whole
    cached = sentence_source(ListTexts(TEXTS), str(tiny_model), cache=kept)
    read(cached)
    (meta,) = kept.folder.glob("vectors/*/meta.json")
    assert json.loads(meta.read_text())["content"] == _content(cached.source.files)
    assert {path.name for path in cached.source.files} >= {"model.safetensors", "tokenizer.json", "config.json"}


def test_word_vectors_are_not_read_again_when_all_is_known(tmp_path, kept, monkeypatch):
    (tmp_path / "words.vec").write_text("the 1.5 2.0\ntext 0.5 -1.0\n")
    model, texts = str(tmp_path / "words.vec"), ListTexts(["the text", "unknown", "", "text"])
    wanted = [[1.0, 0.5], [0.0, 0.0], [np.nan, np.nan], [0.5, -1.0]]
    np.testing.assert_allclose(read(sentence_source(texts, model))[0], wanted)
    np.testing.assert_allclose(read(sentence_source(texts, model, cache=kept))[0], wanted)
    again = sentence_source(texts, model, cache=kept)
    monkeypatch.setattr(again.source.encoder, "prepare", lambda texts: pytest.fail("read again"))
    np.testing.assert_allclose(read(again)[0], wanted)


def test_the_pipeline_of_sentence_transformers(tiny_model, kept, tmp_path):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer

    torch.manual_seed(0)
    parts = [Transformer(str(tiny_model)), Pooling(32, pooling_mode="mean"), Dense(32, 8)]
    SentenceTransformer(modules=parts, device="cpu").save(str(tmp_path / "st"))
    texts = TEXTS[:6]
    plain = sentence_source(ListTexts(texts), str(tmp_path / "st"))
    wanted = read(plain)
    for turn in range(2):
        cached = sentence_source(ListTexts(texts), str(tmp_path / "st"), cache=kept)
        found = read(cached)
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-4, atol=1e-5)
        assert found[1:] == wanted[1:] and cached.note == plain.note and cached.dim == 8
        assert (cached.n_encoded, cached.n_cached) == ((3, 0) if turn == 0 else (0, 3))
    other = sentence_source(ListTexts(texts), str(tmp_path / "st"), prompt="go ", cache=kept)
    assert not np.allclose(read(other)[0][0], wanted[0][0], atol=1e-3)


def test_a_cache_that_fails_changes_nothing(encoder, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    cached = sentence_source(ListTexts(TEXTS), encoder, cache=VectorCache(tmp_path / "file"))
    wanted = read(sentence_source(ListTexts(TEXTS), encoder))[0]
    np.testing.assert_allclose(read(cached)[0], wanted, rtol=1e-4, atol=1e-5)
    assert len(cached.notes) == 1 and "switched off" in cached.notes[0]


def test_a_damaged_cache_is_built_again(encoder, kept):
    wanted = read(sentence_source(ListTexts(TEXTS), encoder, cache=kept))[0]
    for path in kept.folder.glob("vectors/*/*.rows"):
        path.write_bytes(path.read_bytes()[:-40])
    fresh = VectorCache(kept.folder)
    cached = sentence_source(ListTexts(TEXTS), encoder, cache=fresh)
    np.testing.assert_allclose(read(cached)[0], wanted, rtol=1e-4, atol=1e-5)
    assert cached.n_encoded == 5 and "damaged" in cached.notes[0]


def test_limits_and_single_texts(encoder, kept):
    cached = sentence_source(ListTexts(TEXTS), encoder, limit=4, cache=kept)
    assert isinstance(cached, CachedTexts) and len(read(cached)[0]) == 4
    with pytest.raises(ShapeError, match="at least 2"):
        read(sentence_source(ListTexts(["one"]), encoder, cache=kept))
    assert len(read(sentence_source(ListTexts(["one"]), encoder, cache=kept, least=1))[0]) == 1
    with pytest.raises(ShapeError, match="at least 1"):
        read(CachedTexts(sentence_source(ListTexts([]), encoder, least=1), kept))
