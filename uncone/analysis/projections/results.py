"""A map: vectors as points, their colors, and how far to trust the picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from uncone.data.batch import IntVector, Matrix, Vector

__all__ = ["METHOD_NAMES", "Coloring", "Density", "Panel", "Texts", "Trust", "by_category"]

METHOD_NAMES = {"pca": "PCA", "svd": "SVD", "tsne": "t-SNE", "umap": "UMAP"}
_CATEGORIES = 12
"""The number of categories with a separate color."""


@dataclass(frozen=True)
class Trust:
    """How well a picture keeps neighborhoods, on `n` of its points with `k` neighbors each.

    `trustworthiness` falls if points are near in the picture but not in the space, `continuity` if neighbors in the
    space are torn apart (Venna and Kaski 2001); both are 1 at best and about 0.5 for a random picture. `explained` is
    the share of the variance on the axes of PCA or SVD.
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
class Coloring:
    """The colors of points: a category each (`members` into `names`), or a number each (`values`).

    A member of -1 and a value of NaN are unknown and drawn in gray. Of many categories the largest are named, and the
    others are -1, with `other` points. Colors that differ by picture, such as clusters and norms, are in `by_panel`
    and `values_by_panel`, by the name of the picture, for all points of the map.
    """

    name: str
    title: str
    members: IntVector | None = None
    names: Sequence[str] = ()
    values: Vector | None = None
    other: int = 0
    by_panel: Mapping[str, IntVector] = field(default_factory=dict)
    values_by_panel: Mapping[str, Vector] = field(default_factory=dict)


def by_category(name: str, title: str, categories: Sequence[str | None], most: int = _CATEGORIES) -> Coloring:
    """A color for each of the most frequent categories, most frequent first; None and blanks are unknown.

    >>> by_category("label", "label", ["b", "a", "b", None], most=1).members.tolist()
    [0, -1, 0, -1]
    """
    counts = Counter(category for category in categories if category is not None and category.strip())
    ordered = sorted(counts, key=lambda category: (-counts[category], category))
    codes: dict[str | None, int] = {category: code for code, category in enumerate(ordered[:most])}
    members = np.array([codes.get(category, -1) for category in categories], np.int64)
    other = sum(counts[category] for category in ordered[most:])
    return Coloring(name, title, members=members, names=tuple(ordered[:most]), other=other)


@dataclass(frozen=True)
class Texts:
    """The text of each point: characters starts[i] to ends[i] of sentences[sentence[i]], or all of it."""

    sentences: Sequence[str]
    sentence: IntVector
    starts: IntVector | None = None
    ends: IntVector | None = None

    def text(self, point: int) -> str:
        """The text of a point."""
        sentence = self.sentences[int(self.sentence[point])]
        if self.starts is None or self.ends is None:
            return sentence
        return sentence[int(self.starts[point]) : int(self.ends[point])]


@dataclass(frozen=True)
class Density:
    """All vectors on a grid, if they are too many for dots: the picture called `name` on its two axes.

    `counts` (h, w) are the vectors of every cell, the lowest y first, between `edges_x` (w + 1) and `edges_y` (h + 1).
    `members` (h, w) are the most frequent category of each cell as places in `names`, -1 if unknown, and `values`
    (h, w) the mean number of its vectors, NaN if there is none; by the first coloring of the map. `outside` vectors
    lie beyond the edges. The points of the panel with the same name are a sample of these vectors.
    """

    name: str
    edges_x: Vector
    edges_y: Vector
    counts: IntVector
    members: IntVector | None = None
    names: Sequence[str] = ()
    values: Matrix | None = None
    outside: int = 0
