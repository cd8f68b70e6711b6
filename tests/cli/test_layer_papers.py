"""`uncone layers --suite papers`: every figure and table in every format, numbers by another route, bad input."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from itertools import combinations

import numpy as np
import pytest
from commands import refused, run
from layer_models import bert, sentences

import uncone

FIGURES = {
    "context-baseline", "context-selfsim_adjusted", "context-intrasim_adjusted", "context-intrasim_adjusted_matched",
    "context-mev_adjusted", "context-word-mev-1", "clusters-s-inter", "clusters-s-intra", "clusters-lid_euclidean",
    "clusters-lid_cosine", "clusters-panel-1", "clusters-panel-2", "frequency-ties-1", "frequency-scatter-1",
}  # fmt: skip
TABLES = {
    "context-baseline", "context-selfsim", "context-intrasim", "context-mev", "context-words-1", "clusters-s-inter",
    "clusters-s-intra", "clusters-k", "clusters-lid", "frequency-bins", "frequency-repairs-1",
    "frequency-bins-1-center",
}  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Two models of different depth and a corpus; the folder that the suite wrote about them."""
    world = tmp_path_factory.mktemp("papers")
    bert(world / "tiny"), bert(world / "deep", layers=3, seed=1)
    (world / "texts.txt").write_text("\n".join(sentences(220)) + "\n")
    models = [str(world / "tiny"), str(world / "deep")]
    options = ["--methods", "center,whiten", "--words", "cat,the", "--suite", "papers", "--out", str(world / "out")]
    assert run("layers", *models, "--corpus", world / "texts.txt", "--state", world / "state", *options) == 0
    return world


def table(world, name):
    return list(csv.DictReader((world / "out" / f"table-{name}.csv").read_text().splitlines()))


def test_every_figure_and_table_in_every_format(world):
    names = {path.name for path in (world / "out").iterdir()}
    assert {f"{figure}.{ending}" for figure in FIGURES for ending in ("svg", "png", "csv")} <= names
    assert {f"table-{name}.csv" for name in TABLES} <= names
    page, latex, markdown = ((world / "out" / f"layers.{ending}").read_text() for ending in ("html", "tex", "md"))
    for text in ("Ethayarajh 2019", "Cai et al. 2021", "Li et al. 2020", "not run"):
        assert text in page and text in markdown
    assert latex.count("\\begin{table}") == latex.count("\\end{table}") >= len(TABLES)
    found = json.loads((world / "out" / "layers.json").read_text())
    assert len(found["studies"]) == 2 and [space["space"] for space in found["frequency"]][:2] == [
        "input embeddings",
        "layer 2",
    ]
    assert run("schema", "check", world / "out" / "layers.json") == 0
    assert not any((world / "state").rglob("*.json")), "the saved state of a run that is done goes"


def test_the_latex_compiles(world, tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    (tmp_path / "p.tex").write_text(
        "\\documentclass{article}\\usepackage{booktabs,graphicx,amsmath,amssymb,geometry}\n"
        "\\usepackage[utf8]{inputenc}\\usepackage[T1]{fontenc}\\usepackage{textcomp}\n\\begin{document}\n"
        + (world / "out" / "layers.tex").read_text()
        + "\n\\end{document}\n"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "p.tex"]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert process.returncode == 0, process.stdout[-3000:]


def test_the_numbers_are_those_of_the_study(world):
    study = uncone.layers(world / "tiny", world / "texts.txt", words=["cat", "the"], deep=True)
    rows = [row for row in table(world, "context-baseline") if row["layer"] == "tiny"]
    assert [float(rows[0][str(i)]) for i in range(3)] == pytest.approx(study.curve("baseline"), abs=6e-4)
    rows = [row for row in table(world, "context-selfsim") if row["layer"] == "tiny"]
    for row, name in zip(rows, ("selfsim", "selfsim_adjusted"), strict=True):
        assert [float(row[str(i)]) for i in range(3)] == pytest.approx(study.curve(name), abs=6e-4)
    words = {(row["word"], row["measure"]): row for row in table(world, "context-words-1")}
    place = study.words.place("cat")
    assert float(words["cat", "MEV"]["2"]) == pytest.approx(study.words.mev[place, 2], abs=6e-4)
    last = study.deep.layers[-1].dimensions["cosine"]
    row = next(row for row in table(world, "clusters-lid") if row["vectors"] == "tiny: layer 2")
    assert float(row["cosine"]) == pytest.approx(last.value / 2, rel=6e-3)
    assert (row["n"], row["m"]) == (f"{last.base:,}", "16")


def test_cosines_between_and_within_types_by_a_double_loop(world):
    """Raw and centered by cluster, as published and weighted by size, in the last layer."""
    study = uncone.layers(world / "tiny", world / "texts.txt", deep=True, keep_vectors=True)
    space, layer = study.deep.spaces[-1], study.deep.layers[-1]
    vectors, labels = space.vectors.astype(float), layer.clusters.labels
    groups = study.deep.facts.at(study.deep.rows[-1]).sentence

    def cosines(rows):
        """S_inter over pairs of types, S_intra over types, pairs of different sentences only."""
        of = {}
        for row in rows:
            of.setdefault(space.words[row], []).append(row)
        unit = {row: centered[row] / np.linalg.norm(centered[row]) for row in rows}
        inter = []
        for a, b in combinations(of, 2):
            inter.append(np.mean([unit[i] @ unit[j] for i in of[a] for j in of[b]]))
        intra = []
        for own in of.values():
            pairs = [unit[i] @ unit[j] for i, j in combinations(own, 2) if groups[i] != groups[j]]
            intra += [np.mean(pairs)] if pairs else []
        return np.mean(inter), np.mean(intra)

    # A few hundred rows: the loops take seconds.
    keep = np.arange(len(vectors))
    centered = vectors
    raw = _by_means(vectors, space.words, groups, keep)
    assert layer.clusters.raw.inter == pytest.approx(raw[0], abs=1e-4)
    assert layer.clusters.raw.intra == pytest.approx(raw[1], abs=1e-4)
    centered = vectors.copy()
    each, sizes = [], []
    for label in range(layer.clusters.k):
        rows = np.flatnonzero(labels == label)
        centered[rows] -= vectors[rows].mean(axis=0)
        each.append(cosines(rows[:150]) if len(rows) <= 150 else _by_means(centered, space.words, groups, rows))
        sizes.append(len(rows))
    for kind, values in zip(("inter", "intra"), zip(*each, strict=True), strict=True):
        weighted, plain = np.average(values, weights=sizes), np.mean(values)
        assert getattr(layer.clusters.within, kind) == pytest.approx(weighted, abs=1e-4)
        assert getattr(layer.clusters.within_plain, kind) == pytest.approx(plain, abs=1e-4)
        shown = [row for row in table(world, f"clusters-s-{kind}") if row["layer"] == "tiny"]
        assert [float(row["2"]) for row in (shown[0], shown[3], shown[4])] == pytest.approx(
            [raw[0 if kind == "inter" else 1], weighted, plain], abs=6e-4
        )


def _by_means(vectors, words, groups, rows):
    """The same from a loop over types: pairs of two types by the product of their means."""
    unit = {row: vectors[row] / np.linalg.norm(vectors[row]) for row in rows}
    of = {}
    for row in rows:
        of.setdefault(words[row], []).append(row)
    means = [np.mean([unit[row] for row in own], axis=0) for own in of.values()]
    inter = [a @ b for a, b in combinations(means, 2)]
    intra = []
    for own in of.values():
        gram = np.array([unit[row] for row in own]) @ np.array([unit[row] for row in own]).T
        other = groups[own][:, None] != groups[own][None, :]
        if other.any():
            intra.append(gram[other].mean())
    return np.mean(inter), np.mean(intra)


def test_bins_and_outcomes_are_those_of_the_json(world):
    found = json.loads((world / "out" / "layers.json").read_text())
    first = found["frequency"][0]["repairs"]
    assert [row["method"] for row in first] == ["raw", "center", "whiten"]
    rows = table(world, "frequency-bins")
    norms = next(row for row in rows if row["rank of word frequency"] == "Mean L2 norm")
    assert float(norms["(0, 100]"]) == pytest.approx(first[0]["bias"]["bins"][0]["norm"]["value"], rel=6e-3)
    published = [row for row in rows if row["rank of word frequency"] == "Mean L2 norm"][-1]
    assert [published[name] for name in ("(0, 100]", "(100, 500]", "(500, 5K]", "(5K, 10K]")] == [
        "0.95",
        "1.04",
        "1.22",
        "1.45",
    ]
    outcome = table(world, "frequency-repairs-1")
    assert [row["repair"] for row in outcome] == ["raw", "center", "whiten"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--suite", "papers"], "needs a folder"),
        (["--out", "out"], "--suite papers"),
        (["--suite", "papers", "--out", "out", "--json", "a.json"], "leave --json out"),
        (["--suite", "papers", "--out", "out", "--curve"], "leave --curve out"),
        (["--suite", "papers", "--out", "out", "--rows", "sentences"], "--rows words"),
        (["--suite", "papers", "--out", "out", "--methods", "polish"], "polish"),
        (["--suite", "papers", "--out", "out", "--methods", "static"], "static"),
        (["--suite", "papers", "--out", "texts.txt"], "texts.txt is a file"),
        (["--methods", "center"], "--methods needs --suite"),
        (["--suite", "books", "--out", "out"], "papers"),
    ],
)
def test_bad_input_is_one_line(world, capfd, monkeypatch, tmp_path, options, message):
    shutil.copy(world / "texts.txt", tmp_path / "texts.txt")
    monkeypatch.chdir(tmp_path)
    assert message in refused(tmp_path, capfd, "layers", world / "tiny", "--corpus", "texts.txt", *options)


def test_a_static_model_and_named_models(world, tmp_path):
    """A file of word vectors has one layer and one space; a model that goes by a published name is not "not run"."""
    words = ["the", "cat", "dog", "sees", "likes", "house", "today", "a", "in", "."]
    rng = np.random.default_rng(0)
    lines = [f"{word} {' '.join(f'{x:.4f}' for x in rng.normal(size=12))}" for word in words]
    (tmp_path / "glove.6b.100d.txt").write_text("\n".join(lines) + "\n")
    shutil.copytree(world / "deep", tmp_path / "elmo")
    models = [tmp_path / "glove.6b.100d.txt", tmp_path / "elmo"]
    result = uncone.layer_papers(models, [world / "texts.txt"], "center")
    assert [space.space for space in result.frequency] == ["word vectors", "input embeddings", "layer 3"]
    text = result.to_markdown()
    assert "elmo, here" not in text and "gpt2, here" in text
    row = next(line for line in text.splitlines() if "GloVe-100d" in line)
    assert "not run" not in row and "published" in row
    assert all(isinstance(content, str) and content for content in result.tables().values())
