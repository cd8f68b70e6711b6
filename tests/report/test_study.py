"""A study of layers in all its renderings: each draws what is there, and none is broken by what is not."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from rich.console import Console

from uncone.diagnosis.contrast import Contrast
from uncone.diagnosis.finding import Finding
from uncone.diagnosis.layer import Layer, SentenceTable, WordTable
from uncone.diagnosis.measures.registry import families, measures
from uncone.diagnosis.published import published_curves
from uncone.errors import OptionError, OutputError
from uncone.report import write
from uncone.report.figures import write_figures
from uncone.report.study import LayerComparison, LayerStudy
from uncone.report.study_charts import charts
from uncone.report.study_lines import difference, extremes, short_names
from uncone.report.study_terminal import print_study
from uncone.report.tables import sentence_table, table_format, word_table

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)> | *b* `c` $\\frac \x1b[31m"
CONTEXTUAL = [name for family in families("layers") if "words" in family.needs for name in family.names]
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
        asked=asked,
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


def printed(made, width=80):
    console = Console(width=width, no_color=True)
    with console.capture() as capture:
        print_study(made.parts, made.contrasts, console)
    return capture.get()


def drawn(made):
    return {chart["id"]: chart for chart in charts(made.parts, made.contrasts)}


def test_every_study_has_every_rendering(made):
    page = made.to_html()
    assert page.count("plotly.js v") == 1
    assert all(f'id="chart-{name}"' in page for name in drawn(made))
    assert made.to_markdown().startswith("## ")
    assert made._repr_html_().count("<table>") == len(made.parts)
    json.loads(made.to_json(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_the_page_fetches_nothing_and_shows_no_markup_of_others():
    page = evil().to_html()
    without_plotly = re.sub(r"<script>/\*\*.*?</script>", "", page, flags=re.S)
    assert not re.search(r"(src|href)=[\"']?(http|//)", without_plotly)
    for text in (page, evil()._repr_html_()):
        assert "<img src=x" not in text and "<script>alert" not in text and "<b>bold" not in text
    for chart in charts([evil()], []):
        shown = json.dumps([chart["data"], chart["layout"]])
        assert "<b>bold" not in shown and "<script" not in shown, "plotly reads a little HTML"


def test_terminal_and_markdown_cannot_be_commanded():
    assert "\x1b" not in printed(evil()) and "\x1b" not in evil().to_markdown()
    assert "<script>" not in evil().to_markdown().replace("\\<", "")


def test_terminal_fits(made):
    lines = printed(made).splitlines()
    assert max(map(len, lines)) <= 78
    assert len(lines) <= (44 if len(made.parts) == 1 else 50)


def test_terminal_says_the_story_first_and_a_line_per_layer():
    text = printed(study(sunk=(4, 5)))
    assert text.index("Random words grow alike") < text.index("layer  baseline") < text.index("most contextual")
    assert [int(line.split()[0].rstrip("*")) for line in text.splitlines() if re.match(r" +\d+[ *] +\d", line)] == [
        *range(13)
    ]
    assert "4*" in text and "sinks in 2 layers: up to 3 rows" in text and "6*" not in text
    assert "20 of 49 layers" in printed(ALL["deep"]())
    assert "selfsim" not in printed(study(row="cls")) and "rogue" in printed(study(row="cls"))


def test_terminal_of_several_ends_with_the_last_layers():
    text = printed(ALL["unequal"]())
    assert "distilbert minus bert-base-cased, layers 6 and 12" in text
    assert text.count("layer  baseline") == 3


def test_curves_are_drawn_through_the_numbers():
    one = study()
    chart = drawn(one)["selfsim"]
    lines = {line["name"]: line for line in chart["data"] if "name" in line}
    assert set(lines) == {"adjusted", "raw", "random words", "raw, published"}
    assert lines["adjusted"]["y"] == [pytest.approx(layer["selfsim_adjusted"].value, rel=1e-5) for layer in one.layers]
    assert lines["adjusted"]["x"] == list(range(13))
    band = next(line for line in chart["data"] if line.get("fill") == "toself")
    assert len(band["y"]) == 26 and band["y"][0] > lines["adjusted"]["y"][0] > band["y"][-1]


def test_only_what_is_there_is_drawn():
    assert list(drawn(study())) == [
        *("baseline", "selfsim", "intrasim", "mev", "word_mev", "words", "types"),
        *("isoscore", "partition", "rogue", "norms", "mean"),
    ]
    assert list(drawn(study(row="cls"))) == ["baseline", "isoscore", "partition", "rogue", "norms", "mean"]
    assert list(drawn(static())) == ["measures"]
    assert list(drawn(empty())) == []


def test_labels_stand_apart_and_inside(made):
    for chart in drawn(made).values():
        labels = [one for one in chart["layout"].get("annotations", []) if "ay" in one]
        if not labels:
            continue
        low, high = chart["layout"]["yaxis"]["range"]
        height = 276 if chart["wide"] else 236
        places = sorted(height * (one["y"] - low) / (high - low) - one["ay"] for one in labels)
        assert all(after - before > 15.5 for before, after in pairwise(places))
        assert places[0] > -1 and places[-1] < height + 1


def test_pairs_of_charts_leave_no_hole(made):
    row = 0
    for chart in charts(made.parts, made.contrasts):
        assert not (chart["wide"] and row), "a wide chart after half a row"
        row = 0 if chart["wide"] else 1 - row
    assert row == 0


def test_studies_of_equal_depth_share_the_layer_and_others_the_depth():
    equal, unequal = drawn(ALL["equal"]()), drawn(ALL["unequal"]())
    assert equal["baseline"]["layout"]["xaxis"]["title"]["text"] == "layer (0 = embeddings)"
    assert "relative depth" in unequal["baseline"]["layout"]["xaxis"]["title"]["text"]
    for chart in unequal.values():
        assert all(-0.05 <= x <= 1.05 for line in chart["data"] for x in line["x"])
    level = next(line for line in unequal["baseline"]["data"] if line.get("name") == "glove.txt")
    assert level["x"] == [0, 1] and level["y"][0] == level["y"][1], "one layer is a level line"
    ends = next(line for line in unequal["difference_baseline"]["data"] if line.get("name") == "distilbert")
    assert (
        ends["mode"] == "markers"
        and ends["x"] == pytest.approx([0, 1], abs=0.03)
        and len(ends["error_y"]["array"]) == 2
    )
    assert equal["difference_baseline"]["data"][-1]["mode"] == "lines+markers"
    assert "difference_selfsim" in equal and equal["difference_baseline"]["layout"]["yaxis"]["zeroline"]


def test_words_in_few_texts_are_not_named_unless_asked_for():
    one = study(asked=("set",))
    few = np.where(np.arange(len(WORDS)) % 3 == 0, 50, 2)
    table = WordTable(**{**one.words.__dict__, "contexts": few})
    rare = LayerStudy(**{**one.__dict__, "words": table})
    named = {line.word for side in extremes(rare, 99) for line in side}
    assert named <= set(WORDS[::3]) and len(named) >= 8
    heat = set(drawn(rare)["words"]["layout"]["yaxis"]["ticktext"])
    assert heat == set(WORDS[::3]) | {"set"}


def test_differences_are_said_in_their_units():
    assert difference(found("selfsim", -0.12345, width=0.01)) == "−0.123 (−0.133 to −0.113)"
    assert difference(found("rogue_share_3", 0.5, width=0.1)) == "+50.0\u00a0pp (+40.0\u00a0pp to +60.0\u00a0pp)"
    assert difference(found("norm_mean", -1234.5, width=1)).startswith("−1,23")
    assert difference(found("baseline", -0.0001, width=0.01)).startswith("0.000 (")
    assert difference(found("baseline", None)) == "–"


def test_words_are_ordered_by_the_last_layer():
    one = study()
    most, least = extremes(one, 5)
    last = dict(zip(one.words.words, one.words.selfsim[:, -1], strict=True))
    ranked = sorted(last, key=last.get)
    assert [line.word for line in most] == ranked[:5] and [line.word for line in least] == ranked[::-1][:5]
    assert float(most[0].adjusted) == pytest.approx(last[ranked[0]] - one[-1]["baseline"].value, abs=6e-4)
    heat = drawn(one)["words"]["layout"]["yaxis"]["ticktext"]
    assert heat == ranked
    assert extremes(static()) == ([], [])


def test_asked_words_come_first():
    named = [f"w{i}" for i in range(500)]
    one = study(named=named, asked=("w400", "w402", "w401"))
    shown = drawn(one)["words"]["layout"]["yaxis"]["ticktext"]
    assert len(shown) == 40 and {"w400", "w402", "w401", "w0", "w1"} <= set(shown)
    lines = [line["name"] for line in drawn(one)["word_mev"]["data"]]
    assert lines == ["w400", "w402"], "w401 has no MEV"
    assert len(drawn(study(named=named))["word_mev"]["data"]) == 8


def test_names_tell_studies_apart():
    a, b = study(), study(model="other/bert-base-cased")
    assert short_names([a, study(model="m/gpt2")]) == ["bert-base-cased", "gpt2"]
    assert short_names([a, study(corpus="d/snli.txt")]) == ["sts.txt", "snli.txt"]
    assert short_names([a, b]) == ["A bert-base-cased", "B bert-base-cased"]


def test_every_measure_of_the_page_is_defined():
    page = study().to_html()
    for name in study().layers[0].findings:
        known = measures("layers")[name]
        assert f"<code>{name}</code>" in page
        assert known.title in page


@pytest.mark.parametrize("name", ["static", "empty", "evil", "shallow", "unequal"])
def test_figures_draw_what_the_page_draws(name, tmp_path):
    made = ALL[name]()
    files = write_figures(made.parts, made.contrasts, tmp_path / "figures")
    assert sorted(files) == sorted((tmp_path / "figures").iterdir())
    assert {path.stem for path in files} == set(drawn(made)) and len(files) == 3 * len(drawn(made))


def test_figures_are_the_same_every_time_and_have_their_numbers(tmp_path):
    one = study(sunk=(3,))
    files = write_figures([one], [], tmp_path / "a")
    assert {path.suffix for path in files} == {".svg", ".png", ".csv"}
    again = write_figures([one], [], tmp_path / "b")
    for first, second in zip(files, again, strict=True):
        assert first.read_bytes() == second.read_bytes(), first.name
    assert b"<dc:date>" not in (tmp_path / "a" / "baseline.svg").read_bytes()
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a" / "baseline.csv").read_text())))
    mine = [row for row in rows if row["study"] == one.name]
    assert [float(row["value"]) for row in mine] == one.curve("baseline")
    assert list(rows[0]) == ["study", "layer", "measure", "value", "low", "high", "n"]
    assert any("Ethayarajh" in row["study"] for row in rows)
    words = list(csv.DictReader(io.StringIO((tmp_path / "a" / "words.csv").read_text())))
    assert len(words) == len(WORDS) * 13 and {"word", "layer", "value"} <= set(words[0])


def test_a_wide_range_of_norms_gets_a_logarithmic_axis_with_plain_numbers(tmp_path):
    one = study(3)
    grown = [Layer(i, {"norm_mean": found("norm_mean", 0.4 * 30.0**i, width=0.01)}) for i in range(3)]
    wide = LayerStudy(**{**one.__dict__, "layers": grown, "words": None})
    assert drawn(wide)["norms"]["layout"]["yaxis"]["type"] == "log"
    write_figures([wide], [], tmp_path / "figures")
    text = (tmp_path / "figures" / "norms.svg").read_text()
    assert "<!-- 100 -->" in text and "math" not in text


def test_figures_appear_all_or_none(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="folder"):
        write_figures([study(2)], [], tmp_path / "file")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write.os, "fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        write_figures([study(2)], [], tmp_path / "new")
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
    code = "import sys, uncone.report.study; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"matplotlib", "plotly", "jinja2", "rich", "pyarrow"}


def test_numbers_that_are_not_known_are_no_numbers():
    one = study(3)
    findings = dict(one.layers[1].findings) | {"baseline": found("baseline", math.nan)}
    gap = LayerStudy(**{**one.__dict__, "layers": [one.layers[0], Layer(1, findings), one.layers[2]]})
    assert "nan" not in printed(gap).lower()
    assert "NaN" not in json.dumps(charts([gap], []))
    assert ">nan<" not in gap.to_html()


@pytest.mark.browser
@pytest.mark.parametrize("name", ["one", "static", "evil", "unequal"])
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
    assert page.locator("h1").first.is_visible()
    assert page.locator("h1").first.inner_text() == made.parts[0].story[0]
    plots = page.locator(".chart")
    assert plots.count() == len(drawn(made))
    for place in range(plots.count()):
        plots.nth(place).scroll_into_view_if_needed()
        plots.nth(place).locator(".main-svg").first.wait_for(timeout=15_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
    cut = "[...document.querySelectorAll('.annotation-text')].filter((label) => label.getBoundingClientRect().right > "
    cut += "label.closest('.chart').getBoundingClientRect().right + 1).map((label) => label.textContent)"
    assert page.evaluate(cut) == [], "a label is cut off"
    with page.expect_download() as download:
        page.locator("#download").click()
    assert json.loads(download.value.path().read_text())["schema"] == 1
    assert errors == []
    page.close()
