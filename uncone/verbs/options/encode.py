"""Options of `encode`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from uncone.data.vectors.databases.url import is_database
from uncone.errors import OptionError
from uncone.verbs.options.option import option
from uncone.verbs.options.shared import EngineOptions, LoadingOptions, ModelOptions, TextOptions, check_folder

__all__ = ["ALL_LAYERS", "EncodeOptions"]

ALL_LAYERS = "all"
"""The layer that stands for every layer, each with a column of its own."""


@dataclass(frozen=True, kw_only=True)
class EncodeOptions(EngineOptions, LoadingOptions, ModelOptions, TextOptions):
    """What `encode` takes."""

    GROUP = "Output"
    FIRST: ClassVar[tuple[str, ...]] = ("model", "out", "layer")

    out: str | os.PathLike[str] | None = option(
        None,
        "Output file: .parquet, .npy, .safetensors, .csv, .tsv, .jsonl, or a folder (no ending) of Parquet files.",
        flag="--out -o",
    )
    layer: str | int | None = option(
        None,
        "Layer of the model: -1 is the last, 1,-1 averages the two, all writes a column per layer.",
        default_text="the model's own",
    )
    progress: Callable[[str, int, int | None], None] | None = option(
        None, "Called with the step, the number of texts encoded since the last call, and the total.", cli=False
    )

    def check(self) -> None:
        """Refuse to run without a model or an output."""
        if self.model is None:
            raise OptionError("Name the model that encodes the texts: --model NAME.")
        if self.out is None:
            raise OptionError("Name the file for the vectors: -o vectors.parquet.")
        if is_database(os.fspath(self.out)):
            raise OptionError(
                "encode writes files, not databases. Write .parquet, and send that there with uncone apply or fix."
            )
        check_folder(self, self.out)
        super().check()
