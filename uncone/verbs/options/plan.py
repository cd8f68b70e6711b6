"""Options of `plan`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from uncone.errors import OptionError
from uncone.verbs.options.check import SampleOptions
from uncone.verbs.options.option import Rule, among, at_least, between, option
from uncone.verbs.options.shared import OutputOptions

__all__ = ["PlanOptions", "PlanOutput", "bytes_per_second"]

_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*([kMGT]?)(bit|B)/s")
_STEPS = " kMGT"


def bytes_per_second(rate: str) -> float:
    """A bandwidth in bytes a second; 0 if it can't be read.

    >>> bytes_per_second("25Gbit/s"), bytes_per_second("3 GB/s")
    (3125000000.0, 3000000000.0)
    """
    match = _RATE.fullmatch(rate.strip())
    if match is None:
        return 0.0
    number, step, unit = match.groups()
    return float(number) * 1000.0 ** _STEPS.index(step or " ") / (8 if unit == "bit" else 1)


def _is_count(value: float) -> bool:
    return 2 <= value <= 1e12 and float(value).is_integer()


@dataclass(frozen=True, kw_only=True)
class PlanOptions(SampleOptions):
    """What `plan` takes."""

    GROUP = "Plan"
    FIRST: ClassVar[tuple[str, ...]] = ("engine", "workers", "method", "bandwidth")

    column: str | None = option(None, "Column, field or array that holds the vectors.", group="Source")
    tensor: str | None = option(None, "Tensor of a .safetensors file that holds the vectors.", group="Source")
    rows: float | None = option(
        None,
        "Number of vectors, such as 1e9: of synthetic ones, or as if the source had so many.",
        rule=Rule(_is_count, "a whole number from 2 to 1e12"),
        group="Source",
    )
    dim: int | None = option(
        None, "Dimensions of synthetic vectors.", rule=between(1, 16_384), needs="rows", group="Source"
    )
    dtype: str = option(
        "float32",
        "Numbers that synthetic vectors are made of.",
        rule=among("float16", "float32", "float64", "int8", "uint8"),
        needs="dim",
        group="Source",
    )
    method: str | None = option(
        None, "Plan fix and apply with this method, such as whiten or clustered, instead of check."
    )
    exact: bool = option(False, "Plan check --exact.")
    float64: bool = option(False, "Plan with double precision.")
    engine: str = option(
        "threads", "Where to compute: in threads of this machine, or on a cluster.",
        rule=among("threads", "ray", "spark", "dask"),
    )  # fmt: skip
    workers: int = option(
        0,
        "Number of workers, of one core each.",
        rule=at_least(0),
        default_text="one per core of this machine",
    )
    bandwidth: str | None = option(
        None,
        "Bandwidth at which all workers together read the source, such as 25Gbit/s or 3GB/s.",
        rule=Rule(lambda value: bytes_per_second(value) > 0, "a number with a unit, such as 25Gbit/s or 3GB/s"),
        default_text="as measured here, for each worker",
    )

    def check_source(self, has_source: bool) -> None:
        """Refuse to plan for nothing, and for synthetic vectors beside a source.

        Raises:
            OptionError: there is neither a source nor a size, or both.
        """
        if has_source and self.dim is not None:
            raise OptionError("--dim is for synthetic vectors, and a source has its own: leave one of them out.")
        if not has_source and (self.rows is None or self.dim is None):
            raise OptionError("Name a source, or the size of synthetic vectors with --rows and --dim.")

    def check(self) -> None:
        """Refuse options of `check` beside a method, and a method that plans nothing."""
        if self.method is not None and self.exact:
            raise OptionError("--exact is for check, and --method plans fix and apply: leave one of them out.")
        if self.method == "auto":
            raise OptionError("--method auto needs labeled pairs to choose by. Name a method, such as whiten.")
        super().check()


@dataclass(frozen=True, kw_only=True)
class PlanOutput(OutputOptions):
    """The files of `plan`."""

    html: Path | None = option(Path("uncone-plan.html"), "HTML report, a single page that works offline.")
