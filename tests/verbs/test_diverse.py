"""Diverse text beside one's own, and advice without pairs: `check`, `layers`, `calibrate`, `fix` against numpy."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from commands import run
from scipy.stats import spearmanr

import uncone
from uncone.analysis.advice.rules import RULES, Record
from uncone.analysis.advice.witness import word_pairs
from uncone.data.texts.diverse import DIVERSE
from uncone.errors import OptionError

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "it", "was", "not", "for", "you", "bread", "to", "stone", "of"]


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS, rng.integers(3, 12))) + f" {at}" for at in range(150)]


@pytest.fixture
def options(tiny_model):
    return {"model": str(tiny_model), "cache": False}


def vectors_of(texts, options):
    """The vectors as `encode` writes them."""
    Path("texts.txt").write_text("\n".join(texts), encoding="utf-8")
    uncone.encode("texts.txt", out="vectors.npy", **options)
    return np.load("vectors.npy").astype(np.float64)


def mean_cosine(rows):
    """A double loop over all pairs."""
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return float(np.mean([a @ b for a, b in combinations(units, 2)]))


def diverse():
    return DIVERSE.read_text(encoding="utf-8").splitlines()


def test_check_measures_the_model_on_diverse_text(texts, options):
    own, other = mean_cosine(vectors_of(texts, options)), mean_cosine(vectors_of(diverse(), options))
    diagnosis = uncone.check(texts, **options)
    assert diagnosis["diverse_baseline"].value == pytest.approx(other, abs=1e-5)
    assert diagnosis["diverse_baseline"].n == len(diverse())
    assert diagnosis["diverse_baseline"].low < other < diagnosis["diverse_baseline"].high
    assert diagnosis["topic_share"].value == pytest.approx(max(1 - other / own, 0), abs=1e-4)
    assert "many subjects" in diagnosis.verdict.why
    for page in (diagnosis.to_html(), diagnosis.to_markdown()):
        assert "On many subjects" in page or "on many subjects" in page
    assert json.loads(diagnosis.to_json())["findings"]["topic_share"]["value"] == diagnosis["topic_share"].value


def test_other_text_and_none(texts, options):
    own = texts[:60]
    diagnosis = uncone.check(texts, **options, diverse=own)
    assert diagnosis["diverse_baseline"].value == pytest.approx(mean_cosine(vectors_of(own, options)), abs=1e-5)
    assert "diverse_baseline" not in uncone.check(texts, **options, diverse="none").findings
    assert "diverse_baseline" not in uncone.check(vectors_of(texts, options)).findings
    few = uncone.check(texts, **options, diverse=own[:10])["diverse_baseline"]
    assert few.value is None and "10 distinct texts are too few" in few.meaning


def test_a_text_that_the_model_does_not_know(texts, options):
    chinese = [f"{a}{b}" for a in "猫狗鸟鱼马牛羊" for b in "天地人山水火木"]
    finding = uncone.check(texts, **options, diverse=chinese)["diverse_baseline"]
    assert finding.value is None
    assert "100 % of the letters" in finding.meaning and "--diverse FILE" in finding.meaning


def test_calibrate_and_layers(texts, options):
    other = mean_cosine(vectors_of(diverse(), options))
    calibrated = uncone.calibrate(texts, **options)
    assert calibrated.topic["diverse_baseline"].value == pytest.approx(other, abs=1e-5)
    assert any("many subjects" in line for line in calibrated.lines())
    assert uncone.calibrate(texts, **options, diverse="none").topic == {}
    study = uncone.layers(options["model"], texts, rows="sentences")
    for layer in study.layers:
        rows = vectors_of(diverse(), {**options, "layer": layer.number})
        assert layer["diverse_baseline"].value == pytest.approx(mean_cosine(rows), abs=1e-4)
    assert "many subjects" in " ".join(study.story)
    assert (
        "diverse_baseline" not in uncone.layers(options["model"], texts, rows="sentences", diverse="none")[0].findings
    )


def test_fix_shows_both_and_the_witness(texts, options):
    fixed = uncone.fix(texts, "droptop", k=2, **options)
    raw = vectors_of(texts, options)
    repaired = fixed.repair.transform(raw)
    others = fixed.repair.transform(vectors_of(diverse(), options))
    assert fixed.after["diverse_baseline"].value == pytest.approx(mean_cosine(others), abs=1e-4)
    pairs = word_pairs(texts)

    def agreement(rows):
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return spearmanr(np.vecdot(units[pairs.left], units[pairs.right]), pairs.similarity).statistic

    assert fixed.before["word_agreement"].value == pytest.approx(agreement(raw), abs=1e-3)
    assert fixed.after["word_agreement"].value == pytest.approx(agreement(repaired), abs=1e-3)
    assert fixed.change.value == pytest.approx(agreement(repaired) - agreement(raw), abs=1e-3)
    assert fixed.change.low < fixed.change.value < fixed.change.high
    assert any(line.startswith("Agreement with words") for line in fixed.lines())
    assert json.loads(fixed.to_json())["agreement"]["value"] == fixed.change.value


def test_rounder_is_not_called_healthy(texts, options):
    fixed = uncone.fix(texts, "whiten", dim=8, **options)
    health = {"bad_rows", "zero_vectors", "constant_dimensions", "duplicate_share", "rows_per_dimension"}
    levels = {name: finding.level for name, finding in fixed.after.findings.items() if name not in health}
    assert "healthy" not in {str(level) for level in levels.values()} - {str(levels["looks_transposed"])}
    after = " ".join([fixed.headline, *fixed.lines(), fixed.after.verdict.text, fixed.use.text]).lower()
    assert "healthy" not in after and "better" not in after


def test_too_small_for_words(options):
    finding = uncone.check(["the cat", "a dog sat"] * 20, **options)["word_agreement"]
    assert finding.value is None
    assert "2 distinct texts are too few for agreement with words" in finding.meaning


K = next(rule.repair.k for rule in RULES if rule.name == "crowded")
"""Directions that the rule on crowded vectors removes."""
RECORDS = {"crowded": {"similarity": Record(126, 120, 2, -1.5)}}


@pytest.fixture
def crowded(monkeypatch):
    """Crowded vectors, and a rule with a good record."""
    monkeypatch.setattr("uncone.analysis.advice.rules.stored_records", lambda: RECORDS)
    rng = np.random.default_rng(0)
    return (rng.normal(size=(1500, 64)) + 1.2).astype(np.float32)


def test_use_is_expected_unknown_or_proven(crowded):
    expected = uncone.fix(crowded, "droptop", k=K)
    assert expected.use.kind == "expected"
    assert "126 measured cases" in expected.use.text and "not proven" in expected.use.text
    unknown = uncone.fix(crowded, "whiten")
    assert unknown.use.kind == "unknown" and f"droptop --k {K}" in unknown.use.text
    assert expected.to_markdown().rstrip().endswith(expected.use.text.split(". ")[-1].strip())
    rng = np.random.default_rng(1)
    left, right = rng.integers(0, 1500, (2, 400))
    truth = crowded - crowded.mean(axis=0)
    scores = (
        np.vecdot(truth[left], truth[right])
        / np.linalg.norm(truth[left], axis=1)
        / np.linalg.norm(truth[right], axis=1)
    )
    lines = [f"{a}\t{b}\t{score}" for a, b, score in zip(left, right, scores, strict=True)]
    Path("pairs.tsv").write_text("\n".join(["left\tright\tscore", *lines]), encoding="utf-8")
    choice = uncone.prescribe(crowded, pairs="pairs.tsv", left="left", right="right", score="score")
    proven = uncone.fix(crowded, choice.recommended.repair, **choice.recommended.options, prescription=choice)
    assert proven.use.kind == "proven" and "proven on" in proven.use.text


def test_prescribe_without_pairs(crowded, texts, options):
    advice = uncone.prescribe(crowded)
    assert advice.verdict == f"droptop {K}" and advice.recommended.options == {"k": K}
    assert not advice.proven and "measured cases" in advice.reason and advice.change is None
    np.testing.assert_allclose(
        advice.repair.transform(crowded), uncone.fix(crowded, "droptop", k=K).repair.transform(crowded), atol=1e-4
    )
    values = advice.to_dict()
    assert values["proven"] is False and values["advice"]["record"]["similarity"]["cases"] == 126
    unknown = uncone.prescribe(texts, **options)
    assert unknown.verdict == "unknown" and unknown.recommended is None and "word_agreement" in unknown.findings
    with pytest.raises(OptionError, match="Name vectors"):
        uncone.prescribe()


def test_auto_without_pairs_on_the_command_line(crowded, capsys):
    np.save("crowded.npy", crowded)
    assert (
        run(*["fix", "crowded.npy", "--method", "auto", "--save", "repair", "-o", "out.npy", "--json", "a.json"]) == 0
    )
    told = " ".join(capsys.readouterr().out.split())
    assert f"Try droptop {K}: expected to help, not proven." in told and "proven on" not in told
    result = json.loads(Path("a.json").read_text())
    assert result["use"]["kind"] == "expected" and result["provenance"]["prescription"]["proven"] is False
    assert uncone.validate(Path("a.json").read_text()) == "fix"
    np.save("even.npy", crowded - crowded.mean(axis=0))
    assert run(*["fix", "even.npy", "--method", "auto", "-o", "none.npy", "--json", "b.json"]) == 0
    assert "No repair and no vectors were written." in capsys.readouterr().out
    assert not Path("none.npy").exists()
    assert uncone.validate(Path("b.json").read_text()) == "fix"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "v.npy", "--diverse", "t.txt"], "--diverse is for texts: name a model with --model."),
        (["check", "t.txt", "--model", "MODEL", "--diverse", "missing.txt"], "missing.txt"),
        (["layers", "MODEL", "--corpus", "t.txt", "--diverse", "missing.txt"], "missing.txt"),
        (["calibrate", "t.txt", "--model", "MODEL", "--diverse", "empty.txt"], "empty.txt"),
        (["check", "t.txt", "--model", "MODEL", "--diverse", "d.txt", "--html", "d.txt"], "d.txt"),
    ],
)
def test_bad_input(arguments, message, texts, tiny_model, capsys):
    np.save("v.npy", np.eye(40))
    for name, lines in (("t.txt", texts), ("d.txt", texts), ("empty.txt", [])):
        Path(name).write_text("\n".join(lines), encoding="utf-8")
    before = Path("d.txt").read_text()
    assert run(*[str(tiny_model) if part == "MODEL" else part for part in arguments]) == 2
    told = capsys.readouterr().err
    assert message in told and len(told.strip().splitlines()) == 1
    assert Path("d.txt").read_text() == before
