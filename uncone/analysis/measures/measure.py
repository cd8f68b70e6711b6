"""A measure as data, and a family of measures that one function computes."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from uncone.analysis.measures.finding import Finding, Level, Value
from uncone.analysis.measures.unit import Unit
from uncone.stats.statistic import Statistic

__all__ = ["VERBS", "Curve", "Family", "Measure", "Place", "StatisticSettings", "Turn", "Verb"]

Verb = Literal["check", "layers", "deep", "training"]
VERBS: tuple[Verb, ...] = get_args(Verb)
"""Who computes a family: `check` on a space, `layers` on each layer, `layers --deep` on a sample of each layer, and
training (`tune`, `ablate`) on the vectors of held-out texts."""
Place = Literal["check", "compare", "health", "fix", "layers", "behind", "dots", "sizes", "contrast"]
"""Where a measure is shown beyond the full tables, which have every measure:

check     rows of the terminal report, one space or several side by side
compare   rows of spaces side by side only
health    findings about the data, not the space, in a section of their own
fix       before and after a repair
layers    columns of the short table of layers, bold rows of the long one
behind    columns of the short table of `layers --deep`
dots      the chart on one scale that studies of one layer have instead of curves
sizes     the table by the number of texts (`--curve`)
contrast  differences between two studies
"""
Turn = Literal["first", "aside", "last"]
_HEADING = 9


@dataclass(frozen=True)
class Curve:
    """A chart of a measure over the layers: its title, the title of its y axis, and a sentence on how to read it.

    `{row}` stands for what a row is: word, token or text.
    """

    title: str
    axis: str
    caption: str
    zero: bool = False
    """Whether a zero line is drawn: values of both signs mean something."""


@dataclass(frozen=True)
class Measure:
    """What a number is: declared once, shown everywhere.

    `meaning` and `level` are for functions that return bare numbers: a sentence with `{value}` in it, and what to think
    of a value. `heading` is the title in two short lines, for narrow columns.
    """

    name: str
    title: str
    unit: Unit
    definition: str
    paper: str = ""
    shown_in: str = "check layers contrast"
    """Places, with a space between them."""
    meaning: str = ""
    level: Callable[[float], Level] | None = None
    heading: tuple[str, str] = ("", "")
    curve: Curve | None = None
    difference: str = ""
    """The title of the chart of its difference between two studies; there is none without."""

    @property
    def places(self) -> list[str]:
        """Where it is shown beyond the full tables."""
        return self.shown_in.split()

    @property
    def column(self) -> tuple[str, str]:
        """Two lines of at most nine letters each."""
        if any(self.heading):
            return self.heading
        lines = textwrap.wrap(self.title.lower(), _HEADING, max_lines=2, placeholder="…")
        return lines[0], lines[1] if len(lines) > 1 else ""

    @property
    def chart(self) -> Curve | None:
        """Its curve over the layers; what has a column in their table has one, with the definition under it."""
        default = Curve(self.title, self.title.lower(), self.definition)
        return self.curve or (default if "layers" in self.places else None)

    def finding(self, value: Value, n: int, low: float | None = None, high: float | None = None) -> Finding:
        """A bare number as a finding."""
        meaning = self.meaning.format(value=self.unit.format(value)) or self.definition
        number = value if isinstance(value, int | float) and math.isfinite(value) else None
        level = Level.NOTE if self.level is None or number is None else self.level(number)
        return Finding(self.name, value, n, meaning, low=low, high=high, level=level)


@dataclass(frozen=True)
class StatisticSettings:
    """What a statistic of a third party may depend on."""

    dim: int
    seed: int


@dataclass(frozen=True, eq=False)
class Family:
    """Measures that one function computes: what it needs, for whom, and when.

    `compute` gets the measured space (a `Geometry`; with `--deep` a `DeepLayer`) and returns findings, or bare numbers:
    one, or one by name. `needs` names the statistics that are collected for it; a layer that cannot have one of them
    (without words) has none of its findings. `statistics` makes its own, which `compute` finds in `space.statistics`.
    `parts` are those of the `DeepLayer` that it shows: if one of them failed, the findings say why. `summary` is its
    line in the README. A `partial` family may leave measures out.

    `turn` is when it is computed: `aside` in a thread of its own, `last` after all others because it uses every core.
    """

    measures: tuple[Measure, ...]
    compute: Callable[[Any], Any]
    verbs: tuple[Verb, ...] = ("check", "layers")
    needs: tuple[str, ...] = ()
    parts: tuple[str, ...] = field(default=(), kw_only=True)
    summary: str = ""
    turn: Turn = "first"
    partial: bool = False
    statistics: Mapping[str, Callable[[StatisticSettings], Statistic]] = field(default_factory=dict)
    package: str = ""
    """The package of a third party."""

    @property
    def names(self) -> list[str]:
        """The names of its measures."""
        return [measure.name for measure in self.measures]

    @property
    def statistic_names(self) -> set[str]:
        """The names of the statistics that are collected for it, its own included."""
        return {*self.needs, *self.statistics}

    def findings(self, space: Any) -> list[Finding]:  # noqa: ANN401 - what the verb measures
        """The findings; when they cannot be computed, findings that say why."""
        n = int(getattr(space, "n", 0))
        try:
            return self._findings(self.compute(space), n)
        except Exception as error:  # whatever a measure does, the others are reported
            return self.failures(error, n)

    def failures(self, error: Exception, n: int) -> list[Finding]:
        """Findings that say why nothing could be measured."""
        return [_failed(measure, self.package, error, n) for measure in self.measures]

    def _findings(self, result: Any, n: int) -> list[Finding]:  # noqa: ANN401 - as functions return it
        if isinstance(result, Finding):
            result = [result]
        if isinstance(result, Sequence) and all(isinstance(finding, Finding) for finding in result):
            by_name = {finding.name: finding for finding in result}
        else:
            values = result if isinstance(result, Mapping) else {self.measures[0].name: result}
            by_name = {
                measure.name: measure.finding(_plain(values[measure.name]), n)
                for measure in self.measures
                if measure.name in values
            }
        measures = {measure.name: measure for measure in self.measures}
        if not self.partial and (missing := [name for name in measures if name not in by_name]):
            raise ValueError(f"its function returns no {', '.join(missing)}")
        return [finding for name, finding in by_name.items() if name in measures]


def _plain(value: Any) -> Value:  # noqa: ANN401 - numbers of Python or NumPy
    """The same as a value of Python, which JSON has."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if value is None or isinstance(value, int | float | list | dict):
        return value
    raise TypeError(f"its function returns {type(value).__name__}, not a number")


def _failed(measure: Measure, package: str, error: Exception, n: int) -> Finding:
    of = f" by {package}" if package else ""
    reason = " ".join(str(error).split()) or "no reason was given"
    meaning = f"{measure.name}{of} could not be measured, because {reason} ({type(error).__name__})."
    return Finding(measure.name, None, n, meaning, failed=True)
