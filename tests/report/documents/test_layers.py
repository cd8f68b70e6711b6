"""A study of layers as a document: it shows what is there, and is not broken by what is not."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from report.blocks import EVIL, charts, lines, section, texts
from report.snapshots import assert_wording

from uncone.analysis.layers.contrast import Contrast, published_curves
from uncone.analysis.layers.layer import Layer, SentenceTable, StudySize, WordTable
from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.measures.registry import families, measures
from uncone.data.writing import atomic
from uncone.errors import OptionError, OutputError
from uncone.report.charts.files import table_format
from uncone.report.charts.model import Forest, Heatmap, Points
from uncone.report.documents.layers import LayerComparison, LayerStudy
from uncone.report.documents.layers.overview import difference_text, short_names
from uncone.report.documents.layers.words import extremes, sentence_table, word_table

OF_WORDS = {"words", "sentences", "occurrences"}
CONTEXTUAL = [name for family in families("layers") if OF_WORDS & {*family.needs} for name in family.names]
WORDS = re.findall(
    r"\w+", "the of and to a in is was he for it with as his on be at by i this bank river light play run set"
)


def found(name, value, n=12_345, width=0.01, **more):
    low, high = (None, None) if value is None or isinstance(value, list) else (value - width, value + width)
    return Finding(name, value, n, f"What {name} means here.", low=low, high=high, **more)


def curves(depth, seed):
    """Measures of a model like BERT: it crowds towards the end, and words grow contextual."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, depth)
    baseline = np.clip(0.1 + 0.55 * t**1.3 - 0.2 * (t == 1) + 0.02 * rng.normal(size=depth), 0.02, 0.98)
    selfsim = np.clip(0.95 - 0.25 * t + 0.15 * np.maximum(t - 0.7, 0), baseline, 1)
    matched = np.sqrt((1 + 9 * baseline) / 10)
    intrasim = np.clip(matched + 0.08 * t, 0, 1)
    mev, mev_matched = 0.97 - 0.2 * t, 0.2 + 0.6 * baseline
    iso = 0.3 * (1 - t) ** 2 + 0.02
    return {
        "baseline": baseline,
        "selfsim": selfsim,
        "selfsim_adjusted": selfsim - baseline,
        "intrasim": intrasim,
        "intrasim_adjusted": intrasim - baseline,
        "intrasim_matched": matched,
        "intrasim_adjusted_matched": intrasim - matched,
        "mev": mev,
        "mev_matched": mev_matched,
        "mev_adjusted": mev - mev_matched,
        "s_intra": selfsim - 0.02,
        "s_inter": baseline - 0.01,
        "mean_over_rms": np.sqrt(baseline),
        "rogue_share_1": 0.1 + 0.4 * t,
        "rogue_share_3": 0.2 + 0.5 * t,
        "rogue_share_5": 0.25 + 0.6 * t,
        "effective_rank": 400 - 300 * t,
        "participation_ratio": 200 - 180 * t,
        "top1_share": 0.1 + 0.3 * t,
        "top10_share": 0.3 + 0.4 * t,
        "isoscore": iso * 0.9,
        "isoscore_corrected": iso,
        "partition_isotropy_log10": -20 * t - 1,
        "partition_isotropy_unit_log10": -3 * t - 0.3,
        "norm_mean": 1.2 + 14 * t,
    }


def study(
    depth=13, model="models/bert-base-cased", corpus="data/sts.txt", row="words", seed=0, named=WORDS, asked=(), sunk=()
):
    """A made-up study with every measure, or, for rows without words, with those a plain matrix has."""
    numbers = curves(depth, seed)
    context = row in ("words", "tokens")
    layers = []
    for place in range(depth):
        findings = {
            name: found(name, float(values[place]), width=0.02 * abs(float(values[place])) + 0.001)
            for name, values in numbers.items()
            if context or name not in CONTEXTUAL
        }
        if findings["baseline"].value < 0.12:
            findings |= {name: found(name, None) for name in findings if name.startswith("rogue_share")}
        findings["rogue_dimensions"] = found("rogue_dimensions", [308, 381, 92, 588, 7, 11][: place // 2])
        rows = [{"row": 7, "text": "the first word of a text", "value": 512.5}] if place in sunk else []
        findings["sinks"] = found("sinks", 3 if place in sunk else 0, rows=rows)
        layers.append(Layer(place, findings))
    n, rng = len(named), np.random.default_rng(seed)
    drift = rng.uniform(0.2, 1.4, size=(n, 1))
    words = WordTable(
        words=list(named),
        counts=np.arange(n, 0, -1) * 40,
        contexts=np.arange(n, 0, -1) * 30,
        selfsim=np.clip(1 - drift * (1 - numbers["selfsim"]), 0, 1),
        mev=np.where(np.arange(n)[:, None] % 2 == 0, 1 - drift * (1 - numbers["mev"]), np.nan),
        mev_n=np.where(np.arange(n) % 2 == 0, 50, 0),
        user_words=asked,
        kinds=["word" if word.isalpha() else "symbol" for word in named],
    )
    texts = ['a "quoted" text, with a comma', "a text\nof two lines", EVIL]
    sentences = SentenceTable(
        np.array([0, 4, 9]), texts, np.array([6, 5, 8]), np.full((3, depth), 0.5), np.full((3, depth), 0.4)
    )
    story = [
        "Random words grow alike with depth: from 0.10 at the embeddings to 0.68 in layer 11.",
        "A word keeps 0.28 above random words in the last layer, so its context matters a good deal.",
        "The words of a sentence are 0.08 more alike than unrelated words of the same lengths.",
        "Three dimensions carry 70 % of the mean cosine in the last layer.",
    ]
    name, kind = model.rsplit("/", 1)[-1], "transformers"
    return LayerStudy(
        source={
            "model": model,
            "model_kind": kind,
            "corpus": corpus,
            "layers": depth,
            "dimensions": 768,
            "texts": 1_000,
            "rows": 12_345,
            "row": row,
        },
        layers=layers,
        words=words if context else None,
        sentences=sentences if context else None,
        story=story,
        notes=["12 texts were cut at 512 tokens.", "31 duplicate texts were left out."],
        provenance={"uncone": "0.2.0", "seed": 0, "device": "cpu", "command": "uncone layers bert --corpus sts.txt"},
        published=published_curves(name, depth) if context else (),
    )


def static():
    """Word vectors from a table: one layer, every word the same everywhere."""
    one = study(1, model="glove.txt")
    exact = {"selfsim": 1.0, "mev": 1.0, "s_intra": 1.0}
    findings = one.layers[0].findings | {name: found(name, value, width=0.0) for name, value in exact.items()}
    words = one.words.__class__(**{**one.words.__dict__, "selfsim": np.ones((len(WORDS), 1))})
    story = ["Random words score 0.10.", "There is one layer: the vectors do not know their context."]
    return LayerStudy(**{**one.__dict__, "layers": [Layer(0, findings)], "words": words, "story": story})


def contrast(of, to):
    """Differences of two studies, at every layer or, where depths differ, at both ends."""
    last = len(to.layers) - 1, len(of.layers) - 1
    pairs = [(i, i) for i in range(last[0] + 1)] if last[0] == last[1] else sorted({(0, 0), last})
    names = ("baseline", "selfsim", "selfsim_adjusted", "intrasim_adjusted_matched", "mev_adjusted")
    names += ("s_intra", "rogue_share_3", "effective_rank", "norm_mean")
    findings = [
        {
            name: found(name, of[j].value(name) - to[i].value(name), width=0.03)
            for name in names
            if name in of[j].findings and name in to[i].findings
        }
        for i, j in pairs
    ]
    return Contrast(of.name, to.name, pairs, findings)


def comparison(*studies):
    return LayerComparison(studies, [contrast(one, studies[0]) for one in studies[1:]])


def empty():
    """A study that could measure nothing, as a corpus of one text gives."""
    one = study(3)
    findings = {name: found(name, None) for name in one.layers[0].findings}
    words = WordTable([], *[np.zeros(0, int)] * 2, np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0, int))
    layers = [Layer(place, findings) for place in range(3)]
    return LayerStudy(**{**one.__dict__, "layers": layers, "words": words, "story": [], "notes": [], "published": ()})


def evil():
    named = [EVIL, "<b>bold</b>", "2020", "日本語", "x" * 60, "$x", "a,b", '"']
    return study(model=EVIL, corpus=EVIL, named=named, asked=(EVIL, "<b>bold</b>", "not there"), sunk=(2, 3))


ALL = {
    "one": lambda: study(sunk=(4, 5, 6)),
    "static": static,
    "cls": lambda: study(row="cls"),
    "tokens": lambda: study(row="tokens"),
    "deep": lambda: study(49, model="gpt2-xl", sunk=range(3, 48)),
    "shallow": lambda: study(2),
    "empty": empty,
    "evil": evil,
    "equal": lambda: comparison(study(), study(model="bert-base-uncased", seed=1)),
    "unequal": lambda: comparison(study(), study(7, model="distilbert", seed=2), static()),
    "two static": lambda: comparison(static(), static()),
    "mixed rows": lambda: comparison(study(), study(row="cls")),
}


@pytest.fixture(params=ALL)
def made(request):
    return ALL[request.param]()


def test_every_study_has_every_rendering(made, assert_renderings):
    assert_renderings(made, screen=44 if len(made.parts) == 1 else 50)
    page = made.to_html()
    assert all(f'id="chart-{name}"' in page for name in charts(made))
    assert len(charts(made)) == len(made.document().charts()), "names are unique"


@pytest.mark.parametrize("name", ["one", "unequal"])
def test_wording(name):
    made = ALL[name]()
    assert_wording(f"layers_{name}", made)


def test_the_level_is_that_of_the_most_crowded_layer():
    assert [ALL[name]().document().verdicts[0].level for name in ("one", "empty")] == [Level.CROWDED, Level.NOTE]
    calm = [Layer(i, {"baseline": found("baseline", 0.05)}) for i in range(3)]
    assert replace(study(3), layers=calm).document().verdicts[0].level is Level.HEALTHY


def test_several_studies_have_their_headlines_and_the_colors_of_their_curves():
    made = ALL["unequal"]()
    verdicts = made.document().verdicts
    assert [one.name for one in verdicts] == [one.name for one in made.parts]
    assert not any(one.details for one in verdicts), "terminals have room for headlines only"
    assert [one.swatch for one in verdicts] == [line.color for line in charts(made)["baseline"].marks]
    assert verdicts[0].more == made.parts[0].story[1:]


def test_terminal_has_a_line_per_layer_and_marks_sinks():
    (brief,) = section(study(sunk=(4, 5)), "").brief
    assert [row[0] for row in texts(brief)] == [str(number) for number in range(13)]
    assert [row.cells[0].text for row in brief.rows if row.cells[0].mark == "*"] == ["4", "5"]
    assert len(section(ALL["deep"](), "").brief[0].rows) == 20
    names = [column.title for column in section(study(row="cls"), "").brief[0].columns]
    assert "selfsim" not in names and "rogue" in names


def test_terminal_of_several_ends_with_the_last_layers():
    made = ALL["unequal"]()
    assert len(section(made, "").brief) == 3
    titles = [table.title for table in section(made, "Differences").brief]
    assert titles == [
        "distilbert minus bert-base-cased, layers 6 and 12",
        "glove.txt minus bert-base-cased, layers 0 and 12",
    ]


def test_curves_are_drawn_through_the_numbers():
    one = study()
    drawn = lines(charts(one)["selfsim"])
    assert set(drawn) == {"adjusted", "raw", "random words", "raw, published"}
    assert drawn["adjusted"].y == [layer["selfsim_adjusted"].value for layer in one.layers]
    assert drawn["adjusted"].low == [layer["selfsim_adjusted"].low for layer in one.layers]
    assert list(drawn["adjusted"].x) == list(range(13))


def test_only_what_is_there_is_drawn():
    assert list(charts(study())) == [
        *("baseline", "selfsim", "intrasim", "mev", "word_mev", "words", "types"),
        *("isoscore", "partition", "rogue", "norms", "mean"),
    ]
    assert list(charts(study(row="cls"))) == ["baseline", "isoscore", "partition", "rogue", "norms", "mean"]
    assert list(charts(static())) == ["measures"]
    assert list(charts(empty())) == []


def test_one_layer_is_drawn_on_one_scale():
    chart = charts(static())["measures"]
    (forest,) = chart.marks
    assert isinstance(forest, Forest)
    at = chart.y.categories.index("Self-similarity")
    assert forest.values[at] == 1.0
    table = section(static(), "All measures").blocks[0]
    assert [column.title for column in table.columns] == ["measure", "value", "95 % interval", "n"]


def test_sinks_are_circled_and_listed():
    one = study(sunk=(4, 5))
    ring = next(mark for mark in charts(one)["norms"].marks if isinstance(mark, Points))
    assert list(ring.x) == [4, 5] and list(ring.texts) == ["3", "3"]
    assert [fold.title for fold in section(one, "Sinks").blocks] == ["Layer 4", "Layer 5"]
    assert "the first word of a text" in section(one, "Sinks").blocks[0].blocks[-1].lines[0]


def test_studies_of_equal_depth_share_the_layer_and_others_the_depth():
    equal, unequal = charts(ALL["equal"]()), charts(ALL["unequal"]())
    assert equal["baseline"].x.name == "layer"
    assert unequal["baseline"].x.name == "relative depth"
    for chart in unequal.values():
        assert all(-0.05 <= x <= 1.05 for line in chart.marks for x in line.x)
    level = lines(unequal["baseline"])["glove.txt"]
    assert level.x == [0, 1] and level.y[0] == level.y[1], "one layer is a level line"
    assert lines(unequal["baseline"])["distilbert"].notes[-1] == "layer 6"
    ends = lines(unequal["difference_baseline"])["distilbert"]
    assert ends.error_bars and ends.x == pytest.approx([0, 1], abs=0.03) and ends.notes[-1] == "layer 6 against 12"
    assert not equal["difference_baseline"].marks[-1].error_bars
    assert "difference_selfsim" in equal and equal["difference_baseline"].y.zero_line


def test_words_in_few_texts_are_not_named_unless_asked_for():
    one = study(asked=("set",))
    few = np.where(np.arange(len(WORDS)) % 3 == 0, 50, 2)
    rare = replace(one, words=replace(one.words, contexts=few))
    named = {one.words.words[i] for side in extremes(rare, 99) for i in side}
    assert named <= set(WORDS[::3]) and len(named) >= 8
    assert set(charts(rare)["words"].y.categories) == set(WORDS[::3]) | {"set"}


def test_differences_are_in_their_units():
    assert difference_text(found("selfsim", -0.12345, width=0.01)) == ("−0.123", "−0.133 to −0.113")
    assert difference_text(found("rogue_share_3", 0.5, width=0.1)) == (
        "+50.0\u00a0pp",
        "+40.0\u00a0pp to +60.0\u00a0pp",
    )
    assert difference_text(found("norm_mean", -1234.5, width=1))[0].startswith("−1,23")
    assert difference_text(found("baseline", -0.0001, width=0.01))[0] == "0.000"
    assert difference_text(found("baseline", None)) == ("–", "")


def test_differences_that_exclude_zero_are_bold():
    made = ALL["equal"]()
    table = section(made, "Differences").blocks[0]
    for row, name in zip(table.rows, made.differences[0].findings[0], strict=True):
        for cell, findings in zip(row.cells[1:], made.differences[0].findings, strict=True):
            assert cell.strong == (findings[name].low > 0 or findings[name].high < 0)


def test_the_table_of_layers_has_every_measure():
    one = study()
    table = section(one, "All layers").blocks[0]
    rows = [row for row in table.rows if len(row.cells) > 1]
    assert len(rows) == len(one.layers[0].findings) and all(len(row.cells) == 14 for row in rows)
    rogue = next(row for row in rows if row.cells[0].text == "Rogue dimensions")
    assert (rogue.cells[-1].text, rogue.cells[-1].small) == ("6", "308, 381, 92 …")
    assert rogue.cells[-1].hover.startswith("308, 381, 92, 588, 7, 11\n")


def test_measures_by_the_number_of_texts_say_whether_they_move():
    one = study()
    half = [Layer(12, {**one[-1].findings, "mev": found("mev", one[-1].value("mev") + 0.5)})]
    made = replace(one, sizes=[StudySize(500, half), StudySize(1_000, one.layers)])
    (table,) = section(made, "By the number of texts").blocks
    moved = [row.cells[0].text for row in table.rows if row.cells[-1].strong]
    assert moved == [measures("layers")["mev"].title]
    assert section(made, "By the number of texts").brief == [table]


def test_words_are_ordered_by_the_last_layer():
    one = study()
    last = dict(zip(one.words.words, one.words.selfsim[:, -1], strict=True))
    ranked = sorted(last, key=last.get)
    most, least = section(one, "Most and least contextual words").blocks[0].blocks
    assert [row[0] for row in texts(most)] == ranked[:10] and [row[0] for row in texts(least)] == ranked[::-1][:10]
    assert float(texts(most)[0][-1]) == pytest.approx(last[ranked[0]] - one[-1]["baseline"].value, abs=6e-4)
    assert list(charts(one)["words"].y.categories) == ranked[::-1]
    assert extremes(static()) == ([], [])


def test_words_that_the_user_named_come_first():
    named = [f"w{i}" for i in range(500)]
    one = study(named=named, asked=("w400", "w402", "w401"))
    chart = charts(one)["words"]
    assert isinstance(chart.marks[0], Heatmap)
    shown = chart.y.categories
    assert len(shown) == 40 and {"w400", "w402", "w401", "w0", "w1"} <= set(shown)
    assert list(lines(charts(one)["word_mev"])) == ["w400", "w402"], "w401 has no MEV"
    assert len(charts(study(named=named))["word_mev"].marks) == 8


def test_names_distinguish_studies():
    a, b = study(), study(model="other/bert-base-cased")
    assert short_names([a, study(model="m/gpt2")]) == ["bert-base-cased", "gpt2"]
    assert short_names([a, study(corpus="d/snli.txt")]) == ["sts.txt", "snli.txt"]
    assert short_names([a, b]) == ["A bert-base-cased", "B bert-base-cased"]


def test_every_measure_is_defined():
    (facts,) = section(study(), "Definitions").blocks
    entries = {name: measures("layers")[name] for name in study().layers[0].findings}
    assert [name for name, _ in facts.pairs] == [f"{one.title} ({name})" for name, one in entries.items()]
    assert all(text.startswith(one.definition) for (_, text), one in zip(facts.pairs, entries.values(), strict=True))


LONG = [pytest.param(name, marks=pytest.mark.exhaustive) for name in ("shallow", "unequal")]


@pytest.mark.parametrize("name", ["static", "empty", "evil", *LONG])
def test_figures_draw_what_the_page_draws(name, tmp_path):
    made = ALL[name]()
    files = made.save_figures(tmp_path / "figures")
    assert sorted(files) == sorted((tmp_path / "figures").iterdir())
    assert {path.stem for path in files} == set(charts(made)) and len(files) == 3 * len(charts(made))


def test_figures_have_their_numbers(tmp_path):
    one = study(sunk=(3,))
    one.save_figures(tmp_path / "a")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a" / "baseline.csv").read_text())))
    mine = [row for row in rows if row["group"] == one.name]
    assert [float(row["value"]) for row in mine] == one.curve("baseline")
    assert list(rows[0]) == ["group", "series", "layer", "value", "low", "high", "n"]
    assert {row["series"] for row in rows} == {"baseline"} and [row["layer"] for row in mine[:2]] == ["0", "1"]
    assert any("Ethayarajh" in row["group"] for row in rows)
    words = list(csv.DictReader(io.StringIO((tmp_path / "a" / "words.csv").read_text())))
    assert len(words) == len(WORDS) * 13 and {"word", "layer", "SelfSim", "n"} <= set(words[0])


def test_a_wide_range_of_norms_gets_a_logarithmic_axis():
    grown = [Layer(i, {"norm_mean": found("norm_mean", 0.4 * 30.0**i, width=0.01)}) for i in range(3)]
    assert charts(replace(study(3), layers=grown, words=None))["norms"].y.log
    assert not charts(study())["norms"].y.log


def test_figures_appear_all_or_none(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="folder"):
        study(2).save_figures(tmp_path / "file")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, "fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        study(2).save_figures(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_tables_say_the_same_as_csv_and_as_parquet(tmp_path):
    import pyarrow.parquet as pq

    one = evil()
    for make, first in ((word_table, "word"), (sentence_table, "row")):
        text = make(one, tmp_path / "t.csv").decode()
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        table = pq.read_table(io.BytesIO(make(one, tmp_path / "t.PARQUET")))
        assert list(rows[0]) == table.column_names and table.column_names[0] == first
        for row, same in zip(rows, table.to_pylist(), strict=True):
            for name, value in same.items():
                said = None if row[name] == "" else type(value)(row[name])
                assert said == value
    names = pq.read_table(io.BytesIO(word_table(one, tmp_path / "t.parquet"))).column_names
    assert names[:5] == ["word", "kind", "count", "contexts", "selfsim_0"] and names[17:19] == ["mev_n", "mev_0"]
    assert "a text\nof two lines" in sentence_table(one, tmp_path / "s.csv").decode()


def test_tables_refuse_what_they_cannot_write(tmp_path):
    assert table_format(tmp_path / "a.csv") == "csv"
    with pytest.raises(OptionError, match=r"\.csv or \.parquet"):
        word_table(study(2), tmp_path / "words.xlsx")
    for make in (word_table, sentence_table):
        with pytest.raises(OptionError, match="rows are cls"):
            make(study(2, row="cls"), tmp_path / "a.csv")


def test_half_a_surrogate_pair_breaks_no_table(tmp_path):
    one = study(2, named=["\ud800", "b"])
    assert b"?" in word_table(one, tmp_path / "a.csv") and word_table(one, tmp_path / "a.parquet")


def test_a_study_is_light_to_import():
    code = "import sys, uncone.report.documents.layers; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"matplotlib", "plotly", "jinja2", "rich", "pyarrow"}


def test_numbers_that_are_not_known_are_no_numbers():
    one = study(3)
    findings = dict(one.layers[1].findings) | {"baseline": found("baseline", math.nan)}
    gap = replace(one, layers=[one.layers[0], Layer(1, findings), one.layers[2]])
    assert charts(gap)["baseline"].marks[0].y[1] is None
    assert "nan" not in gap.to_text().lower()
    assert ">nan<" not in gap.to_html()


def test_json_is_the_result():
    body = json.loads(study(sunk=(2,)).to_json())
    assert body["schema"] == 1 and len(body["layers"]) == 13 and "deep" not in body
    assert set(json.loads(ALL["equal"]().to_json())) == {"schema", "studies", "differences"}


@pytest.mark.browser
def test_the_page_in_a_browser(assert_page_works):
    assert_page_works(*(ALL[name]() for name in ("unequal", "one", "static", "evil")))
