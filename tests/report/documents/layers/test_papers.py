"""The papers on layers as a document: their layouts, published rows beside ours, what is missing and what is evil."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest
from report.blocks import EVIL, assert_stays_text, charts, lines, section, texts
from report.documents.layers import test_deep as deep_studies
from report.documents.test_layers import contrast, found, study
from report.snapshots import assert_wording

from uncone.analysis.frequency.bias import RANKS, Association, BiasBin, FrequencyBias
from uncone.analysis.layers.contrast import PUBLISHED_CURVES
from uncone.analysis.layers.layer import Layer
from uncone.analysis.layers.published import PUBLISHED_BIAS, PUBLISHED_DIMENSIONS
from uncone.evaluation.frequency import RepairedBias, SpaceBias
from uncone.report.document import Table, leaves
from uncone.report.documents.layers import LayerComparison
from uncone.report.documents.layers.papers import LayerPapers

PAPERS = ("context", "clusters", "frequency")


def around(value):
    return Association(value, value - 0.05, value + 0.05)


def bias(norm, distance, explained, words=("the", "bank", "river")):
    near = {k: around(1.0 + k / 10) for k in (3, 5, 7)}
    bins = [BiasBin(name, 400, 400, around(1 + i / 4), near, near) for i, name in enumerate(RANKS[:3])]
    gap = dict.fromkeys((3, 5, 7), Association())
    bins.append(BiasBin(RANKS[3], 0, 0, Association(), gap, gap))
    ties = {"norm": around(norm), "distance": around(distance), "explained": around(explained)}
    rng = np.random.default_rng(0)
    names = [f"{words[i % len(words)]}{i}" for i in range(50)]
    return FrequencyBias(1_200, 30_000, bins, ties, rng.normal(size=(50, 2)), names, np.linspace(-5, -1, 50))


def space(name="bert-tiny on sts", vectors="input embeddings", words=("the", "bank", "river")):
    raw, changes = bias(-0.5, -0.2, 0.4, words), {key: around(-0.3) for key in ("norm", "distance", "explained")}
    outcomes = {"norm": "removed", "distance": "unchanged", "explained": "reduced"}
    rows = [
        RepairedBias("raw", raw),
        RepairedBias("center", bias(0.01, -0.2, 0.1, words), changes, outcomes),
        RepairedBias("whiten", bias(0.4, -0.3, 0.4, words), changes, {**outcomes, "norm": "reversed"}),
        RepairedBias("standardize", None, reason="A dimension is constant."),
    ]
    return SpaceBias(name, vectors, "token", "the tokens of the corpus", 128, rows)


def whole(depth=13, model="models/bert-base-cased", words=("bank", "river", ",", "2020"), **options):
    """A study of words with all that lies behind the cone."""
    plain, deep = study(depth, model=model, **options), deep_studies.study(depth, model=model, words=words)
    layers = [
        Layer(one.number, {**two.findings, **one.findings}) for one, two in zip(plain.layers, deep.layers, strict=True)
    ]
    return replace(plain, layers=layers, deep=deep.deep)


def papers(*studies, spaces=()):
    return LayerPapers(LayerComparison(studies, [contrast(one, studies[0]) for one in studies[1:]]), spaces)


def bare():
    """Nothing could be measured, and every repair failed."""
    one, nothing = deep_studies.bare(), bias(0.0, 0.0, 0.0)
    ties = dict.fromkeys(nothing.ties, Association())
    empty = replace(nothing, n=0, ties=ties, points=np.zeros((0, 2)), point_words=[], logs=np.zeros(0))
    rows = [RepairedBias("raw", empty), RepairedBias("center", None, reason="All are equal.")]
    return papers(one, spaces=[replace(space(), repairs=rows)])


ALL = {
    "one": lambda: papers(whole(), spaces=[space(), space(vectors="layer 12")]),
    "several": lambda: papers(
        whole(), whole(5, model="bert-mini", seed=1), whole(1, model="glove.6B.100d.txt"), spaces=[space()]
    ),
    "bare": bare,
    "evil": lambda: papers(
        whole(3, model=EVIL, words=(EVIL, "<b>bold</b>", "x"), named=[EVIL, "b", "c"], asked=(EVIL,)),
        spaces=[space(EVIL, EVIL, words=(EVIL,))],
    ),
}


def tables(result):
    return {
        (part.name, block.name): block
        for part in result.document().sections
        if part.name in PAPERS
        for block in leaves(part.blocks)
        if isinstance(block, Table)
    }


@pytest.mark.parametrize("name", ALL)
def test_every_rendering(name, assert_renderings):
    result = ALL[name]()
    assert_renderings(result, screen=400)
    assert len(charts(result)) == len(result.document().charts()), "names are unique"
    assert "nan" not in result.to_text().lower().split() and "None" not in result.to_markdown()
    assert len(result.tables()) == len(tables(result)), "no table replaces another"


@pytest.mark.parametrize("name", ["one", "several"])
def test_wording(name):
    assert_wording(f"layer_papers_{name}", ALL[name]())


def test_published_rows_stand_beside_ours():
    """Ours first; a published model that is not among them is "not run"."""
    here, elsewhere = (tables(papers(whole(model=model), spaces=[space()])) for model in ("bert-base-cased", "other"))
    published = {curve.model: curve for curve in PUBLISHED_CURVES if curve.measure == "baseline"}
    rows = texts(here["context", "baseline"])
    assert next(row[0] for row in rows if len(row) > 1) == "bert-base-cased"
    for model, curve in published.items():
        row = next(row for row in rows if row[0].startswith(f"{model},") and "here" not in row[0])
        assert [float(cell) for cell in row[1 : 1 + len(curve.values)]] == pytest.approx(list(curve.values))
        assert ([f"{model}, here", "not run"] in [row[:2] for row in rows]) == (model != "bert-base-cased")
    assert ["bert-base-cased, here", "not run"] in [row[:2] for row in texts(elsewhere["context", "baseline"])]
    lid = {row[0].partition(": published")[0]: row for row in texts(here["clusters", "lid"]) if len(row) > 1}
    for each in PUBLISHED_DIMENSIONS:
        assert float(lid[each.label][4]) == each.value and lid[each.label][2] == f"{each.dim:,}"
        assert ("not run" in lid[each.label][0]) == (each.label != "BERT")
    bins = texts(here["frequency", "bins"])
    norms = [row[1:] for row in bins if row[0] == "Mean L2 norm"]
    assert [float(cell) for cell in norms[-1]] == list(PUBLISHED_BIAS.norm)
    assert bins[-1][:2] == ["bert-base-uncased, here", "not run"]
    same = tables(papers(whole(model="bert-base-uncased"), spaces=[space()]))
    assert "not run" not in [cell for row in texts(same["frequency", "bins"]) for cell in row]


def test_figures_have_every_study_and_the_published_curve():
    result = papers(whole(), whole(model="bert-mini", seed=1), spaces=[space()])
    drawn = charts(result)
    for name in ("baseline", "selfsim_adjusted", "intrasim_adjusted"):
        marks = drawn[f"context-{name}"].marks
        assert {"bert-base-cased", "bert-mini"} <= {mark.label for mark in marks}
        dashed = [mark for mark in marks if mark.dash == "dash"]
        assert len(dashed) == 1 and len(dashed[0].y) == 13
    by_name = {curve.measure: np.array(curve.values) for curve in PUBLISHED_CURVES if curve.model == "bert-base-cased"}
    adjusted = next(mark for mark in drawn["context-selfsim_adjusted"].marks if mark.dash == "dash")
    np.testing.assert_allclose(adjusted.y, by_name["selfsim"] - by_name["baseline"])
    cosines = lines(drawn["clusters-s-inter"])
    assert set(cosines) == {f"{name}{end}" for name in ("bert-base-cased", "bert-mini") for end in ("", ", centered")}
    layers = result.parts[0].deep.layers
    assert cosines["bert-base-cased, centered"].y == [layer.clusters.within.inter for layer in layers]
    assert cosines["bert-mini"].dash == "solid" and cosines["bert-mini, centered"].dash == "dash"


def test_panels_have_the_same_axes_and_both_colorings():
    result = papers(whole(4, model="a"), whole(4, model="b", seed=1), spaces=[space()])
    one, two = (charts(result)[f"clusters-panel-{place}"] for place in (1, 2))
    assert [each.title for each in one.colorings] == ["kind of token", "log₁₀ frequency"]
    assert all(np.array_equal(a, b) for a, b in zip(one.views[0].frame, two.views[0].frame, strict=True))
    for cloud in (one, two):
        points = cloud.views[0].points
        assert np.sqrt((points**2).sum(axis=1).mean()) == pytest.approx(1)


def test_outcomes_are_told_with_their_intervals():
    table = tables(ALL["one"]())["frequency", "repairs-1"]
    rows = {row.cells[0].text: row.cells for row in table.rows}
    assert rows["raw"][1].small == "-0.55 to -0.45" and rows["raw"][3].text == ""
    assert rows["center"][3].text == "removed" and rows["center"][3].strong
    assert rows["whiten"][3].text == "reversed" and rows["whiten"][6].text == "unproven"
    assert rows["standardize"][1].small == "A dimension is constant."
    verdict = ALL["one"]().document().verdicts[0]
    assert any("removed by center, reversed by whiten" in line for line in verdict.details)


def test_tables_as_csv_have_their_small_print_in_columns():
    result = ALL["one"]()
    rows = list(csv.reader(result.tables()["table-context-baseline.csv"].splitlines()))
    head, first = rows[:2]
    assert head[:3] == ["layer", "0", "0 (small print)"] and all(len(row) == len(head) for row in rows)
    value = result.parts[0].layers[0]["baseline"]
    assert float(first[1]) == pytest.approx(value.value, abs=6e-4)
    assert first[2] == f"{value.low:.3f} to {value.high:.3f}"


def test_strangers_words_stay_text():
    clean = papers(
        whole(3, model="clean", words=("a", "b", "x"), named=["a", "b", "c"], asked=("a",)), spaces=[space("a", "b")]
    )
    assert_stays_text(ALL["evil"](), clean)


def test_a_study_without_some_measures_leaves_them_out():
    one = whole(3)
    layers = [Layer(each.number, {"baseline": found("baseline", 0.3)}) for each in one.layers]
    result = papers(replace(one, layers=layers, deep=None), spaces=())
    names = {name for _, name in tables(result)}
    assert "baseline" in names and "selfsim" not in names and "s-inter" not in names
    assert section(result, "What was left out").blocks


@pytest.mark.browser
def test_the_page_in_a_browser(assert_page_works):
    assert_page_works(*(ALL[name]() for name in ("several", "evil")))
