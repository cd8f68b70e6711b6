"""Tasks to fine-tune on: shares of classes, distinct texts on one side, and bad tables."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from uncone.errors import ColumnError, FormatError, MissingSourceError, OptionError, ShapeError
from uncone.tuning.tasks import Items, open_task, stratified_draw


def table(n=40, **columns):
    return {"text": [f"text {i}" for i in range(n)], "label": ["ab"[i % 2] for i in range(n)], **columns}


def test_a_quarter_of_a_table_is_held_out_by_class():
    task = open_task(table(80))
    assert (len(task.train), len(task.test), task.split) == (60, 20, "held out")
    assert Counter(task.test.labels) == {"a": 10, "b": 10}
    assert not set(task.train.keys) & set(task.test.keys)
    again, other = open_task(table(80)), open_task(table(80), seed=1)
    assert again.test.left == task.test.left != other.test.left
    assert again.train.digest() == task.train.digest() != other.train.digest()


def test_copies_of_a_text_stay_on_one_side():
    rows = table(40)
    task = open_task({name: values * 5 for name, values in rows.items()})
    assert len(task.train) + len(task.test) == 200
    assert not set(task.train.keys) & set(task.test.keys)


def test_pairs_and_other_columns_are_read():
    rows = {
        "premise": [f"p {i}" for i in range(16)],
        "hypothesis": ["h"] * 16,
        "label": [0, 1] * 8,
        "topic": ["x"] * 16,
    }
    task = open_task(rows, columns=["topic"])
    assert task.classes == ("0", "1")
    assert set(task.train.right) == {"h"}
    assert list(task.test.columns["topic"]) == ["x"] * len(task.test)
    named = open_task(table(16, other=["o"] * 16), text="text,other")
    assert set(named.test.right) == {"o"}


def test_draws_keep_the_shares():
    labels = ["a"] * 300 + ["b"] * 100
    rows = stratified_draw(labels, 40, np.random.default_rng(0))
    assert Counter(labels[row] for row in rows) == {"a": 30, "b": 10}
    assert len(set(rows.tolist())) == 40
    few = stratified_draw(["a"] * 99 + ["b"], 10, np.random.default_rng(0))
    assert 99 in few, "a rare class is drawn too"
    task = open_task(table(80), n_train=20, n_test=6)
    assert (Counter(task.train.labels), len(task.test)) == ({"a": 10, "b": 10}, 6)


def test_items_are_selected_with_everything():
    items = Items(["a", "b", "c"], ["x", "y", "z"], ["0", "1", "0"], {"n": ["1", "2", "3"]})
    chosen = items.select([2, 0])
    assert (chosen.left, chosen.right, chosen.labels, chosen.columns["n"]) == (
        ["c", "a"],
        ["z", "x"],
        ["0", "0"],
        ["3", "1"],
    )


@pytest.mark.parametrize(
    ("source", "keywords", "error", "words"),
    [
        ({"text": list("abcdefghij"), "label": ["x"] * 10}, {}, FormatError, "two classes"),
        ({"text": list("abcdefghij"), "label": ["x"] * 9 + ["y"]}, {}, FormatError, "'y' has a single"),
        ({"text": list("abcd"), "label": list("xxyy")}, {}, ShapeError, "4 distinct"),
        ({"text": ["a", " ", *"cdefghij"], "label": list("xy") * 5}, {}, FormatError, "blank"),
        ({"text": list("abcdefghij"), "label": [None, *"yxyxyxyxy"]}, {}, FormatError, "label is 'None'"),
        ({"text": list("abcdefghij"), "label": list("xy") * 5}, {"columns": ["topic"]}, ColumnError, "--skew-by"),
        ({"text": list("abcdefghij"), "label": list("xy") * 5}, {"text": "text,text1"}, ColumnError, "text1"),
        ("sst3", {}, MissingSourceError, "sst2, rte, wic"),
        ("rte:test", {}, OptionError, "'test'; it has dev"),
        ("none.csv", {}, MissingSourceError, "none.csv"),
    ],
)
def test_bad_input_is_one_line(source, keywords, error, words):
    with pytest.raises(error, match=words) as raised:
        open_task(source, **keywords)
    assert "\n" not in str(raised.value)


def test_labels_of_one_side_only_are_refused():
    from uncone.tuning.tasks import ClassTask

    train, test = Items(["a", "b"], None, ["x", "y"]), Items(["c", "d"], None, ["x", "z"])
    with pytest.raises(FormatError, match="'y' is not in the test set, which has x, z"):
        ClassTask("t", train, test, "test", ("x", "y", "z"))


def test_named_tasks_are_read(real_data):
    sizes = {"sst2": 1821, "sst2:dev": 872, "sst2:dev+test": 2693, "rte": 277, "wic": 638}
    for name, size in sizes.items():
        task = open_task(name, real_data, n_train=100)
        assert (len(task.train), len(task.test), len(task.classes)) == (100, size, 2)
        assert not set(task.train.keys) & set(task.test.keys)
    assert task.train.left[0].split(": ")[0] in task.train.left[0].lower()
