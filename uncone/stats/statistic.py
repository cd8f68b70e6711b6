"""The contract of a statistic: a small monoid that a stream of batches is folded into.

The laws, checked for every class by `uncone.stats.laws.check_statistic`:

* an empty statistic is neutral;
* any split, order and grouping of the batches gives the same answer;
* merging statistics of different spaces or settings is an error that says so;
* `from_state(state())` changes nothing;
* a statistic that is resumed from a snapshot goes on as if nothing had happened, to the digit;
* rows that are given where `place` said they could be put count like any others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import Batch, Matrix
from uncone.errors import MergeError

__all__ = ["Bundle", "State", "Statistic", "check_same_settings"]

State = dict[str, NDArray[Any]]
"""What a statistic is made of: named arrays, ready for .npz or safetensors."""


class Statistic(ABC):
    """A mergeable summary of rows. `update` adds to it; `merge` makes a new one.

    A statistic that is a number of sums names them in `additive`, and needs no method but `update`.
    """

    additive: ClassVar[tuple[str, ...]] = ()
    """Attributes that add up when two statistics are merged: arrays or numbers."""

    @property
    def settings(self) -> dict[str, Any]:
        """What two statistics must share to be merged: the arguments of the class, kept under their own names."""
        return {name: getattr(self, name) for name in _arguments(type(self))}

    @abstractmethod
    def update(self, batch: Batch) -> None:
        """Add the rows of a batch."""

    def place(self, rows: int) -> Matrix | None:
        """A writable buffer for the next rows; None if the statistic copies nothing, or the buffer is full.

        `update` may consume rows in this buffer in place, which saves one copy.
        """
        return None

    def finish(self) -> None:  # noqa: B027 - most statistics put nothing aside
        """Work off what `update` has put aside; more batches may follow."""

    def close(self) -> None:  # noqa: B027 - most statistics look at rows one by one
        """Count the groups of `open` batches: no more of their rows will come."""

    def absorb(self, other: Self) -> None:
        """Add another statistic of the same settings to this one, in place: what `merge` and `measure` fold with."""
        for name in self.additive:
            total = getattr(self, name)
            total += getattr(other, name)
            setattr(self, name, total)

    def state(self) -> State:
        """Everything that was learned, as arrays."""
        return {name.lstrip("_"): np.asarray(getattr(self, name)) for name in self.additive}

    def _restore(self, state: State) -> None:
        """Take over what `state` returned."""
        for name in self.additive:
            value = state[name.lstrip("_")]
            setattr(self, name, value.copy() if value.ndim else value.item())

    def snapshot(self) -> State:
        """What is needed to go on after an interruption, to the digit; nothing must be left waiting."""
        return self.state()

    def resume(self, snapshot: State) -> None:
        """Go on from a snapshot."""
        self._restore(snapshot)

    @property
    def flops_per_row(self) -> float:
        """Multiplications and additions of matrix products for each row; what grows slower than them isn't counted."""
        return 0.0

    def rows_kept(self, rows: int) -> float | None:
        """Of how many of so many rows the state holds numbers; None if its size doesn't depend on the rows."""
        return None

    def empty(self) -> Self:
        """A statistic with the same settings that has seen nothing."""
        return type(self)(**self.settings)

    def merge(self, other: Self) -> Self:
        """The statistic of both parts together, as a new one."""
        check_same_settings(self, other)
        self.finish()
        other.finish()
        merged = self.empty()
        for part in (self, other):
            merged.absorb(part)
        return merged

    @classmethod
    def from_state(cls, state: State, **settings: Any) -> Self:  # noqa: ANN401 - they differ by class
        """The statistic that `state()` described, given its settings."""
        statistic = cls(**settings)
        statistic._restore(state)
        return statistic


@cache
def _arguments(kind: type[Statistic]) -> tuple[str, ...]:
    return tuple(signature(kind).parameters)


def check_same_settings(statistic: Statistic, other: Statistic) -> None:
    """Refuse to merge what was not measured alike, and say what differs.

    Raises:
        MergeError: the kinds or the settings differ.
    """
    name = type(statistic).__name__
    if type(statistic) is not type(other):
        raise MergeError(f"Cannot merge {name} with {type(other).__name__}: merge like with like.")
    settings, others = statistic.settings, other.settings
    for key in {**settings, **others}:
        mine, theirs = settings.get(key), others.get(key)
        if isinstance(mine, Statistic) and isinstance(theirs, Statistic):
            check_same_settings(mine, theirs)
        elif not np.array_equal(np.asarray(mine), np.asarray(theirs)):
            hint = "Were they measured with the same encoder and layer?" if key == "dim" else "Measure both alike."
            raise MergeError(f"Cannot merge {name} of {key} {_short(mine)} and {_short(theirs)}. {hint}")


def _short(value: object) -> str:
    return f"(shape {value.shape})" if isinstance(value, np.ndarray) and value.ndim else str(value)


class Bundle(Statistic):
    """Named statistics that are updated and merged together."""

    def __init__(self, **members: Statistic) -> None:
        self.members = members
        self._with_place: str | None = None

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - the caller knows what it put there
        return self.members[name]

    def get(self, name: str) -> Any:  # noqa: ANN401 - the same, or None
        """A member, or None when there is none of that name."""
        return self.members.get(name)

    @property
    def settings(self) -> dict[str, Any]:
        return {name: member.empty() for name, member in self.members.items()}

    @property
    def flops_per_row(self) -> float:
        return sum(member.flops_per_row for member in self.members.values())

    def update(self, batch: Batch) -> None:
        # Who gave the place for the rows may change them there, so it is last to see them.
        for name in sorted(self.members, key=lambda name: name == self._with_place):
            self.members[name].update(batch)

    def place(self, rows: int) -> Matrix | None:
        """That of the first member that has one."""
        for name, member in self.members.items():
            place = member.place(rows)
            if place is not None:
                self._with_place = name
                return place
        return None

    def finish(self) -> None:
        for member in self.members.values():
            member.finish()

    def close(self) -> None:
        for member in self.members.values():
            member.close()

    def absorb(self, other: Self) -> None:
        for name, member in self.members.items():
            member.absorb(other.members[name])

    def state(self) -> State:
        return _add_prefixes({name: member.state() for name, member in self.members.items()})

    def _restore(self, state: State) -> None:
        for name, member in self.members.items():
            member._restore(_part(state, name))

    def snapshot(self) -> State:
        return _add_prefixes({name: member.snapshot() for name, member in self.members.items()})

    def resume(self, snapshot: State) -> None:
        for name, member in self.members.items():
            member.resume(_part(snapshot, name))


def _add_prefixes(states: dict[str, State]) -> State:
    return {f"{name}.{key}": value for name, state in states.items() for key, value in state.items()}


def _part(state: State, name: str) -> State:
    prefix = f"{name}."
    return {key[len(prefix) :]: value for key, value in state.items() if key.startswith(prefix)}
