"""`uncone similarity` as a stranger meets it: what it says is to be believed, and can be pasted."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import uncone
from uncone.analysis.similarity.two_columns import two_columns
from uncone.cli.main import _run
from uncone.errors import OptionError
from uncone.report.document import Fold

WORDS = ["the", "text", "go", "school"]


def told(capsys, *arguments, code=0):
    assert _run(["similarity", *map(str, arguments)]) == code
    captured = capsys.readouterr()
    return captured.out if code == 0 else captured.err


def written(name, header, rows):
    with Path(name).open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def crowded(n=300):
    rng = np.random.default_rng(0)
    return np.hstack([np.abs(rng.normal(size=(n, 1))) * 10, rng.normal(size=(n, 7))]).astype(np.float32)


def test_near_duplicates_of_a_crowded_space_are_no_headline(capsys):
    texts = [f"text {i % 298}" for i in range(300)]
    found = uncone.similarity(crowded(), texts=texts)
    assert found.crowd is not None and found.duplicates.found == 2 and found.duplicates.why == "the same text"
    assert sorted(zip(found.duplicates.one, found.duplicates.other, strict=True)) == [(0, 298), (1, 299)]
    said = [line for line in found.lines() if line.startswith("Cosine can't detect near-duplicates in this space")]
    assert len(said) == 1 and said[0].endswith("2 pairs have the same text.")
    fold = next(one for one in found.document().sections if one.name == "pairs").blocks[-1]
    assert isinstance(fold, Fold) and fold.title == "2 pairs of the same text" and len(fold.blocks[0].rows) == 2
    assert "pairs are near-duplicates" not in found.to_html()
    assert json.loads(found.to_json())["crowd"]["share"] == pytest.approx(found.crowd.share)
    np.save("v.npy", crowded())
    out = " ".join(told(capsys, "v.npy", "--no-html").split())
    assert said[0].split(":")[0] in out and "near-duplicates;" not in out


def test_a_bound_that_was_asked_for_is_kept():
    rows = crowded()
    found = uncone.similarity(rows, duplicates=0.99)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    naive = sum(units[i] @ units[j] >= 0.99 for i in range(300) for j in range(i))
    assert found.crowd is None and found.duplicates.found == pytest.approx(naive, abs=2)


def test_vectors_without_texts_are_copies_by_their_numbers():
    rows = crowded()
    rows[9] = rows[4]
    found = uncone.similarity(rows)
    assert found.crowd is not None and found.duplicates.found == 1 and found.duplicates.one[0] == 4
    assert any(line.endswith("1 pair has the same vector.") for line in found.lines())


def test_two_columns_count_rows_of_the_same_text_twice(capsys, tiny_model):
    rng = np.random.default_rng(5)
    rows = [(" ".join(rng.choice(WORDS, 4)), " ".join(rng.choice(WORDS, 4)), "ab"[i % 2]) for i in range(80)]
    rows[3] = ("go school", "Go  school", "a")
    same = sum(" ".join(one.lower().split()) == " ".join(other.lower().split()) for one, other, _ in rows)
    written("p.csv", ["one", "two", "kind"], rows)
    found = uncone.similarity("p.csv", text="one", against="two", label="kind", model=str(tiny_model))
    if found.crowd is not None:
        assert found.duplicates.found == same and found.duplicates.why == "the same text twice"
    else:
        assert found.duplicates.found >= same


def test_sentence_and_headline_name_the_higher_label_first():
    rng = np.random.default_rng(1)
    left = rng.normal(size=(200, 8))
    right = left + rng.normal(size=(200, 8)) * np.where(np.arange(200) % 2, 0.3, 2.0)[:, None]
    found = two_columns(left, right, ["a", "b"] * 100)
    assert list(found.auc) == ["b over a"] and found.auc["b over a"][0] > 0.5
    value, low, high = found.auc["b over a"]
    naive = np.mean([x > y for x in found.cosines[1::2] for y in found.cosines[::2]])
    assert value == pytest.approx(naive, abs=1e-3) and low < value < high <= 1
    assert f"b over a (AUC {value:.3f}" in found.differs


def test_what_to_run_next_names_the_column_and_the_file(capsys):
    rows = np.random.default_rng(0).normal(size=(60, 6)).astype(np.float32)
    pq.write_table(pa.table({"emb": pa.array(rows.tolist()), "other": pa.array(rows.tolist())}), "v.parquet")
    asked = uncone.similarity("v.parquet", column="emb", name="a name")
    words = shlex.split(asked.suggestion)
    assert words == ["uncone", "calibrate", "v.parquet", "--column", "emb", "--fpr", "0.01"]
    assert _run([*words[1:], "--no-html"]) == 0 and "v.parquet" in capsys.readouterr().out
    pq.write_table(pa.table({"emb": pa.array(rows.tolist())}), "one.parquet")
    assert uncone.similarity("one.parquet").suggestion.startswith("uncone calibrate one.parquet --")


def test_few_rows_leave_it_open_whether_labels_are_separable(capsys):
    rows = np.random.default_rng(0).normal(size=(10, 6))
    found = uncone.similarity(rows, labels=["a", "b"] * 5)
    assert found.per_label.auc_low < 0.4 < 0.5 < found.per_label.auc_high
    assert (
        "10 distinct texts are too few to say whether the labels are separable" in found.per_label.sentence
        and "hard to judge with so few texts" in found.headline
    )
    assert "not separable" not in found.headline
    assert "45 unrelated pairs: percentiles are rough." in " ".join(found.notes)
    assert found.pairs.why == "all, most similar first" and found.pairs.found == len(found.pairs.one) == 45
    many = uncone.similarity(np.random.default_rng(0).normal(size=(400, 6)), labels=["a", "b"] * 200)
    assert "not separable" in many.headline and "rough" not in " ".join(many.notes)


def test_labels_of_one_text_each_do_not_make_groups_of_one():
    found = uncone.similarity(np.random.default_rng(0).normal(size=(12, 6)), labels=[f"l{i}" for i in range(12)])
    assert found.groups[0].k < 12 and max(group.size for group in found.groups[0].groups) > 1


def test_long_labels_that_differ_at_their_end_stay_apart():
    labels = [f"a rather long label number {i % 6}" for i in range(60)]
    page = uncone.similarity(np.random.default_rng(0).normal(size=(60, 6)), labels=labels).to_html()
    named = [names for names in re.findall(r'"ticktext": ?\[(.*?)\]', page) if "mber 0" in names or "er 0" in names]
    assert named and all(len(set(names.split(","))) == len(names.split(",")) for names in named), named


def test_a_missing_second_column_is_named_by_its_option(capsys, tiny_model):
    written("t.csv", ["text", "kind"], [("go the school", "a"), ("text", "b"), ("school", "a")])
    said = told(capsys, "t.csv", "--text", "text", "--against", "nope", "--model", tiny_model, code=2)
    assert "'nope' for --against" in said and "text, kind" in said
    written("n.csv", ["text", "kind"], [])
    assert "n.csv has no rows" in told(capsys, "n.csv", "--text", "text", "--model", tiny_model, code=2)


def test_nothing_near_says_which_bound_left_it_out(capsys, tiny_model):
    rows = [(f"{' '.join(WORDS[i % 4 :])} {'go ' * i}",) for i in range(12)]
    written("t.csv", ["text"], rows)
    out = told(capsys, "t.csv", "--near", "school", "--max", "-0.9999", "--model", tiny_model, "--no-html")
    assert "(cosine at most -0.9999)" in out


@pytest.mark.parametrize(
    ("given", "said"),
    [({"top": 2.5}, "whole number"), ({"near": 5}, "must be a text"), ({"maps": {"pca": 1}}, "a list of values")],
)
def test_wrong_kinds_of_values_are_refused_in_one_line(given, said):
    with pytest.raises(OptionError, match=said):
        uncone.similarity(np.eye(5), **given)
    assert not uncone.similarity(np.eye(5) + 0.1, maps=None).projections


def test_an_empty_name_is_not_the_folder_we_are_in():
    Path("notes.txt").write_text("one\ntwo\n")
    with pytest.raises(OptionError, match="is empty"):
        uncone.similarity("")
