"""Why do my cosines look random? A walk from the raw heatmap to a readable one, on the user's own texts."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from uncone.analysis.cosine.baseline import CROWDED
from uncone.analysis.cosine.rogue import rogue
from uncone.analysis.cosine.units import unit_rows
from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.number_format import cosine, count, percent, plain
from uncone.analysis.similarity.heatmap import clustered_order, stratified_sample
from uncone.analysis.similarity.label_sums import coded
from uncone.analysis.similarity.per_label import share_below
from uncone.analysis.similarity.results import Step
from uncone.analysis.similarity.sampling_units import copies_of
from uncone.analysis.space.space import measure_space
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.data.lazy_property import once
from uncone.data.vectors.memory import ArrayVectors
from uncone.errors import FitError, NoUsableRowsError, ShapeError
from uncone.repairs import Center, DropTop, Mute, Repair, Whiten
from uncone.run.measure import Plan

__all__ = ["cosine_matrix", "steps"]


def cosine_matrix(rows: Matrix) -> Matrix:
    """The cosine of every two vectors (n, n), in float64; NaN with a zero vector.

    >>> cosine_matrix(np.array([[3.0, 0.0], [0.0, 2.0]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    units = unit_rows(rows)
    cosines = np.asarray((units @ units.T).clip(-1.0, 1.0))
    cosines[np.diag_indices(len(cosines))] = np.where(np.isfinite(units[:, 0]), 1.0, np.nan)
    return cosines


@dataclass(frozen=True, eq=False)
class SpaceView:
    """Vectors (n, d) and label codes (n,): all pairs of `paired` are measured, `heatmap_rows` are drawn."""

    rows: Matrix
    codes: IntVector | None
    paired: IntVector
    heatmap_rows: IntVector

    def after(self, rows: Matrix) -> SpaceView:
        """The same view of the vectors after a repair."""
        return SpaceView(rows, self.codes, self.paired, self.heatmap_rows)

    @property
    def heatmap(self) -> Matrix:
        """The cosines of the shown rows."""
        return cosine_matrix(self.rows[self.heatmap_rows])

    @once
    def mean(self) -> float:
        """The mean cosine of all pairs: (|S|^2 - n)/(n^2 - n), with S the sum of the unit vectors."""
        units = unit_rows(self.rows)
        units = units[np.isfinite(units[:, 0])]
        n, total = len(units), units.sum(axis=0)
        return float((total @ total - n) / (n * (n - 1))) if n > 1 else float("nan")

    @once
    def _pairs(self) -> tuple[Vector, IntVector, IntVector]:
        """The cosines of the pairs, and the places of both rows."""
        left, right = np.triu_indices(len(self.paired), 1)
        cosines = cosine_matrix(self.rows[self.paired])[left, right]
        finite = np.isfinite(cosines)
        return cosines[finite], left[finite], right[finite]

    @once
    def sd(self) -> float:
        """The standard deviation of the cosines of pairs."""
        return float(self._pairs[0].std()) if len(self._pairs[0]) else 0.0

    @once
    def numbers(self) -> dict[str, float | None]:
        """Mean, deviation and percentiles of the cosines and, with labels, their means within and between labels."""
        cosines, left, right = self._pairs
        quantiles = np.quantile(cosines, [0.025, 0.5, 0.975]).tolist() if len(cosines) else [None] * 3
        numbers: dict[str, float | None] = {"mean": self.mean, "sd": self.sd}
        numbers |= dict(zip(("p2.5", "p50", "p97.5"), quantiles, strict=True))
        if self.codes is not None:
            first, second = (self.codes[self.paired][side] for side in (left, right))
            labeled, same = (first >= 0) & (second >= 0), first == second
            kinds = {"within": cosines[labeled & same], "between": cosines[labeled & ~same]}
            numbers |= {name: float(values.mean()) if len(values) else None for name, values in kinds.items()}
            numbers["auc"] = float(share_below(*kinds.values()).mean()) if all(map(len, kinds.values())) else None
        return numbers


_SAMPLE, _PAIR_SAMPLE, _HEATMAP_SAMPLE = 10_000, 1_500, 60
"""Vectors that are measured and repaired, of which all pairs are measured, and in the heatmaps: seeded samples."""
_NARROW = 10
"""Cosines are crowded if they vary as they would in fewer than a tenth of the dimensions."""
_EQUAL = 1e-6
"""Vectors with a mean cosine this close to 1 are equal up to rounding."""
_SEPARATE = 0.55
"""An AUC below this separates labels so little that nobody would see it."""


def steps(
    vectors: Matrix,
    labels: Sequence[Hashable] | None = None,
    *,
    seed: int = 0,
    most: int = _HEATMAP_SAMPLE,
    unit_length: bool = False,
) -> list[Step]:
    """The walk-through for vectors (n, d) as they came from the model, without normalization.

    Every step has numbers over all pairs and, if there is something to see, a heatmap of the same texts in the same
    order. In a space that is not crowded, the walk says so and ends. Of vectors that a database scaled to `unit_length`
    nothing is said about their length.

    Raises:
        ShapeError: not a table of vectors, or fewer than two.
        NoUsableRowsError: fewer than two vectors have a direction.
    """
    walk = _Walk.over(vectors, labels, seed, most)
    last = walk.early_end()
    if last is not None:
        return [walk.raw(), last]
    length = [] if unit_length else [walk.length()]
    path = [walk.raw(), *length, walk.dimension(), walk.background(), *walk.rogue(), walk.center()]
    for repair in (DropTop(), Whiten()):
        if walk.narrow:
            path.append(walk.further(repair))
    return [*path, walk.end()]


@dataclass(eq=False)
class _Walk:
    """The vectors of the walk: `raw_view` as they are, `view` after the last repair.

    `places` are the row numbers of the shown vectors in the table, and `n` is the number of usable vectors.
    """

    raw_view: SpaceView
    view: SpaceView
    places: IntVector
    n: int
    seed: int

    @classmethod
    def over(cls, vectors: Matrix, labels: Sequence[Hashable] | None, seed: int, most: int) -> _Walk:
        """Choose the vectors that are measured, paired and shown."""
        usable = _usable(vectors)
        codes = None if labels is None else coded(labels)[0][usable]
        sample = stratified_sample(codes, len(usable), _SAMPLE, seed)
        rows = np.asarray(vectors[usable[sample]], np.float64)
        codes = None if codes is None else codes[sample]
        paired = stratified_sample(codes, len(rows), _PAIR_SAMPLE, seed)
        few = stratified_sample(codes, len(rows), most, seed)
        # In the order of the centered vectors: in the raw ones, the shared mean hides which are similar.
        few = few[clustered_order((rows - rows.mean(axis=0))[few], None if codes is None else codes[few])]
        view = SpaceView(rows, codes, paired, few)
        return cls(view, view, usable[sample[few]], len(usable), seed)

    @property
    def dim(self) -> int:
        return int(self.raw_view.rows.shape[1])

    @property
    def equivalent_dim(self) -> float:
        """The number of dimensions in which random cosines vary as much: in k, their deviation is 1/sqrt(k)."""
        return 1 / self.view.sd**2 if self.view.sd > 0 else math.inf

    @property
    def narrow(self) -> bool:
        return self.equivalent_dim * _NARROW < self.dim

    def raw(self) -> Step:
        raw, numbers = self.raw_view, self.raw_view.numbers
        text = (
            f"Two random texts score {cosine(raw.mean)} on average, and 95 % of all pairs score "
            f"{cosine(numbers['p2.5'] or 0.0)} to {cosine(numbers['p97.5'] or 0.0)}."
        )
        if raw.mean >= CROWDED:
            text += f" Half of all pairs, related or not, score above {cosine(numbers['p50'] or 0.0)}."
        if (auc := numbers.get("auc")) is not None:
            text += (
                " The probability that a pair within a label is more similar than one between labels (AUC) is "
                f"{cosine(auc)}; 0.50 is chance."
            )
        if self.n > len(raw.rows):
            text += f" Measured on {len(raw.rows):,} of {self.n:,} texts, drawn with seed {self.seed}."
        sizes = {"rows": float(len(raw.rows)), "dimensions": float(self.dim)}
        return self._step("raw", "The raw heatmap", text, {**numbers, **sizes}, raw.heatmap)

    def early_end(self) -> Step | None:
        """The reason to stop: all vectors equal, too few distinct texts, or a space that is not crowded."""
        raw, copies = self.raw_view, copies_of(self.raw_view.rows.astype(np.float32))
        n = len(raw.rows) if copies is None else int(copies.max()) + 1
        if 1 - raw.mean < _EQUAL:
            text = "All vectors are equal up to rounding, so nothing can tell them apart. Check how they were made."
            return self._step("equal", "All vectors are equal", text, {"mean": raw.mean})
        if n < LEAST_UNITS:
            text = (
                f"{count(n, 'distinct text')} {'is' if n == 1 else 'are'} too few to distinguish what all texts share "
                f"from chance. Use at least {LEAST_UNITS}."
            )
            return self._step("few", "Too few texts to say why", text, {"rows": float(n)})
        if raw.mean >= CROWDED or self.narrow:
            return None
        text = (
            f"Random texts score {cosine(raw.mean)} on average, with a standard deviation of {cosine(raw.sd)}: the "
            f"space is not crowded. A pair above {cosine(raw.numbers['p97.5'] or 0.0)} is more similar than 97.5 % of "
            "all pairs, so related texts need not come near 1. uncone calibrate shows what a score means."
        )
        return self._step("not_crowded", "The space is not crowded", text, {"mean": raw.mean, "sd": raw.sd})

    def length(self) -> Step:
        """Folklore: different lengths of vectors distort cosines."""
        rows, norms = self.raw_view.rows[self.raw_view.paired], np.linalg.norm(self.raw_view.rows, axis=1)
        factors = 2.0 ** np.random.default_rng(self.seed).integers(-10, 11, len(rows))
        change = float(np.abs(cosine_matrix(rows * factors[:, None]) - cosine_matrix(rows)).max())
        ratio = float(norms.max() / norms.min())
        text = (
            f"The longest vector is {plain(ratio)} times as long as the shortest, but a cosine divides by both "
            "lengths. We multiplied every vector by a power of two from 1/1024 to 1024, which a computer does without "
            f"rounding: the largest change of any cosine is {'exactly 0' if change == 0 else plain(change)}. So "
            "normalizing the vectors doesn't help either. Only the dot product depends on length."
        )
        numbers = {"largest_change": change, "longest_over_shortest": ratio}
        return self._step("length", "It is not the length of the vectors", text, numbers)

    def dimension(self) -> Step:
        """Folklore: cosines are high because there are many dimensions."""
        n = len(self.raw_view.paired)
        random = np.random.default_rng(self.seed).standard_normal((n, self.dim))
        chance = SpaceView(random, None, np.arange(n), np.arange(min(n, len(self.raw_view.heatmap_rows))))
        expected = 1 / math.sqrt(self.dim)
        text = (
            f"{count(n, 'random vector')} in {self.dim:,} dimensions have a mean cosine of {cosine(chance.mean, 3)} "
            f"and a standard deviation of {cosine(chance.sd, 3)}; theory says 0 and 1/√d = {cosine(expected, 3)}. Many "
            f"dimensions bring cosines near 0. A mean of {cosine(self.raw_view.mean)} comes from what the texts share."
        )
        numbers = {"mean": chance.mean, "sd": chance.sd, "one_over_root_d": expected}
        return self._step("dimension", "It is not the number of dimensions", text, numbers, chance.heatmap)

    def background(self) -> Step:
        """The same cosines minus the mean of unrelated texts."""
        raw, mean = self.raw_view.numbers, self.raw_view.mean
        low, high = ((raw[name] or 0.0) - mean for name in ("p2.5", "p97.5"))
        text = (
            f"Subtract {cosine(mean)}, the score of random texts, from every cosine: what is left above 0 is more "
            f"similar than that. 2.5 % of pairs are above {cosine(high)}. The vectors and the order of the pairs don't "
            "change, so this is only a way to read scores. uncone calibrate does it with percentiles and thresholds."
        )
        numbers: dict[str, float | None] = {"background": mean, "p2.5": low, "p97.5": high}
        numbers |= {name: raw[name] for name in ("sd", "auc") if name in raw}
        return self._step("background", "Read against the background", text, numbers, self.raw_view.heatmap - mean)

    def rogue(self) -> list[Step]:
        """The dimensions behind the mean cosine, and the cosines without them."""
        raw = self.raw_view
        space = measure_space(ArrayVectors(raw.rows), Plan(dtype=np.float64), seed=self.seed)
        findings = {finding.name: finding for finding in rogue(space)}
        value = findings["rogue_dimensions"].value
        dimensions = value if isinstance(value, list) else []
        text = (
            "A cosine is a sum over the dimensions, and so is its mean. "
            f"{findings['rogue_share_3'].meaning} {findings['rogue_dimensions'].meaning}"
        )
        numbers = {f"share_of_{k}": findings[f"rogue_share_{k}"].magnitude for k in (1, 3, 5)}
        numbers["rogue_dimensions"] = float(len(dimensions))
        first = self._step("rogue", "Which dimensions carry it", text, numbers)
        if not dimensions:
            return [first]
        muted = raw.after(_apply(Mute(dimensions=dimensions), raw.rows))
        text = (
            f"With {count(len(dimensions), 'dimension')} of {self.dim:,} set to zero "
            f"({', '.join(map(str, dimensions))}), two random texts score {cosine(muted.mean)} instead of "
            f"{cosine(raw.mean)}."
        )
        return [first, self._step("mute", "Without the rogue dimensions", text, muted.numbers, muted.heatmap)]

    def center(self) -> Step:
        """Every vector minus the mean vector."""
        rows = self.raw_view.rows
        self.view = self.raw_view.after(_apply(Center(), rows))
        share = float(np.linalg.norm(rows.mean(axis=0)) / np.sqrt(np.vecdot(rows, rows).mean()))
        text = (
            f"Every vector contains the mean vector, which is {percent(min(share, 1.0))} as long as a typical vector. "
            f"Subtracting it leaves a mean cosine of {cosine(self.view.mean)}, with a standard deviation of "
            f"{cosine(self.view.sd)} instead of {cosine(self.raw_view.sd)}."
        )
        numbers = {**self.view.numbers, "mean_vector_over_typical_row": share}
        return self._step("center", "Without what all texts share", text, numbers, self.view.heatmap)

    def further(self, repair: Repair) -> Step:
        """Drop or even out the directions that dominate after centering."""
        before, varied, drops = self.view.sd, self.equivalent_dim, isinstance(repair, DropTop)
        start = (
            f"The cosines still vary as they would in {plain(varied)} random dimensions, not in {self.dim:,}: "
            "a few directions carry most of the differences."
        )
        title = "Without the strongest directions" if drops else "All directions equal"
        try:
            self.view = self.raw_view.after(_apply(repair, self.raw_view.rows))
        except FitError as error:  # all differences lie in those few directions
            return self._step(repair.kind, title, f"{start} {error}", {"varies_as_in_dimensions": varied})
        state = "Centered, and with the same variance in all directions (whitened)"
        if isinstance(repair, DropTop):
            state = f"Without the mean and the top {count(int(repair.directions_.shape[1]), 'principal direction')}"
        text = f"{start} {state}, they have a standard deviation of {cosine(self.view.sd)} instead of {cosine(before)}."
        numbers = {**self.view.numbers, "varies_as_in_dimensions": self.equivalent_dim}
        return self._step(repair.kind, title, text, numbers, self.view.heatmap)

    def end(self) -> Step:
        """What to do next."""
        text = "The last heatmap shows what distinguishes these texts."
        numbers = {"mean_before": self.raw_view.mean, "mean_after": self.view.mean}
        before, after = self.raw_view.numbers.get("auc"), self.view.numbers.get("auc")
        if before is not None and after is not None:
            numbers |= {"auc_before": before, "auc_after": after}
            text += f" It separates the labels with an AUC of {cosine(after)}; the raw cosines had {cosine(before)}."
            if after < _SEPARATE:
                text += " That is hardly more than chance: these cosines show little of these labels."
        text += (
            " The repairs were fitted and shown on the same texts: a heatmap that is easier to read is no proof that a "
            "repair helps, and it may harm. Only labeled pairs can show what it does for your task: uncone fix SOURCE "
            "--method auto --pairs pairs.csv. To keep the vectors and read their scores, use uncone calibrate."
        )
        return self._step("next", "What to do", text, numbers)

    def _step(
        self, key: str, title: str, text: str, numbers: Mapping[str, float | None], heatmap: Matrix | None = None
    ) -> Step:
        has_rows = heatmap is not None and key != "dimension"
        return Step(key, title, text, numbers, heatmap, self.places if has_rows else None)


def _apply(repair: Repair, rows: Matrix) -> Matrix:
    return np.asarray(repair.fit(rows).transform(rows))


def _usable(vectors: Matrix) -> IntVector:
    rows = np.asarray(vectors)
    if rows.ndim != 2 or len(rows) < 2:
        raise ShapeError(f"The walk-through needs at least 2 vectors; we got an array of shape {rows.shape}.")
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.vecdot(rows, rows)
    usable = np.flatnonzero(np.isfinite(squares) & (squares > 0))
    if len(usable) < 2:
        raise NoUsableRowsError(f"{len(usable)} of {len(rows):,} vectors have a direction; cosines need at least 2.")
    return usable
