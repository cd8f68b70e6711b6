"""What `tune` costs beside the trainer, and what reusing frozen layers saves `ablate`.

    python -m benchmarks.tuning                     150 steps of 64 texts through bert-tiny
    python -m benchmarks.tuning --steps 5           fewer

The yardstick of `tune` is sentence-transformers' own trainer with the same model, texts and settings, without probes,
the best step and checkpoints. That of `ablate` is the same training of a head with frozen layers run in every epoch.
All are CPU seconds, the best of several rounds taken in turns.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sentence_transformers import SentenceTransformerTrainer
from transformers import PrinterCallback

from benchmarks.cpu import seconds
from benchmarks.page import put
from uncone.data.tasks.sts import open_pairs
from uncone.encoders.open import quiet
from uncone.tuning import classifier, trainer
from uncone.tuning.examples import open_examples, split_held_out
from uncone.tuning.model import load_pipeline, transformer_of
from uncone.tuning.objectives import make_dataset, make_loss
from uncone.tuning.probes import Prober
from uncone.tuning.surgery import Surgery, blocks_of
from uncone.tuning.tasks import open_task

BOUND, FASTER = 1.15, 1.3


def tuning(model: Path, steps: int, folder: Path) -> tuple[Callable[[], object], Callable[[], object]]:
    """The bare trainer, and ours with its probes on held-out texts and on the dev pairs of STS-B."""
    examples = open_examples(["snli", "stsb:train"], "contrastive")
    train, dev, _ = split_held_out(examples)
    assert dev is not None
    prober = Prober(dev.distinct_texts, open_pairs("stsb:dev"))
    settings = trainer.TrainingSettings(steps=steps, lr=5e-4, scale=10.0, max_length=32)

    def bare() -> None:
        pipeline = load_pipeline(model)
        pipeline.max_seq_length = settings.max_length
        arguments = trainer._arguments(pipeline, train, settings, folder / "bare")
        loss = make_loss(pipeline, train, settings.scale)
        with quiet():
            run = SentenceTransformerTrainer(pipeline, arguments, make_dataset(train), loss=loss)
            run.remove_callback(PrinterCallback)
            run.train()

    def ours() -> None:
        trainer.train(load_pipeline(model), train, settings, prober, folder=folder / "ours", identity={})

    return bare, ours


def heads(model: Path, n_train: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """Training of the head alone, with frozen layers run in every epoch, and once."""
    task = open_task("sst2", n_train=n_train)
    layers = len(blocks_of(transformer_of(load_pipeline(model))))
    surgery = Surgery(freeze=frozenset(range(layers + 1)))
    settings = classifier.FitSettings(epochs=3)

    def fit(reuse: bool) -> Callable[[], object]:
        own = replace(settings, reuse=reuse)
        return lambda: classifier.fit(model, task.train, task.classes, own, surgery=surgery)

    return fit(False), fit(True)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--train", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    models = Path(os.environ["UNCONE_DATA"]).parent / "models"
    with tempfile.TemporaryDirectory() as folder:
        bare, ours = tuning(models / "bert-tiny", arguments.steps, Path(folder))
        again, once = heads(models / "bert-mini", arguments.train)
        rounds = [tuple(map(seconds, (bare, ours, again, once))) for _ in range(arguments.rounds)]
    best = [min(times) for times in zip(*rounds, strict=True)]
    table = "\n".join(
        [
            f"bert-tiny, {arguments.steps} steps of 64 texts; bert-mini, a head, {arguments.train:,} texts, 3 epochs.",
            "",
            "| what | ratio | bound |\n|---|---|---|",
            f"| `tune`, with probes and checkpoints, to the bare trainer | {best[1] / best[0]:.2f} | at most {BOUND} |",
            f"| frozen layers in every epoch, to frozen layers once | {best[2] / best[3]:.2f} | at least {FASTER} |",
        ]
    )
    print(table)
    put(table, "bench tuning")


if __name__ == "__main__":
    main()
