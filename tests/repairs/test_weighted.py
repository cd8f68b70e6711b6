"""SIF and Zipfian whitening against plain numpy, on word vectors, on tokens of a model, and on the command line."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from commands import refused, run

import uncone
from uncone.analysis.frequency.sources import counts_from, word_shares
from uncone.encoders.encoder import Window
from uncone.encoders.open import open_encoder
from uncone.evaluation.methods import Fits, level_for, parse_methods
from uncone.evaluation.spaces import Settings, open_spaces
from uncone.repairs.registry import make
from uncone.repairs.saving import load
from uncone.repairs.spectral import Whiten
from uncone.repairs.weighted import Sif, Zipf

VOCABULARY = ["the", "of", "cat", "dog", "tree", "rain", "snow", "car", "boat", "bird", "fish", "unused"]


@pytest.fixture
def words(tmp_path):
    """Word vectors in a file with a strong common direction, and texts in which words follow Zipf's law."""
    rng = np.random.default_rng(1)
    table = rng.normal(size=(12, 4)) * [3, 2, 1, 0.5] + [4, 0, 0, 0]
    lines = [f"{name} {' '.join(map(repr, row.tolist()))}" for name, row in zip(VOCABULARY, table, strict=True)]
    Path("words.vec").write_text("12 4\n" + "\n".join(lines) + "\n")
    shares = 1 / np.arange(1, 12)
    drawn = [rng.choice(VOCABULARY[:-1], size=int(rng.integers(2, 9)), p=shares / shares.sum()) for _ in range(300)]
    texts = list(dict.fromkeys(" ".join(row) for row in drawn))
    Path("texts.txt").write_text("\n".join(texts) + "\n")
    return dict(zip(VOCABULARY, table, strict=True)), texts


def by_hand(vectors, texts, a):
    """Arora et al. 2017, as a loop over texts and words: the weighted means without their first singular vector."""
    counts = Counter(word for text in texts for word in text.split())
    total = sum(counts.values())
    means = np.array(
        [
            sum(a / (a + counts[word] / total) * vectors[word] for word in text.split()) / len(text.split())
            for text in texts
        ]
    )
    direction = np.linalg.svd(means, full_matrices=False)[2][0]
    return means - np.outer(means @ direction, direction)


@pytest.mark.parametrize("a", [1e-3, 0.5])
def test_sif_on_word_vectors(words, a):
    vectors, texts = words
    fixed = uncone.fix("texts.txt", "sif", model="words.vec", a=a, save="sif")
    assert fixed.provenance["level"] == "token"
    found, expected = uncone.apply("sif", texts, model="words.vec"), by_hand(vectors, texts, a)
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def test_sif_on_the_tokens_of_a_model(tiny_model):
    texts = [f"the text {i}, go to school {i % 7} and the rain" for i in range(80)]
    encoder, a = open_encoder(tiny_model), 0.01
    passages = [windows[0] for windows in encoder.passages(texts, Window(cut=True))]
    counts = Counter(token for own in passages for token in np.array(own.tokens)[~own.special].tolist())
    total = sum(counts.values())
    weighed = []
    for own in passages:
        states = encoder.encode([own])
        each = states.pooled(encoder.layers - 1, np.arange(own.length), np.arange(own.length)).astype(np.float64)
        kept = [(token, row) for token, row, extra in zip(own.tokens, each, own.special, strict=True) if not extra]
        weighed.append(np.mean([a / (a + counts[token] / total) * row for token, row in kept], axis=0))
    means = np.array(weighed)
    direction = np.linalg.svd(means)[2][0]
    expected = means - np.outer(means @ direction, direction)
    uncone.fix(texts, "sif", model=tiny_model, a=a, layer=-1, pooling="mean", save="sif")
    found = uncone.apply("sif", texts, model=tiny_model)
    scale = np.abs(means).max()
    np.testing.assert_allclose(found, expected, atol=2e-5 * scale)
    # In an evaluation the tokens come from a table in memory.
    (space,) = open_spaces(tiny_model, texts, Settings(layer=-1, pooling="mean", level="token"))
    (method,) = parse_methods(f"sif:a={a}")
    repair = Fits(space, tiny_model, Settings(level="token"), texts).repair(method, 0, [], "")
    np.testing.assert_allclose(space.vectors(texts, repair), expected, atol=2e-5 * scale)


def zipfian(rows, shares):
    """Yokoi et al. 2024: a map that gives mean 0 and covariance 1 under these shares."""
    mean = shares @ rows
    values, vectors = np.linalg.eigh(
        sum(p * np.outer(row - mean, row - mean) for p, row in zip(shares, rows, strict=True))
    )
    return ((rows - mean) @ vectors / np.sqrt(values))[:, ::-1]


def close_up_to_sign(found, expected, rtol=1e-6):
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found, expected * signs, atol=rtol * np.abs(expected).max())


@pytest.mark.parametrize("frequencies", ["texts.txt", "counts.csv"])
def test_zipf_on_word_vectors(words, frequencies):
    vectors, texts = words
    counts = Counter(word for text in texts for word in text.split())
    lines = [f"{word},{n}" for word, n in counts.items()]
    Path("counts.csv").write_text("\n".join(["word,count", *lines]) + "\n")
    shares = np.array([counts[word] for word in VOCABULARY], np.float64)
    rows = np.array(list(vectors.values()))
    uncone.fix("words.vec", "zipf", frequencies=frequencies, out="fixed.vec", save="zipf")
    written = [line.split() for line in Path("fixed.vec").read_text().splitlines()[1:]]
    assert [line[0] for line in written] == VOCABULARY
    expected = zipfian(rows, shares / shares.sum())
    close_up_to_sign(load("zipf").repair.transform(rows), expected)
    close_up_to_sign(np.array([line[1:] for line in written], np.float64), expected, 1e-5)


def test_zipf_on_tokens_is_zipf_on_words(words):
    """The tokens of texts come as often as they occur: the mean of a text is the same by both routes."""
    vectors, texts = words
    counts = Counter(word for text in texts for word in text.split())
    shares = np.array([counts[word] for word in VOCABULARY], np.float64)
    whitened = dict(zip(VOCABULARY, zipfian(np.array(list(vectors.values())), shares / shares.sum()), strict=True))
    uncone.fix("texts.txt", "zipf", model="words.vec", save="zipf")
    found = uncone.apply("zipf", texts, model="words.vec")
    expected = np.array([np.mean([whitened[word] for word in text.split()], axis=0) for text in texts])
    close_up_to_sign(found, expected, 1e-5)


def test_weights_are_repetitions(cone):
    rows = cone(60, 5).astype(np.float64)
    counts = np.random.default_rng(2).integers(0, 6, len(rows))
    n = counts.sum()
    repeated = Whiten(shrinkage=None).fit(np.repeat(rows, counts, axis=0)).transform(rows) * np.sqrt(n / (n - 1))
    close_up_to_sign(Zipf().fit(rows, sample_weight=counts).transform(rows), repeated, 1e-9)


def test_a_table_teaches_sif_its_direction(cone):
    rows = cone(50, 6).astype(np.float64)
    direction = np.linalg.svd(rows)[2][0]
    model = Sif().fit(rows)
    np.testing.assert_allclose(model.transform(rows), rows - np.outer(rows @ direction, direction), atol=1e-9)
    assert not model.has_weights and model.token_weight("any") == 1.0


def test_words_count_for_the_name_they_are_looked_up_by():
    shares, missing = word_shares(["the", "Bank", "US"], {"The": 2, "the": 3, "bank": 4, "us": 1, "US": 5, "none": 5})
    np.testing.assert_allclose(shares, [0.25, 0.2, 0.3])
    assert missing == pytest.approx(0.25)
    assert counts_from("order", ["b", "a", "c"]) == {"b": 1.0, "a": 0.5, "c": 1 / 3}


def test_the_level_follows_the_method():
    assert level_for("raw,whiten") == level_for(None) == "sentence"
    assert level_for("raw,sif") == level_for("zipf+droptop") == "token"


def test_evaluation_on_the_command_line(words, capfd):
    rng = np.random.default_rng(0)
    texts = words[1]
    pairs = [f"{texts[i]},{texts[-i - 1]},{rng.integers(0, 6)}" for i in range(40)]
    Path("pairs.csv").write_text("\n".join(["sentence1,sentence2,score", *pairs]) + "\n")
    listed = ["--methods", "raw,sif,zipf", "--fit-on", "texts.txt", "--replicates", "20", "--no-html", "--json", "-"]
    assert run("evaluate", "words.vec", "--dataset", "pairs.csv", *listed) == 0
    rows = json.loads(capfd.readouterr().out)["rows"]
    assert [row["method"]["name"] for row in rows] == ["raw", "sif", "zipf"]
    assert {row["method"]["level"] for row in rows} == {"token"}
    assert all(row["average"] is not None for row in rows)


def test_bad_input(words, tmp_path, capfd):
    np.save("rows.npy", np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32))
    Path("bad.csv").write_text("word,count\nthe,3\ncat,-1\n")
    Path("other.txt").write_text("όμορφα λόγια\n")
    texts = ["fix", "texts.txt", "--model", "words.vec", "--method"]
    vectors = ["fix", "words.vec", "--method"]
    cases = {
        ("fix", "rows.npy", "--method", "sif"): "weighs tokens before they are pooled.*--level token",
        ("fix", "rows.npy", "--method", "zipf"): "how often words occur.*--frequencies",
        ("fix", "rows.npy", "--method", "zipf", "--frequencies", "texts.txt"): "no words beside its vectors",
        (*vectors, "sif"): "weighs tokens",
        (*vectors, "zipf"): "--frequencies",
        (*vectors, "zipf", "--frequencies", "none.txt"): "none.txt",
        (*vectors, "zipf", "--frequencies", "bad.csv"): "line 3: a count of '-1'",
        (*vectors, "zipf", "--frequencies", "other.txt"): "no word of other.txt",
        (*vectors, "zipf,droptop", "--frequencies", "texts.txt"): "zipf or sif alone",
        (*texts, "sif", "--level", "sentence"): "Add --level token",
        (*texts, "sif", "--pooling", "max"): "Use --pooling mean",
        (*texts, "sif", "--a", "0"): "a is a number above 0",
        (*texts, "center,sif"): "Use it alone",
        (*texts, "zipf", "--frequencies", "texts.txt"): "leave --frequencies out",
        (*texts, "center", "--a", "1"): "does not take 'a'",
    }
    for arguments, message in cases.items():
        assert re.search(message, refused(tmp_path, capfd, *arguments, "--save", "never")), arguments
    assert run(*texts, "sif", "--save", "sif", "--no-html") == 0
    for arguments, message in {
        ("apply", "sif", "rows.npy", "-o", "out.npy"): "weighs the tokens of texts",
        ("export", "sif", "--to", "numpy", "-o", "plain"): "no numpy export holds",
        ("check", "rows.npy", "--repair", "sif"): "weighs the tokens of texts",
        ("map", "texts.txt", "--model", "words.vec", "--rows", "tokens", "--repair", "sif"): "weighs",
    }.items():
        assert message in refused(tmp_path, capfd, *arguments), arguments
    with pytest.raises(uncone.errors.OptionError, match="Use it alone"):
        make("sif,normalize")


@pytest.mark.exhaustive
def test_the_table_of_the_documentation(real_data):
    """STS-B test, Spearman x 100, with the input embeddings of bert-mini as word vectors (docs/fix.md)."""
    names, table = open_encoder(real_data.parent / "models" / "bert-mini").input_table()
    rows = [(name, row) for name, row in zip(names, table, strict=True) if not name.startswith("##")]
    lines = [f"{name} {' '.join(f'{value:.6g}' for value in row)}" for name, row in rows]
    Path("mini.vec").write_text("\n".join([f"{len(rows)} {table.shape[1]}", *lines]) + "\n")
    train = (real_data / "sts" / "stsb-train.tsv").read_text().splitlines()[:4000]
    Path("fit.txt").write_text("\n".join(line.split("\t")[1] for line in train) + "\n")
    uncone.fix("mini.vec", "whiten", out="uniform.vec")
    methods = {"methods": "raw,droptop:k=1,zipf,sif", "fit_on": "fit.txt", "level": "token", "data": real_data}
    scores = [row.average for row in uncone.evaluate("mini.vec", "stsb", replicates=10, **methods).table.rows]
    scores += [uncone.evaluate("uniform.vec", "stsb", "raw", replicates=10, data=real_data).table.rows[0].average]
    np.testing.assert_allclose(100 * np.array(scores), [46.1, 53.1, 63.6, 63.4, 22.7], atol=0.15)
