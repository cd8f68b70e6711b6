"""Neighborhoods of a space: the dimension around a vector and hubness, on a sample or against all vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from uncone.analysis.intervals.intervals import around, jackknife_variance
from uncone.analysis.layers.deep_results import Dimension, Hub, Hubness
from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.neighbors.dimension import AllRows, dimensions_of, distinct_rows
from uncone.analysis.neighbors.search import Block, nearest
from uncone.analysis.number_format import clipped, count, percent, plain
from uncone.analysis.space.space import Space
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.data.source import BLOCK, batches
from uncone.stats.hashing import Hashes, fingerprints

__all__ = [
    "ANN_ROWS",
    "ROWS",
    "UNEVEN",
    "Neighbourhood",
    "all_rows",
    "has_hubs",
    "hubness_of",
    "neighbourhood_findings",
    "neighbourhood_of",
    "neighbourhood_of_space",
    "skewness",
]

ANN_ROWS = 2_000_000
"""Up to so many rows an exact search is used, whatever was asked for."""
BASE_ROWS = 10_000
QUERIES = 300
"""The sample that `check` looks at: rows of the base, and rows whose neighbours are looked for in it."""
_MOST_QUERIES = 2_000
"""Rows that are asked about where all rows are looked at, or where there are no more."""
_LONGEST = 200
"""Letters of a text that are kept."""
_METRICS = {"euclidean": "by Euclidean distance", "cosine": "by cosine (the chord of two directions)"}
ROWS = 2_500
"""Rows that are compared with each other."""
UNEVEN = 1.4
_ONE_HUB = 0.05
"""A space has hubs when the skewness is above 1.4, and surely so: its interval is, or one row is near to a
twentieth of all, and to five times as many as on average."""
_K = 10
_SHOWN = 5
_GROUPS = 50
_WORST = 0.01
_TIE = 1e-6
_MOST_TIES = 0.01


class Neighbourhood(NamedTuple):
    """The dimension around a row by each metric, and hubness."""

    dimensions: Mapping[str, Dimension]
    hubness: Hubness


def neighbourhood_of(
    space: Space, *, whole: bool = False, ann: bool = False, progress: Callable[[int], None] | None = None
) -> Neighbourhood:
    """The neighbourhoods of a seeded sample of the rows; with `whole` or `ann`, its dimension against all rows."""
    some = space.sample.first(BASE_ROWS)
    if whole or ann:
        base = all_rows(space, ann, progress)
        dimensions = dimensions_of(some.vectors, queries=_MOST_QUERIES, seed=space.seed, base=base)
    else:
        # Few rows are all asked about: then their order does not matter.
        distinct = some.n if some.groups is None else len(np.unique(some.groups))
        asked = QUERIES if distinct > _MOST_QUERIES else distinct
        dimensions = dimensions_of(some.vectors, queries=asked, seed=space.seed)
    texts = some.texts
    name = None if texts is None else lambda place: clipped(texts[place], _LONGEST)
    return Neighbourhood(dimensions, hubness_of(some.vectors, seed=space.seed, name=name, numbers=some.rows))


def neighbourhood_of_space(space: Space) -> list[Finding]:
    """The findings on neighbourhoods: among all rows when they were looked for there, else of the sample."""
    near = neighbourhood_of(space) if space.neighbourhood is None else space.neighbourhood
    return neighbourhood_findings(near.dimensions, near.hubness, pairs=False)


def all_rows(space: Space, ann: bool = False, progress: Callable[[int], None] | None = None) -> AllRows:
    """All usable rows of a measured space as a base; copies are left out, all but the first."""
    share = space.prints.duplicate_share
    blocks = partial(_blocks, space, share > 0, progress)
    n = space.n - round(share * space.n)
    return AllRows(blocks, n, share, ann and n > ANN_ROWS)


def _blocks(space: Space, copies: bool, progress: Callable[[int], None] | None) -> Iterator[Block]:
    source = space.source
    if copies or not source.random_access:
        prints = space.prints.state()["kept"]
        seen = _Seen(np.unique(prints[1:][prints[1:] == prints[:-1]]))
        for batch in batches(source.read(), space.moments.dtype):
            yield seen.new(batch.vectors)
            if progress is not None:
                progress(batch.seen)
        return
    rows = source.rows or 0
    for start in range(0, rows, BLOCK):
        stop = min(start + BLOCK, rows)
        yield partial(_read, space, start, stop)
        if progress is not None:
            progress(stop - start)


def _read(space: Space, start: int, stop: int) -> Iterator[Matrix]:
    for batch in batches(space.source.read(start, stop), space.moments.dtype, start):
        yield batch.vectors


class _Seen:
    """Remembers which of the rows that have copies came by already."""

    def __init__(self, copied: Hashes) -> None:
        self.copied = copied
        self._seen: set[int] = set()

    def new(self, vectors: Matrix) -> Matrix:
        """A copy of the rows that repeat none before."""
        prints = fingerprints(vectors)
        kept = np.ones(len(vectors), np.bool_)
        for i in np.flatnonzero(np.isin(prints, self.copied)).tolist():
            kept[i] = int(prints[i]) not in self._seen
            self._seen.add(int(prints[i]))
        return vectors[kept]


def neighbourhood_findings(
    dimensions: Mapping[str, Dimension], hubness: Hubness, *, pairs: bool = True
) -> list[Finding]:
    """The findings on neighbourhoods; with `pairs` also the dimension from the two nearest alone."""
    found = [_lid(dimension) for dimension in dimensions.values()]
    if pairs:
        found += [_two_nn(dimension) for dimension in dimensions.values()]
    return [*found, _skew(hubness), _antihubs(hubness)]


def _lid(dimension: Dimension) -> Finding:
    if dimension.value is None:
        meaning = f"Unknown {_METRICS[dimension.metric]}: {_why_not(dimension)}"
    else:
        meaning = (
            f"Around a row the space has about {plain(dimension.value)} dimensions {_METRICS[dimension.metric]}; in "
            f"the published convention, on squared distances, {plain(dimension.value / 2)}. {_measured(dimension)}"
        )
    return Finding(
        f"lid_{dimension.metric}",
        dimension.value,
        dimension.base,
        meaning,
        "It grows with the number of rows: compare it only at the same base and k.",
        dimension.low,
        dimension.high,
    )


def _two_nn(dimension: Dimension) -> Finding:
    value = dimension.two_nn
    meaning = (
        f"Unknown {_METRICS[dimension.metric]}: {_why_not(dimension)}"
        if value is None
        else f"By the two nearest rows alone the space has about {plain(value)} dimensions "
        f"{_METRICS[dimension.metric]}. {_measured(dimension)}"
    )
    return Finding(
        f"twonn_{dimension.metric}",
        value,
        dimension.base,
        meaning,
        f"It looks closer than the {dimension.k} nearest do: noise shows in it first.",
    )


def _measured(dimension: Dimension) -> str:
    copies = f"; the {percent(dimension.duplicates)} that are copies are left out" if dimension.duplicates else ""
    found = (
        ""
        if dimension.recall is None
        else f" The search was approximate and found {percent(dimension.recall)} of the true neighbours."
    )
    return (
        f"From the {count(dimension.k, 'nearest row')} of {dimension.queries:,} among {dimension.base:,} distinct "
        f"rows{copies}.{found}"
    )


def _why_not(dimension: Dimension) -> str:
    if dimension.base < 3:
        return f"{count(dimension.base, 'distinct row')}; at least 3 are needed."
    return f"the nearest of {dimension.base:,} distinct rows are all equally far, or none is apart."


def _skew(hubness: Hubness) -> Finding:
    skew = hubness.skew
    if skew is None or hubness.top_share is None:
        return Finding("hubness_skew", None, hubness.n, _no_hubs(hubness))
    uneven = has_hubs(hubness)
    spread = (
        f"the worst hundredth of {hubness.n:,} rows takes {percent(hubness.top_share)} of the places among the "
        f"{hubness.k} nearest"
    )
    return Finding(
        "hubness_skew",
        skew,
        hubness.n,
        f"{_how_uneven(hubness, uneven)}: {spread}" + (f"; {_worst(hubness)}." if uneven else "."),
        "In a search these rows answer everything: look at what they have in common, and drop them when they are empty "
        "or boilerplate."
        if uneven
        else "",
        hubness.low,
        hubness.high,
        UNEVEN,
        Level.CROWDED if uneven else Level.NOTE if _open(hubness) else Level.HEALTHY,
        [{"row": hub.row, "text": hub.text or None, "value": hub.count} for hub in hubness.hubs],
    )


def _open(hubness: Hubness) -> bool:
    """Whether there may be hubs, but it is not certain: what is not significant is not absent."""
    return not has_hubs(hubness) and hubness.high is not None and hubness.high > UNEVEN


def _how_uneven(hubness: Hubness, uneven: bool) -> str:
    if uneven:
        return "Some rows are neighbours of very many"
    if _open(hubness):
        return f"There may be hubs: the skewness is up to {plain(hubness.high or 0.0)}, and {UNEVEN:g} is uneven"
    return "No row is the neighbour of very many"


def _worst(hubness: Hubness) -> str:
    hub = hubness.hubs[0]
    named = f"row {hub.row:,}" + (f" (“{clipped(hub.text, 60)}”)" if hub.text else "")
    return f"{named} is one of the {hubness.k} nearest of {hub.count:,} others"


def _antihubs(hubness: Hubness) -> Finding:
    share = hubness.antihubs
    if share is None:
        return Finding("antihub_share", None, hubness.n, _no_hubs(hubness))
    return Finding(
        "antihub_share",
        share,
        hubness.n,
        f"{percent(share)} of {hubness.n:,} rows are among the {hubness.k} nearest of no other"
        + (": a search hardly ever finds them." if share else "."),
    )


def _no_hubs(hubness: Hubness) -> str:
    if hubness.n < hubness.k + 2:
        return f"Unknown: {count(hubness.n, 'row')}; at least {hubness.k + 2} are needed for {hubness.k} neighbours."
    return "Unknown: every row is a neighbour of equally many."


def hubness_of(
    vectors: Matrix,
    *,
    k: int = _K,
    rows: int = ROWS,
    seed: int = 0,
    name: Callable[[int], str] | None = None,
    numbers: IntVector | None = None,
) -> Hubness:
    """How often each row is among the k nearest of another, by cosine (Radovanović et al. 2010).

    Over all distinct rows of (n, d), or a seeded sample of `rows` of them: copies of a row would be each other's
    nearest, and which of them come first is chance. `name` gives the text of the row at a place, `numbers`
    are the rows' numbers; without them the place is the number. Nothing is said of fewer than k + 2 rows, where every
    row is a neighbour of every other.
    """
    first = distinct_rows(vectors)
    places = first[np.sort(np.random.default_rng(seed).permutation(len(first))[:rows])]
    n = len(places)
    if n < k + 2:
        return Hubness(None, None, None, None, None, (), k, n)
    chosen = vectors[places]
    units = _units(chosen)
    found = _nearest(units, k, seed)
    counts = np.bincount(found.ravel(), minlength=n)
    skew = skewness(counts)
    low, high = _interval(skew, found, counts, np.argsort(np.argsort(fingerprints(chosen))))
    worst = np.argsort(-counts, kind="stable")
    hubs = tuple(
        Hub(
            int(places[i]) if numbers is None else int(numbers[places[i]]),
            int(counts[i]),
            "" if name is None else name(int(places[i])),
        )
        for i in worst[:_SHOWN]
    )
    top = float(counts[worst[: math.ceil(_WORST * n)]].sum() / found.size)
    return Hubness(skew, low, high, float((counts == 0).mean()), top, hubs, k, n)


def _nearest(units: Matrix, k: int, seed: int) -> IntVector:
    """The k nearest rows of each row (n, k).

    The chord of two directions is their Euclidean distance, which takes less arithmetic than the cosine of rows. Where
    the next row is as near as the last of them, the first of the file would be taken and look like hubs: then chance
    decides among equals, for each row anew.
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
    """Whether some rows are for certain the neighbours of very many."""
    if hubness.skew is None or not hubness.hubs:
        return False
    # One row that is near to everything makes the interval of the skewness as wide as it is bad.
    one = hubness.hubs[0].count > max(_ONE_HUB * hubness.n, 5 * hubness.k)
    return hubness.skew > UNEVEN and (hubness.low is None or hubness.low > UNEVEN or one)


def _units(rows: Matrix) -> Matrix:
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float32)
    return np.asarray(rows / np.sqrt(np.vecdot(rows, rows))[:, None])


def skewness(values: IntVector) -> float | None:
    """The third central moment over the 1.5th power of the second; None when all are equal.

    >>> skewness(np.array([0, 0, 0, 4]))
    1.1547005383792515
    """
    centred = values - values.mean()
    spread = float((centred**2).mean())
    return float((centred**3).mean() / spread**1.5) if spread > 0 else None


def _interval(
    skew: float | None, found: IntVector, counts: IntVector, ranks: IntVector
) -> tuple[float | None, float | None]:
    """By the jackknife over groups of rows: a group goes as neighbours and as those that ask.

    The groups are drawn by `ranks`, which follow from what the rows hold, so that their order does not matter. Of few
    rows each is a group: a last digit would move so few groups too much.
    """
    n = len(counts)
    groups = n if n <= 2 * _GROUPS else _GROUPS
    if skew is None or groups < 3:
        return None, None
    of = ranks % groups
    asked = np.bincount((of[:, None] * n + found).ravel(), minlength=groups * n).reshape(groups, n)
    # About the mean, so that the powers do not cancel.
    left = (counts - asked) - counts.mean()
    left[of, np.arange(n)] = 0.0
    sizes = n - np.bincount(of)
    first, second, third = (_sums(left, p) / sizes for p in (1, 2, 3))
    spread = second - first**2
    cubes = third - 3 * first * second + 2 * first**3
    values = np.where(spread > 0, cubes / np.where(spread > 0, spread, 1.0) ** 1.5, np.nan)
    return around(skew, jackknife_variance(values), groups)


def _sums(left: Matrix, power: int) -> Vector:
    return np.asarray((left**power).sum(axis=1))
