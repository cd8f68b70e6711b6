"""Clouds in a real browser: drawn by WebGL, turned, pointed at, searched; no errors, readable on a phone."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from uncone.analysis.projections.results import Coloring, Panel, Texts, Trust
from uncone.report.documents.map import Map

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(shutil.which("chromium") is None, reason="Debian's chromium is not installed"),
]
TRUST = Trust(0.9, 0.8, None, 15, 2_000, "Groups can be read off.")
LOST = "HTMLCanvasElement.prototype.getContext = (old => function (kind, ...more) { return kind === 'webgl' ? null : old.call(this, kind, ...more); })(HTMLCanvasElement.prototype.getContext);"  # noqa: E501


def build(points, panels=("layer 1",), **more):
    n, dims = points.shape
    sentences = [f"<b>sentence</b> {k} 😀 has word{k} inside" for k in range(n)]
    starts = np.array([text.index("word") for text in sentences])
    ends = np.array([text.index(" inside") for text in sentences])
    given = {
        "source": {"name": "corpus.txt", "kind": "lines", "dimensions": 64, "model": "tiny", "row": "words"},
        "method": "tsne",
        "dims": dims,
        "panels": [Panel(name, np.roll(points, 3 * k, axis=0), np.arange(n), TRUST) for k, name in enumerate(panels)],
        "places": np.arange(n) * 2,
        "texts": Texts(sentences, np.arange(n), starts, ends),
        "colorings": [
            Coloring("kind", "kind", np.arange(n) % 3 - 1, ("one", "two")),
            Coloring("frequency", "log-frequency", values=np.linspace(-9, 0, n)),
            Coloring(
                "cluster", "cluster", np.zeros(n, int), ("x", "y"), by_panel={p: np.arange(n) % 2 for p in panels}
            ),
        ],
        "total": 10 * n,
        "seed": 3,
        "notes": [],
        "provenance": {},
    }
    return Map(**(given | more))


def clouds(n, dims):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, dims)) + 6 * rng.normal(size=(5, dims))[np.arange(n) % 5]


CORNERS = np.array([[-4.0, -2.0], [4.0, -2.0], [-4.0, 2.0], [4.0, 2.0], [0.0, 0.0], [1.0, 1.0]])


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("maps")
    made = {
        "plane": build(clouds(20_000, 2)),
        "space": build(clouds(20_000, 3)),
        "corners": build(CORNERS, highlight=["word4"]),
        "sides": build(CORNERS, panels=("raw", "repaired")),
        "layers": build(clouds(900, 2), panels=[f"layer {k}" for k in range(9)]),
    }
    for name, one in made.items():
        (folder / f"{name}.html").write_text(one.to_html())
    return folder


@pytest.fixture
def opened(open_page, pages):
    """A function that opens the page of a map, and waits for its first picture."""

    def open_map(name, width=1200, scheme="light", script=None):
        page = open_page(pages / f"{name}.html", scheme, width, script)
        page.locator(".plot[data-drawn]").first.wait_for()
        page.locator(".plot").first.scroll_into_view_if_needed()
        return page

    return open_map


def colors(page, place=0):
    """How many dots of the canvas are drawn, and their colors."""
    return page.evaluate(
        """(place) => { const base = document.querySelectorAll(".plot")[place].querySelector("canvas");
        const data = base.getContext("2d").getImageData(0, 0, base.width, base.height - 40).data, seen = {};
        for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 120) { const key = [data[i] >> 5, data[i + 1] >> 5, data[i + 2] >> 5].join(); seen[key] = (seen[key] || 0) + 1; }
        return seen; }""",  # noqa: E501
        place,
    )


def settled(page, place=0):
    """How often a picture was drawn, after all that was done to the page: it draws a last time after 200 ms of rest.

    The page itself counts the time, so that it does not matter how busy the machine is.
    """
    page.evaluate(
        "new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 250))"
    )
    return int(page.locator(".plot").nth(place).get_attribute("data-drawn"))


@pytest.mark.parametrize("name", ["plane", "space", "layers", "sides"])
@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 390)])
def test_the_page(opened, name, scheme, width):
    page = opened(name, width, scheme)
    assert page.locator("h1").is_visible() and page.evaluate("document.documentElement.dataset.painter") == "webgl"
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
    for place in range(page.locator(".plot").count()):
        page.locator(f"figure:nth-of-type({place + 1}) .plot[data-drawn]").wait_for()
        assert sum(colors(page, place).values()) > 100, "points are on the picture"


def test_a_map_in_space_turns_by_mouse_and_keys(opened):
    page = opened("space")
    plot, before = page.locator(".plot").nth(0), colors(page)
    frames = settled(page)
    frame = plot.bounding_box()
    x, y = frame["x"] + frame["width"] / 2, frame["y"] + 200
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 90, y + 40, steps=6)
    page.mouse.up()
    assert settled(page) > frames
    turned = colors(page)
    assert turned != before
    plot.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("+")
    settled(page)
    assert colors(page) != turned
    page.keyboard.press("0")
    settled(page)
    assert colors(page) == before, "0 shows it as it was"


def where(page, point, place=0):
    """The pixel of a corner, computed anew: both axes have one scale, with room for the lines above and below."""
    frame = page.locator(".plot").nth(place).bounding_box()
    wide, tall = frame["width"] - 2, frame["height"] - 2
    scale = min(0.94 * wide / 8, (tall - 44) / 4)
    x, y = CORNERS[point]
    return frame["x"] + 1 + wide / 2 + scale * x, frame["y"] + 1 + tall / 2 - scale * y


@pytest.mark.parametrize("width", [1200, 390])
def test_the_box_of_a_map_in_space_stays_on_the_picture(opened, width):
    page = opened("space", width)
    settled(page)
    lowest = page.evaluate(
        """() => { const base = document.querySelector(".plot canvas"), context = base.getContext("2d");
        const tall = Math.round(base.height * 16 / base.clientHeight);
        const edges = [[0, 0, base.width, 1], [0, 0, 1, base.height - 2 * tall], [base.width - 1, 0, 1, base.height],
          [base.width / 2, base.height - tall, base.width / 2, tall]];
        return edges.map((edge) => context.getImageData(...edge).data.filter((one, at) => at % 4 === 3 && one).length); }"""  # noqa: E501
    )
    assert lowest[:3] == [0, 0, 0], "no line is cut off"
    assert width < 700 or lowest[3] == 0, "what is shown is written below the box, not across it"


def test_the_point_under_the_pointer_is_read_in_its_sentence(opened):
    page = opened("corners")
    for point in range(6):
        page.mouse.move(*where(page, point))
        settled(page)
        tip = page.locator(".cloud-tip")
        assert tip.locator("mark").inner_text() == f"word{point}"
        assert tip.locator("p").inner_text() == f"<b>sentence</b> {point} 😀 has word{point} inside"
        kind = ("unknown", "one", "two")[point % 3]
        assert f"kind: {kind} ·" in tip.inner_text() and f"row {2 * point}" in tip.inner_text()
    page.mouse.move(*[one + 40 for one in where(page, 4)])
    settled(page)
    assert tip.is_hidden(), "nothing is near"


def test_zooming_keeps_what_is_under_the_pointer(opened):
    page = opened("corners")
    spot = where(page, 5)
    page.mouse.click(*spot)
    page.mouse.wheel(0, -300)
    settled(page)
    page.mouse.move(spot[0] + 2, spot[1])
    settled(page)
    assert page.locator(".cloud-tip mark").inner_text() == "word5"


def test_the_same_row_is_ringed_in_every_picture(opened):
    page = opened("sides")
    ringed = """(place) => { const over = document.querySelectorAll(".plot")[place].querySelectorAll("canvas")[1];
        const data = over.getContext("2d").getImageData(0, 0, over.width, over.height).data;
        let n = 0, x = 0, y = 0;
        for (let i = 3; i < data.length; i += 4) if (data[i] > 120) { n++; x += (i >> 2) % over.width; y += Math.floor((i >> 2) / over.width); }
        return n ? [x / n, y / n] : null; }"""  # noqa: E501
    assert page.evaluate(ringed, 1) is None
    page.mouse.move(*where(page, 0))
    settled(page)
    assert page.locator(".cloud-tip mark").inner_text() == "word0"
    frame = page.locator(".plot").nth(1).bounding_box()
    x, y = where(page, 3, 1)  # rolled by three places in the second picture
    assert page.evaluate(ringed, 1) == pytest.approx([x - frame["x"] - 1, y - frame["y"] - 1], abs=2)


def test_categories_hide_and_stand_alone(opened):
    page = opened("plane")
    every = sum(colors(page).values())
    legend = page.locator(".legend button")
    assert [one.split()[0] for one in legend.all_inner_texts()] == ["one", "two", "unknown"]
    legend.nth(0).click()
    settled(page)
    assert legend.nth(0).get_attribute("aria-pressed") == "false"
    assert sum(colors(page).values()) < every
    legend.nth(1).dblclick()
    settled(page)
    pressed = [legend.nth(k).get_attribute("aria-pressed") for k in range(3)]
    assert pressed == ["false", "true", "false"]
    legend.nth(1).dblclick()
    settled(page)
    assert sum(colors(page).values()) == every, "two clicks again show all"


def test_colors_switch_and_words_are_found(opened):
    page = opened("plane")
    before = colors(page)
    page.select_option("[data-coloring]", label="log-frequency")
    settled(page)
    assert colors(page) != before
    assert page.locator(".legend").inner_text().split() == ["≤", "-8.91", "≥", "-0.09"], (
        "all but a hundredth at each end"
    )
    page.select_option("[data-coloring]", label="cluster")
    assert page.locator(".legend button").all_inner_texts() == ["x 10,000", "y 10,000"]
    page.select_option("[data-coloring]", label="kind")
    page.fill("input[type=search]", "WORD1999")
    page.wait_for_function("document.querySelector('output').textContent")
    # word1999 and word19990 to word19999
    assert page.locator("output").inner_text() == "11 of 20,000 points have it in their word"
    settled(page)
    assert sum(colors(page).values()) < sum(before.values()) / 3, "the others are faded"
    page.fill("input[type=search]", "sentence</b> 12 😀")
    page.wait_for_function("document.querySelector('output').textContent.includes('sentence')")
    assert page.locator("output").inner_text() == "1 of 20,000 points has it in its sentence"
    page.fill("input[type=search]", "nowhere at all")
    page.wait_for_function("document.querySelector('output').textContent === 'nothing found'")


def test_a_picture_grows_and_is_saved(opened):
    page = opened("layers")
    small = page.locator(".plot").nth(2).bounding_box()["width"]
    page.locator("[data-do=large]").nth(2).click()
    settled(page, 2)
    assert page.locator(".plot").nth(2).bounding_box()["width"] > 2 * small
    with page.expect_download() as download:
        page.locator("[data-do=save]").nth(2).click()
    assert download.value.path().read_bytes()[:4] == b"\x89PNG"
    with page.expect_download() as download:
        page.locator("#download").click()
    assert '"schema": 1' in download.value.path().read_text()


@pytest.mark.parametrize("name", ["corners", "space"])
def test_without_webgl_it_is_drawn_by_hand(opened, name):
    page = opened(name, script=LOST)
    assert page.evaluate("document.documentElement.dataset.painter") == "canvas"
    assert sum(colors(page).values()) > 100
    if name == "corners":
        page.mouse.move(*where(page, 2))
        settled(page)
        assert page.locator(".cloud-tip mark").inner_text() == "word2"


def test_printing_draws_every_picture(opened):
    page = opened("layers")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert all(sum(colors(page, place).values()) > 100 for place in range(9))
    assert len(page.pdf()) > 30_000
