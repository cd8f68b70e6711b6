"""How fast neighbors are found for the local dimension, against a bare faiss search and against plain numpy.

    python -m benchmarks.neighbors                   200,000 x 768, 2,000 queries, 100 neighbors
    python -m benchmarks.neighbors --rows 50000      smaller

Bare faiss is a flat search by Euclidean distance with the BLAS that its package brings, and, where that chose an old
kernel, once more with the kernel that numpy's BLAS chose. Plain numpy is a product and an argpartition, block by block
of the queries. Ours searches by Euclidean distance and by cosine and makes both dimensions, with intervals.
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

D, K = 768, 100
BOUND = 1.3


def make(n: int, queries: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows with a falling spectrum around a common mean, and the first rows as queries."""
    rng = np.random.default_rng(0)
    spread = (10 * np.arange(1, D + 1) ** -0.5).astype(np.float32)
    mean = 1.2 * rng.standard_normal(D, dtype=np.float32)
    rows = np.empty((n, D), np.float32)
    for start in range(0, n, 20_000):
        block = rows[start : start + 20_000]
        block[:] = rng.standard_normal(block.shape, dtype=np.float32) * spread + mean
    return rows, rows[:queries].copy()


def by_faiss(rows: np.ndarray, queries: np.ndarray) -> None:
    """A flat search by Euclidean distance; putting the rows in does not count."""
    import faiss

    index = faiss.IndexFlatL2(D)
    index.add(rows)
    index.search(queries, K + 1)


def by_numpy(rows: np.ndarray, queries: np.ndarray, step: int) -> None:
    """Squared distances by one product, and the places of the smallest."""
    squares = np.vecdot(rows, rows)
    for start in range(0, len(queries), step):
        distances = squares - 2 * (queries[start : start + step] @ rows.T)
        np.argpartition(distances, K + 1, axis=1)[:, : K + 1]


def timed(function: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def core_type() -> str:
    """The kernel that numpy's BLAS chose for this processor."""
    from threadpoolctl import threadpool_info

    return str(next(library.get("architecture", "") for library in threadpool_info() if "numpy" in library["filepath"]))


def faiss_with(kernel: str, n: int, queries: int) -> float:
    """Seconds of the bare faiss search in a process whose BLAS was told which kernel to take."""
    code = (
        "from benchmarks.neighbors import by_faiss, make, timed\n"
        f"rows, queries = make({n}, {queries})\n"
        "by_faiss(rows[:1000], queries)\n"
        "import faiss\n"
        "index = faiss.IndexFlatL2(rows.shape[1]); index.add(rows)\n"
        f"print(timed(lambda: index.search(queries, {K + 1})))"
    )
    environment = os.environ | {"OPENBLAS_CORETYPE": kernel}
    process = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return float(process.stdout)


def main() -> None:
    import faiss

    from uncone.analysis.neighbors.dimension import dimensions_of
    from uncone.analysis.neighbors.neighborhood import hubness_of

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    n, m = arguments.rows, arguments.queries
    rows, queries = make(n, m)
    index = faiss.IndexFlatL2(D)
    index.add(rows)
    works: dict[str, Callable[[], object]] = {
        "faiss": lambda: index.search(queries, K + 1),
        "numpy 100": lambda: by_numpy(rows, queries, 100),
        "numpy 500": lambda: by_numpy(rows, queries, 500),
        "dimension": lambda: dimensions_of(rows, queries=m),
        "hubness": lambda: hubness_of(rows),
    }
    best = dict.fromkeys(works, float("inf"))
    best["faiss told"] = float("inf")
    for _ in range(arguments.rounds):
        for name, work in works.items():
            best[name] = min(best[name], timed(work))
        best["faiss told"] = min(best["faiss told"], faiss_with(core_type(), n, m))
    plain = min(best["numpy 100"], best["numpy 500"])
    bare, tuned = min(best["faiss"], plain), best["faiss told"]
    lines = [
        f"{m:,} queries among {n:,} x {D}, {K} neighbors, on {len(os.sched_getaffinity(0))} cores, Python "
        f"{platform.python_version()}, numpy {np.__version__}, faiss {faiss.__version__}. A bare faiss search by one "
        f"metric takes {best['faiss']:.1f} s, or {tuned:.1f} s when its BLAS is told which processor this is; a numpy "
        f"product with argpartition {plain:.1f} s.",
        "",
        "| neighbors | seconds | to the faster of faiss and numpy | bound | to faiss that was told |",
        "|---|---|---|---|---|",
        f"| local dimension, Euclidean and cosine | {best['dimension']:.1f} | {best['dimension'] / bare:.2f} | "
        f"at most {BOUND:g} | {best['dimension'] / tuned:.2f} |",
        f"| hubness on its sample | {best['hubness']:.2f} | {best['hubness'] / bare:.2f} | | "
        f"{best['hubness'] / tuned:.2f} |",
    ]
    text = "\n".join(lines)
    print(text)
    put(text, "bench neighbors")
    if arguments.json:
        arguments.json.write_text(json.dumps(best | {"bare": bare}, indent=2))


if __name__ == "__main__":
    main()
