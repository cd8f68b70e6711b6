"""Every measure of every layer equals a naive computation from stored hidden states, one sentence at a time."""

from __future__ import annotations

import json
import unicodedata

import numpy as np
import pytest
from transformers import AutoTokenizer

import uncone
from uncone.data.texts.texts import open_texts
from uncone.encoders.open import sentence_source
from uncone.encoders.rows.segmentation import Kind, find_words
from uncone.errors import ModelError

pytestmark = pytest.mark.usefixtures("one_thread")

CLOSE = 1e-5
KINDS = {"word": Kind.WORD, "number": Kind.NUMBER, "symbol": Kind.SYMBOL}
POOLED = {
    "mean": lambda states: states.mean(axis=1),
    "max": lambda states: states.max(axis=1),
    "cls": lambda states: states[:, 0],
    "last": lambda states: states[:, -1],
}
EVERY = ("bert", "gpt2", "roberta", "t5", "llama", "distilbert")


def naive_words(hidden, family, texts, *, pooling="mean", kinds=tuple(KINDS), cased=False):
    """The words of the texts: their vectors (layers, n, d), sentences and names."""
    vectors, groups, names = [], [], []
    for number, text in enumerate(texts):
        seen = hidden(family, text)
        for start, end, kind in find_words(text):
            if kind not in [KINDS[name] for name in kinds]:
                continue
            bag = []
            for token, (left, right) in enumerate(seen.offsets):
                if not seen.special[token] and max(left, start) < min(right, end):
                    bag.append(token)
            if not bag:
                continue
            bag = {"mean": bag, "first": bag[:1], "last": bag[-1:]}[pooling]
            vectors.append(seen.states[:, bag].mean(axis=1))
            groups.append(number)
            name = text[start:end]
            names.append(unicodedata.normalize("NFC", name if cased else name.casefold()))
    return np.stack(vectors, axis=1), groups, names


def naive_tokens(hidden, family, texts, *, special=False):
    vectors, groups, names = [], [], []
    for number, text in enumerate(texts):
        seen = hidden(family, text)
        for token, (left, right) in enumerate(seen.offsets):
            if (seen.special[token] and special) or (not seen.special[token] and right > left):
                vectors.append(seen.states[:, token])
                groups.append(number)
                names.append(seen.names[token])
    return np.stack(vectors, axis=1), groups, names


def naive_texts(hidden, family, texts, pooling, *, special=True):
    found = []
    for text in texts:
        seen = hidden(family, text)
        kept = [i for i in range(len(seen.ids)) if special or not seen.special[i]]
        found.append(POOLED[pooling](seen.states[:, kept]))
    return np.stack(found, axis=1)


def same(value, expected):
    if expected is None:
        return value is None
    return value is not None and abs(value - expected) <= CLOSE * max(1, abs(expected))


def check_layers(study, layers, groups, names, measured, *, least=5, first=0, texts=None):
    assert len(study.layers) == len(layers)
    assert study.source["rows"] == len(groups)
    wrong = []
    for number, rows in list(enumerate(layers))[first:]:
        expected, table, sentences = measured(rows, groups, names, least=least, texts=texts)
        for name, value in expected.items():
            finding = study[number][name]
            if not same(finding.value, value):
                wrong.append(f"layer {number} {name}: {finding.value} instead of {value}")
        assert study[number]["baseline"].n == len(groups)
        if names is not None:
            check_words(study, number, table)
            if study.sentences is not None:
                check_sentences(study, number, sentences, groups)
    assert not wrong, "\n".join(wrong)


def check_words(study, number, table):
    repeated = {name: one for name, one in table.items() if one.count > 1}
    order = sorted(repeated, key=lambda name: (-repeated[name].count, name))
    assert list(study.words.words) == order
    assert study.words.counts.tolist() == [repeated[name].count for name in order]
    assert study.words.contexts.tolist() == [repeated[name].contexts for name in order]
    for place, name in enumerate(order):
        found = study.words.selfsim[place, number]
        assert same(None if np.isnan(found) else found, repeated[name].selfsim), (number, name)
        if study.words.mev_n[place]:
            assert study.words.mev_n[place] == repeated[name].distinct
            assert same(study.words.mev[place, number], repeated[name].mev), (number, name)
        else:
            assert np.isnan(study.words.mev[place, number])


def check_sentences(study, number, sentences, groups):
    assert study.sentences.rows.tolist() == list(sentences)
    for place, (group, value) in enumerate(sentences.items()):
        assert study.sentences.lengths[place] == groups.count(group)
        assert same(study.sentences.intrasim[place, number], value), (number, group)


def values_of(study):
    return {(one.number, name): found.value for one in study.layers for name, found in one.findings.items()}


def assert_same_studies(study, other):
    found, wanted = values_of(study), values_of(other)
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        if isinstance(value, float):
            assert same(found[key], value), (key, found[key], value)
        else:
            assert found[key] == value, key
    if other.words is not None:
        assert list(study.words.words) == list(other.words.words)
        np.testing.assert_allclose(study.words.selfsim, other.words.selfsim, rtol=0, atol=CLOSE)
        np.testing.assert_allclose(study.words.mev, other.words.mev, rtol=0, atol=CLOSE)


# Words.


def test_words(family, folder, hidden, measured, sentences):
    study = uncone.layers(folder, sentences, sentences=True)
    layers, groups, names = naive_words(hidden, family, sentences)
    check_layers(study, layers, groups, names, measured)
    assert list(study.sentences.texts) == [sentences[i] for i in study.sentences.rows]
    assert study.source["texts"] == len(sentences)


def test_the_texts_are_a_test(hidden, measured, sentences):
    """Subwords, repeated words, single words, one-word sentences, and measures that differ from layer to layer."""
    layers, groups, names = naive_words(hidden, "bert", sentences)
    counts = {name: names.count(name) for name in names}
    assert sum(count == 1 for count in counts.values()) > 20
    assert any(len({groups[i] for i, n in enumerate(names) if n == name}) < counts[name] for name in counts)
    assert any(groups.count(group) == 1 for group in groups) or any(groups.count(group) == 2 for group in groups)
    curves = [measured(rows, groups, names)[0] for rows in layers]
    for name in ("baseline", "selfsim", "intrasim", "mev", "s_inter", "participation_ratio"):
        assert np.ptp([curve[name] for curve in curves]) > 0.05, name


@pytest.mark.parametrize("pooling", ["first", "last"])
@pytest.mark.parametrize("family", ["bert", "roberta", "llama"], scope="session")
def test_one_subword_stands_for_a_word(family, folder_of, hidden, measured, sentences, pooling):
    study = uncone.layers(folder_of(family), sentences, word_pooling=pooling)
    check_layers(study, *naive_words(hidden, family, sentences, pooling=pooling), measured)


def test_cased_words(folder_of, hidden, measured, sentences):
    study = uncone.layers(folder_of("gpt2"), sentences, cased=True, min_contexts=3)
    layers, groups, names = naive_words(hidden, "gpt2", sentences, cased=True)
    assert {"The", "the", "Bank", "BANK"} <= set(names)
    check_layers(study, layers, groups, names, measured, least=3)


@pytest.mark.parametrize("kinds", ["word", "number", "symbol", "word,number"])
def test_some_kinds_of_words(folder_of, hidden, measured, sentences, kinds):
    study = uncone.layers(folder_of("t5"), sentences, kinds=kinds, min_contexts=2)
    layers, groups, names = naive_words(hidden, "t5", sentences, kinds=kinds.split(","))
    if len(groups) > 40:
        check_layers(study, layers, groups, names, measured, least=2)
    else:
        assert study.source["rows"] == len(groups)
        expected = [measured(rows, groups, names, least=2)[0] for rows in layers]
        for name in ("baseline", "selfsim", "intrasim", "s_inter", "norm_mean", "participation_ratio"):
            assert all(same(one, curve[name]) for one, curve in zip(study.curve(name), expected, strict=True)), name


def test_duplicates(folder_of, hidden, measured, sentences):
    texts = [text for text in sentences[:30] for _ in range(1 + len(text) % 3)] + ["  " + sentences[0] + "\n", "", " "]
    without = uncone.layers(folder_of("bert"), texts, sentences=True)
    check_layers(without, *naive_words(hidden, "bert", sentences[:30]), measured)
    assert any("exact duplicates" in note for note in without.notes)
    assert any("2 blank texts" in note for note in without.notes)
    stripped = [text.strip() for text in texts if text.strip()]
    kept = uncone.layers(folder_of("bert"), texts, keep_duplicates=True, sentences=True)
    check_layers(kept, *naive_words(hidden, "bert", stripped), measured, texts=stripped)
    assert kept[2]["selfsim"].value > without[2]["selfsim"].value


def test_a_seeded_sample_of_words_for_mev(folder_of, hidden, measured, sentences):
    study = uncone.layers(folder_of("bert"), sentences, mev_words=7)
    layers, groups, names = naive_words(hidden, "bert", sentences)
    drawn = np.flatnonzero(study.words.mev_n)
    assert len(drawn) == 7 and (study.words.contexts[drawn] >= 5).all()
    for number, rows in enumerate(layers):
        table = measured(rows, groups, names)[1]
        expected = np.mean([table[study.words.words[i]].mev for i in drawn])
        assert same(study[number]["mev"].value, expected)


def test_words_that_were_asked_for(folder_of, hidden, measured, sentences):
    study = uncone.layers(folder_of("bert"), sentences, words=("Zebra", "BANK", "nowhere"))
    layers, groups, names = naive_words(hidden, "bert", sentences)
    table = measured(layers[1], groups, names)[1]
    assert study.words.user_words == ("zebra", "bank")
    assert "Not in the texts: nowhere." in study.notes
    bank, zebra = study.words.place("bank"), study.words.place("zebra")
    assert same(study.words.mev[bank, 1], table["bank"].mev)
    assert study.words.counts[zebra] == 1 and np.isnan(study.words.selfsim[zebra, 1])


def test_asking_for_words_changes_no_curve(folder_of, sentences):
    plain = uncone.layers(folder_of("bert"), sentences)
    asked = uncone.layers(folder_of("bert"), sentences, words=("the", "zebra"))
    for name in ("selfsim", "s_intra", "s_inter", "intrasim", "mev"):
        assert np.allclose(plain.curve(name), asked.curve(name), atol=1e-9), name


def test_a_word_asked_for_in_another_composition_is_not_called_missing(folder_of, sentences):
    study = uncone.layers(folder_of("bert"), [*sentences, "caf\u00e9"], words=("cafe\u0301",))
    assert study.words.user_words == ("caf\u00e9",)
    assert not any(note.startswith("Not in the texts") for note in study.notes)


def test_a_word_asked_for_in_another_case_is_missing_when_words_are_cased(folder_of, sentences):
    study = uncone.layers(folder_of("bert"), sentences, words=("ZEBRA", "Zebra"), cased=True)
    assert "Not in the texts: ZEBRA." in study.notes


# What chance gives: only its expectation is known.


def test_matched_baselines_are_those_of_random_words(folder_of, hidden, measured, sentences):
    short = [text for text in sentences if len(find_words(text)) <= 12]
    study = uncone.layers(folder_of("t5"), short)
    layers, groups, names = naive_words(hidden, "t5", short)
    groups = np.array(groups)
    rng = np.random.default_rng(1)
    lengths = [int((groups == group).sum()) for group in np.unique(groups)]
    for number, rows in enumerate(layers):
        found = []
        for n in [length for length in lengths if length > 1] * 20:
            chosen = []
            while len(chosen) < n:
                one = rng.integers(len(rows))
                if groups[one] not in groups[chosen]:
                    chosen.append(one)
            mean = rows[chosen].mean(axis=0)
            each = rows[chosen] @ mean / np.linalg.norm(rows[chosen], axis=1) / np.linalg.norm(mean)
            found.append(each.mean())
        assert study[number]["intrasim_matched"].value == pytest.approx(np.mean(found), abs=0.03)
        difference = study[number]["intrasim"].value - study[number]["intrasim_matched"].value
        assert study[number]["intrasim_adjusted_matched"].value == pytest.approx(difference, abs=1e-9)
        table = measured(rows, groups.tolist(), names)[1]
        shares = []
        for size in [one.count for one in table.values() if one.contexts >= 5] * 10:
            chosen = {}
            for one in rng.permutation(len(rows)):
                if len(chosen) < size:
                    chosen.setdefault(names[one], one)
            strengths = np.linalg.svd(rows[list(chosen.values())], compute_uv=False) ** 2
            shares.append(strengths[0] / strengths.sum())
        assert study[number]["mev_matched"].value == pytest.approx(np.mean(shares), abs=0.05)


# Other rows.


def test_tokens(family, folder, hidden, measured, sentences):
    study = uncone.layers(folder, sentences, rows="tokens", sentences=True)
    check_layers(study, *naive_tokens(hidden, family, sentences), measured)


@pytest.mark.parametrize("family", ["bert", "t5"], scope="session")
def test_tokens_with_the_special_ones(family, folder_of, hidden, measured, sentences):
    study = uncone.layers(folder_of(family), sentences, rows="tokens", special=True)
    check_layers(study, *naive_tokens(hidden, family, sentences, special=True), measured)


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"], scope="session")
def test_cls(family, folder_of, hidden, measured, sentences):
    study = uncone.layers(folder_of(family), sentences, rows="cls")
    layers = naive_texts(hidden, family, sentences, "cls")
    # At layer 0 it is the same vector everywhere.
    check_layers(study, layers, list(range(len(sentences))), None, measured, first=1)
    assert study[0]["baseline"].value == pytest.approx(1, abs=1e-6)
    assert study[0]["effective_rank"].value == 0
    assert study.words is None and study.sentences is None


def test_the_first_token_of_a_causal_model_knows_no_context(folder_of, sentences):
    study = uncone.layers(folder_of("llama"), sentences, rows="cls", batch_size=7)
    assert study.curve("baseline") == pytest.approx([1, 1, 1, 1], abs=1e-6)
    assert study.curve("effective_rank") == [0, 0, 0, 0]


@pytest.mark.parametrize("family", ["gpt2", "t5"], scope="session")
def test_no_cls_where_there_is_none(family, folder_of, sentences):
    with pytest.raises(ModelError, match="no special token in front"):
        uncone.layers(folder_of(family), sentences, rows="cls")


@pytest.mark.parametrize(
    ("family", "pooling"),
    [*((family, "mean") for family in EVERY), ("bert", "max"), ("gpt2", "last"), ("gpt2", "max"), ("t5", "cls")],
)
def test_sentences(family, pooling, folder_of, hidden, measured, sentences):
    study = uncone.layers(folder_of(family), sentences, rows="sentences", pooling=pooling)
    layers = naive_texts(hidden, family, sentences, pooling)
    check_layers(study, layers, list(range(len(sentences))), None, measured)


@pytest.mark.parametrize(
    ("family", "pooling"), [("bert", "mean"), ("bert", "max"), ("roberta", "last"), ("t5", "mean")]
)
def test_sentences_without_special_tokens(family, pooling, folder_of, hidden, measured, sentences):
    study = uncone.layers(folder_of(family), sentences, rows="sentences", pooling=pooling, special=False)
    layers = naive_texts(hidden, family, sentences, pooling, special=False)
    check_layers(study, layers, list(range(len(sentences))), None, measured)


def test_fewer_texts_than_half_the_dimensions(folder_of, hidden, measured, sentences):
    study = uncone.layers(folder_of("bert"), sentences[:12], rows="sentences")
    check_layers(study, naive_texts(hidden, "bert", sentences[:12], "mean"), list(range(12)), None, measured)


# How the work is cut up changes nothing.


@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("bert", {"batch_size": 1}),
        ("gpt2", {"batch_size": 7}),
        ("t5", {"batch_size": 2}),
        ("llama", {"batch_size": 1}),
        ("bert", {"memory": "570MB"}),
        ("roberta", {"memory": "570MB", "batch_size": 5}),
    ],
)
def test_batches_and_memory(family, folder_of, sentences, options):
    many = [*sentences, "the dog and the bank " * 9, "Nothing but the light of the river at the door. " * 5]
    whole = uncone.layers(folder_of(family), many)
    assert_same_studies(uncone.layers(folder_of(family), many, **options), whole)


def test_little_memory_draws_fewer_words_for_mev_but_not_the_most_frequent(folder_of, sentences):
    study = uncone.layers(folder_of("bert"), sentences * 20, memory="564MB", keep_duplicates=True)
    enough, drawn = (study.words.contexts >= 5).sum(), np.flatnonzero(study.words.mev_n)
    assert len(drawn) > 0
    assert len(drawn) == enough or any("MEV" in note for note in study.notes)
    assert len(drawn) == enough or drawn.max() >= len(drawn)


@pytest.mark.parametrize(
    "options", [{"rows": "tokens"}, {"rows": "sentences"}, {"rows": "sentences", "pooling": "max"}]
)
def test_batches_of_other_rows(folder_of, sentences, options):
    whole = uncone.layers(folder_of("roberta"), sentences, **options)
    assert_same_studies(uncone.layers(folder_of("roberta"), sentences, batch_size=3, **options), whole)


def test_small_batches_of_tokens(folder_of, sentences, monkeypatch):
    from uncone.run import memory

    whole = uncone.layers(folder_of("roberta"), sentences)
    monkeypatch.setattr(memory, "TOKENS", 70)
    small = uncone.layers(folder_of("roberta"), sentences)
    assert small.provenance["batch_tokens"] == 70
    assert_same_studies(small, whole)


def test_small_pools_of_texts(folder_of, sentences, monkeypatch):
    from uncone.encoders import survey
    from uncone.encoders.batching import pools
    from uncone.run import layers

    whole = uncone.layers(folder_of("bert"), sentences)
    for module in (survey, layers):
        monkeypatch.setattr(module, "pools", lambda units, first: pools(units, 7, 3))
    assert_same_studies(uncone.layers(folder_of("bert"), sentences), whole)


def test_one_after_another(folder_of, sentences):
    """The tokenizer remembers how it was told to cut."""
    from uncone.encoders.open import open_encoder

    encoder = open_encoder(folder_of("bert"))
    whole = uncone.layers(encoder, sentences)
    uncone.layers(encoder, sentences, window=6, stride=2)
    uncone.layers(encoder, sentences, rows="sentences", window=5)
    assert_same_studies(uncone.layers(encoder, sentences), whole)


# Padding: its id is masked, so any id that the model has will do.


def test_a_config_with_a_negative_pad_id(changed, folder_of, sentences):
    other = uncone.layers(changed("llama", pad_token_id=-1), sentences)
    assert_same_studies(other, uncone.layers(folder_of("llama"), sentences))


def test_a_pad_token_that_the_model_does_not_have(changed, folder_of, sentences):
    folder = changed("gpt2")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"pad_token": "[PAD]"})
    tokenizer.save_pretrained(folder)
    assert_same_studies(uncone.layers(folder, sentences), uncone.layers(folder_of("gpt2"), sentences))


# Texts without tokens.


def test_words_that_the_tokenizer_drops_are_left_out(folder_of, hidden, measured, sentences):
    texts = [*sentences, "日本", "the dog 日本", "ไทย dog 日本 bank"]
    study = uncone.layers(folder_of("forgetful"), texts, batch_size=1)
    layers, groups, names = naive_words(hidden, "forgetful", texts)
    for number, rows in enumerate(layers):
        expected = measured(rows, groups, names)[0]
        assert study[number]["baseline"].n == len(groups)
        for name in ("baseline", "selfsim", "intrasim", "mev", "s_inter", "norm_mean", "participation_ratio"):
            assert same(study[number][name].value, expected[name]), (number, name)


def test_words_that_the_tokenizer_drops_are_counted(folder_of, sentences):
    texts = [*sentences, "日本", "the dog 日本", "ไทย dog 日本 bank"]
    study = uncone.layers(folder_of("forgetful"), texts)
    assert study.source["rows"] == study[0]["baseline"].n
    assert any("left out" in note and "7 words" in note for note in study.notes)


def test_texts_without_tokens_and_without_sinks(folder_of, sentences):
    texts = ["日本", *sentences]
    plain = uncone.layers(folder_of("forgetful"), texts)
    assert_same_studies(uncone.layers(folder_of("forgetful"), texts, no_sinks=True, batch_size=1), plain)


@pytest.mark.parametrize("pooling", ["mean", "max", "cls", "last"])
@pytest.mark.parametrize("batch_size", [None, 1])
def test_a_text_without_tokens_has_no_vector(folder_of, hidden, measured, sentences, pooling, batch_size):
    texts = ["日本", *sentences[:20], "ไทย", *sentences[20:]]
    study = uncone.layers(folder_of("forgetful"), texts, rows="sentences", pooling=pooling, batch_size=batch_size)
    layers = naive_texts(hidden, "forgetful", sentences, pooling)
    check_layers(study, layers, list(range(len(sentences))), None, measured)


def test_texts_of_nothing_but_special_tokens_keep_them(folder_of, hidden, measured, sentences):
    texts = [*sentences[:20], "\u200b", "\u200b\u200b", *sentences[20:]]
    study = uncone.layers(folder_of("bert"), texts, rows="sentences", special=False)
    bare = [text for text in texts if text.strip("\u200b")]
    layers = naive_texts(hidden, "bert", bare, "mean", special=False)
    alone = naive_texts(hidden, "bert", ["\u200b"], "mean")
    layers = np.concatenate([layers[:, :20], alone, alone, layers[:, 20:]], axis=1)
    check_layers(study, layers, list(range(len(texts))), None, measured)


# One vector per text, as `check` wants them.


@pytest.mark.parametrize("pooling", ["mean", "max", "cls", "last"])
@pytest.mark.parametrize("family", ["bert", "gpt2"], scope="session")
def test_vectors_of_texts(family, folder_of, hidden, sentences, pooling):
    source = sentence_source(open_texts(sentences), folder_of(family), layer="1,-1", pooling=pooling, batch_size=16)
    found = np.concatenate([rows.vectors for rows in source.read()])
    layers = naive_texts(hidden, family, sentences, pooling)
    np.testing.assert_allclose(found, (layers[1] + layers[-1]) / 2, rtol=0, atol=CLOSE)


def test_vectors_of_blank_texts_and_of_texts_without_tokens(folder_of, hidden, sentences):
    texts = [sentences[0], " ", "日本", sentences[1]]
    source = sentence_source(open_texts(texts), folder_of("forgetful"), layer=0)
    found = np.concatenate([rows.vectors for rows in source.read()])
    expected = naive_texts(hidden, "forgetful", [sentences[0], sentences[1]], "mean")[0]
    np.testing.assert_allclose(found[[0, 3]], expected, rtol=0, atol=CLOSE)
    assert np.isnan(found[1]).all() and (found[2] == 0).all()


def test_vectors_by_the_recipe_of_a_folder(changed, hidden, sentences):
    folder = changed("bert")
    kinds = ["Transformer", "Pooling", "Normalize"]
    modules = [
        {"idx": i, "path": f"{i}", "type": f"sentence_transformers.models.{kind}"} for i, kind in enumerate(kinds)
    ]
    modules[0]["path"] = ""
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1").mkdir()
    (folder / "1" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 100}))
    found = np.concatenate([rows.vectors for rows in sentence_source(open_texts(sentences), folder).read()])
    expected = naive_texts(hidden, "bert", sentences, "cls")[-1]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=0, atol=CLOSE)
    plain = np.concatenate([rows.vectors for rows in sentence_source(open_texts(sentences), folder, layer=1).read()])
    np.testing.assert_allclose(plain, naive_texts(hidden, "bert", sentences, "mean")[1], rtol=0, atol=CLOSE)


def test_a_prompt_is_part_of_the_text(folder_of, hidden, sentences):
    source = sentence_source(open_texts(sentences), folder_of("llama"), prompt="query: ")
    found = np.concatenate([rows.vectors for rows in source.read()])
    expected = naive_texts(hidden, "llama", [f"query: {text}" for text in sentences], "mean")[-1]
    np.testing.assert_allclose(found, expected, rtol=0, atol=CLOSE)
