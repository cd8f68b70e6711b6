"""Options of `evaluate`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from uncone.errors import OptionError
from uncone.verbs.options.fix import LEVEL
from uncone.verbs.options.option import among, at_least, option
from uncone.verbs.options.shared import LoadingOptions, OutputOptions, PoolingOptions, SeedOptions

__all__ = ["EvaluateOptions", "EvaluateOutput"]


@dataclass(frozen=True, kw_only=True)
class _Layers(LoadingOptions):
    """The layers to evaluate."""

    layer: Sequence[str | int] | str | int = option(
        (),
        "Layer of the model: -1 is the last, 1,-1 averages the two, all evaluates each. Repeatable.",
        split=False,
        default_text="the model's own",
    )


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(SeedOptions, PoolingOptions, _Layers):
    """What `evaluate` takes."""

    GROUP = "Evaluation"
    FIRST: ClassVar[tuple[str, ...]] = ("datasets", "methods", "tasks")

    datasets: Sequence[Any] | None = option(
        (),
        "STS dataset: sts12 to sts16, stsb, sickr, with a split such as stsb:dev; or a table of scored pairs.",
        flag="--dataset",
        default_text="all seven",
    )
    methods: Any = option(
        (),
        "Repairs to compare, such as raw,center,droptop:k=15,clustered:k=27;p=0,droptop+whiten,my/repair/,static.",
        default_text="those in the literature",
    )
    tasks: Sequence[str] = option(
        (),
        "Another task: sst2, wic, labels:FILE, pairs:FILE (0/1), words:FILE, or a retrieval folder (corpus.jsonl, "
        "queries.jsonl, qrels.tsv).",
        flag="--task",
    )
    separate: bool = option(False, "Retrieval: fit a separate repair on the queries.")
    fit_on: Any = option("snli", "Texts to fit methods on: a corpus, a file, or train (of STS-B and SICK).")
    protocols: Sequence[str] = option(
        ("inductive",),
        "Fit on --fit-on (inductive) or on the scored texts themselves (transductive).",
        flag="--protocol",
    )
    level: str = option("sentence", "Repair the vectors of texts, or of tokens before pooling.", rule=LEVEL)
    gmm: bool = option(True, "Include the Gaussian mixture, the slowest method.")
    published: bool = option(False, "Show published scores next to the measured ones.")
    seeds: int = option(1, "Number of seeds for methods with a random start.", rule=at_least(1))
    replicates: int = option(1000, "Number of bootstrap samples for the intervals.", rule=at_least(10))
    data: str | os.PathLike[str] | None = option(
        None, "Folder with the named corpora and datasets.", default_text="$UNCONE_DATA"
    )

    @property
    def layers(self) -> Any:  # noqa: ANN401 - one layer, or several
        """The layer, or the layers, as evaluation takes them."""
        return None if not self.layer else self.layer[0] if len(self.layer) == 1 else list(self.layer)  # type: ignore


@dataclass(frozen=True, kw_only=True)
class EvaluateOutput(OutputOptions):
    """What `evaluate` writes."""

    FOLDERS: ClassVar[tuple[str, ...]] = ("figures", "out")

    html: Path | None = option(Path("uncone-evaluate.html"), "HTML report, a single page that works offline.")
    csv: Path | None = option(None, "Write every number as a row of a CSV table.")
    suite: str | None = option(
        None, "Reproduce every table of the cluster-based, flow and whitening papers.", rule=among("papers")
    )
    out: Path | None = option(
        None, "Folder for the tables of --suite. Parts that are measured already are kept.", flag="--out -o"
    )
    supervised: str | None = option(
        None,
        "Sentence model trained on NLI, for the supervised tables of --suite.",
        default_text="the model, if it is one",
    )
    limit: int | None = option(None, "Use only N pairs of each dataset of --suite, for a trial.", rule=at_least(30))

    def check_suite(self, options: EvaluateOptions) -> None:
        """Refuse a suite without a folder, and options that it sets itself."""
        if self.suite is None or self.out is None:
            raise OptionError(
                "--suite papers needs a folder for its tables, and --out, --supervised and --limit are only for it: "
                "--suite papers --out tables."
            )
        own = ("datasets", "tasks", "methods", "protocols", "layer", "pooling", "separate", "level", "seeds")
        wrong = [options.flag(name) for name in own if options.is_given(name)]
        others = [name for name in self.field_names() if name not in ("html", "suite", "out", "supervised", "limit")]
        wrong += [self.flag(name) for name in others if self.is_given(name)]
        if wrong:
            raise OptionError(f"--suite defines its own tables and writes them to --out: leave {wrong[0]} out.")
