"""What is made of the rows that are compared: each part of a similarity, with the row numbers of the table."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.analysis.calibration.results import Background
from uncone.analysis.number_format import count
from uncone.analysis.similarity.filters import crowd_at, duplicate_bound, equal_pairs, same_text
from uncone.analysis.similarity.pairs import coarser
from uncone.analysis.similarity.results import Crowd, Groups, Labels, Pairs, Picture, Step, TwoColumns
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.stats.hashing import hash_sample
from uncone.verbs.options.similarity import SimilarityOptions
from uncone.verbs.similarity.table import Table
from uncone.verbs.similarity.vectors import Compared, Meaning, check_differ, meaning_of

if TYPE_CHECKING:
    from uncone.analysis.calibration.calibration import Calibration

__all__ = ["NO_LABEL", "Comparison", "Surveyed"]

NO_LABEL = "(no label)"
"""How rows without a label are called where they are drawn or grouped."""

_BINS = 200
_NOT_DRAWN = "not in the sample"
_ON_MAP = 5_000
"""Rows on a map: t-SNE and UMAP take minutes for more."""
_FEW_PAIRS = 1_000
"""Fewer do not know what one in a hundred is."""
_MOST_LABELS = 20
"""Up to so many labels, there are as many groups unless a number is asked for."""


@dataclass(frozen=True, eq=False)
class Surveyed:
    """What a look at every pair gives."""

    histogram: Mapping[str, Sequence[float]]
    pairs: Pairs
    duplicates: Pairs
    crowd: Crowd | None = None


@dataclass(eq=False)
class Comparison:
    """The rows of a table in one space, or several, and what their cosines mean in each; the first is the main one."""

    table: Table
    spaces: Sequence[Compared]
    meanings: Sequence[Meaning]
    options: SimilarityOptions
    projected: IntVector = field(default_factory=lambda: np.empty(0, np.int64))
    said: list[str] = field(default_factory=list)
    """What was decided on the way."""

    @classmethod
    def of(
        cls,
        table: Table,
        spaces: Sequence[Compared],
        options: SimilarityOptions,
        calibration: Calibration | None,
    ) -> Comparison:
        """With the background of each space.

        Raises:
            ShapeError: all rows are equal.
        """
        for space in spaces:
            check_differ(table, space)
        meanings = [meaning_of(table, one, calibration, options.seed, options.progress) for one in spaces]
        return cls(table, spaces, meanings, options)

    @property
    def main(self) -> Compared:
        """The space that pairs, labels and groups are of."""
        return self.spaces[0]

    @property
    def background(self) -> Background:
        """Of the main space."""
        return self.meanings[0].background

    @property
    def labels(self) -> list[str | None] | None:
        """Of the rows that are compared; None where one has none. Of two text columns they are labels of pairs."""
        if self.table.labels is None:
            return None
        return [self.table.labels[row].strip() or None for row in self.main.rows.tolist()]

    @property
    def text_labels(self) -> list[str] | None:
        """The labels of texts, to draw and group by; with two text columns there are none."""
        labels = None if self.main.beside is not None else self.labels
        return None if labels is None else [label or NO_LABEL for label in labels]

    def survey(self) -> Surveyed:
        """A look at every pair of rows; with two text columns, at the two texts of every row."""
        if self.main.beside is not None:
            return self._beside()
        from uncone.analysis.similarity.pairs import survey

        options, meaning = self.options, self.meanings[0]
        low, high, alike = self._bounds()
        n = self.main.n
        found = survey(
            self.main.units,
            top=options.most_pairs,
            low=low,
            high=high,
            most=options.most_pairs,
            duplicate=alike,
            labels=self.labels,
            percentile=meaning.percentile,
            progress=self._counted("pairs", n * (n - 1) // 2),
        )
        pairs = found.top if found.within_range is None else found.within_range
        crowd = self._crowd(alike)
        duplicates = found.duplicates if crowd is None else self._equal()
        return Surveyed(coarser(found.histogram, _BINS), self._placed(pairs), self._placed(duplicates), crowd)

    def _crowd(self, alike: float) -> Crowd | None:
        """Whether unrelated pairs reach the bound of near-duplicates in numbers; a bound that was asked for is kept."""
        return crowd_at(self.background, alike, self.main.n) if self.options.duplicates is None else None

    def _equal(self) -> Pairs:
        """The pairs of the same text, or of the same vector where there are no texts."""
        texts, rows = self.table.texts, self.main.rows.tolist()
        keys = [row.tobytes() for row in self.main.units] if texts is None else [same_text(texts[row]) for row in rows]
        why = f"the same {'vector' if texts is None else 'text'}"
        percentile = self.meanings[0].percentile
        return equal_pairs(keys, self.main.units, most=self.options.most_pairs, percentile=percentile, why=why)

    def _beside(self) -> Surveyed:
        """The two texts of every row, most alike first; `one` and `other` are the same row."""
        assert self.main.beside is not None
        low, high, alike = self._bounds()
        cosines = np.clip(np.vecdot(self.main.units, self.main.beside).astype(np.float64), -1.0, 1.0)
        counts, edges = np.histogram(cosines, bins=2048, range=(-1.0, 1.0))
        said = "pairs between the bounds" if self.options.is_bounded else "the most similar pairs"
        pairs = self._rows_within(cosines, low, high, said)
        crowd = self._crowd(alike)
        if crowd is None:
            near = self._rows_within(cosines, alike, None, f"near-duplicates: cosine at least {alike:.4g}")
        else:
            near = self._listed(cosines, self._same_beside(), "the same text twice")
        return Surveyed(coarser({"edges": edges.tolist(), "counts": counts.tolist()}, _BINS), pairs, near, crowd)

    def _same_beside(self) -> Any:  # noqa: ANN401 - booleans (m,)
        """Whether the two texts of a row are the same."""
        texts, beside = self.table.texts, self.table.against
        assert texts is not None and beside is not None
        return np.array([same_text(texts[row]) == same_text(beside[row]) for row in self.main.rows.tolist()])

    def _rows_within(self, cosines: Vector, low: float | None, high: float | None, why: str) -> Pairs:
        inside = (cosines >= (-1.0 if low is None else low)) & (cosines <= (1.0 if high is None else high))
        return self._listed(cosines, inside, why)

    def _listed(self, cosines: Vector, inside: Any, why: str) -> Pairs:  # noqa: ANN401 - booleans (m,)
        places = np.flatnonzero(inside)
        listed = places[np.argsort(-cosines[places], kind="stable")[: self.options.most_pairs]]
        rows, values = self.main.rows[listed], cosines[listed]
        return Pairs(rows, rows, values, self.meanings[0].percentile(values), len(places), why)

    def _bounds(self) -> tuple[float | None, float | None, float]:
        """The cosines from and to which pairs are listed, and from which on they are near-duplicates."""
        from uncone.analysis.similarity.filters import bounds, parse_bound

        options, background = self.options, self.background
        if options.duplicates is None:
            alike = duplicate_bound(background.mean)
        else:
            alike = parse_bound(options.duplicates, background, "--duplicates")
        return *bounds(options.min, options.max, background), alike

    def near(self) -> Pairs | None:
        """The rows nearest to the text that was asked for."""
        if self.main.near is None:
            return None
        from uncone.analysis.similarity.pairs import near

        low, high, _ = self._bounds()
        found = near(
            self.main.units,
            self.main.near,
            top=self.options.most_pairs,
            low=low,
            high=high,
            percentile=self.meanings[0].percentile,
        )
        return self._placed(found)

    def _placed(self, pairs: Pairs) -> Pairs:
        """With the row numbers of the table, and percentiles that say that no unrelated pair is above itself."""
        rows, copies, meaning = self.main.rows, self.main.copies, self.meanings[0]
        percentiles = pairs.percentiles
        if meaning.own:  # the pair is one of the background, unless its rows are copies
            among = (pairs.one >= 0) & (True if copies is None else copies[pairs.one] != copies[pairs.other])
            most = 100 * (1 - 1 / meaning.background.all_pairs)
            percentiles = np.where(among, np.minimum(percentiles, most), percentiles)
        one = np.where(pairs.one < 0, pairs.one, rows[pairs.one])
        return replace(pairs, one=one, other=rows[pairs.other], percentiles=percentiles)

    def pictures(self) -> list[tuple[str, Picture]]:
        """A heatmap for each space; of two text columns there is none."""
        from uncone.analysis.similarity.heatmap import picture

        if self.main.beside is not None:
            return []
        labels = self.text_labels
        order = self.options.order or ("clustering" if labels is None else "label")
        made = []
        for space, meaning in zip(self.spaces, self.meanings, strict=True):
            of_rows = None if labels is None else self._labels_of(space)
            found = picture(space.units, meaning.percentile, of_rows, order, seed=self.options.seed)  # type: ignore[arg-type]
            made.append((space.name or "cosines", replace(found, rows=space.rows[found.rows])))
        return made

    def per_label(self) -> Labels | None:
        """Cosines within and between labels; none where there are two text columns, whose labels are of pairs."""
        if self.labels is None or self.main.beside is not None:
            return None
        from uncone.analysis.similarity.per_label import per_label

        mean, error = self.background.mean, self.meanings[0].error
        return per_label(self.main.units, self.labels, mean, seed=self.options.seed, background=error)

    def groups(self) -> list[Groups]:
        """The rows in groups, by each method that is asked for."""
        from uncone.analysis.similarity.groups import hierarchical, k_means

        options, units, labels = self.options, self.main.units, self.text_labels
        if options.n_groups == 0 or self.main.beside is not None:
            return []
        k: Any = options.n_groups or self._as_many_as_labels() or "auto"
        made = []
        for method in dict.fromkeys(options.group_method):
            if method == "kmeans":
                found = k_means(units, k, labels, seed=options.seed)
            else:
                found = hierarchical(units, k, method, labels, seed=options.seed)  # type: ignore[arg-type]
            members = np.full(self.table.rows, -1, np.int64)
            members[self.main.rows] = found.members
            groups = [replace(one, central=int(self.main.rows[one.central])) for one in found.groups]
            made.append(replace(found, members=members, groups=groups))
        return made

    def _as_many_as_labels(self) -> int | None:
        named = set(self.text_labels or ()) - {NO_LABEL}
        return len(named) if 2 <= len(named) <= min(_MOST_LABELS, self.main.n // 2) else None

    def projections(self) -> dict[str, Matrix]:
        """Points for the rows `projected`, by each method and number of dimensions that is asked for."""
        from uncone.analysis.projections.projection import LEAST, project

        options, units = self.options, self.main.units
        if self.main.beside is not None or not options.projections:
            return {}
        chosen = hash_sample(np.arange(self.main.n), _ON_MAP, options.seed)
        self.projected = self.main.rows[chosen]
        if len(chosen) < self.main.n:
            self.said.append(f"The maps show {len(chosen):,} of {self.main.n:,} rows, drawn with seed {options.seed}.")
        made = {}
        for method in options.projections:
            if len(chosen) < LEAST[method]:
                self.said.append(
                    f"There is no {method} map: it needs {LEAST[method]} rows, and there are {len(chosen)}."
                )
                continue
            for dims in options.projection_dims:
                made[f"{method}-{dims}"] = project(units[chosen], method, dims, options.seed, self._told())  # type: ignore[arg-type]
        return made

    def steps(self) -> list[Step]:
        """The walk from the raw heatmap to one that can be read."""
        from uncone.verbs.similarity.walkthrough import steps

        rows = self.main.rows
        labels = None if self.main.beside is not None else self.labels
        found = steps(self.main.raw, labels, seed=self.options.seed)
        return [one if one.rows is None else replace(one, rows=rows[one.rows]) for one in found]

    def two_columns(self) -> TwoColumns | None:
        """The cosines of the two texts of every row, by label."""
        if self.main.beside is None:
            return None
        from uncone.analysis.similarity.two_columns import two_columns

        mean, error = self.background.mean, self.meanings[0].error
        return two_columns(self.main.units, self.main.beside, self.labels, mean, background=error)

    def notes(self) -> list[str]:
        """What a reader has to know: what was left out, what was chosen, and what went wrong."""
        said = _row_notes(self.table, self.main, self.options.seed)
        own = min(self.background.pairs, self.main.distinct_pairs)
        if self.meanings[0].own and own < _FEW_PAIRS:
            said.append(
                f"{count(own, 'unrelated pair')}: percentiles are rough. --calibration takes those of a larger corpus."
            )
        return [*said, *(one.note for one in self.meanings if one.note), *self.said]

    def _counted(self, step: str, total: int) -> Any:  # noqa: ANN401 - a function of how many more are done
        progress = self.options.progress
        return None if progress is None else lambda done: progress(step, done, total)

    def _told(self) -> Any:  # noqa: ANN401 - a function of a sentence
        progress = self.options.progress
        return None if progress is None else lambda sentence: progress(sentence, 0, None)

    def _labels_of(self, space: Compared) -> list[str]:
        assert self.table.labels is not None
        return [self.table.labels[row].strip() or NO_LABEL for row in space.rows.tolist()]

    def written(self) -> dict[str, str]:
        """The matrix, when it is asked for, and where it is."""
        path = self.options.matrix
        if path is None:
            return {}
        from uncone.analysis.similarity.matrix import write_matrix

        write_matrix(self.main.units, Path(path), progress=self._counted("matrix", self.main.n))
        if self.main.n < self.table.rows:
            self.said.append(
                f"The matrix has the {self.main.n:,} rows that were compared, in their order, not all "
                f"{self.table.rows:,}."
            )
        return {"matrix": os.fspath(path)}


def _row_notes(table: Table, main: Compared, seed: int) -> list[str]:
    """The rows that are not compared, by reason, those that are there twice, and what reading them brought up."""
    notes = [f"{count(n, 'row')} left out: {why}." for why, n in table.left_out.items() if why != _NOT_DRAWN]
    if drawn := table.left_out.get(_NOT_DRAWN):
        notes.append(
            f"{main.n + drawn:,} rows make {(main.n + drawn) * (main.n + drawn - 1) // 2:,} pairs. Compared are "
            f"{main.n:,} of the rows, drawn with seed {seed}: the others are in no count, list or "
            "picture. --sample takes more."
        )
    notes += [f"{count(n, 'row')} left out: {why}." for why, n in main.left_out.items()]
    if (sentence := _distinct(table, main)) is not None:
        notes.append(sentence)
    return [*notes, *table.notes, *main.notes]


def _distinct(table: Table, main: Compared) -> str | None:
    """How many texts differ, where some repeat: they are what intervals go by."""
    one, other = main.distinct
    if min(one, other) == main.n:
        return None
    what = "vectors" if table.texts is None else "texts"
    many = f"{one:,} different {what}" if main.beside is None else f"{one:,} and {other:,} different {what}"
    clean = "" if table.texts is None or main.beside is not None else " --clean leaves the copies out."
    return f"{main.n:,} rows hold {many}: intervals and verdicts go by these, a copy is no new evidence.{clean}"
