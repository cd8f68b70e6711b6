"""Simulations of coverage take long: `make test` runs one case of each, and `make test-all` the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from uncone.analysis.measures.registry import families


def one_daily(names: str | tuple[str, ...], first: object, *others: object) -> pytest.MarkDecorator:
    """Parametrize by cases, of which all but the first are exhaustive."""
    return pytest.mark.parametrize(names, [first, *exhaustive(*others)])


def exhaustive(*cases: object) -> list[object]:
    """Cases of a parameter, each marked as exhaustive."""
    values = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*value, marks=pytest.mark.exhaustive) for value in values]


KINDS = one_daily("kind", "heavy tails", "clusters")
REPEATED = one_daily(("n", "copies"), (60, 10), (150, 3))
"""So many distinct items, and so many copies of each."""


@contextmanager
def without_neighborhoods() -> Iterator[None]:
    """Leave out what `examine` measures aside: neighborhoods take longest, and have simulations of their own."""
    some = [family for family in families("check") if family.turn != "aside"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("uncone.analysis.measures.verdict.families", lambda _verb: some)
        yield
