"""Similarity in all renderings: numbers and structure, wording by snapshots, and texts that never become markup."""

from __future__ import annotations

import base64
import csv
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from report.blocks import EVIL, assert_stays_text
from report.snapshots import assert_wording
from scipy.cluster.hierarchy import dendrogram, leaves_list, linkage
from sklearn.metrics import roc_auc_score

from uncone.analysis.calibration.results import Background
from uncone.analysis.similarity.results import (
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
from uncone.errors import OutputError
from uncone.report.charts.files import table
from uncone.report.charts.model import Chart, Cloud, Heatmap
from uncone.report.document import Table, Widget
from uncone.report.documents.similarity import Similarity
from uncone.report.documents.similarity.charts import colorings, curves, per_hundredth
from uncone.report.documents.similarity.heatmap import UNKNOWN, branches, packed
from uncone.report.documents.similarity.sentences import bounds, percentile_text, quantile

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
        "pairs": Pairs(one[best], other[best], off[best], ranks(off, off[best]), len(off), "the 12 most similar"),
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


def widget(found, name):
    blocks = [block for section in found.document().sections for block in section.blocks]
    return next(block for block in blocks if isinstance(block, Widget) and block.template == f"widgets/{name}.html")


def drawn(found):
    return {chart.name: chart for chart in found.document().charts()}


def held(page, name):
    return json.loads(re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)[1])


def test_the_headline_has_the_mean_of_the_background_and_the_auc(found):
    assert found.headline == (
        f"Unrelated texts score {found.background.mean:.2f} on average. Labels are well separable: "
        f"AUC {found.per_label.auc:.2f}."
    )


@pytest.mark.parametrize(
    ("auc", "low", "high", "said"),
    [
        (0.52, 0.49, 0.55, "Labels are not separable: AUC 0.52"),
        (0.55, 0.52, 0.58, "Labels are hardly separable"),
        (0.93, 0.9, 0.95, "Labels are well separable"),
        (0.41, 0.38, 0.44, "Pairs with the same label are less similar than others"),
        (0.7, None, None, "Labels are hard to judge with so few texts"),
    ],
)
def test_how_separable_labels_are(found, auc, low, high, said):
    labels = replace(found.per_label, auc=auc, auc_low=low, auc_high=high)
    assert said in replace(found, per_label=labels).headline


def test_without_labels_the_headline_has_the_most_similar_pair(found):
    bare = replace(found, labels=None, per_label=None, texts=None)
    assert bare.headline == (
        f"Unrelated vectors score {found.background.mean:.2f} on average. The most similar pair scores "
        f"{found.pairs.cosines[0]:.2f}."
    )
    assert replace(bare, pairs=replace(bare.pairs, cosines=np.array([]))).headline.endswith(".")


def test_two_columns_have_their_own_headline():
    made = beside()
    mean = np.mean(made.two_columns.cosines)
    assert (
        f"The two texts of a row score {mean:.2f}. Labels are partly separable: AUC 0.79, entailed over neutral."
        in made.headline
    )
    turned = replace(made.two_columns, auc={"entailed over neutral": (0.09, 0.07, 0.1), "x over y": (0.6, 0.5, 0.7)})
    assert "well separable: AUC 0.91, neutral over entailed." in replace(made, two_columns=turned).headline
    assert "separable" not in replace(made, two_columns=replace(turned, auc={})).headline
    assert "Entailed is higher." in made.lines()


def test_quantiles_of_the_background_are_interpolated():
    off = np.random.default_rng(0).normal(0.5, 0.1, 50_000)
    background = background_of(off, 300)
    assert quantile(background, 0.01) == pytest.approx(np.quantile(off, 0.99))
    few = replace(background, tails=TAILS[:4], scores=background.scores[:4])
    assert quantile(few, 0.01) == pytest.approx(np.quantile(off, 0.99), abs=0.01), "by the bins where the tails end"
    assert quantile(few, 1e-5) is None, "half a pair is no quantile"


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


def simple():
    """A result whose numbers are short decimals, the same on every processor."""
    made = build(n=24, names=("cat", "dog"))
    mean = replace(made.background, mean=0.41, mean_low=0.39, mean_high=0.43, scores=np.linspace(0.1, 0.9, 7))
    lines = [(("cat", "cat"), 0.52, 15), (("dog", "dog"), 0.61, 15), (("cat", "dog"), 0.33, 36)]
    estimates = {names: Estimate(value, value - 0.02, value + 0.02, 0.1, n) for names, value, n in lines}
    table = [PerLabel(*names, one, replace(one, mean=one.mean - 0.41, low=one.low - 0.41, high=one.high - 0.41))
             for names, one in estimates.items()]  # fmt: skip
    within, between = estimates["cat", "cat"], estimates["cat", "dog"]
    labels = Labels({"cat": 12, "dog": 12}, table, within, between, 0.83, 0.79, 0.87, "Labels differ.", 24)
    numbers = {"cosines": np.array([0.91, 0.85, 0.75]), "percentiles": np.array([99.5, 97.25, 88.0])}
    pairs = Pairs(np.array([0, 1, 2]), np.array([4, 3, 5]), found=66, why="the 3 most similar", **numbers)
    steps = [replace(step, numbers={"mean": 0.41, "auc": None}) for step in made.steps]
    return replace(made, background=mean, per_label=labels, pairs=pairs, steps=steps)


@pytest.mark.parametrize("name", ["labels", "columns", "vectors"])
def test_wording(name):
    made = simple()
    if name == "columns":
        given = beside(n=24)
        lines = [PerLabel(line.one, line.other, made.per_label.table[0].cosine, made.per_label.table[0].above)
                 for line in given.two_columns.table]  # fmt: skip
        two = replace(given.two_columns, cosines=np.tile([0.6, 0.7, 0.8], 8), table=lines)
        pairs = replace(made.pairs, one=np.arange(3), other=np.arange(3))
        made = replace(given, background=made.background, two_columns=two, steps=made.steps, pairs=pairs)
    if name == "vectors":
        nothing = replace(made.pairs, one=np.array([], int), other=np.array([], int), cosines=np.array([]),
                          percentiles=np.array([]), found=0, why="no pair reaches 0.99")  # fmt: skip
        made = replace(made, texts=None, labels=None, per_label=None, near=None, pairs=nothing, duplicates=nothing)
    assert_wording(f"similarity_{name}", made)


def test_the_terminal_fits_a_screen(found):
    many = build(n=120, names=tuple(f"label {k}" for k in range(12)), notes=[f"note {k}" for k in range(9)])
    many = replace(many, groups=[many.groups[0]] * 3, written={"report": "a.html", "matrix": "m.npy"})
    for made in (found, many):
        lines = made.to_text().splitlines()
        assert len(lines) <= 52 and max(map(len, lines)) <= 80
    text = found.to_text()
    assert f"{found.per_label.within.mean:.3f}" in text and f"{found.pairs.cosines[0]:.3f}" in text
    assert "72 more lines" in many.to_text() and "7 more notes" in many.to_text()


def test_a_terminal_obeys_no_text(evil):
    assert "\x1b" not in evil.to_text() and "�[31m" in evil.to_text()


def test_wide_letters_are_counted_by_columns():
    from rich.cells import cell_len

    made = build(text="漢字" * 60 + "{}{}", names=("長" * 40, "短" * 40))
    assert max(cell_len(line) for line in made.to_text().splitlines() if "uncone calibrate" not in line) <= 80


def test_markdown_has_the_tables_and_nothing_breaks_out(found, evil):
    line = found.per_label.table[3]
    cells = ["cat – dog", "400", f"{line.cosine.mean:.3f}"]
    assert f"| {' | '.join(cells)} |" in found.to_markdown()
    for line in evil.to_markdown().splitlines():
        assert "<" not in line.replace("\\<", "") or line.startswith("    "), line


def test_the_document_holds_every_pair_label_and_group(found):
    sections = {section.name: section for section in found.document().sections}
    tables = {name: [block for block in sections[name].blocks if isinstance(block, Table)] for name in sections}
    assert [row.cells[0].text for row in tables["pairs"][0].rows] == [f"{value:.3f}" for value in found.pairs.cosines]
    assert [row.cells[2].text for row in tables["pairs"][0].rows] == [found.texts[row] for row in found.pairs.one]
    assert len(tables["labels"][0].rows) == len(found.per_label.table) + 2
    assert [row.cells[1].text for row in tables["groups"][0].rows] == ["20", "20", "20"]
    assert [row.cells[1].text for row in tables["near"][0].rows] == ["99.900 %", "95.0 %", "60 %"]


def test_what_strangers_wrote_stays_text(found, evil):
    assert_stays_text(evil, found)
    for chart in held(evil.to_html(), "charts"):
        for text in _strings({key: value for key, value in chart.items() if key not in ("title", "alt")}):
            assert "<" not in re.sub(r"<br>|<extra>[^<]*</extra>", "", text), text
    texts = widget(evil, "heatmap").data["store"]["texts"]
    assert EVIL[:9] in texts[0], "set as text by the page, never as markup"


def _strings(value):
    if isinstance(value, str):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _strings(one)


def test_the_page_is_small_and_fetches_nothing(found):
    page = found.to_html()
    assert len(page) < 1_600_000 and len(build(n=500).to_html()) < 1_600_000
    assert not re.search(r'<(?:script|img|link|iframe)[^>]+(?:src|href)="(?!data:,)', page)


def test_every_chart_has_a_place_and_every_place_a_chart(found):
    for one in (found, build(order="clustering", pictures=2), beside()):
        page = one.to_html()
        places = re.findall(r'id="chart-([^"]+)"', page)
        assert places == list(dict.fromkeys(places))
        assert set(places) == {chart["id"] for chart in held(page, "charts")}
        heatmaps = re.findall(r'class="heat" id="([^"]+)"', page)
        stores = [widget(one, name).data["store"] for name in ("heatmap", "walk") if name == "walk" or one.pictures]
        assert heatmaps == [figure["id"] for store in stores for figure in store["figures"]]
        assert set(re.findall(r'id="cloud-([^"]+)"', page)) == {"map-pca-2", "map-tsne-3"}


def unpacked(cells):
    low, high = np.frombuffer(base64.b64decode(cells), np.uint8).reshape(2, -1).astype(int)
    return np.asarray(low + 256 * high, np.uint16).view(np.int16)


def test_the_cells_of_the_heatmap_are_the_cosines(found):
    picture, store = found.pictures[0][1], widget(found, "heatmap").data["store"]
    figures = {figure["id"]: figure for figure in store["figures"]}
    for kind, expected in (("cosine", picture.cosines), ("percentile", picture.percentiles / 100)):
        cells = unpacked(figures[f"heat-0-{kind}"]["cells"])
        np.testing.assert_allclose(cells / 10_000, expected[np.triu_indices(60)], atol=5.1e-5)
    raw = figures["heat-0-cosine"]
    assert [store["texts"][place] for place in raw["places"]] == [found.texts[row] for row in picture.rows]
    assert raw["ticks"] == [(9.5, "cat"), (29.5, "dog"), (49.5, "fish")] and raw["edges"] == [19.5, 39.5]


def test_cells_that_are_not_known_are_not_zero():
    cells = unpacked(packed(np.array([[1.0, np.nan], [np.nan, 0.5]])))
    assert cells.tolist() == [10_000, UNKNOWN, 5_000]


def test_the_dendrogram_is_that_of_scipy():
    units = units_of(25, 3, 5)
    tree = linkage(units, "average", metric="cosine")
    expected = dendrogram(tree, no_plot=True)
    ours = sorted((round(top, 4), *sorted((round(low, 3), round(high, 3))))
                  for _, _, low, high, top in branches(tree, np.array(expected["leaves"])))  # fmt: skip
    theirs = sorted((round(max(high), 4), *sorted(round((one - 5) / 10, 3) for one in {at[0], at[3]}))
                    for high, at in zip(expected["dcoord"], expected["icoord"], strict=True))  # fmt: skip
    np.testing.assert_allclose(ours, theirs, atol=2e-3)


def test_the_cosines_of_two_pictures_stand_side_by_side():
    figures = widget(build(pictures=2, order="clustering"), "heatmap").data["store"]["figures"]
    kinds = [figure["id"] for figure in figures]
    assert kinds == ["heat-0-cosine", "heat-1-cosine", "heat-0-percentile", "heat-1-percentile"]
    assert len(figures[0]["tree"]) == 59 and len(set(figures[0]["strip"])) == 3


def test_shares_of_a_histogram_are_per_hundredth():
    edges, heights = per_hundredth({"edges": [0.0, 0.1, 0.2, 0.4], "counts": [0, 30, 10]})
    np.testing.assert_allclose(edges, [0.1, 0.2, 0.4])
    np.testing.assert_allclose(heights, [7.5, 1.25])
    assert per_hundredth({"edges": [], "counts": []}) == ([], [])


def test_the_curve_of_a_label_is_over_all_its_rows():
    for name, x, y in curves(beside()):
        step = x[1] - x[0]
        assert sum(y) * step / 0.01 == pytest.approx(100, rel=1e-3), name


def test_more_categories_than_colors_share_a_gray():
    made = build(n=90, names=tuple(f"kind {k}" for k in range(30)))
    rows = np.arange(90)
    labels = colorings(made, rows)[0]
    assert len(labels.names) == 21 and labels.rest == "9 others" and (labels.codes == -1).sum() == 27
    excluded = replace(made.groups[0], members=np.array([-1, *[1] * 89]))
    groups = colorings(replace(made, groups=[excluded]), rows)[1]
    assert groups.names == ["group 1"] and groups.rest == "in no group"
    assert colorings(replace(made, labels=["a", ""] * 45), rows)[0].rest == "without a label"


def test_maps_share_their_texts_and_colors(found):
    clouds = [chart for chart in found.document().charts() if isinstance(chart, Cloud)]
    assert [cloud.name for cloud in clouds] == ["map-pca-2", "map-tsne-3"]
    np.testing.assert_array_equal(clouds[0].views[0].points, found.projections["pca-2"])
    assert clouds[0].texts is clouds[1].texts and [one.title for one in clouds[0].colorings] == [
        "kind",
        "k-means, 3 groups",
    ]
    codes = clouds[0].colorings[0].codes
    assert [clouds[0].colorings[0].names[code] for code in codes] == found.labels


def test_figures_are_files_with_their_numbers(found, tmp_path):
    folder = tmp_path / "figures"
    written = build(n=60, order="clustering", pictures=2).save_figures(folder)
    kinds = ["heatmap-mean", "heatmap-cls", "histogram", "labels", "groups-1", "map-pca-2", "map-tsne-3", "why-1"]
    kinds += ["heatmap-mean-percentile", "heatmap-cls-percentile", "label-grid", "why-3"]
    assert {path.name for path in written} == {f"{kind}.{ending}" for kind in kinds for ending in ("svg", "png", "csv")}
    assert all(path.stat().st_size > 40 for path in written)
    rows = list(csv.DictReader((folder / "labels.csv").read_text().splitlines()))
    assert float(rows[0]["mean_cosine"]) == found.per_label.table[0].cosine.mean
    head, *lines = csv.reader((folder / "heatmap-mean.csv").read_text().splitlines())
    assert head[0] == "row" and sorted(map(int, head[1:])) == list(range(60)) and len(lines) == 60
    assert "columns" in drawn(beside())
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="is a file"):
        found.save_figures(tmp_path / "file")


def test_the_grids_hold_differences_and_counts(found):
    charts = drawn(found)
    above = charts["label-grid"].marks[0]
    line = found.per_label.table[3]
    assert isinstance(above, Heatmap) and above.values[0][1] == above.values[1][0] == line.above.mean
    assert charts["groups-1"].marks[0].texts == [["20", "0", "0"], ["0", "20", "0"], ["0", "0", "20"]]
    small = Chart("small", "", "", [Heatmap([[1.0, None]])])
    assert table(small).splitlines()[1:] == ["0,0,1.0", "0,1,"]


def test_bare_vectors_with_next_to_nothing(found):
    nothing = Pairs(np.array([], int), np.array([], int), np.array([]), np.array([]), 0, "no pair reaches 0.99")
    bare = replace(
        found, texts=None, labels=None, per_label=None, pairs=nothing, near=None, near_text=None, duplicates=nothing,
        groups=[], projections={}, projected=np.array([], int), steps=[], cleaned={}, notes=[], pictures=[],
        source={"name": "array", "rows": 60, "dim": 24, "in_memory": True},
    )  # fmt: skip
    assert bare.suggestion is None and "no pair reaches 0.99" in " ".join(bare.to_text().split())
    page = bare.to_html()
    assert 'id="why"' not in page and 'id="maps"' not in page
    assert bare.to_markdown() and bare._repr_html_() and json.loads(bare.to_json())["near"] is None


def test_the_next_command_can_be_pasted(found):
    assert found.suggestion == "uncone calibrate data/made.csv --model models/tiny --fpr 0.01"
    odd = replace(found, source={**found.source, "name": "my file.csv", "text": "the text", "repair": "fixed"})
    assert "'my file.csv' --text 'the text'" in odd.suggestion and "--repair fixed" in odd.suggestion


@pytest.mark.browser
@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 390)])
def test_the_page_in_a_browser(open_page, evil, tmp_path, scheme, width):
    (tmp_path / "page.html").write_text(evil.to_html())
    page = open_page(tmp_path / "page.html", scheme, width)
    assert "Unrelated texts" in page.locator("h1").first.inner_text()
    places = page.locator(".chart")
    for place in range(places.count()):
        places.nth(place).scroll_into_view_if_needed()
        places.nth(place).locator(".main-svg").first.wait_for()
    assert page.locator(".heat[data-view]").count() == page.locator(".heat").count() == 3
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
    place = page.locator("#heat-0-cosine")
    place.scroll_into_view_if_needed()
    box = place.bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.7 * box["height"])
    assert "cosine" in page.locator("#heat-tip b").inner_text()
    assert EVIL[:9] in page.locator("#heat-tip").inner_text()


@pytest.mark.browser
def test_zooming_into_one_heatmap_zooms_into_both(open_page, found, tmp_path):
    (tmp_path / "page.html").write_text(found.to_html())
    page = open_page(tmp_path / "page.html")
    cosine, percentile = page.locator("#heat-0-cosine"), page.locator("#heat-0-percentile[data-view]")
    percentile.wait_for()
    cosine.scroll_into_view_if_needed()
    box = cosine.bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.up()
    view = list(map(int, cosine.get_attribute("data-view").split()))
    assert 0 < view[0] < view[2] < 60 and 0 < view[1] < view[3] < 60
    assert percentile.get_attribute("data-view") == cosine.get_attribute("data-view")
    cosine.locator("canvas").dblclick()
    assert cosine.get_attribute("data-view") == percentile.get_attribute("data-view") == "0 0 60 60"
    page.get_by_text("0 to 1", exact=True).click()
    assert cosine.get_attribute("data-range") == "0 1"
