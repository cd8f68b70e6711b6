"""What every document has to keep, whichever verb it is of: fixtures that check it, and a browser to open pages in."""

import json
import re
import shutil

import pytest

from uncone.report.charts.model import Chart


@pytest.fixture(scope="session")
def browser():
    """One Chromium for all tests of a process."""
    from playwright.sync_api import sync_playwright

    if shutil.which("chromium") is None:
        pytest.skip("Debian's chromium is not installed")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield started
        started.close()


@pytest.fixture
def open_page(browser):
    """A function that opens a page; after the test none may have logged an error, shown a dialog or fetched a thing."""
    pages = []

    def open_(path, scheme="light", width=1200, script=None):
        page, errors = browser.new_page(viewport={"width": width, "height": 850}, color_scheme=scheme), []
        pages.append((page, errors))
        page.set_default_timeout(60_000)
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: errors.append(dialog.message))
        page.on("request", lambda request: errors.append(request.url) if request.url.startswith("http") else None)
        if script is not None:
            page.add_init_script(script)
        page.goto(path.as_uri())
        return page

    yield open_
    for page, errors in pages:
        assert errors == []
        page.close()


@pytest.fixture
def assert_renderings():
    """A function that checks every rendering of a result: what it shows cannot break it."""

    def check(result, screen=60):
        lines = result.to_text().splitlines()
        commands = ("  next ", "  use ", "  saved to ")
        assert max(len(line) for line in lines if not line.startswith(commands)) <= 80
        assert len(lines) <= screen
        assert "\x1b" not in "".join(lines)
        json.loads(result.to_json(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
        page = result.to_html()
        own = re.sub(r"<script[^>]*>.*?</script>", "", page, flags=re.S)
        assert not re.search(r"(src|href)=[\"']?(http|//)", own), "nothing is fetched"
        for text in (page, result._repr_html_()):
            assert "<img src=x" not in text
            assert "<script>alert" not in text
        for chart in result.document().charts():
            if isinstance(chart, Chart):  # clouds draw themselves
                assert f'id="chart-{chart.name}"' in own, "every chart has its place on the page"
        outside_code = [line for line in result.to_markdown().splitlines() if not line.startswith("    ")]
        assert not any("<img" in line.replace("\\<", "") for line in outside_code)
        assert result.to_latex().count("\\begin{table}") == result.to_latex().count("\\end{table}")

    return check


@pytest.fixture
def assert_page_works(open_page, tmp_path):
    """A function that looks at the pages of results in light and dark, wide and narrow: all drawn, no errors.

    The first is opened wide and narrow, the others narrow; then light and width change under the open page.
    """

    def check(result, *others):
        check_looks(result, [("light", 1200), ("dark", 1200)])
        for each in (result, *others):
            check_looks(each, [("dark", 390), ("light", 390), ("dark", 1200)])

    def check_looks(result, looks):
        path = tmp_path / "page.html"
        path.write_text(result.to_html())
        drawn = len(result.document().charts())
        (scheme, width), *changes = looks
        page = open_page(path, scheme, width)
        assert page.locator("h1").first.is_visible()
        charts = page.locator(".chart, .plot")
        assert charts.count() == drawn
        for place in range(drawn):
            charts.nth(place).scroll_into_view_if_needed()
            charts.nth(place).locator(".main-svg, canvas").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
        for fold in page.locator("details > summary").all():
            fold.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, "nor when all is open"
        with page.expect_download() as download:
            page.locator("#download").click()
        assert json.loads(download.value.path().read_text())["schema"] >= 1
        for scheme, width in changes:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 850})
            page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
            assert charts.locator(".main-svg, canvas").first.is_visible() or not drawn
        page.close()

    return check
