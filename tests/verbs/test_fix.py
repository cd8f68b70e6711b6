"""`fix` and `apply` end to end: what is measured, saved, written and refused, against plain numpy."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

import uncone
from uncone.errors import FitError, OptionError, OtherSpaceError, OutputError
from uncone.repairs import load, make
from uncone.repairs.dimensions import Center


@pytest.fixture
def rows(rng=None):
    rng = np.random.default_rng(7)
    return (rng.normal(size=(600, 24)) * np.linspace(3, 0.3, 24) + 2.0).astype(np.float32)


def sentences(path, n=None):
    lines = path.read_text(encoding="utf-8").splitlines()[:n]
    return [line.split("\t") for line in lines]


def centered_cosine(x):
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    total = unit.sum(axis=0)
    return (total @ total - len(x)) / (len(x) * (len(x) - 1))


def test_before_and_after_are_those_of_the_vectors(rows):
    fixed = uncone.fix(rows, "droptop", k=2)
    mended = fixed.repair.transform(rows)
    assert fixed.before["baseline"].value == pytest.approx(centered_cosine(rows), abs=1e-6)
    assert fixed.after["baseline"].value == pytest.approx(centered_cosine(mended), abs=1e-6)
    assert fixed.provenance["n"] == 600 and fixed.provenance["method"] == "droptop"


@pytest.mark.parametrize(("n", "d"), [(9_001, 40), (5_003, 1_200)])
def test_a_file_holds_the_digits_of_the_table_in_memory(n, d):
    """Whatever the blocks are that it is read and written in, also of rows so wide that they are shorter."""
    rows = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32) + 3
    np.save("v.npy", rows)
    repair = make("droptop", k=2).fit(rows)
    uncone.apply(repair, "v.npy", out="w.npy")
    np.testing.assert_array_equal(np.load("w.npy"), repair.transform(rows))
    np.testing.assert_array_equal(np.load("w.npy"), uncone.apply(repair, "v.npy"))


def test_save_write_and_apply(rows, tmp_path):
    np.save("v.npy", rows)
    fixed = uncone.fix("v.npy", "center,droptop,whiten", dim=8, save="repair", out="fixed.npy")
    expected = fixed.repair.transform(rows)
    np.testing.assert_allclose(np.load("fixed.npy"), expected, rtol=1e-5, atol=1e-5)
    uncone.apply("repair", "v.npy", out="again.npy")
    np.testing.assert_array_equal(np.load("again.npy"), np.load("fixed.npy"))
    np.testing.assert_array_equal(uncone.apply("repair", rows), load("repair").repair.transform(rows))
    code = "import uncone, numpy; numpy.save('other.npy', uncone.apply('repair', 'v.npy'))"
    subprocess.run([sys.executable, "-c", code], check=True)
    np.testing.assert_array_equal(np.load("other.npy"), np.load("again.npy"))
    manifest = json.loads((tmp_path / "repair/repair.json").read_text())
    assert manifest["provenance"]["fitted_on"] == "v.npy" and manifest["dim_out"] == 8


@pytest.mark.parametrize(
    "method",
    [
        "center",
        "clustered",
        *(pytest.param(method, marks=pytest.mark.exhaustive) for method in ("droptop", "whiten", "mute")),
    ],
)
def test_stream_memory_and_workers_agree(rows, method):
    options = {"k": 3, "p": 2} if method == "clustered" else {}
    np.save("v.npy", rows)
    for i, part in enumerate(np.array_split(rows, 3)):
        np.save(f"part-{i}.npy", part)
    results = [
        uncone.fix("v.npy", method, **options).repair.transform(rows),
        uncone.fix("part-*.npy", method, **options).repair.transform(rows),
        uncone.fix("v.npy", method, workers=4, **options).repair.transform(rows),
        uncone.fix(rows, method, **options).repair.transform(rows),
    ]
    for output in results[1:]:
        np.testing.assert_allclose(output, results[0], rtol=1e-6, atol=1e-6)


def test_bad_rows_are_refused_or_left_out(rows):
    rows[5] = np.nan
    np.save("v.npy", rows)
    with pytest.raises(FitError, match=r"1 .*--skip-bad"):
        uncone.fix("v.npy", "whiten", out="fixed.npy", save="repair")
    fixed = uncone.fix("v.npy", "whiten", out="fixed.npy", skip_bad=True)
    output, usable = np.load("fixed.npy"), np.delete(rows, 5, axis=0)
    assert np.isnan(output[5]).all()
    np.testing.assert_allclose(np.cov(np.delete(output, 5, axis=0).T), np.eye(24), atol=1e-4)
    np.testing.assert_allclose(fixed.repair.mean_, usable.mean(axis=0, dtype=np.float64), rtol=1e-5)


@pytest.mark.parametrize(
    ("method", "options", "error", "said"),
    [
        ("nonsense", {}, OptionError, "nonsense"),
        ("center", {"k": 3}, OptionError, "'k'"),
        ("droptop", {"k": 24}, FitError, "24"),
        ("clustered", {"k": 700}, FitError, "700"),
        ("clustered", {"k": 2, "p": 24}, FitError, "24"),
        ("normalize,center", {}, OptionError, "last"),
        ("whiten", {"dim": 25}, FitError, "25"),
    ],
)
def test_what_cannot_be_is_said(rows, method, options, error, said):
    with pytest.raises(error, match=said):
        uncone.fix(rows, method, **options)


def test_few_rows_need_shrinkage(rows):
    with pytest.raises(FitError, match="shrinkage"):
        uncone.fix(rows[:20], "whiten", shrinkage=None)
    assert np.isfinite(uncone.fix(rows[:20], "whiten").repair.transform(rows)).all()


def test_nothing_is_written_over(rows, tmp_path):
    np.save("v.npy", rows)
    with pytest.raises(OptionError, match="input"):
        uncone.fix("v.npy", "center", out="v.npy")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("keep")
    with pytest.raises(OutputError, match=r"notes\.txt"):
        uncone.fix("v.npy", "center", save="mine")
    assert (tmp_path / "mine/notes.txt").read_text() == "keep"
    np.testing.assert_array_equal(np.load("v.npy"), rows)


def test_another_dimension(rows):
    uncone.fix(rows, "center", save="repair")
    with pytest.raises(OtherSpaceError, match="24; these have 23"):
        uncone.apply("repair", rows[:, :23])


def test_texts_at_both_levels(tiny_model, tmp_path):
    texts = [f"the text {i} go to school {chr(97 + i % 26)} {i * 7 % 13}" for i in range(80)]
    (tmp_path / "texts.csv").write_text("id,text\n" + "".join(f"{i},{text}\n" for i, text in enumerate(texts)))
    for level in ("sentence", "token"):
        fixed = uncone.fix(
            "texts.csv", "center", model=tiny_model, layer="1,-1", pooling="mean", level=level, save=level
        )
        assert fixed.provenance["level"] == level and fixed.provenance["encoder"] == str(tiny_model)
        applied = uncone.apply(level, texts, model=tiny_model)
        assert abs(applied.mean(axis=0)).max() < (1e-5 if level == "sentence" else 0.5)
        single = uncone.apply(level, [texts[3]], model=tiny_model)
        np.testing.assert_allclose(single[0], applied[3], atol=2e-6)
        with pytest.raises(OtherSpaceError, match="layer"):
            uncone.apply(level, texts, model=tiny_model, layer=0)
    assert fixed.provenance["n"] > 80, "tokens were counted"


def test_another_encoder(tiny_model, tmp_path):
    import shutil

    from safetensors.numpy import load_file, save_file

    texts = [f"the text {i}" for i in range(30)]
    uncone.fix(texts, "center", model=tiny_model, save="repair")
    other = shutil.copytree(tiny_model, tmp_path / "other")
    np.testing.assert_allclose(
        uncone.apply("repair", texts, model=other), uncone.apply("repair", texts, model=tiny_model), atol=1e-6
    )
    weights = load_file(other / "model.safetensors")
    save_file(
        {name: weight * 1.5 for name, weight in weights.items()}, other / "model.safetensors", metadata={"format": "pt"}
    )
    with pytest.raises(OtherSpaceError, match="Fit a repair for each"):
        uncone.apply("repair", texts, model=other)


REFERENCE = {"droptop": ({"k": 15}, 57.4), "whiten": ({"shrinkage": None}, 54.1), "center": ({}, 32.9)}


@pytest.fixture(scope="module")
def stsb(real_data):
    train = [row[1] for row in sentences(real_data / "sts/stsb-train.tsv", 4000)]
    test = sentences(real_data / "sts/stsb-test.tsv")
    return train, [float(row[0]) for row in test], [row[1] for row in test], [row[2] for row in test]


def spearman(gold, a, b):
    cosines = (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    return 100 * spearmanr(gold, cosines).statistic


def score(fixed, stsb, model, save):
    _, gold, left, right = stsb
    fixed.repair.save(save, **fixed.provenance)
    return spearman(gold, *(uncone.apply(save, side, model=model) for side in (left, right)))


@pytest.mark.parametrize(
    "method", ["droptop", *(pytest.param(method, marks=pytest.mark.exhaustive) for method in ("whiten", "center"))]
)
def test_stsb_with_the_affine_family(real_data, stsb, method):
    model = real_data.parent / "models/bert-tiny"
    options, expected = REFERENCE[method]
    fixed = uncone.fix(stsb[0], method, model=model, layer=2, pooling="mean", **options)
    assert score(fixed, stsb, model, "repair") == pytest.approx(expected, abs=1.0)


@pytest.mark.exhaustive
def test_stsb_raw_clustered_and_flow(real_data, stsb):
    model = real_data.parent / "models/bert-tiny"
    train, _gold, _left, _right = stsb
    identity = uncone.fix(train, "mute", model=model, layer=2, pooling="mean", dimensions=[])
    assert score(identity, stsb, model, "raw") == pytest.approx(32.1, abs=1.0)
    clustered = uncone.fix(train, "clustered", model=model, layer=2, pooling="mean", level="token")
    assert score(clustered, stsb, model, "clustered") > 55
    flow = uncone.fix(train, "flow", model=model, layer=2, pooling="mean", epochs=2)
    assert score(flow, stsb, model, "flow") > 48
    assert len(flow.history) == 3 and flow.history[-1][1] < flow.history[0][1]


def test_repaired_vectors_are_measured_while_they_are_written(monkeypatch):
    rows = (np.random.default_rng(0).normal(size=(20_000, 16)) + 1).astype(np.float32)
    np.save("vectors.npy", rows)
    counts, original = [], Center.map
    monkeypatch.setattr(Center, "map", lambda self, part: counts.append(len(part)) or original(self, part))
    fixed = uncone.fix("vectors.npy", "center", out="fixed.npy")
    assert sum(counts) == len(rows), "every vector is repaired once"
    np.testing.assert_allclose(np.load("fixed.npy"), rows - rows.mean(0), atol=1e-5)
    assert fixed.after.to_dict()["findings"] == uncone.fix("vectors.npy", "center").after.to_dict()["findings"]


def test_nothing_is_written_when_the_repaired_vectors_cannot_be_measured(monkeypatch):
    np.save("vectors.npy", np.random.default_rng(0).normal(size=(9_000, 16)).astype(np.float32))
    module = import_module("uncone.verbs.fix")
    diagnosis_of = module.diagnosis_of

    def fail(space, options, *, repaired=False):
        found = diagnosis_of(space, options, repaired=repaired)
        if repaired:
            raise FitError("no")
        return found

    monkeypatch.setattr(module, "diagnosis_of", fail)
    with pytest.raises(FitError, match="no"):
        uncone.fix("vectors.npy", "center", out="fixed.npy")
    assert not [path for path in Path().iterdir() if "fixed" in path.name]
