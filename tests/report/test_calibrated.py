"""A calibration in all its renderings: each says what the numbers say."""

from __future__ import annotations

import csv
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import uncone
from uncone.calibration.results import Threshold, Translation
from uncone.data.pair_file import PairFile
from uncone.diagnosis.evidence import Evidence
from uncone.diagnosis.finding import Level
from uncone.report.documents.calibrate.charts import background, marks, shown_range
from uncone.report.calibrated_figures import write_figures
from uncone.report.documents.calibrate.sentences import hits, subtitle
from uncone.report.calibrated_page import charts
from uncone.report.documents.calibrate.tables import backgrounds, mappings, operating, scores, thresholds
from uncone.report.calibrated_terminal import print_calibrated

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)> | *b* `c` \x1b[31m"


def rows_of(mean, n=500, d=24, seed=0):
    return (np.random.default_rng(seed).normal(size=(n, d)) + mean).astype(np.float32)


def build(mean=1.0, name="tickets.parquet", labelled=False, **options):
    rows = rows_of(mean)
    if labelled:
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
    made = build(labelled=True, rates=[0.01, 0.05], background=rows_of(0.5), precisions=[0.9], recalls=[0.95])
    old = Translation(0.75, 0.02, 0.61, 0.6, 0.62, "old-calibration")
    return replace(made, calibration=replace(made.calibration, translation=old, hints=["Centre it."]), saved="c")


@pytest.fixture(scope="module")
def healthy():
    return build(mean=0.0)


@pytest.fixture(scope="module")
def evil():
    made = build(name=EVIL, labelled=True, background=rows_of(0.3))
    other = replace(made.calibration.backgrounds[1], name=EVIL)
    calibration = replace(
        made.calibration,
        backgrounds=[made.calibration.backgrounds[0], other],
        hints=[EVIL],
        notes=[EVIL],
        source={**made.calibration.source, "encoder": EVIL, "layer": EVIL, "repair": EVIL},
    )
    return replace(made, calibration=calibration, saved=EVIL, provenance={EVIL: EVIL})


def printed(result, width=80):
    console = Console(width=width, no_color=True)
    with console.capture() as capture:
        print_calibrated(result, console)
    return capture.get()


def every_cosine(rows):
    u = rows.astype(np.float64)
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    return (u @ u.T)[np.triu_indices(len(u), 1)]


def test_the_headline_says_the_numbers(crowded):
    cosines = every_cosine(rows_of(1.0))
    share, cut = (cosines >= 0.5).mean(), np.quantile(cosines, 0.99)
    found = re.fullmatch(
        r"(\d+) % of unrelated pairs score 0\.5 or more, so 0\.5 is not evidence of similarity here\. "
        r"Cut at (0\.\d{3}) for 1 % \(95 % interval (0\.\d{3}) to (0\.\d{3})\)\.",
        crowded.headline,
    )
    assert found, crowded.headline
    assert abs(float(found[1]) - 100 * share) < 1 and abs(float(found[2]) - cut) < 0.003
    assert float(found[3]) < float(found[2]) < float(found[4])
    assert f"score {cosines.mean():.2f} on average" in crowded.lines()[0]
    low, high = np.quantile(cosines, [0.025, 0.975])
    assert f"95 % of such pairs score {low:.2f} to {high:.2f}." in crowded.lines()[0]


def test_one_per_cent_of_a_million(crowded, full):
    for text in (printed(crowded), crowded.to_html(), crowded.to_markdown(), " ".join(full.lines())):
        assert "1 % of a million is 10,000 unrelated hits per query" in " ".join(text.split())
    assert "For one unrelated hit per query on average among 1,000,000" in " ".join(crowded.lines())
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
    result = replace(crowded, asked=[replace(crowded.asked[0], **bounds, evidence=grade)])
    assert result.level is Level(level)
    assert words in result.headline


def test_the_verdict_by_the_ratio(full):
    """Labelled pairs decide: one score that 7.9 % of unrelated pairs reach, and all of the similar ones."""
    one = full.asked[1]
    assert one.rate > 0.05 and one.found.value == 1 and one.ratio.value == pytest.approx(1 / one.rate)
    found = re.search(
        r"100 % of the labeled similar pairs do: (\S+) times as often \(95 % interval (\S+) to", full.headline
    )
    assert float(found[1]) == pytest.approx(1 / one.rate, abs=0.1) and float(found[2]) == pytest.approx(
        one.ratio.low, abs=0.1
    )
    assert full.headline.split(". Cut")[0].endswith("so 0.75 is evidence of similarity here")
    assert full.level is Level.HEALTHY
    few = replace(full, asked=[replace(one, ratio=replace(one.ratio, n=29), evidence=Evidence.NONE)])
    assert "so 0.75 is not evidence" in few.headline and "29 independent similar pairs are too few" in few.lines()[2]


def test_few_distinct_vectors_have_no_verdict():
    """Five vectors, each fifty times, make ten pairs: nothing is known, however many rows there are."""
    rows = rows_of(1.0, n=5)
    headlines = {k: uncone.calibrate(np.repeat(rows, k, axis=0), scores=[0.95]).headline for k in (1, 50)}
    assert headlines[50].startswith("5 distinct vectors are too few to say what 0.95 means here (at least 30")
    assert "5 distinct rows make 10 pairs" in headlines[50]
    assert headlines[1].startswith("5 vectors are too few") and "5 rows make 10 pairs" in headlines[1]


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
    for text in (printed(found), found.to_html(), found.to_markdown()):
        assert words in " ".join(text.split()) and "one hit on average" in " ".join(text.split())
        assert "at most one" not in text
    assert json.loads(found.to_json())["calibration"]["one_hit"]["spread"]["largest"] == reached.max()
    again = uncone.calibrate(np.repeat(rows, 3, axis=0), corpus_size=500).calibration.one_hit
    assert again.spread.over_one == pytest.approx(one.spread.over_one, abs=0.05), "other 500 of 1,500 rows"


def test_what_nothing_reaches(healthy):
    assert healthy.headline.startswith("None of 124,750 sampled unrelated pairs scores 0.75 or more, so")
    assert scores(healthy).rows[1][1].text.startswith("under ")


def test_a_refusal_is_an_answer(crowded):
    refused = Threshold(1e-6, None, None, None, 123_456, "500 rows cannot support it.")
    result = replace(crowded, calibration=replace(crowded.calibration, thresholds=[refused], one_hit=refused))
    assert result.headline.endswith("500 rows cannot support it. 123,456 rows would be needed.")
    for text in (printed(result), result.to_html(), result.to_markdown()):
        assert "123,456 rows" in " ".join(text.split())
    assert thresholds(result).rows[0][1].small == "needs 123,456 rows"
    assert "cut" not in {one.kind for one in marks(result)}


def test_tables(full, crowded):
    head = scores(full).head
    assert head == [
        "score",
        "unrelated pairs that reach it",
        "percentile",
        "above the background",
        "probability",
        "alike pairs found",
        "unlike pairs let through",
        "likelihood ratio",
    ]
    assert "unrelated hits in 1,000,000" in scores(crowded).head and "probability" not in scores(crowded).head
    cuts = thresholds(full)
    assert [row[0].text for row in cuts.rows] == ["1 %", "5 %"] and len(cuts.head) == 5
    assert [cell.text for cell in cuts.rows[0][2:4]] == ["100", "10,000"]
    assert [row[0].text for row in operating(full).rows] == ["best F1", "precision 0.9", "recall 0.95"]
    assert operating(crowded) is None and mappings(crowded) is None
    assert {row[0].text for row in mappings(full).rows} == {"logistic", "isotonic"}
    assert [row[1].text for row in backgrounds(full).rows] == ["500", "500"]


def test_what_labelled_pairs_and_translation_say(full):
    text = " ".join(full.lines())
    assert "Of the labeled pairs, 0.75 finds" in text
    assert "Best F1 on the labelled pairs is at 0." in text
    assert "0.75 in old-calibration is reached by 2 % of unrelated pairs there" in text
    assert "here the same share reaches 0.610" in text
    none = replace(full.calibration.translation, new=None, reason="It lies beyond all pairs.")
    lost = replace(full, calibration=replace(full.calibration, translation=none))
    assert "It lies beyond all pairs." in " ".join(lost.lines())


def test_json_is_strict(full, healthy):
    for result in (full, healthy):
        data = json.loads(result.to_json(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
        assert data["schema"] == 1 and data["headline"] == result.headline and data["lines"] == result.lines()
        assert data["asked"][1]["score"] == 0.75 and data["calibration"]["source"]["name"] == "tickets.parquet"


def test_terminal_fits(crowded, full, healthy, evil):
    for result in (crowded, full, healthy, replace(evil, saved=None)):
        lines = printed(result).splitlines()
        assert max(map(len, lines[:-1])) <= 80
        assert len(lines) <= 60 and "\x1b" not in "".join(lines)
    text = printed(full)
    assert text.index("evidence") < text.index("percentile") < text.index("cut at") < text.index("why")
    assert "uncone.Calibration.load('c').percentile(score)" in text


def test_terminal_marks_the_cut_on_the_axis(crowded):
    lines = printed(crowded).splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("  cut  "))
    low, high = (float(one) for one in lines[place - 1].split())
    at = low + (lines[place].index("↑") - 12 + 0.5) / 60 * (high - low)
    assert abs(at - crowded.calibration.thresholds[0].value) < 0.03


def test_markdown(full, evil):
    text = full.to_markdown()
    assert text.startswith("## What a score means in tickets.parquet\n")
    assert "| best F1 |" in text and "### Quantized indexes\n\n- Centre it." in text
    outside_code = [line for line in evil.to_markdown().splitlines() if not line.startswith("    ")]
    assert not any("<img" in line.replace("\\<", "") for line in outside_code)


def test_charts(full, crowded):
    assert [one["id"] for one in charts(crowded)] == ["background", "reach"]
    expected = ["background", "reach", "roc", "precision-recall", "probability", "reliability"]
    assert [one["id"] for one in charts(full)] == expected
    chart = background(full)
    assert [one["name"] for one in chart["data"]] == ["unrelated pairs", "array", "unlike pairs", "alike pairs"]
    assert chart["data"][0]["marker"]["color"].startswith("muted")
    texts = [one["text"] for one in chart["layout"]["annotations"]]
    assert {"0.7", "0.75", "0.8", "was 0.75: 0.610"} <= set(texts)
    assert sum(text.startswith("1 %: ") for text in texts) == 1
    low, high = shown_range(full)
    assert all(low < one["x"] < high for one in chart["layout"]["annotations"])
    heights = [one["y"] for one in chart["layout"]["annotations"]]
    assert len(set(heights)) == len(heights), "no label covers another"


def test_the_histogram_holds_all_pairs(crowded):
    bars = background(crowded)["data"][0]
    assert sum(np.array(bars["y"]) * np.array(bars["width"])) == pytest.approx(1, abs=1e-3)


def test_the_page_is_one_file_that_fetches_nothing(full, evil):
    page = full.to_html()
    assert page.count("plotly.js v") == 1
    without_plotly = re.sub(r"<script>/\*\*.*?</script>", "", page, flags=re.S)
    assert not re.search(r"(src|href)=[\"']?(http|//)", without_plotly)
    order = [
        "evidence",
        "What does a score mean?",
        "Where to cut",
        "A threshold of another space",
        "Where labelled pairs",
    ]
    order += ["Quantized indexes", "Can I trust this?", "Provenance"]
    places = [page.index(f">{one}" if one != "evidence" else one) for one in order]
    assert places == sorted(places)
    for text in (evil.to_html(), evil._repr_html_()):
        assert "<img src=x" not in text and "<script>alert" not in text


def test_in_a_notebook(full):
    assert "Where to cut" in full._repr_html_() and "plotly" not in full._repr_html_()
    assert repr(full).startswith("<Calibrated tickets.parquet: 7.9 % of unrelated pairs score 0.75 or more")


def test_subtitle(crowded):
    source = {**crowded.calibration.source, "encoder": "models/m", "layer": "2", "pooling": "cls", "repair": "a/r/"}
    named = replace(crowded, calibration=replace(crowded.calibration, source=source))
    assert subtitle(named) == "500 x 24 · m, layer 2, cls pooling · repaired by r"
    assert subtitle(crowded) == "500 x 24"


def test_figures(full, tmp_path):
    written = write_figures(full, tmp_path / "figures")
    stems = {"background", "reach", "roc", "precision-recall", "reliability"}
    assert {path.name for path in written} == {f"{stem}.{end}" for stem in stems for end in ("svg", "png", "csv")}
    with (tmp_path / "figures" / "reach.csv").open() as file:
        first = [row for row in csv.DictReader(file) if row["background"] == "tickets.parquet"]
    assert [float(row["score"]) for row in first] == pytest.approx(full.calibration.backgrounds[0].scores.tolist())
    assert Path(tmp_path / "figures" / "roc.png").read_bytes()[:4] == b"\x89PNG"
    for path in written:
        if path.suffix == ".svg":  # the text of a label stands in a comment beside its outline
            labels = re.findall(r"<!-- (.*?) -->", path.read_text())
            assert labels and not any("$" in one or "\\" in one for one in labels), path.name
    ticks = re.findall(r"<!-- ([\d.]+) -->", (tmp_path / "figures" / "reach.svg").read_text())
    assert {"100", "10", "1", "0.1", "0.01"} <= set(ticks)


@pytest.mark.browser
@pytest.mark.skipif(shutil.which("chromium") is None, reason="Debian's chromium is not installed")
def test_the_page_in_a_browser(crowded, full, evil, tmp_path):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        for name, result in {"crowded": crowded, "full": full, "evil": evil}.items():
            path = tmp_path / f"{name}.html"
            path.write_text(result.to_html())
            for scheme, width in (("light", 1200), ("dark", 1200), ("light", 390)):
                look(browser, path, scheme, width, len(charts(result)))
        browser.close()


def look(browser, path, scheme, width, drawn):
    page = browser.new_page(viewport={"width": width, "height": 850}, color_scheme=scheme)
    errors = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: errors.append(request.url) if request.url.startswith("http") else None)
    page.goto(path.as_uri())
    assert "evidence of similarity" in page.locator("h1").first.inner_text()
    assert page.locator(".chart").count() == drawn
    for place in range(drawn):
        page.locator(".chart").nth(place).locator(".main-svg").first.wait_for(timeout=15_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
    with page.expect_download() as download:
        page.locator("#download").click()
    assert json.loads(download.value.path().read_text())["schema"] == 1
    assert errors == []
    page.close()
