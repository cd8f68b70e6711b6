"""Several statistics of one stream, measured in one pass."""

from __future__ import annotations

from typing import Any, Self

from uncone.data.batch import Batch, Matrix
from uncone.stats.statistic import State, Statistic

__all__ = ["Bundle"]


class Bundle(Statistic):
    """Named statistics that are updated and merged together."""

    def __init__(self, **members: Statistic) -> None:
        self.members = members

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - the caller knows what it put there
        return self.members[name]

    def get(self, name: str) -> Any:  # noqa: ANN401 - the same, or None
        """A member, or None when there is none of that name."""
        return self.members.get(name)

    @property
    def settings(self) -> dict[str, Any]:
        return {name: member.empty() for name, member in self.members.items()}

    def update(self, batch: Batch) -> None:
        for member in self.members.values():
            member.update(batch)

    def place(self, rows: int) -> Matrix | None:
        """That of the only member; of several, one would change the rows under the eyes of the others."""
        return next(iter(self.members.values())).place(rows) if len(self.members) == 1 else None

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
        return _joined({name: member.state() for name, member in self.members.items()})

    def _restore(self, state: State) -> None:
        for name, member in self.members.items():
            member._restore(_part(state, name))

    def snapshot(self) -> State:
        return _joined({name: member.snapshot() for name, member in self.members.items()})

    def resume(self, snapshot: State) -> None:
        for name, member in self.members.items():
            member.resume(_part(snapshot, name))


def _joined(states: dict[str, State]) -> State:
    return {f"{name}.{key}": value for name, state in states.items() for key, value in state.items()}


def _part(state: State, name: str) -> State:
    prefix = f"{name}."
    return {key[len(prefix) :]: value for key, value in state.items() if key.startswith(prefix)}
