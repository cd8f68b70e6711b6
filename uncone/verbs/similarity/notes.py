"""What a reader of a similarity has to know about its rows: which were left out, and why."""

from __future__ import annotations

from uncone.analysis.number_format import count
from uncone.verbs.similarity.table import Table
from uncone.verbs.similarity.vectors import Compared

__all__ = ["notes_of"]

_NOT_DRAWN = "not in the sample"


def notes_of(table: Table, main: Compared, seed: int) -> list[str]:
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
