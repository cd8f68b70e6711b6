"""The report in a real browser: no errors, the verdict at once, every chart drawn, readable on a phone."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from uncone import check, compare

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(shutil.which("chromium") is None, reason="Debian's chromium is not installed"),
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3_000, 48)).astype(np.float32) + 1
    texts = [f"<b>row</b> {i} & more" for i in range(3_000)]
    one = check(rows, scores=[0.75], texts=texts, labels=["a", "b", "c"] * 1_000)
    (folder / "one.html").write_text(one.to_html())
    (folder / "two.html").write_text(compare(rows, rows - 1).to_html())
    return folder


@pytest.mark.parametrize("name", ["one", "two"])
@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 1200), ("light", 390)])
def test_the_page(browser, pages, name, scheme, width):
    page = browser.new_page(viewport={"width": width, "height": 850}, color_scheme=scheme)
    errors = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: errors.append(request.url) if request.url.startswith("http") else None)
    page.goto((pages / f"{name}.html").as_uri())
    assert page.locator("h1").first.is_visible()
    assert "Crowded" in page.locator("h1").first.inner_text()
    charts = page.locator(".chart")
    assert charts.count() == {"one": 5, "two": 2}[name]
    for place in range(charts.count()):
        charts.nth(place).scroll_into_view_if_needed()
        charts.nth(place).locator(".main-svg").first.wait_for(timeout=15_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
    assert errors == []
    page.close()


def test_a_finding_opens_and_the_numbers_download(browser, pages):
    page = browser.new_page()
    page.goto((pages / "one.html").as_uri())
    row = page.locator("details#effective_rank")
    row.locator("summary").click()
    assert row.locator(".more").is_visible()
    with page.expect_download() as download:
        page.locator("#download").click()
    assert '"schema": 1' in download.value.path().read_text()
    page.close()


def test_printing_draws_every_chart(browser, pages):
    page = browser.new_page()
    page.goto((pages / "one.html").as_uri())
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".chart .main-svg").count() >= 5
    assert page.evaluate("[...document.querySelectorAll('details')].every((one) => one.open)")
    assert len(page.pdf()) > 50_000
    page.close()
