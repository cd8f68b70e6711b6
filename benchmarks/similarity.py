"""How fast all pairs of rows are looked at, against the bare products of the upper triangle in the same run.

    python -m benchmarks.similarity                   20,000 x 384: 200 million pairs
    python -m benchmarks.similarity --rows 5000       smaller

The yardstick multiplies blocks of rows with all later ones, on as many threads as numpy takes, and throws the products
away; the best of several sizes of block is taken. Ours makes the histogram and the list of the 100 most alike pairs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.page import put

D = 384
BLOCKS = (1024, 2048, 4096)
BOUND, MEMORY = 2.0, 1024


def make(n: int, mean: float = 0.05) -> np.ndarray:
    """Unit rows with a falling spectrum, around a common mean."""
    from uncone.analysis.cosine.units import units_of

    rng = np.random.default_rng(0)
    spread = (np.arange(1, D + 1) ** -0.5).astype(np.float32)
    return units_of(rng.standard_normal((n, D), dtype=np.float32) * spread + np.float32(mean))[0]


def triangle(units: np.ndarray, block: int) -> None:
    """The products of the upper triangle, block by block."""
    room = np.empty((block, block), np.float32)
    for i in range(0, len(units), block):
        left = units[i : i + block]
        for j in range(i, len(units), block):
            right = units[j : j + block]
            np.matmul(left, right.T, out=room[: len(left), : len(right)])


def timed(function: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def peak(rows: int) -> int:
    """The most memory that it takes, in MiB, with the rows and Python; not ru_maxrss, which begins with the parent's.

    The memory that making the rows took is measured along, as a user has to make them too.
    """
    code = (
        "import re\n"
        "from benchmarks.similarity import make\n"
        "from uncone.analysis.similarity.pairs import survey\n"
        f"survey(make({rows}))\n"
        "print(int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) // 1024)"
    )
    return int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def main() -> None:
    from uncone.analysis.similarity.pairs import survey

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    n = arguments.rows
    units, crowded = make(n), make(n, mean=2.0)
    labels = (np.arange(n) % 3).tolist()
    works: dict[str, Callable[[], object]] = {
        **{f"triangle {block}": lambda block=block: triangle(units, block) for block in BLOCKS},  # type: ignore[misc]
        "survey": lambda: survey(units),
        "crowded": lambda: survey(crowded),
        "labels": lambda: survey(units, labels=labels),
        "range": lambda: survey(units, low=0.3, high=0.5),
    }
    best = dict.fromkeys(works, float("inf"))
    for _ in range(arguments.rounds):
        for name, work in works.items():
            best[name] = min(best[name], timed(work))
    bare = min(best[f"triangle {block}"] for block in BLOCKS)
    figures = best | {"bare": bare, "memory": peak(n)}
    lines = [
        f"{n:,} x {D}, {n * (n - 1) // 2:,} pairs, on {len(os.sched_getaffinity(0))} cores, "
        f"Python {platform.python_version()}, numpy {np.__version__}. Bare products: {bare:.2f} s.",
        "",
        "| all pairs of rows | to the bare products | bound |",
        "|---|---|---|",
    ]
    for name, title, bound in (
        ("survey", "histogram and top 100", f"at most {BOUND:g}"),
        ("crowded", "the same where all cosines are above 0.9", f"at most {BOUND:g}"),
        ("labels", "the same, within and between labels apart", ""),
        ("range", "the same, and the pairs from 0.3 to 0.5 counted and listed", ""),
    ):
        lines.append(f"| {title} | {best[name] / bare:.2f} | {bound} |")
    text = "\n".join([*lines, "", f"It takes {figures['memory']} MiB, with rows and Python; the bound is {MEMORY}."])
    print(text)
    put(text, "bench similarity")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
