"""Options of `ablate layers`, `ablate data` and `ablate repair`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from uncone.errors import OptionError
from uncone.verbs.options.option import among, at_least, between, option
from uncone.verbs.options.shared import LoadingOptions, OutputOptions, SeedOptions

__all__ = ["AblateDataOptions", "AblateLayersOptions", "AblateOptions", "AblateOutput", "AblateRepairOptions"]

_TASK = "Task to train for: sst2, rte, wic, with a split such as sst2:dev; or a table with a text and a label."
_ABOVE_ZERO = at_least(1e-12, "a number above zero")


@dataclass(frozen=True, kw_only=True)
class AblateOptions(SeedOptions, LoadingOptions):
    """What all studies of trainings share."""

    GROUP = "Training"

    text: str | None = option(None, "Column of a table with the texts; a,b for pairs of texts.", group="Source")
    label: str | None = option(None, "Column of a table with the classes.", group="Source")
    data: str | os.PathLike[str] | None = option(
        None, "Folder with the named tasks.", default_text="$UNCONE_DATA", group="Source"
    )
    seeds: int = option(3, "Number of seeds.", rule=at_least(1))
    train: int = option(2_000, "Number of items to train on.", rule=at_least(8))
    test_size: int | None = option(None, "Number of items to test on.", rule=at_least(8), default_text="all")
    epochs: int = option(2, "Number of passes over the items.", rule=at_least(1))
    batch_size: int = option(32, "Number of items per step.", rule=at_least(2))
    lr: float | None = option(
        None,
        "Learning rate.",
        rule=_ABOVE_ZERO,
        default_text="by the width of the model: 5e-4 up to 256, less above and for pairs of texts",
    )
    max_length: int | None = option(
        None,
        "Number of tokens of a text that the model sees.",
        rule=at_least(4),
        default_text="64, or 128 for pairs of texts",
    )
    runs: str | os.PathLike[str] | None = option(
        None,
        "Folder for finished trainings, so that a study resumes.",
        default_text="the user's cache",
        group="Running",
    )
    progress: Callable[..., None] | None = option(
        None, "Called with the step, the amount done, and the total.", cli=False
    )
    announce: Callable[[str], None] | None = option(
        None, "Called before the first training with the number of trainings and their time.", cli=False
    )


@dataclass(frozen=True, kw_only=True)
class AblateLayersOptions(AblateOptions):
    """What `ablate layers` takes."""

    FIRST: ClassVar[tuple[str, ...]] = ("task", "variants", "seeds")

    task: Any = option("sst2", _TASK)
    variants: Sequence[str] = option(
        ("freeze", "drop", "reinit", "first", "head"),
        "What to try: freeze, drop or re-initialize each layer, freeze the first ones, or train the head alone.",
        rule=among("freeze", "drop", "reinit", "first", "head"),
    )
    seeds: int = option(3, "Number of seeds for every variant.", rule=at_least(1))


@dataclass(frozen=True, kw_only=True)
class AblateDataOptions(AblateOptions):
    """What `ablate data` takes."""

    FIRST: ClassVar[tuple[str, ...]] = ("task", "skew", "objectives")

    task: Any = option("sst2", _TASK)
    skew: float = option(
        0.95, "Share of the last class in the skewed draw.", rule=between(0.5, 0.9999, "above 0.5 and under 1")
    )
    skew_by: str | None = option(None, "Skew by a column instead: COLUMN=VALUE:SHARE, such as topic=politics:0.9.")
    against: Any = option(None, "Train on this table instead of a skewed draw.")
    objectives: Sequence[str] = option(
        ("classify", "contrastive"),
        "What to train: a head with cross-entropy, or dropout views of the texts.",
        rule=among("classify", "contrastive"),
        flag="--objective",
    )
    seeds: int = option(3, "Number of seeds for every draw.", rule=at_least(1))

    def check(self) -> None:
        """Refuse two ways to skew."""
        flags = [self.flag(name) for name in ("skew", "skew_by", "against") if self.is_given(name)]
        if len(flags) > 1:
            raise OptionError(f"{' and '.join(flags[:2])} are two ways to say what is skewed. Name one of them.")
        super().check()


@dataclass(frozen=True, kw_only=True)
class AblateRepairOptions(AblateOptions):
    """What `ablate repair` takes."""

    FIRST: ClassVar[tuple[str, ...]] = ("tasks", "methods", "seeds")

    tasks: Sequence[Any] = option(("sst2",), f"{_TASK} sst2 is tested on its dev set.", flag="--task")
    methods: Sequence[str] = option(
        (),
        "Repairs as MODE/K/P, such as batch/3/2: batch, running, frozen or offline with K clusters and P directions.",
        default_text="none and ten others",
    )
    seeds: int = option(1, "Number of seeds for every method.", rule=at_least(1))


@dataclass(frozen=True, kw_only=True)
class AblateOutput(OutputOptions):
    """What `ablate` writes."""

    html: Path | None = option(Path("uncone-ablate.html"), "HTML report, a single page that works offline.")
