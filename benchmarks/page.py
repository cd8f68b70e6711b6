"""Tables of a benchmark, put between their marks in a page."""

from __future__ import annotations

import re
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1] / "docs" / "benchmarks.md"


def put(text: str, mark: str, page: Path = BENCHMARKS) -> None:
    """Replace what stands between <!-- mark --> and <!-- /mark -->."""
    marks = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- /{mark} -->)", re.S)
    page.write_text(marks.sub(lambda match: f"{match[1]}{text}\n{match[2]}", page.read_text()))
