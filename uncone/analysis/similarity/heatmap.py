"""The heatmap: which rows are drawn, in which order, and their cosines beside what the background makes of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Literal

import numpy as np

from uncone.analysis.number_format import count
from uncone.analysis.similarity.clustering import distances, linkage_of
from uncone.analysis.similarity.label_codes import coded
from uncone.analysis.similarity.results import Picture
from uncone.data.batch import IntVector, Matrix
from uncone.errors import NoUsableRowsError, OptionError

__all__ = ["MOST", "Order", "chosen_rows", "drawn_order", "picture"]

MOST = 500
"""Rows that a heatmap shows: on a screen more are narrower than a pixel."""

_LEAVES_TURNED = 600
"""Rows up to which the branches of the tree are turned so that neighbours are as near as they can be."""

Order = Literal["label", "clustering", "groups"]
Percentile = Callable[[Matrix], Matrix]
"""What share of the background, in percent, lies below each of some cosines."""


def picture(
    units: Matrix,
    percentile: Percentile,
    labels: Sequence[Hashable] | None = None,
    order: Order = "label",
    most: int = MOST,
    seed: int = 0,
    members: IntVector | None = None,
) -> Picture:
    """The heatmap of unit rows (n, d): all of them, or a seeded sample with as large a part of every label.

    By label (or by `members`, the group of each row), rows of one label lie in the order of the clustering; by
    "clustering", all do, and the tree is given: its leaf i is the i-th of the drawn rows in the order of the table, so
    that `np.sort(rows)[leaves]` is `rows`. Rows that are zero or not finite have no cosine and are left out.

    Raises:
        OptionError: an order that needs labels or groups, without them.
        NoUsableRowsError: no row has a direction.
    """
    if order not in ("label", "clustering", "groups"):
        raise OptionError(f"There is no order {order!r}; choose label, clustering or groups.")
    codes, names = _kinds(labels, order, members)
    usable = _with_direction(units)
    kept = usable[chosen_rows(None if codes is None else codes[usable], len(usable), most, seed)]
    rows = np.asarray(units[kept], np.float64)
    tree, leaves = _tree(rows)
    blocks: list[tuple[str, int]] = []
    if codes is not None and order != "clustering":
        own = codes[kept]
        leaves = leaves[np.argsort(own[leaves], kind="stable")]  # within a label they stay in the order of the tree
        blocks = [(names[kind], int(size)) for kind, size in enumerate(np.bincount(own)) if size]
    cosines = 1 - distances(rows[leaves])
    by_tree = order == "clustering"
    return Picture(
        kept[leaves],
        cosines,
        np.asarray(percentile(cosines)),
        order,
        tree if by_tree else None,
        leaves if by_tree else None,
        blocks,
        _note(len(units), len(usable), len(kept), codes is not None and order != "groups", seed),
    )


def chosen_rows(labels: Sequence[Hashable] | IntVector | None, n: int, most: int, seed: int) -> IntVector:
    """At most so many of n rows, in order: all, or drawn, from every label as large a part as it has of the rows.

    The labels (n,) may be numbers. Every label has a row, as long as there are no more labels than rows to be drawn.

    >>> chosen_rows(["a"] * 8 + ["b"] * 2, 10, 5, seed=0).tolist()[-1] >= 8
    True
    """
    if n <= most:
        return np.arange(n)
    order = np.random.default_rng(seed).permutation(n)
    if labels is None:
        return np.sort(order[:most])
    codes = labels if isinstance(labels, np.ndarray) else coded(labels)[0]
    _, inverse, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    shares = _shares(sizes, most)
    # The place of every row among those of its label, in random order: the first ones are drawn.
    drawn = order[np.argsort(inverse[order], kind="stable")]
    places = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(drawn[places < np.repeat(shares, sizes)])


def drawn_order(rows: Matrix, codes: IntVector | None) -> IntVector:
    """The places of some rows as they are drawn: by label, and within one by clustering; zero rows come last."""
    norms = np.linalg.norm(rows, axis=1)
    directed = np.flatnonzero(norms > 0)
    leaves = directed[_tree(rows[directed] / norms[directed, None])[1]]
    leaves = np.concatenate([leaves, np.flatnonzero(norms == 0)])
    return leaves if codes is None else leaves[np.argsort(codes[leaves], kind="stable")]


def _shares(sizes: IntVector, most: int) -> IntVector:
    """`most` shared out by size, by largest remainders; one for everyone where that can be."""
    if len(sizes) > most:
        shares = np.zeros(len(sizes), np.int64)
        shares[np.argsort(-sizes, kind="stable")[:most]] = 1
        return shares
    exact = (most - len(sizes)) * (sizes - 1) / max(int((sizes - 1).sum()), 1)
    shares = np.floor(exact).astype(np.int64)
    rest = most - len(sizes) - int(shares.sum())
    shares[np.argsort(shares - exact, kind="stable")[:rest]] += 1
    return np.asarray(shares + 1, np.int64)


def _tree(rows: Matrix) -> tuple[Matrix, IntVector]:
    """The tree of the rows by average linkage, and its leaves from left to right."""
    from scipy.cluster.hierarchy import leaves_list, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    tree = linkage_of(rows)
    if len(rows) < 2:
        return tree, np.arange(len(rows))
    if len(rows) <= _LEAVES_TURNED:
        tree = np.asarray(optimal_leaf_ordering(tree, squareform(distances(rows), checks=False)))
    return tree, np.asarray(leaves_list(tree), np.int64)


def _kinds(
    labels: Sequence[Hashable] | None, order: Order, members: IntVector | None
) -> tuple[IntVector | None, list[str]]:
    """What the rows are drawn and ordered by, as numbers, and the names of these; rows without one come last."""
    if order == "groups":
        if members is None:
            raise OptionError("A heatmap in the order of groups needs the groups. Give them, or order by clustering.")
        last = int(members.max(initial=-1)) + 1
        return np.where(members < 0, last, members), [*(f"group {group}" for group in range(last)), "no group"]
    if labels is None:
        if order == "label":
            raise OptionError("A heatmap in the order of labels needs labels. Name a column, or order by clustering.")
        return None, []
    codes, names = coded(labels)
    return np.where(codes < 0, len(names), codes), [*names, "no label"]


def _with_direction(units: Matrix) -> IntVector:
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.vecdot(units, units)
    usable = np.flatnonzero(np.isfinite(squares) & (squares > 0))
    if not len(usable):
        raise NoUsableRowsError(f"None of {count(len(units), 'row')} has a direction, so there is no heatmap.")
    return usable


def _note(n: int, usable: int, kept: int, labelled: bool, seed: int) -> str:
    notes = []
    if kept < usable:
        part = ", of every label as large a part as it has of all" if labelled else ""
        notes.append(f"{kept:,} of {usable:,} rows, drawn with seed {seed}{part}.")
    if usable < n:
        out = n - usable
        notes.append(
            f"{count(out, 'row')} without a direction (zero, or not finite) {'is' if out == 1 else 'are'} left out."
        )
    return " ".join(notes)
