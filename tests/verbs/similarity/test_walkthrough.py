"""The walk from the raw heatmap to one that can be read: its numbers by double loops, and where it ends."""

from __future__ import annotations

from importlib import import_module
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import cosine_similarity

from uncone.analysis.number_format import cosine
from uncone.analysis.similarity.per_label import share_below
from uncone.errors import NoUsableRowsError, ShapeError
from uncone.verbs.similarity.walkthrough import cosine_matrix, steps


def crowded(n=120, d=40, seed=0):
    """Two labels around a shared offset that is largest in dimension 7."""
    rng = np.random.default_rng(seed)
    own = np.arange(n) % 2
    rows = rng.normal(size=(n, d)) + 0.6 * rng.normal(size=(2, d))[own] + 0.8
    rows[:, 7] += 6
    return rows, ["xy"[i] for i in own]


def by_pairs(rows, labels):
    """Mean, deviation, percentiles and AUC, pair by pair."""
    table = cosine_similarity(rows)
    pairs = list(combinations(range(len(rows)), 2))
    cosines = np.array([table[i, j] for i, j in pairs])
    same = np.array([labels[i] == labels[j] for i, j in pairs])
    return {
        "mean": cosines.mean(),
        "sd": cosines.std(),
        "p2.5": np.percentile(cosines, 2.5),
        "p50": np.percentile(cosines, 50),
        "p97.5": np.percentile(cosines, 97.5),
        "within": cosines[same].mean(),
        "between": cosines[~same].mean(),
        "auc": roc_auc_score(same, cosines),
    }


def test_every_number_is_what_a_double_loop_finds():
    rows, labels = crowded()
    result = {step.key: step for step in steps(rows, labels)}
    muted, centered = rows.copy(), rows - rows.mean(axis=0)
    muted[:, 7] = 0
    for key, space in (("raw", rows), ("mute", muted), ("center", centered)):
        for name, value in by_pairs(space, labels).items():
            assert result[key].numbers[name] == pytest.approx(value, abs=1e-9), (key, name)
        table = cosine_similarity(space)
        places = result[key].rows
        np.testing.assert_allclose(result[key].heatmap, table[np.ix_(places, places)], atol=1e-9)
    raw = by_pairs(rows, labels)
    background = result["background"]
    places = background.rows
    np.testing.assert_allclose(background.heatmap, cosine_similarity(rows)[np.ix_(places, places)] - raw["mean"])
    assert background.numbers["auc"] == pytest.approx(raw["auc"])
    assert result["next"].numbers["auc_after"] > result["next"].numbers["auc_before"]


def test_the_share_of_the_rogue_dimension_is_its_part_of_every_cosine():
    rows, labels = crowded()
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    pairs = list(combinations(range(len(rows)), 2))
    parts = np.mean([units[i] * units[j] for i, j in pairs], axis=0)
    result = {step.key: step for step in steps(rows, labels)}["rogue"]
    assert result.numbers["share_of_1"] == pytest.approx(parts[7] / parts.sum(), rel=1e-6)
    assert result.numbers["share_of_3"] == pytest.approx(np.sort(parts)[-3:].sum() / parts.sum(), rel=1e-6)
    assert "Dimension 7" in result.text and result.numbers["rogue_dimensions"] == 1


def test_folklore_length_changes_nothing_and_dimensions_bring_cosines_to_zero():
    rows, labels = crowded()
    result = {step.key: step for step in steps(rows, labels)}
    assert result["length"].numbers["largest_change"] == 0.0 and "exactly 0" in result["length"].text
    norms = np.linalg.norm(rows, axis=1)
    assert result["length"].numbers["longest_over_shortest"] == pytest.approx(norms.max() / norms.min())
    chance = result["dimension"].numbers
    assert abs(chance["mean"]) < 0.01 and chance["sd"] == pytest.approx(40**-0.5, rel=0.05)
    assert chance["one_over_root_d"] == pytest.approx(40**-0.5)
    assert result["dimension"].rows is None, "it is not a heatmap of the user's rows"


def test_the_walk_goes_on_while_few_directions_carry_everything():
    rng = np.random.default_rng(0)
    spread = np.array([40.0, 12.0] + [1.0] * 38)
    rows = rng.normal(size=(200, 40)) * spread + 40
    keys = [step.key for step in steps(rows)]
    assert keys[-4:] == ["center", "droptop", "whiten", "next"]
    sds = {step.key: step.numbers.get("sd") for step in steps(rows)}
    assert sds["center"] > sds["droptop"] > sds["whiten"]
    whitened = next(step for step in steps(rows) if step.key == "whiten")
    assert whitened.numbers["varies_as_in_dimensions"] == pytest.approx(1 / sds["whiten"] ** 2)


def test_in_a_space_that_is_not_crowded_the_walk_ends():
    rows = np.random.default_rng(0).normal(size=(200, 64))
    result = steps(rows, ["a", "b"] * 100)
    assert [step.key for step in result] == ["raw", "not_crowded"]
    assert result[1].title == "The space is not crowded" and "uncone calibrate" in result[1].text
    assert "auc" in result[0].numbers


def test_rows_and_their_order_are_the_same_in_every_step_and_by_label():
    rows, labels = crowded(300)
    heatmaps = [step for step in steps(rows, labels, most=40) if step.rows is not None]
    assert len(heatmaps) >= 4 and all(np.array_equal(step.rows, heatmaps[0].rows) for step in heatmaps)
    assert [labels[row] for row in heatmaps[0].rows] == ["x"] * 20 + ["y"] * 20
    assert all(step.heatmap.shape == (40, 40) for step in heatmaps)
    again = [step for step in steps(rows, labels, most=40) if step.rows is not None]
    assert all(np.array_equal(a.heatmap, b.heatmap) for a, b in zip(heatmaps, again, strict=True))


def test_where_there_is_nothing_to_walk():
    equal = np.ones((20, 8), np.float32) + np.random.default_rng(0).normal(scale=1e-7, size=(20, 8))
    assert [step.key for step in steps(equal)] == ["raw", "equal"]
    few = steps(np.repeat(crowded(20)[0], 20, axis=0))
    assert [step.key for step in few] == ["raw", "few"] and "20 distinct texts are too few" in few[1].text
    line = np.ones(20) + np.outer(np.random.default_rng(0).normal(size=50), np.eye(20)[0])
    result = {step.key: step for step in steps(line)}
    assert "leaves nothing" in result["droptop"].text and result["droptop"].heatmap is None


def test_rows_without_a_direction_and_texts_without_a_label():
    rows, labels = crowded()
    holed = np.insert(rows, [3, 10], [[0.0], [np.nan]], axis=0)
    result = steps(holed, [*labels[:3], "x", *labels[3:10], "y", *labels[10:]])
    assert result[0].numbers["mean"] == pytest.approx(steps(rows, labels)[0].numbers["mean"])
    assert not {3, 11} & set(result[0].rows.tolist())
    some = [None if i < 40 else label for i, label in enumerate(labels)]
    expected = by_pairs(rows[40:], labels[40:])["auc"]
    assert steps(rows, some)[0].numbers["auc"] == pytest.approx(expected)
    alone = steps(rows, ["x"] * len(rows))
    assert alone[0].numbers["auc"] is None and alone[0].numbers["between"] is None


def test_of_many_rows_a_sample_is_measured_and_it_says_so(monkeypatch):
    monkeypatch.setattr(import_module("uncone.verbs.similarity.walkthrough"), "_SAMPLE", 100)
    rows, labels = crowded(300)
    first = steps(rows, labels)[0]
    assert "Measured on 100 of 300 texts, drawn with seed 0" in first.text and first.numbers["rows"] == 100


def test_bad_input():
    with pytest.raises(ShapeError, match=r"at least 2 vectors; we got an array of shape \(1, 4\)"):
        steps(np.ones((1, 4)))
    with pytest.raises(NoUsableRowsError, match="0 of 5 vectors have a direction"):
        steps(np.zeros((5, 4)))


def test_auc_and_cosines_by_hand():
    rng = np.random.default_rng(0)
    within, between = rng.integers(0, 5, 30) / 4, rng.integers(0, 4, 40) / 4
    wins = [1.0 if a > b else 0.5 if a == b else 0.0 for a in within for b in between]
    assert share_below(within, between).mean() == pytest.approx(np.mean(wins))
    assert np.isnan(cosine_matrix(np.array([[1.0, 0.0], [0.0, 0.0]]))[1]).all()


@pytest.mark.exhaustive
def test_on_real_texts_the_walk_tells_a_crowded_model_from_another(real_data, minilm):
    """The numbers of docs/why-cosines-look-random.md, on the texts that it names."""
    from uncone.data.texts.texts import ListTexts
    from uncone.encoders.open import sentence_source

    lines = [line.rsplit("\t", 1) for line in (real_data / "sst2" / "dev.tsv").read_text().splitlines()]
    texts, labels = [line[0].strip() for line in lines], [line[1] for line in lines]
    page = (Path(__file__).parents[3] / "docs" / "why-cosines-look-random.md").read_text()
    numbers = {}
    for name, model, layer in (("tiny", real_data / "../models/bert-tiny", 2), ("minilm", minilm, None)):
        source = sentence_source(ListTexts(texts), model, layer=layer, pooling=None if layer is None else "mean")
        rows = np.concatenate([block.vectors.copy() for block in source.read()])
        numbers[name] = {step.key: step for step in steps(rows, labels)}
        for key in ("raw", "mute", "center", "droptop", "whiten"):
            if key in numbers[name]:
                mean, sd, auc = (numbers[name][key].numbers[of] for of in ("mean", "sd", "auc"))
                assert f"| {cosine(mean, 3)} | {cosine(sd, 3)} | {cosine(auc, 3)} |" in page, (name, key, mean, sd, auc)
    assert list(numbers["minilm"]) == ["raw", "not_crowded"]
    assert list(numbers["tiny"])[-3:] == ["droptop", "whiten", "next"]
    assert "show little of these labels" in numbers["tiny"]["next"].text
