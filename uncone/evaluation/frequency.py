"""Word frequency before and after repairs: does a repair remove the bias?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from uncone.analysis.frequency.bias import Association, FrequencyBias, Outcome, changes_of, frequency_bias, outcome_of
from uncone.analysis.frequency.frequency import word_means
from uncone.analysis.layers.deep_results import WordSpace
from uncone.data.batch import Matrix
from uncone.errors import FitError, NoUsableRowsError, OptionError, ShapeError
from uncone.evaluation.methods import parse_methods, with_raw
from uncone.evaluation.table import Method
from uncone.repairs.registry import KINDS, make_seeded

__all__ = ["METHODS", "RepairedBias", "SpaceBias", "bias_after_repairs", "frequency_methods"]

METHODS = "center,standardize,droptop,whiten,clustered,flow"
"""The repairs after which word frequency is measured again, unless others are named."""

Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class RepairedBias:
    """The bias after a method; without one, the `reason` says why. Changes and outcomes are relative to raw vectors."""

    method: str
    bias: FrequencyBias | None
    changes: Mapping[str, Association] = field(default_factory=dict)
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True)
class SpaceBias:
    """The bias in one space, raw and after every method; `frequencies` names where the frequencies are from."""

    study: str
    space: str
    unit: str
    frequencies: str
    dim: int
    repairs: Sequence[RepairedBias]

    @property
    def raw(self) -> FrequencyBias | None:
        """The bias of the vectors as they are."""
        return self.repairs[0].bias


def frequency_methods(text: Any = METHODS) -> list[Method]:  # noqa: ANN401 - as for evaluate
    """The methods, the raw vectors first; all of them can be fitted on vectors alone.

    >>> [method.name for method in frequency_methods("whiten:dim=2,raw")]
    ['raw', 'whiten dim=2']

    Raises:
        OptionError: an unknown method, or one that isn't a repair of vectors.
    """
    methods = with_raw(parse_methods(text))
    for method in methods[1:]:
        if not {*method.repair.replace("+", ",").split(",")} <= set(KINDS):
            raise OptionError(
                f"Word frequency is measured after repairs that are fitted here, and {method.name} is none. Choose "
                f"from {', '.join(KINDS)}."
            )
    return methods


def bias_after_repairs(
    space: WordSpace, study: str, methods: Sequence[Method], *, seed: int = 0, progress: Progress | None = None
) -> SpaceBias:
    """The bias of word vectors, raw and after each method, which is fitted on the same vectors.

    A word that has several vectors counts once: by their mean, and by the mean of their norms.
    """
    rows: list[RepairedBias] = []
    for method in methods:
        try:
            bias = _bias(_repaired(space.vectors, method, seed), space, seed)
        except (FitError, NoUsableRowsError, ShapeError) as error:
            rows.append(RepairedBias(method.name, None, reason=str(error)))
        else:
            rows.append(_compared(method.name, rows[0].bias if rows else None, bias))
        if progress is not None:
            progress("word frequency after repairs", 1, None)
    return SpaceBias(study, space.name, space.unit, space.frequencies.name, space.vectors.shape[1], rows)


def _repaired(vectors: Matrix, method: Method, seed: int) -> Matrix:
    if not method.repair:
        return vectors
    return make_seeded(method.repair, method.options, seed).fit(vectors).map(vectors)


def _bias(vectors: Matrix, space: WordSpace, seed: int) -> FrequencyBias:
    norms = np.sqrt(np.vecdot(vectors, vectors).astype(np.float64))
    words, means, lengths = word_means(vectors, norms, space.words)
    return frequency_bias(means, words, space.frequencies, norms=lengths, seed=seed)


def _compared(name: str, raw: FrequencyBias | None, bias: FrequencyBias) -> RepairedBias:
    if raw is None:
        return RepairedBias(name, bias)
    changes = changes_of(raw, bias)
    outcomes = {key: outcome_of(key, raw.ties[key], bias.ties[key], change) for key, change in changes.items()}
    return RepairedBias(name, bias, changes, outcomes)
