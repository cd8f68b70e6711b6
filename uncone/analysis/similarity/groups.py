"""Groups of texts by their cosines: k-means or hierarchical clustering, what is in each, and whether labels agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Literal

import numpy as np

from uncone.analysis.clusters.silhouettes import cosine_silhouettes, group_sums
from uncone.analysis.number_format import count, plain
from uncone.analysis.similarity.clustering import centres, cut, linkage_of, nearest
from uncone.analysis.similarity.label_codes import label_text
from uncone.analysis.similarity.results import Group, Groups
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.errors import NoUsableRowsError, OptionError
from uncone.stats.samples.hashing import fingerprints

__all__ = ["AUTO", "MOST_JOINED", "MOST_LEARNT", "hierarchical", "k_means"]

AUTO = range(2, 11)
"""The numbers of groups that "auto" tries."""
MOST_JOINED = 4_000
"""Rows that hierarchical clustering takes: it holds the distance of every two, 250 MB in all at this number."""
MOST_LEARNT = 50_000
"""Rows that the centres of k-means are learnt from."""

_TRIED_ON = 4_096
"""Rows on which "auto" tries k-means."""
_WEAK = 0.25
"""At most so large a silhouette is no substantial structure (Kaufman and Rousseeuw 1990)."""
_ONE_GROUP, _FEW, _SMALL = 0.9, 3, 0.01
"""Where the largest group has so large a share of the texts, and every other at most a few or one in a hundred, there
is one group and some outliers."""
_EQUAL = 1e-6
"""Rows whose mean cosine is no farther from 1 are equal but for rounding."""


def k_means(
    units: Matrix, k: int | Literal["auto"] = "auto", labels: Sequence[Hashable] | None = None, seed: int = 0
) -> Groups:
    """Spherical k-means of unit rows (n, d): each row is in the group whose centre it has the highest cosine with.

    The best of three runs from seeded starts. With "auto", k is that of 2 to 10 with the largest silhouette. The groups
    are numbered from the largest down. A row that is zero or not finite is in none.

    Raises:
        OptionError: k is less than 1, or more than the rows.
        NoUsableRowsError: no row has a direction.
    """
    usable, rows, different = _usable(units)
    k, notes = _asked(k, len(rows), different), _left_out(len(units), len(usable))
    if k == "auto":
        tried = rows[_drawn(len(rows), _TRIED_ON, seed)]
        k, why = _best(tried, different, lambda each: nearest(tried, centres(tried, each, seed, starts=2)))
        notes.append(why if len(tried) == len(rows) else f"{why} Tried on {len(tried):,} rows drawn with seed {seed}.")
    notes += _fewer(k, different)
    learnt = rows[_drawn(len(rows), MOST_LEARNT, seed)] if len(rows) > MOST_LEARNT else rows
    if len(learnt) < len(rows):
        notes.append(f"The centres were learnt from {len(learnt):,} rows drawn with seed {seed}.")
    members = nearest(rows, centres(learnt, min(k, different), seed))
    made = len(np.unique(members))
    if made < min(k, different):
        notes.append(f"{count(min(k, different) - made, 'centre')} stayed without a row: {count(made, 'group')}.")
    return _described("k-means", rows, (usable, len(units)), members, labels, notes)


def hierarchical(
    units: Matrix,
    k: int | Literal["auto"] = "auto",
    linkage: Literal["average", "ward"] = "average",
    labels: Sequence[Hashable] | None = None,
    seed: int = 0,
    most: int = MOST_JOINED,
) -> Groups:
    """Groups that are joined two by two, nearest first, until k are left.

    "average" joins by the mean of 1 - cosine between two groups; "ward" by the squared distances of unit rows, 2 (1 -
    cosine), that joining adds. Of more than `most` rows a seeded sample is joined, and every other row goes to the
    group whose centre it has the highest cosine with; the note says so.

    Raises:
        OptionError: k is less than 1, or more than the rows; no such linkage.
        NoUsableRowsError: no row has a direction.
    """
    if linkage not in ("average", "ward"):
        raise OptionError(f"There is no linkage {linkage!r}; choose average or ward.")
    usable, rows, different = _usable(units)
    k, notes = _asked(k, len(rows), different), _left_out(len(units), len(usable))
    drawn = _drawn(len(rows), most, seed)
    joined = rows[drawn]
    different = different if len(joined) == len(rows) else _different(joined)
    tree = linkage_of(joined, linkage)
    if k == "auto":
        k, why = _best(joined, different, lambda each: cut(tree, each))
        notes.append(why)
    notes += _fewer(k, different)
    members = cut(tree, min(k, different))
    if len(joined) < len(rows):
        notes.append(
            f"Joined from {len(joined):,} rows drawn with seed {seed}; the other {len(rows) - len(joined):,} went to "
            "the group whose centre is nearest."
        )
        sums = group_sums(joined, members, int(members.max()) + 1)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        spread = nearest(rows, sums / np.where(lengths > 0, lengths, 1.0))
        spread[drawn] = members
        members = spread
    return _described(f"hierarchical, {linkage}", rows, (usable, len(units)), members, labels, notes)


def _usable(units: Matrix) -> tuple[IntVector, Matrix, int]:
    """The numbers of the rows that have a direction, those rows, and how many of them differ."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.vecdot(units, units)
    usable = np.flatnonzero(np.isfinite(squares) & (squares > 0))
    if not len(usable):
        raise NoUsableRowsError(f"None of {count(len(units), 'row')} has a direction, so there is nothing to group.")
    rows = units if len(usable) == len(units) else units[usable]
    return usable, rows, _different(rows)


def _different(rows: Matrix) -> int:
    """How many rows differ; one, when all differ only by rounding."""
    total = rows.sum(axis=0, dtype=np.float64) / len(rows)
    return 1 if float(total @ total) > 1 - _EQUAL else len(np.unique(fingerprints(rows)))


def _drawn(n: int, most: int, seed: int) -> IntVector:
    """The numbers of at most so many rows, in order."""
    return np.arange(n) if n <= most else np.sort(np.random.default_rng(seed).permutation(n)[:most])


def _asked(k: int | Literal["auto"], n: int, different: int) -> int | Literal["auto"]:
    """The number of groups that was asked for, if there can be so many."""
    if k == "auto":
        return 1 if different < 3 else k
    if not isinstance(k, int | np.integer) or k < 1:
        raise OptionError(f"{k} groups cannot be made; we need a whole number from 1 on, or auto.")
    if k > n:
        raise OptionError(f"{count(n, 'row')} cannot be put into {k:,} groups. Ask for {n:,} or fewer, or auto.")
    return k


def _left_out(n: int, usable: int) -> list[str]:
    out = n - usable
    if not out:
        return []
    return [f"{count(out, 'row')} without a direction (zero, or not finite) {'is' if out == 1 else 'are'} in no group."]


def _fewer(k: int, different: int) -> list[str]:
    if k <= different:
        return []
    if different == 1:
        return [f"All rows are equal: one group, not {k:,}."]
    return [f"There are only {different:,} different rows: {different:,} groups, not {k:,}."]


def _best(rows: Matrix, different: int, group: Callable[[int], IntVector]) -> tuple[int, str]:
    """The number of groups with the largest mean silhouette, and why."""
    tried = [k for k in AUTO if k < min(len(rows), different + 1)]
    scores = [float(np.mean(cosine_silhouettes(rows, group(k), k))) for k in tried]
    best = int(np.argmax(scores))
    if len(tried) == 1:
        return tried[0], f"So few rows can only be put into {tried[0]} groups."
    among = f"of {tried[0]} to {tried[-1]} groups"
    return tried[
        best
    ], f"{tried[best]} groups, because their silhouette of {plain(scores[best])} is the largest {among}."


def _described(
    method: str,
    rows: Matrix,
    places: tuple[IntVector, int],
    found: IntVector,
    labels: Sequence[Hashable] | None,
    notes: list[str],
) -> Groups:
    """The groups from the largest down (at one size, by their first row), with what is in each.

    `places` are the numbers of these rows in the table, and how many rows that has.
    """
    names, first, inverse, sizes = np.unique(found, return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(len(names), np.int64)
    rank[np.lexsort((first, -sizes))] = np.arange(len(names))
    own, k = rank[inverse], len(names)
    usable, n = places
    members = np.full(n, -1, np.int64)
    members[usable] = own
    named = None if labels is None else [label_text(labels[row]) for row in usable.tolist()]
    each, sums = cosine_silhouettes(rows, own, k), group_sums(rows, own, k)
    groups = [_group(rows, np.flatnonzero(own == g), sums[g], each, named, usable, g) for g in range(k)]
    mean = float(each.mean()) if 1 < k < len(rows) else None
    outliers = _outliers(rows, own)
    if outliers:
        notes.append(
            f"That is one group and {count(outliers, 'outlier')}: the silhouette says how far these lie from it, not "
            "that there are groups."
        )
    elif mean is not None and mean <= _WEAK:
        notes.append(
            f"A silhouette of {plain(mean)} is weak: by their cosines the texts hardly fall into {k:,} groups."
        )
    if k == 1:
        notes.append("One group has no silhouette: there is nothing to tell it from.")
    return Groups(method, k, members, groups, mean, _agreement(own, named), " ".join(notes), outliers)


def _outliers(rows: Matrix, members: IntVector) -> int:
    """The texts outside the largest group, where they are no groups: few, and far from all others; 0 where they are.

    Copies of a text are one: a text that stands a hundred times is no group.
    """
    first = np.unique(fingerprints(rows), return_index=True)[1]
    texts = np.bincount(members[first], minlength=int(members.max()) + 1)
    *others, largest = sorted(texts.tolist())
    if not others or largest < _ONE_GROUP * len(first) or others[-1] > max(_FEW, _SMALL * len(first)):
        return 0
    return sum(others)


def _group(
    rows: Matrix,
    held: IntVector,
    total: Vector,
    each: Vector,
    named: Sequence[str | None] | None,
    usable: IntVector,
    number: int,
) -> Group:
    """What is known of the group that holds these rows, whose sum is `total`."""
    inside, size, several = rows[held], len(held), len(held) > 1
    pairs = float(total @ total) - float(np.vecdot(inside, inside).sum(dtype=np.float64))
    own = float(each[held].mean())
    counts = Counter(name for row in held.tolist() if named is not None and (name := named[row]) is not None)
    return Group(
        number,
        size,
        own if several and np.isfinite(own) else None,
        int(usable[held[int((inside @ total).argmax())]]),
        min(pairs / (size * (size - 1)), 1.0) if several else None,
        dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
    )


def _agreement(members: IntVector, named: Sequence[str | None] | None) -> float | None:
    """The adjusted Rand index of groups and labels (Hubert and Arabie 1985): 1 when they agree, about 0 by chance.

    Over the rows that have a label. None when there is one label only or one group only: nothing to agree on.
    """
    from sklearn.metrics import adjusted_rand_score

    if named is None:
        return None
    labelled = np.array([row for row, name in enumerate(named) if name is not None], np.int64)
    own, groups = [named[row] for row in labelled.tolist()], members[labelled]
    if len(set(own)) < 2 or len(np.unique(groups)) < 2:
        return None
    return float(adjusted_rand_score(own, groups))
