"""Corpora by name: from a folder, from the hub, or a line that says what was looked for."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path

import datasets
import pytest
from huggingface_hub import constants
from huggingface_hub import utils as hub

from uncone.data.texts import hub as hub_texts
from uncone.data.texts.corpora import CORPORA, open_corpus
from uncone.data.texts.texts import open_texts
from uncone.errors import ColumnError, MissingSourceError, OptionError

REAL = os.environ.get("UNCONE_DATA") and str(Path(os.environ["UNCONE_DATA"]).resolve())
WIKITEXT = [
    " ",
    " = A lobster = ",
    " ",
    " It is blue , with 2 = 1 + 1 claws . ",
    " = = Size = = ",
    " Big . ",
    " = not one",
]


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv("UNCONE_DATA", raising=False)


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    for name in ("snli", "wikitext-2", "ptb", "sts"):
        (folder / name).mkdir(parents=True)
    for split in ("dev", "test"):
        (folder / "snli" / f"{split}.tsv").write_text(f'neutral\t{split} "p1 .\th1 .\nentailment\tp2\th2\n')
    (folder / "wikitext-2" / "valid.txt").write_text("\n".join(WIKITEXT) + "\n")
    (folder / "ptb" / "ptb.valid.txt").write_text(" no it was n't \n mr. <unk> is chairman \n")
    for year in range(12, 17):
        (folder / "sts" / f"sts{year}.tsv").write_text(f"3\tone {year}\ttwo {year}\tnews\n2\tthree\tfour\tnews\n")
    return folder


@pytest.fixture
def offline(monkeypatch):
    def refuse():
        return "Name or service not known"

    monkeypatch.setattr(hub_texts, "_why_unreachable", refuse)


def texts(source):
    rows = list(source.read())
    assert rows == list(source.read()), "a corpus can be read again"
    assert [number for number, _, _ in rows] == list(range(len(rows)))
    return [text for _, text, _ in rows]


def test_a_corpus_says_what_it_is():
    for name, corpus in CORPORA.items():
        assert corpus.description and corpus.default in corpus.splits
        assert set(corpus.files) == set(corpus.hub)
        assert all(len(corpus.files[split]) == len(corpus.hub[split]) for split in corpus.splits)
        assert name == name.lower()


def test_a_local_folder(data, monkeypatch):
    snli = open_corpus("snli", data)
    assert texts(snli) == ['dev "p1 .', "h1 .", "p2", "h2"]
    assert (snli.name, snli.kind, snli.files) == ("snli", "corpus", (data / "snli" / "dev.tsv",))
    assert texts(open_corpus("snli:test", str(data)))[0] == 'test "p1 .'
    assert texts(open_corpus("ptb", data)) == [" no it was n't ", " mr. <unk> is chairman "]
    sts = open_corpus("sts", data)
    assert len(texts(sts)) == 20 and len(sts.files) == 5
    assert [text for text in texts(sts) if "one" in text] == [f"one {year}" for year in range(12, 17)]
    assert texts(open_corpus("sts:14", data)) == ["one 14", "two 14", "three", "four"]
    monkeypatch.setenv("UNCONE_DATA", str(data))
    assert texts(open_texts("snli")) == texts(snli)
    assert texts(open_texts("snli:dev")) == texts(snli)


def test_headings_of_wikitext_are_left_out(data):
    expected = [" ", " ", " It is blue , with 2 = 1 + 1 claws . ", " Big . ", " = not one"]
    assert texts(open_corpus("wikitext2", data)) == expected
    (data / "wikitext-2").rename(data / "wikitext2")
    assert texts(open_texts("wikitext-2:valid", data=data)) == expected


def test_a_path_wins_over_a_corpus(data, tmp_path):
    (tmp_path / "snli").mkdir()
    (tmp_path / "snli" / "mine.txt").write_text("my own\n")
    assert texts(open_texts("snli", data=data)) == ["my own"]


def test_what_cannot_be_asked(data):
    with pytest.raises(OptionError, match=r"^The corpus snli has no split 'valid'; it has dev, test, train\.$"):
        open_corpus("snli:valid", data)
    with pytest.raises(OptionError, match=r"^The corpus sts has no split '17'; it has test, 12, 13, 14, 15, 16\.$"):
        open_corpus("sts:17", data)
    with pytest.raises(
        MissingSourceError, match=r"^There is no corpus mnli; the corpora are snli, wikitext2, ptb, sts\.$"
    ):
        open_corpus("mnli", data)
    with pytest.raises(ColumnError, match=r"^The corpus snli has its own columns: leave out --text and --label\.$"):
        open_texts("snli", text=["2"], data=data)


FAKES = {
    "stanfordnlp/snli": {"premise": ["p1", "p2"], "hypothesis": ["h1", "h2"], "label": [0, -1]},
    "Salesforce/wikitext": {"text": ["", " = A = \n", " It is . \n"]},
    "ptb-text-only/ptb_text_only": {"sentence": ["no it was n't"]},
    **{f"mteb/sts{y}-sts": {"sentence1": [f"one {y}"], "sentence2": [None], "score": [1.0]} for y in range(12, 17)},
}
ON_THE_HUB = {
    "snli": (["p1", "h1"], [("stanfordnlp/snli", None, "validation")]),
    "wikitext2:test": (["", " It is . "], [("Salesforce/wikitext", "wikitext-2-v1", "test")]),
    "ptb:train": (["no it was n't"], [("ptb-text-only/ptb_text_only", None, "train")]),
    "sts:13": (["one 13", ""], [("mteb/sts13-sts", None, "test")]),
    "sts": (
        [text for year in range(12, 17) for text in (f"one {year}", "")],
        [(f"mteb/sts{year}-sts", None, "test") for year in range(12, 17)],
    ),
}


@pytest.mark.parametrize("name", ON_THE_HUB)
@pytest.mark.parametrize("reason", [None, "no network"])
def test_the_hub(name, reason, tmp_path, monkeypatch):
    asked = []

    def load_dataset(path, config=None, *, split, revision=None):
        asked.append((path, config, split))
        assert (revision is not None) == path.startswith("ptb")
        assert datasets.config.HF_HUB_OFFLINE == constants.HF_HUB_OFFLINE == (reason is not None)
        assert datasets.are_progress_bars_disabled() and hub.are_progress_bars_disabled()
        assert not logging.getLogger("datasets").isEnabledFor(logging.ERROR)
        return datasets.Dataset.from_dict(FAKES[path])

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr(hub_texts, "_why_unreachable", lambda: reason)
    before = settings()
    source = open_texts(name, data=tmp_path)
    assert (texts(source), asked) == ON_THE_HUB[name]
    assert (source.name, source.kind, source.files) == (name, "corpus", ())
    assert settings() == before


def settings():
    levels = [logging.getLogger(name).level for name in ("datasets", "huggingface_hub", "httpx")]
    bars = datasets.are_progress_bars_disabled(), hub.are_progress_bars_disabled()
    return levels, bars, datasets.config.HF_HUB_OFFLINE, constants.HF_HUB_OFFLINE


@pytest.mark.usefixtures("offline")
def test_neither_here_nor_there(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    before = settings()
    end = "Use --data FOLDER with {0} in it, or your own texts with --corpus FILE."
    reach = "and the Hugging Face hub could not be reached (Name or service not known)"
    for name, folder, looked, layout in (
        ("snli:train", None, "no --data and no UNCONE_DATA was given", "snli/train.tsv"),
        ("wikitext2", tmp_path, f"{tmp_path} has no wikitext-2/valid.txt", "wikitext-2/valid.txt"),
        ("sts", tmp_path, f"{tmp_path} has no sts/sts12.tsv to sts16.tsv", "sts/sts12.tsv to sts16.tsv"),
    ):
        with pytest.raises(MissingSourceError) as caught:
            open_corpus(name, folder)
        assert str(caught.value) == f"The corpus {name} was not found: {looked}, {reach}. {end.format(layout)}"
    assert settings() == before
    assert capfd.readouterr() == ("", "")


def test_the_hub_is_asked_whether_it_is_there(monkeypatch):
    class Session:
        def head(self, url, timeout):
            assert url.startswith("http") and timeout <= 10
            raise ConnectionError("[Errno -2] Name or service\nnot known.")

    monkeypatch.setattr(hub, "get_session", Session)
    assert hub_texts._why_unreachable() == "Name or service not known"


def test_other_troubles_of_the_hub(tmp_path, monkeypatch):
    monkeypatch.setattr(hub_texts, "_why_unreachable", lambda: None)

    def refuse(*_, **__):
        raise RuntimeError("Dataset scripts are no longer supported")

    monkeypatch.setattr(datasets, "load_dataset", refuse)
    reason = (
        "the Hugging Face hub did not return stanfordnlp/snli (Dataset scripts are no longer supported). Use --data"
    )
    with pytest.raises(MissingSourceError, match=re.escape(reason)):
        open_corpus("snli", tmp_path)
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: datasets.Dataset.from_dict({"other": ["x"]}))
    with pytest.raises(
        MissingSourceError, match="stanfordnlp/snli on the Hugging Face hub no longer has a column 'premise'"
    ):
        open_corpus("snli", tmp_path)
    monkeypatch.setattr("uncone.errors.find_spec", lambda _: None)
    with pytest.raises(
        MissingSourceError, match=r"could not be queried \(This needs datasets, .* pip install 'uncone\[models\]'\)"
    ):
        open_corpus("snli", tmp_path)


@pytest.mark.skipif(not REAL, reason="UNCONE_DATA is not set")
def test_the_real_files():
    for name, count in (("snli", 2 * 9842), ("snli:test", 2 * 9824), ("sts", 2 * 12544), ("sts:12", 2 * 3108)):
        found = texts(open_corpus(name, REAL))
        assert len(found) == count and all(text.strip() for text in found)
    wikitext = texts(open_corpus("wikitext2", REAL))
    lines = Path(REAL, "wikitext-2", "valid.txt").read_text(encoding="utf-8").split("\n")[:-1]
    assert wikitext == [line for line in lines if not line.startswith(" = ")]
