"""A calibration as a folder with one file of JSON: nothing in it is executed, and it is checked when it is read."""

from __future__ import annotations

import contextlib
import json
import math
import os
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from uncone._version import __version__
from uncone.data.manifest import Described, read_described
from uncone.data.writing.atomic import replacing
from uncone.errors import FormatError, MissingSourceError, OptionError, OutputError

__all__ = ["AGAIN", "FILE", "SCHEMA", "built", "check_folder", "plain", "read", "write"]

SCHEMA = 1
FILE = "calibration.json"
AGAIN = "Copy the folder again, or calibrate anew."

T = TypeVar("T")


def plain(value: Any, without: Sequence[str] = ()) -> Any:  # noqa: ANN401 - dataclasses of plain values
    """Plain JSON values: arrays become lists, and a number that is not finite becomes None.

    Raises:
        OptionError: something that JSON does not know.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value) if one.name not in without}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise OptionError(f"Only plain values can be saved with a calibration, not a {type(value).__name__}.")


def built(cls: type[T], said: Mapping[str, Any], name: str, without: Sequence[str] = ()) -> T:
    """The dataclass that `plain` described, of the types that it declares.

    Raises:
        FormatError: a value is missing or of the wrong form; `name` says where.
    """
    try:
        return _dataclass(cls, said, "", without)
    except _WrongForm as wrong:
        raise FormatError(f"{name} is damaged: {wrong}. {AGAIN}") from wrong
    except OptionError as wrong:
        raise FormatError(f"{name} is damaged: {wrong} {AGAIN}") from wrong


class _WrongForm(ValueError):
    """A value is not of the form that it has to be."""


def _dataclass(cls: type[T], said: Any, at: str, without: Sequence[str] = ()) -> T:  # noqa: ANN401 - from JSON
    if not isinstance(said, Mapping):
        raise _WrongForm(f"{at or 'the whole'} is not an object")
    types_of = typing.get_type_hints(cls)
    given: dict[str, Any] = {}
    for one in fields(typing.cast(Any, cls)):
        where = f"{at}.{one.name}".lstrip(".")
        if one.name in without:
            continue
        if one.name in said:
            given[one.name] = _value(types_of[one.name], said[one.name], where)
        elif one.default is MISSING and one.default_factory is MISSING:
            raise _WrongForm(f"{where} is missing")
    return cls(**given)


def _value(form: Any, said: Any, at: str) -> Any:  # noqa: ANN401 - a type, and what JSON holds
    origin, inner = typing.get_origin(form), typing.get_args(form)
    if form is Any:
        return said
    if origin in (typing.Union, types.UnionType):
        if said is None and type(None) in inner:
            return None
        return _value(next(one for one in inner if one is not type(None)), said, at)
    if origin is np.ndarray:
        return _array(said, at)
    if is_dataclass(form):
        return _dataclass(typing.cast(type, form), said, at)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(said, Mapping):
            raise _WrongForm(f"{at} is not an object")
        return {key: _value(inner[1], one, f"{at}.{key}") for key, one in said.items()}
    if isinstance(origin, type) and issubclass(origin, Sequence):
        if not isinstance(said, list):
            raise _WrongForm(f"{at} is not a list")
        return [_value(inner[0], one, f"{at}[{place}]") for place, one in enumerate(said)]
    return _simple(form, said, at)


def _simple(form: Any, said: Any, at: str) -> Any:  # noqa: ANN401 - as above
    if form is float:
        if said is None:
            return math.nan  # it was not finite when it was saved
        if isinstance(said, int | float) and not isinstance(said, bool):
            return float(said)
    elif type(said) is form:
        return said
    raise _WrongForm(f"{at} is {_short(said)}, not {_NAMES.get(form, 'a plain value')}")


_NAMES = {float: "a number", int: "a whole number", str: "a text", bool: "true or false"}


def _array(said: Any, at: str) -> Any:  # noqa: ANN401 - as above
    if not isinstance(said, list):
        raise _WrongForm(f"{at} is not a list of numbers")
    try:
        found = np.array(said, dtype=np.float64)  # None becomes NaN
    except (TypeError, ValueError, OverflowError) as error:
        raise _WrongForm(f"{at} is not a list of numbers") from error
    return found


def _short(said: Any) -> str:  # noqa: ANN401 - as above
    return json.dumps(said)[:40]


def write(folder: Path, said: Mapping[str, Any]) -> None:
    """Write a calibration to a folder, whole or not at all.

    Raises:
        OutputError: the folder holds something else, or cannot be written.
    """
    text = json.dumps({"schema": SCHEMA, "uncone": __version__, **said}, indent=1, ensure_ascii=False, allow_nan=False)
    check_folder(folder)
    new = not folder.exists()
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"Cannot make the folder {folder}: {error.strerror}. Name another.") from error
    try:
        with replacing(folder / FILE) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")
    except BaseException as error:
        if new:
            with contextlib.suppress(OSError):  # not empty: somebody else has put something there
                folder.rmdir()
        if isinstance(error, OSError):
            raise OutputError(f"Cannot write {folder / FILE}: {error.strerror}. Nothing was changed.") from error
        raise


def check_folder(folder: Path) -> None:
    """Refuse to write into anything but a new or empty folder, or one with a calibration.

    Raises:
        OutputError: it is something else, or cannot be made.
    """
    parent = folder.resolve().parent
    if not parent.is_dir():
        raise OutputError(f"There is no folder {parent} to write {folder.name} to. Make it first.")
    if not folder.exists():
        if not os.access(parent, os.W_OK | os.X_OK):
            raise OutputError(f"The folder {parent} cannot be written to. Name a folder elsewhere.")
        return
    if not folder.is_dir():
        raise OutputError(f"{folder} is a file; a calibration is saved as a folder. Name another.")
    others = sorted(path.name for path in folder.iterdir() if path.name != FILE and not _is_left_over(path.name))
    if others:
        raise OutputError(
            f"{folder} holds {', '.join(others[:3])}{' and more' if len(others) > 3 else ''}, which is not a "
            "calibration, and is left alone. Name another folder."
        )


def _is_left_over(name: str) -> bool:
    """A temporary file of a run that was killed."""
    return name.startswith(f".{FILE}.") and name.endswith(".part")


def read(folder: Path) -> dict[str, Any]:
    """What calibration.json says, of a schema that we know; the file itself may be named in place of its folder.

    Raises:
        MissingSourceError: there is none.
        FormatError: it is not JSON, not an object, or from a newer uncone.
    """
    path = folder if folder.name == FILE and folder.is_file() else folder / FILE
    form = Described("calibration", "uncone calibrate --save", SCHEMA, AGAIN, MissingSourceError, FormatError)
    return read_described(path, form)
