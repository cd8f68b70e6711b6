"""Which numbers changed since another commit: every verb on the same inputs with both, point values compared.

`python -m benchmarks.values OTHER` takes a checkout of the other commit. Intervals, sentences and new fields may vary;
a value that moved by more than 1e-6 of itself is printed, and the exit code is 1.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DATA = os.environ.get("UNCONE_DATA", "")
TINY = f"{DATA}/../models/bert-tiny"
RUNS = {
    "check": ["check", "vectors.npy", "--score", "0.75"],
    "check copies": ["check", "copies.npy", "--score", "0.75"],
    "calibrate": ["calibrate", "vectors.npy", "--score", "0.75", "--corpus-size", "1000"],
    "calibrate copies": ["calibrate", "copies.npy", "--score", "0.75"],
    "calibrate labels": [
        "calibrate",
        "sentences.txt",
        "--model",
        TINY,
        "--pairs",
        f"{DATA}/sts/stsb-dev.tsv",
        "--left",
        "2",
        "--right",
        "3",
        "--label",
        "1",
    ],
    "fix": ["fix", "vectors.npy", "--method", "droptop"],
    "similarity": ["similarity", f"{DATA}/sst2/dev.tsv", "--text", "1", "--label", "2", "--model", TINY],
    "layers": ["layers", TINY, "--corpus", "sentences.txt"],
    "layers deep": ["layers", TINY, "--corpus", "sentences.txt", "--deep"],
    "evaluate": ["evaluate", TINY, "--dataset", "stsb", "--dataset", "sts12", "--methods", "raw,center,whiten"],
}
LOOSE = ("low", "high", "meaning", "advice", "text", "headline", "level", "provenance", "p", "significant", "notes")
"""Parts of a field's name that may differ: bounds, sentences, and what follows from them."""


def main() -> int:
    """Run everything with both, and print what moved."""
    other = Path(sys.argv[1]).resolve()
    moved = 0
    with tempfile.TemporaryDirectory() as folder:
        write_inputs(Path(folder))
        for name, words in RUNS.items():
            before, after = (_run(root, words, Path(folder)) for root in (other, ROOT))
            changes = [*_changes(before, after)]
            moved += len(changes)
            print(f"{name}: {len(changes)} values moved")
            for path, old, new in changes[:40]:
                print(f"    {path}: {old} -> {new}")
    return int(moved > 0)


def write_inputs(folder: Path) -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(3_000, 48)) * np.exp(0.5 * rng.normal(size=48)) + 0.8).astype(np.float32)
    np.save(folder / "vectors.npy", rows)
    np.save(folder / "copies.npy", np.repeat(rows[:300], 5, axis=0))
    lines = Path(DATA, "snli/dev.tsv").read_text().splitlines()[:900]
    (folder / "sentences.txt").write_text("\n".join(line.split("\t")[1] for line in lines))


def _run(root: Path, words: list[str], folder: Path) -> Any:  # noqa: ANN401 - JSON
    command = [sys.executable, "-m", "uncone", *words, "--json", "found.json", "--no-html"]
    subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(root)}, check=True, capture_output=True)
    return json.loads((folder / "found.json").read_text())


def _changes(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:  # noqa: ANN401 - JSON
    if path and any(part in path.rsplit(".", 1)[-1] for part in LOOSE):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old:
            yield from _changes(old[key], new.get(key), f"{path}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (left, right) in enumerate(zip(old, new, strict=True)):
            yield from _changes(left, right, f"{path}[{at}]")
    elif isinstance(old, str) and isinstance(new, str):
        return
    elif isinstance(old, int | float) and isinstance(new, int | float):
        if abs(old - new) > 1e-6 * max(abs(old), abs(new), 1e-3):
            yield path, old, new
    elif old != new:
        yield path, old, new


if __name__ == "__main__":
    sys.exit(main())
