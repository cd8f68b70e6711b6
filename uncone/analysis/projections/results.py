"""A map: rows as points, what they can be coloured by, and how far the picture can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from uncone.data.batch import IntVector, Matrix, Vector

__all__ = ["Colouring", "Density", "Panel", "Texts", "Trust"]


@dataclass(frozen=True)
class Trust:
    """How far a picture keeps neighbourhoods, on `n` of its points with `k` neighbours each.

    `trustworthiness` falls when points are near on the picture that are not near in the space, `continuity` when
    neighbours of the space are torn apart (Venna and Kaski 2001); both are 1 at best and about 0.5 for a random
    picture. `explained` is the share of the variance on the picture's axes, for PCA and SVD alone.
    """

    trustworthiness: float | None
    continuity: float | None
    explained: float | None
    k: int
    n: int
    sentence: str


@dataclass(frozen=True)
class Panel:
    """One picture: `points` (m, 2 or 3) of the rows at `places` of the map, with its name ("layer 3", "repaired")."""

    name: str
    points: Matrix
    places: IntVector
    trust: Trust
    layer: int | None = None


@dataclass(frozen=True)
class Colouring:
    """What points can be coloured by: a category each (`members` into `names`), or a number each (`values`).

    A member of -1 and a value of NaN are unknown, and are drawn in grey. Of many categories the largest are named, and
    the others are -1 with `other` rows.
    """

    name: str
    title: str
    members: IntVector | None = None
    names: Sequence[str] = ()
    values: Vector | None = None
    other: int = 0
    by_panel: Mapping[str, IntVector] = field(default_factory=dict)
    """Where it differs by picture, such as clusters: the members by the name of the picture."""
    values_by_panel: Mapping[str, Vector] = field(default_factory=dict)
    """The same for numbers, such as norms: those of all rows of the map, NaN where the picture has none."""


@dataclass(frozen=True)
class Texts:
    """What is shown of each point: characters starts[i] to ends[i] of sentences[sentence[i]], or all of it."""

    sentences: Sequence[str]
    sentence: IntVector
    starts: IntVector | None = None
    ends: IntVector | None = None


@dataclass(frozen=True)
class Density:
    """All rows on a grid, where they are too many for dots: the picture called `name` on its two axes.

    `counts` (h, w) are the rows of every cell, the lowest y first, between `edges_x` (w + 1) and `edges_y` (h + 1).
    `members` (h, w) are places in `names`: the category that most rows of a cell have, -1 where it is not known;
    `values` (h, w) the mean number of its rows, NaN where there is none; by the first colouring of the map. `outside`
    rows lie beyond the edges. The points of the panel of the same name are a sample of these rows.
    """

    name: str
    edges_x: Vector
    edges_y: Vector
    counts: IntVector
    members: IntVector | None = None
    names: Sequence[str] = ()
    values: Matrix | None = None
    outside: int = 0
