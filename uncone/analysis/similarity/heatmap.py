"""The heatmap: which texts it shows, in which order, and their cosines and background percentiles."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Literal

import numpy as np

from uncone.analysis.similarity.groups import distances, linkage_of
from uncone.analysis.similarity.label_sums import coded
from uncone.analysis.similarity.results import Picture
from uncone.data.batch import IntVector, Matrix
from uncone.errors import OptionError

__all__ = ["clustered_order", "picture", "stratified_sample"]

_LIMIT = 500
"""Texts in a heatmap: more are narrower than a pixel."""
_OPTIMAL_LEAVES = 600
"""Up to this many leaves, branches are rotated so that neighbors are as similar as possible."""


def picture(
    units: Matrix,
    percentile: Callable[[Matrix], Matrix],
    labels: Sequence[Hashable] | None = None,
    order: Literal["label", "clustering"] = "label",
    limit: int = _LIMIT,
    seed: int = 0,
) -> Picture:
    """The heatmap of unit vectors (n, d): all of them, or a seeded sample stratified by label.

    Ordered by "label", the texts of one label are in the order of the clustering. Ordered by "clustering", leaf i of
    the tree is the i-th shown text in the order of the table: `np.sort(rows)[leaves]` is `rows`.

    Raises:
        OptionError: an unknown order, or order by label without labels.
    """
    if order not in ("label", "clustering"):
        raise OptionError(f"There is no order {order!r}; choose label or clustering.")
    if labels is None and order == "label":
        raise OptionError("A heatmap in the order of labels needs labels. Name a column, or order by clustering.")
    codes, names = (None, []) if labels is None else coded(labels)
    if codes is not None:  # texts without a label come last
        codes, names = np.where(codes < 0, len(names), codes), [*names, "no label"]
    places = stratified_sample(codes, len(units), limit, seed)
    rows = np.asarray(units[places], np.float64)
    tree, leaves = _tree(rows)
    blocks: list[tuple[str, int]] = []
    by_tree = order == "clustering"
    if codes is not None and not by_tree:
        own = codes[places]
        leaves = leaves[np.argsort(own[leaves], kind="stable")]
        blocks = [(names[code], int(size)) for code, size in enumerate(np.bincount(own)) if size]
    cosines = 1 - distances(rows[leaves])
    note = ""
    if len(places) < len(units):
        stratified = ", stratified by label" if codes is not None else ""
        note = f"{len(places):,} of {len(units):,} texts, drawn with seed {seed}{stratified}."
    linkage, shown_leaves = (tree, leaves) if by_tree else (None, None)
    ranks = np.asarray(percentile(cosines))
    return Picture(places[leaves], cosines, ranks, order, linkage, shown_leaves, blocks, note)


def stratified_sample(labels: Sequence[Hashable] | IntVector | None, n: int, limit: int, seed: int) -> IntVector:
    """At most `limit` of n row numbers, in order, with every label in proportion to its size.

    `labels` (n,) may be codes. Every label has a row unless there are more labels than rows to draw.

    >>> stratified_sample(["a"] * 8 + ["b"] * 2, 10, 5, seed=0).tolist()[-1] >= 8
    True
    """
    if n <= limit:
        return np.arange(n)
    order = np.random.default_rng(seed).permutation(n)
    if labels is None:
        return np.sort(order[:limit])
    codes = labels if isinstance(labels, np.ndarray) else coded(labels)[0]
    _, inverse, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    # The first rows of every label, in random order, are drawn.
    by_label = order[np.argsort(inverse[order], kind="stable")]
    places = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(by_label[places < np.repeat(_quotas(sizes, limit), sizes)])


def clustered_order(rows: Matrix, codes: IntVector | None) -> IntVector:
    """The order in which a heatmap shows some vectors: by label, then by clustering; zero vectors come last."""
    norms = np.linalg.norm(rows, axis=1)
    directed = np.flatnonzero(norms > 0)
    leaves = directed[_tree(rows[directed] / norms[directed, None])[1]]
    leaves = np.concatenate([leaves, np.flatnonzero(norms == 0)])
    return leaves if codes is None else leaves[np.argsort(codes[leaves], kind="stable")]


def _quotas(sizes: IntVector, limit: int) -> IntVector:
    """`limit` shared out by size with largest remainders; at least one each if possible."""
    if len(sizes) > limit:
        quotas = np.zeros(len(sizes), np.int64)
        quotas[np.argsort(-sizes, kind="stable")[:limit]] = 1
        return quotas
    exact = (limit - len(sizes)) * (sizes - 1) / max(int((sizes - 1).sum()), 1)
    quotas = np.floor(exact).astype(np.int64)
    rest = limit - len(sizes) - int(quotas.sum())
    quotas[np.argsort(quotas - exact, kind="stable")[:rest]] += 1
    return np.asarray(quotas + 1, np.int64)


def _tree(rows: Matrix) -> tuple[Matrix, IntVector]:
    """The average-linkage tree, and its leaves from left to right."""
    from scipy.cluster.hierarchy import leaves_list, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    tree = linkage_of(rows)
    if len(rows) < 2:
        return tree, np.arange(len(rows))
    if len(rows) <= _OPTIMAL_LEAVES:
        tree = np.asarray(optimal_leaf_ordering(tree, squareform(distances(rows), checks=False)))
    return tree, np.asarray(leaves_list(tree), np.int64)
