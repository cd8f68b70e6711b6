"""What every document has to keep, whichever verb it is of: fixtures that check it, and a browser to open pages in."""

import json
import re
import shutil

import pytest


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


def opened(browser, path, scheme, width):
    """A page, and the errors and requests that it makes from now on."""
    page, errors = browser.new_page(viewport={"width": width, "height": 850}, color_scheme=scheme), []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: errors.append(request.url) if request.url.startswith("http") else None)
    page.goto(path.as_uri())
    return page, errors


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
        outside_code = [line for line in result.to_markdown().splitlines() if not line.startswith("    ")]
        assert not any("<img" in line.replace("\\<", "") for line in outside_code)
        assert result.to_latex().count("\\begin{table}") == result.to_latex().count("\\end{table}")

    return check


@pytest.fixture
def assert_page_works(browser, tmp_path):
    """A function that opens the page of a result in light and dark, wide and narrow: all charts drawn, no errors."""

    def check(result, looks=(("light", 1200), ("dark", 1200), ("light", 390))):
        path = tmp_path / "page.html"
        path.write_text(result.to_html())
        drawn = len(result.document().charts())
        for scheme, width in looks:
            page, errors = opened(browser, path, scheme, width)
            assert page.locator("h1").first.is_visible()
            charts = page.locator(".chart, .plot")
            assert charts.count() == drawn
            for place in range(drawn):
                charts.nth(place).scroll_into_view_if_needed()
                charts.nth(place).locator(".main-svg, canvas").first.wait_for(timeout=60_000)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
            for fold in page.locator("details > summary").all():
                fold.click()
            assert page.evaluate("document.documentElement.scrollWidth") <= width, "nor when all is open"
            with page.expect_download() as download:
                page.locator("#download").click()
            assert json.loads(download.value.path().read_text())["schema"] >= 1
            assert errors == []
            page.close()

    return check
