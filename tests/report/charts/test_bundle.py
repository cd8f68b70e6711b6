"""The bundled script in a real browser: every mark and both kinds of clouds are drawn, also on a phone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from uncone.report.charts.bundle import script, smaller
from uncone.report.charts.model import CloudView
from uncone.report.document import Clouds, Document, Section
from uncone.report.render.html import page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def path(charts, clouds, tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "charts.html"
    first = clouds[2]
    view = CloudView("other", np.flip(first.views[0].points, axis=0).copy())
    other = replace(first, name="other", views=[view])
    far = first.views[0].points.copy()
    far[0] = 1_000
    lone = replace(first, name="lone", views=[CloudView("", far)], texts=[], colorings=[], axes=[])
    blocks = [*charts.values(), clouds[3], Clouds([first, other]), lone]
    text = page(Document("charts", "charts", "", [], [Section("", blocks)]), "{}", "0")
    file.write_text(text, encoding="utf-8")
    assert len(text.encode()) < 1_600_000
    return file


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 390)])
def test_everything_is_drawn(open_page, path, charts, scheme, width):
    page = open_page(path, scheme, width)
    places = page.locator(".chart")
    assert places.count() == len(charts)
    for place in range(places.count()):
        places.nth(place).locator(".main-svg").first.wait_for()
    plots = page.locator(".plot")
    for place in range(plots.count()):
        plots.nth(place).scroll_into_view_if_needed()
        page.wait_for_function(f"document.querySelectorAll('.plot')[{place}].dataset.drawn")
    painted = page.evaluate(
        """[...document.querySelectorAll(".plot canvas:first-child")].map((one) =>
        one.getContext("2d").getImageData(0, 0, one.width, one.height).data.some((value) => value))"""
    )
    assert painted == [True] * 4
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_cloud_is_read_turned_and_recolored(open_page, path):
    page = open_page(path)
    cloud = page.locator("[data-cloud]").first
    plot = cloud.locator(".plot")
    plot.scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('.plot').dataset.drawn")
    frame = plot.bounding_box()
    tip = page.locator(".cloud-tip")
    middle = frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2
    for step in range(30):
        page.mouse.move(middle[0] + 3 * step, middle[1] + 2 * step)
        page.wait_for_timeout(40)
        if tip.is_visible():
            break
    assert "<i>row</i>" in tip.inner_text(), "a text is never markup"
    drawn = plot.get_attribute("data-drawn")
    plot.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"document.querySelector('.plot').dataset.drawn > {drawn}")
    assert cloud.locator(".legend button").count() == 4, "three categories and what is unknown"
    cloud.locator("select").select_option("1")
    assert cloud.locator(".legend .bar").is_visible()
    drawn = plot.get_attribute("data-drawn")
    cloud.locator("[data-view='1']").click()
    page.wait_for_function(f"document.querySelector('.plot').dataset.drawn > {drawn}")
    assert cloud.locator("[data-view='1']").get_attribute("aria-pressed") == "true"


def test_what_is_looked_for_is_counted(open_page, path):
    page = open_page(path)
    group = page.locator("[data-cloud]").nth(1)
    group.locator("input").fill("row</i> 59")
    page.wait_for_function("document.querySelector('output').textContent")
    assert group.locator("output").inner_text() == "11 of 600 points have it in their text"


def test_a_script_that_is_built_otherwise_stays_whole():
    assert smaller("var Plotly={}", ["bar"]) == "var Plotly={}"
    whole = script(["no such trace"])
    assert len(whole) > 3 * len(script(["Bars", "Line", "Heatmap"]))
    assert script([]) == ""
