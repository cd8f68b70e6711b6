"""What a report lost since another commit: every verb on the same inputs with both, their contents compared.

`python -m benchmarks.inventory OTHER` takes a checkout of the other commit. It lists JSON fields, figures, columns of
CSV files, tables and numbers on the terminal that only the other commit writes; wording and new contents may vary.
The exit code is 1 if it lists any.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.values import DATA, ROOT, RUNS, TINY, write_inputs

MORE = {
    "compare": ["check", "vectors.npy", "copies.npy"],
    "compare layers": ["layers", TINY, f"{DATA}/../models/bert-mini", "--corpus", "sentences.txt", "--limit", "300"],
    "map": ["map", "vectors.npy", "--method", "pca"],
    "map words": ["map", "sentences.txt", "--model", TINY, "--rows", "words", "--layer", "all", "--limit", "200"],
    "two columns": [
        *("similarity", f"{DATA}/snli/dev.tsv", "--text", "2", "--against", "3", "--label", "1"),
        *("--model", TINY, "--limit", "600"),
    ],
    "wic": ["evaluate", TINY, "--dataset", "sts16", "--task", "wic", "--methods", "raw,center"],
}


def main() -> int:
    """Run everything with both, and print what only the other has."""
    other = Path(sys.argv[1]).resolve()
    only = sys.argv[2:]
    lost = 0
    with tempfile.TemporaryDirectory() as folder:
        write_inputs(Path(folder))
        for name, words in {**RUNS, **MORE}.items():
            if only and name not in only:
                continue
            before, after = (
                contents(root, words, Path(folder), str(place)) for place, root in enumerate((other, ROOT))
            )
            missing = sorted(before - after)
            lost += len(missing)
            print(f"{name}: {len(before)} parts before, {len(after)} after, {len(missing)} only before")
            for part in missing:
                print(f"    {part}")
    return int(lost > 0)


def contents(root: Path, words: list[str], folder: Path, mark: str) -> set[str]:
    """The parts of everything that a command writes, each as a line."""
    environment = {**os.environ, "PYTHONPATH": str(root), "COLUMNS": "120"}

    def uncone(*arguments: str) -> str:
        command = [sys.executable, "-m", "uncone", *arguments]
        process = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)
        return process.stdout

    help_text = uncone(words[0], "--help")
    files = {kind: f"{mark}-{kind}" for kind in ("json", "markdown", "html", "figures") if f"--{kind}" in help_text}
    output = uncone(*words, *(word for kind, path in files.items() for word in (f"--{kind}", path)))
    parts = {f"terminal {number}" for number in re.findall(r"\d[\d,]*(?:\.\d+)?", output)}
    parts |= {f"json {path}" for path in _fields(json.loads((folder / files["json"]).read_text()))}
    figures = folder / files.get("figures", "none")
    for path in sorted(figures.rglob("*")):
        parts.add(f"figure {path.relative_to(figures)}")
        if path.suffix == ".csv":
            parts |= {f"figure {path.relative_to(figures)}: {column}" for column in _columns(path)}
        path.unlink(missing_ok=True)
    if "markdown" in files:
        parts |= {f"table {line}" for line in _tables((folder / files["markdown"]).read_text())}
    parts |= {f"chart {name}" for name in re.findall(r'data-chart="([\w-]+)"', (folder / files["html"]).read_text())}
    return parts


def _fields(value: Any, path: str = "") -> set[str]:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        return {f"{path}.{key}" for key in value} | {
            field for key, part in value.items() for field in _fields(part, f"{path}.{key}")
        }
    return {field for part in value for field in _fields(part, f"{path}[]")} if isinstance(value, list) else set()


def _columns(path: Path) -> list[str]:
    return path.read_text().splitlines()[0].split(",")


def _tables(text: str) -> set[str]:
    """The heading row of every table."""
    lines = text.splitlines()
    return {above for above, line in itertools.pairwise(lines) if re.fullmatch(r"[|:\- ]+", line) and "|" in above}


if __name__ == "__main__":
    sys.exit(main())
