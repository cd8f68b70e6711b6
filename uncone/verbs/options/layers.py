"""Options of `layers`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from uncone.errors import OptionError
from uncone.verbs.options.option import Rule, among, option
from uncone.verbs.options.shared import (
    DiverseOptions,
    EngineOptions,
    LoadingOptions,
    OutputOptions,
    SeedOptions,
    TextOptions,
)

if TYPE_CHECKING:
    from uncone.encoders.open import Loading

__all__ = ["LayersOptions", "LayersOutput"]


def _whole(minimum: int, maximum: int | None = None) -> Rule:
    text = f"at least {minimum}" if maximum is None else f"{minimum} to {maximum:,}"
    return Rule(
        lambda value: isinstance(value, int) and minimum <= value <= (maximum or value), f"a whole number, {text}"
    )


@dataclass(frozen=True, kw_only=True)
class _Settings(SeedOptions):
    """What is measured: the settings of a study, by their names."""

    GROUP = "Measures"

    rows: str = option("words", "What each vector stands for.", rule=among("words", "tokens", "cls", "sentences"))
    word_pooling: str = option(
        "mean", "How the subwords of a word become one vector.", rule=among("mean", "first", "last")
    )
    pooling: str = option(
        "mean", "How tokens become one vector, for --rows sentences.", rule=among("mean", "cls", "max", "last")
    )
    kinds: str | None = option(
        None, "Kinds of vectors to include: word, number, symbol; for tokens also piece.", default_text="all"
    )
    cased: bool = option(False, "Treat words that differ in case as different words.")
    special: bool | None = option(
        None, "Include special tokens.", default_text="in the mean of a text, not among tokens"
    )
    no_sinks: bool = option(False, "Leave out vectors whose norm is over ten times the median of their layer.")
    window: int | None = option(
        None, "Number of tokens the model sees at once.", default_text="the model's maximum", rule=_whole(4)
    )
    stride: int | None = option(
        None, "Number of tokens between two windows.", default_text="the window", rule=_whole(1)
    )
    words: Sequence[str] = option((), "Words to follow, such as beverage,go,school.")
    mev_words: int = option(100, "Number of random words for MEV.", rule=_whole(0))
    min_contexts: int = option(5, "Number of texts a word must occur in for self-similarity.", rule=_whole(2))
    deep: bool = option(False, "Look behind the cone: clusters, local dimension, hubs, word frequency, manifolds.")
    k: int | None = option(
        None,
        "Number of clusters per layer, with --deep.",
        default_text="by silhouette, 1 to 15",
        needs="deep",
        rule=_whole(1, 1_000),
    )
    frequency: str = option(
        "corpus",
        "Word frequencies, with --deep: corpus, tokenizer (its order) or wordfreq.",
        needs="deep",
        rule=among("corpus", "tokenizer", "wordfreq"),
    )
    deep_sample: int = option(50_000, "Number of vectors kept per layer, with --deep.", needs="deep", rule=_whole(100))
    sentences: bool = option(False, "Keep the IntraSim of every sentence.", cli=False)
    keep_vectors: bool = option(
        False, "Keep the vectors of the input embeddings and of the last layer, with deep.", needs="deep", cli=False
    )
    memory: str | int | None = option(None, "Memory limit.", default_text="2GB, with --deep 4GB")
    batch_size: int | None = option(None, "Number of texts encoded at once.", rule=_whole(1))

    def check(self) -> None:
        super().check()
        if self.stride is not None and self.window is not None and self.stride > self.window:
            raise OptionError(f"--stride {self.stride} is longer than --window {self.window}: words would be skipped.")
        if self.is_given("frequency") and self.rows not in ("words", "tokens"):
            raise OptionError(
                f"--frequency needs words or tokens, but with --rows {self.rows} a vector is a whole text."
            )


@dataclass(frozen=True, kw_only=True)
class LayersOptions(EngineOptions, _Settings, DiverseOptions, LoadingOptions, TextOptions):
    """What `layers` takes."""

    GROUP = "Running"
    FIRST: ClassVar[tuple[str, ...]] = ("rows", "words", "deep")

    limit: int | None = option(None, "Use only the first N texts.", rule=_whole(2))
    sample: int | None = option(None, "Use a random sample of N texts.", rule=_whole(2), group="Sampling")
    split: bool | None = option(None, "Split texts into sentences.", default_text="line files only", group="Sampling")
    keep_duplicates: bool = option(
        False, "Measure exact duplicates too. They make words look more stable than they are.", group="Sampling"
    )
    curve: bool = option(
        False,
        "Also measure on an eighth, a quarter and half of the texts, to see what has converged.",
        group="Measures",
    )
    resume: bool = option(False, "Resume this command where it was interrupted.")
    state: str | os.PathLike[str] | None = option(None, "Folder for saved runs.", default_text="the user's cache")
    save_every: float = option(30.0, "Seconds between saves.")
    keep_state: bool = option(False, "Keep the saved state after the run; `settle()` removes it.", cli=False)
    model_name: str | None = option(None, "Name of the model in the report.", cli=False)
    revisions: Sequence[str] = option(
        (), "Checkpoints to compare, in this order: revisions on the hub, or subfolders of the model.", group="Model"
    )
    control: str | None = option(
        None,
        "Also measure a control: random is the same architecture with random weights, drawn with --seed.",
        rule=among("random"),
        group="Model",
    )
    fresh: int | None = option(None, "Draw the weights of the model anew, with this seed.", cli=False)

    def check(self) -> None:
        """Refuse checkpoints that are named twice, or beside one revision."""
        super().check()
        if self.revisions and self.revision is not None:
            raise OptionError("--revision is one revision, --revisions are several to compare: leave one out.")
        twice = next((name for name in self.revisions if self.revisions.count(name) > 1), None)
        if twice is not None:
            raise OptionError(f"--revisions names {twice} twice. Name each once.")

    @property
    def compares(self) -> bool:
        """Whether a model becomes several studies."""
        return bool(self.revisions) or self.control is not None

    @property
    def loading(self) -> Loading:
        """The options as the encoders take them, with the seed of random weights."""
        return replace(super().loading, fresh=self.fresh)

    def settings(self) -> dict[str, Any]:
        """The settings of a study."""
        return {name: getattr(self, name) for name in _Settings.field_names() if name != "progress"}


@dataclass(frozen=True, kw_only=True)
class LayersOutput(OutputOptions):
    """What `layers` writes."""

    html: Path | None = option(Path("uncone-layers.html"), "HTML report, a single page that works offline.")
    suite: str | None = option(
        None,
        "Make the figures and tables of Ethayarajh 2019, Cai et al. 2021 and Li et al. 2020 (word frequency).",
        rule=among("papers"),
    )
    out: Path | None = option(None, "Folder for the figures and tables of --suite.", flag="--out -o")
    methods: str | None = option(
        None,
        "Repairs after which --suite measures word frequency again, such as center,droptop:k=3,whiten.",
        default_text="center,standardize,droptop,whiten,clustered,flow",
        needs="suite",
    )
    word_table: Path | None = option(None, "Write every word with its curves, as .csv or .parquet.")
    sentence_table: Path | None = option(None, "Write every sentence with its IntraSim, as .csv or .parquet.")

    FOLDERS: ClassVar[tuple[str, ...]] = ("figures", "out")

    def check_suite(self, options: LayersOptions) -> None:
        """Refuse a suite without a folder, and options that it sets itself."""
        if self.suite is None or self.out is None:
            raise OptionError(
                "--suite papers needs a folder for its figures and tables, and --out is only for it: --suite papers "
                "--out papers."
            )
        wrong = [options.flag(name) for name in ("curve", "sentences") if options.is_given(name)]
        others = [name for name in self.field_names() if name not in ("html", "suite", "out", "methods")]
        wrong += [self.flag(name) for name in others if self.is_given(name)]
        if wrong:
            raise OptionError(f"--suite decides what is measured and writes all to --out: leave {wrong[0]} out.")

    def check_tables(self, studies: int) -> None:
        """Refuse tables of several studies, and names that do not say their format."""
        from uncone.report.charts.files import table_format

        for flag, path in (("--word-table", self.word_table), ("--sentence-table", self.sentence_table)):
            if path is None:
                continue
            if studies > 1:
                raise OptionError(f"{flag} writes one study, but this command makes {studies}. Run them one by one.")
            table_format(path)
