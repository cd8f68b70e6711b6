"""Files of word vectors as models with one layer: the naive numbers, unknown words, case, and odd files."""

from __future__ import annotations

import re
import struct
import unicodedata

import numpy as np
import pytest

import uncone
from uncone.encoders.rows.segmentation import find_words
from uncone.errors import ModelError, UnconeError

pytestmark = pytest.mark.usefixtures("one_thread")

DIM = 12
CLOSE = 1e-5
KNOWN = re.compile("[a-z]+|[.,!]")


@pytest.fixture(scope="module")
def table(sentences):
    """Vectors in a cone, for the lower-case words and some marks; not for numbers, nor for some words."""
    rng = np.random.default_rng(3)
    words = sorted({word for text in sentences for word in KNOWN.findall(text.lower())} - {"zebra", "river"})
    spread = np.linspace(1.5, 0.3, DIM)
    return {word: (rng.normal(size=DIM) * spread + 0.7).astype(np.float32) for word in words}


def write_text(path, table, header=False):
    lines = [f"{word} " + " ".join(repr(float(x)) for x in vector) for word, vector in table.items()]
    size = len(next(iter(table.values())))
    path.write_text("\n".join([f"{len(table)} {size}"] * header + lines) + "\n", encoding="utf-8")
    return path


def write_binary(path, table):
    size = len(next(iter(table.values())))
    rows = [word.encode() + b" " + struct.pack(f"<{size}f", *vector) + b"\n" for word, vector in table.items()]
    path.write_bytes(f"{len(table)} {size}\n".encode() + b"".join(rows))
    return path


WRITERS = {
    "glove.txt": write_text,
    "word2vec.txt": lambda path, table: write_text(path, table, header=True),
    "fasttext.vec": lambda path, table: write_text(path, table, header=True),
    "word2vec.bin": write_binary,
}


@pytest.fixture
def written(tmp_path):
    return lambda table: write_text(tmp_path / "vectors.txt", table)


def looked_up(table, word):
    """As it stands, or in small letters."""
    return next((table[form] for form in (word, word.lower()) if form in table), None)


def naive_rows(table, texts, *, cased=False, skip=lambda vector: False):
    rows, groups, names, unknown = [], [], [], 0
    for number, text in enumerate(texts):
        for start, end, _ in find_words(text):
            vector = looked_up(table, text[start:end])
            if vector is None:
                unknown += 1
            elif not skip(vector):
                rows.append(vector)
                groups.append(number)
                name = text[start:end]
                names.append(unicodedata.normalize("NFC", name if cased else name.casefold()))
    return np.array(rows, np.float64), groups, names, unknown


def check_layer(layer, rows, groups, names, measured, *, close=CLOSE):
    expected, words, sentences = measured(rows, groups, names)
    for name, value in expected.items():
        found = layer[name].value
        assert (found is None) == (value is None), name
        if value is not None:
            assert abs(found - value) <= close * max(1, abs(value)), (name, found, value)
    assert layer["baseline"].n == len(rows)
    return words, sentences


@pytest.mark.parametrize("name", WRITERS)
def test_the_naive_numbers(name, tmp_path, table, sentences, measured):
    path = WRITERS[name](tmp_path / name, table)
    study = uncone.layers(path, sentences, sentences=True)
    rows, groups, names, unknown = naive_rows(table, sentences)
    assert unknown > 20 and len(study.layers) == 1
    words, intrasim = check_layer(study[0], rows, groups, names, measured)
    assert study[0]["selfsim"].value == pytest.approx(1, abs=1e-6)
    assert study[0]["mev"].value == pytest.approx(1, abs=1e-6)
    assert study.sentences.rows.tolist() == list(intrasim)
    np.testing.assert_allclose(study.sentences.intrasim[:, 0], list(intrasim.values()), rtol=0, atol=CLOSE)
    for place, word in enumerate(study.words.words):
        if word in words:
            assert study.words.counts[place] == words[word].count
            assert study.words.contexts[place] == words[word].contexts


def test_batches_change_nothing(tmp_path, table, sentences):
    path = write_text(tmp_path / "vectors.txt", table)
    whole, small = uncone.layers(path, sentences), uncone.layers(path, sentences, batch_size=1)
    for name, finding in whole[0].findings.items():
        found = small[0][name].value
        assert found == finding.value or abs(found - finding.value) < CLOSE * max(1, abs(finding.value)), name


@pytest.mark.parametrize("pooling", ["first", "last"])
def test_a_word_is_one_token(tmp_path, table, sentences, measured, pooling):
    study = uncone.layers(
        write_text(tmp_path / "vectors.txt", table), sentences, word_pooling=pooling, window=4, stride=1
    )
    check_layer(study[0], *naive_rows(table, sentences)[:3], measured)


def test_unknown_words_are_counted(written, table, sentences):
    study = uncone.layers(written(table), sentences)
    rows, _, _, unknown = naive_rows(table, sentences)
    assert study.source["rows"] == len(rows)
    assert any(note.startswith(f"{unknown} words") and note.endswith("left out.") for note in study.notes)


def test_unknown_words_are_not_in_the_table(written, table, sentences):
    study = uncone.layers(written(table), sentences)
    assert "river" not in study.words.words
    assert (study.words.counts > 0).all()


def test_a_text_of_unknown_words_is_counted(written, table, sentences):
    study = uncone.layers(written(table), [*sentences, "xyzzy plugh", "1 2 3"])
    # "Zebra!" has a mark that is known.
    assert any(note.startswith("2 passages without any vector") for note in study.notes)


def test_the_file_may_hold_much_more(tmp_path, table, sentences, measured):
    rng = np.random.default_rng(0)
    more = {f"more{i}": rng.normal(size=DIM) for i in range(3000)}
    path = write_text(tmp_path / "vectors.txt", {**more, **table})
    check_layer(uncone.layers(path, sentences)[0], *naive_rows(table, sentences)[:3], measured)


# Case.


def test_another_case_is_looked_up(written, table, sentences, measured):
    """A text in capitals finds the words in small letters."""
    study = uncone.layers(written(table), [text.upper() for text in sentences])
    rows, groups, names, _ = naive_rows(table, [text.upper() for text in sentences])
    check_layer(study[0], rows, groups, names, measured)


def test_a_word_as_it_stands_comes_first(written, table, sentences, measured):
    other = {**table, "The": -table["the"], "MAN": table["dog"]}
    for cased in (False, True):
        study = uncone.layers(written(other), sentences, cased=cased)
        rows, groups, names, _ = naive_rows(other, sentences, cased=cased)
        check_layer(study[0], rows, groups, names, measured)
    assert study[0]["selfsim"].value == pytest.approx(1, abs=1e-6)


def test_names_are_found_in_capitals(written, table):
    other = {**table, "Paris": table["the"], "paris": table["dog"], "Rome": table["bank"]}
    study = uncone.layers(written(other), ["rome the", "Rome dog", "ROME man", "the rome", "rome ."], min_contexts=2)
    place = study.words.place("rome")
    assert study.words.counts[place] == 5 and study.words.selfsim[place, 0] == pytest.approx(1, abs=1e-6)


def test_any_case_that_the_file_has(written, table, sentences):
    other = {word: vector for word, vector in table.items() if word != "dog"} | {"DOG": table["dog"]}
    study = uncone.layers(written(other), sentences)
    assert study.words.counts[study.words.place("dog")] > 5


@pytest.mark.parametrize(
    ("in_file", "in_text"),
    [
        pytest.param("caf\u00e9", "cafe\u0301"),
        pytest.param("cafe\u0301", "caf\u00e9"),
        ("caf\u00e9", "CAF\u00c9"),
        ("straße", "Straße"),
    ],
)
def test_another_composition_is_looked_up(written, table, sentences, in_file, in_text):
    texts = [*sentences, *(f"{in_text} {word}" for word in ("the", "dog", "bank", "man", "door"))]
    study = uncone.layers(written({**table, in_file: table["the"]}), texts)
    place = study.words.place(unicodedata.normalize("NFC", in_text.casefold()))
    assert study.words.counts[place] == 5


# Other rows.


def test_tokens_are_words(written, table, sentences, measured):
    study = uncone.layers(written(table), sentences, rows="tokens")
    rows, groups, _, _ = naive_rows(table, sentences)
    names = [
        text[start:end]
        for text in sentences
        for start, end, _ in find_words(text)
        if looked_up(table, text[start:end]) is not None
    ]
    check_layer(study[0], rows, groups, names, measured)


POOLED = {
    "mean": lambda rows: rows.mean(axis=0),
    "max": lambda rows: rows.max(axis=0),
    "cls": lambda rows: rows[0],
    "last": lambda rows: rows[-1],
}


def naive_texts(table, texts, pooling):
    return np.array([POOLED[pooling](naive_rows(table, [text])[0]) for text in texts])


@pytest.mark.parametrize("pooling", POOLED)
def test_sentences(written, table, sentences, measured, pooling):
    study = uncone.layers(written(table), sentences, rows="sentences", pooling=pooling, batch_size=17)
    check_layer(study[0], naive_texts(table, sentences, pooling), list(range(len(sentences))), None, measured)


@pytest.mark.parametrize("pooling", POOLED)
@pytest.mark.parametrize("batch_size", [None, 1])
def test_a_sentence_of_unknown_words_has_no_vector(written, table, sentences, measured, pooling, batch_size):
    texts = [*sentences[:9], "xyzzy", *sentences[9:], "plugh 1 2 3"]
    study = uncone.layers(written(table), texts, rows="sentences", pooling=pooling, batch_size=batch_size)
    check_layer(study[0], naive_texts(table, sentences, pooling), list(range(len(sentences))), None, measured)
    assert study.source["rows"] == len(sentences)


def test_no_cls(written, table, sentences):
    with pytest.raises(ModelError):
        uncone.layers(written(table), sentences, rows="cls")


# Odd vectors.


def test_zero_vectors_are_left_out_of_cosines(written, table, sentences, measured):
    other = {**table, "the": np.zeros(DIM, np.float32)}
    study = uncone.layers(written(other), sentences)
    rows, groups, names, _ = naive_rows(other, sentences, skip=lambda vector: not vector.any())
    check_layer(study[0], rows, groups, names, measured)


def test_zero_vectors_are_counted(written, table, sentences):
    study = uncone.layers(written({**table, "the": np.zeros(DIM, np.float32)}), sentences)
    assert study.source["rows"] == study[0]["baseline"].n
    assert any("zero" in note for note in study.notes)


def test_the_same_vector_for_all(written, table, sentences):
    one = table["dog"]
    study = uncone.layers(written(dict.fromkeys(table, one)), sentences)
    for name in ("baseline", "selfsim", "intrasim", "intrasim_matched", "mev", "s_intra", "s_inter", "mean_over_rms"):
        assert study[0][name].value == pytest.approx(1, abs=1e-6), name
    assert study[0]["effective_rank"].value == 0
    assert study.to_json() and study.to_markdown()


def test_two_opposite_directions(written, table, sentences, measured):
    one = table["dog"]
    other = {word: one if i % 2 else -np.float32(2**0.5) * one for i, word in enumerate(table)}
    study = uncone.layers(written(other), sentences)
    rows, groups, names, _ = naive_rows(other, sentences)
    expected = measured(rows, groups, names)[0]
    # On a line, the other directions hold rounding.
    for name in ("baseline", "selfsim", "mev", "s_intra", "s_inter", "mean_over_rms", "participation_ratio"):
        assert study[0][name].value == pytest.approx(expected[name], abs=CLOSE), name
    assert study[0]["effective_rank"].value == pytest.approx(1, abs=1e-4)


def test_words_that_cancel_out(written, table):
    """The mean of such a sentence has no direction."""
    other = {"one": table["dog"], "two": -table["dog"], "three": table["bank"]}
    texts = [f"{first} {second}" for first in other for second in other]
    study = uncone.layers(written(other), texts, min_contexts=2, sentences=True)
    place = study.sentences.texts.index("one two")
    assert study.sentences.intrasim[place, 0] == 0 or np.isnan(study.sentences.intrasim[place, 0])
    assert study[0]["intrasim"].value is not None


def test_one_dimension(written, table, sentences):
    study = uncone.layers(written({word: vector[:1] for word, vector in table.items()}), sentences)
    assert study[0]["isoscore"].value is None
    assert study[0]["selfsim"].value == pytest.approx(1, abs=1e-6)


def test_more_dimensions_than_rows(written, sentences, measured):
    rng = np.random.default_rng(5)
    wide = {
        word: rng.normal(size=300).astype(np.float32) + 0.3 for word in ("the", "dog", "man", "bank", "river", "saw")
    }
    study = uncone.layers(written(wide), sentences)
    check_layer(study[0], *naive_rows(wide, sentences)[:3], measured, close=1e-4)


def test_sinks(written, table, sentences, measured):
    """A few rows of 13 times the median norm are counted, and can be left out."""
    median = np.median(np.linalg.norm(naive_rows(table, sentences)[0], axis=1))
    other = {**table, "dog": np.float32(13 * median / np.linalg.norm(table["dog"])) * table["dog"]}
    rows, groups, names, _ = naive_rows(other, sentences)
    norms = np.linalg.norm(rows, axis=1)
    long = norms > 10 * np.median(norms)
    assert 5 < long.sum() < 40
    study = uncone.layers(written(other), sentences)
    assert study[0]["sinks"].value == long.sum()
    check_layer(study[0], rows, groups, names, measured)
    without = uncone.layers(written(other), sentences, no_sinks=True)
    kept = np.flatnonzero(~long)
    check_layer(without[0], rows[kept], [groups[i] for i in kept], [names[i] for i in kept], measured)
    assert any(f"{long.sum()} at layer 0" in note for note in without.notes)


def test_a_word_twice_in_the_file(tmp_path, table, sentences, measured):
    """The first counts, as in other readers."""
    path = write_text(tmp_path / "vectors.txt", table)
    with path.open("a") as file:
        file.write("".join(f"more{i} " + " ".join(["1"] * DIM) + "\n" for i in range(20_000)))
        file.write("dog " + " ".join(["9"] * DIM) + "\n")
    check_layer(uncone.layers(path, sentences)[0], *naive_rows(table, sentences)[:3], measured)


def test_a_word_twice_close_together(tmp_path, table, sentences, measured):
    path = write_text(tmp_path / "vectors.txt", table)
    with path.open("a") as file:
        file.write("dog " + " ".join(["9"] * DIM) + "\n")
    check_layer(uncone.layers(path, sentences)[0], *naive_rows(table, sentences)[:3], measured)


@pytest.mark.parametrize(
    "value",
    ["nan", "inf", pytest.param("1e39")],
)
def test_vectors_that_are_no_numbers_are_refused(written, table, sentences, value):
    path = written(table)
    path.write_text(path.read_text().replace("dog " + repr(float(table["dog"][0])), f"dog {value}"))
    assert f"dog {value}" in path.read_text()
    with pytest.raises(UnconeError):
        uncone.layers(path, sentences)


def test_a_file_without_any_of_the_words(written, sentences):
    with pytest.raises(ModelError, match="a vector for none of"):
        uncone.layers(written({"xyzzy": np.ones(3), "plugh": np.ones(3)}), sentences)


def test_a_file_without_words(tmp_path, sentences):
    path = tmp_path / "numbers.txt"
    np.savetxt(path, np.random.default_rng(0).normal(size=(30, 5)))
    with pytest.raises(ModelError, match="numbers without words"):
        uncone.layers(path, sentences)


def test_phrases_and_numbers_as_words(tmp_path, table, sentences, measured):
    """GloVe has words with spaces in them, and numbers."""
    other = {**table, "1999": table["dog"], "3,000": table["bank"], ". . .": table["the"], "it's": table["man"]}
    study = uncone.layers(write_text(tmp_path / "vectors.txt", other), sentences)
    check_layer(study[0], *naive_rows(other, sentences)[:3], measured)
