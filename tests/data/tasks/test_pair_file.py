"""Files of labeled pairs: columns, labels, ids, and one clear line for what is wrong."""

from __future__ import annotations

import csv
import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import said

from uncone.data.tasks.pair_file import PairFile, open_pair_file
from uncone.errors import ColumnError, FormatError, MissingSourceError, OptionError, ShapeError

ROWS = [("a cat", "the cat", 1), ('he said "no",\nand left', "he went", 0), ("ünï", "日本", 1)]


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv("UNCONE_DATA", raising=False)


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def saved(folder, kind, names, rows):
    """The rows as a file of that kind."""
    path = folder / f"pairs{kind}"
    plain = kind.removesuffix(".gz")
    if plain == ".parquet":
        pq.write_table(pa.table({name: [row[at] for row in rows] for at, name in enumerate(names)}), path)
        return path
    with gzip.open(path, "wt", encoding="utf-8", newline="") if kind != plain else path.open("w", newline="") as file:
        if plain == ".jsonl":
            file.writelines(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
        elif plain == ".tsv":
            file.writelines("\t".join(str(cell).replace("\n", " ") for cell in row) + "\n" for row in [names, *rows])
        else:
            csv.writer(file).writerows([names, *rows])
    return path


@pytest.mark.parametrize("kind", [".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz", ".jsonl.gz"])
@pytest.mark.parametrize(
    "names",
    [
        ("sentence1", "sentence2", "label"),
        ("Text1", "Text2", "Score"),
        ("premise", "hypothesis", "similar"),
        ("query", "document", "is_duplicate"),
        ("a", "b", "label"),
    ],
)
def test_texts(kind, names, tmp_path):
    found = open_pair_file(saved(tmp_path, kind, names, ROWS))
    left = [row[0].replace("\n", " ") if kind == ".tsv" else row[0] for row in ROWS]
    assert found.texts == (left, [row[1] for row in ROWS]) and found.ids is None
    assert found.labels.tolist() == [1, 0, 1] and found.columns == names and found.name == f"pairs{kind}"
    assert len(found) == 3 and not found.notes


@pytest.mark.parametrize("kind", [".csv", ".tsv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("names", [("id1", "id2", "label"), ("query-id", "corpus-id", "score"), ("a", "b", "label")])
def test_rows(kind, names, tmp_path):
    found = open_pair_file(saved(tmp_path, kind, names, [(0, 2, 1), (2, 3, 0)]))
    assert found.texts is None and found.ids == (["0", "2"], ["2", "3"])
    one, other = found.rows(4)
    assert one.tolist() == [0, 2] and other.tolist() == [2, 3] and one.dtype == np.int64
    one, other = found.rows(3, ["3", "2", "0"])
    assert one.tolist() == [2, 1] and other.tolist() == [1, 0]


def test_both(tmp_path):
    """Quora's form: texts and ids, of which one takes what one has."""
    names = ("id", "qid1", "qid2", "question1", "question2", "is_duplicate")
    found = open_pair_file(saved(tmp_path, ".csv", names, [(0, "x7", "x9", "why?", "how?", 0)]))
    assert found.texts == (["why?"], ["how?"]) and found.ids == (["x7"], ["x9"])
    assert found.columns == ("question1", "question2", "qid1", "qid2", "is_duplicate")
    assert open_pair_file(tmp_path / "pairs.csv", ids=("qid1", "qid2")).texts is None
    only = open_pair_file(tmp_path / "pairs.csv", text="question2,question1", label="id")
    assert only.texts == (["how?"], ["why?"]) and only.ids is None and only.labels.tolist() == [0]


def test_named_columns(tmp_path):
    path = saved(tmp_path, ".csv", ("mine", "yours", "same?"), [("a", "b", "yes")])
    found = open_pair_file(path, text=("mine", "yours"), label="same?")
    assert found.texts == (["a"], ["b"]) and found.labels.tolist() == [1]
    assert "has no column 'his'; it has mine, yours, same?" in said(
        ColumnError, open_pair_file, path, text="mine,his", label="same?"
    )
    assert open_pair_file(path, text="mine,yours").columns[-1] == "same?"  # what else?
    more = saved(tmp_path, ".jsonl", ("mine", "yours", "same?", "when"), [("a", "b", "yes", 2020)])
    assert "no column that must be the label" in said(ColumnError, open_pair_file, more, text="mine,yours")
    message = said(ColumnError, open_pair_file, path, label="same?")
    assert "no columns that are clearly the pairs" in message and "it has mine, yours, same?" in message
    for text in ("mine", "mine,mine", "a,b,c"):
        assert "Pairs need two columns of texts" in said(OptionError, open_pair_file, path, text=text)
    assert "need three columns" in said(FormatError, open_pair_file, path, text="mine,yours", label="mine")


def test_no_header(tmp_path):
    path = write(tmp_path / "pairs.tsv", '2.5\ta "girl\tno girl\tnews\n4\tx\ty\tnews\n')
    found = open_pair_file(path, text="2,3", label="1")
    assert found.texts == (['a "girl', "x"], ["no girl", "y"]) and found.labels.tolist() == [2.5, 4]
    assert "or number them 1, 2, 3 if there is no header" in said(ColumnError, open_pair_file, path)


def test_labels(tmp_path):
    words = ["yes", "No", " TRUE ", "false", "1", "0", "1.0", "3.75", "-1", "similar", "Dissimilar"]
    path = saved(tmp_path, ".csv", ("a", "b", "label"), [("x", "y", word) for word in words])
    assert open_pair_file(path).labels.tolist() == [1, 0, 1, 0, 1, 0, 1, 3.75, -1, 1, 0]
    path = saved(tmp_path, ".jsonl", ("a", "b", "label"), [("x", "y", one) for one in (True, False, 1, 0.5)])
    assert open_pair_file(path).labels.tolist() == [1, 0, 1, 0.5]
    for word, words in (
        ("entailment", "'entailment' is not a label"),
        ("", "no label"),
        ("nan", "'nan' is not a label"),
    ):
        path = saved(tmp_path, ".csv", ("a", "b", "label"), [("x", "y", 1), ("two\nlines", "y", 1), ("x", "y", word)])
        message = said(FormatError, open_pair_file, path)
        assert f"{path}, line 5: {words}" in message  # the second pair takes two lines
    path = saved(tmp_path, ".parquet", ("a", "b", "label"), [("x", "y", 1), ("x", "y", None)])
    assert "row 2: no label" in said(FormatError, open_pair_file, path)


def test_unknown_ids(tmp_path):
    found = open_pair_file(saved(tmp_path, ".csv", ("id1", "id2", "label"), [("d1", "d2", 1), ("d3", "d9", 0)]))
    assert said(FormatError, found.rows, 2, ["d1", "d8"]) == (
        "pairs.csv has 3 unknown ids, such as 'd3', 'd2', 'd9'; the ids go from 'd1' to 'd8'. "
        "Do the pairs belong to these vectors?"
    )
    assert "has 4 unknown ids, such as 'd1', 'd3', 'd2'; the rows are numbered from 0 to 999" in said(
        FormatError, found.rows, 1000
    )
    assert "1 are repeated, such as 'd1'" in said(FormatError, found.rows, 3, ["d1", "d2", "d1"])
    numbers = open_pair_file(saved(tmp_path, ".csv", ("id1", "id2", "label"), [(-1, 3, 1), ("1.0", "2", 0)]))
    assert "2 unknown ids, such as '-1', '3'" in said(FormatError, numbers.rows, 3)
    texts = PairFile("t.csv", np.ones(1), (["a"], ["b"]), None, ("a", "b", "label"))
    assert "t.csv has no ids or row numbers" in said(ColumnError, texts.rows, 3)
    blank = saved(tmp_path, ".csv", ("id1", "id2", "label"), [("d1", "", 1)])
    assert "line 2: 'id2' is ''; we need the name of a row" in said(FormatError, open_pair_file, blank)


def test_blank_texts_are_left_out(tmp_path):
    path = saved(tmp_path, ".csv", ("a", "b", "id1", "id2", "gold"), [("x", " ", 1, 2, 1), ("x", "y", 3, 4, 0)])
    found = open_pair_file(path)
    assert found.texts == (["x"], ["y"]) and found.labels.tolist() == [0] and found.ids == (["3"], ["4"])
    assert found.notes == ("1 of 2 pairs have a blank text and were left out.",)
    path = saved(tmp_path, ".csv", ("a", "b", "label"), [("x", "", 1)])
    assert "a text of every pair is blank" in said(FormatError, open_pair_file, path)


def test_bad_files(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_bytes(b"a,b,label\nfine,fine,1\n" + "caf\xe9,x,0\n".encode("latin1"))
    assert f"{path}, line 3: not UTF-8 (byte 0xe9)" in said(FormatError, open_pair_file, path)
    write(path, "")
    assert "is empty" in said(FormatError, open_pair_file, path)
    write(path, "a,b,label\n")
    assert "a header but no rows" in said(FormatError, open_pair_file, path)
    write(path, "a,b,label\nx,y\n")
    assert "ragged: line 2" in said(ShapeError, open_pair_file, path)
    write(path, 'a,b,label\n"never closed,y,1\n')
    assert "line 2: not a row of a .csv" in said(FormatError, open_pair_file, path)
    write(path, "a;b;label\nx;y;1\n")
    assert "commas, not semicolons" in said(FormatError, open_pair_file, path)
    assert "There is no file" in said(MissingSourceError, open_pair_file, tmp_path / "none.csv")
    assert "unknown ending '.doc'" in said(FormatError, open_pair_file, write(tmp_path / "a.doc", "x"))
    assert "not a readable parquet" in said(FormatError, open_pair_file, write(tmp_path / "a.parquet", "PAR1"))
    write(tmp_path / "a.jsonl", '{"a": "x", "b": 3.5, "label": 1}\n')
    assert "line 1: 'b' is 3.5; we need a text" in said(FormatError, open_pair_file, tmp_path / "a.jsonl")


def test_sets_by_name(real_data):
    found = open_pair_file("stsb:dev", data=real_data)
    assert len(found) == 1500 and found.name == "stsb:dev" and found.labels.max() == 5
    assert "the datasets are sts12" in said(MissingSourceError, open_pair_file, "sts99")
    own = open_pair_file(real_data / "sts" / "stsb-dev.tsv", text="2,3", label="1")
    assert own.texts == found.texts and own.labels.tolist() == found.labels.tolist()
