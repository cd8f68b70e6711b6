"""A deep study as a document: curves, clouds, clusters, hubs, and plain answers."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace

import numpy as np
import pytest
from report.blocks import EVIL, charts, lines, section, texts
from report.snapshots import assert_wording

from uncone.analysis.layers.deep_results import (
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
from uncone.analysis.layers.layer import Layer
from uncone.analysis.measures.finding import Finding
from uncone.encoders.rows.row_facts import RowFacts
from uncone.report.charts.model import Cloud
from uncone.report.document import Fold
from uncone.report.documents.layers import LayerComparison, LayerStudy, first_sentences
from uncone.report.documents.layers.deep import telling_layers

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
        *(0.12, 0.08, f"Clusters explain little: centering them leaves 0.01, centering all 0.02 ({words[0]})."),
    )


def frequency(rng, r, words):
    shown = [f"{words[i % len(words)]}{i}" for i in range(SHOWN)]
    logs = np.linspace(-6, -1, SHOWN)
    points = np.stack([logs + rng.normal(size=SHOWN), rng.normal(size=SHOWN)], axis=1)
    near = {3: 1.1, 5: 1.3, 7: None}
    bins = [Bin(name, n, 1.5, near, near) for name, n in (("0-100", 100), ("100-500", 400), ("500-5k", 900))]
    bins.append(Bin("5k-", 0, None, dict.fromkeys(near), dict.fromkeys(near)))
    sentence = "Frequent words lie nearer to the center."
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


def test_every_study_has_every_rendering(made, assert_renderings):
    assert_renderings(made, screen=50 if len(made.parts) <= 3 else 100)
    page, found = made.to_html(), charts(made)
    assert len(found) == len(made.document().charts()), "names are unique"
    plots = [name for name, chart in found.items() if not isinstance(chart, Cloud)]
    assert all(page.count(f'id="chart-{name}"') == 1 for name in plots)
    assert "None" not in re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert "nan" not in made.to_text().lower().split() and "None" not in made.to_markdown()


@pytest.mark.parametrize("name", ["one", "equal"])
def test_wording(name):
    made = ALL[name]()
    assert_wording(f"layers_deep_{name}", made)


def test_nothing_is_behind_a_study_that_is_not_deep():
    plain = replace(study(), deep=None)
    assert not {one.name for one in plain.document().sections} & {"behind", "local-dimension"}
    assert set(charts(plain)) == {"baseline", "isoscore", "norms"}


def test_the_story_has_a_section_of_its_own_and_the_notes_are_joined():
    one = study()
    first = one.document().sections[0]
    assert first.title == "Behind the cone, in short" and list(first.blocks[0].lines) == one.deep.story
    notes = section(one, "What was left out").blocks[0].lines
    assert notes == [*one.notes, *one.deep.notes]


def test_curves_are_drawn_through_the_numbers():
    one = study()
    drawn = lines(charts(one)["lid"])
    assert drawn["Euclidean"].y == [8.0, 9.0, 10.0, 11.0]
    assert drawn["cosine"].y == pytest.approx([6.4, 7.2, 8.0, 8.8])
    assert "5.50 (euclidean), 4.40 (cosine)" in charts(one)["lid"].caption, "half, as published"
    inter = {label: line.y for label, line in lines(charts(one)["s_inter_clusters"]).items()}
    expected = {"raw": 0.5, "inside clusters": 0.55, "centered": 0.02, "centered by cluster": 0.01}
    assert inter == {name: [value] * 4 for name, value in expected.items()}
    sizes = {label: line.y for label, line in lines(charts(one)["frequency_r"]).items()}
    assert sizes["component 1, |r|"] == [0.5] * 4
    assert sizes["mean norm of the vectors"][0] == 0.3
    assert "component 3, |r|" not in sizes


def test_signs_that_are_arbitrary_are_not_drawn():
    one = study()
    signs = [Finding("position_angle_r", (-1) ** i * 0.9, ROWS, "") for i in range(4)]
    turned = [Layer(i.number, {**i.findings, sign.name: sign}) for i, sign in zip(one.layers, signs, strict=True)]
    other = replace(one, layers=turned)
    for made, name in ((other, "position_angle"), (comparison(other, one), "position_angle_r")):
        assert charts(made)[name].marks[0].y == [0.9] * 4


def test_only_what_is_known_is_drawn():
    assert set(charts(study())) >= {
        *("lid", "hubness", "antihubs", "cluster_count", "silhouette", "s_inter_clusters", "s_intra_clusters"),
        *("isoscore_within", "frequency_r", "manifold_ratio", "position_angle"),
        *("frequency_table", "frequency_layer", "manifold_layer_3", "manifold_layer_1"),
    }
    assert set(charts(bare())) == {"cluster_count"}
    assert not {name for name in charts(ALL["texts"]()) if name.startswith("frequency")}
    assert "lid" not in charts(ALL["static"]()) and "frequency_table" in charts(ALL["static"]())


def test_several_studies_share_their_charts_and_name_their_n():
    equal, unequal = charts(ALL["equal"]()), charts(ALL["unequal"]())
    assert set(lines(equal["lid_cosine"])) == {"bert-tiny", "bert-mini"}
    assert "n is 3,000 for all" in equal["lid_euclidean"].caption
    level = lines(unequal["lid_euclidean"])["glove.txt"]
    assert level.x == [0, 1] and level.y == [8.0, 8.0]
    assert {"frequency_table_1", "frequency_layer_3", "manifold_layer_6_2"} <= set(unequal)


def test_the_table_of_models_sets_layers_against_tables():
    (table,) = section(ALL["unequal"](), "Local dimension: contextual vs. static").blocks
    rows = {(row.cells[0].text, row.cells[1].text): row.cells for row in table.rows}
    last, mean = rows["bert-tiny", "layer 3"], rows["bert-tiny", "mean of layers 1 to 3"]
    assert (last[3].text, last[3].small, last[5].text, last[7].text) == ("11.0", "10.6 to 11.4", "5.50", "3,000")
    assert (mean[2].text, mean[3].text, mean[6].text) == ("contextual", "10.0", "4.00")
    static = rows["bert-tiny", "input embeddings"]
    assert (static[2].text, static[3].text, static[6].text) == ("static", "20.0", "8.00")
    assert rows["glove.txt", "words of the corpus"][2].text == "static"


def test_clusters_are_shown_as_they_were_found():
    one = study()
    folds = section(one, "Clusters").blocks
    assert [(fold.title, fold.open) for fold in folds[-2:]] == [("Layer 2", False), ("Layer 3", True)]
    _, table, examples, cosines = folds[-1].blocks
    found = one.deep.layers[-1].clusters.clusters[0]
    first = table.rows[0].cells
    assert (first[1].text, first[1].small) == (f"{found.size:,}", f"{100 * found.size / ROWS:.0f} %")
    assert first[0].text == "1: bank · river · , · 2020" and first[2].text == "word: 82 %, symbol: 17 %, number: 1 %"
    assert first[5].text.startswith("0-100: 40 %") and [cell.text for cell in first[-2:]] == ["0.41", "0.01"]
    assert examples.lines[0].count(" / ") == 1, "two examples"
    assert texts(cosines)[0] == ["raw", "0.500", "0.700", "", ""]
    many = replace(one.deep.layers[-1], clusters=clusters(9, np.random.default_rng(0), ["a"]))
    longer = replace(one, deep=replace(one.deep, layers=[*one.deep.layers[:-1], many]))
    assert " / " not in section(longer, "Clusters").blocks[-1].blocks[2].lines[0]


def test_hubs_are_listed_by_their_texts():
    folds = section(study(), "Hubs").blocks
    assert [fold.title for fold in folds] == ["Input embeddings", *(f"Layer {i}" for i in range(4))]
    assert folds[-1].blocks[0].lines[0].startswith("bank in a text 0") and "300 vectors" in folds[-1].blocks[0].lines[0]
    assert len(folds[-1].blocks[0].lines) == 5


def test_the_manifold_question_has_a_plain_answer():
    one = study()
    answer, first, last = section(one, "Is it a curved manifold?").blocks[0].lines
    assert answer.startswith("Yes") and "layer 1." in answer
    assert (first, last) == (
        "Layer 1: The rows lie on a curved sheet.",
        "Layer 3: The rows are about as flat as Gaussian ones.",
    )
    assert section(bare(), "Is it a curved manifold?").blocks[0].lines[0].startswith("No")
    reasons = ["the last", "the most curved", "the most ordered by position"]
    assert list(telling_layers(one.deep).values()) == reasons
    rows = texts(section(study(sinks=(3,)), "Is it a curved manifold?").blocks[1])
    assert [row[0] for row in rows] == ["0", "1", "2", "3", "3, without 3 sinks"] and rows[-1][1] == "2,997"


def test_the_clearest_sheet_is_one_whose_dimension_is_known():
    one = study()
    first = replace(one.deep.layers[0].manifold, visible=True, ratio=None, sentence="A curve by position.")
    deep = replace(one.deep, layers=[replace(one.deep.layers[0], manifold=first), *one.deep.layers[1:]])
    sentences = section(replace(one, deep=deep), "Is it a curved manifold?").blocks[0].lines
    assert sentences[1] == "Layer 1: The rows lie on a curved sheet."


@pytest.mark.parametrize(("row", "noun"), [("words", "word"), ("tokens", "token"), ("sentences", "text")])
def test_vectors_are_called_what_they_are_of(row, noun):
    one = study(row=row)
    assert f"different {noun}s" in section(one, "Clusters").intro
    assert f"ifferent {noun}s" in charts(one)["s_inter_clusters"].title
    assert f"{noun}s" in charts(comparison(one, study(row=row, model="other")))["s_inter_within"].title


def test_tokens_and_fewer_components_are_counted():
    one = study(1)
    found = replace(one.deep.layers[0].frequency, unit="token", components_r=[0.5, 0.1])
    deep = replace(one.deep, layers=[replace(one.deep.layers[0], frequency=found)])
    fold = next(
        block
        for block in section(replace(one, deep=deep), "Word frequency").blocks
        if isinstance(block, Fold) and block.title == "Layer 0"
    )
    _, table = fold.blocks
    assert table.columns[1].title == "tokens"
    assert "2 components" in table.remarks[0] and "1,400 tokens" in table.remarks[0]


def test_a_full_stop_in_a_quoted_text_ends_no_sentence():
    hub = "Hubs: a few rows are everybody's, most of all “The St. Thomas team [played] . It won” (12); 3 % are not."
    more = f"{hub} {'A long second sentence that has no room on a terminal, ' * 4}and ends."
    assert first_sentences(more) == hub
    assert first_sentences(hub) == hub


def test_a_layer_with_sinks_is_shown_without_them_first():
    one = study(sinks=(3,))
    cloud = charts(one)["manifold_layer_3"]
    assert [view.label for view in cloud.views] == ["without sinks", "all vectors"]
    assert cloud.views[1].points.max() == 500
    inner = one.deep.layers[3].manifold.without_sinks
    positions = np.where(inner.points_positions >= 0, inner.points_positions, np.nan)
    np.testing.assert_array_equal(cloud.colorings[0].values[cloud.views[0].rows], positions)
    assert cloud.texts[int(cloud.views[1].rows[1])].startswith("before the [word] bank · position")
    assert len(charts(study())["manifold_layer_3"].views) == 1


def test_terminal_has_a_line_per_layer_and_the_table_of_models():
    sentences, table = section(study(), "Behind the cone").brief
    assert texts(table)[3] == ["3", "11.0", "8.800", "2.500", "5", "0.170", "0.360"]
    assert list(sentences.lines[:3]) == study().deep.story[:3] and sentences.lines[3].startswith("2 more")
    layers = list(study().deep.layers)
    layers[0] = replace(layers[0], dimensions={name: dimension(name, 9.0, 100_000) for name in ("euclidean", "cosine")})
    mixed = replace(study(), deep=replace(study().deep, layers=layers))
    assert "3,000 to 100,000" in section(mixed, "Behind the cone").brief[1].remarks[0]
    (brief,) = section(ALL["unequal"](), "Local dimension: contextual vs. static").brief
    assert ["bert-tiny: layer 3", "contextual", "11.0", "8.80", "3,000"] in texts(brief)


LONG = [pytest.param(name, marks=pytest.mark.exhaustive) for name in ("evil", "unequal")]


@pytest.mark.parametrize("name", ["one", "static", "bare", *LONG])
def test_figures_draw_what_the_page_draws(name, tmp_path):
    made = ALL[name]()
    files = made.save_figures(tmp_path / "figures")
    assert {path.stem for path in files} == set(charts(made)) and len(files) == 3 * len(charts(made))


def test_clouds_have_their_numbers_beside_them(tmp_path):
    one = study(sinks=(3,))
    one.save_figures(tmp_path / "a")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a" / "manifold_layer_3.csv").read_text())))
    mine = [row for row in rows if row["view"] == "all vectors" and row["part"] == "point"]
    shown = one.deep.layers[3].manifold
    np.testing.assert_allclose([[float(row[axis]) for axis in "xyz"] for row in mine], shown.points, rtol=1e-6)
    assert [row["position"] for row in mine] == [f"{p:.1f}" if p >= 0 else "" for p in shown.points_positions.tolist()]
    path = [row for row in rows if row["view"] == "without sinks" and row["part"] == "path"]
    assert len(path) == len(shown.without_sinks.path)
    words = list(csv.DictReader(io.StringIO((tmp_path / "a" / "frequency_table.csv").read_text())))
    assert [row["text"] for row in words] == list(one.deep.table.frequency.point_words) and "z" not in words[0]


@pytest.mark.browser
def test_the_page_in_a_browser(assert_page_works):
    assert_page_works(*(ALL[name]() for name in ("unequal", "one", "evil")))
