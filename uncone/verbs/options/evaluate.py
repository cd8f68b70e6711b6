"""Options of `evaluate`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from uncone.errors import OptionError
from uncone.verbs.options.fix import LEVEL, LEVEL_DEFAULT, LEVEL_HELP
from uncone.verbs.options.option import among, at_least, option
from uncone.verbs.options.shared import LoadingOptions, OutputOptions, PairOptions, PoolingOptions, SeedOptions

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
class _JudgedVectors(PairOptions):
    """Vectors that are there already, and what people say of them: relevance judgments of a search, or pairs."""

    GROUP = "Vectors"

    vectors: Any = option(
        None,
        "Vectors to evaluate without a model, with --queries and --qrels or with --pairs: any source of check.",
    )
    queries: Any = option(None, "Vectors of queries that search --vectors.", needs="vectors")
    qrels: Any = option(
        None,
        "Relevance judgments: query, document, grade below a header (BEIR); or query, 0, document, grade (TREC).",
        needs="queries",
    )
    pairs: Any = option(
        None,
        "Pairs of --vectors: a table of two row numbers or ids and a score, or a label 0/1.",
        needs="vectors",
        group="Vectors",
    )
    left: str | None = option(None, "Column of --pairs with the first row or id.", needs="pairs", group="Vectors")
    right: str | None = option(None, "Column of --pairs with the second row or id.", needs="pairs", group="Vectors")
    score: str | None = option(None, "Column of --pairs with the score or label.", needs="pairs")
    ids: Any = option(
        None,
        "Column of --vectors (or file with a line per vector) with the ids that the judgments or pairs use.",
        flag="--id",
        default_text="row numbers, from 0",
        needs="vectors",
    )
    query_ids: Any = option(
        None,
        "Column of --queries (or file with a line per vector) with their ids.",
        flag="--query-id",
        default_text="row numbers, from 0",
        needs="queries",
    )
    text: Any = option(
        None, "Column of --vectors (or file with a line per vector) with texts, to show beside ids.", needs="vectors"
    )
    column: str | None = option(None, "Column, field or array that holds the vectors.", needs="vectors")
    tensor: str | None = option(None, "Tensor of a .safetensors file that holds the vectors.", needs="vectors")

    def _requirement(self, name: str) -> str:
        return super()._requirement(name) if name == "pairs" else f"needs {self.flag(name)}: name it too."

    def check(self) -> None:
        """Refuse vectors without judgments or pairs, or with both."""
        if self.vectors is not None:
            if (self.qrels is None) == (self.pairs is None):
                raise OptionError(
                    "Vectors are evaluated with --queries and --qrels, or with --pairs: name one of them."
                )
            if self.pairs is not None and self.queries is not None:
                raise OptionError("--pairs names rows of --vectors: leave --queries out.")
        super().check()


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(_JudgedVectors, SeedOptions, PoolingOptions, _Layers):
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
        default_text="those in the literature; with --vectors, the linear ones",
    )
    tasks: Sequence[str] = option(
        (),
        "Another task: sst2, wic, labels:FILE, pairs:FILE (0/1), words:FILE, or a retrieval folder (corpus.jsonl, "
        "queries.jsonl, qrels.tsv).",
        flag="--task",
    )
    sides: str = option(
        "together",
        "Retrieval: repair queries as the documents, by a separate repair fitted on the queries, or compare both.",
        rule=among("together", "separate", "both"),
    )
    relevant: int = option(1, "Retrieval: the smallest grade that counts as relevant.", rule=at_least(1))
    fit_on: Any = option(
        "snli",
        "Texts to fit methods on: a corpus, a file, or train (of STS-B and SICK). With --vectors, other vectors.",
        default_text="snli; --vectors themselves",
    )
    protocols: Sequence[str] = option(
        ("inductive",),
        "Fit on --fit-on (inductive) or on the scored texts themselves (transductive).",
        flag="--protocol",
    )
    level: str | None = option(None, LEVEL_HELP, default_text=LEVEL_DEFAULT, rule=LEVEL)
    gmm: bool = option(True, "Include the Gaussian mixture, the slowest method.")
    published: bool = option(False, "Show published scores next to the measured ones.")
    seeds: int = option(1, "Number of seeds for methods with a random start.", rule=at_least(1))
    replicates: int = option(1000, "Number of bootstrap samples for the intervals.", rule=at_least(10))
    data: str | os.PathLike[str] | None = option(
        None, "Folder with the named corpora and datasets.", default_text="$UNCONE_DATA"
    )

    NOT_FOR_VECTORS: ClassVar[tuple[str, ...]] = (
        *("datasets", "tasks", "layer", "pooling", "prompt", "cache", "protocols", "level", "published", "gmm", "data"),
        *LoadingOptions.field_names(),
    )
    """Options that mean nothing without a model."""

    @property
    def both_sides(self) -> tuple[str, ...]:
        """The choices of sides to compare."""
        return ("together", "separate") if self.sides == "both" else (self.sides,)

    def check_model(self, model: object) -> None:
        """Refuse a model beside vectors, and options of models; and neither of them."""
        if self.vectors is None:
            if model is None:
                raise OptionError(
                    "Name a model, or vectors with --vectors and their --queries and --qrels, or --pairs."
                )
            return
        if model is not None:
            raise OptionError("--vectors are evaluated without a model: leave the model out, or leave --vectors out.")
        wrong = next((name for name in self.NOT_FOR_VECTORS if self.is_given(name)), None)
        wrong = "sides" if wrong is None and self.pairs is not None and self.is_given("sides") else wrong
        if wrong is not None:
            need = "for --queries" if wrong == "sides" else "for a model"
            raise OptionError(
                f"{self.flag(wrong)} is {need}, not for {'--pairs' if wrong == 'sides' else '--vectors'}."
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
        own = ("vectors", "datasets", "tasks", "methods", "protocols", "layer", "pooling", "sides", "level", "seeds")
        wrong = [options.flag(name) for name in own if options.is_given(name)]
        others = [name for name in self.field_names() if name not in ("html", "suite", "out", "supervised", "limit")]
        wrong += [self.flag(name) for name in others if self.is_given(name)]
        if wrong:
            raise OptionError(f"--suite defines its own tables and writes them to --out: leave {wrong[0]} out.")
