"""What a user of `similarity` asks for, checked before anything is read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from uncone.errors import OptionError

__all__ = ["METHODS", "ORDERS", "PROJECTIONS", "Wanted", "as_list"]

METHODS = ("kmeans", "average", "ward")
ORDERS = ("label", "clustering")
PROJECTIONS = ("pca", "tsne", "umap")
_TOP, _BOUNDED = 100, 1000
_MOST_GROUPS = 1000


@dataclass(frozen=True)
class Wanted:
    """The pairs, groups, heatmap and maps to make. Bounds are cosines, or percentiles such as "p99"."""

    min: float | str | None = None
    max: float | str | None = None
    top: int | None = None
    """None lists as many as a reader may want."""
    near: str | None = None
    duplicates: float | str | None = None
    """None is nearly all the way from the background to 1."""
    groups: int | None = None
    """None chooses."""
    methods: Sequence[str] = ("kmeans",)
    order: str | None = None
    maps: Sequence[str] = ("pca",)
    dims: Sequence[int] = (2,)
    matrix: str | os.PathLike[str] | None = None
    seed: int = 0

    @property
    def bounded(self) -> bool:
        """Whether pairs are filtered by their cosines."""
        return self.min is not None or self.max is not None

    @property
    def listed(self) -> int:
        """How many pairs are listed at most."""
        return self.top or (_BOUNDED if self.bounded else _TOP)

    @classmethod
    def of(
        cls,
        *,
        min: float | str | None,
        max: float | str | None,
        top: int | None,
        near: str | None,
        duplicates: float | str | None,
        groups: int | str,
        group_method: str | Sequence[str],
        order: str | None,
        maps: str | Sequence[str],
        map_dims: int | str | Sequence[int | str],
        matrix: str | os.PathLike[str] | None,
        seed: int,
    ) -> Wanted:
        """From what was said, in the words of the command.

        Raises:
            OptionError: something cannot be.
        """
        if near is not None and not isinstance(near, str):
            raise OptionError(f"--near takes a text, not {str(near)[:40]!r}.")
        if near is not None and not near.strip():
            raise OptionError("--near is empty. Give it the text to look near to, in quotes.")
        if top is not None and (top < 1 or top != int(top)):
            why = "lists nothing" if top < 1 else "is no whole number"
            raise OptionError(f"--top {top} {why}; ask for 1 or more.")
        top = None if top is None else int(top)
        methods, maps = as_list(group_method), as_list(maps)
        _check_among("--group-method", methods, METHODS)
        _check_among("--map", maps, PROJECTIONS)
        if order is not None:
            _check_among("--order", [order], ORDERS)
        dims = as_list(map_dims)
        _check_among("--map-dims", dims, ("2", "3"))
        _check_bounds(min, max, duplicates)
        numbers = [int(one) for one in dims]
        return cls(min, max, top, near, duplicates, _groups(groups), methods, order, maps, numbers, matrix, seed)


def as_list(given: object) -> list[str]:
    """One thing, several of a list, or several joined by commas.

    >>> as_list("cls,mean"), as_list([2, 3]), as_list(2), as_list(None)
    (['cls', 'mean'], ['2', '3'], ['2'], [])
    """
    if given is None:
        return []
    if isinstance(given, str | int | float):
        given = str(given).split(",")
    if not isinstance(given, Sequence):
        raise OptionError(f"{str(given)[:40]!r} is neither a word nor a list of words.")
    return list(dict.fromkeys(str(part).strip() for part in given if str(part).strip()))


def _check_among(option: str, given: Sequence[str], allowed: Sequence[str]) -> None:
    wrong = next((one for one in given if one not in allowed), None)
    if wrong is not None:
        raise OptionError(f"{option} is {', '.join(allowed)}, not {wrong[:40]!r}.")


def _check_bounds(low: float | str | None, high: float | str | None, duplicates: float | str | None) -> None:
    """Cosines are judged before anything is read, percentiles as soon as there is a background."""
    from uncone.analysis.similarity.filters import bounds, parse_bound

    low, high, duplicates = (
        None if bound is None or str(bound).strip()[:1] in ("p", "P") else bound for bound in (low, high, duplicates)
    )
    bounds(low, high)
    if duplicates is not None:
        parse_bound(duplicates, None, "--duplicates")


def _groups(given: int | str) -> int | None:
    if given == "auto":
        return None
    text = str(given)
    if not text.isdecimal() or int(text) == 1 or int(text) > _MOST_GROUPS:
        raise OptionError(f"--groups is auto, 0 for none, or 2 to {_MOST_GROUPS:,}, not {text[:40]!r}.")
    return int(text)
