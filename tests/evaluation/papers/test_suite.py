"""The suite of the papers with a tiny model on small data: figures by plain routes, every table in every form."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from itertools import chain

import numpy as np
import pytest

import uncone
from uncone.data.tasks.labeled import LABELED
from uncone.data.tasks.sts import SETS, STS
from uncone.evaluation.papers.layouts import ABLATION, LAYOUTS, TARGET
from uncone.report.document import Table, leaves
from uncone.verbs.schema.schema import validate

LIMIT = 40
PREAMBLE = r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs,textcomp,amssymb,graphicx}"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """All datasets, as long as the real ones, of words that the tiny model knows."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("data")
    words = np.array(["the", "text", "go", "school", *"abcdefghijklmnopq"])

    def sentences(n):
        return [" ".join(row) for row in words[rng.integers(0, len(words), (n, 7))]]

    (folder / "sts").mkdir()
    for name in STS:
        n = SETS[name].rows["test"]
        left, right = sentences(n), sentences(n)
        scores = [1 + 4 * len(set(a.split()) & set(b.split())) / 7 for a, b in zip(left, right, strict=True)]
        subsets = [(SETS[name].subsets or ("main",))[at * len(SETS[name].subsets or "m") // n] for at in range(n)]
        lines = zip(scores, left, right, subsets, strict=True)
        file = f"{name}-test.tsv" if name in ("stsb", "sickr") else f"{name}.tsv"
        (folder / "sts" / file).write_text("".join(f"{a:.3f}\t{b}\t{c}\t{d}\n" for a, b, c, d in lines))
    (folder / "sst2").mkdir()
    for split, n in LABELED["sst2"].items():
        texts = sentences(n)
        (folder / "sst2" / f"{split}.tsv").write_text("".join(f"{text}\t{int('text' in text)}\n" for text in texts))
    (folder / "nli.txt").write_text("\n".join(sentences(90)) + "\n")
    return folder


@pytest.fixture(scope="module")
def tables(data, tiny_model, tmp_path_factory):
    out = tmp_path_factory.mktemp("papers")
    options = {"fit_on": str(data / "nli.txt"), "data": str(data), "replicates": 30, "cache": False}
    result = uncone.reproduce(tiny_model, out, supervised=tiny_model, limit=LIMIT, **options)
    return result, out


def tokens_of(tiny_model, texts):
    """The last states of every token but the special ones, text by text, with transformers alone."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(tiny_model), AutoModel.from_pretrained(tiny_model).eval()
    states = []
    for text in texts:
        with torch.no_grad():
            states.append(model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0, 1:-1].double().numpy())
    return states


def naive_isotropy(rows, signs):
    """log10 of the smallest partition function over the largest: over all eigenvectors, with these signs."""
    sums = [
        sum(np.exp(sign * row @ direction) for row in rows)
        for direction in np.linalg.eigh(rows.T @ rows)[1].T
        for sign in signs
    ]
    return np.log10(min(sums) / max(sums))


def test_figures_are_those_of_a_plain_route(tables, data, tiny_model):
    from scipy.stats import pearsonr, spearmanr

    result, _ = tables
    rows = [line.split("\t") for line in (data / "sts/stsb-test.tsv").read_text().splitlines()]
    own = [rows[at] for at in np.linspace(0, len(rows) - 1, LIMIT).round().astype(int)]
    texts = [row[1] for row in own] + [row[2] for row in own]
    states = tokens_of(tiny_model, texts)
    every = np.concatenate(states)
    figures = {each.row: each for each in result.figures if (each.part, each.dataset) == ("tokens", "stsb")}
    assert tuple(figures) == ABLATION
    for label, shift in (("raw", 0.0), ("mean", every.mean(axis=0))):
        left, right = np.split(np.array([state.mean(axis=0) - shift for state in states]), 2)
        cosines = np.vecdot(left, right) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
        gold, values = [float(row[0]) for row in own], figures[label].values
        assert values["spearman"] == pytest.approx(spearmanr(gold, cosines).statistic, abs=5e-3)
        assert values["pearson"] == pytest.approx(pearsonr(gold, cosines).statistic, abs=1e-3)
        assert values["both_signs"] == pytest.approx(naive_isotropy(every - shift, (1, -1)), abs=0.01)
        length = np.linalg.norm(every - shift, axis=1).mean()
        assert values["unit"] == pytest.approx(naive_isotropy((every - shift) / length, (1, -1)), abs=0.01)
        # One sign each can only leave the extremes of both signs out.
        assert values["both_signs"] <= values["published"] + 1e-3 and values["published"] <= 1e-9
    assert figures["k-means + mean + PCA"].spread is not None, "clusters have three seeds"
    assert figures["mean"].spread is None


def test_every_table_is_whole(tables):
    result, _ = tables
    document = result.document()
    blocks = [block for section in document.sections for block in leaves(section.blocks) if isinstance(block, Table)]
    names = [re.sub(r"-[1-4]$", "", block.name) for block in blocks]
    assert list(dict.fromkeys(names)) == [layout.name for layout in LAYOUTS]
    for block in blocks:
        for row in block.rows:
            assert len(row.cells) in (1, len(block.columns))
            assert all(cell.text.strip() not in ("", "–", "undefined", "nan") for cell in row.cells), block.name
        groups = [row.cells[0].text for row in block.rows if len(row.cells) == 1]
        assert any(group.endswith(", published") for group in groups) and "not run" in block.rows[-1].cells[1].text
    ablation = blocks[0]
    assert [row.cells[0].text for row in ablation.rows[1:7]] == list(ABLATION)
    assert [column.small for column in ablation.columns[1:5]] == ["Pearson", "Spearman", "I(W)", "safe I(W)"]
    by_label = {row.cells[0].text: row for row in ablation.rows[8:]}
    assert by_label["mean"].cells[6].text == "57.00" and by_label["mean"].cells[2].text == "no record"
    assert "trial" in document.warning and result.limit == LIMIT


def test_all_forms_hold_the_same_numbers(tables):
    result, out = tables
    assert validate((out / "papers.json").read_text()) == "evaluate"
    written = json.loads((out / "papers.json").read_text())
    assert len(written["figures"]) == len(result.figures) == 5 * 2 + 2 * 6 + 2 + 7 + 7 * 8 + 7 * 7
    lines = list(csv.DictReader(io.StringIO((out / "papers.csv").read_text())))
    measured = {
        (line["table"], line["row"], line["fitted_on"], line["dataset"], line["measure"]): line
        for line in lines
        if line["origin"] == "measured"
    }
    markdown, page, latex = ((out / f"papers.{ending}").read_text() for ending in ("md", "html", "tex"))
    for each in result.figures:
        if each.part == "sentences":
            line = measured["flow-whitening", each.row, each.fit, each.dataset, "wmean"]
            assert float(line["value"]) == each.values["wmean"] and int(line["n"]) == each.n == LIMIT
    figure = next(each for each in result.figures if (each.part, each.row) == ("classes", "raw"))
    text = f"{100 * figure.values['accuracy']:.2f}"
    assert all(text in form for form in (markdown, page, latex, result.to_text()))
    assert all(form.count("not run") > 20 for form in (markdown, page, latex, result.to_text()))
    published = [line for line in lines if line["origin"] == "published"]
    assert {line["table"] for line in published} == {layout.name for layout in LAYOUTS}
    before = next(x for x in published if (x["table"], x["row"], x["dataset"]) == ("clusters", "raw", "sts14"))
    assert (before["measure"], float(before["value"])) == ("spearman", 0.5336)


def test_the_sentence_tables_have_both_protocols(tables):
    result, _ = tables
    own = [each for each in result.figures if each.part == "sentences" and each.dataset == "sts12"]
    fits = {(each.row, re.sub(".*/", "", each.fit)) for each in own}
    rows = ("flow", "whiten", "whiten 10")
    assert fits >= set(chain.from_iterable(((row, "nli.txt"), (row, TARGET)) for row in rows))
    assert {"mean of input embeddings", "layers 1,-1 mean"} <= {each.row for each in own}
    raw = next(each for each in own if each.row == "layers 1,-1 mean")
    assert raw.difference is None and all(each.difference is not None for each in own if each is not raw)
    assert raw.values["wmean"] != raw.values["spearman"], "sts12 has subsets"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not installed")
def test_latex_compiles(tables, tmp_path):
    _, out = tables
    (tmp_path / "page.tex").write_text(f"{PREAMBLE}\\begin{{document}}\\input{{{out / 'papers.tex'}}}\\end{{document}}")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=300)
    assert process.returncode == 0, process.stdout[-2000:]
    assert (tmp_path / "page.pdf").stat().st_size > 10_000


@pytest.mark.exhaustive
def test_bert_mini(real_data, tmp_path):
    """A real model on a part of each dataset: the repair raises I(W) by orders of magnitude; no cell is empty."""
    model = real_data.parent / "models" / "bert-mini"
    result = uncone.reproduce(model, tmp_path / "tables", limit=300, replicates=100)
    for each in result.figures:
        assert not each.reason and all(value is not None for value in each.values.values())
    by_row = {(each.row, each.dataset): each for each in result.figures if each.part == "tokens"}
    for dataset in STS:
        before, after = by_row["raw", dataset].values, by_row[ABLATION[-1], dataset].values
        assert before["both_signs"] < -3 and after["both_signs"] > -0.5
    cells = [
        cell.text
        for section in result.document().sections
        for block in leaves(section.blocks)
        if isinstance(block, Table)
        for row in block.rows
        for cell in row.cells
    ]
    assert all(text.strip() not in ("", "–", "undefined") for text in cells)
