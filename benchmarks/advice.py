"""When does a repair help? The grid of docs/advice.md, and the records of the rules: `make bench`.

    UNCONE_DATA=DIR python -m benchmarks.advice                            the shared models
    UNCONE_DATA=DIR python -m benchmarks.advice --models DIR               and the models of a folder
    UNCONE_DATA=DIR python -m benchmarks.advice --cap 100 --only bert-tiny smaller

Every layer of every model, ten tasks, seven repairs that were fitted without labels on the task's own texts or on
others. A cell is the gain of a repair over the raw vectors, in points: it is good from 1 on, and harm from -0.5 down.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.spaces import Layer, Task
from uncone.analysis.advice.witness import WordPairs
from uncone.analysis.cosine.units import unit_rows
from uncone.data.batch import Matrix
from uncone.errors import FitError
from uncone.evaluation.prescribe import fit_all
from uncone.evaluation.table import Method

GOOD, HARM = 1.0, -0.5
"""Points: a gain of so much or more is good, a loss of so much or more is harm."""


@dataclass(frozen=True)
class Cell:
    """What a repair did to a task at a layer of a model; `witness` is what it did to the agreement with words."""

    model: str
    layer: str
    last: bool
    task: str
    use: str
    repair: str
    fitted: str
    baseline: float
    diverse: float
    raw: float
    gain: float
    witness: float | None = None


def candidates(dim: int) -> list[Method]:
    tops = [(f"droptop {k}", "droptop", {"k": k}) for k in (1, 3, 7, 15)]
    listed: list[tuple[str, str, dict[str, Any]]] = [("center", "center", {}), *tops]
    listed += [("whiten", "whiten", {}), ("whiten to d/2", "whiten", {"dim": dim // 2})]
    return [Method(name, kind, options) for name, kind, options in listed]


def baseline(vectors: Matrix) -> float:
    """The mean cosine of all pairs of distinct rows."""
    units = unit_rows(usable(vectors)).astype(np.float64)
    n = len(units)
    return float((np.square(units.sum(axis=0)).sum() - n) / (n * (n - 1)))


def usable(vectors: Matrix) -> Matrix:
    return vectors[np.isfinite(vectors).all(axis=1) & vectors.any(axis=1)]


def cells(
    layer: Layer, own: Sequence[Task], pairs: Mapping[str, WordPairs], others: Sequence[str], diverse: Sequence[str]
) -> Iterator[Cell]:
    methods = candidates(layer.matrix.shape[1])
    background = baseline(layer.vectors(diverse)) if diverse else float("nan")
    foreign = fit_all(methods, usable(layer.vectors(others)), seed=0)
    for task in own:
        vectors = layer.vectors(task.own)
        raw = task.score(layer.vectors)
        level = baseline(vectors)
        before = _agreement(pairs[task.name], vectors)
        for fitted, repairs in (("own", fit_all(methods, usable(vectors), seed=0)), ("others", foreign)):
            for method, repair in zip(methods, repairs, strict=True):
                if isinstance(repair, FitError):
                    print(f"{layer.model} {layer.name} {task.name} {method.name}: {repair}", file=sys.stderr)
                    continue

                def repaired(texts: Sequence[str], repair: Any = repair) -> Matrix:
                    rows = layer.vectors(texts)
                    finite = np.isfinite(rows).all(axis=1)
                    mapped: Matrix = np.full((len(rows), repair._n_features_out), np.nan, np.float32)
                    mapped[finite] = repair.map(rows[finite])
                    return mapped

                gain = task.score(repaired) - raw
                after = None if fitted != "own" else _agreement(pairs[task.name], repaired(task.own))
                change = None if before is None or after is None else after - before
                yield Cell(
                    layer.model,
                    layer.name,
                    layer.last,
                    task.name,
                    task.use,
                    method.name,
                    fitted,
                    level,
                    background,
                    raw,
                    gain,
                    change,
                )


def _agreement(pairs: WordPairs, vectors: Matrix) -> float | None:
    return pairs.agreement(vectors, replicates=2).value
