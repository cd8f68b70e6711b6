"""Tasks: every form of the files, the hub, rows counted, and one clear line for what is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import said

from uncone.data.tasks import labeled as tasks_labeled
from uncone.data.tasks import sts as tasks_sts
from uncone.data.tasks import words as tasks_wic
from uncone.data.tasks.labeled import open_labeled
from uncone.data.tasks.retrieval import open_retrieval
from uncone.data.tasks.sts import STS, PairTask, open_pairs, read_pairs
from uncone.data.tasks.words import open_wic, open_word_pairs
from uncone.data.texts import hub as hub_texts
from uncone.errors import ColumnError, FormatError, MissingSourceError, OptionError, ShapeError

ROWS = {"sts12": 3108, "sts13": 1500, "sts14": 3750, "sts15": 3000, "sts16": 1186, "stsb": 1379, "sickr": 4927}


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv("UNCONE_DATA", raising=False)


@pytest.fixture
def small(monkeypatch):
    """Sets of 12 pairs."""
    for known in tasks_sts.SETS.values():
        for split in known.rows:
            monkeypatch.setitem(known.rows, split, 12)


@pytest.fixture
def offline(monkeypatch):
    def refuse(*_, **__):
        raise ConnectionError("nothing there")

    monkeypatch.setattr(datasets, "load_dataset", refuse)
    monkeypatch.setattr(hub_texts, "_why_unreachable", lambda: "Name or service not known")


@pytest.fixture
def hub(monkeypatch):
    """A hub of tables in memory, and what was asked of it."""
    tables, asked = {}, []

    def load_dataset(path, config=None, *, split, revision=None):
        asked.append((path, config, split, revision))
        return datasets.Dataset.from_dict(tables[path])

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr(hub_texts, "_why_unreachable", lambda: None)
    return tables, asked


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def pairs_tsv(n=12, subset="news"):
    return "".join(f'{1 + at % 5}.5\tsaid "{at}\tright {at}\t{subset}\n' for at in range(n)).replace("5.5", "5")


# The seven sets


def test_real_sets_are_whole(real_data):
    assert tuple(ROWS) == STS
    for name, rows in ROWS.items():
        task = open_pairs(name, real_data)
        lines = [
            line.split("\t")
            for line in (real_data / "sts" / f"{name}{'-test' if name in ('stsb', 'sickr') else ''}.tsv")
            .read_bytes()
            .decode()
            .removesuffix("\n")
            .split("\n")
        ]
        assert len(task) == len(lines) == rows
        assert list(task.left) == [line[1] for line in lines] and list(task.right) == [line[2] for line in lines]
        assert task.scores.tolist() == [float(line[0]) for line in lines]
        assert list(task.subsets) == (["sickr"] * rows if name == "sickr" else [line[3] for line in lines])
    for name, rows in (("stsb:train", 5749), ("stsb:dev", 1500), ("sickr:train", 4500), ("sickr:trial", 500)):
        task = open_pairs(name, real_data)
        assert (len(task), task.split) == (rows, name.partition(":")[2])
    # A quote in the data is a letter, and some sentences begin with one that is never closed.
    assert sum(text.count('"') % 2 for text in open_pairs("STS-B", real_data).left) > 0


def test_the_folder_of_the_environment(real_data, monkeypatch, offline):
    monkeypatch.setenv("UNCONE_DATA", str(real_data))
    assert len(open_pairs("sts16")) == 1186


@pytest.mark.parametrize(("name", "file"), [("sts13", "sts13.tsv"), ("stsb:dev", "stsb-dev.tsv")])
@pytest.mark.parametrize("inside", ["sts/", ""])
def test_tsv(name, file, inside, tmp_path, small):
    write(tmp_path / f"{inside}{file}", pairs_tsv())
    task = open_pairs(name, tmp_path)
    assert (task.name, len(task), set(task.subsets)) == (name.partition(":")[0], 12, {"news"})
    assert (task.left[3], task.right[3], task.scores[3]) == ('said "3', "right 3", 4.5)
    assert not task.labeled


def test_rows_are_counted(tmp_path):
    path = write(tmp_path / "sts" / "sts13.tsv", pairs_tsv(1499))
    assert said(ShapeError, open_pairs, "sts13", tmp_path).startswith(
        f"{path} has 1,499 rows, but STS13 test has 1,500"
    )


SUBSETS = {
    "sts12": ["MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"],
    "sts13": ["FNWN", "OnWN", "headlines"],
    "sts14": ["OnWN", "deft-forum", "deft-news", "headlines", "images", "tweet-news"],
    "sts15": ["answers-forums", "answers-students", "belief", "headlines", "images"],
    "sts16": ["answer-answer", "headlines", "plagiarism", "postediting", "question-question"],
}


def official(folder: Path, subsets, prefix="STS", extra=""):
    for at, subset in enumerate(subsets):
        texts = [f'a{at}.{row}\tb "{row}{extra}' for row in range(5)]
        scores = [f"{row}.{at}" for row in range(5)]
        scores[1] = ""  # nobody scored it
        write(folder / f"{prefix}.input.{subset}.txt", "\n".join(texts) + "\n")
        write(folder / f"{prefix}.gs.{subset}.txt", "\n".join(scores) + "\n")


@pytest.mark.parametrize("name", SUBSETS)
@pytest.mark.parametrize("inside", ["", "STS/", "downstream/STS/"])
def test_official_folders(name, inside, tmp_path, monkeypatch):
    subsets = SUBSETS[name]
    monkeypatch.setitem(tasks_sts.SETS[name].rows, "test", 4 * len(subsets))
    official(tmp_path / inside / f"STS{name[3:]}-en-test", subsets)
    task = open_pairs(name, tmp_path)
    names = [subset.removeprefix("surprise.") for subset in subsets]
    assert list(task.subsets) == [subset for subset in names for _ in range(4)]
    assert list(task.left) == [f"a{at}.{row}" for at in range(len(names)) for row in (0, 2, 3, 4)]
    assert task.scores.tolist() == [float(f"{row}.{at}") for at in range(len(names)) for row in (0, 2, 3, 4)]
    assert set(task.right) == {'b "0', 'b "2', 'b "3', 'b "4'}


def test_the_release_of_2016_tells_sources(tmp_path, monkeypatch):
    monkeypatch.setitem(tasks_sts.SETS["sts16"].rows, "test", 20)
    folder = tmp_path / "sts2016-english-with-gs-v1.0"
    official(folder, SUBSETS["sts16"], "STS2016", "\tfrom here\tfrom there")
    assert open_pairs("sts16", tmp_path).right[0] == 'b "0'
    (folder / "STS2016.gs.plagiarism.txt").unlink()
    assert "has no STS2016.gs.plagiarism.txt" in said(MissingSourceError, open_pairs, "sts16", tmp_path)


def test_damaged_official_folders(tmp_path):
    folder = tmp_path / "STS13-en-test"
    official(folder, SUBSETS["sts13"])
    path = write(folder / "STS.gs.OnWN.txt", "1\n2\n3\n")
    assert "has 5 lines, but STS.gs.OnWN.txt 3" in said(ShapeError, open_pairs, "sts13", tmp_path)
    write(path, "1\n2\n5.1\n4\n5\n")
    assert said(FormatError, open_pairs, "sts13", tmp_path).startswith(f"{path}, line 3: the score 5.1 is out of range")
    write(path, "1\n2\n3\n4\n5\n")
    texts = write(folder / "STS.input.OnWN.txt", "a\tb\na\tb\tc\n" + "a\tb\n" * 3)
    assert said(ShapeError, open_pairs, "sts13", tmp_path).startswith(f"{texts}, line 2: 3 columns")


@pytest.mark.parametrize("inside", ["stsbenchmark/", "STS/STSBenchmark/", "sts/", ""])
def test_original_benchmark(inside, tmp_path, small):
    rows = [f'main-news\tMSRpar\t2012test\t{at:04}\t{at % 6}.0\ta "{at}\tb{at}' for at in range(12)]
    rows[3] += "\thttp://a\tlicence"
    write(tmp_path / f"{inside}sts-test.csv", "\r\n".join(rows) + "\r\n")
    task = open_pairs("stsb", tmp_path)
    assert task.left[3] == 'a "3' and task.right[11] == "b11" and set(task.subsets) == {"main-news/MSRpar"}
    assert task.scores.tolist() == [at % 6 for at in range(12)]


@pytest.mark.parametrize(
    ("split", "file"), [("test", "SICK_test_annotated.txt"), ("train", "SICK_train.txt"), ("trial", "SICK_trial.txt")]
)
def test_original_sick(split, file, tmp_path, small):
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    rows = "".join(f"{at}\tA {at}\tB {at}\t{1 + at / 3:.2f}\tNEUTRAL\n" for at in range(12))
    write(tmp_path / "SICK" / file, header + rows)
    task = open_pairs(f"sickr:{split}", tmp_path)
    assert len(task) == 12 and task.left[0] == "A 0" and task.scores[3] == 2.0 and set(task.subsets) == {"sickr"}
    write(tmp_path / "SICK" / file, header + rows.replace("\t1.00\t", "\t0.9\t"))
    assert "line 2: the score 0.9 is out of range; we need one from 1 to 5" in said(
        FormatError, open_pairs, f"sickr:{split}", tmp_path
    )


@pytest.mark.parametrize(
    ("line", "error", "words"),
    [
        ("3\ta\tb", ShapeError, "line 5: 3 columns; we need 4 (score, sentence1, sentence2, subset)"),
        ("3\ta\tb\tnews\tmore", ShapeError, "line 5: 5 columns; we need 4"),
        ("many\ta\tb\tnews", FormatError, "line 5: 'many' is not a number"),
        ("nan\ta\tb\tnews", FormatError, "line 5: the score nan is out of range; we need one from 0 to 5"),
        ("-0.1\ta\tb\tnews", FormatError, "line 5: the score -0.1 is out of range"),
    ],
)
def test_damaged_rows_tell_their_line(line, error, words, tmp_path, small):
    lines = pairs_tsv().splitlines()
    lines[4] = line
    path = write(tmp_path / "sts12.tsv", "\n".join(lines) + "\n")
    assert f"{path}, {words}" in said(error, open_pairs, "sts12", tmp_path)


def test_unknown_names(tmp_path):
    for name in STS:
        assert name in said(MissingSourceError, open_pairs, "sts17", tmp_path)
    assert "has no split 'train'; it has test" in said(OptionError, open_pairs, "sts12:train", tmp_path)
    assert "it has train, dev, test" in said(OptionError, open_pairs, "stsb:trial", tmp_path)


def test_neither_here_nor_there(tmp_path, offline):
    reach = "and the Hugging Face hub could not be reached (Name or service not known)"
    assert said(MissingSourceError, open_pairs, "stsb") == (
        f"The dataset stsb was not found: no --data and no UNCONE_DATA was given, {reach}. "
        "Use --data FOLDER with sts/stsb-test.tsv in it."
    )
    message = said(MissingSourceError, open_pairs, "sts13", tmp_path)
    assert f"{tmp_path} has no sts/sts13.tsv or STS13-en-test/STS.input.FNWN.txt, {reach}" in message
    assert "SICK_trial.txt" in said(MissingSourceError, open_pairs, "sickr:trial", tmp_path)
    assert "sst2/dev.tsv" in said(MissingSourceError, open_labeled, "sst2:dev", tmp_path)
    assert "wic/dev.jsonl" in said(MissingSourceError, open_wic, "wic", tmp_path)


def test_the_hub(hub, small, tmp_path):
    tables, asked = hub
    columns = {"sentence1": [f"a{at}" for at in range(12)], "sentence2": [None] + ["b"] * 11}
    tables["mteb/sts14-sts"] = {**columns, "score": [at / 3 for at in range(12)]}
    task = open_pairs("sts14", tmp_path)
    assert list(task.left) == columns["sentence1"] and list(task.right) == ["", *["b"] * 11]
    assert task.scores.tolist() == [at / 3 for at in range(12)] and set(task.subsets) == {"sts14"}
    genres = {"genre": ["main-news"] * 12, "dataset": ["MSRpar"] * 12}
    tables["mteb/stsbenchmark-sts"] = {**tables["mteb/sts14-sts"], **genres}
    assert set(open_pairs("stsb:dev").subsets) == {"main-news/MSRpar"}
    tables["SemEvalWorkshop/sem_eval_2014_task_1"] = {
        "premise": columns["sentence1"],
        "hypothesis": columns["sentence1"],
        "relatedness_score": [1 + at / 3 for at in range(12)],
    }
    assert open_pairs("sickr:trial").scores[0] == 1.0
    assert asked == [
        ("mteb/sts14-sts", None, "test", None),
        ("mteb/stsbenchmark-sts", None, "validation", None),
        ("SemEvalWorkshop/sem_eval_2014_task_1", None, "validation", "refs/convert/parquet"),
    ]
    tables["mteb/sts15-sts"] = {key: value[:11] for key, value in tables["mteb/stsbenchmark-sts"].items()}
    assert "has 11 rows, but STS15 test has 12" in said(ShapeError, open_pairs, "sts15")
    tables["mteb/sts16-sts"] = {"sentence1": ["a"], "sentence2": ["b"]}
    assert "no longer has a column 'score'" in said(MissingSourceError, open_pairs, "sts16")
    tables["mteb/sts14-sts"]["score"][2] = 7.0
    assert "mteb/sts14-sts on the Hugging Face hub, row 3: the score 7.0" in said(FormatError, open_pairs, "sts14")


# Pairs of one's own

OWN = [(f"text, {at}", f'said "{at}"', at % 2) for at in range(12)]


def own_file(tmp_path, kind):
    names = ("sentence1", "sentence2", "label")
    path = tmp_path / f"own{kind}"
    if kind == ".parquet":
        pq.write_table(pa.table(dict(zip(names, zip(*OWN, strict=True), strict=True))), path)
    elif kind == ".jsonl":
        write(path, "\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in OWN))
    elif kind == ".csv":
        quoted = [f'"{left}","{right.replace(chr(34), chr(34) * 2)}",{label}' for left, right, label in OWN]
        write(path, "\n".join([",".join(names), *quoted]))
    else:
        write(path, "\n".join("\t".join(map(str, row)) for row in [names, *OWN]))
    return path


@pytest.mark.parametrize("kind", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_pairs_of_ones_own(kind, tmp_path):
    path = own_file(tmp_path, kind)
    for task in (read_pairs(path), read_pairs(str(path), "sentence1", "sentence2", "label"), open_pairs(path)):
        assert list(zip(task.left, task.right, task.scores.tolist(), strict=True)) == OWN
        assert task.labeled and task.name == path.name
    swapped = read_pairs(path, left="sentence2", right="sentence1")
    assert list(swapped.left) == [row[1] for row in OWN]
    message = said(ColumnError, read_pairs, path, score="points")
    assert f"{path} has no column 'points'; it has sentence1, sentence2, label" in message


def test_a_table_without_a_header(tmp_path):
    path = write(tmp_path / "own.tsv", "".join(f"a{at}\tb{at}\t0.{at}\n" for at in range(10)))
    task = read_pairs(path, "1", "2", "3")
    assert len(task) == 10 and task.left[0] == "a0" and not task.labeled


def test_words_as_labels(tmp_path):
    path = write(tmp_path / "own.csv", "a,b,label\n" + "".join(f"x{i},y,Yes\nx{i},z,no\n" for i in range(5)))
    assert read_pairs(path).scores.tolist() == [1.0, 0.0] * 5


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("a,b,score\n" + "x,y,1\n" * 9, ShapeError, "own.csv has 9 pairs; we need at least 10"),
        ("a,b,score\n" + "x,y,1\n y ,x,2\n" * 20, ShapeError, "own.csv has 1 distinct pairs; we need at least 10"),
        ("a,b,score\n" + "x,y,1\n" * 20, FormatError, "all 20 scores are 1. We need both 0 and 1."),
        ("a,b,score\n" + "x,y,0.5\n" * 20, FormatError, "all 20 scores are 0.5. We need pairs that differ."),
        ("a,b,score\n" + "x,y,1\n" * 3 + "x,y\n", ShapeError, "line 5 has 2 columns, the first has 3"),
        ("a,b,score\n" + "x,y,1\n" * 3 + "x,y,1,2\n", ShapeError, "line 5 has 4 columns, the first has 3"),
        ("a,b,score\n" + "x,y,1\n" * 3 + 'x,"y,1\n', FormatError, "line 5: not a row of a .csv"),
        ("a,b,score\n" + "x,y,1\n" * 3 + "x,y,maybe\n", FormatError, "line 5: 'maybe' is not a number"),
        ("a,b,score\n" + "x,y,1\n" * 3 + "x,y,inf\n", FormatError, "line 5: the score inf is out of range"),
        ("a,score\n" + "x,1\n" * 12, ColumnError, "no column that must be the first text; it has a, score"),
        ("a,b,a,score\n" + "x,y,x,1\n" * 12, ColumnError, "several columns named 'a'"),
        ("", FormatError, "is empty"),
        ("a,b,score\n", FormatError, "has a header but no rows"),
        ("a;b;score\nx;y;1\n", FormatError, "has one column, 'a;b;score'. Write it with commas, not semicolons."),
    ],
)
def test_bad_pairs(text, error, words, tmp_path):
    path = write(tmp_path / "own.csv", text)
    assert words in said(error, read_pairs, path)


def test_other_bad_pairs(tmp_path):
    assert "the table has a header but no rows" in said(FormatError, read_pairs, {"a": [], "b": [], "score": []})
    assert "There is no file" in said(MissingSourceError, read_pairs, tmp_path / "none.csv")
    assert "unknown ending '.doc'" in said(FormatError, read_pairs, write(tmp_path / "a.doc", "x"))
    path = write(tmp_path / "own.csv", "a,b,score\n" + "".join(f"x{i},y,1\nx{i},z,7\n" for i in range(6)))
    assert len(read_pairs(path)) == 12
    assert "line 3: the score 7 is out of range; we need one from 0 to 5" in said(
        FormatError, read_pairs, path, scale=(0, 5)
    )
    assert "need three columns" in said(FormatError, read_pairs, path, left="a", right="a")
    path = write(tmp_path / "own.jsonl", '{"a": "x", "b": "y", "score": 1}\n\n{"a": "x", "score": 1}\n')
    assert f"{path}, line 3: no 'b'; the row has a, score" in said(ColumnError, read_pairs, path)
    write(path, '{"a": "x", "b": 3, "score": 1}\n')
    assert "line 1: 'b' is 3; we need a text" in said(FormatError, read_pairs, path)
    write(path, "[1]\n")
    assert "line 1: a list; we need an object" in said(FormatError, read_pairs, path)
    assert "not a readable parquet file" in said(FormatError, read_pairs, write(tmp_path / "own.parquet", "PAR1"))
    scores = np.arange(12.0)
    assert "different lengths" in said(ShapeError, PairTask, "x", ["a"] * 12, ["b"] * 11, scores, ["x"] * 12)


# Labeled texts


def test_sst2(real_data):
    for split, rows in (("train", 67349), ("dev", 872), ("test", 1821)):
        task = open_labeled(f"sst2:{split}", real_data)
        assert len(task) == rows == sum(task.classes.values()) and set(task.classes) == {"0", "1"}
    assert open_labeled("sst2", real_data).split == "test"


def test_sst2_of_the_hub(hub, monkeypatch, tmp_path):
    tables, asked = hub
    monkeypatch.setitem(tasks_labeled.LABELED, "sst2", {"train": 10, "dev": 10, "test": 10})
    tables["stanfordnlp/sst2"] = {"sentence": ["a", "b"] * 5, "label": [0, 1] * 5}
    tables["SetFit/sst2"] = {"text": ["c", "d"] * 5, "label": [1, 0] * 5}
    assert open_labeled("sst2:dev", tmp_path).classes == {"0": 5, "1": 5}
    task = open_labeled("sst2")
    assert (task.texts[0], task.labels[0]) == ("c", "1")
    assert [one[::2] for one in asked] == [("stanfordnlp/sst2", "validation"), ("SetFit/sst2", "test")]


def test_labeled_files(tmp_path):
    path = write(tmp_path / "own.csv", "Text,kind\n" + "good film,pos\nbad film,neg\n" * 5)
    task = open_labeled(path, label="kind")
    assert task.classes == {"neg": 5, "pos": 5} and task.texts[1] == "bad film"
    assert "no column that must be the label; it has Text, kind" in said(ColumnError, open_labeled, path)
    write(path, "text,label\n" + "a,1\n" * 12)
    assert "all 12 labels are '1'. We need two classes" in said(FormatError, open_labeled, path)
    write(path, "text,label\n" + "a,1\nb,2\n" * 4)
    assert "has 8 texts; we need at least 10" in said(ShapeError, open_labeled, path)
    write(path, "text,label\n" + "a,1\nb,\n" * 8)
    assert f"{path}, line 3: the label is ''" in said(FormatError, open_labeled, path)
    assert "the datasets are sst2" in said(MissingSourceError, open_labeled, "sst3")
    path = write(tmp_path / "data" / "sst2" / "dev.tsv", "fine \t1\nbad \t0\textra\n")
    assert f"{path}, line 2: 3 columns; we need 2" in said(ShapeError, open_labeled, "sst2:dev", tmp_path / "data")


# Retrieval


def test_cranfield(real_data):
    task = open_retrieval("cranfield", real_data)
    assert (len(task.docs), len(task.queries), task.empty, task.unknown) == (1400, 225, 2, 0)
    assert sum(len(judged) for judged in task.qrels.values()) == 1837
    first = json.loads((real_data / "cranfield" / "corpus.jsonl").read_text().splitlines()[0])
    assert task.docs[0] == f"{first['title']} {first['text']}" and task.doc_ids[0] == first["_id"]
    assert task.qrels["1"]["184"] == 3


def beir(folder, judged="query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td9\t2\n", place="qrels/test.tsv"):
    docs = [{"_id": "d1", "title": "T", "text": "one"}, {"_id": "d2", "text": "two"}, {"_id": "d3", "text": ""}]
    write(folder / "corpus.jsonl", "\n".join(map(json.dumps, docs)))
    write(folder / "queries.jsonl", '{"_id": "q1", "text": "what?"}\n')
    write(folder / place, judged)
    return folder


@pytest.mark.parametrize("place", ["qrels.tsv", "qrels/test.tsv"])
def test_a_folder_of_beir(place, tmp_path):
    task = open_retrieval(beir(tmp_path / "mine", place=place))
    assert list(task.docs) == ["T one", "two", ""] and (task.name, task.empty, task.unknown) == ("mine", 1, 1)
    assert task.qrels == {"q1": {"d1": 1, "d9": 2}}
    trec = beir(tmp_path / "trec", "q1\t0\td1\t1\n")
    assert open_retrieval(trec).qrels == {"q1": {"d1": 1}}


def test_bad_retrieval(tmp_path):
    assert "There is no folder nowhere or " in said(MissingSourceError, open_retrieval, "nowhere", tmp_path)
    folder = beir(tmp_path / "mine", "query-id\tcorpus-id\tscore\nq7\td1\t1\n")
    assert "no query has a relevant document" in said(FormatError, open_retrieval, folder)
    path = write(folder / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\n")
    assert f"{path}, line 2: 2 columns" in said(ShapeError, open_retrieval, folder)
    path.unlink()
    assert "has no qrels.tsv or qrels/test.tsv" in said(MissingSourceError, open_retrieval, folder)
    beir(folder)
    write(folder / "queries.jsonl", '{"_id": "q1", "text": "a"}\n{"_id": "q1", "text": "b"}\n')
    assert "the query 'q1' occurs twice" in said(FormatError, open_retrieval, folder)
    (folder / "corpus.jsonl").unlink()
    assert "has no corpus.jsonl" in said(MissingSourceError, open_retrieval, folder)


# Words


def test_wic(real_data):
    for split, rows in (("train", 5428), ("dev", 638)):
        task = open_wic(f"wic:{split}", real_data)
        assert len(task) == rows and task.labels.mean() == 0.5
        stems = [
            text[start:end].lower()[:2] == word.lower()[:2]
            for word, text, (start, end) in zip(task.words, task.right, task.right_spans, strict=True)
        ]
        assert np.mean(stems) > 0.95  # the others are irregular forms


WIC_ROW = {"word": "go", "sentence1": "I go", "sentence2": "go on", "start1": 2, "end1": 4, "start2": 0, "end2": 2}


def test_wic_of_the_hub(hub, monkeypatch):
    tables, asked = hub
    monkeypatch.setitem(tasks_wic.WIC, "dev", 10)
    tables["aps/super_glue"] = {**{key: [value] * 10 for key, value in WIC_ROW.items()}, "label": [0, 1] * 5}
    task = open_wic()
    assert task.left_spans[0] == (2, 4) and task.labels.tolist() == [False, True] * 5
    assert asked[0][:3] == ("aps/super_glue", "wic", "validation")
    tables["aps/super_glue"]["label"] = [-1] * 10
    assert "row 1: the label is -1" in said(FormatError, open_wic)


def test_bad_wic(tmp_path):
    def file(*rows):
        return write(tmp_path / "own.jsonl", "\n".join(map(json.dumps, rows)))

    good = [{**WIC_ROW, "label": bool(at % 2)} for at in range(10)]
    assert len(open_wic(file(*good))) == 10
    path = file(*good, {**good[0], "end1": 5})
    assert f"{path}, line 11: the word is at 2 to 5, but the sentence has 4" in said(FormatError, open_wic, path)
    assert "all 10 labels are False" in said(FormatError, open_wic, file(*good[::2], *good[::2]))
    assert "has 9 pairs" in said(ShapeError, open_wic, file(*good[:9]))
    assert "has no split 'test'; it has train, dev" in said(OptionError, open_wic, "wic:test")


@pytest.mark.parametrize(
    ("file", "header", "row"),
    [
        ("wordsim353/combined.csv", "Word 1,Word 2,Human (mean)\n", "tiger{0},cat,{0}.5\n"),
        ("wordsim353.tsv", "", "tiger{0}\tcat\t{0}.5\n"),
        ("wordsim353.tsv", "# a comment\n", "tiger{0} cat {0}.5\n"),
        ("SimLex-999/SimLex-999.txt", "word1\tword2\tPOS\tSimLex999\tconc(w1)\n", "tiger{0}\tcat\tN\t{0}.5\t9\n"),
    ],
)
def test_word_pairs(file, header, row, tmp_path):
    path = write(tmp_path / file, header + "".join(row.format(at) for at in range(10)))
    name = "simlex999" if "Sim" in file else "wordsim353"
    for pairs in (open_word_pairs(name, tmp_path), open_word_pairs(path)):
        assert list(pairs.left) == [f"tiger{at}" for at in range(10)] and set(pairs.right) == {"cat"}
        assert pairs.scores.tolist() == [at + 0.5 for at in range(10)]


def test_bad_word_pairs(tmp_path):
    assert "we know wordsim353, simlex999" in said(MissingSourceError, open_word_pairs, "men", tmp_path)
    assert f"{tmp_path} has none of them" in said(MissingSourceError, open_word_pairs, "simlex-999", tmp_path)
    path = write(tmp_path / "own.tsv", "a\tb\t1\nc\td\n")
    assert f"{path}, line 2: 2 columns" in said(ShapeError, open_word_pairs, path)
    write(path, "a\tb\tfirst\tsecond\nc\td\t1\t2\n")
    assert "has no column of scores; it has a, b, first, second" in said(ColumnError, open_word_pairs, path)
    write(path, "a\tb\t1\n" * 10)
    assert "all 10 scores are 1" in said(FormatError, open_word_pairs, path)
    write(path, "a\tb\t1\n" * 9 + "a\tb\tx\n")
    assert re.search("line 10: 'x' is not a number", said(FormatError, open_word_pairs, path))
