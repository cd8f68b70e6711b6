"""What a source holds, the objective that fits it, and what is held out."""

from __future__ import annotations

from pathlib import Path

import pytest

from uncone.errors import FormatError, OptionError, ShapeError
from uncone.tuning.examples import Columns, open_examples, split_held_out

TABLES = {
    "contrastive": "text\n" + "".join(f"text {i}\n" for i in range(30)),
    "labeled": "text,label\n" + "".join(f"text {i},{'ab'[i % 2]}\n" for i in range(30)),
    "scored": "sentence1,sentence2,score\n" + "".join(f"left {i},right {i},{i % 6}\n" for i in range(30)),
    "pairs": "anchor,positive\n" + "".join(f"left {i},right {i}\n" for i in range(30)),
    "triplets": "anchor,positive,negative\n" + "".join(f"a {i},b {i},c {i}\n" for i in range(30)),
    "nli": "premise,hypothesis,label\n"
    + "".join(f"p {i},{w} {i},{w}\n" for i in range(30) for w in ("entailment", "neutral", "contradiction")),
}


@pytest.fixture(params=TABLES)
def table(request):
    Path("table.csv").write_text(TABLES[request.param])
    return request.param


def test_the_columns_of_a_table_choose_the_objective(table):
    examples = open_examples(["table.csv"])
    assert (examples.objective, len(examples)) == (table, 30)


def test_triplets_of_nli_have_one_premise():
    Path("table.csv").write_text(TABLES["nli"] + "p 3,entailed too,entailment\nlonely,only this,entailment\n")
    anchors, positives, negatives = open_examples(["table.csv"]).texts
    rows = list(zip(anchors, positives, negatives, strict=True))
    assert ("p 7", "entailment 7", "contradiction 7") in rows
    assert ("p 3", "entailed too", "contradiction 3") in rows and "lonely" not in anchors


def test_columns_and_objective_may_be_named():
    Path("table.csv").write_text(TABLES["scored"].replace("sentence1", "x").replace("sentence2", "y"))
    examples = open_examples(["table.csv"], "pairs", Columns(("x", "y")))
    assert examples.texts[0][:2] == ["left 0", "left 1"]
    scored = open_examples(["table.csv"], None, Columns(("x", "y"), score="score"))
    assert scored.objective == "scored" and scored.scores[5] == 5.0


def test_texts_alone_are_contrastive_and_sources_are_joined():
    Path("a.txt").write_text("one text\nanother text\n")
    examples = open_examples(["a.txt", ["a third text", "one text"]])
    assert examples.objective == "contrastive" and examples.texts == (["one text", "another text", "a third text"],)
    assert "1 repeated example" in examples.notes[0]


@pytest.mark.parametrize(
    ("content", "objective", "error", "message"),
    [
        ("text\n" + "the same\n" * 20, None, ShapeError, "only one distinct text"),
        ("text\n" + "a text\nanother\n", "triplets", Exception, "anchor|positive"),
        ("premise,hypothesis,label\na,b,maybe\n", "nli", FormatError, "not entailment, neutral or contradiction"),
        ("premise,hypothesis,label\na,b,neutral\n", "nli", FormatError, "no premise with both"),
    ],
)
def test_what_cannot_be_trained_on_is_refused(content, objective, error, message):
    Path("table.csv").write_text(content)
    with pytest.raises(error, match=message):
        open_examples(["table.csv"], objective)


def test_different_sources_need_an_objective():
    Path("a.csv").write_text(TABLES["labeled"])
    Path("b.csv").write_text(TABLES["pairs"])
    with pytest.raises(OptionError, match="different examples"):
        open_examples(["a.csv", "b.csv"])
    Path("a.txt").write_text("one text\nanother text\n")
    with pytest.raises(FormatError, match=r"texts alone, and nli needs"):
        open_examples(["a.txt"], "nli")


def test_no_text_is_on_two_sides():
    rows = [(f"shared {i // 3}", f"right {i}") for i in range(600)]
    Path("table.csv").write_text("anchor,positive\n" + "".join(f"{a},{b}\n" for a, b in rows))
    train, dev, test = split_held_out(open_examples(["table.csv"]), seed=1)
    sides = [set(part.distinct_texts) for part in (train, dev, test)]
    assert not (sides[0] & sides[1] or sides[0] & sides[2] or sides[1] & sides[2])
    assert len(dev) == 30 and len(train) > 400
    again = split_held_out(open_examples(["table.csv"]), seed=1)
    assert again[1].texts == dev.texts


def test_few_examples_are_all_needed():
    train, dev, test = split_held_out(open_examples([[f"text {i}" for i in range(50)]]))
    assert len(train) == 50 and dev is None and test is None


def test_held_out_pairs_belong_together_or_not(table):
    examples = open_examples(["table.csv"])
    pairs = examples.pairs(seed=0)
    if table == "contrastive":
        assert pairs is None
        return
    if table == "scored":
        assert list(pairs.scores) == list(examples.scores)
        return
    label = dict(zip(examples.texts[0], examples.labels, strict=True)) if examples.labels else {}
    partners = dict(zip(examples.texts[0], examples.texts[-1 if len(examples.texts) < 3 else 1], strict=True))
    for left, right, score in zip(pairs.left, pairs.right, pairs.scores, strict=True):
        together = label[left] == label[right] if label else partners[left] == right
        assert together == (score == 1.0) and left != right
