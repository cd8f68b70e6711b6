"""The columns of texts and labels: those named by an option, or the only one that can be meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from uncone.data.tables.fields import is_number, list_names
from uncone.errors import ColumnError

__all__ = ["TextColumns", "choose_columns", "first_row_names_columns", "requested_columns"]

_USUAL = ("text", "sentence", "content", "body")


class TextColumns(NamedTuple):
    """The columns to read, by name."""

    text: tuple[str, ...]
    label: str | None


def requested_columns(text: Sequence[str], names: Sequence[str]) -> list[str]:
    """The columns that `--text` names, each once; "a,b" is two of them unless a column is called so.

    >>> requested_columns(["a,b", "c"], ["a", "b", "c"]), requested_columns(["a,b"], ["a,b"])
    (['a', 'b', 'c'], ['a,b'])
    """
    parts = [[item] if item in names else [part.strip() for part in item.split(",")] for item in text]
    return list(dict.fromkeys(name for part in parts for name in part))


def choose_columns(
    where: str,
    names: Sequence[str],
    text: Sequence[str],
    label: str | None,
    readable: Sequence[str] | None = None,
    hint: str = "",
) -> TextColumns:
    """The columns of a source that has these `names`, of which the `readable` ones can hold texts.

    Raises:
        ColumnError: a column is not there or not unique, or none was named and several could be meant.

    >>> choose_columns("a.csv", ["id", "Text", "n"], [], "n")
    TextColumns(text=('Text',), label='n')
    """
    asked = requested_columns(text, names)
    for option, name in [("text", name) for name in asked] + ([] if label is None else [("label", label)]):
        if name not in names:
            raise ColumnError(f"{where} has no column {name!r} for --{option}; it has {list_names(names)}.")
        if names.count(name) > 1:
            raise ColumnError(f"{where} has several columns named {name!r}: rename all but one.")
    if asked:
        return TextColumns(tuple(asked), label)
    # A column without a name is the index that pandas writes.
    free = [name for name in (names if readable is None else readable) if name != label and name.strip()]
    usual = [name for known in _USUAL for name in free if name.strip().lower() == known]
    if len(free) != 1 and not usual:
        problem = "several columns" if free else "no column that must be the text"
        raise ColumnError(f"{where} has {problem}: {list_names(names)}. Name one or several with --text NAME{hint}.")
    return TextColumns((free[0] if len(free) == 1 else usual[0],), label)


def first_row_names_columns(head: Sequence[Sequence[str]], asked: Sequence[str]) -> bool:
    """Whether the first row of a table is a header, to judge by the columns that were asked for.

    Numbers in range mean a table without one, unless the header itself is made of numbers. A number with nothing but
    numbers below it is no name, but a value such as the label 1.

    >>> first_row_names_columns([["good film", "1"], ["bad film", "0"]], ["1"])
    False
    >>> first_row_names_columns([["0", "1"], ["good", "film"]], ["1"])
    True
    """
    first, below = head[0], head[1:]
    if not asked or not all(name.isdecimal() and 1 <= int(name) <= len(first) for name in asked):
        return True
    places = [first.index(name) for name in asked if name in first]
    return any(value.strip() and not is_number(value) for at in places for row in below for value in row[at : at + 1])
