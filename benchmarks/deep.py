"""What `layers --deep` costs on top of `layers`: `make bench`. Needs real texts: $UNCONE_DATA."""

from __future__ import annotations

import argparse
import os
import platform
import time

from benchmarks.page import put
from uncone import layers
from uncone.data.demo import demo_model
from uncone.encoders.open import open_encoder


def main() -> None:
    if not os.environ.get("UNCONE_DATA"):
        print("benchmarks.deep needs SNLI: set UNCONE_DATA.")
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    encoder = open_encoder(demo_model())
    best = {False: float("inf"), True: float("inf")}
    rows = 0
    for _ in range(arguments.rounds):
        for deep in (False, True):
            start = time.perf_counter()
            study = layers(encoder, "snli", limit=arguments.sentences, deep=deep)
            best[deep] = min(best[deep], time.perf_counter() - start)
            rows = study.deep.layers[0].n if study.deep is not None else rows
    lines = [
        f"all-MiniLM-L6-v2 on {arguments.sentences:,} SNLI sentences, {rows:,} rows of each of 7 layers in the sample. "
        f"The yardstick, plain `layers`, takes {best[False]:.1f} s on {len(os.sched_getaffinity(0))} cores, Python "
        f"{platform.python_version()}.",
        "",
        "| what | ratio | bound |",
        "|---|---|---|",
        f"| `uncone.layers(deep=True)` to plain `uncone.layers` | {best[True] / best[False]:.2f} | at most 2 |",
    ]
    text = "\n".join(lines)
    print(text)
    put(text, "bench deep")


if __name__ == "__main__":
    main()
