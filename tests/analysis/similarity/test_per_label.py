"""The table per label against double loops, and its intervals against many fresh tables."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from uncone.analysis.cosine.units import units_of
from uncone.analysis.similarity import label_sums
from uncone.analysis.similarity.per_label import label_auc, per_label
from uncone.errors import OptionError, ShapeError


def table_of(n=90, d=6, seed=0, mean=0.5):
    rng = np.random.default_rng(seed)
    return units_of(rng.normal(size=(n, d)) + mean)[0]


def naive(units, labels):
    """The cosines of every two rows by a double loop, by the labels of both."""
    wide = units.astype(np.float64)
    found = {}
    for i, j in combinations(range(len(wide)), 2):
        if labels[i] is not None and labels[j] is not None:
            found.setdefault(frozenset((labels[i], labels[j])), []).append(float(wide[i] @ wide[j]))
    return found


def check(found, units, labels, background=0.0):
    expected = naive(units, labels)
    for row in found.table:
        values = expected.get(frozenset((row.one, row.other)), [])
        assert row.cosine.pairs == row.above.pairs == len(values)
        if values:
            assert row.cosine.mean == pytest.approx(np.mean(values), abs=1e-9)
            assert row.cosine.sd == pytest.approx(np.std(values), abs=1e-9)
            assert row.above.mean == pytest.approx(np.mean(values) - background, abs=1e-9)
    within = [c for pair, values in expected.items() if len(pair) == 1 for c in values]
    between = [c for pair, values in expected.items() if len(pair) == 2 for c in values]
    for estimate, values in ((found.within, within), (found.between, between)):
        assert estimate.pairs == len(values)
        assert estimate.mean == pytest.approx(np.mean(values), abs=1e-9)
        assert estimate.sd == pytest.approx(np.std(values), abs=1e-9)
    rounded = np.rint(np.array(within + between) * 2**21)
    truth = [1] * len(within) + [0] * len(between)
    assert found.auc == pytest.approx(roc_auc_score(truth, rounded), abs=1e-5)


@pytest.mark.parametrize("labels", [["a", "b"], ["x", "y", "z", "x", "x"], ["1", "2", "10"]])
def test_table_equals_a_double_loop(labels, monkeypatch):
    monkeypatch.setattr(label_sums, "BLOCK", 16)
    monkeypatch.setattr(label_sums, "_OUTER_BYTES", 300)  # so that sums are made in several pieces
    units = table_of()
    given = [labels[i % len(labels)] for i in range(len(units))]
    found = per_label(units, given, 0.25)
    check(found, units, given, 0.25)
    names = sorted(set(labels), key=lambda name: (len(name), name))
    own = [(name, name) for name in names]
    assert [(row.one, row.other) for row in found.table] == own + list(combinations(names, 2))
    assert found.counts == {name: given.count(name) for name in names}


def test_many_labels_make_a_bounded_table_and_exact_sums(monkeypatch):
    monkeypatch.setattr(label_sums, "BLOCK", 50)
    units = table_of(500, 8)
    rng = np.random.default_rng(2)
    given = [f"label {k}" for k in np.minimum(rng.zipf(1.3, 500), 1000)]
    found = per_label(units, given, 0.0, most=5)
    assert len(found.table) == 5 + 10 and len(found.counts) == len(set(given)) > 30
    sizes = sorted(found.counts.values(), reverse=True)
    assert sorted((found.counts[row.one] for row in found.table[:5]), reverse=True) == sizes[:5]
    assert f"The table has the 5 largest of {len(set(given))} labels." in found.sentence
    check(found, units, given)


def test_a_thousand_labels_of_a_few_rows():
    units = table_of(2000, 5)
    found = per_label(units, [i % 1000 for i in range(2000)], 0.0)
    assert len(found.table) == 30 + 435 and len(found.counts) == 1000
    assert found.within.pairs == 1000 and found.between.pairs == 2000 * 1999 // 2 - 1000
    codes = np.arange(2000) % 1000
    wide = units.astype(np.float64)
    whole = wide @ wide.T
    one, other = np.triu_indices(2000, 1)
    values, same = whole[one, other], codes[one] == codes[other]
    assert found.within.sd == pytest.approx(values[same].std(), abs=1e-9)
    assert found.between.sd == pytest.approx(values[~same].std(), abs=1e-9)


@pytest.mark.parametrize("n", [120, pytest.param(872, marks=pytest.mark.exhaustive)])
def test_sst2_equals_a_double_loop(real_data, n):
    texts, labels = [], []
    for line in (real_data / "sst2" / "dev.tsv").read_text(encoding="utf-8").splitlines()[:n]:
        text, label = line.rsplit("\t", 1)
        texts.append(text)
        labels.append(label)
    units = units_of(encoded(real_data.parent / "models" / "bert-tiny", texts))[0]
    found = per_label(units, labels, 0.7)
    assert len(units) == n and set(found.counts) == {"0", "1"}
    check(found, units, labels, 0.7)
    assert found.auc_low < found.auc < found.auc_high


def encoded(model, texts):
    from uncone.data.texts.texts import ListTexts
    from uncone.encoders.open import sentence_source

    source = sentence_source(ListTexts(texts), model)
    return np.concatenate([np.array(rows.vectors) for rows in source.read()])


def test_labels_that_are_numbers_are_sorted_as_numbers():
    units = table_of(60)
    given = [float(k) for k in (10, 9, 100)] * 20
    found = per_label(units, given, 0.0)
    assert list(found.counts) == ["9", "10", "100"]
    assert per_label(units, [str(int(k)) for k in given], 0.0).table == found.table


def test_a_label_with_one_text_has_no_within():
    units = table_of(9)
    found = per_label(units, ["a"] * 8 + ["b"], 0.0)
    alone = found.table[1]
    assert (alone.one, alone.cosine.mean, alone.cosine.pairs, alone.above.mean) == ("b", None, 0, None)
    both = found.table[2]
    assert both.cosine.mean is not None and both.cosine.low is None and both.cosine.pairs == 8
    check(found, units, ["a"] * 8 + ["b"])


def test_one_label_has_no_between():
    found = per_label(table_of(20), ["a"] * 20, 0.1)
    assert len(found.table) == 1 and found.between.mean is None and found.between.pairs == 0
    assert found.auc is found.auc_low is None and "only one label" in found.sentence
    single = per_label(table_of(3), ["a", "b", "c"], 0.1)
    assert single.within.mean is None and single.auc is None and "No label has two texts" in single.sentence


def test_two_rows():
    found = per_label(table_of(2), ["a", "a"], 0.0)
    assert found.within.pairs == 1 and found.within.low is None and found.within.sd == 0


def test_texts_that_are_all_equal():
    units = np.repeat(table_of(1), 40, axis=0)
    found = per_label(units, ["a", "b"] * 20, 0.2)
    for row in found.table:
        assert row.cosine.mean == pytest.approx(1, abs=1e-6) and row.cosine.sd == 0
        assert row.cosine.low is row.cosine.high is None, "one text says nothing about others"
    assert found.auc == 0.5 and found.auc_low is None and found.texts == 1
    assert "1 distinct text is too few to say whether the labels are separable" in found.sentence


def test_rows_without_a_label_are_left_out():
    units = table_of(50)
    given = ["a", None, "b", "", float("nan")] * 10
    found = per_label(units, given, 0.0)
    check(found, units, [label if label in ("a", "b") else None for label in given])
    assert "30 texts without a label were left out." in found.sentence


def test_bad_input_is_one_line():
    with pytest.raises(ShapeError, match="one label per text: there are 2 for 9"):
        per_label(table_of(9), ["a", "b"], 0.0)
    with pytest.raises(OptionError, match="No text has a label"):
        per_label(table_of(3), [None, "", " "], 0.0)


def test_sentence_grades_what_the_cosines_tell():
    rng = np.random.default_rng(0)
    codes = np.arange(240) % 2
    centers = rng.normal(size=(2, 10))
    for apart, said in (
        (3.0, "separates the labels well"),
        (0.5, "partly"),
        (0.25, "barely"),
        (0.0, "doesn't separate"),
    ):
        units = units_of(apart * centers[codes] + rng.normal(size=(240, 10)))[0]
        assert said in per_label(units, codes.tolist(), 0.0).sentence
    # A label of scattered texts, and a few texts in the middle of them.
    scattered = units_of(rng.normal(size=(200, 10)) + 1.0 * np.eye(1, 10))[0]
    middle = np.repeat(np.eye(1, 10, dtype=np.float32), 20, axis=0)
    found = per_label(np.concatenate([scattered, middle]), ["all"] * 200 + ["middle"] * 20, 0.0)
    assert "doesn't follow the labels" in found.sentence and found.auc_high < 0.5


def test_many_rows_are_drawn_for_the_auc():
    units, codes = table_of(2000), np.arange(2000) % 3
    found = label_auc(units, codes, seed=1, most=200)
    assert found.rows == 200 and found == label_auc(units, codes, seed=1, most=200)
    assert found != label_auc(units, codes, seed=2, most=200)
    whole = label_auc(units, codes, most=5000)
    assert whole.rows == 2000 and found.low < whole.value < found.high
    # Labels of two rows: at random hardly any pair of one label would be drawn.
    pairs = label_auc(units, np.arange(2000) // 2, seed=1, most=200)
    assert 198 <= pairs.rows <= 200 and pairs.value is not None


def drawn(rng, n):
    codes = np.arange(n) % 2
    centers = np.array([[1.2, 0.4, 0, 0, 0], [0.4, 1.2, 0, 0, 0]])
    return units_of(centers[codes] + rng.normal(size=(n, 5)))[0], codes.tolist()


def four(found):
    return found.table[0].cosine, found.table[-1].cosine, found.within, found.between


def test_intervals_cover_the_truth():
    large = [per_label(*drawn(np.random.default_rng(10**6 + k), 1000), 0.0) for k in range(12)]
    truth = np.mean([[*(one.mean for one in four(found)), found.auc] for found in large], axis=0)
    hits = np.zeros(5)
    for seed in range(200):
        found = per_label(*drawn(np.random.default_rng(seed), 40), 0.0)
        bounds = [(one.low, one.high) for one in four(found)] + [(found.auc_low, found.auc_high)]
        hits += [low <= value <= high for (low, high), value in zip(bounds, truth, strict=True)]
    # 190 of 200 are meant; three standard errors of that are nine.
    assert (hits >= 181).all() and (hits <= 199).all(), hits


def test_every_two_labels_are_there():
    labels = list("abcd") * 10
    found = per_label(table_of(40), labels, 0.0)
    pairs = {(row.one, row.other) for row in found.table}
    assert pairs == {(a, b) for a, b in product("abcd", repeat=2) if a <= b}
