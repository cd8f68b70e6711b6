"""`uncone.calibrate` against naive routes: all pairs by a double loop, quantiles by NumPy, vectors by hand."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import uncone
from uncone.errors import ColumnError, DamagedRepairError, FormatError, OptionError, UnconeError


def units(rows):
    rows = np.asarray(rows, np.float64)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def all_cosines(rows, documents=None):
    """Every pair, one by one; without those of one document."""
    cosines, u = [], units(rows)
    for i in range(len(u)):
        for j in range(i + 1, len(u)):
            if documents is None or documents[i] != documents[j]:
                cosines.append(float(u[i] @ u[j]))
    return np.array(cosines)


@pytest.fixture
def rows(cone):
    return cone(250, 16)


@pytest.fixture
def texts(tmp_path):
    lines = [f"the text {i} to go to school {i % 7}" for i in range(80)]
    path = tmp_path / "texts.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["id", "text"], *([f"t{i}", line] for i, line in enumerate(lines))])
    return path, lines


def test_a_score_and_a_threshold_are_those_of_all_pairs(rows):
    result = uncone.calibrate(rows, scores=[0.3, 0.6], fpr=[0.1, 0.02], corpus_size=5_000)
    every = all_cosines(rows)
    background = result.calibration.backgrounds[0]
    assert background.all_pairs == background.pairs == len(every) == 250 * 249 // 2
    assert background.mean == pytest.approx(every.mean(), abs=1e-6)
    assert background.sd == pytest.approx(every.std(), rel=1e-3)
    for threshold in result.scores:
        share = (every >= threshold.score).mean()
        assert threshold.rate == pytest.approx(share, abs=0.003)
        assert threshold.percentile == pytest.approx(100 * (1 - share), abs=0.3)
        assert threshold.rate_low < share < threshold.rate_high
        assert threshold.hits == pytest.approx(5_000 * threshold.rate)
        assert threshold.rescaled == pytest.approx((threshold.score - every.mean()) / (1 - every.mean()), abs=1e-6)
        assert not threshold.guessed and threshold.probability is None and threshold.found is None
    for threshold in result.calibration.thresholds:
        assert threshold.value == pytest.approx(np.quantile(every, 1 - threshold.rate), abs=2e-3)
        assert threshold.low < threshold.value < threshold.high
        assert threshold.hits == pytest.approx(5_000 * threshold.rate)
    assert result.calibration.threshold(fpr=0.1).value == result.calibration.thresholds[0].value


def test_without_scores_the_guesses_of_people_are_explained(rows):
    result = uncone.calibrate(rows)
    assert [(score.score, score.guessed) for score in result.scores] == [(0.7, True), (0.75, True), (0.8, True)]
    assert "of unrelated pairs score 0.75 or more" in result.headline


def test_pairs_of_one_document_are_left_out(rows, tmp_path):
    documents = [f"d{i // 5}" for i in range(250)]
    rows = rows + 3 * np.repeat(np.random.default_rng(1).normal(size=(50, 16)), 5, axis=0).astype(np.float32)
    pq.write_table(pa.table({"doc": documents, "v": rows.tolist()}), "v.parquet")
    apart = all_cosines(rows, documents)
    result = uncone.calibrate("v.parquet", document="doc").calibration.backgrounds[0]
    assert result.all_pairs == len(apart) and result.left_out["same document"] == 50 * 10
    assert result.mean == pytest.approx(apart.mean(), abs=1e-6)
    np.save("v.npy", rows)
    (tmp_path / "docs.txt").write_text("\n".join(documents) + "\n")
    beside = uncone.calibrate("v.npy", document="docs.txt").calibration.backgrounds[0]
    assert beside.mean == pytest.approx(result.mean, abs=1e-9) and beside.all_pairs == result.all_pairs
    with pytest.raises(ColumnError, match="nothing"):
        uncone.calibrate("v.parquet", document="nothing")


def test_queries_and_documents(rows):
    queries, documents = rows[:60] + 0.5, rows[60:]
    result = uncone.calibrate(queries=queries, documents=documents, scores=[0.5])
    every = (units(queries) @ units(documents).T).ravel()
    background = result.calibration.backgrounds[0]
    assert (background.rows, background.documents, background.all_pairs) == (60, 190, 60 * 190)
    assert background.mean == pytest.approx(every.mean(), abs=1e-6)
    assert result.scores[0].rate == pytest.approx((every >= 0.5).mean(), abs=0.003)
    assert "a query and a document" in " ".join(result.lines())
    with pytest.raises(OptionError, match="same encoder"):
        uncone.calibrate(queries=queries[:, :8], documents=documents)


def test_a_background_beside_it(rows, cone):
    other = cone(300, 16, mean=0.2, seed=4)
    result = uncone.calibrate(rows, background=other)
    first, second = result.calibration.backgrounds
    assert second.mean == pytest.approx(all_cosines(other).mean(), abs=1e-6)
    assert first.mean == pytest.approx(all_cosines(rows).mean(), abs=1e-6)
    with pytest.raises(OptionError, match="Use the same encoder for both"):
        uncone.calibrate(rows, background=other[:, :3])


def test_a_file_beside_one_with_columns(rows):
    pq.write_table(pa.table({"v": rows.tolist(), "w": rows.tolist()}), "v.parquet")
    np.save("other.npy", rows + 1)
    result = uncone.calibrate("v.parquet", column="v", background="other.npy")
    assert result.calibration.backgrounds[1].mean == pytest.approx(all_cosines(rows + 1).mean(), abs=1e-6)


def test_a_repaired_space(rows):
    np.save("v.npy", rows)
    uncone.fix("v.npy", "center,droptop", out="fixed.npy", save="repair", k=2)
    result = uncone.calibrate("v.npy", repair="repair")
    assert result.calibration.backgrounds[0].mean == pytest.approx(all_cosines(np.load("fixed.npy")).mean(), abs=1e-5)
    assert result.calibration.source["repair"] == "repair"
    with pytest.raises(DamagedRepairError):
        uncone.calibrate("v.npy", repair="nowhere")


def test_a_repair_that_has_seen_the_rows_is_named(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("seen.npy", rows)
    np.save("unseen.npy", rows + 0.01)
    uncone.fix("seen.npy", "whiten", save="repair")
    notes = {
        name: " ".join(uncone.calibrate(f"{name}.npy", repair="repair").calibration.notes)
        for name in ("seen", "unseen")
    }
    assert "fitted on seen.npy itself" in notes["seen"]
    assert "fitted on" not in notes["unseen"]


def test_a_threshold_is_translated_to_the_share_it_had(rows):
    np.save("v.npy", rows)
    old = uncone.calibrate("v.npy", scores=[0.5], save="old")
    uncone.fix("v.npy", "center", out="fixed.npy", save="repair")
    for earlier in ("old", old.calibration):
        result = uncone.calibrate("v.npy", repair="repair", translate=0.5, old=earlier).calibration.translation
        before, after = all_cosines(rows), all_cosines(np.load("fixed.npy"))
        assert result.rate == pytest.approx((before >= 0.5).mean(), abs=0.003)
        assert (after >= result.new).mean() == pytest.approx((before >= 0.5).mean(), abs=0.006)


def labeled_rows(rows, n=120):
    rng = np.random.default_rng(2)
    left = rng.integers(0, 125, n)
    right = np.where(np.arange(n) % 2, left + 125, rng.integers(125, 250, n))
    return left, right, np.arange(n) % 2


@pytest.mark.parametrize("named", ["numbers", "ids"])
def test_labeled_pairs_of_rows(rows, named):
    rows[125:] = rows[:125] + 0.4 * rows[125:]
    left, right, labels = labeled_rows(rows)
    ids = [f"n{i}" for i in range(250)]
    pq.write_table(pa.table({"name": ids, "v": rows.tolist()}), "v.parquet")
    called = (lambda i: ids[i]) if named == "ids" else str
    lines = [f"{called(i)},{called(j)},{y}\n" for i, j, y in zip(left, right, labels, strict=True)]
    Path("pairs.csv").write_text("one,other,same\n" + "".join(lines))
    result = uncone.calibrate(
        "v.parquet",
        scores=[0.8],
        pairs="pairs.csv",
        left="one",
        right="other",
        label="same",
        ids="name" if named == "ids" else None,
        precisions=[0.8],
        recalls=[0.9],
        replicates=50,
    )
    u = units(rows)
    cosines = np.array([u[i] @ u[j] for i, j in zip(left, right, strict=True)])
    assert result.calibration.labeled.n == 120 and result.calibration.labeled.positives == 60
    wins = np.mean([(a > b) + (a == b) / 2 for a in cosines[labels == 1] for b in cosines[labels == 0]])
    assert result.calibration.labeled.roc_auc.value == pytest.approx(wins, abs=1e-6)
    score, over = result.scores[0], cosines >= 0.8
    assert score.found.value == pytest.approx(over[labels == 1].mean())
    assert score.let_through.value == pytest.approx(over[labels == 0].mean())
    assert score.precision.value == pytest.approx(labels[over].mean())
    assert score.found.low < score.found.value <= score.found.high
    assert 0 <= score.probability <= 1
    assert {point.goal for point in result.calibration.labeled.operating} == {"best F1", "precision 0.8", "recall 0.9"}


def test_pairs_that_name_no_row(rows):
    np.save("v.npy", rows)
    Path("pairs.csv").write_text("id1,id2,label\n" + "".join(f"{i},{i + 9_000},{i % 2}\n" for i in range(30)))
    with pytest.raises(FormatError, match="30 unknown ids"):
        uncone.calibrate("v.npy", pairs="pairs.csv")
    lines = [f"a {i},b {i},{i % 2}\n" for i in range(30)]
    Path("texts.csv").write_text("sentence1,sentence2,label\n" + "".join(lines))
    with pytest.raises(OptionError, match="name a model"):
        uncone.calibrate("v.npy", pairs="texts.csv")


def test_texts_and_pairs_of_texts(texts, tiny_model):
    path, lines = texts
    graded = [f"{lines[i]},{lines[(7 * i + 3) % 80]},{i % 6}\n" for i in range(60)]
    Path("pairs.csv").write_text("sentence1,sentence2,score\n" + "".join(graded))
    result = uncone.calibrate(
        path, text="text", model=tiny_model, layer=1, scores=[0.9], pairs="pairs.csv", cut=4, limit=40, replicates=50
    )
    source = result.calibration.source
    assert (source["layer"], source["pooling"], source["dim"]) == ("1", "mean", 32)
    assert result.calibration.backgrounds[0].rows == 40, "the limit is for the corpus, not for the pairs"
    labeled = result.calibration.labeled
    assert (labeled.n, labeled.positives, labeled.graded, labeled.cut) == (60, 20, True, 4)
    alike = [i for i in range(60) if i % 6 >= 4]
    unit = uncone.fix(lines, "normalize", model=tiny_model, layer=1).repair
    matrix = uncone.apply(unit, lines, model=tiny_model, layer=1)
    cosines = [float(matrix[i] @ matrix[(7 * i + 3) % 80]) for i in alike]
    assert result.scores[0].found.value == pytest.approx(np.mean(np.array(cosines) >= 0.9))


def test_queries_with_a_prompt_of_their_own(texts, tiny_model):
    _, lines = texts
    result = uncone.calibrate(queries=lines[:30], documents=lines[30:], model=tiny_model, query_prompt="query ")
    plain = uncone.calibrate(queries=[f"query {line}" for line in lines[:30]], documents=lines[30:], model=tiny_model)
    assert result.calibration.backgrounds[0].mean == pytest.approx(plain.calibration.backgrounds[0].mean, abs=1e-5)


@pytest.mark.parametrize("level", ["sentence", "token"])
def test_texts_through_a_repair(texts, tiny_model, level):
    _, lines = texts
    fixed = uncone.fix(lines, "center", model=tiny_model, save="repair", level=level)
    result = uncone.calibrate(lines, model=tiny_model, repair="repair")
    assert result.calibration.backgrounds[0].mean == pytest.approx(fixed.after["baseline"].value, abs=1e-5)
    with pytest.raises(UnconeError, match="Leave --prompt out"):
        uncone.calibrate(lines, model=tiny_model, repair="repair", prompt="passage: ")


def test_too_few_rows_for_a_rate_is_an_answer(rows):
    result = uncone.calibrate(rows[:40], fpr=[1e-6])
    threshold = result.calibration.thresholds[0]
    assert threshold.value is None and threshold.rows_needed > 40 and threshold.reason
    assert f"{threshold.rows_needed:,}" in result.headline


def test_saved_and_loaded_it_answers_the_same(rows):
    result = uncone.calibrate(rows, save="calibration")
    assert result.saved == "calibration" and "uncone.Calibration.load('calibration')" in result.usage
    again = uncone.Calibration.load("calibration")
    scores = np.linspace(-1, 1, 41)
    np.testing.assert_allclose(again.percentile(scores), result.calibration.percentile(scores))
    np.testing.assert_allclose(again.rescale(scores), result.calibration.rescale(scores))
    assert again.threshold(fpr=0.01).value == result.calibration.thresholds[0].value
    assert json.loads(result.to_json())["calibration"]["source"]["rows"] == 250


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scores": [1.5]}, "between -1 and 1, not 1.5"),
        ({"translate": -2.0, "old": "o"}, "between -1 and 1, not -2"),
        ({"translate": 0.7}, "--translate needs --from"),
        ({"old": "o"}, "--from needs --translate"),
        ({"fpr": [0.0]}, "between 0 and 1"),
        ({"fpr": [1.0]}, "between 0 and 1"),
        ({"fpr": [float("nan")]}, "between 0 and 1"),
        ({"fpr": []}, "at least one false-positive rate"),
        ({"corpus_size": 0}, "at least 1, not 0"),
        ({"precisions": [0.9]}, "--precision is for labeled pairs"),
        ({"cut": 3.0}, "--cut is for labeled pairs"),
        ({"ids": "id"}, "--id is for labeled pairs"),
        ({"pairs": "p.csv", "precisions": [1.2]}, "at most 1"),
        ({"pairs": "p.csv", "recalls": [0.0]}, "above 0"),
        ({"pairs": "p.csv", "left": "a"}, "name both"),
        ({"pairs": "p.csv", "cut": float("inf")}, "--cut must be a grade"),
        ({"queries": np.eye(9)}, "--queries needs --documents"),
        ({"documents": np.eye(9)}, "--documents needs --queries"),
        ({"queries": np.eye(9), "documents": np.eye(9)}, "replace the source"),
        ({"query_prompt": "q: "}, "--query-prompt needs --queries"),
        ({"background": iter([np.eye(9)]), "document": "d"}, "--document reads it again"),
        ({"replicates": 1}, "at least 10"),
        ({"seed": -1}, "--seed must be 0 to"),
        ({"workers": 999}, "--workers must be 0 to 256"),
    ],
)
def test_options_that_cannot_be(options, message, rows):
    with pytest.raises(OptionError, match=message):
        uncone.calibrate(rows, **options)
    with pytest.raises(OptionError, match="Name a file of vectors"):
        uncone.calibrate()


def test_a_stream_is_read_once(rows):
    blocks = [rows[:100], rows[100:]]
    result = uncone.calibrate(iter(blocks)).calibration.backgrounds[0]
    assert result.mean == pytest.approx(all_cosines(rows).mean(), abs=1e-6)
    with pytest.raises(OptionError, match="only once"):
        uncone.calibrate(queries=iter(blocks), documents=iter(blocks))


def test_a_corpus_of_one_row(rows):
    result = uncone.calibrate(rows, corpus_size=1)
    assert result.scores[0].hits == result.scores[0].rate and "<html" in result.to_html()


def test_what_people_would_have_guessed_on_real_texts(real_data, minilm):
    """On STS-B, 0.75 lets most unrelated pairs through with bert-tiny, and next to none with all-MiniLM-L6-v2."""
    source, shares = real_data / "sts" / "stsb-test.tsv", {}
    for name, model in (("bert-tiny", real_data / ".." / "models" / "bert-tiny"), ("minilm", minilm)):
        result = uncone.calibrate(source, text=["2", "3"], model=model, limit=600, scores=[0.75])
        plain = uncone.fix(source, "normalize", text=["2", "3"], model=model, limit=600, out=f"{name}.npy")
        assert plain.written == f"{name}.npy"
        every = all_cosines(np.load(f"{name}.npy"))
        every = every[every < 1 - 1e-6]  # texts that stand there twice
        shares[name] = result.scores[0].rate
        assert shares[name] == pytest.approx((every >= 0.75).mean(), abs=0.01)
        assert result.calibration.thresholds[0].value == pytest.approx(np.quantile(every, 0.99), abs=0.01)
    assert shares["bert-tiny"] > 0.5 and shares["minilm"] < 0.01
