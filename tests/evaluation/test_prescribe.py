"""The verdict on spaces whose truth is known and on real models, and no look at what is held out."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import spearmanr
from simulations import REPEATED
from sklearn.metrics import roc_auc_score

from uncone.data.cache import VectorCache
from uncone.data.tasks.sts import PairTask, open_pairs
from uncone.data.texts.texts import ListTexts
from uncone.encoders.open import sentence_source
from uncone.errors import FitError, FormatError, OptionError, ShapeError
from uncone.evaluation import prescribe as module
from uncone.evaluation.folds import PairProblem, pair_problem, split
from uncone.evaluation.prescribe import candidates_for, fit_all, prescribe
from uncone.evaluation.table import Method
from uncone.repairs.registry import make, make_seeded

CENTER, DROP = Method("center", "center"), Method("droptop 2", "droptop", {"k": 2})


def signal(seed, n=200, d=24, *, rogue=False, labels=False):
    """Pairs whose cosine follows the score; with `rogue`, in a cone whose loud dimensions hide it."""
    rng = np.random.default_rng(seed)
    scores = rng.uniform(0, 1, n)
    first, two = rng.normal(size=(2, n, d))
    other = scores[:, None] * first + np.sqrt(1 - scores[:, None] ** 2) * two
    rows = np.concatenate([first, other])
    if rogue:
        rows += 3.0
        rows[:, :2] += rng.normal(size=(2 * n, 2)) * [8.0, 5.0]
    gold = (scores > 0.5).astype(float) if labels else scores
    return rows.astype(np.float32), PairProblem(np.arange(n), np.arange(n) + n, gold)


def noise(seed, n=120, d=16):
    """Vectors in a cone that know nothing of the scores."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(2 * n, d)) * np.linspace(3, 0.5, d) + 2.0
    return rows.astype(np.float32), PairProblem(np.arange(n), np.arange(n) + n, rng.normal(size=n))


@pytest.mark.parametrize("labels", [False, True], ids=["scores", "labels"])
@pytest.mark.parametrize("seed", range(4))
def test_a_repair_that_helps_is_found(seed, labels):
    result = prescribe(*signal(seed, rogue=True, labels=labels), seed=seed, replicates=300)
    assert result.recommended is not None and result.proven and result.verdict == result.recommended.name
    assert result.gain.low > 0.1 and result.gain.low < result.gain.value < result.gain.high
    assert result.measure == ("ROC-AUC" if labels else "Spearman") and result.measure in result.reason
    best = max(result.table, key=lambda one: one.score)
    assert result.recommended == best.method and best.significant and sum(row.wins for row in result.table) == 5
    expected = make(best.method.repair, **best.method.options).fit(signal(seed, rogue=True)[0])
    rows = np.random.default_rng(9).normal(size=(5, 24)).astype(np.float32)
    assert result.repair.transform(rows) == pytest.approx(expected.transform(rows), abs=1e-5)


@pytest.mark.parametrize("labels", [False, True], ids=["scores", "labels"])
@pytest.mark.parametrize("seed", range(4))
def test_where_none_helps_it_is_left_alone(seed, labels):
    result = prescribe(*signal(seed, labels=labels), seed=seed, replicates=300)
    assert result.recommended is None and result.repair is None and not result.proven
    assert result.verdict == "leave it alone" and result.reason.endswith("leave it alone.")


def test_a_choice_on_noise_is_not_taken_for_a_gain():
    methods = [prescribe(*noise(seed), seed=seed, replicates=300).recommended for seed in range(40)]
    assert sum(method is not None for method in methods) <= 2


def test_pairs_of_one_text_are_drawn_together():
    """Thirty texts with four partners each, and scores that belong to the text: few things were seen, not many."""
    n_taken = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        left, right = np.repeat(np.arange(30), 4), np.arange(120) + 30
        rows = rng.normal(size=(150, 16)) * np.linspace(3, 0.5, 16) + 2.0
        pairs = PairProblem(left, right, rng.normal(size=30)[left] + 0.3 * rng.normal(size=120))
        n_taken += prescribe(rows, pairs, seed=seed, replicates=300).recommended is not None
    assert n_taken <= 2


def test_no_fit_sees_what_is_held_out(monkeypatch):
    """A spy on the fits: neither the rows of the held-out pairs nor copies of them are in; all others are."""
    vectors, pairs = signal(0, n=60, rogue=True)
    extra = np.random.default_rng(1).normal(size=(30, 24)).astype(np.float32)
    vectors = np.concatenate([vectors, extra, vectors[:5]])  # texts in no pair, and copies of some that are
    fits = []
    fit_all = module.fit_all

    def spy(methods, rows, seed):
        fits.append({row.tobytes() for row in rows})
        return fit_all(methods, rows, seed)

    monkeypatch.setattr(module, "fit_all", spy)
    prescribe(vectors, pairs, candidates=[CENTER], replicates=50)
    texts = np.concatenate([np.arange(len(vectors) - 5), np.arange(5)])
    folds = split(pairs, texts, 5, 0)
    held_out = [(a,) for a in range(folds.k)] + [(a, b) for a in range(folds.k) for b in range(a + 1, folds.k)]
    everything = {row.tobytes() for row in vectors}
    assert len(fits) == len(held_out)
    for out, rows in zip(held_out, fits, strict=True):
        places = folds.pairs(*out)
        hidden = {vectors[row].tobytes() for row in [*pairs.left[places], *pairs.right[places]]}
        assert not rows & hidden and rows == everything - hidden


def naive_cosines(rows, pairs, places):
    return [
        float(a @ b / np.sqrt((a @ a) * (b @ b)))
        for a, b in ((rows[pairs.left[i]], rows[pairs.right[i]]) for i in places)
    ]


@pytest.mark.parametrize("labels", [False, True], ids=["scores", "labels"])
def test_against_a_naive_nested_loop(labels):
    vectors, pairs = signal(3, n=75, rogue=True, labels=labels)
    vectors = vectors.astype(np.float64)
    methods = [CENTER, DROP, Method("whiten", "whiten")]
    result = prescribe(vectors, pairs, candidates=methods, replicates=20, seed=1)
    folds = split(pairs, np.arange(len(vectors)), 5, 1)
    judge = roc_auc_score if labels else lambda gold, values: spearmanr(gold, values).statistic

    def scored(method, fold, *held):
        out = {row for i in range(len(pairs)) if folds.fold[i] in held for row in (pairs.left[i], pairs.right[i])}
        repair = make(method.repair, **method.options).fit([x for i, x in enumerate(vectors) if i not in out])
        places = np.flatnonzero(folds.fold == fold)
        return judge(pairs.scores[places], naive_cosines(repair.transform(vectors), pairs, places))

    sizes = np.bincount(folds.fold)
    raws, picks = [], []
    wins = dict.fromkeys((method.name for method in methods), 0)
    for test in range(folds.k):
        others = [fold for fold in range(folds.k) if fold != test]
        inner = [sum(sizes[c] * scored(method, c, test, c) for c in others) for method in methods]
        best = methods[int(np.argmax(inner))]
        wins[best.name] += 1
        picks.append(scored(best, test, test))
        places = np.flatnonzero(folds.fold == test)
        raws.append(judge(pairs.scores[places], naive_cosines(vectors, pairs, places)))
    assert result.raw == pytest.approx(np.average(raws, weights=sizes), abs=1e-9)
    assert result.gain.value == pytest.approx(np.average(np.subtract(picks, raws), weights=sizes), abs=1e-9)
    assert {row.method.name: row.wins for row in result.table} == wins
    for row in result.table:
        expected = np.average([scored(row.method, fold, fold) for fold in range(folds.k)], weights=sizes)
        assert row.score == pytest.approx(expected, abs=1e-9)
        assert row.difference.value == pytest.approx(expected - result.raw, abs=1e-9)


def test_a_small_gain_is_not_worth_a_change():
    vectors, pairs = signal(0, rogue=True)
    result = prescribe(vectors, pairs, replicates=200, least_gain=0.95)
    assert result.recommended is None and not result.proven and result.gain.low > 0
    assert "less than the 95 points" in result.reason


def test_what_cannot_be_fitted_or_scored_is_out_and_says_why():
    vectors, pairs = signal(0, n=60, d=8, rogue=True)
    vectors[:, 5:] = 1.0  # they vary in 5 directions
    result = prescribe(vectors, pairs, candidates=[Method("droptop 7", "droptop", {"k": 7}), CENTER], replicates=50)
    out, fine = result.table
    assert out.score is None and out.difference.value is None and out.wins == 0 and "leaves nothing" in out.note
    assert fine.score is not None and fine.wins == result.folds
    result = prescribe(vectors, pairs, candidates=[Method("droptop 7", "droptop", {"k": 7})], replicates=50)
    assert result.recommended is None and "None of the repairs" in result.reason


def test_plain_values_and_progress():
    reports = []
    result = prescribe(*noise(0), replicates=50, progress=lambda *step: reports.append(step))
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["verdict"] == "leave it alone" and plain["recommended"] is None and plain["proven"] is False
    assert [row["name"] for row in plain["table"]] == [row.name for row in candidates_for(16, 144)]
    assert plain["gain"]["low"] < plain["gain"]["value"] < plain["gain"]["high"] and plain["folds"] == 5
    assert reports == [("trying repairs", 1, 15)] * 15


def test_the_same_again():
    vectors, pairs = noise(1)
    first, other = (prescribe(vectors, pairs, replicates=50, seed=3).to_dict() for _ in range(2))
    assert first == other != prescribe(vectors, pairs, replicates=50, seed=4).to_dict()


def test_bad_input():
    vectors, pairs = noise(0, n=40)
    with pytest.raises(OptionError, match="2 folds are too few"):
        prescribe(vectors, pairs, folds=2)
    with pytest.raises(OptionError, match="no candidates"):
        prescribe(vectors, pairs, candidates=[])
    with pytest.raises(ShapeError, match="names row 79, but there are 50"):
        prescribe(vectors[:50], pairs)
    with pytest.raises(ShapeError, match="table"):
        prescribe(vectors[0], pairs)
    broken = vectors.copy()
    broken[3], broken[7] = np.nan, 0.0
    with pytest.raises(FormatError, match="2 of the 80 texts in pairs have no vector"):
        prescribe(broken, pairs)
    rng = np.random.default_rng(0)
    with pytest.raises(ShapeError, match="rows are left to fit on"):
        prescribe(vectors[:9], PairProblem(rng.integers(0, 9, 60), rng.integers(0, 9, 60), rng.normal(size=60)))
    with pytest.raises(FormatError, match="2 of 40 distinct pairs are labeled 1"):
        prescribe(vectors, PairProblem(np.arange(40), np.arange(40) + 40, np.arange(40) < 2))


def test_copies_of_pairs_are_no_evidence():
    """Twenty-nine pairs with a great gain, thirty times each: the same folds and intervals, and no proof."""
    vectors, pairs = signal(1, n=29, rogue=True)
    many = PairProblem(np.tile(pairs.left, 30), np.tile(pairs.right, 30), np.tile(pairs.scores, 30))
    once, copied = (prescribe(vectors, problem, replicates=200, candidates=[CENTER, DROP]) for problem in (pairs, many))
    assert copied.units == once.units == 29 and copied.recommended is once.recommended is None
    assert copied.gain.low > 0 and copied.gain.low == pytest.approx(once.gain.low)
    assert copied.gain.high == pytest.approx(once.gain.high)
    assert "A proof needs 30 independent pairs" in copied.reason
    assert [row.difference.low for row in copied.table] == pytest.approx([row.difference.low for row in once.table])
    assert not any(row.significant for row in copied.table) and copied.folds == once.folds == 3
    result = prescribe(*signal(1, n=60, rogue=True), replicates=200, candidates=[CENTER, DROP])
    assert result.proven and "proven on 60 independent pairs" in result.reason


def heavy(seed, n, d=12):
    """Pairs that share a part, in clusters and with heavy tails, and one dimension that drowns it."""
    rng = np.random.default_rng(seed)
    places = np.random.default_rng(5).normal(size=(6, d))[rng.integers(0, 6, n)]
    share, left, own = rng.uniform(0, 1, n), places + rng.standard_t(3, size=(n, d)), rng.standard_t(3, size=(n, d))
    vectors = np.concatenate([left, share[:, None] * left + (1 - share[:, None]) * own])
    vectors[:, 0] += 8 + 3 * rng.normal(size=2 * n)
    return vectors.astype(np.float32), share + 0.2 * rng.standard_t(3, n)


def gain_of_drop(seed, n, copies):
    """The gain of one repair, fixed beforehand, on held-out pairs."""
    vectors, scores = heavy(seed, n)
    rows = np.tile(np.arange(n), copies)
    pairs = PairProblem(rows, rows + n, scores[rows])
    return prescribe(vectors, pairs, candidates=[DROP], replicates=150, seed=seed).gain


@REPEATED
def test_the_interval_of_the_gain_covers_where_pairs_repeat(n, copies):
    right = np.mean([gain_of_drop(1000 + seed, n, 1).value for seed in range(40)])
    gains = [gain_of_drop(seed, n, copies) for seed in range(40)]
    assert sum(gain.low <= right <= gain.high for gain in gains) >= 36


def test_linked_pairs_are_chosen_by_pairs_without_their_texts():
    rng = np.random.default_rng(0)
    vectors, _ = signal(0, n=100, rogue=True)
    left, right = rng.integers(0, 200, (2, 400))
    scores = rng.normal(size=200)[left] + rng.normal(size=400)
    result = prescribe(vectors, PairProblem(left, right, scores), candidates=[CENTER, DROP], replicates=100)
    assert result.recommended is None and result.units < 100
    assert any(
        "Each fold is judged by repairs that were fitted and chosen without its texts" in note for note in result.notes
    )


def test_few_pairs_are_judged_with_care():
    vectors, pairs = noise(2, n=12)
    result = prescribe(vectors, pairs, replicates=100, candidates=[CENTER])
    assert result.folds == 3 and result.recommended is None and "3 folds, not 5" in result.notes[0]


def test_the_family_fits_the_space():
    names = [method.name for method in candidates_for(384, 5000)]
    assert {"droptop 15", "whiten", "whiten 256", "clustered 27, 12"} <= set(names) and len(names) == 10
    assert "whiten 256" not in [method.name for method in candidates_for(256, 5000)]
    assert [m.options for m in candidates_for(64, 800) if m.repair == "clustered"] == [{"k": 8, "p": 8}]
    assert {method.repair for method in candidates_for(4, 99)} == {"center", "standardize", "mute", "droptop", "whiten"}
    assert [m.options["k"] for m in candidates_for(4, 99) if m.repair == "droptop"] == [1, 3]
    assert candidates_for(8, 99, with_flow=True)[-1].repair == "flow"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [60, 700])
def test_shared_statistics_give_what_each_fit_gives(cone, n, dtype):
    rows = cone(n=n, d=20, seed=1).astype(dtype)
    methods = [*candidates_for(20, n), Method("z", "mute", {"how": "zscore"}), Method("both", "center,whiten")]
    for method, repair in zip(methods, fit_all(methods, rows, 0), strict=True):
        alone = make(method.repair, **method.options).fit(rows)
        assert repair.map(rows) == pytest.approx(alone.map(rows), abs=2e-4 if dtype == np.float32 else 1e-8)


def test_what_cannot_be_fitted_is_told():
    result = fit_all([Method("d", "droptop", {"k": 9}), Method("c", "center")], np.eye(5, 10), 0)
    assert isinstance(result[0], FitError) and not isinstance(result[1], FitError)


def test_seeds():
    assert make_seeded("clustered", {}, 5).seed == 5
    assert make_seeded("center,clustered", {"seed": 2}, 5).steps[1].seed == 2


def encoded(texts, model, **options):
    source = sentence_source(ListTexts(texts), model, cache=VectorCache(), **options)
    return np.concatenate([rows.vectors.copy() for rows in source.read()])


def spearman_of(vectors, pairs):
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return spearmanr(pairs.scores, (units[pairs.left] * units[pairs.right]).sum(axis=1)).statistic


def part_of(task, rows, without=frozenset()):
    """These pairs, but for those with one of the texts that are not to be seen."""
    places = [i for i in rows if not {task.left[i], task.right[i]} & without]
    left, right, subsets = ([column[i] for i in places] for column in (task.left, task.right, task.subsets))
    return PairTask(task.name, left, right, task.scores[places], subsets, task.split)


@pytest.mark.exhaustive
def test_a_sentence_model_is_left_alone(real_data, minilm):
    texts, pairs = pair_problem(open_pairs("stsb:dev", real_data))
    result = prescribe(encoded(texts, minilm), pairs)
    assert result.recommended is None and result.verdict == "leave it alone" and not result.proven
    assert result.gain.value < 0.01 and result.raw == pytest.approx(0.86, abs=0.02)
    hurt = {row.method.name for row in result.table if row.significant and row.difference.value < 0}
    assert {"whiten", "droptop 15"} <= hurt


@pytest.mark.exhaustive
def test_a_language_model_is_repaired(real_data):
    options = {"model": real_data.parent / "models" / "bert-tiny", "layer": 2, "pooling": "mean"}
    unseen, test = pair_problem(open_pairs("stsb:test", real_data))
    train = open_pairs("stsb:train", real_data)
    texts, pairs = pair_problem(part_of(train, range(len(train)), without=set(unseen)))
    result = prescribe(encoded(texts, **options), pairs)
    assert result.recommended is not None and result.proven and result.gain.low > 0.15
    vectors = encoded(unseen, **options)
    raw = spearman_of(vectors, test)
    assert raw == pytest.approx(0.321, abs=0.002)
    assert spearman_of(result.repair.transform(vectors), test) > raw + 0.15


def test_a_language_model_is_repaired_by_few_pairs(real_data):
    """The same in seconds: 400 judged pairs, and as many texts that the repair never saw."""
    options = {"model": real_data.parent / "models" / "bert-tiny", "layer": 2, "pooling": "mean"}
    every = open_pairs("stsb:test", real_data)
    texts, pairs = pair_problem(part_of(every, range(0, 1200, 3)))
    unseen, test = pair_problem(part_of(every, range(1, 1200, 3), without=set(texts)))
    result = prescribe(encoded(texts, **options), pairs, replicates=100)
    assert result.recommended is not None and result.proven and result.gain.low > 0.05
    vectors = encoded(unseen, **options)
    assert spearman_of(result.repair.transform(vectors), test) > spearman_of(vectors, test) + 0.1
