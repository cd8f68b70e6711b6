"""What clusters hold: the words they have more of than others, kinds, positions, frequencies, and examples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from uncone.analysis.frequency.word_counts import BINS
from uncone.analysis.layers.deep_results import Cluster
from uncone.data.batch import IntVector, Vector
from uncone.encoders.row_facts import RowFacts

__all__ = ["contents_of"]

_WORDS = 12
_EXAMPLES = 3
_LOOKED_AT = 500
"""Examples are chosen among so many rows: a cluster may hold thousands of one word."""
_LEAST = 2
"""A word has to stand so often in a cluster: once may be chance."""


def contents_of(
    labels: IntVector,
    k: int,
    words: IntVector,
    facts: RowFacts | None,
    bins: Sequence[str] | None,
    apart: Vector,
) -> list[Cluster]:
    """What each of k clusters holds: labels and types of the rows, and how far each is from the middle of its cluster.

    A position counts as the first when no row stands before it: special tokens, which models put at the beginning, are
    often left out.
    """
    sizes = np.bincount(labels, minlength=k)
    ranges = [{} for _ in range(k)] if bins is None else _shares(labels, sizes, bins, BINS)
    clusters = [Cluster(n, n / len(labels), bins=own) for n, own in zip(sizes.tolist(), ranges, strict=True)]
    if facts is None:
        return clusters
    names = _over_represented(labels, sizes, words, facts)
    _, place, which = np.unique(facts.kinds, return_index=True, return_inverse=True)
    kinds = _share_table(labels, sizes, which, [facts.kind(int(one)) for one in place])
    earliest = facts.positions == facts.positions.min()
    for cluster, contents in enumerate(clusters):
        rows = np.flatnonzero(labels == cluster)
        clusters[cluster] = replace(
            contents,
            words=names[cluster],
            kinds=kinds[cluster],
            first=float(earliest[rows].mean()),
            position=float(np.median(facts.positions[rows])),
            examples=_examples(rows, words, facts, apart[rows]),
        )
    return clusters


def _over_represented(labels: IntVector, sizes: IntVector, words: IntVector, facts: RowFacts) -> list[list[str]]:
    """The words that stand in a cluster more often than its size lets expect: by o log(o/e), the most surprising first.

    That is what a word adds to the likelihood ratio of Dunning (1993).
    """
    known = np.flatnonzero(words >= 0)
    types, place, which = np.unique(words[known], return_index=True, return_inverse=True)
    counts = np.bincount(labels[known] * len(types) + which, minlength=len(sizes) * len(types))
    observed = counts.reshape(len(sizes), len(types)).astype(np.float64)
    expected = sizes[:, None] * observed.sum(axis=0) / max(int(sizes.sum()), 1)
    more = (observed >= _LEAST) & (observed > expected)
    surprise = np.where(more, observed * np.log(np.where(more, observed, 1.0) / np.where(more, expected, 1.0)), 0.0)
    words_of = []
    for row in surprise:
        best = np.argsort(-row, kind="stable")[:_WORDS]
        words_of.append([facts.words[int(known[place[i]])] for i in best.tolist() if row[i] > 0])
    return words_of


def _shares(labels: IntVector, sizes: IntVector, of: Sequence[str], order: Iterable[str]) -> list[dict[str, float]]:
    """The share of each name among the rows of each cluster, in a given order; other names come last."""
    met = dict.fromkeys(of)
    names = [name for name in dict.fromkeys((*order, *sorted(met))) if name in met]
    numbers = {name: i for i, name in enumerate(names)}
    return _share_table(labels, sizes, np.fromiter(map(numbers.__getitem__, of), np.int64, len(of)), names)


def _share_table(labels: IntVector, sizes: IntVector, which: IntVector, names: Sequence[str]) -> list[dict[str, float]]:
    counts = np.bincount(labels * len(names) + which, minlength=len(sizes) * len(names)).reshape(len(sizes), -1)
    shares = counts / np.maximum(sizes, 1)[:, None]
    return [dict(zip(names, row, strict=True)) for row in shares.tolist()]


def _examples(rows: IntVector, words: IntVector, facts: RowFacts, apart: Vector) -> list[str]:
    """The rows nearest to the middle of a cluster, of different words, each in its sentence."""
    examples: dict[tuple[int, str], str] = {}
    for place in rows[np.argsort(apart, kind="stable")[:_LOOKED_AT]].tolist():
        word = int(words[place])
        key = (word, "") if word >= 0 else (word, facts.words[place])
        if key not in examples:
            examples[key] = facts.shown(place)
        if len(examples) == _EXAMPLES:
            break
    return list(examples.values())
