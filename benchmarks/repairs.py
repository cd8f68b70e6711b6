"""How fast repairs are fitted and applied, against plain numpy, scipy and scikit-learn in the same run: `make bench`.

    python -m benchmarks.repairs --rows 50000     smaller

Everything is a ratio to a baseline that is measured beside it: of the best of several rounds, but where the two are
close, the median of the ratios of turns.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.check import BLOCK, D, make, warm, yardstick
from benchmarks.page import put

ROUNDS = 5
MANY_ROUNDS = 15  # where the two are close
CLUSTERED = 200_000


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def best(*works: Callable[[], object]) -> list[float]:
    """The best time of each, in turns, so that a noisy minute hits all of them."""
    times = [[seconds(work) for work in works] for _ in range(ROUNDS)]
    return [min(column) for column in zip(*times, strict=True)]


def fit(kind: str, path: Path) -> object:
    from uncone.data.open import open_source
    from uncone.repairs import make as make_repair

    return make_repair(kind).fit_source(open_source(path))


def peak(kind: str, path: Path) -> int:
    """The most memory that a streaming fit takes, in MiB; not ru_maxrss, which a child begins with its parent's."""
    code = (
        "import re\n"
        "from pathlib import Path\n"
        "from benchmarks.repairs import fit\n"
        f"fit({kind!r}, Path({str(path)!r}))\n"
        "print(int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) // 1024)"
    )
    return int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def affine(path: Path, rows: int) -> list[tuple[str, float, str]]:
    from sklearn.decomposition import PCA

    whiten, drop, plain = best(lambda: fit("whiten", path), lambda: fit("droptop", path), lambda: yardstick(path))
    table = np.load(path)
    repair = fit("whiten", path)
    matrix = repair.matrix_.astype(np.float32)  # type: ignore[attr-defined]
    # In blocks, as a stream comes: to get 1.2 GB of fresh memory takes as long as the product.
    blocks = [table[start : start + BLOCK] for start in range(0, rows, BLOCK)]
    mapped, product = best(
        lambda: [repair.transform(block).shape for block in blocks],  # type: ignore[attr-defined]
        lambda: [(block @ matrix).shape for block in blocks],
    )
    pca = PCA(whiten=True, svd_solver="covariance_eigh")
    turns = [(seconds(lambda: fit("whiten", path)), seconds(lambda: pca.fit(table))) for _ in range(MANY_ROUNDS)]
    # The ratio of neighbors, as in benchmarks.layers: of two that are so close, the best of each is a lucky minute's.
    ratios = [streamed / in_memory for streamed, in_memory in turns]
    low, high = np.quantile(ratios, [0.25, 0.75])
    luckiest = min(streamed for streamed, _ in turns) / min(in_memory for _, in_memory in turns)
    middle = f"median of {MANY_ROUNDS} turns; half of them {low:.2f} to {high:.2f}; the best of each {luckiest:.2f}"
    return [
        (f"`whiten` fitted on {rows:,} x {D} by streaming, to one XᵀX pass", whiten / plain, "at most 1.5"),
        ("`droptop`, the same", drop / plain, "at most 1.5"),
        ("`whiten`: transform, to one GEMM pass", mapped / product, "at most 1.3"),
        (
            f"`whiten` streamed from disk, to scikit-learn's PCA of rows in memory ({middle})",
            float(np.median(ratios)),
            "at most 1",
        ),
    ]


def clustered(path: Path, rows: int) -> float:
    """How many times faster fit and transform are than scipy's kmeans2 and one PCA per cluster.

    Like for like: both learn the centroids from all rows, in as many steps. By default ours takes a sample of them.
    """
    from scipy.cluster.vq import kmeans2
    from sklearn.decomposition import PCA

    from uncone.repairs import Clustered

    table = np.load(path)[:rows]

    def naive() -> np.ndarray:
        out = np.empty_like(table)
        _, labels = kmeans2(table, 27, iter=Clustered().iterations, minit="points", rng=0)
        for label in np.unique(labels):
            mine = labels == label
            part = table[mine] - table[mine].mean(axis=0)
            directions = PCA(min(12, mine.sum() - 1), svd_solver="covariance_eigh").fit(part).components_
            out[mine] = part - part @ directions.T @ directions
        return out

    ours, theirs = best(lambda: Clustered(sample=rows).fit(table).transform(table), naive)
    return theirs / ours


def flow(n: int) -> float | None:
    """How many times faster an epoch is on cached vectors than with the encoder in the loop."""
    from uncone.data.demo import demo_model
    from uncone.data.texts.texts import ManyTexts, open_texts
    from uncone.encoders.open import sentence_source
    from uncone.repairs import Flow

    if not os.environ.get("UNCONE_DATA"):
        return None
    texts = ManyTexts([open_texts("snli"), open_texts("snli:test")], "snli")
    source = sentence_source(texts, demo_model(), limit=n)
    start = time.perf_counter()
    vectors = np.concatenate([np.array(rows.vectors) for rows in source.read()])
    encoding = time.perf_counter() - start
    epoch = seconds(lambda: Flow(epochs=1, holdout=0.0).fit(vectors))
    return (encoding + epoch) / epoch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--texts", type=int, default=20_000)
    arguments = parser.parse_args()
    rows = arguments.rows
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        make(path, rows)
        warm(path)
        results = affine(path, rows)
        memory = peak("whiten", path)
        few = min(rows, CLUSTERED)
        results.append((f"`clustered` on {few:,} x {D}: kmeans2 and PCAs, to ours", clustered(path, few), "at least 2"))
    faster = flow(arguments.texts)
    if faster is not None:
        work = f"`flow`: an epoch over {arguments.texts:,} texts with the encoder in the loop, to one on cached vectors"
        results.append((work, faster, "at least 10"))
    lines = [
        f"On {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}, numpy {np.__version__}.",
        "",
        "| repairs | ratio | bound |",
        "|---|---|---|",
        *(f"| {work} | {ratio:.2f} | {bound} |" for work, ratio, bound in results),
        "",
        f"The streaming fit of `whiten` takes {memory} MiB.",
    ]
    text = "\n".join(lines)
    print(text)
    put(text, "bench repairs")


if __name__ == "__main__":
    main()
