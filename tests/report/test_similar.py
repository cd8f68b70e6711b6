"""Texts against each other in all renderings: each says what the numbers say, and what strangers wrote stays text."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from rich.console import Console
from scipy.cluster.hierarchy import dendrogram, leaves_list, linkage
from sklearn.metrics import roc_auc_score

from uncone.calibration.results import Background
from uncone.errors import OutputError
from uncone.likeness.results import (
    Estimate,
    Group,
    Groups,
    Labels,
    Pairs,
    PerLabel,
    Picture,
    Step,
    TwoColumns,
)
from uncone.report.similar import Similarity
from uncone.report.similar_charts import per_hundredth
from uncone.report.similar_columns import curves
from uncone.report.similar_figures import write_figures
from uncone.report.similar_heatmap import branches, packed_grid
from uncone.report.similar_lines import at_tail
from uncone.report.similar_numbers import bounds, percentile_text
from uncone.report.similar_page import charts
from uncone.report.similar_palette import palettes
from uncone.report.similar_terminal import print_similarity

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)> | *b* `c` \x1b[31m"
TAILS = np.array([0.999, 0.975, 0.5, 0.1, 0.025, 0.01, 0.001])


def units_of(n, kinds, seed):
    rng = np.random.default_rng(seed)
    rows = (
        rng.normal(size=(n, 24)) + 1.2 * rng.normal(size=24) + 0.8 * rng.normal(size=(kinds, 24))[np.arange(n) % kinds]
    )
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def estimate(values):
    mean, sd = float(values.mean()), float(values.std(ddof=1))
    return Estimate(mean, mean - 0.02, mean + 0.02, sd, len(values))


def less(one, mean):
    return replace(one, mean=one.mean - mean, low=one.low - mean, high=one.high - mean)


def ranks(off, values):
    return 100 * np.searchsorted(np.sort(off), values) / len(off)


def background_of(off, n):
    counts, edges = np.histogram(off, 60)
    held = {"edges": edges.tolist(), "counts": counts.tolist()}
    mean, scores = float(off.mean()), np.quantile(off, 1 - TAILS)
    ends = (mean, mean - 0.01, mean + 0.01, float(off.std()))
    return Background("made", n, None, len(off), len(off), *ends, TAILS, scores, scores, scores, held, {"copies": 2})


def picture_of(cosines, off, labels, units, order):
    tree = linkage(units, "average", metric="cosine")
    by_tree = order == "clustering"
    drawn = leaves_list(tree) if by_tree else np.argsort(np.array(labels), kind="stable")
    grid = cosines[np.ix_(drawn, drawn)]
    blocks = [] if by_tree else [(name, labels.count(name)) for name in sorted(set(labels))]
    leaves = (tree, drawn) if by_tree else (None, None)
    return Picture(drawn, grid, ranks(off, grid), order, *leaves, blocks)


def labels_of(cosines, labels, names, mean):
    own, upper = np.array(labels), np.triu(np.ones_like(cosines, bool), 1)
    table = []
    for i, a in enumerate(names):
        for b in names[i:]:
            both = (own[:, None] == a) & (own == b)
            one = estimate(cosines[(both | both.T) & upper])
            table.append(PerLabel(a, b, one, less(one, mean)))
    table.sort(key=lambda line: line.one != line.other)
    same = own[:, None] == own
    auc = float(roc_auc_score(same[upper], cosines[upper]))
    within, between = estimate(cosines[same & upper]), estimate(cosines[~same & upper])
    counts = {name: labels.count(name) for name in names}
    return Labels(
        counts, table, within, between, auc, auc - 0.02, auc + 0.02, "Labels can be told apart in part.", len(labels)
    )


def groups_of(labels, names):
    members = np.array([names.index(label) for label in labels])
    groups = [Group(k, labels.count(name), 0.1, k, 0.6, {name: labels.count(name)}) for k, name in enumerate(names)]
    return Groups("k-means", len(names), members, groups, 0.12, 1.0)


def build(n=60, names=("cat", "dog", "fish"), text="text {}: the {} on the mat", order="label", pictures=1, **more):
    units = units_of(n, len(names), 0)
    labels = [names[i % len(names)] for i in range(n)]
    cosines = units @ units.T
    one, other = np.triu_indices(n, 1)
    off = cosines[one, other]
    best = np.argsort(-off)[:12]
    background = background_of(off, n)
    picture = picture_of(cosines, off, labels, units, order)
    raw = Step(
        "raw", "As it comes", "All high.", {"mean": background.mean, "auc": None}, cosines[:20, :20], np.arange(20)
    )
    walk = [raw, Step("rogue", "Which", "Three.", {"rogue_dimensions": 3.0}), replace(raw, key="background")]
    given = {
        "source": {"name": "data/made.csv", "rows": n, "dim": 24, "encoder": "models/tiny", "label": "kind"},
        "texts": [text.format(i, labels[i]) for i in range(n)],
        "against": None,
        "labels": labels,
        "background": background,
        "histogram": background.histogram,
        "pictures": [("mean", picture), ("cls", picture)][:pictures],
        "per_label": labels_of(cosines, labels, list(names), background.mean),
        "pairs": Pairs(one[best], other[best], off[best], ranks(off, off[best]), len(off), "the 12 most alike"),
        "near": Pairs(np.full(3, -1), np.arange(3), np.array([0.9, 0.8, 0.7]), np.array([99.9, 95.0, 60.0]), 9, ""),
        "near_text": "a cat",
        "duplicates": Pairs(np.array([3]), np.array([9]), np.array([0.999]), np.array([100.0]), 1, "cosine over 0.99"),
        "groups": [groups_of(labels, list(names))],
        "projections": {"pca-2": units[:, :2], "tsne-3": units[:, :3]},
        "projected": np.arange(n),
        "two_columns": None,
        "steps": walk,
        "cleaned": {"html": 3, "empty": 0},
        "notes": ["2 rows were empty.", ""],
        "provenance": {"uncone": "0.0", "seed": 0, "versions": {"numpy": "2"}},
    }
    return Similarity(**(given | more))


def beside(n=90, names=("entailed", "neutral", "other"), **more):
    found = build(n=n, names=names, text="premise {} {}")
    labels, mean = np.array(found.labels), found.background.mean
    cosines = 0.7 + 0.05 * np.random.default_rng(1).normal(size=n) + 0.06 * (labels == names[0])
    table = [PerLabel(name, name, one := estimate(cosines[labels == name]), less(one, mean)) for name in names]
    two = TwoColumns(cosines, found.labels, table, {"entailed over neutral": (0.79, 0.7, 0.88)}, "Entailed is higher.")
    order = np.argsort(-cosines)[:5]
    pairs = Pairs(order, order, cosines[order], np.full(5, 99.0), n, "the two texts of a row")
    given = {"against": [f"hypothesis {i}" for i in range(n)], "two_columns": two, "pairs": pairs}
    return replace(found, **given, per_label=None, pictures=[], near=None, near_text=None, **more)


@pytest.fixture(scope="module")
def found():
    return build()


@pytest.fixture(scope="module")
def evil():
    source = {"name": EVIL, "rows": 60, "dim": 24, "encoder": EVIL, "text": EVIL, "label": EVIL, "repair": EVIL}
    walk = [Step(EVIL, EVIL, EVIL, {EVIL: 1.0}, np.eye(5))]
    made = build(names=(EVIL, "b", "c"), text=f"{EVIL}{{}}{{}}", near_text=EVIL, notes=[EVIL], cleaned={EVIL: 1})
    made = replace(made, source=source, steps=walk, written={EVIL: EVIL}, provenance={EVIL: EVIL})
    return replace(made, pairs=replace(made.pairs, why=EVIL), groups=[replace(made.groups[0], method=EVIL, note=EVIL)])


def terminal(found, **options):
    written = io.StringIO()
    print_similarity(found, Console(width=80, file=written, **options))
    return written.getvalue()


def held(page, name):
    return json.loads(re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)[1])


def test_the_headline_has_the_mean_of_the_background_and_the_auc(found):
    assert found.headline == (
        f"Two random texts score {found.background.mean:.2f}; labels are well separable: AUC {found.per_label.auc:.2f}."
    )


@pytest.mark.parametrize(
    ("auc", "low", "high", "said"),
    [
        (0.52, 0.49, 0.55, "labels are not separable: AUC 0.52"),
        (0.55, 0.52, 0.58, "labels are hardly separable"),
        (0.93, 0.9, 0.95, "labels are well separable"),
        (0.41, 0.38, 0.44, "pairs of one label are less alike than others"),
        (0.7, None, None, "labels are hard to judge on so few rows"),
    ],
)
def test_how_separable_labels_are(found, auc, low, high, said):
    labels = replace(found.per_label, auc=auc, auc_low=low, auc_high=high)
    assert said in replace(found, per_label=labels).headline


def test_without_labels_the_headline_has_the_most_alike_pair(found):
    bare = replace(found, labels=None, per_label=None, texts=None)
    assert bare.headline == (
        f"Two random rows score {found.background.mean:.2f}, the most alike pair {found.pairs.cosines[0]:.2f}."
    )
    assert replace(bare, pairs=replace(bare.pairs, cosines=np.array([]))).headline.endswith(".")


def test_two_columns_have_their_own_headline():
    made = beside()
    mean = np.mean(made.two_columns.cosines)
    assert (
        f"two side by side {mean:.2f}; labels are partly separable: AUC 0.79, entailed over neutral." in made.headline
    )
    turned = replace(made.two_columns, auc={"entailed over neutral": (0.09, 0.07, 0.1), "x over y": (0.6, 0.5, 0.7)})
    assert "well separable: AUC 0.91, neutral over entailed." in replace(made, two_columns=turned).headline
    assert "separable" not in replace(made, two_columns=replace(turned, auc={})).headline
    assert "Entailed is higher." in made.lines()


def test_quantiles_of_the_background_are_interpolated():
    off = np.random.default_rng(0).normal(0.5, 0.1, 50_000)
    background = background_of(off, 300)
    assert at_tail(background, 0.01) == pytest.approx(np.quantile(off, 0.99))
    few = replace(background, tails=TAILS[:4], scores=background.scores[:4])
    assert at_tail(few, 0.01) == pytest.approx(np.quantile(off, 0.99), abs=0.01), "by the bins where the tails end"
    assert at_tail(few, 1e-5) is None, "half a pair is no quantile"


def test_a_percentile_has_the_digits_that_it_needs():
    assert [percentile_text(one) for one in (0.0, 12.3, 95.04, 99.45, 99.99987, 100.0)] == [
        "0 %", "12 %", "95.0 %", "99.45 %", "99.99987 %", "100 %",
    ]  # fmt: skip
    assert bounds(Estimate(0.5, None, None, None, 1)) == ""


def test_the_dictionary_is_plain_and_complete(found):
    plain = json.loads(found.to_json())
    assert plain["schema"] == 1 and plain["headline"] == found.headline
    first = plain["pairs"]["pairs"][0]
    assert first["cosine"] == found.pairs.cosines[0] and first["text"] == found.texts[found.pairs.one[0]]
    assert plain["labels"]["auc"] == found.per_label.auc
    assert plain["groups"][0]["groups"][1]["text"] == found.texts[1] and "members" not in plain["groups"][0]
    assert plain["pictures"][0]["rows"] == found.pictures[0][1].rows.tolist()
    assert "NaN" not in replace(found, histogram={"edges": [0.0, np.nan], "counts": [1]}).to_json()


def test_pairs_of_one_row_are_of_two_columns():
    listed = beside().listed(beside().pairs)[0]
    assert listed.text.startswith("premise") and listed.other_text == f"hypothesis {listed.one}"


def test_the_frames_hold_the_numbers(found):
    pairs, labels, groups, near = found.pairs_frame(), found.labels_frame(), found.groups_frame(), found.near_frame()
    np.testing.assert_array_equal(pairs["cosine"], found.pairs.cosines)
    assert list(pairs["other_text"]) == [found.texts[i] for i in found.pairs.other]
    assert list(labels["mean"]) == [line.cosine.mean for line in found.per_label.table]
    assert list(labels["above"]) == [line.above.mean for line in found.per_label.table]
    assert groups[["n_cat", "n_dog", "n_fish"]].sum().to_dict() == {"n_cat": 20, "n_dog": 20, "n_fish": 20}
    assert list(near["row"]) == [0, 1, 2] and list(found.duplicates_frame()["one"]) == [3]
    bare = replace(found, near=None, groups=[], per_label=None)
    assert len(bare.near_frame()) == len(bare.groups_frame()) == len(bare.labels_frame()) == 0
    assert bare.labels_frame()["mean"].dtype == np.float64
    assert len(beside().labels_frame()) == 3


def test_the_terminal_fits_a_screen(found):
    text = terminal(found)
    lines = text.splitlines()
    assert len(lines) <= 50 and max(map(len, lines)) <= 80
    order = ["made.csv", "Two random texts", "within a label", "nearest to", "  pairs  the", "k-means", "note", "next"]
    places = [next(at for at, line in enumerate(lines) if word in line) for word in order]
    assert places == sorted(places)
    assert f"{found.per_label.within.mean:.3f}" in text and f"{found.pairs.cosines[0]:.3f}" in text
    assert "\x1b" not in text


def test_the_terminal_keeps_to_a_screen_however_much_there_is():
    many = build(n=120, names=tuple(f"label {k}" for k in range(12)), notes=[f"note {k}" for k in range(9)])
    many = replace(many, groups=[many.groups[0]] * 3, written={"report": "a.html", "matrix": "m.npy"})
    lines = terminal(many).splitlines()
    assert len(lines) <= 50
    assert "  and 72 more lines, in the report" in lines and any("7 more notes" in line for line in lines)
    assert lines[-1] == "  report  a.html"


def test_a_terminal_is_told_nothing_by_a_text(evil):
    assert "\x1b" not in terminal(evil) and "�[31m" in terminal(evil)


def test_wide_letters_are_counted_by_columns():
    from rich.cells import cell_len

    made = build(text="漢字" * 60 + "{}{}", names=("長" * 40, "短" * 40))
    assert max(cell_len(line) for line in terminal(made).splitlines() if "uncone calibrate" not in line) <= 80


def test_markdown_has_the_tables_and_nothing_breaks_out(found, evil):
    text = found.to_markdown()
    assert f"| cat – dog | 400 | {found.per_label.table[3].cosine.mean:.3f} |" in text
    assert "Why do my cosines look random?" in text and "depends" not in text.split("###")[0]
    for line in evil.to_markdown().splitlines():
        assert "<" not in line.replace("\\<", "") or line.startswith("    "), line


class Tags(HTMLParser):
    """The tags of a page, and the texts of its scripts."""

    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def test_what_strangers_wrote_stays_text(found, evil):
    for page, clean in ((evil.to_html(), found.to_html()), (evil._repr_html_(), found._repr_html_())):
        parsed, expected = Tags(), Tags()
        parsed.feed(page)
        expected.feed(clean)
        scripts = [[attrs for tag, attrs in one.tags if tag == "script"] for one in (parsed, expected)]
        assert scripts[0] == scripts[1], "a script more than there should be"
        assert not any(tag == "img" or "onerror" in attrs for tag, attrs in parsed.tags)
    for chart in held(evil.to_html(), "charts"):
        for text in _strings(chart):
            assert "<" not in text.replace("<br>", "").replace("<extra></extra>", "") or text in (
                chart["title"],
                chart["alt"],
            ), text
    assert EVIL[:9] in held(evil.to_html(), "rows")["texts"][0], "set as text by the page, never as markup"


def _strings(value):
    if isinstance(value, str):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _strings(one)


def test_the_page_fetches_nothing_and_has_plotly_once(found):
    page = found.to_html()
    without = re.sub(r"<script>(?:(?!</script>).)*plotly\.js.*?</script>", "", page, count=1, flags=re.DOTALL)
    assert len(page) - len(without) > 3_000_000 and len(without) < 1_500_000
    assert not re.search(r'(?:src|href)="(?!data:,)[^"#]', without)


def test_every_chart_has_a_place_and_every_place_a_chart(found):
    for one in (found, build(order="clustering", pictures=2), beside()):
        page = one.to_html()
        places = re.findall(r'id="chart-([^"]+)"', page)
        assert places == list(dict.fromkeys(places))
        assert set(places) == {chart["id"] for chart in held(page, "charts")}


def test_the_cells_of_the_heatmap_are_the_cosines(found):
    picture = found.pictures[0][1]
    figures = {one["id"]: one for one in charts(found)["heatmaps"]}
    for kind, expected in (("cosine", picture.cosines), ("percentile", picture.percentiles / 100)):
        cells = figures[f"heat-0-{kind}"]["data"][0]["z"]
        values = np.frombuffer(base64.b64decode(cells["bdata"]), "<i2").reshape(60, 60) / 10_000
        np.testing.assert_allclose(values, expected, atol=5.1e-5)
    store = held(found.to_html(), "rows")
    rows = store["heatmaps"]["heat-0-cosine"]["rows"]
    assert [store["texts"][place] for place in rows] == [found.texts[row] for row in picture.rows]
    assert figures["heat-0-cosine"]["layout"]["yaxis"]["ticktext"] == ["cat", "dog", "fish"]


def test_cells_that_are_not_known_are_not_zero():
    cells, scale = packed_grid(np.array([[1.0, np.nan], [np.nan, 1.0]]))
    values = np.frombuffer(base64.b64decode(cells["bdata"]), "<f4")
    assert scale == 1.0 and np.isnan(values[1])


def test_the_dendrogram_is_that_of_scipy():
    units = units_of(25, 3, 5)
    tree = linkage(units, "average", metric="cosine")
    drawn = dendrogram(tree, no_plot=True)
    x, y = branches(tree, np.array(drawn["leaves"]))
    ours = sorted((round(max(x[at : at + 4]), 4), *sorted(round(one, 3) for one in {y[at], y[at + 2]}))
                  for at in range(0, len(x), 5))  # fmt: skip
    theirs = sorted((round(max(high), 4), *sorted(round((one - 5) / 10, 3) for one in {at[0], at[3]}))
                    for high, at in zip(drawn["dcoord"], drawn["icoord"], strict=True))  # fmt: skip
    np.testing.assert_allclose(ours, theirs, atol=2e-3)


def test_two_pictures_stand_like_beside_like():
    made = build(pictures=2, order="clustering")
    kinds = [one["id"] for one in charts(made)["heatmaps"]]
    assert kinds == ["heat-0-cosine", "heat-1-cosine", "heat-0-percentile", "heat-1-percentile"]
    assert len(charts(made)["heatmaps"][0]["data"]) == 3, "cells, tree, and the labels as a strip"


def test_shares_of_a_histogram_are_per_hundredth():
    x, y = per_hundredth({"edges": [0.0, 0.1, 0.2, 0.4], "counts": [0, 30, 10]})
    np.testing.assert_allclose((x, y), ([0.05, 0.15, 0.3], [0.0, 7.5, 1.25]))
    assert per_hundredth({"edges": [], "counts": []}) == ([], [])


def test_the_curve_of_a_label_is_over_all_its_rows():
    for name, x, y in curves(beside()):
        step = x[1] - x[0]
        assert sum(y) * step / 0.01 == pytest.approx(100, rel=1e-3), name


def test_more_categories_than_colours_share_a_grey():
    made = build(n=60, names=tuple(f"kind {k}" for k in range(12)))
    palette = palettes(made)[0]
    assert len(set(palette.colours)) == len(palette.colours) == 7 and palette.names[-1] == "6 others"
    assert len(palette.members) == 60 and palette.members.count(6) == 30
    left_out = replace(made.groups[0], members=np.array([-1, *[1] * 59]))
    assert palettes(replace(made, groups=[left_out]))[1].names == ["group 1", "in no group"]
    assert palettes(replace(made, labels=["a", ""] * 30))[0].names == ["a", "without a label"]


def test_figures_are_files_with_their_numbers(found, tmp_path):
    folder = tmp_path / "figures"
    written = write_figures(build(order="clustering", pictures=2), folder)
    names = {path.name for path in written}
    kinds = ("heatmap-mean", "heatmap-cls", "histogram", "labels", "groups-1", "map-pca-2", "map-tsne-3", "why")
    assert names == {f"{kind}.{ending}" for kind in kinds for ending in ("svg", "png", "csv")}
    assert all(path.stat().st_size > 40 for path in written)
    assert (folder / "histogram.png").read_bytes()[:4] == b"\x89PNG"
    rows = list(csv.DictReader((folder / "labels.csv").read_text().splitlines()))
    assert float(rows[0]["mean"]) == found.per_label.table[0].cosine.mean
    two = write_figures(replace(beside(), projections={}, steps=[], groups=[]), tmp_path / "two")
    assert "columns.svg" in {path.name for path in two}
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="is a file"):
        write_figures(found, tmp_path / "file")


def test_bare_vectors_with_next_to_nothing(found):
    nothing = Pairs(np.array([], int), np.array([], int), np.array([]), np.array([]), 0, "no pair reaches 0.99")
    bare = replace(
        found, texts=None, labels=None, per_label=None, pairs=nothing, near=None, near_text=None, duplicates=nothing,
        groups=[], projections={}, projected=np.array([], int), steps=[], cleaned={}, notes=[], pictures=[],
        source={"name": "array", "rows": 60, "dim": 24, "in_memory": True},
    )  # fmt: skip
    assert bare.suggestion is None and "no pair reaches 0.99" in terminal(bare)
    page = bare.to_html()
    assert "Why do my cosines" not in page and ">Maps</h2>" not in page
    assert bare.to_markdown() and bare._repr_html_() and json.loads(bare.to_json())["near"] is None


def test_the_next_command_can_be_pasted(found):
    assert found.suggestion == "uncone calibrate data/made.csv --model models/tiny --fpr 0.01"
    odd = replace(found, source={**found.source, "name": "my file.csv", "text": "the text", "repair": "fixed"})
    assert "'my file.csv' --text 'the text'" in odd.suggestion and "--repair fixed" in odd.suggestion


browser_only = pytest.mark.skipif(shutil.which("chromium") is None, reason="Debian's chromium is not installed")


@pytest.mark.browser
@browser_only
@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 390)])
def test_the_page_in_a_browser(browser, evil, tmp_path, scheme, width):
    (tmp_path / "page.html").write_text(evil.to_html())
    page = browser.new_page(viewport={"width": width, "height": 850}, color_scheme=scheme)
    errors = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: errors.append(dialog.message))
    page.on("request", lambda request: errors.append(request.url) if request.url.startswith("http") else None)
    page.goto((tmp_path / "page.html").as_uri())
    assert "Two random texts" in page.locator("h1").first.inner_text()
    places = page.locator(".chart")
    for place in range(places.count()):
        places.nth(place).scroll_into_view_if_needed()
        places.nth(place).locator(".main-svg").first.wait_for(timeout=20_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
    _point_at(page, "heat-0-cosine")
    assert "cosine" in page.locator("#tip b").inner_text() and EVIL[:9] in page.locator("#tip").inner_text()
    assert errors == []
    page.close()


def _point_at(page, name):
    page.evaluate("scrollTo(0, 0)")
    place = page.locator(f"#chart-{name}")
    place.scroll_into_view_if_needed()
    for step in range(300):
        box = place.locator(".nsewdrag").first.bounding_box()
        page.mouse.move(box["x"] + (0.2 + 0.1 * (step % 2)) * box["width"], box["y"] + 0.7 * box["height"])
        if page.locator("#tip b").is_visible():
            break
        page.wait_for_timeout(100)


@pytest.mark.browser
@browser_only
def test_to_zoom_into_one_heatmap_is_to_zoom_into_both(browser, found, tmp_path):
    (tmp_path / "page.html").write_text(found.to_html())
    page = browser.new_page(viewport={"width": 1200, "height": 850})
    page.goto((tmp_path / "page.html").as_uri())
    page.locator("#chart-heat-0-percentile .main-svg").first.wait_for(timeout=20_000)
    # The page listens to a chart a moment after it is drawn: zoom until it does.
    page.wait_for_function(
        """() => { Plotly.relayout('chart-heat-0-cosine', {'xaxis.range': [3, 9], 'yaxis.range': [9, 3]});
        return document.getElementById('chart-heat-0-percentile').layout.xaxis.range[0] === 3; }""",
        polling=100,
    )
    page.locator("[name=span][value=whole]").check()
    page.wait_for_function("document.getElementById('chart-heat-0-cosine').data[0].zmax === 10000")
    page.locator("[name=palette]").nth(1).check()
    assert page.locator(".swatches:visible").inner_text().startswith("group 0")
    page.close()
