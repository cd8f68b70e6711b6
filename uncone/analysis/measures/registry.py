"""The registry of measures: what uncone measures itself, and what installed packages add to it.

A package adds a `Family`, or several, by an entry point of the group `uncone.measures`. One that cannot be loaded is
named in every report, like a measure that cannot be computed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn, cast

from uncone.analysis.measures.measure import VERBS, Family, Measure, Place, StatisticSettings, Verb
from uncone.analysis.measures.unit import RATIO
from uncone.stats.statistic import Bundle, Statistic

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "GROUP",
    "all_families",
    "families",
    "gates",
    "measure",
    "measures",
    "needed_statistics",
    "placed",
    "refresh",
]

GROUP = "uncone.measures"


def all_families() -> tuple[Family, ...]:
    """Every family, once."""
    return tuple(dict.fromkeys(family for verb in VERBS for family in families(verb)))


@cache
def families(verb: Verb) -> tuple[Family, ...]:
    """What a verb computes, in the order in which findings are read: that of uncone, then that of packages."""
    return (*_own(verb), *(family for family in _installed() if verb in family.verbs))


def _own(verb: Verb) -> tuple[Family, ...]:
    # What the other verbs compute takes a while to load.
    module = import_module(f"uncone.analysis.measures.{verb}")
    return cast(tuple[Family, ...], module.FAMILIES)


@cache
def _installed() -> tuple[Family, ...]:
    """The families of installed packages."""
    external: list[Family] = []
    for point in sorted(_entry_points(), key=lambda point: point.name):
        external += _loaded(point, external)
    return tuple(external)


def refresh() -> None:
    """Look for the measures of installed packages again."""
    for function in (_installed, families, measures, placed):
        function.cache_clear()


@cache
def measures(verb: Verb) -> Mapping[str, Measure]:
    """The measures of a verb by name."""
    return MappingProxyType({measure.name: measure for family in families(verb) for measure in family.measures})


def measure(name: str) -> Measure:
    """A measure by its name, whoever computes it."""
    for verb in VERBS:
        if name in measures(verb):
            return measures(verb)[name]
    return Measure(name, name.replace("_", " "), RATIO, "", shown_in="")


@cache
def placed(verb: Verb, place: Place) -> tuple[str, ...]:
    """The names of the measures that are shown in a place."""
    return tuple(name for name, measure in measures(verb).items() if place in measure.places)


def gates() -> list[str]:
    """The measures of `check` that can be compared with a number."""
    return [name for name, measure in measures("check").items() if measure.unit.numeric]


def needed_statistics(
    verbs: Iterable[Verb],
    makers: Mapping[str, Callable[[], Statistic]],
    settings: StatisticSettings,
    also: Collection[str] = (),
) -> Bundle:
    """The statistics to collect: those of `makers` that a family of the verbs needs, and those that families make.

    `also` names statistics that the caller reads itself.
    """
    members = [family for verb in verbs for family in families(verb)]
    names = {*also, *(name for family in members for name in family.needs)}
    own = {name: make(settings) for family in members for name, make in family.statistics.items()}
    return Bundle(**own | {name: make() for name, make in makers.items() if name in names})


def _entry_points() -> Iterable[EntryPoint]:
    from importlib.metadata import entry_points  # it takes a while to load

    return entry_points(group=GROUP)


def _loaded(point: EntryPoint, others: Iterable[Family]) -> list[Family]:
    """The families of an entry point; when it cannot be loaded, one that says so in its finding."""
    package = point.dist.name if point.dist is not None else point.value
    try:
        loaded = point.load()
        external = [replace(family, package=package) for family in ([loaded] if isinstance(loaded, Family) else loaded)]
        _check_names(external, others)
        return external
    except Exception as error:  # whatever a package does, the measures of the others are reported
        return [_broken(point.name, package, error)]


def _check_names(external: Iterable[Family], others: Iterable[Family]) -> None:
    verbs = dict.fromkeys(verb for family in external for verb in family.verbs)
    ours = [family for verb in verbs for family in _own(verb)]
    needs = {name for family in ours for name in family.needs}
    if conflicts := needs & {name for family in external for name in family.statistics}:
        raise ValueError(f"there is a statistic {min(conflicts)} already")
    existing = {*_names(others), *_names(ours)}
    for verb, name in _names(external):
        if (verb, name) in existing:
            raise ValueError(f"there is a measure {name} already")
        existing.add((verb, name))


def _names(members: Iterable[Family]) -> Iterator[tuple[Verb, str]]:
    for family in members:
        for verb in family.verbs:
            for measure in family.measures:
                yield verb, measure.name


def _broken(name: str, package: str, error: Exception) -> Family:
    def fail(_: object) -> NoReturn:
        raise error

    title = f"{name} of {package}"
    return Family((Measure(title, title, RATIO, f"The entry point {title}."),), fail, package=package)
