"""A calibration in all its renderings: each says what the numbers say."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from report.blocks import EVIL
from report.snapshots import assert_wording

import uncone
from uncone.analysis.calibration.results import Threshold, Translation
from uncone.analysis.cosine.baseline import Evidence
from uncone.analysis.measures.finding import Level
from uncone.data.tasks.pair_file import PairFile
from uncone.report.documents.calibrate import backgrounds, mappings, operating, scores, thresholds
from uncone.report.documents.calibrate.charts import background, references, shown_range
from uncone.report.documents.calibrate.sentences import hits, subtitle


def rows_of(mean, n=500, d=24, seed=0):
    return (np.random.default_rng(seed).normal(size=(n, d)) + mean).astype(np.float32)


def build(mean=1.0, name="tickets.parquet", labeled=False, **options):
    rows = rows_of(mean)
    if labeled:
        rows[250:] = rows[:250] + 0.6 * rows[250:]
        left = np.arange(200)
        right = np.where(left % 2, left + 250, (left * 7 + 3) % 250 + 250)
        named = ([str(i) for i in left], [str(i) for i in right])
        options |= {"pairs": PairFile(f"{name} pairs", (left % 2).astype(float), None, named, ()), "replicates": 60}
    return uncone.calibrate(rows, name=name, **options)


@pytest.fixture(scope="module")
def crowded():
    return build(scores=[0.5], corpus_size=1_000_000)


@pytest.fixture(scope="module")
def full():
    promised = ["miss=0.1", "false=0.02"]
    goals = {"precisions": [0.9], "recalls": [0.95], "guarantees": promised}
    made = build(labeled=True, fpr=[0.01, 0.05], background=rows_of(0.5), **goals)
    old = Translation(0.75, 0.02, 0.61, 0.6, 0.62, "old-calibration")
    return replace(made, calibration=replace(made.calibration, translation=old, hints=["Center it."]), saved="c")


@pytest.fixture(scope="module")
def healthy():
    return build(mean=0.0)


@pytest.fixture(scope="module")
def evil():
    made = build(name=EVIL, labeled=True, background=rows_of(0.3))
    other = replace(made.calibration.backgrounds[1], name=EVIL)
    calibration = replace(
        made.calibration,
        backgrounds=[made.calibration.backgrounds[0], other],
        hints=[EVIL],
        notes=[EVIL],
        source={**made.calibration.source, "encoder": EVIL, "layer": EVIL, "repair": EVIL},
    )
    return replace(made, calibration=calibration, saved=EVIL, provenance={EVIL: EVIL})


@pytest.mark.parametrize("name", ["crowded", "full", "healthy"])
def test_wording(name, request):
    assert_wording(f"calibrate_{name}", request.getfixturevalue(name))


def every_cosine(rows):
    u = rows.astype(np.float64)
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    return (u @ u.T)[np.triu_indices(len(u), 1)]


def test_the_headline_says_the_numbers(crowded):
    cosines = every_cosine(rows_of(1.0))
    share, cut = (cosines >= 0.5).mean(), np.quantile(cosines, 0.99)
    found = re.fullmatch(
        r"(\d+) % of unrelated pairs score 0\.5 or more, so 0\.5 is not evidence of similarity here\. "
        r"For a false-positive rate of 1 %, use a threshold of (0\.\d{3}) \(95 % interval (0\.\d{3}) to (0\.\d{3})\)\.",
        crowded.headline,
    )
    assert found, crowded.headline
    assert abs(float(found[1]) - 100 * share) < 1 and abs(float(found[2]) - cut) < 0.003
    assert float(found[3]) < float(found[2]) < float(found[4])
    low, high = np.quantile(cosines, [0.025, 0.975])
    assert f"score {low:.2f} to {high:.2f} here (95 %, average {cosines.mean():.2f})" in crowded.lines()[0]


def test_one_per_cent_of_a_million(crowded, full):
    for text in (crowded.to_text(), crowded.to_html(), crowded.to_markdown(), " ".join(full.lines())):
        assert "1 % of a million is 10,000 unrelated hits per query" in " ".join(text.split())
    assert "one unrelated hit per query on average among 1,000,000" in " ".join(crowded.lines())
    assert [hits(one) for one in (2e6, 0.2, 3.0)] == ["2,000,000", "0.2", "3"]


@pytest.mark.parametrize(
    ("rate", "level", "grade", "words"),
    [
        (0.7, "collapsed", Evidence.NONE, "so 0.5 is not evidence of similarity here"),
        (0.2, "crowded", Evidence.NONE, "so 0.5 is not evidence of similarity here"),
        (0.03, "crowded", Evidence.WEAK, "so 0.5 is weak evidence of similarity here"),
        (0.002, "healthy", Evidence.STRONG, "so 0.5 is evidence of similarity here"),
        (0.02, "note", Evidence.UNKNOWN, "with 500 vectors it may be 1.8 % to 2.2 %: too uncertain to say"),
    ],
)
def test_the_verdict_by_the_share(crowded, rate, level, grade, words):
    bounds = {"rate": rate, "rate_low": 0.9 * rate, "rate_high": 1.1 * rate}
    result = replace(crowded, scores=[replace(crowded.scores[0], **bounds, evidence=grade)])
    assert result.level is Level(level)
    assert words in result.headline


def test_the_verdict_by_the_ratio(full):
    """Labeled pairs decide: one score that 7.9 % of unrelated pairs reach, and all of the similar ones."""
    one = full.scores[1]
    assert one.rate > 0.05 and one.found.value == 1 and one.ratio.value == pytest.approx(1 / one.rate)
    found = re.search(
        r"100 % of labeled similar pairs do: (\S+) times as often \(95 % interval (\S+) to", full.headline
    )
    assert float(found[1]) == pytest.approx(1 / one.rate, abs=0.1) and float(found[2]) == pytest.approx(
        one.ratio.low, abs=0.1
    )
    assert full.headline.split(". For a")[0].endswith("so 0.75 is evidence of similarity here")
    assert full.level is Level.HEALTHY
    few = replace(full, scores=[replace(one, ratio=replace(one.ratio, n=29), evidence=Evidence.NONE)])
    assert "so 0.75 is not evidence" in few.headline and "29 independent similar pairs are too few" in few.lines()[2]


def test_few_distinct_vectors_have_no_verdict():
    """Five vectors, each fifty times, make ten pairs: nothing is known, however many rows there are."""
    rows = rows_of(1.0, n=5)
    headlines = {k: uncone.calibrate(np.repeat(rows, k, axis=0), scores=[0.95]).headline for k in (1, 50)}
    assert headlines[50].startswith("5 distinct vectors are too few to say what 0.95 means here (at least 30")
    assert "1 % of 10 pairs is fewer than 100" in headlines[50]
    assert headlines[1].startswith("5 vectors are too few") and "1 % of 10 pairs is fewer than 100" in headlines[1]


def test_one_hit_is_an_average():
    """Of 500 rows at the cut of one hit on average: counted by hand."""
    rows = rows_of(1.0, n=500)
    rows *= np.random.default_rng(1).uniform(0.6, 1.4, size=(500, 1)).astype(np.float32)
    rows += 0.4  # the short ones point along the common part
    found = uncone.calibrate(rows, corpus_size=500)
    one = found.calibration.one_hit
    units = rows / np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    reached = (units @ units.T >= one.value).sum(axis=1) - 1
    assert reached.mean() == pytest.approx(1.0, abs=0.05) and reached.max() > 5
    assert one.spread.over_one == pytest.approx((reached > 1).mean(), abs=0.004)
    assert (one.spread.largest, one.spread.queries, one.spread.corpus_size) == (reached.max(), 500, 500)
    words = (
        f"about {100 * one.spread.over_one:.2g} % of queries have more than one, the worst of 500 has {reached.max()}"
    )
    for text in (found.to_text(), found.to_html(), found.to_markdown()):
        assert words in " ".join(text.split()) and "one hit on average" in " ".join(text.split())
        assert "at most one" not in text
    assert json.loads(found.to_json())["calibration"]["one_hit"]["spread"]["largest"] == reached.max()
    again = uncone.calibrate(np.repeat(rows, 3, axis=0), corpus_size=500).calibration.one_hit
    assert again.spread.over_one == pytest.approx(one.spread.over_one, abs=0.05), "other 500 of 1,500 rows"


def test_what_nothing_reaches(healthy):
    assert healthy.headline.startswith("None of 124,750 sampled unrelated pairs scores 0.75 or more, so")
    assert scores(healthy).rows[1].cells[1].text.startswith("under ")


def test_a_refusal_is_an_answer(crowded):
    refused = Threshold(1e-6, None, None, None, 123_456, "500 rows cannot support it.")
    result = replace(crowded, calibration=replace(crowded.calibration, thresholds=[refused], one_hit=refused))
    assert result.headline.endswith("500 rows cannot support it. 123,456 vectors would be needed.")
    for text in (result.to_text(), result.to_html(), result.to_markdown()):
        assert "123,456 vectors" in " ".join(text.split())
    assert thresholds(result).rows[0].cells[1].small == "needs 123,456 vectors"
    assert all(one.dash == "dot" for one in references(result)), "the requested scores alone"


def test_tables(full, crowded):
    head = [column.title for column in scores(full).columns]
    assert head == [
        "score",
        "unrelated pairs at or above",
        "percentile",
        "above the background",
        "probability",
        "similar pairs found",
        "dissimilar pairs found",
        "likelihood ratio",
    ]
    titles = [column.title for column in scores(crowded).columns]
    assert "unrelated hits in 1,000,000" in titles and "probability" not in titles
    cuts = thresholds(full)
    assert [row.cells[0].text for row in cuts.rows] == ["1 %", "5 %"] and len(cuts.columns) == 5
    assert [cell.text for cell in cuts.rows[0].cells[2:4]] == ["100", "10,000"]
    assert [row.cells[0].text for row in operating(full).rows] == ["best F1", "precision 0.9", "recall 0.95"]
    assert operating(crowded) is None and mappings(crowded) is None
    assert {row.cells[0].text for row in mappings(full).rows} == {"logistic", "isotonic"}
    assert [row.cells[1].text for row in backgrounds(full).rows] == ["500", "500"]


def test_what_labeled_pairs_and_translation_say(full):
    text = " ".join(full.lines())
    assert "of the labeled dissimilar pairs" in text
    assert "Best F1 on the labeled pairs is at 0." in text
    assert "0.75 in old-calibration has a false-positive rate of 2 %." in text
    assert "The same rate here is at 0.610" in text
    none = replace(full.calibration.translation, new=None, reason="It lies beyond all pairs.")
    lost = replace(full, calibration=replace(full.calibration, translation=none))
    assert "It lies beyond all pairs." in " ".join(lost.lines())


def test_json_is_strict(full, healthy):
    for result in (full, healthy):
        data = json.loads(result.to_json(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
        assert data["schema"] == 1 and data["headline"] == result.headline and data["lines"] == result.lines()
        assert data["scores"][1]["score"] == 0.75 and data["calibration"]["source"]["name"] == "tickets.parquet"


def test_renderings(crowded, full, healthy, evil, assert_renderings):
    for result in (crowded, full, healthy, evil):
        assert_renderings(result, screen=75)
    text = full.to_text()
    assert text.index("evidence") < text.index("percentile") < text.index("false-positive  ") < text.index("why")
    assert "uncone.Calibration.load('c').percentile(score)" in text


def test_terminal_marks_the_cut_on_the_axis(crowded):
    lines = crowded.to_text().splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("  cut  "))
    low, high = (float(one) for one in lines[place - 1].split())
    at = low + (lines[place].index("↑") - 12 + 0.5) / 60 * (high - low)
    assert abs(at - crowded.calibration.thresholds[0].value) < 0.03


def test_charts(full, crowded):
    assert [one.name for one in crowded.document().charts()] == ["background", "reach"]
    expected = ["background", "reach", "risk", "roc", "precision-recall", "probability", "reliability"]
    assert sorted(one.name for one in full.document().charts()) == sorted(expected)
    chart = background(full)
    assert [one.label for one in chart.marks] == ["unrelated pairs", "array", "dissimilar pairs", "similar pairs"]
    labels = [one.label for one in chart.references]
    assert {"0.7", "0.75", "0.8", "was 0.75: 0.610"} <= set(labels)
    assert sum(label.startswith("1 %: ") for label in labels) == 1
    low, high = shown_range(full)
    assert all(low < one.at < high for one in chart.references)


def test_the_histogram_holds_all_pairs(crowded):
    bars = background(crowded).marks[0]
    assert sum(np.array(bars.heights) * np.diff(bars.edges)) == pytest.approx(1, abs=1e-3)


def test_sections(full):
    expected = [
        "What does a score mean?",
        "Thresholds",
        "A threshold from another space",
        "Guaranteed thresholds",
        "Thresholds by labeled pairs",
    ]
    expected += ["Quantized indexes", "Can I trust this?", "Provenance"]
    titles = [section.title for section in full.document().sections]
    assert [title for title in titles if title in expected] == expected


def test_in_a_notebook(full):
    assert "threshold" in full._repr_html_() and "plotly" not in full._repr_html_()
    assert repr(full).startswith("<Calibrated tickets.parquet: 7.9 % of unrelated pairs score 0.75 or more")


def test_subtitle(crowded):
    source = {**crowded.calibration.source, "encoder": "models/m", "layer": "2", "pooling": "cls", "repair": "a/r/"}
    named = replace(crowded, calibration=replace(crowded.calibration, source=source))
    assert subtitle(named) == "500 x 24 · m · layer 2 · cls pooling · repaired by r"
    assert subtitle(crowded) == "500 x 24"


def test_figures(full, tmp_path):
    written = full.save_figures(tmp_path / "figures")
    stems = {"background", "reach", "risk", "roc", "precision-recall", "probability", "reliability"}
    assert {path.name for path in written} == {f"{stem}.{end}" for stem in stems for end in ("svg", "png", "csv")}
    with (tmp_path / "figures" / "reach.csv").open() as file:
        first = [row for row in csv.DictReader(file) if row["series"] == "unrelated pairs"]
    expected = full.calibration.backgrounds[0]
    assert [float(row["score"]) for row in first] == pytest.approx(expected.scores[np.asarray(expected.tails) > 0])
    assert Path(tmp_path / "figures" / "roc.png").read_bytes()[:4] == b"\x89PNG"
    for path in written:
        if path.suffix == ".svg":  # the text of a label stands in a comment beside its outline
            labels = re.findall(r"<!-- (.*?) -->", path.read_text())
            assert labels and not any("$" in one or "\\" in one for one in labels), path.name


@pytest.mark.browser
def test_the_page_in_a_browser(crowded, full, evil, assert_page_works):
    assert_page_works(full, crowded, evil)
