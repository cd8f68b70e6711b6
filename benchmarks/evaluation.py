"""How long the methods of an evaluation take, against encoding its sentences once, in the same run: `make bench`.

    UNCONE_DATA=DIR python -m benchmarks.evaluation --datasets stsb,sickr     smaller

Seven STS datasets, the standard methods but for the mixture of Gaussians, at the last layer of all-MiniLM-L6-v2. The
fits, the scores and the intervals may take at most as long again as the encoding.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time

import numpy as np

from benchmarks.page import put


def timed(datasets: list[str], fit_on: str) -> tuple[float, float, int, int]:
    """Seconds of encoding, seconds of all, distinct sentences (with those fitted on) and methods beside raw."""
    from uncone.data.cache import VectorCache
    from uncone.data.demo import demo_model
    from uncone.encoders.open import open_encoder
    from uncone.evaluation.spaces import Settings
    from uncone.evaluation.tasks.sts import evaluate_sts

    encoder = open_encoder(demo_model())
    marks = {"encoding": 0.0}
    sentences = 0

    def progress(step: str, n: int, total: int | None) -> None:
        nonlocal sentences
        if step == "encoding":
            marks["encoding"], sentences = time.perf_counter(), total or 0

    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        settings = Settings(layer=-1, fit_on=fit_on, gmm=False, cache=VectorCache(folder), progress=progress)
        table = evaluate_sts(encoder, datasets, settings=settings)
        end = time.perf_counter()
    for row in table.rows:
        average = float("nan") if row.average is None else 100 * row.average
        print(f"  {row.method.name:<20} {average:6.2f}", file=sys.stderr)
    return marks["encoding"] - start, end - start, sentences, len(table.rows) - 1


def main() -> None:
    from uncone.data.tasks.sts import STS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", default=",".join(STS))
    parser.add_argument("--fit-on", default="snli")
    arguments = parser.parse_args()
    if not os.environ.get("UNCONE_DATA"):
        sys.exit("UNCONE_DATA names no folder with the datasets.")
    names = arguments.datasets.split(",")
    encoding, total, sentences, methods = timed(names, arguments.fit_on)
    ratio = total / encoding
    work = f"{len(names)} STS datasets x {methods} methods at one layer of all-MiniLM-L6-v2, to encoding {sentences:,}"
    lines = [
        f"On {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}, numpy {np.__version__}.",
        "",
        "| evaluation | ratio | bound |",
        "|---|---|---|",
        f"| {work} sentences once ({encoding:.0f} s) | {ratio:.2f} | at most 2 |",
    ]
    text = "\n".join(lines)
    print(text)
    put(text, "bench evaluation")


if __name__ == "__main__":
    main()
