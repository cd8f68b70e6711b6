"""Locations of datasets: a folder, else $UNCONE_DATA, else the hub, else one clear error."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from uncone.data.storage.path import path_of
from uncone.data.texts.corpora import corpus_name
from uncone.data.texts.hub import HubPart, HubTexts
from uncone.errors import MissingSourceError, OptionError, ShapeError, SourceError

__all__ = ["check_rows", "data_folder", "first_file", "hub_table", "name_and_split"]


def data_folder(data: str | os.PathLike[str] | None) -> Path | None:
    """The folder with data: the one given, else $UNCONE_DATA, else none."""
    folder = data or os.environ.get("UNCONE_DATA") or None
    return None if folder is None else path_of(folder)


def name_and_split(
    request: str, datasets: Iterable[str], splits: Sequence[str] | dict[str, Sequence[str]], default: str
) -> tuple[str, str]:
    """What `name` or `name:split` asks for.

    >>> name_and_split("STS-B:dev", ["stsb"], ["train", "dev", "test"], "test")
    ('stsb', 'dev')

    Raises:
        MissingSourceError: there is no dataset of that name; the known are listed.
        OptionError: it has no such split.
    """
    name = corpus_name(request)
    datasets = list(datasets)
    if name not in datasets:
        raise MissingSourceError(
            f"There is no dataset {request}, nor a file of that name; the datasets are {', '.join(datasets)}."
        )
    of_it = splits[name] if isinstance(splits, dict) else splits
    split = request.partition(":")[2] or default
    if split not in of_it:
        raise OptionError(f"The dataset {name} has no split {split!r}; it has {', '.join(of_it)}.")
    return name, split


def first_file(folder: Path | None, *names: str) -> Path | None:
    """The first of these files that is there."""
    return None if folder is None else next((path for name in names if (path := folder / name).is_file()), None)


def check_rows(rows: int, expected: int, where: str, title: str) -> None:
    """Refuse a set that is not whole.

    Raises:
        ShapeError: it has other than the expected number of rows.
    """
    if rows != expected:
        raise ShapeError(
            f"{where} has {rows:,} rows, but {title} has {expected:,}. Parsing quotes can merge rows: "
            "copy or convert it again, with quoting off."
        )


def hub_table(
    request: str, part: HubPart, columns: Sequence[str], folder: Path | None, layouts: Sequence[str]
) -> tuple[str, Any]:
    """A dataset on the hub: its place as a message names it, and its columns.

    Raises:
        MissingSourceError: it is neither in the folder nor on the hub; the message names both places.
    """
    try:
        table = HubTexts(request, [part], columns).tables[0]
    except SourceError as error:
        missing = f"{folder} has no {' or '.join(layouts)}"
        reason = "no --data and no UNCONE_DATA was given" if folder is None else missing
        raise MissingSourceError(
            f"The dataset {request} was not found: {reason}, and {error}. Use --data FOLDER with {layouts[0]} in it."
        ) from error
    return f"{part.path} on the Hugging Face hub", table
