"""How fast the number of clusters is found, against scikit-learn on a sample, in the same run.

    python -m benchmarks.clusters                               100,000 x 768 against 20,000 of them
    python -m benchmarks.clusters --rows 20000 --sample 4000    smaller

Both try k = 2 to 15. The yardstick is KMeans with one start and silhouette_score, both of scikit-learn on all cores, on
as many rows as the paper took (Cai et al. 2021). Ours learns and judges on a sample too, and gives every row its
cluster.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from benchmarks.page import put

T = TypeVar("T")

D, BLOBS = 768, 7
BOUND = 10.0


def make(n: int, seed: int = 0) -> np.ndarray:
    """Rows with a falling spectrum around seven places, in a cone."""
    rng = np.random.default_rng(seed)
    spread = (np.arange(1, D + 1) ** -0.4).astype(np.float32)
    places = 0.25 * rng.standard_normal((BLOBS, D), dtype=np.float32) + np.float32(0.2)
    rows = rng.standard_normal((n, D), dtype=np.float32)
    rows *= spread
    rows += places[rng.integers(0, BLOBS, n)]
    return rows


def by_scikit_learn(rows: np.ndarray) -> dict[int, float]:
    """The silhouette of every k."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    labels = {k: KMeans(k, n_init=1, random_state=0).fit_predict(rows) for k in range(2, 16)}
    return {k: float(silhouette_score(rows, own)) for k, own in labels.items()}


def timed(function: Callable[[], T], rounds: int = 1) -> tuple[float, T]:
    """The fewest seconds that a call takes, and what it gives."""
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def main() -> None:
    from uncone.analysis.clusters.clusters import cluster_labels, clusters_of

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--sample", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = make(arguments.rows)
    rng = np.random.default_rng(1)
    words, groups = rng.integers(0, 5000, len(rows)), np.arange(len(rows)) // 12
    sample = rows[np.sort(rng.permutation(len(rows))[: arguments.sample])]
    cluster_labels(sample[:3000])  # what is imported on the first call is not counted
    ours, (_, tried) = timed(lambda: cluster_labels(rows), arguments.rounds)
    whole, _ = timed(lambda: clusters_of(rows, words, groups), arguments.rounds)
    theirs, expected = timed(lambda: by_scikit_learn(sample))
    best, other = (max(scores, key=lambda k: scores[k]) for scores in (tried, expected))
    text = "\n".join(
        [
            f"{len(rows):,} x {D}, k = 2 to 15, on {len(os.sched_getaffinity(0))} cores, Python "
            f"{platform.python_version()}, numpy {np.__version__}. "
            f"scikit-learn on {len(sample):,} rows: {theirs:.1f} s.",
            "",
            "| clusters | seconds | times as fast as scikit-learn | bound |",
            "|---|---|---|---|",
            f"| k by silhouette, a cluster for every row | {ours:.2f} | {theirs / ours:.0f} | at least {BOUND:g} |",
            f"| and cosines and IsoScores inside clusters | {whole:.2f} | {theirs / whole:.0f} | |",
            "",
            f"Chosen: k = {best}, silhouette {tried[best]:.3f}; by scikit-learn k = {other}, {expected[other]:.3f}.",
        ]
    )
    print(text)
    put(text, "bench clusters")
    if arguments.json:
        figures = {"ours": ours, "whole": whole, "scikit-learn": theirs, "tried": tried, "expected": expected}
        arguments.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
