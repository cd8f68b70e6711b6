"""`uncone evaluate` and `uncone fix --method auto` with bad input: one line, exit code 2, and no input is lost."""

from __future__ import annotations

import json

import numpy as np
import pytest
from commands import refused, run

from uncone.evaluation.papers.suite import Figure

WORDS = ["school", "text", "go", "the", "cat", "dog", "tree", "rain", "snow", "car", "boat", "bird", "fish", "book"]


@pytest.fixture(autouse=True)
def files(tmp_path):
    """Pairs, labels, texts, word vectors and a folder of retrieval, all small."""
    pairs = [f"go {word} the text,the {word} text,{at % 6}" for at, word in enumerate(WORDS)]
    labels = [f"go {word} {at},{'good' if at % 2 else 'bad'}" for at, word in enumerate(WORDS)]
    (tmp_path / "pairs.csv").write_text("\n".join(["sentence1,sentence2,score", *pairs]) + "\n")
    (tmp_path / "labels.csv").write_text("\n".join(["text,label", *labels]) + "\n")
    (tmp_path / "texts.txt").write_text("".join(f"the {word} is text {at}\n" for at, word in enumerate(WORDS)))
    folder = tmp_path / "search"
    folder.mkdir()
    for name, start in (("corpus", "d"), ("queries", "q")):
        rows = [json.dumps({"_id": f"{start}{at}", "text": f"{name} {word}"}) for at, word in enumerate(WORDS)]
        (folder / f"{name}.jsonl").write_text("\n".join(rows) + "\n")
    judged = "".join(f"q{at}\td{at}\t1\n" for at in range(8))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged)
    rows = np.random.default_rng(0).normal(size=(60, 8)) + 1
    np.save(tmp_path / "rows.npy", rows.astype(np.float32))
    (tmp_path / "rows.csv").write_text("left,right,score\n" + "".join(f"{i},{i + 30},{i % 5}\n" for i in range(30)))


def evaluation(model, *arguments):
    usual = ["--fit-on", "texts.txt", "--methods", "raw,center", "--replicates", "20", "--no-html"]
    return ["evaluate", model, *usual, *arguments]


@pytest.mark.parametrize("option", ["--json", "--csv", "--latex", "--markdown"])
@pytest.mark.parametrize(
    ("asked", "path"),
    [
        (["--dataset", "pairs.csv"], "texts.txt"),
        (["--task", "labels:labels.csv"], "labels.csv"),
        (["--task", "retrieval:search"], "search/corpus.jsonl"),
    ],
)
def test_no_input_is_written_over(option, asked, path, tiny_model, tmp_path, capfd):
    assert "would overwrite the source" in refused(tmp_path, capfd, *evaluation(tiny_model, *asked, option, path))


def test_a_saved_repair_is_not_written_over(tiny_model, tmp_path, capfd):
    made = ["--method", "center", "--save", "mine", "--no-html"]
    assert run("fix", "texts.txt", "--model", str(tiny_model), *made) == 0
    capfd.readouterr()
    asked = ["--dataset", "pairs.csv", "--methods", "raw,mine/", "--json", "mine/repair.json"]
    assert "would overwrite the source" in refused(tmp_path, capfd, *evaluation(tiny_model, *asked))


def test_a_report_can_be_made_again(tiny_model, capfd):
    asked = ["evaluate", str(tiny_model), "--dataset", "pairs.csv", "--fit-on", "texts.txt", "--replicates", "20"]
    assert run(*asked, "--methods", "raw", "--json", "a.json") == 0
    assert run(*asked, "--methods", "raw,,center", "--json", "a.json") == 0


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["--dataset", "pairs.csv", "--seed", "-1"], "--seed must be 0 to"),
        (["--dataset", "pairs.csv", "--seed", str(1 << 32)], "--seed must be 0 to"),
        (["--dataset", "pairs.csv", "--fit-on", "pairs.csv"], "Give --fit-on one text per line"),
        (["--dataset", "pairs.csv", "--fit-on", "blank.txt"], "only blank texts"),
        (["--dataset", "odd.csv"], "Call it 'score'"),
        (["--task", "labels:blank.csv"], "blank.csv, line 4: the text is blank"),
        (["--task", "pairs:pairs.csv"], "--dataset"),
        (["--task", "words:pairs.csv"], "name a file of word vectors, not a model"),
        (["--task", "wic:foo"], "tested on dev"),
        (["--task", "wic:train"], "tested on dev"),
        (["--task", "sst2:train"], "sst2:dev"),
        (["--suite", "papers", "--out", "tables", "--layer", "1"], "leave --methods out"),
    ],
)
def test_what_cannot_be_asked(asked, words, tiny_model, tmp_path, capfd):
    (tmp_path / "blank.txt").write_text("\n \n\n")
    (tmp_path / "odd.csv").write_text((tmp_path / "pairs.csv").read_text().replace("score", "rank", 1))
    (tmp_path / "blank.csv").write_text("text,label\none,a\ntwo,b\n,a\n" + "three,a\nfour,b\n" * 6)
    assert words in refused(tmp_path, capfd, *evaluation(tiny_model, *asked))


def test_a_score_of_retrieval_is_whole(tiny_model, tmp_path, capfd):
    with (tmp_path / "search/qrels.tsv").open("a") as file:
        file.write("q1\td2\t0.5\n")
    line = refused(tmp_path, capfd, *evaluation(tiny_model, "--task", "search"))
    assert "qrels.tsv, line 10" in line and "whole number" in line


def test_what_retrieval_lost_is_said(tiny_model, tmp_path, capfd):
    with (tmp_path / "search/qrels.tsv").open("a") as file:
        file.write("q1\tnone\t1\n")
    queries = tmp_path / "search/queries.jsonl"
    queries.write_text(queries.read_text().replace("queries school", " "))
    assert run(*evaluation(tiny_model, "--task", "search")) == 0
    said = " ".join(capfd.readouterr().out.split())
    assert "1 queries without a vector." in said
    assert "1 judgments on documents or queries that are not there." in said


def test_why_a_task_has_no_score(tiny_model, tmp_path, capfd):
    (tmp_path / "alike.csv").write_text("a,b,label\n,x,1\n" + "".join(f"x {i},y,1\nx {i},z,0\n" for i in range(6)))
    assert run(*evaluation(tiny_model, "--task", "pairs:alike.csv")) == 0
    said = " ".join(capfd.readouterr().out.split())
    assert "raw on alike.csv: undefined, because 1 of 13 similarities are not finite." in said
    rows = np.random.default_rng(0).normal(size=(len(WORDS), 4))
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in zip(WORDS, rows.tolist(), strict=True)]
    (tmp_path / "words.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "same.tsv").write_text("".join(f"cat\tdog\t{at}\n" for at in range(12)))
    assert run(*evaluation("words.txt", "--task", "words:same.tsv", "--json", "a.json")) == 0
    assert "undefined, because only 1 of 12 pairs are distinct and have vectors" in " ".join(
        capfd.readouterr().out.split()
    )
    assert "NaN" not in (tmp_path / "a.json").read_text()


def test_a_repair_of_another_space(tiny_model, tmp_path, capfd):
    made = ["--method", "center", "--save", "mine", "--no-html", "--layer", "1"]
    assert run("fix", "texts.txt", "--model", str(tiny_model), *made) == 0
    capfd.readouterr()
    asked = ["--dataset", "pairs.csv", "--methods", "raw,mine/"]
    assert "fitted on layer 1, and this is 2" in refused(tmp_path, capfd, *evaluation(tiny_model, *asked))
    assert run(*evaluation(tiny_model, *asked, "--layer", "all")) == 0
    assert "fitted on layer 1, and this is 0" in " ".join(capfd.readouterr().out.split())


@pytest.fixture
def small_suite(monkeypatch):
    """The suite with parts whose figures cost nothing; the list holds the names of those that were measured."""
    measured = []

    def run(part, model, dim, settings, limit):
        measured.append(part.name)
        values = {"spearman": 0.5, "pearson": 0.5, "wmean": 0.5, "published": -1.0, "both_signs": -2.0, "unit": -1.0}
        return [Figure(part.part, "raw", "", dataset, {**values, "accuracy": 0.5}, 9) for dataset in part.datasets]

    monkeypatch.setattr("uncone.evaluation.papers.suite.run", run)
    return measured


def suite(model, *arguments):
    return ["evaluate", str(model), "--suite", "papers", "--out", "tables", "--replicates", "20", *arguments]


def test_a_suite_is_made_again_when_it_is_not_the_same(small_suite, tiny_model, tmp_path, capfd):
    asked = suite(tiny_model, "--fit-on", "texts.txt")
    assert run(*asked) == 0 and "kept" not in capfd.readouterr().out
    parts = list(small_suite)
    assert len(parts) == len(set(parts)) == 10 and "supervised" not in parts
    first = {path.name: path.read_bytes() for path in (tmp_path / "tables").glob("papers.*")}
    assert set(first) == {f"papers.{ending}" for ending in ("html", "md", "tex", "csv", "json")}
    assert run(*asked) == 0
    assert "kept from an earlier run: tokens-sts12" in " ".join(capfd.readouterr().out.split()) and small_suite == parts
    for name, content in first.items():
        assert (tmp_path / "tables" / name).read_bytes() == content, "the same bytes"
    (tmp_path / "tables/parts/classes-sst2.json").write_text('{"made_as": {}')
    (tmp_path / "tables/parts/last-layer.json").unlink()
    assert run(*asked) == 0 and small_suite[10:] == ["classes-sst2", "last-layer"]
    (tmp_path / "texts.txt").write_text("other text\nand one more\n")
    assert run(*asked) == 0 and small_suite[12:] == parts, "the texts of --fit-on are others"
    assert run(*asked, "--limit", "40") == 0 and small_suite[22:] == parts
    assert run(*asked, "--limit", "40", "--supervised", str(tiny_model)) == 0 and small_suite[32:] == ["supervised"]


def test_a_suite_that_is_interrupted_goes_on(small_suite, tiny_model, capfd, monkeypatch):
    from uncone.evaluation.papers import suite as module

    class KilledError(BaseException):
        pass

    def killed(part, *arguments):
        if part.name == "last-layer":
            raise KilledError
        return inner(part, *arguments)

    inner = module.run
    with monkeypatch.context() as patched, pytest.raises(KilledError):
        patched.setattr(module, "run", killed)
        run(*suite(tiny_model))
    assert run(*suite(tiny_model)) == 0
    assert len(small_suite) == 10, "every part was measured once"


def test_options_of_the_suite(tiny_model, tmp_path, capfd):
    assert "--out" in refused(tmp_path, capfd, *suite(tiny_model)[:4])
    assert "--suite papers" in refused(tmp_path, capfd, "evaluate", tiny_model, "--supervised", tiny_model)
    assert "--limit must be" in refused(tmp_path, capfd, *suite(tiny_model, "--limit", "3"))
    assert "leave --seeds out" in refused(tmp_path, capfd, *suite(tiny_model, "--seeds", "2"))


def test_a_file_where_the_suite_wants_a_folder(small_suite, tiny_model, tmp_path, capfd):
    asked = ["evaluate", str(tiny_model), "--suite", "papers", "--out", "pairs.csv"]
    line = refused(tmp_path, capfd, *asked)
    assert "pairs.csv cannot be created" in line and "--out" in line


def choice(*arguments):
    return ["fix", "rows.npy", "--method", "auto", "--no-html", *arguments]


@pytest.mark.parametrize("option", ["--json", "--markdown", "-o"])
def test_pairs_are_not_written_over(option, tmp_path, capfd):
    assert "would overwrite the source" in refused(tmp_path, capfd, *choice("--pairs", "rows.csv", option, "rows.csv"))


@pytest.mark.parametrize("number", ["²", "9" * 5000, "-1", "1.5", ""])
def test_what_is_no_row(number, tmp_path, capfd):
    with (tmp_path / "rows.csv").open("a") as file:
        file.write(f"{number},3,2\n")
    assert "is not a row number" in refused(tmp_path, capfd, *choice("--pairs", "rows.csv", "--save", "mine"))


def test_other_choices_that_cannot_be(tmp_path, capfd):
    assert "--seed must be 0 to" in refused(tmp_path, capfd, *choice("--pairs", "rows.csv", "--seed", "-1"))
    assert "name them with --pairs" in refused(tmp_path, capfd, *choice("--left", "a"))
    assert "--method auto" in refused(
        tmp_path, capfd, "fix", "rows.npy", "--method", "center", "--pairs", "rows.csv", "--left", "a", "--right", "b"
    )
    np.save(tmp_path / "rows.npy", np.ones((60, 8), np.float32))
    assert "all 60 vectors are the same" in refused(tmp_path, capfd, *choice("--pairs", "rows.csv"))


def test_advice_says_what_it_wrote(tmp_path, capfd):
    assert run(*choice("--pairs", "rows.csv", "--json", "advice.json")) == 0
    out = capfd.readouterr().out
    assert "Leave it alone." in out and "wrote advice.json" in out
    assert json.loads((tmp_path / "advice.json").read_text())["prescription"]["recommended"] is None
