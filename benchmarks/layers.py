"""How `uncone layers` compares with the bare forward pass, one sentence per call, and sampled pairs: `make bench`.

Everything is a ratio to what is measured in the same run. Needs real texts: $UNCONE_DATA.
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

import numpy as np

from benchmarks.page import put
from uncone import layers
from uncone.data.batch import Batch
from uncone.data.demo import demo_model
from uncone.data.texts.selection import Selection
from uncone.data.texts.texts import open_texts
from uncone.encoders.batching import FIRST, TOKENS, budgeted, pools
from uncone.encoders.encoder import Encoder, Window
from uncone.encoders.open import open_encoder
from uncone.encoders.rows.rows import RowRule
from uncone.stats.word_sums import WordSums

PAIRS = 1_000
PEAKS = 3  # runs: how much freed memory lies about at the peak is chance


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def batches(encoder: Encoder, sentences: int) -> list:
    rule, selection = RowRule(), Selection(open_texts("snli"), limit=sentences)
    cut = []
    for pool in pools(selection.read(), first=FIRST):
        texts = encoder.passages([unit.text for unit in pool], Window())
        cut += budgeted([laid for passages in texts for laid in rule.lay(passages, encoder)], TOKENS)
    return cut


def self_similarity(encoder: Encoder, cut: list, rounds: int) -> float:
    """How many times faster the sums give SelfSim of every word than sampled pairs do, in one layer."""
    from scipy.spatial.distance import cosine

    rule, numbers = RowRule(), {}
    parts = []
    for batch in cut:
        layout = rule.layout(batch, lambda name: numbers.setdefault(name, len(numbers)))
        rows = encoder.encode([laid.passage for laid in batch]).pooled(3, layout.tokens, layout.starts)
        parts.append(Batch.of(rows, rows=layout.rows, groups=layout.keys.groups, words=layout.keys.words))

    def ours() -> None:
        sums = WordSums(encoder.dim, len(numbers))
        for part in parts:
            sums.update(Batch.of(part.vectors, rows=part.rows, groups=part.groups, words=part.words))
        sums.selfsim()

    rows, words = np.concatenate([part.vectors for part in parts]), np.concatenate([part.words for part in parts])
    repeated = [word for word, count in enumerate(np.bincount(words)) if count > 1]
    random = np.random.default_rng(0)
    some = random.choice(repeated, 10, replace=False)

    def sampled() -> None:
        for word in some:
            mine = np.flatnonzero(words == word)
            for a, b in random.choice(mine, (PAIRS, 2)):
                cosine(rows[a], rows[b])

    return seconds(sampled) * len(repeated) / len(some) / min(seconds(ours) for _ in range(rounds))


def peak(sentences: int) -> tuple[int, int, int]:
    """The most memory that a run takes, in the median of a few, and what it keeps of words, in MiB.

    Of words there are the sums, for SelfSim, and the occurrences of some, for MEV.
    """
    code = (
        "import json, re, uncone\n"
        "from uncone.data.demo import demo_model\n"
        "from uncone.data.texts.texts import ManyTexts, open_texts\n"
        "texts = ManyTexts([open_texts('snli'), open_texts('snli:test')], 'snli')\n"
        f"study = uncone.layers(demo_model(), texts, limit={sentences})\n"
        "numbers = len(study.layers) * study.source['dimensions']\n"
        "sums, occurrences = study.words.n * numbers * 8, int(study.words.mev_n.sum()) * numbers * 4\n"
        # Not ru_maxrss: a child begins with what its parent had.
        "most = int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) // 1024\n"
        "print(json.dumps([most, round(sums / 2**20), round(occurrences / 2**20)]))"
    )
    command = [sys.executable, "-c", code]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(PEAKS)]
    most, sums, occurrences = zip(*map(json.loads, runs), strict=True)
    return int(np.median(most)), sums[0], occurrences[0]


def main() -> None:
    if not os.environ.get("UNCONE_DATA"):
        print("benchmarks.layers needs SNLI: set UNCONE_DATA.")
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    sentences, rounds = arguments.sentences, arguments.rounds
    encoder = open_encoder(demo_model())
    cut = batches(encoder, sentences)
    bare, whole = [], []
    for _ in range(rounds):
        bare.append(seconds(lambda: [encoder.encode([laid.passage for laid in batch]) for batch in cut]))
        whole.append(seconds(lambda: layers(encoder, "snli", limit=sentences)))
    # Of two that take turns, the ratio of neighbors: a noisy minute slows both, and the best of each may lie apart.
    ratios = np.divide(whole, bare)
    one_by_one = seconds(lambda: [encoder.encode([laid.passage]) for batch in cut for laid in batch])
    small, large = peak(sentences), peak(4 * sentences)
    sampled = self_similarity(encoder, cut, rounds)
    cores = len(os.sched_getaffinity(0))
    grown = [after - before for before, after in zip(small, large, strict=True)]
    rows = [
        (
            f"`uncone.layers`, everything, to the bare forward pass (median of {rounds} turns; half of them "
            f"{np.quantile(ratios, 0.25):.2f} to {np.quantile(ratios, 0.75):.2f})",
            f"{np.median(ratios):.2f}",
            "at most 1.25",
        ),
        (
            "one sentence per call in a Python loop, to `uncone.layers`",
            f"{one_by_one / min(whole):.1f}",
            "at least 2.5",
        ),
        (
            "SelfSim from 1,000 pairs per word with scipy, to ours",
            f"{sampled:,.0f}",
            "at least 100",
        ),
    ]
    lines = [
        f"all-MiniLM-L6-v2 on {sentences:,} SNLI sentences. The yardstick, the bare forward pass over the same batches,"
        f" takes {min(bare):.1f} s on {cores} cores, Python {platform.python_version()}.",
        "",
        "| what | ratio | bound |",
        "|---|---|---|",
        *(f"| {work} | {ratio} | {bound} |" for work, ratio, bound in rows),
        "",
        f"Peak memory at {sentences:,} and {4 * sentences:,} sentences (median of {PEAKS} runs): {small[0]} and "
        f"{large[0]} MiB, {grown[0]} more. What is kept of words grows by {grown[1] + grown[2]} MiB: their sums from "
        f"{small[1]} to {large[1]}, the occurrences for MEV from {small[2]} to {large[2]}.",
    ]
    text = "\n".join(lines)
    print(text)
    put(text, "bench layers")


if __name__ == "__main__":
    main()
