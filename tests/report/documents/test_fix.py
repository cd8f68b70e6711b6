"""The documents of `fix`: a space before and after a repair, and the choice of a repair, in every rendering."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from report.blocks import EVIL
from report.snapshots import assert_wording

from uncone import check
from uncone.analysis.intervals.bootstrap import Difference
from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.measures.verdict import judge
from uncone.evaluation.prescription import Prescription, Tried
from uncone.evaluation.table import Method
from uncone.repairs.registry import make
from uncone.report.documents.fix import Prescribed, Repaired, candidate_blocks, changes, chosen_epoch, learning
from uncone.report.text import interval

CURVE = [(0, 1.9, 1.95), (1, 0.2, 0.4), (2, -0.5, -0.25), (3, -0.9, -0.1)]


def cone_of(n, d, mean, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, d)) * np.linspace(1.5, 0.3, d) + mean * rng.normal(size=d)).astype(np.float32)


def build(method="center,droptop,whiten", mean=1.5, n=800, d=16, **options):
    more = {name: options.pop(name) for name in ("notes", "history", "saved", "written") if name in options}
    name, provenance = options.pop("name", "vectors.parquet"), options.pop("provenance", {})
    rows = cone_of(n, d, mean)
    repair = make(method, **options).fit(rows)
    before, after = (check(one, name=name, scores=[0.75]) for one in (rows, repair.transform(rows)))
    after = replace(after, verdict=judge(after.findings, after.scores, repaired=True))
    return Repaired(before, after, method, repair, {"fitted_on": name, "n": n, "seed": 0, **provenance}, **more)


@pytest.fixture(scope="module")
def crowded():
    return build(notes=["2 rows were left out.", ""], saved="repair", written="fixed.parquet")


@pytest.fixture(scope="module")
def healthy():
    return build("center", mean=0.0)


@pytest.fixture(scope="module")
def trained():
    return build("whiten", dim=8, history=CURVE, provenance={"encoder": "a model", "versions": {"torch": "2"}})


@pytest.fixture(scope="module")
def evil():
    return build(name=EVIL, notes=[EVIL], saved=EVIL, written=EVIL, provenance={EVIL: EVIL, "encoder": EVIL})


def test_wording(healthy):
    """Centered spaces alone: directions that a repair makes equal or empty differ with the linear algebra library."""
    notes = ["2 rows were left out."]
    trained = {"history": CURVE, "provenance": {"encoder": "a model", "versions": {"torch": "2"}}}
    assert_wording("fix_crowded", build("center", notes=notes, saved="repair", written="fixed.parquet", **trained))
    assert_wording("fix_healthy", healthy)


def exact_mean_cosine(rows):
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = units @ units.T
    return cosines[np.triu_indices(len(rows), 1)].mean()


def test_the_sentences_say_the_numbers(crowded):
    rows = cone_of(800, 16, 1.5).astype(np.float64)
    old, new = exact_mean_cosine(rows), exact_mean_cosine(crowded.repair.transform(rows))
    isoscore, isotropy = (
        [getattr(crowded, side)[name].value for side in ("before", "after")]
        for name in ("isoscore_corrected", "partition_isotropy_unit_log10")
    )
    for line, values in zip(crowded.lines(), ((old, abs(new)), isoscore, isotropy), strict=False):
        assert "from {:.2f} to {:.2f}".format(*values) in line
    assert f"{old:.2f}" in crowded.headline


def test_rows_of_another_corpus_are_not_called_those_fitted_on(crowded):
    other = replace(crowded, provenance={"fitted_on": "another.npy"})
    assert other.lines() == crowded.lines()[:-1]


def test_a_healthy_space_is_warned_of(healthy, crowded):
    assert healthy.healthy and healthy.warning
    assert not crowded.healthy and crowded.warning == ""
    for text in (unescape(healthy.to_html()), healthy.to_markdown(), " ".join(healthy.to_text().split())):
        assert healthy.warning in text


def test_what_is_not_better_is_not_called_so(crowded):
    assert replace(crowded, after=crowded.before).headline.startswith("Still crowded. Unrelated vectors score")
    worse = replace(crowded, before=crowded.after, after=crowded.before)
    assert worse.headline.startswith("Less isotropic: crowded after the repair. Unrelated vectors score")
    assert "rises from 0.00 to" in worse.lines()[0]
    assert "stays at" in " ".join(replace(crowded, after=crowded.before).lines())


def test_every_rendering_reminds(crowded):
    for text in (
        unescape(crowded.to_html()),
        crowded.to_markdown(),
        crowded.to_json(),
        " ".join(crowded.to_text().split()),
    ):
        assert crowded.reminder in text


@pytest.mark.parametrize(
    ("old", "new", "overlap"), [((0.1, 0.2), (0.3, 0.4), False), ((0.1, 0.3), (0.2, 0.4), True), (None, (0, 1), None)]
)
def test_intervals(crowded, old, new, overlap):
    def with_baseline(space, value, bounds):
        low, high = bounds or (None, None)
        findings = {**space.findings, "baseline": Finding("baseline", value, 9, "", low=low, high=high)}
        return replace(space, findings=findings)

    result = replace(
        crowded, before=with_baseline(crowded.before, 0.15, old), after=with_baseline(crowded.after, 0.3, new)
    )
    change = changes(result)[0]
    assert (change.way, change.overlap) == ("rises", overlap)
    assert ("no clear change" in result.lines()[0]) is bool(overlap)
    assert ("don't overlap" in result.lines()[0]) is (overlap is False)


def test_quantiles_stand_with_their_intervals(crowded):
    shown = {one.title: one for one in changes(crowded, quantiles=True)}
    median = crowded.before["pair_cosine_quantiles"]
    assert shown["Median pair"].values[0] == f"{median.value['0.5']:.3f}"
    assert interval(shown["Median pair"].before) == f"{median.low['0.5']:.3f} – {median.high['0.5']:.3f}"
    assert len(shown) == len(changes(crowded)) + 2


def test_no_number_is_a_minus_zero_or_needs_an_exponent(crowded):
    for change in changes(crowded, quantiles=True):
        for text in (*change.values, interval(change.before), interval(change.after)):
            assert not re.search(r"-0\.0+(?!\d)|e-", text)


def test_json_is_strict_and_plain(crowded, trained):
    result = replace(
        crowded,
        history=[(0, float("nan"), None)],
        provenance={"n": np.int64(3), "share": np.float32("inf"), "path": Path("a"), "layers": (1, -1)},
    )
    data = json.loads(result.to_json(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert data["schema"] == 1
    assert data["provenance"] == {"n": 3, "share": None, "path": "a", "layers": [1, -1]}
    assert data["history"] == [{"epoch": 0, "train": None, "held_out": None}]
    assert [step["kind"] for step in data["repair"]["steps"]] == ["center", "droptop", "whiten"]
    assert data["before"] == json.loads(crowded.before.to_json())
    assert data["lines"] == result.lines()
    assert (trained.to_dict()["repair"]["dim_in"], trained.to_dict()["repair"]["dim_out"]) == (16, 8)


def test_the_next_command(crowded, trained, evil):
    assert crowded.suggestion == "uncone apply repair new.npy -o new-fixed.npy"
    assert trained.suggestion is None
    assert replace(trained, saved="r").suggestion == "uncone apply r new.csv --model 'a model'"
    assert evil.suggestion.startswith("uncone apply '</script>")


def test_renderings(crowded, healthy, trained, evil, assert_renderings):
    long = replace(
        trained, notes=["A note that is rather long, as notes go. " * 3] * 5, saved="s" * 70, method="m" * 90
    )
    for result in (crowded, healthy, trained, evil, long):
        assert_renderings(result, screen=65)


def test_terminal_draws_both_histograms_on_one_axis(crowded):
    lines = crowded.to_text().splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("  before  ") and "█" in line)
    before, after, axis = lines[place : place + 3]
    assert after.index("█") < before.index("█"), "repaired pairs lie further to the left"
    low, high = float(axis.split()[0]), float(axis.split()[-1])
    mean, peak = crowded.before["baseline"].value, low + (before.index("█") - 12 + 0.5) / 60 * (high - low)
    assert abs(peak - mean) < 0.25 * (high - low)


def test_markdown(crowded, trained):
    text = crowded.to_markdown()
    for change in changes(crowded, quantiles=True):
        assert f"| {change.title} | " in text
    assert "- 2 rows were left out.\n" in text and "\n- \n" not in text
    assert "Learning curve" not in text
    assert "| 2 | -0.500 | -0.250 |" in trained.to_markdown() and "Negative bits" in trained.to_markdown()


def test_the_learning_curve(trained, crowded):
    assert chosen_epoch(trained) == 2
    assert learning(trained) == (
        "Epoch 2 of 3 is used: -0.25 bits per dimension on the held-out vectors, from 1.95 at epoch 0."
    )
    assert learning(crowded) == ""
    alone = replace(trained, history=[(epoch, train, None) for epoch, train, _ in CURVE])
    assert chosen_epoch(alone) == 3 and "training vectors" in learning(alone)
    assert "did not improve on epoch 0" in learning(replace(trained, history=[(0, 1.0, 1.0), (1, 0.9, 1.1)]))
    charts = trained.document().charts()
    assert [chart.name for chart in charts] == ["cosines", "eigenvalues", "learning"]
    assert [chart.name for chart in crowded.document().charts()] == ["cosines", "eigenvalues"]
    assert "Negative bits per dimension are normal" in charts[-1].caption
    assert [mark.label for mark in alone.document().charts()[-1].marks[:-1]] == ["trained on"]


def test_directions_that_a_repair_removes_are_counted_not_drawn():
    chart = build("droptop", k=3).document().charts()[1]
    before, after = chart.marks
    assert None not in before.y
    assert [y is None for y in after.y] == [False] * 13 + [True] * 3
    assert chart.caption.endswith("Not shown: 3 directions without variance (after).")


def test_the_histograms_are_named(crowded):
    marks = crowded.document().charts()[0].marks
    assert [mark.label for mark in marks] == ["before", "after"]
    assert [mark.color.split()[0] for mark in marks] == ["accent", "second"]


def test_in_a_notebook(crowded):
    assert "Crowded" in crowded._repr_html_() and "More isotropic" in crowded._repr_html_()
    assert repr(crowded).startswith(
        "<Repaired vectors.parquet by center,droptop,whiten: More isotropic: crowded before"
    )


@pytest.mark.browser
def test_the_page_in_a_browser(crowded, trained, evil, assert_page_works):
    assert_page_works(crowded, trained, evil)


def candidate(name, score, value, half=0.01, chosen=0, note="", units=143):
    significant = abs(value) > half
    return Tried(
        Method(name, name.split()[0], {"k": 3}),
        score,
        Difference(value, value - half, value + half, 0.01, significant, units),
        chosen,
        note,
    )


def prescribe(*, use=True, units=143, name="pairs.csv"):
    tried = [
        candidate("center", 0.994, 0.014, chosen=3),
        candidate("droptop 3", 0.989, 0.009, chosen=2),
        candidate("whiten", 0.92, -0.061, half=0.03),
        Tried(Method("flow", "flow"), None, Difference(None, None, None, None, False, 0), 0, "it does not converge"),
    ]
    return Prescribed(
        Prescription(
            recommended=tried[0].method if use else None,
            repair=None,
            table=tried,
            raw=0.98,
            gain=Difference(0.013, 0.001, 0.027, 0.01, True, units),
            reason="On 399 pairs, held out, the repair chosen on the others gains 1.3 points.",
            measure="ROC-AUC",
            pairs=399,
            units=units,
            folds=5,
            level=0.95,
            least_gain=0.01,
            name=name,
            notes=["3 pairs were left out."],
        )
    )


@pytest.mark.parametrize(("name", "result"), [("use", prescribe()), ("leave", prescribe(use=False, units=12))])
def test_wording_of_a_choice(name, result):
    assert_wording(f"prescribe_{name}", result)


def test_every_candidate_is_shown():
    result = prescribe()
    table, notes = candidate_blocks(result.to_dict()["prescription"])
    rows = {row.cells[0].text: row.cells for row in table.rows}
    assert [[cell.text + cell.mark for cell in cells] for cells in rows.values()] == [
        ["raw", "98.0", "", ""],
        ["center", "99.4", "+1.4*", "3 of 5"],
        ["droptop 3", "98.9", "+0.9", "2 of 5"],
        ["whiten", "92.0", "−6.1↓*", ""],
        ["flow", "–", "–", ""],
    ]
    assert rows["center"][2].small == "+0.4 to +2.4"
    assert [name for name, cells in rows.items() if cells[0].strong] == ["center"]
    assert rows["whiten"][2].level is Level.CROWDED
    assert notes.lines == ["3 pairs were left out.", "flow: it does not converge"]


def test_the_verdict_of_a_choice():
    assert prescribe().document().verdicts[0].level is Level.CROWDED
    alone = prescribe(use=False).document()
    assert alone.verdicts[0].level is Level.HEALTHY
    assert alone.verdicts[0].details == [prescribe().prescription.reason]


def test_renderings_of_a_choice(assert_renderings):
    for result in (prescribe(), prescribe(use=False), prescribe(name=EVIL)):
        assert_renderings(result)
    odd = prescribe().prescription
    evil = replace(odd, table=[replace(odd.table[0], method=Method(EVIL, EVIL), note=EVIL)], notes=[EVIL], reason=EVIL)
    assert_renderings(Prescribed(evil))
