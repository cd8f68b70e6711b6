"""What a reader of a similarity has to know about its rows: which were left out, and why."""

from __future__ import annotations

from uncone.api.similar_space import Compared
from uncone.api.similar_table import Table
from uncone.diagnosis.words import count

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
    if table.texts is not None and main.beside is None:
        copies = main.n - len({table.texts[row].strip() for row in main.rows.tolist()})
        notes += [f"{count(copies, 'row')} with the text of an earlier one; --clean leaves them out."] if copies else []
    return [*notes, *table.notes, *main.notes]
