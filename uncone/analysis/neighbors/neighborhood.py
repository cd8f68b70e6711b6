"""Neighborhoods of a space: the dimension around a vector and hubness, on a sample or against all vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from uncone.analysis.intervals.intervals import Interval, around, jackknife_variance
from uncone.analysis.layers.deep_results import Dimension, Hub, Hubness
from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.neighbors.dimension import AllRows, dimensions_of, distinct_rows
from uncone.analysis.neighbors.search import Block, approximate, nearest
from uncone.analysis.neighbors.top_k import NearestDistances
from uncone.analysis.number_format import clipped, count, percent, plain
from uncone.analysis.space.space import Space
from uncone.data.batch import IntVector, Matrix
from uncone.data.source import BLOCK, batches
from uncone.data.vectors.memory import in_memory
from uncone.run.measure import Plan, measure
from uncone.stats.hashing import fingerprints, hash_keys

__all__ = [
    "ANN_ROWS",
    "ROWS",
    "UNEVEN",
    "Neighborhood",
    "has_hubs",
    "hubness_of",
    "neighborhood_findings",
    "neighborhood_of",
    "neighborhood_of_space",
    "skewness",
]

ANN_ROWS = 2_000_000
"""Up to this many vectors, the search is exact in any case."""
BASE_ROWS = 10_000
QUERIES = 300
"""The sample of `check`: vectors of the base, and vectors whose neighbors are searched in it."""
_MOST_QUERIES = 2_000
"""Queries against all vectors, or of a sample that has no more."""
_OPENING = 16
"""The share of the vectors, one of so many, that are searched first: their neighbors limit those among all."""
_LONGEST = 200
"""Letters of a text that are kept."""
ROWS = 2_500
"""Vectors that are compared with each other."""
UNEVEN = 1.4
_MAJOR_HUB = 0.05
"""A space has hubs if the skewness is above 1.4 for certain: so is its interval, or one vector is near to a twentieth
of all, and to five times as many as on average."""
_K = 10
_N_HUBS = 5
_GROUPS = 50
_WORST = 0.01
_TIE = 1e-6
_MOST_TIES = 0.01
_METRICS = {"euclidean": "by Euclidean distance", "cosine": "by cosine (the chord of two directions)"}

Progress = Callable[[int], None]


class Neighborhood(NamedTuple):
    """The dimension around a vector by each metric, and hubness."""

    dimensions: Mapping[str, Dimension]
    hubness: Hubness


def neighborhood_of(
    space: Space,
    *,
    whole: bool = False,
    ann: bool = False,
    plan: Plan | None = None,
    progress: Progress | None = None,
) -> Neighborhood:
    """The neighborhoods of a seeded sample; with `whole` or `ann`, its dimension is measured against all vectors.

    A pass over all vectors runs by the `plan`; the graph of `ann` is built on this machine.
    """
    sample = space.sample.first(BASE_ROWS)
    queries, base = _MOST_QUERIES, None
    if whole or ann:
        base = _all_rows(space, ann, plan or Plan(dtype=space.moments.dtype), progress)
    else:
        # All of few vectors are queries: then their order does not matter.
        distinct = sample.n if sample.groups is None else len(np.unique(sample.groups))
        queries = QUERIES if distinct > _MOST_QUERIES else distinct
    dimensions = dimensions_of(sample.vectors, queries=queries, seed=space.seed, base=base)
    texts = sample.texts
    name = None if texts is None else lambda place: clipped(texts[place], _LONGEST)
    return Neighborhood(dimensions, hubness_of(sample.vectors, seed=space.seed, name=name, numbers=sample.rows))


def neighborhood_of_space(space: Space) -> list[Finding]:
    """The findings on neighborhoods: among all vectors if that was measured, else in the sample."""
    near = neighborhood_of(space) if space.neighborhood is None else space.neighborhood
    return neighborhood_findings(near.dimensions, near.hubness, pairs=False)


def _all_rows(space: Space, ann: bool, plan: Plan, progress: Progress | None) -> AllRows:
    """All usable vectors of a space as a base, without copies."""
    share = space.prints.duplicate_share
    n = space.n - round(share * space.n)

    def approximately(queries: Matrix, k: int) -> tuple[dict[str, Matrix], dict[str, float]]:
        near, recall = approximate(partial(_blocks, space, share > 0, progress), queries, k, space.seed)
        return {name: by_metric.distances for name, by_metric in near.items()}, recall

    def exactly(queries: Matrix, k: int) -> tuple[dict[str, Matrix], dict[str, float]]:
        return _nearest_of_all(space, NearestDistances(queries, k, copies=share > 0), plan, progress), {}

    return AllRows(approximately if ann and n > ANN_ROWS else exactly, n, share)


def _nearest_of_all(space: Space, empty: NearestDistances, plan: Plan, progress: Progress | None) -> dict[str, Matrix]:
    """The nearest of all vectors, in a pass over them.

    The neighbors within a part of the sample, found on this machine, limit those among all: that spares most of the
    work on the rest.
    """
    settings = empty.settings
    if (opening := min(space.n // _OPENING, space.sample.n)) >= empty.k:
        first = in_memory(space.sample.first(opening).vectors)
        settings["limits"] = measure(first, empty, replace(plan, engine=None)).largest
    near = measure(space.source, NearestDistances(**settings), plan, progress)
    missing = np.isinf(near.scores[:, :, -1])
    if near.limits is not None and (missing & np.isfinite(near.limits)).any():
        # Rounding moved a neighbor beyond a limit: of many vectors that are equally far.
        near = measure(space.source, empty, plan, progress)
    return near.distances


def _blocks(space: Space, copies: bool, progress: Progress | None) -> Iterator[Block]:
    source = space.source
    report = progress or (lambda n_rows: None)
    if copies or not source.random_access:
        prints = space.prints.state()["kept"]
        repeated, prints_read = np.unique(prints[1:][prints[1:] == prints[:-1]]), set[int]()
        for batch in batches(source.read(), space.moments.dtype):
            own = fingerprints(batch.vectors)
            is_new = np.ones(len(own), np.bool_)
            for i in np.flatnonzero(np.isin(own, repeated)).tolist():
                is_new[i] = int(own[i]) not in prints_read
                prints_read.add(int(own[i]))
            yield batch.vectors[is_new]
            report(batch.n_read)
        return
    rows = source.rows or 0
    for start in range(0, rows, BLOCK):
        stop = min(start + BLOCK, rows)
        yield partial(_read, space, start, stop)
        report(stop - start)


def _read(space: Space, start: int, stop: int) -> Iterator[Matrix]:
    for batch in batches(space.source.read(start, stop), space.moments.dtype, start):
        yield batch.vectors


def neighborhood_findings(
    dimensions: Mapping[str, Dimension], hubness: Hubness, *, pairs: bool = True
) -> list[Finding]:
    """The findings on neighborhoods; with `pairs` also the dimension from the two nearest alone."""
    findings = [_lid(dimension) for dimension in dimensions.values()]
    if pairs:
        findings += [_two_nn(dimension) for dimension in dimensions.values()]
    return [*findings, _skew(hubness), _antihubs(hubness)]


def _lid(dimension: Dimension) -> Finding:
    value, metric = dimension.value, _METRICS[dimension.metric]
    meaning = _unknown(dimension)
    if value is not None:
        meaning = (
            f"Around a vector the space has about {plain(value)} dimensions {metric}. In the published convention, on "
            f"squared distances, that is {plain(value / 2)}. {_basis(dimension)}"
        )
    advice = "It grows with the number of vectors: compare it only at the same base and k."
    return Finding(f"lid_{dimension.metric}", value, dimension.base, meaning, advice, dimension.low, dimension.high)


def _two_nn(dimension: Dimension) -> Finding:
    value, metric = dimension.two_nn, _METRICS[dimension.metric]
    meaning = _unknown(dimension)
    if value is not None:
        meaning = f"By the two nearest vectors alone the space has about {plain(value)} dimensions {metric}. "
        meaning += _basis(dimension)
    advice = f"It looks closer than the {dimension.k} nearest do: noise shows in it first."
    return Finding(f"twonn_{dimension.metric}", value, dimension.base, meaning, advice)


def _basis(dimension: Dimension) -> str:
    copies = f"; the {percent(dimension.duplicates)} that are copies are left out" if dimension.duplicates else ""
    recall = dimension.recall
    hits = "" if recall is None else f" The search was approximate and found {percent(recall)} of the true neighbors."
    return (
        f"From the {count(dimension.k, 'nearest vector')} of {dimension.queries:,} among {dimension.base:,} distinct "
        f"vectors{copies}.{hits}"
    )


def _unknown(dimension: Dimension) -> str:
    reason = f"the nearest of {dimension.base:,} distinct vectors are all equally far, or none is apart."
    if dimension.base < 3:
        reason = f"{count(dimension.base, 'distinct vector')}; at least 3 are needed."
    return f"Unknown {_METRICS[dimension.metric]}: {reason}"


def _skew(hubness: Hubness) -> Finding:
    skew, high = hubness.skew, hubness.high
    if skew is None or hubness.top_share is None:
        return Finding("hubness_skew", None, hubness.n, _no_hubness(hubness))
    lead, end, advice, level = "No vector is the neighbor of very many", "", "", Level.HEALTHY
    if has_hubs(hubness):
        hub = hubness.hubs[0]
        text = f" (“{clipped(hub.text, 60)}”)" if hub.text else ""
        lead, level = "Some vectors are neighbors of very many", Level.CROWDED
        end = f"; row {hub.row:,}{text} is one of the {hubness.k} nearest of {hub.count:,} others"
        advice = "In a search these vectors answer everything: look at what they have in common, and drop them if they "
        advice += "are empty or boilerplate."
    elif high is not None and high > UNEVEN:  # what is not significant is not absent
        lead, level = f"There may be hubs: the skewness is up to {plain(high)}, and {UNEVEN:g} is uneven", Level.NOTE
    meaning = (
        f"{lead}: the worst hundredth of {hubness.n:,} vectors takes {percent(hubness.top_share)} of the places among "
        f"the {hubness.k} nearest{end}."
    )
    hubs = [{"row": hub.row, "text": hub.text or None, "value": hub.count} for hub in hubness.hubs]
    return Finding("hubness_skew", skew, hubness.n, meaning, advice, hubness.low, high, UNEVEN, level, hubs)


def _antihubs(hubness: Hubness) -> Finding:
    share = hubness.antihubs
    if share is None:
        return Finding("antihub_share", None, hubness.n, _no_hubness(hubness))
    meaning = f"{percent(share)} of {hubness.n:,} vectors are among the {hubness.k} nearest of no other"
    meaning += ": a search hardly ever finds them." if share else "."
    return Finding("antihub_share", share, hubness.n, meaning)


def _no_hubness(hubness: Hubness) -> str:
    if hubness.n < hubness.k + 2:
        return f"Unknown: {count(hubness.n, 'vector')}; at least {hubness.k + 2} are needed for {hubness.k} neighbors."
    return "Unknown: every vector is a neighbor of equally many."


def hubness_of(
    vectors: Matrix,
    *,
    k: int = _K,
    rows: int = ROWS,
    seed: int = 0,
    name: Callable[[int], str] | None = None,
    numbers: IntVector | None = None,
    keys: IntVector | None = None,
) -> Hubness:
    """How often each vector is among the k nearest of another, by cosine (Radovanović et al. 2010).

    Over all distinct vectors (n, d), or a seeded sample of `rows` of them: copies would be each other's nearest, and
    which of them come first is chance. `name` gives the text of the vector at a place, `numbers` are the vectors'
    numbers; without them the place is the number. The interval leaves out groups of vectors that are drawn by `keys`,
    or by the vectors themselves. With fewer than k + 2 vectors, every one is a neighbor of every other, and hubness is
    unknown.
    """
    first = distinct_rows(vectors)
    places = first[np.sort(np.random.default_rng(seed).permutation(len(first))[:rows])]
    n = len(places)
    if n < k + 2:
        return Hubness(k=k, n=n)
    sample = vectors[places]
    neighbors = _nearest(_units(sample), k, seed)
    counts = np.bincount(neighbors.ravel(), minlength=n)
    skew = skewness(counts)
    prints = fingerprints(sample) if keys is None else hash_keys(keys[places])
    low, high = _interval(skew, neighbors, counts, np.argsort(np.argsort(prints)))
    worst = np.argsort(-counts, kind="stable")
    hubs = tuple(
        Hub(int(place if numbers is None else numbers[place]), int(n_neighbors), "" if name is None else name(place))
        for place, n_neighbors in zip(places[worst[:_N_HUBS]].tolist(), counts[worst], strict=False)
    )
    top = float(counts[worst[: math.ceil(_WORST * n)]].sum() / neighbors.size)
    return Hubness(skew, low, high, float((counts == 0).mean()), top, hubs, k, n)


def _nearest(units: Matrix, k: int, seed: int) -> IntVector:
    """The k nearest unit vectors of each (n, k).

    The chord of two directions is their Euclidean distance, which takes less arithmetic than the cosine. Where the next
    vector is as near as the last of them, the first of the file would always win and look like a hub: then chance
    decides among equals, for each vector anew.
    """
    own = np.arange(len(units))
    near = nearest(units, units, k + 1, metrics=("euclidean",), own=own)["euclidean"]
    apart = near.distances[:, k] - near.distances[:, k - 1] > _TIE
    if apart.mean() >= 1 - _MOST_TIES:
        return np.asarray(near.places[:, :k])
    cosines = np.rint(units @ units.T / _TIE) + np.random.default_rng(seed).random((len(units), len(units)))
    np.fill_diagonal(cosines, -np.inf)
    return np.argpartition(-cosines, k - 1, axis=1)[:, :k]


def has_hubs(hubness: Hubness) -> bool:
    """Whether some vectors are for certain the neighbors of very many."""
    if hubness.skew is None or not hubness.hubs:
        return False
    # One vector that is near to everything makes the interval of the skewness as wide as it is bad.
    major = hubness.hubs[0].count > max(_MAJOR_HUB * hubness.n, 5 * hubness.k)
    return hubness.skew > UNEVEN and (hubness.low is None or hubness.low > UNEVEN or major)


def _units(vectors: Matrix) -> Matrix:
    if vectors.dtype not in (np.float32, np.float64):
        vectors = vectors.astype(np.float32)
    return np.asarray(vectors / np.sqrt(np.vecdot(vectors, vectors))[:, None])


def skewness(values: IntVector) -> float | None:
    """The third central moment over the 1.5th power of the second; None when all are equal.

    >>> skewness(np.array([0, 0, 0, 4]))
    1.1547005383792515
    """
    centered = values - values.mean()
    spread = float((centered**2).mean())
    return float((centered**3).mean() / spread**1.5) if spread > 0 else None


def _interval(skew: float | None, neighbors: IntVector, counts: IntVector, ranks: IntVector) -> Interval:
    """By the jackknife over groups of vectors, which are left out as neighbors and as queries.

    The groups are drawn by `ranks`, which follow from the vectors' content, so that their order does not matter. Each
    of few vectors is a group: a last digit would move so few groups too much.
    """
    n = len(counts)
    groups = n if n <= 2 * _GROUPS else _GROUPS
    if skew is None or groups < 3:
        return None, None
    of = ranks % groups
    lost = np.bincount((of[:, None] * n + neighbors).ravel(), minlength=groups * n).reshape(groups, n)
    # About the mean, so that the powers do not cancel.
    rest = (counts - lost) - counts.mean()
    rest[of, np.arange(n)] = 0.0
    first, second, third = ((rest**power).sum(axis=1) / (n - np.bincount(of)) for power in (1, 2, 3))
    spread = second - first**2
    cubes = third - 3 * first * second + 2 * first**3
    values = np.where(spread > 0, cubes / np.where(spread > 0, spread, 1.0) ** 1.5, np.nan)
    return around(skew, jackknife_variance(values), groups)
