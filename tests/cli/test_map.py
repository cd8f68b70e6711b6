"""`uncone map`: what it writes and prints, and one line for bad input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from uncone.cli.main import _run
from uncone.repairs import Center


@pytest.fixture
def vectors(tmp_path, cone):
    rows = cone(120, 6)
    np.save("v.npy", rows)
    Path("labels.txt").write_text("".join(f"{'ab'[i % 2]}\n" for i in range(120)))
    return rows


@pytest.fixture
def texts(tmp_path):
    words = ["the", "text", "go", "school"]
    rng = np.random.default_rng(0)
    found = [f"{' '.join(rng.choice(words, 4))} {'abcdefgh'[i % 8]}{i}" for i in range(30)]
    Path("texts.txt").write_text("\n".join(found) + "\n")
    return found


def told(capsys, *arguments, code=0):
    assert _run(["map", *map(str, arguments)]) == code
    captured = capsys.readouterr()
    return captured.out if code == 0 else captured.err


def test_everything_is_written(vectors, capsys):
    pytest.importorskip("matplotlib")
    files = ["--json", "a.json", "--markdown", "a.md", "--png", "pictures", "--html", "a.html"]
    out = told(capsys, "v.npy", "--label", "labels.txt", "--points", 50, *files)
    assert "50 of 120 vectors by PCA in 2 dimensions" in out and "a.html" in out and "pictures" in out
    found = json.loads(Path("a.json").read_text())
    assert found["shown"] == 50 and found["total"] == 120 and found["seed"] == 0
    assert found["colorings"][0]["name"] == "label" and found["panels"][0]["trust"]["k"] == 15
    assert found["written"]["pictures"] == "pictures" and Path("a.md").read_text()
    assert any(path.suffix == ".png" for path in Path("pictures").iterdir())
    assert "<html" in Path("a.html").read_text()


def test_one_file_or_one_for_every_side(vectors, capsys):
    pytest.importorskip("matplotlib")
    told(capsys, "v.npy", "--no-html", "--png", "a.png")
    assert Path("a.png").read_bytes().startswith(b"\x89PNG") and not Path("uncone-map.html").exists()
    told(capsys, "v.npy", "--no-html", "--png", "b.png", "--dims", 3, "--angles", 2)
    assert {path.name for path in Path().glob("b*.png")} == {"b.png", "b-2.png"}
    told(capsys, "v.npy", "--no-html", "--png", "c.png", "--dims", 3, "--angles", "20:45")
    assert {path.name for path in Path().glob("c*.png")} == {"c.png"}


def test_json_goes_to_standard_output(vectors, capsys):
    found = json.loads(told(capsys, "v.npy", "--json", "-", "--no-html", "--method", "svd", "--color", "norm"))
    assert found["method"] == "svd" and found["colorings"][0]["name"] == "norm"
    norms = np.linalg.norm(vectors, axis=1)
    assert found["colorings"][0]["known"] == 120
    assert 0 < found["panels"][0]["trust"]["explained"] <= 1 and norms.min() > 0


def test_layers_words_and_repairs_of_texts(texts, tiny_model, capsys):
    model = ("--model", tiny_model, "--no-html", "--json", "-")
    found = json.loads(
        told(capsys, "texts.txt", "--rows", "words", "--layer", "all", "--words", "school,zebra", *model)
    )
    assert [panel["layer"] for panel in found["panels"]] == [0, 1, 2] and found["highlight"] == ["school"]
    assert "Not in the texts: zebra." in found["notes"]
    Center().fit(np.eye(32) + 1).save("repair")
    found = json.loads(told(capsys, "texts.txt", "--repair", "repair", *model))
    assert [panel["name"] for panel in found["panels"]] == ["raw", "repaired"]


def test_a_static_picture_of_many_rows(capsys):
    pytest.importorskip("matplotlib")
    np.save("many.npy", np.random.default_rng(0).normal(size=(200_500, 3)).astype(np.float32))
    out = told(capsys, "many.npy", "--points", 300_000, "--png", "many.png", "--color", "none", "--no-html")
    assert "200,500 vectors by PCA" in out and "axes" in out
    assert Path("many.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["v.npy", "--method", "mds"], '"pca", "svd", "tsne", "umap"'),
        (["v.npy", "--dims", 4], "--dims must be 2 or 3, not 4"),
        (["v.npy", "--color", "mood"], '"mood" for --color'),
        (["v.npy", "--color", "label"], "--color label needs labels: name their column with --label"),
        (["v.npy", "--layer", "all"], "--layer is for texts: name a model with --model"),
        (["v.npy", "--limit", 5], "--limit is for texts"),
        (["v.npy", "--rows", "words"], "--rows is for texts"),
        (["v.npy", "--points", 300_000], "static image with --png"),
        (["v.npy", "--points", 1], "at least 2, not 1"),
        (["v.npy", "--angles", 3], "--angles needs --png"),
        (["v.npy", "--dims", 3, "--png", "a.png", "--angles", "north"], "a number of views up to 36"),
        (["v.npy", "--dims", 3, "--png", "a.png", "--angles", 99], "a number of views up to 36"),
        (["v.npy", "--dims", 3, "--png", "a.png", "--angles", "1:2:3"], "a number of views up to 36"),
        (["v.npy", "--words", "school"], "has none: name their column with --text"),
        (["v.npy", "--words", "zebra", "--text", "labels.txt"], "contains none of the words of --words: zebra"),
        (["v.npy", "--words", ", "], "--words must be a list such as a,b"),
        (["v.npy", "--k", 500], "k=500 clusters cannot be made of 120 rows"),
        (["v.npy", "--repair", "nothing"], "nothing"),
        (["v.npy", "--png", "no/such/folder.png"], "no folder"),
        (["v.npy", "--html", "v.npy"], "would overwrite the source"),
        (["v.npy", "--model", "m", "--column", "c"], "--column and --tensor are for vectors"),
        (["missing.npy"], "no file or folder missing.npy"),
        (["three.npy", "--method", "tsne"], "t-SNE needs at least 5 vectors; we got 3. Use PCA"),
    ],
)
def test_bad_input_is_one_line(vectors, arguments, message, capsys):
    np.save("three.npy", vectors[:3])
    if "tsne" in arguments:
        pytest.importorskip("openTSNE")
    line = told(capsys, *arguments, code=2)
    assert line.startswith("uncone: ") and line.count("\n") == 1 and message in line
    assert not Path("uncone-map.html").exists()


def test_bad_texts_are_one_line(texts, tiny_model, capsys):
    model = ("texts.txt", "--model", tiny_model)
    assert "none of the words of --words: zebra, gnu." in told(
        capsys, *model, "--rows", "words", "--words", "zebra,gnu", code=2
    )
    assert '"sentences", "words", "tokens", "cls"' in told(capsys, *model, "--rows", "letters", code=2)
    assert "There is no layer 7" in told(capsys, *model, "--layer", 7, code=2)
    assert "--layer takes numbers" in told(capsys, *model, "--layer", "some", code=2)
    assert "--color label needs labels" in told(capsys, *model, "--color", "label", code=2)


def test_a_missing_package_is_told_with_the_line_that_installs_it(vectors, capsys, monkeypatch):
    monkeypatch.setattr("uncone.errors.find_spec", lambda name: None)
    line = told(capsys, "v.npy", "--method", "umap", code=2)
    assert line == "uncone: This needs umap, which is not installed: pip install 'uncone[maps]'\n"


def test_equal_rows_are_a_map_of_one_point(capsys):
    np.save("equal.npy", np.ones((30, 4)))
    assert "all vectors are equal" in told(capsys, "equal.npy", "--no-html")
