"""Types of JSON values, made of those that Python writes: what msgspec needs for a schema."""

from __future__ import annotations

import types
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from uncone.analysis.layers.deep_results import Dimension
from uncone.analysis.measures.finding import Level
from uncone.analysis.measures.registry import all_families

__all__ = ["OBJECT", "json_finding", "json_findings", "json_list", "json_object", "json_type", "json_values", "or_null"]

_PLAIN = (Enum, msgspec.Struct, str, int)
OBJECT = dict[str, Any]
_NUMBERS: dict[str, Any] = {"number": float, "integer": int | None, "array": list[Any] | None}


def json_object(name: str, keys: Mapping[str, Any], optional: Mapping[str, Any] | None = None, module: str = "") -> Any:  # noqa: ANN401
    """A JSON object with these keys, perhaps those of `optional`, and no others."""
    required = tuple((key, json_type(hint)) for key, hint in keys.items())
    return _struct(name, module, required, tuple((optional or {}).items()))


@cache
def _struct(name: str, module: str, required: tuple[Any, ...], optional: tuple[Any, ...]) -> type[msgspec.Struct]:
    unset = [(key, _or_unset(json_type(hint)), msgspec.UNSET) for key, hint in optional]
    return msgspec.defstruct(name, [*required, *unset], module=module, forbid_unknown_fields=True, kw_only=True)


def json_values(kind: type, omitted: Collection[str] = (), name: str = "", **added: Any) -> Any:  # noqa: ANN401 - a type
    """A dataclass as it is written: its fields under their names, without those `omitted` at any depth."""
    names = {field.name for field in fields(kind)} - set(omitted)
    hints = {name: hint for name, hint in get_type_hints(kind, localns={"RowFacts": Any}).items() if name in names}
    keys = {
        name.rstrip("_"): OBJECT | None if kind in get_args(hint) else json_type(hint, omitted)  # recursive
        for name, hint in hints.items()
    }
    paper = {"paper": float} if kind is Dimension else {}
    return json_object(name or kind.__name__, {**keys, **paper, **added}, module=kind.__module__)


def json_type(hint: Any, omitted: Collection[str] = ()) -> Any:  # noqa: ANN401 - any type
    """The type of the JSON value that a value of this type is written as."""
    origin, parts = get_origin(hint) or hint, get_args(hint)
    if hint is float:
        return float | None  # what is not finite is null
    if origin in (Union, types.UnionType):
        return Union[tuple(json_type(part, omitted) for part in parts)]  # noqa: UP007 - of types in a list
    if hint in (Any, type(None)) or not isinstance(origin, type) or issubclass(origin, _PLAIN):
        return hint
    if is_dataclass(origin):
        return json_values(origin, omitted)
    if issubclass(origin, Mapping):
        return dict[str, json_type(parts[1], omitted)]  # type: ignore[misc]
    if not issubclass(origin, Sequence) or issubclass(origin, tuple):  # arrays, and tuples of several types
        return list[Any]
    return json_list(json_type(parts[0], omitted))


def json_list(item: Any) -> Any:  # noqa: ANN401 - a type
    """A list of items of a type."""
    return types.GenericAlias(list, (json_type(item),))


def or_null(kind: Any) -> Any:  # noqa: ANN401 - a type
    """A type, or null."""
    return Union[kind, None]  # noqa: UP007 - not of an annotation


def _or_unset(kind: Any) -> Any:  # noqa: ANN401 - a type
    return Union[kind, msgspec.UnsetType]  # noqa: UP007 - not of an annotation


def json_finding(kind: str = "") -> Any:  # noqa: ANN401 - a type
    """A finding whose value is of a JSON type, or of any."""
    bound = float if kind in _NUMBERS else Any
    keys = {"value": _NUMBERS.get(kind, Any), "low": bound, "high": bound, "n": int, "threshold": float}
    rows = {"rows": list[OBJECT]}
    return json_object(f"{kind.capitalize()}Finding", {**keys, "level": Level, "meaning": str, "advice": str}, rows)


def json_findings() -> Any:  # noqa: ANN401 - a type
    """The findings of `check`: all of our own (some only for texts or with --deep), and some of packages."""
    keys: list[Any] = []
    for family in (family for family in all_families() if "check" in family.verbs):
        for measure in family.measures:
            described = msgspec.Meta(title=measure.title, description=measure.definition)
            kind: Any = Annotated[json_finding(measure.unit.json), described]
            some = bool(family.package) or family.partial
            keys.append((measure.name, _or_unset(kind), msgspec.UNSET) if some else (measure.name, kind))
    return msgspec.defstruct("Findings", keys, kw_only=True)
