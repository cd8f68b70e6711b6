"""Promised thresholds: against a double loop, by simulation, and on resampled halves of STS-B."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta

import uncone
from uncone.analysis.calibration.calibration import Calibration, LabeledScores
from uncone.analysis.calibration.guarantee import guarantees, promised_threshold, risk_threshold, units_needed
from uncone.analysis.intervals.pair_units import pair_units
from uncone.cli.main import _run
from uncone.errors import FormatError, OptionError, ShapeError

KINDS = ("miss", "false")


def losses(scores, units, at, kind):
    """The share of each unit's pairs on the wrong side of a threshold, pair by pair."""
    by_unit = {}
    for score, unit in zip(scores, units, strict=True):
        wrong = score < at if kind == "miss" else score >= at
        by_unit.setdefault(unit, []).append(float(wrong))
    return [sum(each) / len(each) for each in by_unit.values()]


def naive(scores, units, rate, kind):
    """The outermost threshold of all that differ, by trying each; None if even the safest breaks the promise."""
    candidates = sorted({*scores, *np.nextafter(scores, np.inf), -2.0, 2.0}, reverse=kind == "miss")
    for at in candidates:
        own = losses(scores, units, at, kind)
        if (sum(own) + 1) / (len(own) + 1) <= rate + 1e-12:
            return at
    return None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(12))
def test_against_a_double_loop(kind, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 80))
    units, rate = rng.integers(0, n, n), float(rng.choice([0.02, 0.1, 0.25, 0.6]))
    scores = rng.normal(size=n).round(1 + seed % 3)  # with ties
    assert risk_threshold(scores, units, rate, kind) == naive(scores, units, rate, kind)
    texts = [f"u{unit}" for unit in units], [f"p{place}" for place in range(n)]
    found = promised_threshold(scores, pair_units(n, texts), rate, kind)
    by_unit, by_pair = (naive(scores, each, rate, kind) for each in (units, range(n)))
    safer = None if by_unit is None else (min if kind == "miss" else max)(by_unit, by_pair)
    assert found.value == safer and found.units == len(set(units))
    if found.value is not None:
        own = losses(scores, units, found.value, kind)
        assert found.expected == pytest.approx((sum(own) + 1) / (len(own) + 1)) and found.expected <= rate + 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_too_few_units_for_a_rate(kind):
    assert risk_threshold(np.arange(8.0), np.arange(8), 0.1, kind) is None
    at = risk_threshold(np.arange(9.0), np.arange(9), 0.1, kind)
    assert (np.arange(9.0) < at).sum() == 0 if kind == "miss" else (np.arange(9.0) >= at).sum() == 0
    with pytest.raises(OptionError, match="between 0 and 1"):
        risk_threshold(np.arange(9.0), np.arange(9), 1.0, kind)
    for rate in (0.5, 0.1, 0.01, 0.007):
        n = units_needed(rate)
        assert (n + 1) * rate >= 1 - 1e-12 and n >= 30 and (n == 30 or n * rate < 1)


def linked(rng, n):
    """Groups of linked pairs, the larger the lower their scores: pairs are neither independent nor equally hard."""
    sizes = rng.choice([1, 1, 2, 8], n)
    unit = np.repeat(np.arange(n), sizes)
    return rng.normal(size=n)[unit] + 0.3 * rng.normal(size=len(unit)) - 0.2 * sizes[unit], unit


@pytest.mark.parametrize(("kind", "rate"), [("miss", 0.1), ("false", 0.05)])
def test_the_promise_holds_for_new_groups(kind, rate):
    """Over 1,500 sets of 60 groups; a threshold that takes each pair for a unit breaks the promise."""
    rng = np.random.default_rng(3)
    fresh, fresh_unit = linked(rng, 20_000)
    sizes = np.bincount(fresh_unit)
    weights = 1 / sizes[fresh_unit] / len(sizes)
    order = np.argsort(fresh)
    below = np.append(0.0, np.cumsum(weights[order]))
    true, sixty = [], []
    for _ in range(1_500):
        scores, unit = linked(rng, 60)
        at = risk_threshold(scores, unit, rate, kind)
        share = below[np.searchsorted(fresh[order], at)]
        true.append(share if kind == "miss" else 1 - share)
        single = rng.normal(size=60)
        at = risk_threshold(single, np.arange(60), rate, kind)
        sixty.append(float((single < at).sum() if kind == "miss" else (single >= at).sum()))
    error = np.std(true) / np.sqrt(len(true))
    assert rate - 1.5 / 61 < np.mean(true) <= rate + 2 * error
    assert set(sixty) == {np.floor(rate * 61 + 1e-9) - 1}, "of single pairs, so many are lost"


def test_the_range_of_the_true_rate():
    """The true rate of thresholds from 99 independent pairs: its quantiles in 4,000 draws of uniform scores."""
    rng = np.random.default_rng(0)
    scores = rng.random(99)
    labeled = LabeledScores(np.append(np.ones(99), 0.0), np.append(scores, 0.5), pair_units(100), 50)
    found = guarantees(labeled, {"miss": 0.1})[0]
    true = [risk_threshold(rng.random(99), np.arange(99), 0.1, "miss") for _ in range(4_000)]
    assert (found.low, found.high) == pytest.approx(np.quantile(true, [0.025, 0.975]), abs=0.006)
    assert (found.low, found.high) == pytest.approx(beta.ppf([0.025, 0.975], 10, 90))
    assert found.value == np.sort(scores)[9] and found.expected == pytest.approx(0.1)
    assert found.found.value == pytest.approx(90 / 99)


def crossed(rng, queries=60, documents=80):
    """Queries with three documents each: nearly all pairs are linked."""
    left = np.repeat(np.arange(queries), 3)
    right = np.concatenate([rng.choice(documents, 3, replace=False) for _ in range(queries)])
    effect, other = rng.normal(size=queries), rng.normal(size=documents)
    return left, right, effect[left] + other[right] + 0.3 * rng.normal(size=len(left))


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_that_share_no_text(kind):
    """Where texts link most pairs, the units share no text, and the promise holds for pairs of new texts."""
    rng = np.random.default_rng(5)
    true = []
    for seed in range(300):
        left, right, scores = crossed(rng)
        units = pair_units(len(left), ([f"q{i}" for i in left], [f"d{i}" for i in right]))
        chosen = units.disjoint(seed)
        assert units.by_texts and len(set(left[chosen])) == len(set(right[chosen])) == len(chosen)
        free = set(range(len(left))) - set(chosen.tolist())
        used = (set(left[chosen]), set(right[chosen]))
        assert all(left[i] in used[0] or right[i] in used[1] for i in free), "no pair could be added"
        at = risk_threshold(scores[chosen], np.arange(len(chosen)), 0.2, kind)
        fresh = rng.normal(size=4_000) + rng.normal(size=4_000) + 0.3 * rng.normal(size=4_000)
        true.append((fresh < at).mean() if kind == "miss" else (fresh >= at).mean())
    assert 0.2 - 1.5 / len(chosen) < np.mean(true) <= 0.2 + 2 * np.std(true) / np.sqrt(len(true))
    # The draw for the seed alone: a file that is given twice has the same units.
    twice = pair_units(2 * len(left), ([f"q{i}" for i in left] * 2, [f"d{i}" for i in right] * 2))
    assert (twice.disjoint(0) == units.disjoint(0)).all()
    labeled = LabeledScores(np.ones(len(left)), scores, units, 50)
    found = guarantees(labeled, {"miss": 0.2})[0]
    assert (found.method, found.units, found.pairs) == ("disjoint", len(units.disjoint(0)), len(left))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("kind", "rate"), [("miss", 0.1), ("miss", 0.02), ("false", 0.1), ("false", 0.01)])
def test_on_200_halves_of_sts_b(kind, rate, real_data, sts_b):
    """Thresholds of one half, judged on the other: of linked groups by groups, and of pairs by pairs."""
    grades, cosines, all_units = sts_b
    rows = np.flatnonzero((grades >= 4) == (kind == "miss"))
    scores, units = cosines[rows], all_units.select(rows)
    rng = np.random.default_rng(0)
    for unit in (np.unique(units.unit, return_inverse=True)[1], units.pair):
        n, sizes, rates = unit.max() + 1, np.bincount(unit), []
        for _ in range(200):
            own = (rng.permutation(n) < n // 2)[unit]
            at = promised_threshold(scores[own], units.select(np.flatnonzero(own)), rate, kind).value
            wrong = (scores < at if kind == "miss" else scores >= at)[~own]
            rates.append(float((wrong / sizes[unit[~own]]).sum() / len(np.unique(unit[~own]))))
        assert 0.8 * rate - 2 / (n // 2) < np.mean(rates) <= rate + 2 * np.std(rates) / np.sqrt(200)


@pytest.fixture(scope="module")
def sts_b(real_data, tmp_path_factory):
    """Grades, cosines by bert-mini and linked groups of all 8,628 pairs of STS-B."""
    from uncone.data.tasks.pair_file import open_pair_file

    files = [open_pair_file(f"stsb:{split}", data=real_data) for split in ("train", "dev", "test")]
    left, right = ([text for file in files for text in file.texts[side]] for side in (0, 1))
    out = tmp_path_factory.mktemp("sts-b") / "vectors.npy"
    uncone.encode([*left, *right], out=out, model=real_data / ".." / "models" / "bert-mini", cache=False)
    both = np.load(out).astype(np.float64)
    both /= np.linalg.norm(both, axis=1, keepdims=True)
    n = len(left)
    grades = np.concatenate([file.labels for file in files])
    return grades, np.vecdot(both[:n], both[n:]), pair_units(n, (left, right))


def rows_of_pairs(n=120):
    """Vectors whose pairs (i, i + n) are similar, with grades that rise with the cosine."""
    rng = np.random.default_rng(1)
    left = rng.normal(size=(n, 16)) + 0.5
    right = left + rng.uniform(0.2, 2, size=(n, 1)) * rng.normal(size=(n, 16))
    rows = np.concatenate([left, right]).astype(np.float32)
    units = rows.astype(np.float64) / np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    return rows, np.vecdot(units[:n], units[n:])


def write_pairs(grades, head="id1,id2,label"):
    n = len(grades)
    Path("pairs.csv").write_text(f"{head}\n" + "".join(f"{i},{i + 120},{grades[i]}\n" for i in range(n)))


def test_from_the_command_line(capsys):
    rows, cosines = rows_of_pairs()
    np.save("v.npy", rows)
    write_pairs((cosines > np.quantile(cosines, 0.4)).astype(int))
    similar = cosines > np.quantile(cosines, 0.4)
    command = ["calibrate", "v.npy", "--pairs", "pairs.csv", "--guarantee", "false=0.1,miss=0.1", "--replicates", "40"]
    assert _run([*command, "--json", "c.json", "--markdown", "c.md", "--save", "calibration"]) == 0
    written, text = json.loads(Path("c.json").read_text()), " ".join(capsys.readouterr().out.split())
    miss, false = written["calibration"]["guarantees"]
    assert [each["kind"] for each in (miss, false)] == ["miss", "false"]
    for each, kind, own in ((miss, "miss", cosines[similar]), (false, "false", cosines[~similar])):
        assert each["value"] == pytest.approx(naive(own, range(len(own)), 0.1, kind), abs=1e-6)
        assert each["units"] == len(own) and each["units_needed"] is None
    for page in (text, " ".join(Path("c.md").read_text().split()), Path("uncone-calibrate.html").read_text()):
        assert "uaranteed thresholds" in page or "miss at most 10 %" in page
    assert "Any threshold from" in text and "keeps both promises" in text
    loaded = Calibration.load("calibration")
    assert loaded.guarantees[0].value == miss["value"] and loaded.guarantees[0].found.value == miss["found"]["value"]
    assert uncone.calibrate("v.npy", pairs="pairs.csv", guarantees=["miss=0.01"], replicates=40).lines()[-1] == (
        "No threshold is guaranteed to miss at most 1 % of similar pairs on average: it needs 99 independent similar "
        "pairs, and there are 72. Pairs that share a text count as one."
    )
    write_pairs([i % 2 for i in range(29)])
    assert _run(command) == 2
    assert capsys.readouterr().err == (
        "uncone: pairs.csv has 29 labeled pairs, and a guarantee needs at least 30. Label more.\n"
    )


def test_a_threshold_that_nothing_can_reach():
    scores = np.append(np.linspace(0, 0.9, 60), np.ones(40))
    labeled = LabeledScores(np.zeros(100), scores, pair_units(100), 40)
    found = guarantees(labeled, {"false": 0.1})[0]
    assert found.value is None and found.reason == "40 % of dissimilar pairs score 1." and found.units_needed is None


def test_grades_of_judgments():
    """Those of qrels are relevant from 1 on, or from where the user says; ids of both sides may be equal."""
    rows, cosines = rows_of_pairs()
    grades = np.digitize(cosines, np.quantile(cosines, [0.3, 0.5, 0.7, 0.9]))
    lines = [f"{i}\t{i}\t{grade}\n" for i, grade in enumerate(grades)]
    Path("qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(lines))
    options = {"queries": rows[:120], "documents": rows[120:], "pairs": "qrels.tsv", "guarantees": "miss=0.1"}
    found = {least: uncone.calibrate(**options, relevant=least, replicates=40) for least in (None, 1, 3)}
    for least, result in found.items():
        own = cosines[grades >= (least or 1)]
        assert result.calibration.labeled.cut == (least or 1)
        promised = result.calibration.guarantees[0]
        assert promised.value == pytest.approx(naive(own, range(len(own)), 0.1, "miss"), abs=1e-6)
        assert promised.units == len(own), "document 7 and query 7 are not one text"
    said = "Judgments go from 0 to 4: 1 or more counts as relevant. --relevant sets another least grade."
    assert said in found[None].calibration.labeled.notes and said not in found[1].calibration.labeled.notes
    with pytest.raises(OptionError, match="--cut is for graded pairs and --relevant for judgments"):
        uncone.calibrate(**options, relevant=1, cut=2)


def test_judgments_of_relevant_documents_only():
    rows, cosines = rows_of_pairs()
    write_pairs([1] * 120, "query-id,corpus-id,score")
    result = uncone.calibrate(rows, pairs="pairs.csv", guarantees=["miss=0.1"])
    assert result.calibration.labeled is None and result.to_html() and result.to_text()
    promised = result.calibration.guarantees[0]
    assert promised.value == pytest.approx(np.sort(cosines)[11], abs=1e-6)
    assert "All 120 pairs of pairs.csv are similar, so they show nothing but misses." in result.calibration.notes
    assert json.loads(result.to_json())["calibration"]["guarantees"][0]["let_through"]["value"] is None
    for others in ([], ["false=0.1"]):
        with pytest.raises((FormatError, OptionError)):
            uncone.calibrate(rows, pairs="pairs.csv", guarantees=others)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"guarantees": ["miss=0"]}, "miss=RATE or false=RATE"),
        ({"guarantees": ["recall=0.1"]}, "miss=RATE or false=RATE"),
        ({"guarantees": ["miss=ten"]}, "miss=RATE or false=RATE"),
        ({"guarantees": ["miss=0.1", "miss=0.2"]}, "one --guarantee of each kind"),
        ({"guarantees": ["miss=0.1"], "pairs": None}, "--guarantee is for labeled pairs"),
        ({"relevant": 1, "pairs": None}, "--relevant is for labeled pairs"),
    ],
)
def test_guarantees_that_cannot_be(options, message):
    with pytest.raises(OptionError, match=message):
        uncone.calibrate(rows_of_pairs()[0], **{"pairs": "pairs.csv", **options})


def test_texts_that_pairs_share_are_respected():
    """Ten copies of every pair promise what the pairs themselves promise."""
    rows, _ = rows_of_pairs()
    Path("often.csv").write_text("id1,id2,label\n" + "".join(f"{i},{i + 120},{i % 3 % 2}\n" for i in range(120)) * 10)
    write_pairs([i % 3 % 2 for i in range(120)])
    once, often = (
        uncone.calibrate(rows, pairs=file, guarantees="miss=0.1,false=0.1", replicates=40).calibration.guarantees
        for file in ("pairs.csv", "often.csv")
    )
    for one, other in zip(once, often, strict=True):
        assert (one.value, one.units, one.low, one.high) == (other.value, other.units, other.low, other.high)
        assert other.pairs == 10 * one.pairs
    with pytest.raises(ShapeError, match=r"400 labeled pairs, of which 20 share no text, and a guarantee needs"):
        Path("few.csv").write_text("id1,id2,label\n" + "".join(f"{i},{i + 120},{i % 2}\n" for i in range(20)) * 20)
        uncone.calibrate(rows, pairs="few.csv", guarantees="miss=0.1")
