"""The vectors that are compared, through a model or as they are, and what their cosines mean: the background."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from uncone.analysis.calibration.background import survey
from uncone.analysis.calibration.results import Background
from uncone.analysis.cosine.units import unit_vector, units_of
from uncone.analysis.intervals.intervals import student
from uncone.analysis.similarity.filters import percentile_by
from uncone.analysis.similarity.sampling_units import BackgroundError, background_error, copies_of, pair_texts
from uncone.analysis.similarity.two_columns import unrelated_pairs
from uncone.data.batch import IntVector, Matrix
from uncone.data.lazy_property import once
from uncone.data.texts.texts import ListTexts
from uncone.data.vectors.memory import ArrayVectors
from uncone.errors import OptionError, OtherSpaceError, ShapeError
from uncone.repairs.saving import Saved, load
from uncone.verbs.encoding import Encoding, Progress, read_vectors
from uncone.verbs.repaired_spaces import RepairSpace, space_like, space_of
from uncone.verbs.similarity.table import Table

if TYPE_CHECKING:
    from uncone.analysis.calibration.calibration import Calibration

__all__ = ["Compared", "Meaning", "check_differ", "encoded_rows", "meaning_of", "vector_rows"]


@dataclass(frozen=True, eq=False)
class Compared:
    """The rows that are compared, and their vectors at length one.

    `rows` (m,) are their numbers in the table, `raw` and `units` (m, d) their vectors; `beside` (m, d) those of the
    texts in the second column, `near` (d,) that of the text that was asked for, both at length one. `known` says how
    the vectors were made.
    """

    name: str
    rows: IntVector
    raw: Matrix
    units: Matrix
    beside: Matrix | None = None
    near: Matrix | None = None
    known: Mapping[str, Any] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.rows)

    @once
    def copies(self) -> IntVector | None:
        """The text of each row as a number: identical vectors have the same. None when all differ."""
        return copies_of(self.units)

    @once
    def distinct(self) -> tuple[int, int]:
        """How many rows differ, and how many of those beside them; without a second column, the same number twice."""
        if self.beside is not None:
            one, other = pair_texts(self.units, self.beside)
            return len(np.unique(one)), len(np.unique(other))
        many = self.n if self.copies is None else int(self.copies.max()) + 1
        return many, many

    @property
    def distinct_pairs(self) -> int:
        """How many pairs of different texts can be compared."""
        one, other = self.distinct
        return one * (one - 1) // 2 if self.beside is None else one * other


def encoded_rows(
    table: Table,
    asked: Encoding,
    *,
    near: str | None = None,
    repair: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Compared:
    """The rows of a table of texts through a model; every distinct text goes through it once.

    Raises:
        OtherSpaceError: the repair was fitted for another model, layer or pooling.
        ShapeError: fewer than two rows have a vector.
    """
    assert table.texts is not None
    texts = [table.texts[row].strip() for row in table.kept.tolist()]
    beside = [] if table.against is None else [table.against[row].strip() for row in table.kept.tolist()]
    extra = [] if near is None else [near.strip()]
    places = {text: place for place, text in enumerate(dict.fromkeys([*texts, *beside, *extra]))}
    saved = None if repair is None else load(repair)
    space = space_like(ListTexts(list(places), table.name), asked, saved.provenance if saved else {}, repair or "")
    if saved is not None:
        space.check_fits(saved.repair)
    source = space.before if saved is None else space.after(saved.repair)
    vectors = read_vectors(source, len(places), "encoding", progress)
    found = Compared(
        asked.pooling or "",
        table.kept,
        vectors[[places[text] for text in texts]],
        np.empty((0, 0), np.float32),
        vectors[[places[text] for text in beside]] if table.against is not None else None,
        vectors[places[extra[0]]] if extra else None,
        _known(space, saved, repair),
        notes=[*_notes(space)],
    )
    return _usable(found, table)


def vector_rows(table: Table, *, near: str | None = None, repair: str | os.PathLike[str] | None = None) -> Compared:
    """The vectors that a table brought; a text to look near to has to stand in the table, whose vector it then has.

    Raises:
        OptionError: there is no such text in the table.
        OtherSpaceError: the repair takes vectors of another dimension.
    """
    assert table.vectors is not None
    vectors, saved = table.vectors, None if repair is None else load(repair)
    if saved is not None:
        space = space_of(ArrayVectors(vectors, table.name))
        space.check_fits(saved.repair)
        vectors = space.mapped(saved.repair)
    place = None if near is None else _place_of(near, table)
    known = {"encoder": None, "layer": None, "pooling": None, "repair": None if repair is None else os.fspath(repair)}
    found = Compared(
        "",
        table.kept,
        vectors,
        np.empty((0, 0), np.float32),
        near=None if place is None else vectors[place],
        known=known,
    )
    return _usable(found, table)


def _place_of(near: str, table: Table) -> int:
    texts = [] if table.texts is None else [table.texts[row].strip() for row in table.kept.tolist()]
    if near.strip() not in texts:
        raise OptionError(
            "--near takes a text of the table when the vectors are ready, because nothing says how to make one of "
            f"another text: {near.strip()[:40]!r} is none of them. Name a text column with --text, or a model."
        )
    return texts.index(near.strip())


def _known(space: RepairSpace, saved: Saved | None, repair: str | os.PathLike[str] | None) -> dict[str, Any]:
    told = space.known()
    named = {key: told.get(key) for key in ("encoder", "encoder_content", "layer", "pooling", "prompt", "level")}
    return {**named, "repair": None if saved is None or repair is None else os.fspath(repair)}


def _notes(space: RepairSpace) -> list[str]:
    note = space.before.note
    return [*([note] if note and "truncated" in note else []), *getattr(space.before, "notes", ())]


def _usable(found: Compared, table: Table) -> Compared:
    """Rows whose vectors have a direction, at length one; the others are counted."""
    units, usable = units_of(found.raw)
    beside = None
    if found.beside is not None:
        beside, there = units_of(found.beside)
        usable, mine, theirs = np.intersect1d(usable, there, return_indices=True)
        units, beside = units[mine], beside[theirs]
    if len(usable) < 2:
        raise ShapeError(f"{table.name}: {len(usable)} of {table.rows:,} rows have a vector; cosines need at least 2.")
    gone = found.n - len(usable)
    return replace(
        found,
        rows=found.rows[usable],
        raw=found.raw[usable] if gone else found.raw,
        units=units,
        beside=beside,
        near=None if found.near is None else unit_vector(found.near),
        left_out={"no vector": gone} if gone else {},
    )


def check_differ(table: Table, space: Compared) -> None:
    """Refuse rows that are all the same.

    Raises:
        ShapeError: they are.
    """
    first = space.units[0] if space.beside is None else space.beside[0]
    sides = [space.units] if space.beside is None else [space.units, space.beside]
    if all(bool((side == first).all()) for side in sides):
        what = "texts" if table.texts is not None else "rows"
        raise ShapeError(
            f"{table.name}: all {space.n:,} {what} are equal, so every cosine is 1 and there is nothing to compare. "
            "Add others."
        )


@dataclass(frozen=True, eq=False)
class Meaning:
    """The cosines of unrelated pairs of a space, and what is to be said about them."""

    background: Background
    error: BackgroundError
    """Of the mean of the background."""
    note: str = ""
    own: bool = True
    """Whether the pairs are of the rows that are compared, not of a calibration."""

    def percentile(self, cosines: ArrayLike) -> Matrix:
        """What share of unrelated pairs lies below each cosine, in percent."""
        return percentile_by(self.background)(cosines)


def meaning_of(
    table: Table,
    space: Compared,
    calibration: Calibration | None,
    seed: int,
    progress: Progress | None,
) -> Meaning:
    """By the calibration that is given, or by the unrelated pairs of the table itself.

    Raises:
        OtherSpaceError: the calibration was made for another encoder, layer or pooling.
    """
    if calibration is not None:
        _check_same(calibration, space)
        name, found = calibration.source.get("name"), calibration.backgrounds[0]
        reach = (found.mean_high - found.mean_low) / 2 / student(found.rows)
        note = f"The background is that of the saved calibration of {name}."
        return Meaning(found, BackgroundError(reach**2), note, own=False)
    if space.beside is None:
        rows = ArrayVectors(space.raw, table.name)
        found = survey(rows, name=table.name, seed=seed, progress=progress).background
        return Meaning(found, background_error(space.units, space.copies))
    return _between(table, space, seed)


def _between(table: Table, space: Compared, seed: int) -> Meaning:
    """Every text of the first column with all texts of the second that no row has beside it."""
    assert table.texts is not None and space.beside is not None
    if len({table.texts[row].strip() for row in space.rows.tolist()}) < 2:
        raise ShapeError(
            f"{table.name}: the texts of --text are all equal, so no two rows are unrelated. We need rows that differ."
        )
    found, error = unrelated_pairs(space.units, space.beside, name=table.name, seed=seed)
    return Meaning(
        found,
        error,
        f"Unrelated pairs: every text of the first column with those of the second that never stand beside it, "
        f"{found.all_pairs:,} pairs of rows.",
    )


def _check_same(calibration: Calibration, space: Compared) -> None:
    made_for = calibration.source
    dim = int(space.units.shape[1])
    if made_for.get("dim") not in (None, dim):
        raise OtherSpaceError(
            f"The calibration is of vectors of dimension {made_for['dim']}; these have {dim}. Calibrate this space."
        )
    for key in ("encoder_content", "layer", "pooling", "prompt"):
        theirs, ours = made_for.get(key), space.known.get(key)
        if theirs and ours and str(theirs) != str(ours):
            what = "encoder" if key == "encoder_content" else key
            raise _other(f"{what} {made_for.get(what)}", f"{what} {space.known.get(what)}")
    repairs = [made_for.get("repair"), space.known.get("repair")]
    # By the name of the folder: a path says where it lies, not what it is.
    theirs, ours = (f"the repair {Path(one).name}" if one else "no repair" for one in repairs)
    if theirs != ours:
        raise _other(theirs, ours)


def _other(theirs: str, ours: str) -> OtherSpaceError:
    return OtherSpaceError(
        f"The calibration was made with {theirs}, and these vectors are made with {ours}. Calibrate this space, or "
        "leave --calibration out."
    )
