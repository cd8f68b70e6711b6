"""`uncone layers`: bad input, outputs, odd texts, and runs that are interrupted and go on."""

from __future__ import annotations

import csv
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from commands import UNCONE
from layer_models import LONGEST, bert, sentences
from safetensors.torch import load_file, save_file
from transformers.utils import logging

from uncone.cli.main import _run
from uncone.run.checkpoint import Checkpoint


def without(*names):
    return lambda folder: [(folder / name).unlink() for name in names]


def reweighted(change):
    def write(folder):
        weights = change(load_file(folder / "model.safetensors"))
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

    return write


def pickled(folder):
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def cut(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def with_code(folder):
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "stranger", "auto_map": {"AutoConfig": "stranger.Config", "AutoModel": "stranger.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "stranger.py").write_text("open('exploded', 'w')\n")


def with_nan(weights):
    weights["encoder.layer.1.output.dense.bias"][3] = float("nan")
    return weights


MODELS = {
    "tiny": lambda folder: None,
    "no-tokenizer": without("tokenizer.json", "tokenizer_config.json"),
    "no-config": without("config.json"),
    "no-weights": without("model.safetensors"),
    "pickled": pickled,
    "cut": cut,
    "garbage": lambda folder: (folder / "model.safetensors").write_bytes(b"\xff" * 500),
    "code": with_code,
    "nan": reweighted(with_nan),
    "half": reweighted(lambda weights: {name: one for name, one in weights.items() if "layer.1." not in name}),
    "foreign": reweighted(lambda weights: {f"other.{name}": one for name, one in weights.items()}),
    "modules": lambda folder: (folder / "modules.json").write_text("{"),
}


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """A folder of models and texts, good and bad, that no test changes."""
    world = tmp_path_factory.mktemp("world")
    logging.disable_progress_bar()
    bert(world / "tiny"), bert(world / "deep", layers=4, seed=1)
    for name, change in MODELS.items():
        if name != "tiny":
            shutil.copytree(world / "tiny", world / name)
            change(world / name)
    texts = sentences()
    lines = "\n".join(texts).encode() + b"\n"
    files = {
        "good.txt": lines,
        "empty.txt": b"",
        "blank.txt": b"\n  \n\t\n" * 20,
        "repeated.txt": (texts[0].encode() + b"\n") * 40,
        "few.txt": "\n".join(texts[:4]).encode(),
        "short.txt": "\n".join(texts[:50]).encode(),
        "latin.txt": lines + b"caf\xe9\n",
        "binary.txt": bytes(range(256)) * 9,
        "one.csv": b"text,other\n" + b"".join(f"{text},x\n".encode() for text in texts),
        "two.csv": b"a,b\n" + b"".join(f"{a},{b}\n".encode() for a, b in zip(texts[::2], texts[1::2], strict=True)),
        "good.txt.gz": gzip.compress(lines),
        "good.jsonl": b"".join(json.dumps({"text": text}).encode() + b"\n" for text in texts),
        "cut.txt.gz": gzip.compress(lines)[:-30],
        "long.txt": lines + (" ".join(texts[:9]).replace(".", "").encode() + b"\n") + (b"cat dog " * 60 + b"\n"),
        "file": b"x",
    }
    for name, data in files.items():
        (world / name).write_bytes(data)
    (world / "good.txt.zst").write_bytes(pa.compress(lines, codec="zstd", asbytes=True))
    known = sorted({word for text in texts for word in text.rstrip(".").split() if word.isalpha()} - {"slowly"})
    rows = np.random.default_rng(0).normal(size=(len(known), 8))
    (world / "words.vec").write_text(
        f"{len(known)} 8\n"
        + "".join(f"{word} {' '.join(f'{x:.4f}' for x in row)}\n" for word, row in zip(known, rows, strict=True))
    )
    return world


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    # Batches of two texts are too small to share out, and processes are to have the digits of ours.
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    torch.set_num_threads(1)


@pytest.fixture
def layers(world):
    """Runs the command on the good model and texts unless others are given; returns the exit code."""

    def run(*arguments, model="tiny", corpus="good.txt", html=False):
        texts = [] if corpus is None else ["--corpus", str(world / corpus)]
        page = [] if html else ["--no-html"]
        return _run(["layers", str(world / model), *texts, *page, *map(str, arguments)])

    return run


def complaint(capfd):
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("uncone: ") and err.count("\n") == 1, err
    assert "unexpected" not in err and len(err) < 700
    assert list(Path().iterdir()) == [], "nothing may be written"
    return err


# --- bad input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("nowhere", "There is no model folder"),
        ("file", "no word vectors"),
        ("no-tokenizer", "has no tokenizer"),
        ("no-config", "has no config.json"),
        ("no-weights", "has no weights"),
        ("pickled", "--allow-pickle"),
        ("cut", "could not be loaded"),
        ("garbage", "could not be loaded"),
        ("code", "--trust-remote-code"),
        ("nan", "NaN or infinity at layer 2"),
        ("modules", "modules.json"),
        ("half", "weights"),
        ("foreign", "weights"),
    ],
)
def test_a_model_that_cannot_be_used(model, says, layers, capfd):
    assert layers(model=model) == 2
    assert says in complaint(capfd)


def test_a_model_from_nowhere(world, capfd, monkeypatch):
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    assert _run(["layers", "no-such-owner/no-such-model", "--corpus", str(world / "good.txt")]) == 2
    assert sum(slept) < 30, "a hub that is not there is not asked again and again"
    err = complaint(capfd)
    assert "no local folder 'no-such-owner/no-such-model'" in err and "hub" in err


def test_a_name_too_long_for_a_file(world, capfd):
    assert _run(["layers", "x" * 400, "--corpus", str(world / "good.txt")]) == 2
    complaint(capfd)


def test_pickled_weights_on_demand(layers, capfd):
    assert layers("--allow-pickle", "--json", "a.json", model="pickled") == 0
    assert layers("--json", "b.json") == 0
    one, other = (json.loads(Path(name).read_text()) for name in ("a.json", "b.json"))
    assert one["layers"] == other["layers"] and one["words"] == other["words"]


@pytest.mark.parametrize(
    ("corpus", "arguments", "says"),
    [
        ("empty.txt", [], "empty (0 bytes)"),
        ("blank.txt", [], "holds no text"),
        ("repeated.txt", [], "duplicates were left out"),
        ("few.txt", [], "stands in 5 different texts (the most is 4)"),
        ("latin.txt", [], "line 151: not UTF-8"),
        ("binary.txt", [], "line 1: binary data"),
        ("cut.txt.gz", [], "damaged .gz"),
        ("nowhere.txt", [], "no corpus of that name"),
        ("file", [], "unknown ending"),
        ("one.csv", ["--text", "nothing"], "it has text, other"),
        ("two.csv", [], "several columns: a, b"),
        ("good.txt", ["--text", "a"], "bare texts have no columns"),
    ],
)
def test_texts_that_cannot_be_used(corpus, arguments, says, layers, capfd):
    assert layers(*arguments, corpus=corpus) == 2
    assert says in complaint(capfd)


@pytest.mark.parametrize(
    ("corpus", "says"),
    [
        (["nothing-of-that-name"], "the corpora are snli"),
        (["snli:nothing"], "it has dev, test, train"),
        (["ptb", "--data", "nowhere"], "Use --data FOLDER"),
        (["-", "--corpus", "-"], "only once"),
    ],
)
def test_corpora_that_are_not_there(corpus, says, layers, capfd):
    assert layers("--corpus", *corpus, corpus=None) == 2
    assert says in complaint(capfd)


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--rows nonsense", '"words", "tokens", "cls", "sentences"'),
        ("--pooling nonsense", '"mean", "cls", "max", "last"'),
        ("--word-pooling nonsense", '"mean", "first", "last"'),
        ("--kinds word,nonsense", "'nonsense'"),
        ("--memory 10MB", "more than --memory 10 MiB"),
        ("--memory abc", "such as 2GB"),
        ("--limit 0", "at least 2"),
        ("--sample 1", "at least 2"),
        ("--seed -1", "--seed must be 0 to"),
        ("--stride 20 --window 10", "words would be skipped"),
        ("--window 1", "at least 4"),
        ("--batch-size 0", "at least 1"),
        ("--min-contexts 1", "at least 2"),
        ("--device nonsense", '"auto", "cpu", "cuda", "mps"'),
        ("--dtype nonsense", "float32"),
        ("--resume", "nothing to resume"),
        ("--word-table x.txt", ".csv or .parquet"),
        ("--sentence-table x", ".csv or .parquet"),
        ("--json nowhere/a.json", "no folder"),
        ("--figures nowhere/figures", "no folder"),
        ("--figures {world}/file", "is a file"),
        ("--markdown .", "is a folder"),
        ("--json {world}/good.txt", "would overwrite the source"),
        ("--json a --markdown a", "would overwrite what"),
        ("--rows sentences --word-table a.csv", "no table of words"),
        ("--nonsense", "See uncone layers --help"),
        (f"--seed {2**64}", "--seed"),
        pytest.param("--memory 1" + 400 * "0", "--memory", id="--memory 1e400"),
    ],
)
def test_options_that_cannot_be(option, says, layers, world, capfd):
    assert layers(*option.format(world=world).split()) == 2
    assert says in complaint(capfd)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is one")
def test_a_device_that_is_not_there(layers, capfd):
    assert layers("--device", "cuda") == 2
    err = complaint(capfd)
    assert "no device 'cuda'" in err and "AutoModel" not in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to(layers, tmp_path_factory, capfd):
    folder = tmp_path_factory.mktemp("locked")
    folder.chmod(0o500)
    assert layers("--json", folder / "a.json") == 2
    assert "cannot be written to" in complaint(capfd)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("option", ["--json", "--markdown"])
def test_a_full_disk(option, layers, capfd):
    assert layers(option, "/dev/full") == 2
    assert "No space left" in complaint(capfd)


CLASHES = {
    "the texts by a table": ["--corpus", "t.csv", "--word-table", "t.csv"],
    "the texts by sentences": ["--corpus", "t.csv", "--sentence-table", "t.csv"],
    "the model": ["--corpus", "t.csv", "--json", "model/config.json"],
    "one table by another": ["--corpus", "t.csv", "--word-table", "x.csv", "--sentence-table", "x.csv"],
    "a table by JSON": ["--corpus", "t.csv", "--word-table", "x.csv", "--json", "x.csv"],
}


@pytest.mark.parametrize("what", CLASHES)
def test_nothing_is_overwritten(what, world, capfd):
    shutil.copytree(world / "tiny", "model")
    shutil.copy(world / "one.csv", "t.csv")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert _run(["layers", "model", "--no-html", "--text", "text", *CLASHES[what]]) == 2
    assert "would overwrite" in capfd.readouterr().err
    assert before == {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def test_static_vectors_are_not_overwritten(world, capfd):
    shutil.copy(world / "words.vec", "words.vec")
    assert _run(["layers", "words.vec", "--corpus", str(world / "good.txt"), "--no-html", "--json", "words.vec"]) == 2


# --- odd texts ---------------------------------------------------------------------------------------------------


def table(path):
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def notes(capfd):
    found = json.loads(capfd.readouterr().out)
    return found, " ".join(found["notes"])


def test_words_that_are_not_there_are_a_note(layers, capfd):
    assert layers("--words", "cat,zebra,Unicorn", "--json", "-") == 0
    assert "Not in the texts: zebra, Unicorn." in notes(capfd)[1]


def test_long_texts_are_windowed(layers, capfd):
    assert layers("--json", "-", "--no-split", corpus="long.txt") == 0
    found, said = notes(capfd)
    assert f"2 texts longer than {LONGEST} tokens, cut into windows" in said
    words = sum(len(line.replace(".", " .").split()) for line in sentences())
    words += sum(len(line.replace(".", "").split()) for line in sentences()[:9]) + 120
    assert found["source"]["rows"] == words, "no word is lost or counted twice"
    assert found["source"]["texts"] == 152


def test_a_window_of_ones_own(layers, capfd):
    assert layers("--json", "-", "--window", "8", "--stride", "3") == 0
    assert "150 texts longer than 8 tokens, cut into windows" in notes(capfd)[1]


@pytest.mark.parametrize("rows", ["sentences", "cls"])
def test_long_texts_are_truncated_to_one_vector(rows, layers, capfd):
    assert layers("--json", "-", "--no-split", "--rows", rows, corpus="long.txt") == 0
    found, said = notes(capfd)
    assert f"2 texts longer than {LONGEST} tokens, truncated" in said
    assert found["source"]["rows"] == 152 and found["words"] in (None, [])


@pytest.mark.parametrize("split", ["--no-split", "--split"])
def test_left_out_texts_are_counted(split, layers, capfd):
    Path("t.txt").write_text("\n".join([*sentences(60), "", "  ", *sentences(7)]))
    assert layers("--json", "-", split, corpus=Path("t.txt").resolve()) == 0
    found, said = notes(capfd)
    assert "2 blank texts left out" in said and "7 exact duplicates left out" in said
    assert found["source"]["texts"] == 60


def test_a_word_of_a_megabyte(layers, capfd):
    Path("t.txt").write_text("a" * 1_000_000 + "\n" + "\n".join(sentences(60)))
    assert layers("--json", "-", corpus=Path("t.txt").resolve()) == 0
    assert notes(capfd)[0]["source"]["texts"] == 61


def test_time_grows_with_the_length_of_a_text():
    from uncone.encoders.encoder import Passage
    from uncone.encoders.rows.rows import RowRule

    def seconds(n):
        text = "ab " * n
        starts = np.arange(0, 3 * n, 3)
        cuts = range(0, n, 10)
        passages = [
            Passage(text, [1] * 10, starts[i : i + 10], starts[i : i + 10] + 2, np.zeros(10, bool), 3 * i, 3 * (i + 10))
            for i in cuts
        ]
        began = time.process_time()
        assert sum(laid.n for laid in RowRule().lay(passages, None)) == n
        return time.process_time() - began

    # The best of some: one may have been interrupted.
    assert min(seconds(16_000) for _ in range(5)) < 9 * min(seconds(4_000) for _ in range(5))


def test_the_seed_is_recorded(layers, capfd):
    assert layers("--json", "-", "--seed", "7") == 0
    assert notes(capfd)[0]["provenance"]["seed"] == 7


def test_the_default_seed_is_recorded(layers, capfd):
    assert layers("--json", "-") == 0
    assert notes(capfd)[0]["provenance"]["seed"] == 0


# --- outputs -----------------------------------------------------------------------------------------------------


def test_every_output(layers, world, capfd):
    files = ["a.json", "a.md", "w.csv", "s.parquet", "p.html"]
    options = ["--json", "--markdown", "--word-table", "--sentence-table", "--html"]
    arguments = [word for pair in zip(options, files, strict=True) for word in pair]
    assert layers(*arguments, "--figures", "figures", html=True) == 0
    out, err = capfd.readouterr()
    assert err == "" and "report p.html" in out and "wrote w.csv" in out and "wrote figures" in out
    assert sorted(path.name for path in Path().iterdir()) == sorted([*files, "figures"])
    found = json.loads(Path("a.json").read_text())
    assert found["source"]["layers"] == 3 and len(found["layers"]) == 3
    assert "| layer |" in Path("a.md").read_text()
    assert Path("p.html").read_text().lstrip().lower().startswith("<!doctype html>")
    words = table("w.csv")
    assert {"word", "count", "contexts", "selfsim_0", "selfsim_2", "mev_2"} <= set(words[0])
    told = {row["word"]: row for row in found["words"]}
    listed = {row["word"]: row for row in words}
    assert int(listed["cat"]["count"]) == sum("the cat" in text for text in sentences())
    assert float(listed["the"]["selfsim_1"]) == pytest.approx(told["the"]["selfsim"][1])
    said = pq.read_table("s.parquet").to_pydict()
    assert said["text"] == sentences()
    assert said["words"][0] == len(sentences()[0].replace(".", " .").split())
    endings = {path.suffix for path in Path("figures").iterdir()}
    assert endings == {".svg", ".png", ".csv"} and (Path("figures") / "baseline.csv").is_file()


def test_tables_the_other_way_round(layers, capfd):
    assert layers("--word-table", "w.parquet", "--sentence-table", "s.csv") == 0
    assert "cat" in pq.read_table("w.parquet").to_pydict()["word"]
    assert [row["text"] for row in table("s.csv")] == sentences()


def test_the_default_report(layers, capfd):
    assert layers(html=True) == 0
    assert [path.name for path in Path().iterdir()] == ["uncone-layers.html"]


def test_models_and_corpora_are_compared(world, capfd):
    arguments = [str(world / "deep"), str(world / "words.vec")]
    corpora = ["--corpus", str(world / "good.txt"), "--corpus", str(world / "short.txt")]
    assert _run(["layers", *arguments, *corpora, "--no-html", "--json", "a.json", "--figures", "f"]) == 0
    found = json.loads(Path("a.json").read_text())
    assert [one["source"]["layers"] for one in found["studies"]] == [5, 1] * 2
    assert len(found["differences"]) == 3
    assert any(path.name.startswith("difference") for path in Path("f").iterdir())


def test_the_same_model_twice_differs_in_nothing(world, capfd):
    assert _run(["layers", *[str(world / "tiny")] * 2, "--corpus", str(world / "good.txt"), "--no-html"]) == 0
    out = capfd.readouterr().out
    assert "A tiny" in out and "B tiny" in out


def test_tables_are_for_one_study(world, capfd):
    assert (
        _run(["layers", *[str(world / "tiny")] * 2, "--corpus", str(world / "good.txt"), "--word-table", "w.csv"]) == 2
    )
    assert "one by one" in complaint(capfd)


def test_static_vectors(layers, capfd):
    assert layers("--json", "-", model="words.vec") == 0
    found, _ = notes(capfd)
    assert found["source"]["layers"] == 1 and found["source"]["dimensions"] == 8
    (cat,) = [row for row in found["words"] if row["word"] == "cat"]
    assert cat["selfsim"] == [pytest.approx(1.0)]


def test_words_without_a_vector_are_said(layers, capfd):
    assert layers("--json", "-", model="words.vec") == 0
    found, said = notes(capfd)
    unknown = sum(2 + ("slowly" in text) for text in sentences())  # the number, the full stop
    assert f"{unknown} words" in said and "left out" in said
    assert found["source"]["rows"] == sum(len(text.replace(".", " .").split()) for text in sentences()) - unknown


@pytest.mark.parametrize("rows", ["sentences", "tokens"])
def test_static_vectors_by_other_rows(rows, layers, capfd):
    assert layers("--json", "-", "--rows", rows, model="words.vec") == 0


@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "last"])
def test_static_vectors_and_texts_of_unknown_words(pooling, layers, capfd):
    """Such a text has no vector: it does not matter whether it is there."""
    texts = sentences(60)
    for name, odd in (("with.txt", ["zebra unicorn", "unicorn"]), ("without.txt", [])):
        Path(name).write_text("\n".join([*texts[:20], *odd[:1], *texts[20:], *odd[1:]]))
    found = []
    for name in ("with.txt", "without.txt"):
        options = ["--json", "-", "--rows", "sentences", "--pooling", pooling]
        assert layers(*options, model="words.vec", corpus=Path(name).resolve()) == 0
        found.append(json.loads(capfd.readouterr().out)["layers"][0]["findings"]["baseline"]["value"])
    assert found[0] == pytest.approx(found[1], abs=1e-6)


@pytest.mark.parametrize("corpus", ["good.txt.gz", "good.txt.zst", "good.jsonl", "one.csv", "two.csv"])
def test_the_same_texts_from_other_files(corpus, layers, capfd):
    assert layers("--json", "-", "--no-split") == 0
    plain = json.loads(capfd.readouterr().out)
    assert layers("--json", "-", "--no-split", *(["--text", "a,b"] if corpus == "two.csv" else []), corpus=corpus) == 0
    other = json.loads(capfd.readouterr().out)
    assert other["layers"] == plain["layers"]
    assert other["provenance"]["corpus_content"] == plain["provenance"]["corpus_content"]


def test_a_sample_is_reproducible(layers):
    for name in ("a.json", "b.json"):
        assert layers("--sample", "80", "--seed", "3", "--json", name) == 0
    assert layers("--sample", "80", "--seed", "4", "--json", "c.json") == 0
    one, other, third = (Path(name).read_bytes() for name in ("a.json", "b.json", "c.json"))
    assert one == other
    assert json.loads(one)["provenance"]["corpus_content"] != json.loads(third)["provenance"]["corpus_content"]
    assert json.loads(one)["source"]["texts"] == json.loads(third)["source"]["texts"] == 80


def test_batches_do_not_matter(layers):
    for name, size in (("a.json", "7"), ("b.json", "150")):
        assert layers("--batch-size", size, "--json", name) == 0
    one, other = (json.loads(Path(name).read_text()) for name in ("a.json", "b.json"))
    for a, b in zip(one["layers"], other["layers"], strict=True):
        assert a["findings"]["baseline"]["value"] == pytest.approx(b["findings"]["baseline"]["value"], abs=1e-6)
        assert a["findings"]["selfsim"]["value"] == pytest.approx(b["findings"]["selfsim"]["value"], abs=1e-6)


def test_as_a_process(world):
    """Standard input, a silent standard error, no color in a pipe; JSON alone on standard output."""
    command = [*UNCONE, "layers", str(world / "tiny"), "--corpus", "-", "--no-html", "--json", "-"]
    with (world / "good.txt").open("rb") as stream:
        done = subprocess.run(command, stdin=stream, capture_output=True, check=True)
    assert done.stderr == b""
    assert json.loads(done.stdout)["source"]["corpus"] == "standard input"


def test_real_texts_and_a_real_model(capfd):
    data = Path(os.environ.get("UNCONE_DATA", "nowhere"))
    model = data.parent / "models" / "bert-tiny"
    if not (data / "snli" / "dev.tsv").is_file() or not model.is_dir():
        pytest.skip("UNCONE_DATA names no folder with real texts")
    assert _run(["layers", str(model), "--corpus", "snli", "--limit", "300", "--no-html", "--json", "-"]) == 0
    found = json.loads(capfd.readouterr().out)
    values = [layer["findings"]["baseline"]["value"] for layer in found["layers"]]
    assert values[0] < 0.3 < values[1] < values[2]


# --- interruption ------------------------------------------------------------------------------------------------

SLOW = ["--batch-size", "2", "--save-every", "0.01", "--state", "state"]


@contextmanager
def stopped(saves=20):
    """Here a run saves itself after every batch, and ends after so many."""
    save, left = Checkpoint.save, iter(range(saves - 1))

    def stop(checkpoint, position, arrays):
        save(checkpoint, position, arrays)
        if next(left, None) is None:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "save", stop)
        patch.setattr(Checkpoint, "due", True)
        yield


def state_files():
    return sorted(path.name for path in Path("state").rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "arguments", [[], ["--no-sinks"], ["--rows", "sentences"], ["--rows", "tokens", "--window", "6"]], ids=str
)
def test_a_stopped_run_goes_on_to_the_same_digits(arguments, layers, capfd):
    arguments = [*SLOW, *arguments, "--json"]
    assert layers(*arguments, "whole.json", corpus="short.txt") == 0
    with stopped(saves=12):
        assert layers(*arguments, "a.json", corpus="short.txt") == 130
    assert "interrupted" in capfd.readouterr().err
    assert not Path("a.json").exists() and "state.npz" in state_files()
    assert layers(*arguments, "a.json", "--resume", corpus="short.txt") == 0
    assert Path("a.json").read_bytes() == Path("whole.json").read_bytes()
    assert state_files() == [], "the state goes when the run has come to its end"


ENDS_ITSELF = """
import os, signal, sys, numpy as np
from uncone.__main__ import main
from uncone.run.checkpoint import Checkpoint
Checkpoint.due = True
number, when = int(sys.argv.pop(1)), sys.argv.pop(1)
savez, calls = np.savez, []
def save(file, **arrays):
    calls.append(file)
    if len(calls) < 10 or when == "after":
        savez(file, **arrays)
    else:
        file.write(b"half a sta"); file.flush()
    if len(calls) == 10:
        os.kill(os.getpid(), number)
np.savez = save
main()
"""
"""The command in a process that sends itself a signal while it saves its state or just after."""


def ended(number, when, *arguments):
    command = [sys.executable, "-c", ENDS_ITSELF, int(number), when, "layers", *arguments]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


EITHER_MODEL = pytest.mark.parametrize("model", ["words.vec", pytest.param("tiny", marks=pytest.mark.exhaustive)])


@EITHER_MODEL
def test_killed_and_interrupted_processes(model, world, layers):
    """SIGKILL in the middle, SIGINT to what goes on from there, and a third run that comes to the end."""
    arguments = [world / model, "--corpus", world / "short.txt", "--no-html", *SLOW, "--json", "a.json"]
    done = ended(signal.SIGKILL, "after", *arguments)
    assert done.returncode == -signal.SIGKILL and not Path("a.json").exists(), done
    done = ended(signal.SIGINT, "after", *arguments, "--resume")
    assert done.returncode == 130, done
    assert done.stderr.startswith("uncone: interrupted") and done.stderr.count("\n") == 1
    assert not Path("a.json").exists()
    goes_on_to_the_end(layers, model)


@EITHER_MODEL
def test_killed_while_saving(model, world, layers):
    arguments = [world / model, "--corpus", world / "short.txt", "--no-html", *SLOW, "--json", "a.json"]
    done = ended(signal.SIGKILL, "while", *arguments)
    assert done.returncode == -signal.SIGKILL, done
    assert any(name.endswith(".part") for name in state_files())
    goes_on_to_the_end(layers, model)


def goes_on_to_the_end(layers, model):
    """The run that was ended gives what one in one piece gives, and leaves no state, whole or in part."""
    assert layers(*SLOW, "--json", "a.json", "--resume", model=model, corpus="short.txt") == 0
    assert state_files() == []
    assert layers(*SLOW, "--json", "whole.json", model=model, corpus="short.txt") == 0
    assert Path("a.json").read_bytes() == Path("whole.json").read_bytes()


def test_texts_that_changed(world, capfd):
    command = ["layers", str(world / "tiny"), "--corpus", "t.txt", "--no-html", *SLOW]
    Path("t.txt").write_text("\n".join(sentences()))
    with stopped():
        assert _run(command) == 130
    capfd.readouterr()
    Path("t.txt").write_text("\n".join(reversed(sentences())))
    assert _run([*command, "--resume"]) == 2
    assert "the texts changed" in capfd.readouterr().err
    assert "state.npz" in state_files(), "another look may be wanted"


def test_texts_that_changed_with_their_words(world, capfd):
    command = ["layers", str(world / "tiny"), "--corpus", "t.txt", "--no-html", *SLOW]
    Path("t.txt").write_text("\n".join(sentences()))
    with stopped():
        assert _run(command) == 130
    capfd.readouterr()
    Path("t.txt").write_text("\n".join([*sentences(), "a zebra likes a zebra.", "the zebra hears a unicorn unicorn."]))
    assert _run([*command, "--resume"]) == 2
    assert "the texts" in capfd.readouterr().err


def test_a_model_that_changed(world, capfd):
    shutil.copytree(world / "tiny", "model")
    command = ["layers", "model", "--corpus", str(world / "good.txt"), "--no-html", *SLOW]
    with stopped():
        assert _run(command) == 130
    capfd.readouterr()
    reweighted(lambda weights: {name: one * 1.5 for name, one in weights.items()})(Path("model"))
    assert _run([*command, "--resume"]) == 2
    err = capfd.readouterr().err
    assert "the model changed" in err and "the texts" not in err


def test_other_options_are_another_run(layers, capfd):
    with stopped():
        assert layers(*SLOW) == 130
    capfd.readouterr()
    assert layers(*SLOW, "--resume", "--rows", "tokens") == 2
    assert "nothing to resume" in capfd.readouterr().err


# np.load forgets to close a file that it finds damaged.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: data[: len(data) // 2], id="half of it"),
        pytest.param(lambda data: b"", id="nothing"),
        pytest.param(
            lambda data: data[:3000] + bytes(255 - byte for byte in data[3000:3064]) + data[3064:], id="other bytes"
        ),
    ],
)
def test_a_damaged_state(damage, layers, capfd):
    with stopped():
        assert layers(*SLOW) == 130
    capfd.readouterr()
    (path,) = Path("state").rglob("state.npz")
    path.write_bytes(damage(path.read_bytes()))
    assert layers(*SLOW, "--resume") == 2
    err = capfd.readouterr().err
    assert "damaged" in err and "without --resume" in err and err.count("\n") == 1
    assert layers(*SLOW) == 0, "and it can start again"


def test_a_state_belongs_to_its_own_run(tmp_path, monkeypatch):
    """The old run's arrays must never be taken for those of a new one that could not save itself."""
    Checkpoint(tmp_path / "s", {"corpus_content": "old"}).save({"pool": 1}, {"a": np.ones(3)})

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    new = Checkpoint(tmp_path / "s", {"corpus_content": "new"})
    monkeypatch.setattr(np, "savez", full)
    new.save({"pool": 2}, {"a": np.zeros(3)})
    monkeypatch.undo()
    from uncone.errors import StateError

    with pytest.raises(StateError):
        Checkpoint(tmp_path / "s", {"corpus_content": "new"}).load()


def test_a_state_that_cannot_be_saved_is_a_note(world, layers, capfd):
    assert layers("--batch-size", "2", "--save-every", "0", "--state", world / "file", "--json", "-") == 0
    assert "could not be saved" in notes(capfd)[1]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_standard_output_on_a_full_disk(world):
    command = [*UNCONE, "layers", str(world / "words.vec"), "--corpus", str(world / "good.txt"), "--no-html"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and "Standard output cannot be written" in done.stderr


def test_a_full_disk_for_the_state_is_a_note(layers, monkeypatch, capfd):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    assert layers(*SLOW, "--json", "-") == 0
    assert "could not be saved" in notes(capfd)[1]
    assert state_files() == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_the_state_survives_a_report_that_cannot_be_written(layers, capfd):
    assert layers(*SLOW, "--json", "/dev/full") == 2
    assert "state.npz" in state_files()
