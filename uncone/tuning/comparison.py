"""What tuning was worth: the model before and after on the same pairs, and beside the best repair without training."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from uncone.data.tasks.sts import PairTask
from uncone.errors import RepairError
from uncone.evaluation.methods import RAW, Fits, parse_methods, prepare
from uncone.evaluation.prescribe import candidates_for
from uncone.evaluation.spaces import Settings
from uncone.evaluation.table import EvaluationTable, Method, Row
from uncone.evaluation.tasks.sts import Contender, compare_contenders
from uncone.tuning.probes import dev_score

__all__ = ["Comparison", "RepairChoice", "choose_repair", "compare"]

_MOST_FIT = 5_000
"""Texts that a repair is fitted on: a sample of the training texts."""


@dataclass(frozen=True)
class RepairChoice:
    """The repair of the untuned model that does best on the dev pairs.

    `seconds` covers encoding the texts that it is fitted on, and the fit. Without dev pairs, it is the default repair,
    and `score` is None.
    """

    name: str
    method: Method
    score: float | None
    seconds: float
    tried: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """The scores before and after: `table` has differences from the untuned model, `beyond` from its best repair."""

    table: EvaluationTable
    beyond: Row | None
    """The tuned model, with its difference from the repaired untuned one."""


def choose_repair(
    model: str | os.PathLike[str], texts: Sequence[str], dev: PairTask | None, settings: Settings
) -> RepairChoice | None:
    """Fit the usual repairs on the training texts, and choose by the dev pairs; None if none can be fitted."""
    rng = np.random.default_rng(settings.seed)
    sample = [texts[place] for place in np.sort(rng.permutation(len(texts))[:_MOST_FIT])]
    pairs = [] if dev is None else [text.strip() for side in (dev.left, dev.right) for text in side]
    every = list(dict.fromkeys(pairs)) or sample[:2]
    choices: list[RepairChoice] = []
    for level in ("sentence", "token") if dev is not None else ("sentence",):
        own = replace(settings, fit_on=sample, cache=None, level=level)
        began = time.monotonic()
        (fits, *_), _ = prepare(model, every, "droptop", own)
        encoding = (time.monotonic() - began) * len(sample) / (len(sample) + len(every))
        methods = parse_methods("droptop") if dev is None else candidates_for(fits.space.dim, len(sample))
        if level == "token":
            methods = [replace(method, level=level) for method in methods if method.repair == "clustered"]
        choices += _fit(fits, methods, dev, encoding)
    best = max(choices, key=lambda choice: -2.0 if choice.score is None else choice.score, default=None)
    return None if best is None else replace(best, tried=len(choices))


def _fit(fits: Fits, methods: Sequence[Method], dev: PairTask | None, encoding: float) -> list[RepairChoice]:
    """Every repair that can be fitted, with its score on the dev pairs and the seconds that it takes."""
    choices = []
    for method in methods:
        began = time.monotonic()
        try:
            repair = fits.repair(method, fits.settings.seed, (), "")
        except RepairError:
            continue  # too few texts for this one; the others are compared
        seconds, score = encoding + time.monotonic() - began, None
        if dev is not None:
            left, right = (fits.space.vectors(side, repair) for side in (dev.left, dev.right))
            score = dev_score(dev.scores, left, right)
        name = f"{method.name}, by token" if method.level == "token" else method.name
        choices.append(RepairChoice(name, method, score, seconds, 1))
    return choices


def compare(
    model: str | os.PathLike[str],
    tuned: str | os.PathLike[str],
    datasets: Sequence[Any],
    repair: RepairChoice | None,
    then: str | None,
    before: Settings,
    after: Settings,
) -> Comparison:
    """The untuned model, its best repair, the tuned model, and the tuned model with a repair, on the same pairs."""
    contenders = [Contender("untuned", model, RAW, before)]
    if repair is not None:
        own = replace(before, level=repair.method.level)
        contenders.append(Contender(f"untuned, {repair.name}", model, repair.method, own))
    contenders.append(Contender("tuned", tuned, RAW, after))
    for method in parse_methods(then, protocols=("inductive", "transductive")) if then else ():
        if method.repair:
            contenders.append(Contender(f"tuned, {method.name}", tuned, method, after))
    rows, from_repair = compare_contenders(contenders, datasets)
    table = EvaluationTable(os.fspath(tuned), [cell.dataset for cell in rows[0].cells], rows)
    beyond = next((row for row in from_repair if row.method.name == "tuned"), None) if repair is not None else None
    return Comparison(table, beyond)
