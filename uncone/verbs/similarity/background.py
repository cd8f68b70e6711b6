"""What a cosine means among the rows that are compared: the background, and percentiles by it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from uncone.analysis.calibration.background import survey
from uncone.analysis.calibration.results import Background
from uncone.analysis.intervals.intervals import student
from uncone.analysis.similarity.filters import percentile_by
from uncone.analysis.similarity.sampling_units import BackgroundError, background_error
from uncone.analysis.similarity.unrelated import unrelated_pairs
from uncone.data.batch import Matrix
from uncone.data.vectors.memory import ArrayVectors
from uncone.errors import OtherSpaceError, ShapeError
from uncone.verbs.encoding import Progress
from uncone.verbs.similarity.table import Table
from uncone.verbs.similarity.vectors import Compared

if TYPE_CHECKING:
    from uncone.analysis.calibration.calibration import Calibration

__all__ = ["Meaning", "meaning_of"]


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
