"""Snapshots: the wording of a document, asserted in one place per document."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

from uncone.verbs.schema.schema import validate

FOLDER = Path(__file__).parent / "snapshots"
UPDATE = "UNCONE_UPDATE_SNAPSHOTS"
VERSIONS = re.compile(r"^- uncone: .*\n- python: .*\n(- (numpy|scipy|scikit-learn|torch|transformers): .*\n)*", re.M)


def assert_wording(name: str, result) -> None:
    """Compare a result on the terminal and as markdown with its snapshot; its JSON follows the published schema."""
    validate(result.to_json(), name)
    text = f"{result.to_text()}\n{'=' * 78}\n\n{result.to_markdown()}"
    assert_snapshot(name, VERSIONS.sub("", text))


def assert_snapshot(name: str, text: str) -> None:
    """Compare with tests/report/snapshots/<name>.txt; `make snapshots` rewrites the files, to be read in the diff."""
    path = FOLDER / f"{name}.txt"
    if os.environ.get(UPDATE):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    expected = path.read_text(encoding="utf-8") if path.exists() else ""
    changes = difflib.unified_diff(expected.splitlines(), text.splitlines(), "snapshot", "now", lineterm="", n=1)
    assert text == expected, "\n".join([f"{path.name}: run make snapshots and read the diff.", *changes])
