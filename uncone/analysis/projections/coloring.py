"""What the points of a map can be coloured by: categories, with the largest named, or numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from uncone.analysis.projections.results import Colouring
from uncone.data.batch import IntVector, Vector
from uncone.encoders.segmentation import Kind

__all__ = ["by_category", "by_number", "by_picture", "kinds_of"]

_NAMED = 12
"""Categories that get a colour of their own."""


def by_category(name: str, title: str, found: Sequence[str | None], most: int = _NAMED) -> Colouring:
    """A colour for each of the most frequent categories, most frequent first; None and blanks are unknown.

    >>> by_category("label", "label", ["b", "a", "b", None], most=1).members.tolist()
    [0, -1, 0, -1]
    """
    counts = Counter(one for one in found if one is not None and one.strip())
    ordered = sorted(counts, key=lambda one: (-counts[one], one))
    places = {one: i for i, one in enumerate(ordered[:most])}
    members = np.array([-1 if one is None else places.get(one, -1) for one in found], np.int64)
    other = sum(counts[one] for one in ordered[most:])
    return Colouring(name, title, members=members, names=tuple(ordered[:most]), other=other)


def by_number(name: str, title: str, values: Vector) -> Colouring:
    """A colour for each number."""
    return Colouring(name, title, values=np.asarray(values, np.float64))


def kinds_of(kinds: IntVector) -> Colouring:
    """Word, number, symbol, piece or special token."""
    return by_category("kind", "kind of token", [Kind(kind).name.lower() for kind in kinds.tolist()])


def by_picture(name: str, title: str, by_panel: Mapping[str, IntVector], names: Sequence[str]) -> Colouring:
    """Categories that were found in every picture for itself; on one picture alone they are as any others."""
    first = next(iter(by_panel.values()))
    if len(by_panel) == 1:
        return Colouring(name, title, members=first, names=tuple(names))
    return Colouring(name, title, members=first, names=tuple(names), by_panel=dict(by_panel))
