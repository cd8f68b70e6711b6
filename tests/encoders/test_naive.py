"""Every measure of every layer equals a naive computation from stored hidden states, one sentence at a time."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest

import uncone
from uncone.encoders.words import Kind, find_words

CLOSE = 1e-5
KINDS = {"word": Kind.WORD, "number": Kind.NUMBER, "symbol": Kind.SYMBOL}
SINGLE_ROWS = ("cls", "sentences")


def naive_rows(hidden, family, texts, *, pooling="mean", kinds=tuple(KINDS), cased=False):
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


def same(value, expected):
    if expected is None:
        return value is None
    return value is not None and abs(value - expected) <= CLOSE * max(1, abs(expected))


def check_layers(study, layers, groups, names, measured, *, least=5):
    assert len(study.layers) == len(layers)
    wrong = []
    for number, rows in enumerate(layers):
        expected, table, sentences = measured(rows, groups, names, least=least)
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
            assert study.words.mev_n[place] == repeated[name].count
            assert same(study.words.mev[place, number], repeated[name].mev), (number, name)
        else:
            assert np.isnan(study.words.mev[place, number])


def check_sentences(study, number, sentences, groups):
    assert study.sentences.rows.tolist() == list(sentences)
    for place, (group, value) in enumerate(sentences.items()):
        assert study.sentences.lengths[place] == groups.count(group)
        assert same(study.sentences.intrasim[place, number], value), (number, group)


def test_words_of_every_family(family, folder, hidden, measured, sentences):
    study = uncone.layers(folder, sentences, sentences=True)
    layers, groups, names = naive_rows(hidden, family, sentences)
    check_layers(study, layers, groups, names, measured)
    assert list(study.sentences.texts) == [sentences[i] for i in study.sentences.rows]
