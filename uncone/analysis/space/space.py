"""A measured space: the statistics of one source, and what follows from them by linear algebra."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.measures.measure import StatisticSettings
from uncone.analysis.measures.registry import needed_statistics
from uncone.analysis.space.geometry import Collected, Geometry
from uncone.data.batch import Batch, Vector
from uncone.data.lazy_property import once
from uncone.data.source import BLOCK, Rows, Source, batches, regrid
from uncone.errors import NoUsableRowsError, OptionError, ShapeError
from uncone.run.measure import Plan, measure, step_progress
from uncone.stats.hashing import Fingerprints, copy_groups, row_prints
from uncone.stats.moments import Moments
from uncone.stats.norms import Norms
from uncone.stats.partition import PartitionSums
from uncone.stats.row_sample import Cosines, PairCosines, SampledRows, cutoff_for
from uncone.stats.statistic import Statistic
from uncone.stats.unit_vectors import UnitSum
from uncone.stats.unusable import Unusable

if TYPE_CHECKING:
    from uncone.analysis.advice.topic import DiverseBaseline
    from uncone.analysis.neighbors.neighborhood import Neighborhood

__all__ = ["SAMPLE_ROWS", "Once", "Space", "measure_space", "with_reference"]

SAMPLE_ROWS = 50_000
_SAMPLE_NUMBERS = 1 << 27  # a sample is never larger than so many numbers
_MOST_DIMENSIONS = 16_384
_OPENING = 1024
_PAIRS_OF_COPIES = 1_000_000
_COUNTS = ("units", "unusable")
"""Statistics that count the vectors, whatever is measured of them."""

Progress = Callable[[str, int, int | None], None]
"""Told the step, how many more vectors are done, and how many there are."""


@dataclass
class Space(Geometry):
    """The vectors of a source, measured. `exact` holds partition sums over all vectors when asked for."""

    source: Source
    seed: int
    units = Collected[UnitSum]()
    prints = Collected[Fingerprints]()
    unusable = Collected[Unusable]()
    pairs = Collected[PairCosines]()
    exact: PartitionSums | None = None
    neighborhood: Neighborhood | None = None
    """The neighborhoods among all vectors, when they were looked for."""
    diverse: DiverseBaseline | None = None
    """The baseline of the same model on texts on many subjects."""

    @once
    def sample(self) -> SampledRows:
        """A uniform sample of the usable vectors; identical ones share a group."""
        sampled = self.pairs.sampled
        return replace(sampled, groups=copy_groups(row_prints(sampled.parts)))

    @property
    def copies(self) -> bool:
        """Whether some vectors of the sample are identical."""
        return self.sample.groups is not None

    @once
    def distinct(self) -> int:
        """Vectors that differ from each other."""
        return self.n if not self.copies else self.n - round(self.prints.duplicate_share * self.n)

    @once
    def effective(self) -> float:
        """Effective sample size: n^2 over the sum of the squared numbers of copies."""
        groups = self.sample.groups
        if groups is None:
            return float(self.n)
        sizes, m = np.bincount(groups).astype(np.float64), len(groups)
        return 1 / (1 / self.n + float(sizes @ sizes - m) / m**2)

    @once
    def cosines(self) -> Cosines:
        """Cosines of random pairs."""
        groups = self.sample.groups
        if groups is None:
            return self.pairs.cosines()
        # With copies there are fewer vectors to know the cosines by: more pairs of them.
        shifts = max(self.pairs.shifts, _PAIRS_OF_COPIES // len(groups))
        return replace(self.pairs.cosines(shifts), groups=groups[self.sample.order])

    @once
    def copy_pairs(self) -> float:
        """The share of the pairs of two vectors that are copies of each other."""
        return (self.n / self.effective - 1) / (self.n - 1) if self.sample.groups is not None else 0.0

    @once
    def sorted_cosines(self) -> NDArray[np.float32]:
        """All sampled cosines in order."""
        return np.sort(self.cosines.values, axis=None)

    @once
    def partition(self) -> PartitionSums:
        """Partition sums along the eigenvectors of X'X, at the scale of the data and at mean norm 1."""
        return super().partition if self.exact is None else self.exact

    def measure_exactly(self, plan: Plan, progress: Callable[[int], None] | None) -> None:
        """Take the partition sums over all vectors, in a second pass."""
        self.exact = measure(self.source, self._partition_sums(), plan, progress)


def measure_space(
    source: Source,
    plan: Plan,
    *,
    seed: int = 0,
    sample: int = SAMPLE_ROWS,
    exact: bool = False,
    also: Collection[str] = (),
    progress: Progress | None = None,
) -> Space:
    """Measure a source in one pass; with `exact`, in two.

    What is collected is what the families of `check` need, and the statistics of the names `also`.

    Raises:
        ShapeError: fewer than two vectors, or too many dimensions.
        NoUsableRowsError: every vector is NaN, infinite or zero.
        OptionError: `exact` on a source that can be read only once.
    """
    _check_size(source)
    if exact and not source.rereadable:
        raise OptionError(f"--exact reads the rows twice, and {source.name} can be read only once: save it to a file.")
    stream, reference = with_reference(source, plan)
    k = max(min(sample, _SAMPLE_NUMBERS // source.dim), 2)
    # Unusable vectors leave a gap in a sample that was cut off beforehand, which only a second look can fill.
    has_size = source.rows is not None and source.rereadable
    cutoff = cutoff_for(k, source.rows or 0, seed) if has_size else None
    makers: dict[str, Callable[[], Statistic]] = {
        "moments": lambda: Moments(source.dim, dtype=plan.dtype, reference=reference),
        "units": lambda: UnitSum(source.dim),
        "norms": Norms,
        "prints": lambda: Fingerprints(rows=source.rows),
        "unusable": Unusable,
        "pairs": lambda: PairCosines(source.dim, k, seed=seed, cutoff=cutoff),
    }
    settings = StatisticSettings(source.dim, seed)
    statistics = needed_statistics(["check"], makers, settings, {*_COUNTS, *also})
    space = Space(
        measure(stream, statistics, plan, step_progress(progress, "measuring", source.rows)).members, source, seed
    )
    _check_usable(space, plan)
    if "pairs" in space.statistics:
        _fill_sample(space, plan)
    if exact:
        space.measure_exactly(plan, step_progress(progress, "partition function", source.rows))
    return space


def _fill_sample(space: Space, plan: Plan) -> None:
    """Draw the sample again when unusable vectors have left gaps in it, with room for them."""
    while (pairs := space.pairs).cutoff is not None and pairs.sampled.n < min(pairs.k, space.n):
        settings, have = pairs.settings, pairs.sampled.n
        factor = (settings["k"] + 6 * settings["k"] ** 0.5 + 10) / max(have, 1)
        cutoff = int(factor * settings["cutoff"])
        settings["cutoff"] = cutoff if cutoff < 2**64 else None
        space.statistics["pairs"] = measure(space.source, PairCosines(**settings), plan)


class Once(Source):
    """A stream whose first block was read already, to learn the reference from it."""

    def __init__(self, source: Source, opening: list[Rows], rest: Iterator[Rows]) -> None:
        self.name, self.kind, self.dtype = source.name, source.kind, source.dtype
        self.dim, self.rows, self.source = source.dim, source.rows, source
        self._opening, self._rest = opening, rest

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        """The rows, only once, from the first."""
        yield from self._opening
        yield from self._rest


def with_reference(source: Source, plan: Plan) -> tuple[Source, Vector | None]:
    """The source, and the mean of the first vectors of its first block that has usable ones there.

    Moments are taken about that point. A thousand vectors place it well within the spread; one would not.
    """
    if source.random_access or source.divisible:
        for start in range(0, source.rows or 0, BLOCK):
            reference = _mean(batches(source.read(start, min(start + _OPENING, source.rows or 0)), plan.dtype))
            if reference is not None:
                return source, reference
        return source, None
    stream = regrid(source.read(), BLOCK)
    opening: list[Rows] = []
    for rows in stream:
        opening.append(Rows(rows.vectors.copy(), rows.texts, rows.labels))
        reference = _mean(batches(iter([opening[-1].part(0, _OPENING)]), plan.dtype))
        if reference is not None:
            return Once(source, opening, stream), reference
    return Once(source, opening, stream), None


def _mean(block: Iterator[Batch]) -> Vector | None:
    """The mean of some batches in their precision; where a dimension is constant, that very number.

    Then the vectors of a constant dimension lie at the reference exactly, and its sum of squares is exactly zero.
    """
    parts = [batch.vectors.copy() for batch in block if batch.n]
    if not parts:
        return None
    rows = np.concatenate(parts)
    mean = rows.mean(axis=0, dtype=np.float64).astype(rows.dtype)
    return np.asarray(np.where((rows == rows[0]).all(axis=0), rows[0], mean), np.float64)


def _check_size(source: Source) -> None:
    if source.rows is not None and source.rows < 2:
        raise ShapeError(f"{source.name} has {source.rows} row; cosines need at least 2 rows. Add some.")
    if source.dim > _MOST_DIMENSIONS:
        rows = "?" if source.rows is None else f"{source.rows:,}"
        hint = (
            "It looks transposed: save its .T and try again." if (source.rows or 0) < source.dim else "Is it a table?"
        )
        raise ShapeError(
            f"{source.name} is {rows} x {source.dim:,}: more than {_MOST_DIMENSIONS:,} dimensions is not an "
            f"embedding space. {hint}"
        )


def _check_usable(space: Space, plan: Plan) -> None:
    counts, name = space.unusable, space.source.name
    if space.n >= 2:
        return
    if counts.n_read < 2:
        raise ShapeError(f"{name} has {counts.n_read} row; cosines need at least 2 rows. Add some.")
    single = plan.dtype == np.float32
    most, least = ("1e16", "1e-19") if single else ("1e35", "1e-154")
    raise NoUsableRowsError(
        f"{name}: {space.n} of {counts.n_read:,} rows can be used: {counts.bad:,} hold NaN, infinity or numbers over "
        f"{most}, {counts.zero:,} are zero or shorter than {least}. We need at least 2; look at how they were made"
        f"{', or try --float64' if single else ''}."
    )
