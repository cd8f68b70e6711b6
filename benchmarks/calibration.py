"""How fast a background with exact mean and variance is, against one plain X'X pass over the same file in the same run.

    python -m benchmarks.calibration                    1,000,000 x 384, 1.5 GB
    python -m benchmarks.calibration --rows 100000      smaller

The background is all of it: sums over every pair, copies counted, a million sampled pairs, quantiles with intervals.
Machines differ and are noisy, so it is a ratio to the yardstick, and the best of several rounds is taken.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.check import make, timed, warm, yardstick
from benchmarks.page import put
from uncone.analysis.calibration.background import survey
from uncone.data.open import open_source

D = 384
BOUND = 2.0


def background(path: Path) -> None:
    survey(open_source(path), name="x")


def measure_all(path: Path, rounds: int) -> dict[str, float]:
    best: dict[str, float] = {}
    for _ in range(rounds):
        for name, function in {"yardstick": yardstick, "background": background}.items():
            warm(path)
            seconds = timed(lambda function=function: function(path))  # type: ignore[misc]
            best[name] = min(best.get(name, seconds), seconds)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.npy"
        make(path, arguments.rows, D)
        best = measure_all(path, arguments.rounds)
    best["ratio"] = best["background"] / best["yardstick"]
    best["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    text = (
        f"One XᵀX pass over {arguments.rows:,} x {D} float32 (the yardstick): {best['yardstick']:.2f} s on "
        f"{os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}.\n\n"
        "| what | seconds | times the yardstick | bound |\n|---|---|---|---|\n"
        f"| background with exact mean and variance | {best['background']:.2f} | {best['ratio']:.2f} | {BOUND:.0f} |"
    )
    print(text)
    put(text, "bench calibration")
    if arguments.json:
        arguments.json.write_text(json.dumps(best, indent=2))


if __name__ == "__main__":
    main()
