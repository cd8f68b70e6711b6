"""A map in all renderings: each says what the numbers say, and what strangers wrote stays text."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from report.blocks import EVIL, assert_stays_text
from report.snapshots import assert_wording
from rich.cells import cell_len

from uncone.analysis.projections.results import Coloring, Panel, Texts, Trust
from uncone.report.charts.cloud import category_colors, value_range, view_of
from uncone.report.charts.model import Coloring as CloudColoring
from uncone.report.document import Fold, Table
from uncone.report.documents.map import Map
from uncone.report.documents.map.sentences import marked_words

WORDS = ("bank", "river", "the", "Bank", "café", "𝔘nicode", "42")
KINDS = ("word", "number")


def sentences(n, per=6, start=""):
    """Words in sentences, and where each stands: sentence, first letter, end."""
    rng = np.random.default_rng(5)
    texts, spots = [], []
    while len(spots) < n:
        text = f"{start}😀 " if len(texts) % 3 == 0 else start
        for word in rng.choice(WORDS, per):
            spots.append((len(texts), len(text), len(text) + len(word)))
            text += f"{word} "
        texts.append(text + "end.")
    return texts, np.array(spots[:n])


def build(n=120, dims=2, layers=(4,), names=None, method="tsne", start="", **more):
    rng = np.random.default_rng(0)
    texts, spots = sentences(n, start=start)
    words = [texts[s][a:b] for s, a, b in spots]
    panels = [
        Panel(
            f"layer {layer}" if names is None else names[place],
            rng.normal(size=(n, dims)) * (3, 1, 2)[:dims] + place,
            np.arange(n),
            Trust(0.9 - 0.01 * place, 0.8, 0.4 if method == "pca" else None, 15, n, f"Groups can be read off {place}."),
            layer if names is None else None,
        )
        for place, layer in enumerate(layers)
    ]
    members = np.array([-1 if word == "the" else int(word == "42") for word in words])
    colorings = [
        Coloring("kind", "kind of token", members, KINDS),
        Coloring("frequency", "log-frequency", values=np.where(np.arange(n) % 10 == 0, np.nan, rng.normal(size=n))),
        Coloring("position", "position", values=np.arange(n) % 6.0),
    ]
    given = {
        "source": {"name": "data/wiki.txt", "kind": "lines", "rows": 500, "dimensions": 64, "dtype": "float32",
                   "model": "models/tiny", "row": "words"},
        "method": method,
        "dims": dims,
        "panels": panels,
        "places": np.sort(rng.choice(500, n, replace=False)),
        "texts": Texts(texts, *spots.T),
        "colorings": colorings,
        "total": 500,
        "seed": 7,
        "notes": ["2 texts were cut.", ""],
        "provenance": {"uncone": "0.0", "seed": 7},
    }  # fmt: skip
    return Map(**(given | more))


@pytest.fixture(scope="module")
def found():
    return build()


@pytest.fixture(scope="module")
def evil():
    texts = Texts([EVIL] * 3, np.arange(120) % 3, np.zeros(120, int), np.full(120, 9))
    panels = [replace(one, name=EVIL, trust=replace(one.trust, sentence=EVIL)) for one in build().panels]
    colorings = [Coloring(EVIL, EVIL, np.zeros(120, int), [EVIL])]
    source = {"name": EVIL, "rows": 500, "dimensions": 64, "model": EVIL, "row": EVIL, "repair": EVIL}
    return build(texts=texts, panels=panels, colorings=colorings, source=source, notes=[EVIL], highlight=[EVIL],
                 provenance={EVIL: EVIL}, written={EVIL: EVIL})  # fmt: skip


def held(page):
    start = re.search(r'data-cloud>\s*<script type="application/json">(.*?)</script>', page, re.DOTALL)
    return json.loads(start[1])


def unpacked(packed):
    kinds = {"u1": "<u1", "u2": "<u2", "u4": "<u4", "f4": "<f4"}
    return np.frombuffer(base64.b64decode(packed["bdata"]), kinds[packed["dtype"]]).astype(float)


def section(result, name):
    return next(one for one in result.document().sections if one.title == name)


def test_the_headline_says_how_many_rows_by_what(found):
    assert found.headline == "120 of 500 words by t-SNE in 2 dimensions, layer 4, seed 7."
    assert build(total=120).headline == "All 120 words by t-SNE in 2 dimensions, layer 4, seed 7."
    assert "layers 0 to 2" in build(layers=(0, 1, 2)).headline
    assert "layers 0, 2" in build(layers=(0, 2)).headline
    both = build(layers=(0, 1), names=("raw", "repaired"), source={**found.source, "layer": "-1"})
    assert "layer -1, raw and repaired" in both.headline
    assert "500 vectors" in build(source={"name": "v.npy"}).headline


def test_the_lines_tell_trust_colors_and_marked_words(found):
    lines = found.lines()
    assert lines[0] == "Groups can be read off 0."
    counts = [found.texts.sentences[s][a:b] for s, a, b in zip(*_spots(found), strict=True)]
    n, other = counts.count("42"), counts.count("the")
    assert f"Colored by kind of token: word ({120 - n - other}), number ({n}), others ({other})." in lines
    both = build(layers=(0, 1)).lines()
    assert both[:2] == ["Layer 0: Groups can be read off 0.", "Layer 1: Groups can be read off 1."]
    many = build(layers=range(5)).lines()[0]
    assert "0.86 (layer 4) to 0.90 (layer 0)" in many
    marked = build(highlight=["bank", "shore"]).lines()[-1]
    assert marked == f"Marked: bank ({sum(one.lower() == 'bank' for one in counts)}). Not among the points: shore."


def _spots(found):
    return found.texts.sentence, found.texts.starts, found.texts.ends


def test_marks_are_found_whatever_the_case_and_in_whole_texts():
    made = build(highlight=["river", "BANK"])
    expected = [{"river": 0, "bank": 1}.get(made.text(i).lower(), -1) for i in range(120)]
    assert marked_words(made).tolist() == expected
    whole = build(highlight=["river"], texts=Texts(["a river, wide", "no", "River"], np.arange(120) % 3))
    assert marked_words(whole).tolist() == [0, -1, 0] * 40
    own = Coloring("words", "word list", np.full(120, 1), ("river", "BANK"))
    assert (marked_words(replace(made, colorings=[own])) == 1).all(), "those that the map was made with are taken"
    label = Coloring("label", "label", np.full(120, 1), ("river", "BANK"))
    assert marked_words(replace(made, colorings=[label])).tolist() == expected, (
        "labels that are called as words are no words"
    )


def test_the_next_command_is_one_that_exists(found):
    assert found.suggestion == "uncone layers models/tiny --corpus data/wiki.txt --deep"
    texts = {**found.source, "row": "sentences", "layer": "1,-1", "pooling": "cls", "text": ["a b"]}
    told = build(source=texts).suggestion
    assert told == "uncone check data/wiki.txt --text 'a b' --model models/tiny --layer 1,-1 --pooling cls"
    assert build(source={**texts, "layer": "all"}).suggestion.endswith("--text 'a b' --rows sentences --deep")
    assert build(source={"name": "v.npz", "column": "x"}).suggestion == "uncone check v.npz --column x"
    tensor = {"name": "v.safetensors", "tensor": "wte.weight"}
    assert build(source=tensor).suggestion == "uncone check v.safetensors --tensor wte.weight"
    few = {**texts, "prompt": "query: ", "limit": 30}
    assert build(source=few).suggestion.endswith("--pooling cls --prompt 'query: ' --limit 30")
    some = {**found.source, "limit": 30, "sample": 20}
    assert build(source=some).suggestion.endswith("data/wiki.txt --limit 30 --sample 20 --deep")
    assert build(source={"name": "array", "kind": "array"}).suggestion is None
    assert build(source={"name": "v", "in_memory": True}).suggestion is None


def test_the_dictionary_has_numbers_and_no_points(found):
    plain = json.loads(found.to_json())
    assert plain["schema"] == 1 and plain["shown"] == 120 and plain["total"] == 500
    assert plain["panels"][0]["trust"]["trustworthiness"] == 0.9 and "coordinates" not in plain["panels"][0]
    kinds, frequency, _ = plain["colorings"]
    members = found.colorings[0].members
    assert kinds["counts"] == {"word": int((members == 0).sum()), "number": int((members == 1).sum())}
    assert kinds["unknown"] == int((members == -1).sum())
    assert frequency["unknown"] == 12 and frequency["low"] == np.nanmin(found.colorings[1].values)
    points = json.loads(found.to_json(points=True))["panels"][0]
    np.testing.assert_allclose(points["coordinates"], found.panels[0].points, atol=1e-5)
    assert points["rows"] == found.places.tolist()
    assert len(found.to_json()) < 6_000


def test_the_points_of_the_page_are_those_of_the_map():
    for made in (build(), build(dims=3, method="pca")):
        points, panel = made.panels[0].points, held(made.to_html())["figures"][0][0]
        codes = unpacked(panel["points"]).reshape(points.shape)
        placed = (codes / 32_767.5 - 1) * panel["points"]["reach"]
        low, high = points.min(axis=0), points.max(axis=0)
        half = (high - low).max() / 2
        np.testing.assert_allclose(placed, (points - (low + high) / 2) / half, atol=2e-5)
        np.testing.assert_allclose(panel["sides"], (high - low) / 2 / half, atol=1e-5)
        assert panel["places"] is None and panel["stamp"].endswith("120 of 500 words · seed 7")


def test_far_points_are_left_out_of_the_first_view_but_kept():
    rng = np.random.default_rng(3)
    points = np.concatenate([rng.normal(size=(400, 2)), [[300.0, 0.0], [0.0, -500.0]]])
    middle, sides, outside = view_of(points)
    assert outside >= 2 and sides.max() < 6
    _, whole, none = view_of(points[:400])
    assert none == 0 and whole.max() == pytest.approx(np.ptp(points[:400], axis=0).max() / 2)
    made = build(n=402, panels=[Panel("x", points, np.arange(402), build().panels[0].trust)], total=402)
    page = made.to_html()
    placed = unpacked(held(page)["figures"][0][0]["points"]).reshape(-1, 2)
    np.testing.assert_allclose(placed, (points - middle) / sides.max(), rtol=1e-5, atol=1e-6)
    assert f"{outside} points lie outside at first: zoom out." in page


def test_a_view_of_equal_points_or_of_none_is_no_division_by_zero():
    for points in (np.zeros((5, 2)), np.zeros((0, 3)), np.ones((1, 2))):
        _, sides, outside = view_of(points)
        assert (sides > 0).all() and outside == 0
    _, sides, _ = view_of(np.stack([np.arange(9.0), np.zeros(9)], axis=1))
    assert sides.tolist() == [4.0, 0.08]


def utf16(text, start, length):
    return text.encode("utf-16-le")[2 * start : 2 * (start + length)].decode("utf-16-le")


@pytest.mark.parametrize("start", ["", "𝔘 long before " * 60])
def test_each_point_finds_its_word_as_a_browser_counts_letters(start):
    made = build(start=start)
    texts = held(made.to_html())["texts"]
    sentence, begins, lengths = (unpacked(texts[key]).astype(int) for key in ("sentence", "starts", "lengths"))
    words = [utf16(texts["sentences"][s], a, n) for s, a, n in zip(sentence, begins, lengths, strict=True)]
    assert words == [made.text(i) for i in range(120)]
    assert max(map(len, texts["sentences"])) <= 400 and texts["sentences"][0].startswith("…") == bool(start)


def test_sentences_stand_once_and_only_those_that_are_used():
    texts, spots = sentences(120)
    made = build(texts=Texts([*texts, "never shown"], *spots.T))
    kept = held(made.to_html())["texts"]["sentences"]
    assert len(kept) == len(texts) and "never shown" not in kept
    whole = build(texts=Texts(["x" * 5_000, "short"], np.arange(120) % 2))
    assert [len(one) for one in held(whole.to_html())["texts"]["sentences"]] == [401, 5]
    assert held(build(texts=None).to_html())["texts"] is None


def test_colors_of_the_page_are_those_of_the_points(found):
    kinds, frequency, position = held(found.to_html())["colorings"]
    members = unpacked(kinds["codes"][0])
    assert np.where(members == 255, -1, members).tolist() == found.colorings[0].members.tolist()
    assert kinds["names"] == ["word", "number", "unknown"] and sum(kinds["counts"]) == 120
    codes, values = unpacked(frequency["codes"][0]), found.colorings[1].values
    assert ((codes == 65_535) == np.isnan(values)).all()
    shown = frequency["least"] + codes * frequency["step"]
    np.testing.assert_allclose(shown[codes < 65_535], values[~np.isnan(values)], atol=1e-4)
    assert position["step"] == 1 and unpacked(position["codes"][0]).tolist() == found.colorings[2].values.tolist()


def test_what_differs_by_picture_is_held_by_picture():
    rng = np.random.default_rng(0)
    names, places = ("layer 0", "layer 1"), [np.arange(0, 120, 2), np.arange(120)]
    members = {name: rng.integers(-1, 3, 120) for name in names}
    norms = {name: rng.normal(size=120) for name in names}
    cluster = Coloring("cluster", "cluster", members["layer 0"], ("a", "b", "c"), by_panel=members)
    norm = Coloring("norm", "norm", values=norms["layer 0"], values_by_panel=norms)
    made = build(layers=(0, 1), colorings=[cluster, norm])
    panels = [replace(p, points=p.points[at], places=at) for p, at in zip(made.panels, places, strict=True)]
    made = replace(made, panels=panels)
    store = held(made.to_html())
    assert unpacked(store["figures"][0][0]["places"]).tolist() == places[0].tolist()
    frame = made.points_frame()
    for k, name in enumerate(names):
        codes = unpacked(store["colorings"][0]["codes"][k])
        assert np.where(codes == 255, -1, codes).tolist() == members[name].tolist()
        numbers = unpacked(store["colorings"][1]["codes"][k]) * store["colorings"][1]["step"]
        np.testing.assert_allclose(store["colorings"][1]["least"] + numbers, norms[name], atol=1e-3)
        part = frame[frame["panel"] == name]
        np.testing.assert_array_equal(part["norm"], norms[name][places[k]])
        assert part["row"].tolist() == made.places[places[k]].tolist()
    assert store["colorings"][0]["counts"] is None
    every = np.concatenate(list(norms.values()))
    assert store["colorings"][1]["low"] == pytest.approx(np.quantile(every, 0.01)), "one scale for all pictures"
    (fold, _) = section(made, "Colors").blocks
    a = fold.blocks[0].rows[0]
    assert [cell.text for cell in a.cells[1:]] == [
        str((members[n][at] == 0).sum()) for n, at in zip(names, places, strict=True)
    ]
    assert json.loads(made.to_json())["colorings"][0]["by_panel"]["layer 1"]["a"] == int(
        (members["layer 1"] == 0).sum()
    )


def test_the_frame_has_words_and_colors(found):
    frame = found.points_frame()
    assert list(frame["word"]) == [found.text(i) for i in range(120)]
    np.testing.assert_array_equal(frame[["x", "y"]], found.panels[0].points)
    np.testing.assert_array_equal(frame["frequency"], found.colorings[1].values)
    assert list(frame["kind"].fillna("none")) == ["none" if k < 0 else KINDS[k] for k in found.colorings[0].members]


def test_many_categories_have_colors_of_their_own_and_then_gray():
    colors = category_colors(30)
    assert len(set(colors[:21])) == 21 and set(colors[21:]) == {"#8a949e"}
    assert all(re.fullmatch("#[0-9A-Fa-f]{6}", one) for one in colors)


def test_a_few_extreme_numbers_do_not_take_all_colors():
    values = np.concatenate([np.linspace(0, 1, 1000), [1e6], [np.nan]])
    assert value_range(CloudColoring("x", values=values))[1] < 2
    assert value_range(CloudColoring("x", values=np.full(4, np.nan))) == (0, 1)
    assert value_range(CloudColoring("x", values=np.full(300, 2.0))) == (2, 3)
    made = build(colorings=[Coloring("x", "x", values=np.full(120, 2.0))])
    assert held(made.to_html())["colorings"][0]["step"] == 1
    cells = [cell.text for cell in section(made, "Colors").blocks[0].rows[0].cells]
    assert cells == ["x", "2", "2", "120", "0"]


def test_what_strangers_wrote_stays_text(found, evil):
    assert_stays_text(evil, found)
    assert held(evil.to_html())["texts"]["sentences"] == [EVIL]
    assert "\x1b" not in evil.to_text()
    for line in evil.to_markdown().splitlines():
        assert "<" not in line.replace("\\<", "") or line.startswith("    "), line


def test_the_page_fetches_nothing_and_has_no_plotly(found):
    page = found.to_html()
    assert len(page) < 140_000 and "plotly.js" not in page
    assert not re.search(r'(?:src|href)="(?!data:)[^"#]', page)
    assert found.headline in page and "Groups can be read off 0." in page


def test_half_a_surrogate_pair_is_no_end_of_the_world():
    made = build(texts=Texts(["bad \ud800 text"], np.zeros(120, int)))
    assert "bad ? text" in held(made.to_html().encode("utf-8").decode("utf-8"))["texts"]["sentences"][0]


def test_the_terminal_fits_a_screen():
    made = build(layers=range(25), highlight=["bank"], notes=["a", "b", "c", "d"])
    lines = made.to_text().splitlines()
    assert len(lines) <= 40 and max(map(cell_len, lines)) <= 80
    (brief,) = section(made, "How far to trust it").brief
    assert len(brief.rows) == 14 and len(brief.remarks) == 1
    assert section(made, "Notes").brief[0].most == 2
    assert any(line.startswith("  next    uncone layers") for line in lines)
    wide = build(source={**made.source, "name": "漢字" * 40}, notes=["漢字" * 60])
    assert max(cell_len(line) for line in wide.to_text().splitlines() if "uncone layers" not in line) <= 80
    few = section(build(layers=range(3)), "How far to trust it")
    assert not few.brief and few.blocks, "what sentences say is not printed again"


def test_every_rendering_holds(found, evil, assert_renderings):
    for made in (found, evil, build(layers=range(25)), build(dims=3, method="pca", layers=(1, 2))):
        assert_renderings(made)


@pytest.mark.parametrize("name", ["one", "layers"])
def test_wording(name):
    made = {
        "one": build(written={"report": "a.html"}, highlight=["bank", "shore"]),
        "layers": build(layers=range(5), method="pca", dims=3, texts=None),
    }[name]
    assert_wording(f"map_{name}", made)


def test_figures_are_written_for_every_picture(tmp_path):
    pytest.importorskip("matplotlib")
    written = build(layers=(0, 1)).save_figures(tmp_path / "figures")
    assert {path.name for path in written} == {f"map-tsne-{k}.{end}" for k in (1, 2) for end in ("svg", "png", "csv")}


def test_no_line_ends_before_a_per_cent():
    made = build(method="pca", layers=range(2))
    told = replace(made.panels[0].trust, explained=0.67, sentence="The axes hold 67 % of it.")
    page = replace(made, panels=[replace(one, trust=told) for one in made.panels]).to_html()
    assert page.count("67\u00a0% of") >= 4 and "hold 67 %" not in page.split("<figure>")[0].split("<h1>")[1]


def test_svd_holds_length_and_not_variance():
    made = build(method="svd", layers=range(4))
    panels = [replace(one, trust=replace(one.trust, explained=0.5)) for one in made.panels]
    made = replace(made, panels=panels)
    for text in (made.to_html(), made.to_markdown(), made.to_text()):
        assert "squared length" in text and "variance" not in text
    assert "variance" in replace(made, method="pca").to_text()


def test_the_document_has_trust_and_counts(found):
    made = build(method="pca")
    (trust,) = section(made, "How far to trust it").blocks
    assert [cell.text for cell in trust.rows[0].cells] == ["layer 4", "120", "0.900", "0.800", "40.0 %", "120"]
    kinds, numbers = section(made, "Colors").blocks
    members = found.colorings[0].members
    assert isinstance(kinds, Fold) and isinstance(numbers, Table)
    counted = {row.cells[0].text: row.cells[1].text for row in kinds.blocks[0].rows}
    assert counted == {name: str((members == k).sum()) for k, name in ((0, "word"), (1, "number"), (-1, "unknown"))}
    assert [cell.text for cell in numbers.rows[0].cells[3:]] == ["108", "12"]
    assert "layer 4" in found._repr_html_() and "<script" not in found._repr_html_()
    assert repr(found) == f"<Map data/wiki.txt: {found.headline}>"


def test_a_map_without_anything_known_is_still_a_map():
    bare = build(texts=None, colorings=[], notes=[], source={"name": "v.npy"}, highlight=["a"])
    page = bare.to_html()
    assert "Color by" not in page and 'type="search"' not in page
    assert bare.text(3) == f"row {bare.places[3]:,}" and "uncone check v.npy" in bare.to_text()
    assert list(bare.points_frame()) == ["panel", "row", "x", "y"]
    nothing = Trust(None, None, None, 0, 2, "")
    few = replace(bare, panels=[replace(bare.panels[0], trust=nothing)])
    assert few.lines()[0].startswith("It preserves neighborhoods") and "– | – | –" in few.to_markdown()
