"""The vectors that are compared, through a model or as they are, and what their cosines mean: the background."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uncone.analysis.calibration.background import survey
from uncone.analysis.calibration.calibration import Calibration
from uncone.analysis.calibration.results import Background
from uncone.analysis.calibration.thresholds import percentile_at
from uncone.analysis.cosine.units import unit_vector, units_of
from uncone.analysis.intervals.intervals import student
from uncone.analysis.similarity.sampling_units import BackgroundError, background_error, copies_of, pair_texts
from uncone.analysis.similarity.two_columns import unrelated_pairs
from uncone.data.batch import IntVector, Matrix
from uncone.data.lazy_property import once
from uncone.data.texts.texts import ListTexts
from uncone.data.vectors.memory import ArrayVectors
from uncone.errors import OptionError, OtherSpaceError, ShapeError
from uncone.repairs.saving import load
from uncone.verbs.options.similarity import SimilarityOptions
from uncone.verbs.similarity.table import Table
from uncone.verbs.spaces.encoding import Encoding, read_vectors
from uncone.verbs.spaces.repaired import space_like, space_of

__all__ = ["ComparedVectors", "ScoreBackground", "background_of", "encoded_texts", "table_vectors"]


@dataclass(frozen=True, eq=False)
class ComparedVectors:
    """The vectors that are compared.

    `rows` (m,) are their numbers in the table, `raw` (m, d) the vectors as they are, and `units` (m, d) at length 1.
    `beside` (m, d) are the texts of the second column and `near` (d,) is the text of --near, both at length 1.
    `identity` describes the encoder, and `missing` counts the rows without a vector.
    """

    name: str
    rows: IntVector
    raw: Matrix
    units: Matrix
    beside: Matrix | None
    near: Matrix | None
    identity: Mapping[str, Any]
    missing: int
    notes: Sequence[str]

    @classmethod
    def of(
        cls,
        table: Table,
        raw: Matrix,
        beside: Matrix | None,
        near: Matrix | None,
        identity: Mapping[str, Any],
        name: str = "",
        notes: Sequence[str] = (),
    ) -> ComparedVectors:
        """The rows of the table whose vectors have a direction.

        Raises:
            ShapeError: fewer than two rows have one, or all are equal.
        """
        units, usable = units_of(raw)
        if beside is not None:
            beside, usable_beside = units_of(beside)
            usable, mine, theirs = np.intersect1d(usable, usable_beside, return_indices=True)
            units, beside = units[mine], beside[theirs]
        n, missing = len(usable), len(raw) - len(usable)
        if n < 2:
            raise ShapeError(f"{table.name}: {n} of {table.rows:,} rows have a vector; cosines need at least 2.")
        sides = [units] if beside is None else [beside, units]
        if all(bool((side == sides[0][0]).all()) for side in sides):
            noun = "rows" if table.texts is None else "texts"
            raise ShapeError(
                f"{table.name}: all {n:,} {noun} are equal, so every cosine is 1 and there is nothing to compare. "
                "Add others."
            )
        unit = None if near is None else unit_vector(near)
        raw = raw[usable] if missing else raw
        return cls(name, table.places[usable], raw, units, beside, unit, identity, missing, notes)

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.rows)

    @once
    def copies(self) -> IntVector | None:
        """The text of each row as a number, the same for identical vectors; None if all differ."""
        return copies_of(self.units)

    @once
    def distinct(self) -> tuple[int, int]:
        """The number of distinct texts, and of those beside them; without a second column, the same number twice."""
        if self.beside is not None:
            left, right = pair_texts(self.units, self.beside)
            return len(np.unique(left)), len(np.unique(right))
        n = self.n if self.copies is None else int(self.copies.max()) + 1
        return n, n

    @property
    def distinct_pairs(self) -> int:
        """The number of pairs of distinct texts."""
        left, right = self.distinct
        return left * (left - 1) // 2 if self.beside is None else left * right


def encoded_texts(table: Table, encoding: Encoding, options: SimilarityOptions) -> ComparedVectors:
    """The texts of a table through a model, which encodes every distinct text once.

    Raises:
        OtherSpaceError: the repair was fitted for another model, layer or pooling.
        ShapeError: fewer than two rows have a vector, or all are equal.
    """
    texts, beside = table.compared(table.texts), table.compared(table.against)
    near = [] if options.near is None else [options.near.strip()]
    places = {text: place for place, text in enumerate(dict.fromkeys([*texts, *beside, *near]))}
    saved = None if options.repair is None else load(options.repair)
    provenance = {} if saved is None else saved.provenance
    space = space_like(ListTexts(list(places), table.name), encoding, provenance, options.repair or "")
    source = space.before
    if saved is not None:
        space.check_fits(saved.repair)
        source = space.after(saved.repair)
    vectors = read_vectors(source, len(places), "encoding", options.progress)
    identity = space.identity()
    encoder = {key: identity.get(key) for key in ("encoder", "encoder_content", "layer", "pooling", "prompt", "level")}
    note = space.before.note
    return ComparedVectors.of(
        table,
        vectors[[places[text] for text in texts]],
        None if table.against is None else vectors[[places[text] for text in beside]],
        vectors[places[near[0]]] if near else None,
        {**encoder, "repair": None if options.repair is None else os.fspath(options.repair)},
        encoding.pooling or "",
        [*([note] if note and "truncated" in note else []), *getattr(space.before, "notes", ())],
    )


def table_vectors(table: Table, options: SimilarityOptions) -> ComparedVectors:
    """The vectors of a table of vectors; the text of --near must be in the table, because there is no model.

    Raises:
        OptionError: there is no such text in the table.
        OtherSpaceError: the repair takes vectors of another dimension.
        ShapeError: fewer than two rows have a vector, or all are equal.
    """
    assert table.vectors is not None
    vectors, repair, near = table.vectors, options.repair, None
    if repair is not None:
        saved = load(repair)
        space = space_of(ArrayVectors(vectors, table.name))
        space.check_fits(saved.repair)
        vectors = space.mapped(saved.repair)
    if options.near is not None:
        text, texts = options.near.strip(), table.compared(table.texts)
        if text not in texts:
            raise OptionError(
                f"--near {text[:40]!r} is not a text of the table, and without a model other texts have no vector. "
                "Name a text column with --text, or a model with --model."
            )
        near = vectors[texts.index(text)]
    folder = None if repair is None else os.fspath(repair)
    identity = {"encoder": None, "layer": None, "pooling": None, "repair": folder}
    return ComparedVectors.of(table, vectors, None, near, identity)


@dataclass(frozen=True, eq=False)
class ScoreBackground:
    """The cosines of unrelated pairs of a space, the error of their mean, and a note for the reader.

    They are the space's `own` unless they come from a saved calibration.
    """

    background: Background
    error: BackgroundError
    note: str = ""
    own: bool = True

    def percentile(self, cosines: ArrayLike) -> Matrix:
        """The share of unrelated pairs below each cosine, in percent."""
        return percentile_at(self.background, cosines)


def background_of(
    table: Table, space: ComparedVectors, calibration: Calibration | None, options: SimilarityOptions
) -> ScoreBackground:
    """The background of a saved calibration, or of the unrelated pairs of the table itself.

    Raises:
        OtherSpaceError: the calibration was made for another encoder, layer or pooling.
        ShapeError: the texts of the first column are all equal.
    """
    if calibration is not None:
        _check_same(calibration, space)
        saved = calibration.backgrounds[0]
        reach = (saved.mean_high - saved.mean_low) / 2 / student(saved.rows)
        note = f"The background is that of the saved calibration of {calibration.source.get('name')}."
        return ScoreBackground(saved, BackgroundError(reach**2), note, own=False)
    if space.beside is None:
        vectors = ArrayVectors(space.raw, table.name)
        surveyed = survey(vectors, name=table.name, seed=options.seed, progress=options.progress)
        return ScoreBackground(surveyed.background, background_error(space.units, space.copies))
    assert table.texts is not None
    if len({table.texts[row].strip() for row in space.rows.tolist()}) < 2:
        raise ShapeError(
            f"{table.name}: the texts of --text are all equal, so no two rows are unrelated. We need rows that differ."
        )
    background, error = unrelated_pairs(space.units, space.beside, name=table.name, seed=options.seed)
    note = (
        "Unrelated pairs: every text of the first column with those of the second that never stand beside it, "
        f"{background.all_pairs:,} pairs of rows."
    )
    return ScoreBackground(background, error, note)


def _check_same(calibration: Calibration, space: ComparedVectors) -> None:
    """Refuse a calibration of another dimension, encoder or repair."""
    source, identity, dim = calibration.source, space.identity, int(space.units.shape[1])
    if source.get("dim") not in (None, dim):
        raise OtherSpaceError(
            f"The calibration is for vectors of dimension {source['dim']}; these have {dim}. Calibrate this space."
        )
    names = {"encoder_content": "encoder", "layer": "layer", "pooling": "pooling", "prompt": "prompt"}
    differences = [
        [f"{name} {origin.get(name)}" for origin in (source, identity)]
        for key, name in names.items()
        if source.get(key) and identity.get(key) and str(source[key]) != str(identity[key])
    ]
    # Compared by the name of the folder, because its path may differ.
    paths = [origin.get("repair") for origin in (source, identity)]
    repairs = [f"the repair {Path(path).name}" if path else "no repair" for path in paths]

    if repairs[0] != repairs[1]:
        differences.append(repairs)
    if differences:
        theirs, ours = differences[0]
        raise OtherSpaceError(
            f"The calibration was made with {theirs}, but these vectors with {ours}. Calibrate this space, or "
            "leave --calibration out."
        )
