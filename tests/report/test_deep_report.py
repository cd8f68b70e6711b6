"""What lies behind the cone in all renderings: curves, clouds, clusters, hubs, and plain answers."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from uncone.report.deep_clouds import clouds_by_study, telling_layers
from uncone.report.deep_lines import (
    bin_table,
    cluster_lines,
    correlations,
    dimension_table,
    manifold_answer,
    manifold_sentences,
    manifold_table,
)
from uncone.report.deep_terminal import _shortened
from uncone.report.study_charts import charts
from uncone.report.study_terminal import print_study

from uncone.diagnosis.deep_results import (
    Bin,
    Cluster,
    Clusters,
    Deep,
    DeepLayer,
    Dimension,
    Frequency,
    HeadFrequency,
    Hub,
    Hubness,
    Manifold,
    TableDeep,
    TypeCosines,
)
from uncone.diagnosis.finding import Finding
from uncone.diagnosis.layer import Layer
from uncone.encoders.row_facts import RowFacts
from uncone.report.figures import write_figures
from uncone.report.results.layers import LayerComparison, LayerStudy

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)> | *b* \x1b[31m"
ROWS = 3_000
SHOWN = 400


def dimension(metric, value, base=ROWS):
    low, high = (None, None) if value is None else (value - 0.4, value + 0.4)
    return Dimension(metric, value, low, high, None if value is None else value + 1, 100, 1_000, base, 0.031)


def both(value):
    halved = None if value is None else 0.8 * value
    return {"euclidean": dimension("euclidean", value), "cosine": dimension("cosine", halved)}


def hubness(skew, text="the [bank] of the river"):
    hubs = [Hub(7 * i, 300 - 20 * i, f"{text} {i}") for i in range(8)]
    return Hubness(skew, skew - 0.2, skew + 0.2, 0.18, 0.21, hubs, 10, ROWS)


def clusters(k, rng, words):
    labels = np.sort(rng.integers(0, k, ROWS))
    sizes = np.bincount(labels, minlength=k)
    made = [
        Cluster(
            int(size),
            size / ROWS,
            words,
            {"word": 0.82, "symbol": 0.17, "number": 0.01, "piece": 0.001},
            0.02 * i,
            14.5 + i,
            {"0-100": 0.4, "100-500": 0.3, "500-5k": 0.2, "5k-": 0.1},
            0.2 - 0.03 * i,
            0.1,
            [f"{words[0]} in its [sentence] {i}", "another [one]"],
            TypeCosines(0.41, 0.62),
            TypeCosines(0.01, 0.33),
        )
        for i, size in enumerate(sizes)
    ]
    pair = TypeCosines
    return Clusters(
        *(k, 0.17, 0.25, {j: 0.17 - 0.01 * abs(j - k) for j in range(2, 16)}, False, ROWS, made, labels),
        *(pair(0.5, 0.7), pair(0.02, 0.31), pair(0.55, 0.72), pair(0.01, 0.29), pair(0.56, 0.73), pair(0.012, 0.28)),
        *(0.12, 0.08, f"Clusters explain little: centring them leaves 0.01, centring all 0.02 ({words[0]})."),
    )


def frequency(rng, r, words):
    shown = [f"{words[i % len(words)]}{i}" for i in range(SHOWN)]
    logs = np.linspace(-6, -1, SHOWN)
    points = np.stack([logs + rng.normal(size=SHOWN), rng.normal(size=SHOWN)], axis=1)
    near = {3: 1.1, 5: 1.3, 7: None}
    bins = [Bin(name, n, 1.5, near, near) for name, n in (("0-100", 100), ("100-500", 400), ("500-5k", 900))]
    bins.append(Bin("5k-", 0, None, dict.fromkeys(near), dict.fromkeys(near)))
    sentence = "Frequent words lie nearer to the centre."
    return Frequency(
        "corpus", 1_400, bins, r, r - 0.05, r + 0.05, r, [-0.5, 0.2, None], 0.44, shown, points, logs, sentence
    )


def manifold(rng, *, visible, ratio, sinks=0, sunk=False):
    t = np.linspace(0, 4, SHOWN)
    points = np.stack([t * np.cos(t), t * np.sin(t), rng.normal(size=SHOWN)], axis=1)
    positions = np.where(np.arange(SHOWN) % 50, np.arange(SHOWN) // 4, -1)
    kept = rng.choice(ROWS, SHOWN, replace=False)
    inner = None
    if sinks:
        inner = manifold(rng, visible=visible, ratio=ratio, sunk=True)
        points[0] = 500.0
    said = "The rows lie on a curved sheet." if visible else "The rows are about as flat as Gaussian ones."
    return Manifold(
        *(visible, 9.0, 9.0 / ratio, 41, ratio, None if sinks else 0.93, 0.6, 0.5 if sunk else 0.2),
        *(points, kept, positions, points[::20], sinks, said, inner),
    )


def facts(words):
    names = [words[i % len(words)] for i in range(ROWS)]
    zero = np.zeros(ROWS, np.int64)
    starts = zero + len("before the ")
    ends = starts + 4
    return RowFacts(np.arange(ROWS) * 3, names, zero, zero + 5, zero, starts, ends, [f"before the word {words[0]}"])


def found_at(one):
    values = {
        "lid_euclidean": one.dimensions["euclidean"].value,
        "lid_cosine": one.dimensions["cosine"].value,
        "twonn_euclidean": one.dimensions["euclidean"].two_nn,
        "twonn_cosine": one.dimensions["cosine"].two_nn,
        "hubness_skew": one.hubness.skew,
        "antihub_share": one.hubness.antihubs,
        "cluster_count": one.clusters.k,
        "cluster_silhouette": one.clusters.silhouette,
        "s_inter_global": one.clusters.global_.inter,
        "s_intra_global": one.clusters.global_.intra,
        "s_inter_within_raw": one.clusters.within_raw.inter,
        "s_intra_within_raw": one.clusters.within_raw.intra,
        "s_inter_within": one.clusters.within.inter,
        "s_intra_within": one.clusters.within.intra,
        "isoscore_within": one.clusters.isoscore,
        "frequency_norm_r": None if one.frequency is None else one.frequency.norm_r,
        "frequency_pc1_r": None if one.frequency is None else one.frequency.components_r[0],
        "frequency_explained": None if one.frequency is None else one.frequency.explained,
        "manifold_ratio": one.manifold.ratio,
        "position_angle_r": one.manifold.angle_r,
        "manifold_visible": int(one.manifold.visible),
    }
    interval = {"lid_euclidean", "lid_cosine", "hubness_skew", "frequency_norm_r"}
    return {
        name: Finding(
            *(name, value, one.n, f"What {name} means."),
            low=value - 0.1 if name in interval and value is not None else None,
            high=value + 0.1 if name in interval and value is not None else None,
        )
        for name, value in values.items()
    }


def study(depth=4, model="models/bert-tiny", words=("bank", "river", ",", "2020"), head=False, sinks=(), row="words"):
    """A made-up study: deeper layers have more clusters; layer 1 is curved."""
    rng = np.random.default_rng(depth)
    has_words = row == "words"
    layers = [
        DeepLayer(
            i,
            ROWS,
            both(8.0 + i),
            hubness(1.0 + 0.5 * i, f"{words[0]} in a text"),
            clusters(min(2 + i, 15), rng, words),
            frequency(rng, 0.3 + 0.02 * i, words) if has_words else None,
            manifold(rng, visible=i == 1, ratio=0.5 if i == 1 else 0.95, sinks=3 if i in sinks else 0),
        )
        for i in range(depth)
    ]
    table = TableDeep("input embeddings", 30_000, 128, both(20.0), hubness(2.0), frequency(rng, -0.6, words))
    logits = HeadFrequency(
        *(0.61, 0.58, 0.64, 0.9, 4_000, 0.21, 0.25, 9_000, 5, 60_000, "Log-frequency is most of the mean logit.")
    )
    story = [
        f"Around a row the space has about {8.0 + depth} dimensions.",
        "Clusters explain little.",
        "There are hubs.",
    ]
    deep = Deep(
        *(layers, [np.arange(ROWS) * 3] * depth, facts(words), table if has_words else None, logits if head else None),
        *(
            "corpus",
            [*story, "Frequency shapes the norms.", "Layer 1: curved."],
            ["Measured on a sample of 3,000 rows."],
        ),
    )
    base = {"baseline": 0.4, "norm_mean": 12.0, "isoscore_corrected": 0.1}
    whole = [
        Layer(one.number, {name: Finding(name, value, ROWS, "") for name, value in base.items()} | found_at(one))
        for one in layers
    ]
    source = {"model": model, "model_kind": "transformers", "corpus": "wikitext2", "layers": depth, "dimensions": 128}
    return LayerStudy(
        source={**source, "texts": 900, "rows": 20_000, "row": row},
        layers=whole,
        words=None,
        sentences=None,
        story=["Crowded: two random words score 0.40.", "A second sentence."],
        notes=["12 texts were cut at 512 tokens."],
        provenance={"uncone": "0.5.0", "seed": 0},
        deep=deep,
    )


def bare():
    """What is left where nothing could be known: too few rows, all the same."""
    one = study(3)
    empty, none = np.zeros((0, 3)), TypeCosines(None, None)
    layers = []
    for layer in one.deep.layers:
        flat = Manifold(False, None, None, 0, None, None, None, None, empty, *[np.zeros(0, np.int64)] * 2, empty, 0, "")
        hubs = Hubness(None, None, None, None, None, [], 2, 3)
        grouped = replace(layer.clusters, k=1, silhouette=None, silhouette_cosine=None, tried={}, clusters=[])
        cosines = {f"{name}{end}": none for name in ("within_raw", "within") for end in ("", "_plain")}
        grouped = replace(grouped, raw=none, global_=none, isoscore=None, isoscore_all=None, **cosines)
        layers.append(DeepLayer(layer.number, 3, both(None), hubs, grouped, None, flat))
    deep = Deep(layers, [np.arange(3)] * 3, None, None, None, "", [], [])
    return replace(one, deep=deep, layers=[Layer(i.number, found_at(i)) for i in layers])


def comparison(*studies):
    return LayerComparison(studies, [])


ALL = {
    "one": lambda: study(head=True, sinks=(2, 3)),
    "static": lambda: study(1, model="glove.txt"),
    "texts": lambda: study(row="sentences"),
    "large": lambda: study(49, model="gpt2-xl", sinks=(48,)),
    "bare": bare,
    "evil": lambda: study(model=EVIL, words=(EVIL, "<b>bold</b>", "日本語"), sinks=(1,)),
    "equal": lambda: comparison(study(), study(model="bert-mini")),
    "unequal": lambda: comparison(
        study(), study(7, model="stories-15m", head=True, sinks=(6,)), study(1, model="glove.txt")
    ),
    "many": lambda: comparison(*(study(3, model=f"model-{i}", sinks=(2,)) for i in range(6))),
}


@pytest.fixture(params=ALL)
def made(request):
    return ALL[request.param]()


def drawn(made):
    return {chart["id"]: chart for chart in charts(made.parts, made.contrasts)}


def printed(made):
    console = Console(width=80, no_color=True)
    with console.capture() as capture:
        print_study(made.parts, made.contrasts, console)
    return capture.get()


def test_every_study_has_every_rendering(made):
    page, found = made.to_html(), drawn(made)
    assert len(found) == len(charts(made.parts, made.contrasts)), "names are unique"
    assert all(page.count(f'id="chart-{name}"') == 1 for name in found)
    assert page.count('<h2 class="section behind">') == 1
    assert made.to_markdown().count("### Behind the cone") == len(made.parts)
    json.loads(made.to_json(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert "None" not in re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert "nan" not in printed(made).lower().split() and "None" not in made.to_markdown()


def test_nothing_is_behind_a_study_that_was_not_looked_at_so_deeply():
    plain = replace(study(), deep=None)
    page = re.sub(r"<style>.*?</style>", "", plain.to_html(), flags=re.S)
    assert "Behind the cone" not in page + plain.to_markdown() + printed(plain) + plain._repr_html_()
    assert set(drawn(plain)) == {"baseline", "isoscore", "norms"}


def test_no_markup_of_others_is_shown():
    made = ALL["evil"]()
    assert "<img src=x" not in made.to_html() and "<b>bold" not in made.to_html() + made._repr_html_()
    assert "\x1b" not in printed(made) + made.to_markdown()
    assert "<script>" not in made.to_markdown().replace("\\<", "")
    for chart in charts([made], []):
        assert "<b>bold" not in json.dumps([chart["data"], chart["layout"]]), "plotly reads a little HTML"


def test_the_story_has_a_heading_of_its_own_and_the_notes_are_joined():
    one = study()
    page, text = one.to_html(), one.to_markdown()
    assert page.index("A second sentence.") < page.index("<h2>Behind the cone</h2>") < page.index(one.deep.story[0])
    assert "Measured on a sample of 3,000 rows." in page and "Measured on a sample of 3,000 rows." in text
    assert one.deep.story[-1] in text.replace("\\", "") and one.deep.story[0] in one._repr_html_()


def test_curves_are_drawn_through_the_numbers():
    one = study()
    lines = {line["name"]: line for line in drawn(one)["lid"]["data"] if "name" in line}
    assert lines["Euclidean"]["y"] == [8.0, 9.0, 10.0, 11.0]
    assert lines["cosine"]["y"] == pytest.approx([6.4, 7.2, 8.0, 8.8])
    assert "5.50 (euclidean), 4.40 (cosine)" in drawn(one)["lid"]["alt"], "half, as published"
    assert "n = 3,000" in drawn(one)["lid"]["alt"]
    inter = {line["name"]: line["y"] for line in drawn(one)["s_inter_clusters"]["data"] if "name" in line}
    expected = {"as they are": 0.5, "inside clusters": 0.55, "centred": 0.02, "centred by cluster": 0.01}
    assert inter == {name: [value] * 4 for name, value in expected.items()}
    assert "by construction" in drawn(one)["s_inter_clusters"]["alt"]
    sizes = {line["name"]: line["y"] for line in drawn(one)["frequency_r"]["data"] if "name" in line}
    assert (
        sizes["component 1, |r|"] == [0.5] * 4
        and sizes["mean norm of the rows"][0] == 0.3
        and "component 3, |r|" not in sizes
    )


def test_signs_that_are_arbitrary_are_not_drawn():
    one = study()
    signs = [Finding("position_angle_r", (-1) ** i * 0.9, ROWS, "") for i in range(4)]
    turned = [Layer(i.number, {**i.findings, sign.name: sign}) for i, sign in zip(one.layers, signs, strict=True)]
    other = replace(one, layers=turned)
    for made, name in ((other, "position_angle"), (comparison(other, one), "position_angle_r")):
        line = next(line for line in drawn(made)[name]["data"] if line.get("y"))
        assert line["y"] == [0.9] * 4


def test_only_what_is_known_is_drawn():
    names = set(drawn(study()))
    assert names >= {
        *("lid", "hubness", "antihubs", "cluster_count", "silhouette", "s_inter_clusters", "s_intra_clusters"),
        *("isoscore_within", "frequency_r", "manifold_ratio", "position_angle"),
        *("frequency_table", "frequency_layer", "manifold_layer_3", "manifold_layer_1"),
    }
    assert set(drawn(bare())) == {"cluster_count"}
    assert not {name for name in drawn(ALL["texts"]()) if name.startswith("frequency")}
    assert "lid" not in drawn(ALL["static"]()) and "frequency_table" in drawn(ALL["static"]())


def test_pairs_of_charts_leave_no_hole(made):
    by_section = {}
    for chart in charts(made.parts, made.contrasts):
        by_section.setdefault(chart["section"], []).append(chart["wide"])
    for widths in by_section.values():
        row = 0
        for wide in widths:
            assert not (wide and row), "a wide chart after half a row"
            row = 0 if wide else 1 - row
        assert row == 0


def test_several_studies_share_their_charts_and_name_their_n():
    equal, unequal = drawn(ALL["equal"]()), drawn(ALL["unequal"]())
    assert {line["name"] for line in equal["lid_cosine"]["data"] if "name" in line} == {"bert-tiny", "bert-mini"}
    assert "n is 3,000 for all" in equal["lid_euclidean"]["alt"]
    level = next(line for line in unequal["lid_euclidean"]["data"] if line.get("name") == "glove.txt")
    assert level["x"] == [0, 1] and level["y"] == [8.0, 8.0]
    assert {"frequency_table_1", "frequency_layer_3", "manifold_layer_6_2"} <= set(unequal)


def test_the_table_of_models_sets_layers_against_tables():
    table = dimension_table(ALL["unequal"]().parts)
    rows = {(row[0], row[1]): dict(zip(table.heads, row, strict=True)) for row in table.rows}
    last, mean = rows["bert-tiny", "layer 3"], rows["bert-tiny", "mean of layers 1 to 3"]
    assert last["Euclidean"] == "11.0 (10.6 to 11.4)" and last["squared, Euclidean"] == "5.50"
    assert mean["Euclidean"] == "10.0" and mean["squared, cosine"] == "4.00" and mean["kind"] == "contextual"
    static = rows["bert-tiny", "input embeddings"]
    assert static["Euclidean"].startswith("20.0") and static["squared, cosine"] == "8.00" and static["kind"] == "static"
    assert rows["glove.txt", "words of the corpus"]["kind"] == "static" and last["n"] == "3,000"
    assert dimension_table([replace(study(), deep=None)]) is None


def test_clusters_are_shown_as_they_were_found():
    one = study()
    line = cluster_lines(one.deep.layers[-1].clusters)[0]
    size = one.deep.layers[-1].clusters.clusters[0].size
    assert (
        line.rows == f"{size:,}"
        and line.share == f"{100 * size / ROWS:.0f} %"
        and line.words == "bank · river · , · 2020"
    )
    assert (
        line.bins[0] == "0-100: 40 %"
        and line.kinds == ["word: 82 %", "symbol: 17 %", "number: 1 %"]
        and line.raw == "0.41"
        and line.centred == "0.01"
    )
    assert len(line.examples) == 2 and len(cluster_lines(clusters(9, np.random.default_rng(0), ["a"]))[0].examples) == 1
    page = one.to_html()
    opened = re.findall(
        r'<details class="note deep"( open)?>\s*<summary class="wide"><span class="title">(.*?)</span>', page
    )
    assert [bool(state) for state, title in opened if title == "Layer 3"] == [True] * 3, "clusters, hubs, frequency"
    assert not any(state for state, title in opened if title == "Layer 2")
    assert "bank in a text 0 · among the 10 nearest of 300 rows" in page


def test_the_manifold_question_has_a_plain_answer():
    one = study()
    assert manifold_answer(one.deep) == "Yes: a curved manifold (a “Swiss roll”) is visible in layer 1."
    assert manifold_sentences(one.deep) == [
        "Layer 1: The rows lie on a curved sheet.",
        "Layer 3: The rows are about as flat as Gaussian ones.",
    ]
    assert manifold_answer(bare().deep).startswith("No: ")
    assert [why for _, why in telling_layers(one.deep)] == [
        "the last",
        "the most curved",
        "the most ordered by position",
    ]
    sunk = manifold_table(study(sinks=(3,)).deep)
    assert [row[0] for row in sunk.rows] == ["0", "1", "2", "3", "3, without 3 sinks"]
    assert sunk.rows[-1][1] == "2,997"


def test_the_clearest_sheet_is_one_whose_dimension_is_known():
    one = study()
    first = replace(one.deep.layers[0].manifold, visible=True, ratio=None, sentence="A curve by position.")
    deep = replace(one.deep, layers=[replace(one.deep.layers[0], manifold=first), *one.deep.layers[1:]])
    assert manifold_sentences(deep)[0] == "Layer 1: The rows lie on a curved sheet."


@pytest.mark.parametrize(("row", "noun"), [("words", "word"), ("tokens", "token"), ("sentences", "text")])
def test_rows_are_called_what_they_are(row, noun):
    one = study(row=row)
    page = one.to_html()
    assert f"S_inter is the mean cosine of different {noun}s in a cluster" in page
    assert f"Different {noun}s in clusters: S_inter" in page
    assert f"Different {noun}s, centred by cluster" in comparison(one, study(row=row, model="other")).to_html()
    assert f"Measured on {ROWS:,} rows of a layer" in page


def test_tokens_and_fewer_components_are_counted():
    found = frequency(np.random.default_rng(0), 0.4, ("bank", "river"))
    tokens = replace(found, unit="token", components_r=[0.5, 0.1])
    assert "norm and 2 components together" in correlations(tokens) and "tokens" in correlations(tokens)
    assert bin_table(tokens).heads[1] == "tokens" and bin_table(found).heads[1] == "words"


def test_a_full_stop_in_a_quoted_text_ends_no_sentence():
    hub = "Hubs: a few rows are everybody's, most of all “The St. Thomas team [played] . It won” (12); 3 % are not."
    more = f"{hub} {'A long second sentence that has no room on a terminal, ' * 4}and ends."
    assert _shortened(more) == hub
    assert _shortened(hub) == hub


def test_a_page_has_at_most_eight_drawings_with_webgl(made):
    alive = [chart for chart in charts(made.parts, made.contrasts) if chart["lazy"]]
    turned = [chart for chart in alive if chart["data"][0]["type"] != "scatter"]
    assert len(turned) <= 8
    with_points = [one for one in made.parts if any(len(layer.manifold.points) for layer in one.deep.layers)]
    assert len(turned) >= min(len(with_points), 8)


def test_many_words_are_drawn_with_webgl_and_take_the_room_of_others():
    one = study()
    many = 3_001
    words = replace(one.deep.layers[-1].frequency, shown=["w"] * many, points=np.zeros((many, 2)), logs=np.zeros(many))
    layers = [*one.deep.layers[:-1], replace(one.deep.layers[-1], frequency=words)]
    deep = replace(one.deep, layers=layers, table=replace(one.deep.table, frequency=words))
    parts = [replace(one, deep=deep)] * 2
    assert [(len(flat), len(turned)) for flat, turned in clouds_by_study(parts)] == [(2, 0), (2, 0)]
    assert [(len(flat), len(turned)) for flat, turned in clouds_by_study(parts[:1])] == [(2, 3)]
    assert drawn(parts[0])["frequency_layer"]["data"][0]["type"] == "scattergl"


def test_a_view_without_sinks_is_a_button_away():
    chart = drawn(study(sinks=(3,)))["manifold_layer_3"]
    menu = chart["layout"]["updatemenus"][0]
    assert [one["label"] for one in menu["buttons"]] == ["all rows", "without sinks"]
    visible = [trace["visible"] for trace in chart["data"]]
    assert menu["buttons"][menu["active"]]["args"][0]["visible"] == visible and visible == [False] * 3 + [True] * 3
    assert [trace["mode"] for trace in chart["data"][:3]] == ["markers", "markers", "lines"], "known, unknown, path"
    assert max(chart["data"][0]["x"] + chart["data"][1]["x"]) == 500
    assert chart["data"][0]["text"][0].startswith("before the [word] bank · position")
    assert "updatemenus" not in drawn(study())["manifold_layer_3"]["layout"]


def test_terminal_fits_one_screen(made):
    lines = printed(made).splitlines()
    assert max(map(len, lines)) <= 78
    assert len(lines) <= 50 or len(made.parts) > 3


def test_terminal_has_a_line_per_layer_and_the_table_of_models():
    text = printed(study())
    assert re.search(r"^ +3 +11\.0 +8\.80 +5 +0\.17 +2\.50 +0\.36$", text, re.M)
    assert "There are hubs." in text and "Frequency shapes" not in text and "2 more sentences behind the cone" in text
    layers = list(study().deep.layers)
    layers[0] = replace(layers[0], dimensions={name: dimension(name, 9.0, 100_000) for name in ("euclidean", "cosine")})
    mixed = printed(replace(study(), deep=replace(study().deep, layers=layers)))
    assert "n = 3,000 to 100,000" in mixed and max(map(len, mixed.splitlines())) <= 78
    several = printed(ALL["unequal"]())
    assert re.search(r"bert-tiny: layer 3 +contextual +11\.0 +8\.80 +3,000", several)
    assert re.search(r"glove.txt: words of the corpus +static", several)


@pytest.mark.parametrize("name", ["one", "static", "bare", "evil", "unequal"])
def test_figures_draw_what_the_page_draws(name, tmp_path):
    made = ALL[name]()
    files = write_figures(made.parts, made.contrasts, tmp_path / "figures")
    assert {path.stem for path in files} == set(drawn(made)) and len(files) == 3 * len(drawn(made))


def test_clouds_have_their_numbers_beside_them_and_are_the_same_every_time(tmp_path):
    one = study(sinks=(3,))
    files = write_figures([one], [], tmp_path / "a")
    for first, second in zip(files, write_figures([one], [], tmp_path / "b"), strict=True):
        assert first.read_bytes() == second.read_bytes(), first.name
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a" / "manifold_layer_3.csv").read_text())))
    mine = [row for row in rows if row["view"] == "all rows" and row["part"] == "point"]
    shown = one.deep.layers[3].manifold
    assert [[float(row[axis]) for axis in "xyz"] for row in mine] == shown.points.tolist()
    assert [row["value"] for row in mine] == [f"{p:.1f}" if p >= 0 else "" for p in shown.points_positions.tolist()]
    path = [row for row in rows if row["view"] == "without sinks" and row["part"] == "path"]
    assert len(path) == len(shown.without_sinks.path)
    words = list(csv.DictReader(io.StringIO((tmp_path / "a" / "frequency_table.csv").read_text())))
    assert [row["text"] for row in words] == list(one.deep.table.frequency.shown) and words[0]["z"] == ""


@pytest.mark.browser
@pytest.mark.parametrize("name", ["one", "evil", "unequal"])
@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 390)])
def test_the_page_in_a_browser(browser, tmp_path, name, scheme, width):
    made = ALL[name]()
    (tmp_path / "page.html").write_text(made.to_html())
    page = browser.new_page(viewport={"width": width, "height": 850}, color_scheme=scheme)
    errors = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: errors.append(request.url) if request.url.startswith("http") else None)
    page.goto((tmp_path / "page.html").as_uri())
    plots = page.locator(".chart")
    assert plots.count() == len(drawn(made))
    for place in range(plots.count()):
        plots.nth(place).scroll_into_view_if_needed()
        plots.nth(place).locator(".main-svg").first.wait_for(timeout=20_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
    lost = "[...document.querySelectorAll('.chart canvas')].filter((one) => { const gl = one.getContext('webgl'); "
    lost += "return gl && gl.isContextLost(); }).length"
    assert page.evaluate(lost) == 0, "all drawings are alive"
    if name == "one":
        chart = page.locator("#chart-manifold_layer_3")
        chart.get_by_text("all rows").click()
        seen = "document.getElementById('chart-manifold_layer_3').data.map((one) => one.visible)"
        assert page.evaluate(seen) == [True] * 3 + [False] * 3
    assert errors == []
    page.close()
