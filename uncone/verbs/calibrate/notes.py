"""What a calibration tells beside its numbers: what was left out, and what they may owe to a repair."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uncone.analysis.calibration.background import Surveyed
    from uncone.data.source import Source
    from uncone.verbs.sides import Opening, Sides

__all__ = ["last_part", "notes_of"]


def notes_of(sides: Sides, own: Surveyed, beside: Surveyed | None) -> list[str]:
    """What was left out of each corpus, and what went wrong on the way."""
    texts = sides.opening.encoding is not None
    what = "texts" if texts else "rows"
    bad = "are empty or have no finite vector" if texts else "hold NaN, infinity or huge numbers"
    zero = "have a vector of zeros" if texts else "are zero"
    whose = [""] if sides.queries is None else [" of the queries", " of the documents"]
    corpora = list(zip(own.unusable, whose, strict=True))
    if beside is not None:
        corpora.append((beside.unusable[-1], f" of {last_part(beside.background.name)}"))
    notes = []
    for counts, named in corpora:
        for number, why in ((counts.bad, bad), (counts.zero, zero)):
            notes += [f"{number:,} of {counts.seen:,} {what}{named} {why} and were left out."] if number else []
    for source in (sides.queries, sides.documents):
        notes += getattr(source, "notes", ())
        notes += _fitted_here(sides.opening, source) if source is not None else []
    return notes


def last_part(name: str) -> str:
    """The last part of a path.

    >>> last_part("vectors/new.npy"), last_part("shards/")
    ('new.npy', 'shards')
    """
    return name.rstrip("/").rsplit("/", 1)[-1] or name


def _fitted_here(opening: Opening, source: Source) -> list[str]:
    """A warning when a repair has seen the very rows: it suits them better than new ones."""
    if opening.repair is None or opening.repair.provenance.get("fitted_on") != source.name:
        return []
    return [
        f"The repair was fitted on {source.name} itself. It suits these rows better than new ones, so that a threshold "
        "may let through more of those than it says, the more the fewer rows there are for each dimension. Calibrate "
        "on rows that the repair has not seen."
    ]
