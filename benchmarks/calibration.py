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

from benchmarks.check import timed, warm
from uncone.calibration.background import background_of
from uncone.data.open import open_source

D = 384
BLOCK = 8192
BOUND = 2.0


def make(path: Path, n: int) -> None:
    """Rows around a common mean, with a falling spectrum."""
    rng = np.random.default_rng(0)
    rows = np.lib.format.open_memmap(path, "w+", np.float32, (n, D))
    mean = 1.2 * rng.standard_normal(D, dtype=np.float32)
    spread = (10 * np.arange(1, D + 1) ** -0.5).astype(np.float32)
    for start in range(0, n, 20_000):
        block = rows[start : start + 20_000]
        block[:] = rng.standard_normal(block.shape, dtype=np.float32) * spread + mean
    rows.flush()


def yardstick(path: Path) -> None:
    """One plain float32 X'X pass: numpy turns b.T @ b of one buffer into SYRK, on all cores."""
    rows = np.load(path, mmap_mode="r")
    total = np.zeros((D, D), np.float32)
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        total += block.T @ block


def background(path: Path) -> None:
    background_of(open_source(path), name="x")


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
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.npy"
        make(path, chosen.rows)
        best = measure_all(path, chosen.rounds)
    best["ratio"] = best["background"] / best["yardstick"]
    best["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"One XᵀX pass over {chosen.rows:,} x {D} float32 (the yardstick): {best['yardstick']:.2f} s on "
        f"{os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}.\n\n"
        "| what | seconds | times the yardstick | bound |\n|---|---|---|---|\n"
        f"| background with exact mean and variance | {best['background']:.2f} | {best['ratio']:.2f} | {BOUND:.0f} |"
    )
    if chosen.json:
        chosen.json.write_text(json.dumps(best, indent=2))


if __name__ == "__main__":
    main()
