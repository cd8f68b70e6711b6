"""`evaluate` and `prescribe` through the door: what comes out and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

import uncone
import uncone.verbs.evaluate
from uncone.cli.main import _run
from uncone.data.tasks.sts import PairTask
from uncone.errors import OptionError

WORDS = ["the", "text", "go", "school"]


@pytest.fixture
def pairs():
    rng = np.random.default_rng(3)
    texts = [" ".join([*rng.choice(WORDS, 4), *rng.choice(list("abcdefghij"), 3)]) for _ in range(160)]
    left, right = texts[:80], texts[80:]
    scores = np.array([len(set(a.split()) & set(b.split())) for a, b in zip(left, right, strict=True)], np.float64)
    return PairTask("own", left, right, scores, ["own"] * 80)


def test_scores_are_those_of_the_vectors(tiny_model, pairs):
    from scipy.stats import pearsonr, spearmanr

    result = uncone.evaluate(tiny_model, [pairs], "raw,center", fit_on=list(pairs.left), layer=1, pooling="mean").table
    fixed = uncone.fix(list(pairs.left), "center", model=tiny_model, layer=1, pooling="mean")
    identity = uncone.fix(list(pairs.left), "mute", model=tiny_model, layer=1, pooling="mean", dimensions=[])
    for row, repaired in zip(result.rows, (identity, fixed), strict=True):
        repaired.repair.save("repair", **repaired.provenance)
        a, b = (uncone.apply("repair", list(side), model=tiny_model) for side in (pairs.left, pairs.right))
        cosines = (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
        assert row.cells[0].spearman.all == pytest.approx(spearmanr(pairs.scores, cosines).statistic, abs=2e-3)
        assert row.cells[0].pearson.all == pytest.approx(pearsonr(pairs.scores, cosines).statistic, abs=1e-3)


def test_an_unknown_task_and_an_unknown_set(tiny_model):
    with pytest.raises(OptionError, match="retrieval:FOLDER"):
        uncone.evaluate(tiny_model, tasks=["nonsense"])
    with pytest.raises(uncone.UnconeError, match="sts12"):
        uncone.evaluate(tiny_model, ["sts99"])


def test_vectors_are_chosen_for_by_row_numbers(tmp_path):
    rng = np.random.default_rng(0)
    signal = rng.normal(size=(400, 16))
    rows = signal.copy()
    rows[:, :2] = 60 * rng.normal(size=(400, 2)) + 90  # rogue: they carry every cosine, and say nothing
    left, right = rng.permutation(400).reshape(2, -1)
    cosine = np.vecdot(signal[left], signal[right]) / np.linalg.norm(signal[left], axis=1)
    cosine /= np.linalg.norm(signal[right], axis=1)
    np.save("v.npy", rows.astype(np.float32))
    table = "".join(f"{a},{b},{c:.4f}\n" for a, b, c in zip(left, right, cosine, strict=True))
    (tmp_path / "pairs.csv").write_text("left,right,score\n" + table)
    result = uncone.prescribe("v.npy", pairs="pairs.csv")
    assert result.proven and result.recommended is not None and result.gain.low > 0.3
    assert (
        _run(["fix", "v.npy", "--method", "auto", "--pairs", "pairs.csv", "--save", "repair", "--json", "a.json"]) == 0
    )
    saved = json.loads((tmp_path / "repair/repair.json").read_text())["provenance"]["prescription"]
    assert saved["proven"] and saved["verdict"] == result.verdict
    assert _run(["fix", "v.npy", "--method", "center", "--pairs", "pairs.csv"]) == 2
    assert not uncone.prescribe("v.npy").proven, "vectors alone prove nothing"
    (tmp_path / "beyond.csv").write_text(
        "left,right,score\n" + "".join(f"{i},400,1\n{i},{i + 1},0\n" for i in range(8))
    )
    with pytest.raises(OptionError, match="400"):
        uncone.prescribe("v.npy", pairs="beyond.csv")


def test_nothing_to_gain_is_left_alone(tmp_path, capsys):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(300, 12)).astype(np.float32)
    left, right = rng.permutation(300).reshape(2, -1)
    score = np.vecdot(rows[left], rows[right])
    np.save("v.npy", rows)
    table = "".join(f"{a},{b},{c:.4f}\n" for a, b, c in zip(left, right, score, strict=True))
    (tmp_path / "pairs.csv").write_text("left,right,score\n" + table)
    assert _run(["fix", "v.npy", "--method", "auto", "--pairs", "pairs.csv", "-o", "f.npy", "--save", "repair"]) == 0
    output = capsys.readouterr().out
    assert "Leave it alone." in output
    assert (tmp_path / "uncone-fix.html").exists(), "the report says why"
    assert not (tmp_path / "f.npy").exists() and not (tmp_path / "repair").exists()
