"""The laws of a statistic, checked for our own classes and for those of third parties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from uncone.data.batch import Batch
from uncone.errors import MergeError
from uncone.stats.statistic import State, Statistic

__all__ = ["LawBroken", "assert_same_state", "check_statistic"]


class LawBroken(AssertionError):
    """A statistic or a repair does not keep a law of its contract."""


def check_statistic(statistic: Statistic, batches: Sequence[Batch], *, rtol: float = 1e-9) -> None:
    """Check every law of `Statistic` on some batches, of which there should be at least three.

    >>> from uncone.stats.unit_vectors import UnitSum
    >>> rng = np.random.default_rng(0)
    >>> check_statistic(UnitSum(4), [Batch.of(rng.normal(size=(5, 4)), first_row=5 * i) for i in range(3)])

    Raises:
        LawBroken: a law does not hold; the message says which.
    """
    whole = _fold(statistic, batches)
    reference = whole.state()
    _same("an empty statistic is neutral on the left", statistic.empty().merge(whole), reference, rtol)
    _same("an empty statistic is neutral on the right", whole.merge(statistic.empty()), reference, rtol)
    _same("two empty statistics make an empty one", statistic.empty().merge(statistic.empty()), statistic.state(), rtol)
    _same("the order of the batches does not matter", _fold(statistic, batches[::-1]), reference, rtol)
    parts = [_fold(statistic, [batch]) for batch in batches]
    _same("merging from the left", _merge(parts), reference, rtol)
    _same("merging from the right", _merge(parts[::-1]), reference, rtol)
    before = [_copy(part.state()) for part in parts]
    _merge(parts)
    for part, state in zip(parts, before, strict=True):
        _same("merging leaves its parts alone", part, state, 0.0)
    restored = type(whole).from_state(_copy(reference), **whole.settings)
    _same("saving and loading changes nothing", restored, reference, 0.0)
    _same("a loaded statistic can be merged", restored.merge(parts[0].empty()), reference, rtol)
    _same("an interrupted statistic goes on to the digit", *_fold_with_restarts(statistic, batches), 0.0)
    _same("rows may be given where it said they could be put", _fold_in_place(statistic, batches), reference, 0.0)
    _refuses_strangers(statistic)


def assert_same_state(actual: State, expected: State, *, rtol: float, law: str = "the states are the same") -> None:
    """Compare two states: numbers to `rtol` of the largest of their array, all else to the bit.

    Raises:
        LawBroken: they differ.
    """
    if actual.keys() != expected.keys():
        raise LawBroken(f"{law}: {sorted(actual)} is not {sorted(expected)}")
    for key, target in expected.items():
        value = actual[key]
        if value.shape != target.shape:
            raise LawBroken(f"{law}: {key} has shape {value.shape}, not {target.shape}")
        if target.dtype.kind != "f" or rtol == 0.0:
            same = np.array_equal(value, target, equal_nan=target.dtype.kind == "f")
        else:
            finite = np.abs(target[np.isfinite(target)])
            same = np.allclose(value, target, rtol=rtol, atol=rtol * finite.max(initial=0.0), equal_nan=True)
        if not same:
            raise LawBroken(f"{law}: {key} is {value!r}, not {target!r}")


def _fold(statistic: Statistic, batches: Sequence[Batch]) -> Statistic:
    folded = statistic.empty()
    for batch in batches:
        folded.update(batch)
    return folded


def _fold_in_place(statistic: Statistic, batches: Sequence[Batch]) -> Statistic:
    placed = statistic.empty()
    for batch in batches:
        place = placed.place(batch.n)
        if place is not None and place.dtype == batch.vectors.dtype:
            place[:] = batch.vectors
            batch = replace(batch, vectors=place)
        placed.update(batch)
    placed.finish()
    return placed


def _fold_with_restarts(statistic: Statistic, batches: Sequence[Batch]) -> tuple[Statistic, State]:
    """The fold with a snapshot after every batch, and what it has to be."""
    straight, broken = statistic.empty(), statistic.empty()
    for batch in batches:
        for fold in (straight, broken):
            fold.update(batch)
            fold.finish()
        snapshot = _copy(broken.snapshot())
        broken = statistic.empty()
        broken.resume(snapshot)
    return broken, straight.state()


def _merge(parts: Sequence[Statistic]) -> Statistic:
    merged = parts[0].empty()
    for part in parts:
        merged = merged.merge(part)
    return merged


def _same(law: str, statistic: Statistic, expected: State, rtol: float) -> None:
    assert_same_state(statistic.state(), expected, rtol=rtol, law=f"{type(statistic).__name__}: {law}")


def _copy(state: State) -> State:
    return {key: value.copy() for key, value in state.items()}


def _refuses_strangers(statistic: Statistic) -> None:
    class Stranger(type(statistic)):  # type: ignore[misc]
        """The same with another name."""

    stranger: Any = Stranger(**statistic.settings)
    try:
        statistic.merge(stranger)
    except MergeError:
        return
    raise LawBroken(f"{type(statistic).__name__}: merging different kinds has to be an error")
