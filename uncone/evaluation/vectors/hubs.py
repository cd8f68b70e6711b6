"""Hubs of a search: the documents that stand among the first of many queries, relevant or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import IntVector
from uncone.evaluation.table import HubDocument, Hubs, Method, MethodHubs
from uncone.evaluation.tasks.retrieve import TOP

__all__ = ["hubs_of"]

_SHARE = 0.05
"""The share of the queries from which on a document counts as a hub."""
_TIMES = 3.0
"""It also has to stand in so many times the top lists that it would if all documents shared them evenly."""
_FEWEST = 3
"""And in so many in any case."""
_LISTED = 10
"""Hubs that are listed."""


def hubs_of(
    task: str,
    tops: Sequence[tuple[Method, IntVector]],
    gains: Sequence[Mapping[int, int]],
    docs: int,
    describe: Callable[[Sequence[int]], Mapping[int, tuple[str, str]]],
) -> Hubs:
    """The hubs of the raw vectors, which come first in `tops`, and how many each method has.

    `tops` are the rows (q, 10) of the documents found, best first, -1 where there are fewer; `gains` the relevant rows
    of each query. `describe` gives the id and the text of rows.
    """
    queries = len(gains)
    depth = min(TOP, docs)
    least = max(_FEWEST, int(np.ceil(max(_SHARE * queries, _TIMES * depth * queries / docs))))
    counts = [(method, *np.unique(places[places >= 0], return_counts=True)) for method, places in tops]
    _, rows, n = counts[0]
    # Of equals the one that stands first.
    order = [at for at in np.lexsort((rows, -n)).tolist() if n[at] >= least][:_LISTED]
    listed = rows[order].tolist()
    names = describe(listed) if listed else {}
    hits = Counter(
        row for ranking, own in zip(tops[0][1].tolist(), gains, strict=True) for row in ranking if row in own
    )
    relevant = Counter(row for own in gains for row in own)
    documents = [
        HubDocument(row, *names[row], int(count), hits[row], relevant[row])
        for row, count in zip(listed, n[order], strict=True)
    ]
    methods = [_method_hubs(method, sizes, least) for method, _, sizes in counts]
    return Hubs(task, depth, least, queries, docs, documents, methods)


def _method_hubs(method: Method, sizes: NDArray[np.int64], least: int) -> MethodHubs:
    hubs = sizes[sizes >= least]
    share = float(hubs.sum() / sizes.sum()) if sizes.size else 0.0
    return MethodHubs(method, len(hubs), share, int(sizes.max(initial=0)))
