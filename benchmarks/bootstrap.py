"""How fast the paired bootstrap of Spearman is, against a loop over `scipy.stats.spearmanr` in the same run.

    python -m benchmarks.bootstrap                    1,000 replicates of 10 methods on 5,000 pairs
    python -m benchmarks.bootstrap --pairs 1379       as many pairs as STS-B test

The loop is timed on a part of the replicates, as each costs the same. The best of several rounds is taken.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy
from scipy.stats import spearmanr

from uncone.analysis.intervals.bootstrap import bootstrap

BOUND = 5.0


def make(pairs: int, methods: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores in steps of a fifth, as people give them, and similarities that follow them more or less."""
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 26, pairs) / 5
    noise = np.linspace(0.5, 3.0, methods)[:, None] * rng.standard_normal((methods, pairs))
    return gold, np.tanh((gold + noise) / 5)


def timed(function: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def loop(gold: np.ndarray, predicted: np.ndarray, replicates: int) -> None:
    """What one would write: draw the pairs, and correlate each method."""
    rng = np.random.default_rng(0)
    for _ in range(replicates):
        rows = rng.integers(0, len(gold), len(gold))
        sample = gold[rows]
        for method in predicted:
            spearmanr(sample, method[rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--methods", type=int, default=10)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    gold, predicted = make(arguments.pairs, arguments.methods)
    some = max(1, arguments.replicates // 20)
    best = {"loop": float("inf"), "spearman": float("inf")}
    for _ in range(arguments.rounds):
        best["loop"] = min(best["loop"], timed(lambda: loop(gold, predicted, some)) * arguments.replicates / some)
        seconds = timed(lambda: bootstrap(gold, predicted, replicates=arguments.replicates))
        best["spearman"] = min(best["spearman"], seconds)
    print(
        f"{arguments.replicates:,} replicates of {arguments.methods} methods on {arguments.pairs:,} pairs, "
        f"on {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}, "
        f"scipy {scipy.__version__}.\n"
    )
    print("| what | seconds | times faster than the loop | bound |\n|---|---|---|---|")
    print(f"| a loop over scipy.stats.spearmanr | {best['loop']:.2f} | 1 | |")
    print(f"| `bootstrap`, Spearman | {best['spearman']:.2f} | {best['loop'] / best['spearman']:.1f} | {BOUND:g} |")
    if arguments.json:
        arguments.json.write_text(json.dumps(best, indent=2))


if __name__ == "__main__":
    main()
