"""Why do my cosines look random? A walk from the raw heatmap to one that can be read, on the user's own rows."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from uncone.analysis.cosine.baseline import CROWDED
from uncone.analysis.cosine.rogue import rogue
from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.number_format import cosine, count, percent, plain
from uncone.analysis.similarity.heatmap import chosen_rows, drawn_order
from uncone.analysis.similarity.label_codes import coded
from uncone.analysis.similarity.results import Step
from uncone.analysis.similarity.sampling_units import copies_of
from uncone.analysis.space.space import measure_space
from uncone.data.batch import IntVector, Matrix
from uncone.data.vectors.memory import ArrayVectors
from uncone.errors import FitError, NoUsableRowsError, ShapeError
from uncone.repairs import Center, DropTop, Mute, Repair, Whiten
from uncone.run.measure import Plan
from uncone.verbs.similarity.steps import Seen, cosines_of

__all__ = ["steps"]

Numbers = Mapping[str, float | None]

_MEASURED = 10_000
"""Rows that are measured and repaired; of more, a seeded sample is."""
_PAIRED = 1_500
"""Rows whose every pair is taken: a million pairs."""
_DRAWN = 60
_NARROW = 10
"""Cosines that vary as they would in fewer than a tenth of the dimensions are crowded."""
_EQUAL = 1e-6
"""A mean cosine no farther from 1 is that of rows that differ by rounding."""
_SEPARATE = 0.55
"""An AUC below this tells labels apart so little that nobody would see it."""


def steps(
    vectors: Matrix, labels: Sequence[Hashable] | None = None, *, seed: int = 0, most: int = _DRAWN
) -> list[Step]:
    """The walk over rows (n, d) as they came from the model, not scaled: what is seen, why, and what changes it.

    Every step has its numbers over all pairs and, where there is something to see, a heatmap of the same rows in the
    same order. In a space that is not crowded the walk says so and ends.

    Raises:
        ShapeError: not a table of rows, or fewer than two.
        NoUsableRowsError: fewer than two rows have a direction.
    """
    walk = _Walk.over(vectors, labels, seed, most)
    last = walk.end_at_once()
    if last is not None:
        return [walk.raw(), last]
    found = [walk.raw(), walk.length(), walk.dimension(), walk.background(), *walk.rogue(), walk.centre()]
    for repair in (DropTop(), Whiten()):
        if walk.narrow:
            found.append(walk.further(repair))
    return [*found, walk.end()]


@dataclass(eq=False)
class _Walk:
    """The rows of the walk: `seen` as they are, `now` as the last repair left them."""

    seen: Seen
    now: Seen
    places: IntVector
    """The numbers of the drawn rows in the table."""
    n: int
    seed: int

    @classmethod
    def over(cls, vectors: Matrix, labels: Sequence[Hashable] | None, seed: int, most: int) -> _Walk:
        """Choose the rows that are measured, paired and drawn."""
        usable = _usable(vectors)
        codes = None if labels is None else coded(labels)[0][usable]
        measured = chosen_rows(codes, len(usable), _MEASURED, seed)
        rows = np.asarray(vectors[usable[measured]], np.float64)
        codes = None if codes is None else codes[measured]
        paired = chosen_rows(codes, len(rows), _PAIRED, seed)
        drawn = chosen_rows(codes, len(rows), most, seed)
        # In the order of the centred rows, because in the raw ones what all share hides which are alike.
        drawn = drawn[drawn_order((rows - rows.mean(axis=0))[drawn], None if codes is None else codes[drawn])]
        seen = Seen(rows, codes, paired, drawn)
        return cls(seen, seen, usable[measured[drawn]], len(usable), seed)

    @property
    def dim(self) -> int:
        return int(self.seen.rows.shape[1])

    @property
    def as_in(self) -> float:
        """The dimensions in which random rows have cosines that vary as much: in k, their deviation is 1/sqrt(k)."""
        return 1 / self.now.sd**2 if self.now.sd > 0 else math.inf

    @property
    def narrow(self) -> bool:
        return self.as_in * _NARROW < self.dim

    def raw(self) -> Step:
        seen, found = self.seen, self.seen.numbers
        text = (
            f"Two random texts score {cosine(seen.mean)} on average, and 95 % of all pairs lie between "
            f"{cosine(found['p2.5'] or 0.0)} and {cosine(found['p97.5'] or 0.0)}."
        )
        if seen.mean >= CROWDED:
            text += f" Half of all pairs, related or not, score over {cosine(found['p50'] or 0.0)}."
        if (auc := found.get("auc")) is not None:
            text += (
                " The chance that a pair within a label is more alike than one between labels (AUC) is "
                f"{cosine(auc)}, where 0.50 is a coin."
            )
        if self.n > len(seen.rows):
            text += f" Measured on {len(seen.rows):,} of {self.n:,} rows, drawn with seed {self.seed}."
        numbers = {**found, "rows": float(len(seen.rows)), "dimensions": float(self.dim)}
        return self._step("raw", "The raw heatmap", text, numbers, seen.heatmap)

    def end_at_once(self) -> Step | None:
        """Why there is no more to walk: all rows equal, too few that differ, or nothing crowded."""
        seen, copies = self.seen, copies_of(self.seen.rows.astype(np.float32))
        n = len(seen.rows) if copies is None else int(copies.max()) + 1
        if 1 - seen.mean < _EQUAL:
            text = (
                "All rows are the same vector but for rounding: nothing can tell them apart. Look at how they are made."
            )
            return self._step("equal", "There is nothing to tell apart", text, {"mean": seen.mean})
        if n < LEAST_UNITS:
            text = (
                f"With {count(n, 'different text')}, what all share and what is chance cannot be told apart. Take "
                f"{LEAST_UNITS} at least."
            )
            return self._step("few", "Too few texts to say why", text, {"rows": float(n)})
        if seen.mean >= CROWDED or self.narrow:
            return None
        text = (
            f"Random texts score {cosine(seen.mean)} on average, with a standard deviation of {cosine(seen.sd)}: they "
            f"do not crowd together. A pair over {cosine(seen.numbers['p97.5'] or 0.0)} is more similar than 97.5 % of "
            "all pairs, and related texts need not come near 1 for that. Read a score against the background: uncone "
            "calibrate says what it means."
        )
        return self._step("not_crowded", "Nothing is crowded", text, {"mean": seen.mean, "sd": seen.sd})

    def length(self) -> Step:
        """Folklore: that vectors of different lengths make cosines strange."""
        rows, norms = self.seen.rows[self.seen.paired], np.linalg.norm(self.seen.rows, axis=1)
        factors = 2.0 ** np.random.default_rng(self.seed).integers(-10, 11, len(rows))
        change = float(np.abs(cosines_of(rows * factors[:, None]) - cosines_of(rows)).max())
        times = float(norms.max() / norms.min())
        text = (
            f"The longest row is {plain(times)} times as long as the shortest, but a cosine divides by both lengths. "
            "Every row was multiplied by a power of two from 1/1024 to 1024, which a computer does without rounding: "
            f"the largest change of any cosine is {'exactly 0' if change == 0 else plain(change)}. So scaling rows to "
            "length 1 does not help either. It is the dot product that depends on length."
        )
        numbers = {"largest_change": change, "longest_over_shortest": times}
        return self._step("length", "It is not the length of the vectors", text, numbers)

    def dimension(self) -> Step:
        """Folklore: that cosines are high because there are many dimensions."""
        n = len(self.seen.paired)
        random = np.random.default_rng(self.seed).standard_normal((n, self.dim))
        chance = Seen(random, None, np.arange(n), np.arange(min(n, len(self.seen.drawn))))
        expected = 1 / math.sqrt(self.dim)
        text = (
            f"{count(n, 'row')} of random numbers in {self.dim:,} dimensions have a mean cosine of "
            f"{cosine(chance.mean, 3)} and a standard deviation of {cosine(chance.sd, 3)}; theory says 0 and 1/√d = "
            f"{cosine(expected, 3)}. Many dimensions bring cosines near 0. A mean of {cosine(self.seen.mean)} comes "
            "from what the rows share."
        )
        numbers = {"mean": chance.mean, "sd": chance.sd, "one_over_root_d": expected}
        return self._step("dimension", "It is not the number of dimensions", text, numbers, chance.heatmap)

    def background(self) -> Step:
        """The same cosines, less what unrelated texts score."""
        found, mean = self.seen.numbers, self.seen.mean
        low, high = ((found[name] or 0.0) - mean for name in ("p2.5", "p97.5"))
        text = (
            f"Take {cosine(mean)}, what random texts score anyway, off every cosine: what is left above 0 is more "
            f"alike than that. 2.5 % of pairs have more than {cosine(high)}. No vector changes and neither does the "
            "order of the pairs, so this is a way to read scores. uncone calibrate does it with percentiles and "
            "thresholds."
        )
        numbers: dict[str, float | None] = {"background": mean, "p2.5": low, "p97.5": high}
        numbers |= {name: found[name] for name in ("sd", "auc") if name in found}
        return self._step("background", "Read against the background", text, numbers, self.seen.heatmap - mean)

    def rogue(self) -> list[Step]:
        """Where the mean cosine comes from, and what is left when its few dimensions are muted."""
        space = measure_space(ArrayVectors(self.seen.rows), Plan(dtype=np.float64), seed=self.seed)
        found = {finding.name: finding for finding in rogue(space)}
        named = found["rogue_dimensions"].value
        out = named if isinstance(named, list) else []
        text = (
            "A cosine is a sum over the dimensions, and so is its mean. "
            f"{found['rogue_share_3'].meaning} {found['rogue_dimensions'].meaning}"
        )
        shares = {f"share_of_{k}": found[f"rogue_share_{k}"].magnitude for k in (1, 3, 5)}
        first = self._step("rogue", "Which dimensions carry it", text, {**shares, "rogue_dimensions": float(len(out))})
        if not out:
            return [first]
        muted = self.seen.after(_after(Mute(dimensions=out), self.seen.rows))
        text = (
            f"With {count(len(out), 'dimension')} of {self.dim:,} set to zero ({', '.join(map(str, out))}), two random "
            f"texts score {cosine(muted.mean)}; it was {cosine(self.seen.mean)}."
        )
        return [first, self._step("mute", "Without the rogue dimensions", text, muted.numbers, muted.heatmap)]

    def centre(self) -> Step:
        """The mean vector off every row."""
        rows = self.seen.rows
        self.now = self.seen.after(_after(Center(), rows))
        share = float(np.linalg.norm(rows.mean(axis=0)) / np.sqrt(np.vecdot(rows, rows).mean()))
        text = (
            f"The mean vector is {percent(min(share, 1.0))} as long as a typical row, and every row holds it. Taken "
            f"off all of them, it leaves a mean cosine of {cosine(self.now.mean)}, with a standard deviation of "
            f"{cosine(self.now.sd)} where it was {cosine(self.seen.sd)}."
        )
        numbers = {**self.now.numbers, "mean_vector_over_typical_row": share}
        return self._step("center", "Without what all rows share", text, numbers, self.now.heatmap)

    def further(self, repair: Repair) -> Step:
        """Directions that dominate after centring: dropped, or evened out."""
        before, varied = self.now.sd, self.as_in
        start = (
            f"The cosines still vary as those of random rows in {plain(varied)} dimensions would, not in {self.dim:,}: "
            "few directions carry most of what differs."
        )
        title = "Without the strongest directions" if isinstance(repair, DropTop) else "All directions alike"
        try:
            self.now = self.seen.after(_after(repair, self.seen.rows))
        except FitError as error:  # nothing differs but in those few directions
            return self._step(repair.kind, title, f"{start} {error}", {"varies_as_in_dimensions": varied})
        done = "Centred, and with the same variance in all directions (whitened)"
        if isinstance(repair, DropTop):
            done = f"Without the mean and the top {count(int(repair.directions_.shape[1]), 'principal direction')}"
        text = f"{start} {done}, they have a standard deviation of {cosine(self.now.sd)}; it was {cosine(before)}."
        numbers = {**self.now.numbers, "varies_as_in_dimensions": self.as_in}
        return self._step(repair.kind, title, text, numbers, self.now.heatmap)

    def end(self) -> Step:
        """What to do with it."""
        text = "What is left in the last heatmap is what tells these texts apart."
        numbers = {"mean_before": self.seen.mean, "mean_after": self.now.mean}
        before, after = self.seen.numbers.get("auc"), self.now.numbers.get("auc")
        if before is not None and after is not None:
            numbers |= {"auc_before": before, "auc_after": after}
            text += f" Of labels it tells an AUC of {cosine(after)}, where the raw cosines told {cosine(before)}."
            if after < _SEPARATE:
                text += " That is hardly more than a coin: these cosines show little of these labels."
        text += (
            " The repairs were fitted and shown on the same texts: a heatmap that is easier to read is no proof that a "
            "repair helps, and it may harm. Only labelled pairs can show what it does for your task: uncone fix SOURCE "
            "--method auto --pairs pairs.csv. To keep the vectors and read their scores, use uncone calibrate."
        )
        return self._step("next", "What to do", text, numbers)

    def _step(self, key: str, title: str, text: str, numbers: Numbers, heatmap: Matrix | None = None) -> Step:
        of_rows = heatmap is not None and key != "dimension"
        return Step(key, title, text, numbers, heatmap, self.places if of_rows else None)


def _after(repair: Repair, rows: Matrix) -> Matrix:
    return np.asarray(repair.fit(rows).transform(rows))


def _usable(vectors: Matrix) -> IntVector:
    rows = np.asarray(vectors)
    if rows.ndim != 2 or len(rows) < 2:
        raise ShapeError(f"This walk needs at least 2 rows x dimensions; we got an array of shape {rows.shape}.")
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.vecdot(rows, rows)
    usable = np.flatnonzero(np.isfinite(squares) & (squares > 0))
    if len(usable) < 2:
        raise NoUsableRowsError(f"{len(usable)} of {len(rows):,} rows have a direction; cosines need at least 2.")
    return usable
