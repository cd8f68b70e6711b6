"""Options of `check`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from uncone.errors import OptionError
from uncone.verbs.options.calibrate import COSINE
from uncone.verbs.options.option import at_least, option
from uncone.verbs.options.shared import DiverseOptions, OutputOptions, RunOptions, SeedOptions, SpaceOptions

__all__ = ["CheckOptions", "CheckOutput", "SampleOptions"]


@dataclass(frozen=True, kw_only=True)
class SampleOptions(SeedOptions):
    """The size of the sample for measures that cannot be streamed."""

    sample: int = option(
        50_000, "Number of vectors kept for pair cosines, partition function and map.", rule=at_least(2)
    )


@dataclass(frozen=True, kw_only=True)
class CheckOptions(SampleOptions, RunOptions, DiverseOptions, SpaceOptions):
    """What `check` takes."""

    GROUP = "Diagnosis"
    FIRST: ClassVar[tuple[str, ...]] = ("scores", "model", "column")

    scores: Sequence[float] = option((), "Explain what this cosine means here.", flag="--score", rule=COSINE)
    repair: str | os.PathLike[str] | None = option(None, "Folder of a saved repair: check the repaired vectors.")
    exact: bool = option(
        False, "Compute the partition function over all vectors in a second pass, instead of a sample."
    )
    deep: bool = option(
        False,
        "Measure the local dimension over all vectors in another pass, instead of a sample, and the stability of "
        "searches.",
    )
    FOR_TEXTS: ClassVar[tuple[str, ...]] = (*SpaceOptions.FOR_TEXTS, "diverse")

    ann: bool = option(False, "Like --deep, but search an HNSW graph above 2 million vectors, and report its recall.")

    def check(self) -> None:
        """Refuse a graph on a cluster."""
        if self.ann and self.is_given("engine"):
            raise OptionError(
                "--ann builds its graph in the memory of this machine, so a cluster can't share it. Use --deep, which "
                "is exact, or leave --engine out."
            )
        super().check()


@dataclass(frozen=True, kw_only=True)
class CheckOutput(OutputOptions):
    """What `check` writes, and its quality gates."""

    fail_above: Sequence[str] = option((), "Exit with code 1 if a finding is above this bound: NAME=VALUE.")
    fail_below: Sequence[str] = option((), "Exit with code 1 if a finding is below this bound: NAME=VALUE.")
