"""Options of `tune`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from uncone.errors import OptionError
from uncone.verbs.options.option import among, at_least, between, option
from uncone.verbs.options.shared import LoadingOptions, OutputOptions, SeedOptions, TextOptions

__all__ = ["TuneOptions", "TuneOutput"]

_ABOVE_ZERO = at_least(1e-12, "a number above zero")


@dataclass(frozen=True, kw_only=True)
class TuneOptions(SeedOptions, LoadingOptions, TextOptions):
    """What `tune` takes."""

    GROUP = "Training"
    FIRST: ClassVar[tuple[str, ...]] = ("out", "objective", "dev")

    out: str | os.PathLike[str] | None = option(
        None, "Folder for the tuned model, in the format of sentence-transformers.", flag="--out -o"
    )
    text: Sequence[str] | str = option(
        (), "Columns with the texts: one, two for pairs, or three for triplets.", group="Source"
    )
    label: str | None = option(None, "Column with the classes, or with the labels of NLI.", group="Source")
    score: str | None = option(None, "Column with the scores of pairs.", group="Source")
    limit: int | None = option(None, "Use only the first N examples.", rule=at_least(2), group="Source")
    objective: str | None = option(
        None,
        "What to train for: contrastive (texts alone), nli, scored (pairs with scores), pairs, triplets, labeled "
        "(texts of one class attract each other) or classify (a linear head).",
        rule=among("contrastive", "nli", "scored", "pairs", "triplets", "labeled", "classify"),
        default_text="what the source holds",
    )
    dev: Any = option(
        None,
        "Scored or labeled pairs that choose the best step: stsb, or a table.",
        default_text="held-out examples, or stsb if it is at hand",
    )
    datasets: Sequence[Any] = option(
        (),
        "Datasets to compare the model on before and after: sts12 to sts16, stsb, sickr, or tables of scored pairs.",
        flag="--dataset",
        default_text="stsb if it is at hand and fits, or held-out examples",
    )
    then: str | None = option(
        None, "Repair to fit on the tuned model, such as flow or whiten; it is evaluated on all seven STS sets."
    )
    freeze: Sequence[str] = option(
        (), "Layers to keep as they are: embeddings,1-4, or 'all-but 4'.", group="Layers", split=False
    )
    drop_layers: Sequence[str] = option((), "Layers to remove, such as 3-4.", group="Layers", split=False)
    reinit: Sequence[str] = option((), "Layers to start again from random weights.", group="Layers", split=False)
    pooling: str | None = option(
        None,
        "How the tokens of a text become one vector.",
        rule=among("mean", "cls", "max", "last"),
        default_text="the model's own, or mean",
        group="Model",
    )
    dropout: float | None = option(
        None,
        "Dropout while training.",
        rule=between(0.0, 0.9),
        default_text="the model's own",
        group="Model",
    )
    epochs: float | None = option(None, "Number of passes over the examples.", rule=_ABOVE_ZERO)
    steps: int | None = option(
        None, "Number of steps.", rule=at_least(1), default_text="one epoch; for contrastive, at most 200"
    )
    lr: float | None = option(
        None,
        "Learning rate.",
        rule=_ABOVE_ZERO,
        default_text="by the width of the model: 5e-4 for 128, 3e-5 for 768",
    )
    scale: float = option(20.0, "Factor on cosines in the loss, one over the temperature.", rule=_ABOVE_ZERO)
    batch_size: int = option(64, "Number of examples per step.", rule=at_least(2))
    gradient_accumulation: int = option(1, "Number of batches per step.", rule=at_least(1))
    max_length: int = option(64, "Number of tokens of a text that training sees.", rule=at_least(4))
    patience: int = option(
        0, "Stop after this many probes without a better dev score; 0 never stops early.", rule=at_least(0)
    )
    probe_every: int | None = option(
        None, "Number of steps between probes.", rule=at_least(1), default_text="few enough to cost little time"
    )
    resume: bool = option(False, "Resume this command where it was interrupted.", group="Running")
    progress: Callable[..., None] | None = option(
        None, "Called with the step, the amount done, the total, and the loss.", cli=False
    )

    def check(self) -> None:
        """Refuse to run without an output, and two lengths of a run."""
        if self.out is None:
            raise OptionError("Name a folder for the tuned model: -o tuned.")
        if self.epochs is not None and self.steps is not None:
            raise OptionError("--epochs and --steps are two ways to say how long to train. Name one of them.")
        super().check()


@dataclass(frozen=True, kw_only=True)
class TuneOutput(OutputOptions):
    """What `tune` writes."""

    html: Path | None = option(Path("uncone-tune.html"), "HTML report, a single page that works offline.")
