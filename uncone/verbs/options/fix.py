"""Options of `fix`, `apply`, `export` and `prescribe`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from uncone.errors import OptionError
from uncone.verbs.options.check import SampleOptions
from uncone.verbs.options.option import Options, Rule, among, option
from uncone.verbs.options.shared import (
    DiverseOptions,
    EngineOptions,
    LoadingOptions,
    OutputOptions,
    PairOptions,
    RunOptions,
    SeedOptions,
    SpaceOptions,
    check_folder,
)

__all__ = [
    "LEVEL",
    "LEVEL_DEFAULT",
    "LEVEL_HELP",
    "ApplyOptions",
    "ExportOptions",
    "FixOptions",
    "FixOutput",
    "MethodOptions",
    "PrescribeOptions",
]

LEVEL = among("sentence", "token")
LEVEL_HELP = "Repair the vectors of texts, or of tokens before pooling."
LEVEL_DEFAULT = "sentence; token for sif and zipf"
_FOLDER = "A name without an ending is a folder with one file per source file. A database URL is a new table."
_FORMATS = ".npy, .npz, .parquet, .csv, .tsv, .jsonl, .safetensors, .vec or .txt"


def _k(value: Any) -> bool:  # noqa: ANN401 - a number or a word
    return value == "auto" or (str(value).removeprefix("-").isdecimal() and len(str(value)) < 19)


@dataclass(frozen=True, kw_only=True)
class MethodOptions(Options):
    """Options of the methods: each goes to the steps that take it."""

    GROUP = "Methods"

    k: int | str | None = option(
        None,
        "Number of directions droptop removes, or of clusters for clustered: a number or auto.",
        default_text="d/100; 27",
        rule=Rule(_k, "a whole number or auto"),
    )
    p: int | None = option(None, "Number of directions clustered removes per cluster; 0 removes only the mean.")
    dim: int | None = option(None, "Number of directions whiten or zipf keeps, strongest first.")
    rotation: str | None = option(None, "Rotation of whiten: pca or zca.")
    shrinkage: float | str | None = option("auto", "Shrinkage of whiten: auto, ledoit-wolf, none, or 0 to 1.")
    a: float | None = option(None, "Weight of sif: a token with the share p of the texts counts a/(a + p).")
    frequencies: str | None = option(
        None,
        "How often words occur, for zipf and sif on word vectors: texts, a table with the columns word and count, "
        "wordfreq, or order (the file is sorted by frequency).",
        default_text="counted in the texts",
    )
    how: str | None = option(None, "How mute treats a dimension: zero or zscore.")
    dimensions: Sequence[int] | None = option(
        None,
        "Dimensions to mute, such as 92,308.",
        many=True,
        rule=Rule(lambda value: int(value) >= 0, "a list of numbers from 0 on, such as 92,308"),
    )
    assign: str | None = option(None, "Clustering method of clustered: kmeans or gmm.")
    epochs: int | None = option(None, "Maximum number of passes of flow over the vectors.")
    lr: float | None = option(None, "Learning rate of flow.")
    others: dict[str, Any] | None = option(None, "Other parameters of the methods, by name.", cli=False)

    @property
    def method_options(self) -> dict[str, Any]:
        """The options that are given, as the repairs take them."""
        names = [name for name in MethodOptions.field_names() if name != "others" and self.is_given(name)]
        values = {name: getattr(self, name) for name in names}
        if values.get("k", "auto") != "auto":
            values["k"] = int(values["k"])
        if "shrinkage" in values:
            values["shrinkage"] = None if values["shrinkage"] is None else _shrinkage(values["shrinkage"])
        if values.get("dimensions") is not None:
            values["dimensions"] = [int(number) for number in values["dimensions"]]
        return {**values, **(self.others or {})}


def _shrinkage(value: float | str) -> float | str | None:
    try:
        return float(value)
    except ValueError:
        return None if value == "none" else value


@dataclass(frozen=True, kw_only=True)
class _ScoredPairs(PairOptions):
    """Pairs that a repair is chosen by."""

    score: str | None = option(None, "Column of --pairs with the score or label.", needs="pairs")


@dataclass(frozen=True, kw_only=True)
class PrescribeOptions(_ScoredPairs, SeedOptions, DiverseOptions, SpaceOptions):
    """What `prescribe` takes."""

    FOR_TEXTS: ClassVar[tuple[str, ...]] = (*SpaceOptions.FOR_TEXTS, "diverse")

    folds: int = option(5, "Number of parts that the pairs are split into.")
    candidates: Any = option(None, "The repairs to choose from.")
    replicates: int | None = option(None, "Number of bootstrap samples for the intervals.")
    least_gain: float | None = option(None, "The smallest gain that is worth a repair.")


@dataclass(frozen=True, kw_only=True)
class FixOptions(MethodOptions, _ScoredPairs, SampleOptions, RunOptions, DiverseOptions, SpaceOptions):
    """What `fix` takes."""

    GROUP = "Repair"
    FIRST: ClassVar[tuple[str, ...]] = ("out", "save", "pairs")

    out: str | os.PathLike[str] | None = option(
        None, f"Write the repaired vectors to this file: {_FORMATS}. {_FOLDER} Other columns are kept.", flag="--out -o"
    )
    save: str | os.PathLike[str] | None = option(None, "Folder to save the repair to, for use on other vectors.")
    level: str | None = option(None, LEVEL_HELP, default_text=LEVEL_DEFAULT, rule=LEVEL)
    skip_bad: bool = option(False, "Ignore vectors with NaN in the fit, and write them as NaN.")
    prescription: Any = option(None, "The advice that the method comes from, saved with the repair.", cli=False)

    FOR_TEXTS: ClassVar[tuple[str, ...]] = (*SpaceOptions.FOR_TEXTS, "level", "diverse")

    def check_choice(self, method: str) -> None:
        """Refuse pairs beside a named method, and options beside `auto`."""
        if method != "auto" and self.pairs is not None:
            raise OptionError("--pairs is only for --method auto, which uses them to choose the method.")
        if method == "auto" and (self.method_options or self.level not in (None, "sentence")):
            raise OptionError("--method auto chooses the options too: leave the options of methods, and --level, out.")


@dataclass(frozen=True, kw_only=True)
class FixOutput(OutputOptions):
    """What `fix` writes beside the repair."""

    html: Path | None = option(Path("uncone-fix.html"), "HTML report, a single page that works offline.")


@dataclass(frozen=True, kw_only=True)
class ApplyOptions(EngineOptions, SeedOptions, SpaceOptions):
    """What `apply` takes."""

    GROUP = "Repair"
    FIRST: ClassVar[tuple[str, ...]] = ("out", "model", "text")

    out: str | os.PathLike[str] | None = option(
        None, f"Write the repaired vectors to this file: {_FORMATS}. {_FOLDER}", flag="--out -o"
    )
    text: Sequence[str] | str = option(
        (), "Column with the texts of the source. Without a source, a text to encode and repair.", split=False
    )

    def check(self) -> None:
        """Refuse an engine for a single file, which one machine has to write."""
        check_folder(self, self.out)
        super().check()


@dataclass(frozen=True, kw_only=True)
class ExportOptions(LoadingOptions):
    """What `export` takes."""

    GROUP = "Model"

    model: Any = option(
        None, "Model to run before the repair, for sentence-transformers or a single onnx graph of both."
    )
    layer: str | int | None = option(None, "Layer that the repair was fitted on, if it isn't saved with the repair.")
    pooling: str | None = option(None, "Pooling that the repair was fitted on, if it isn't saved with the repair.")
    level: str | None = option(
        None, "Level that the repair was fitted on, if it isn't saved with the repair.", rule=LEVEL
    )
