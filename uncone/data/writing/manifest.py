"""Saved folders: a JSON manifest with a schema, and files of numbers beside it; written whole, checked when read."""

from __future__ import annotations

import contextlib
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uncone import __version__
from uncone.data.storage.path import ObjectPath, path_of
from uncone.data.writing.atomic import replacing, writing
from uncone.data.writing.plain_values import plain_values
from uncone.errors import OptionError, OutputError, UnconeError

__all__ = ["SavedFolder", "versions"]


@dataclass(frozen=True)
class SavedFolder:
    """A kind of folder: the name of the kind, its files, the command that writes it, and the errors it may raise.

    The first of the `files` is the manifest; `advice` is what to try if one is damaged.
    """

    kind: str
    files: tuple[str, ...]
    command: str
    schema: int
    advice: str
    missing: type[UnconeError]
    damaged: type[UnconeError]

    def check(self, folder: Path) -> None:
        """Refuse to replace anything but an older folder of this kind or an empty one.

        Raises:
            OutputError: it is something else, or cannot be made.
        """
        folder = path_of(folder).resolve()
        if isinstance(folder, ObjectPath):
            with writing(folder):
                folder.check_writable()
                self._check_content(folder)
            return
        if not folder.parent.is_dir():
            raise OutputError(f"There is no folder {folder.parent} to write {folder.name} to. Create it first.")
        if not os.access(folder.parent, os.W_OK | os.X_OK):
            raise OutputError(f"The folder {folder.parent} is not writable. Choose a folder elsewhere.")
        self._check_content(folder)

    def _check_content(self, folder: Path) -> None:
        if not folder.exists():
            return
        if not folder.is_dir():
            raise OutputError(f"{folder} is a file; a {self.kind} is saved as a folder. Name another.")
        others = sorted(path.name for path in folder.iterdir() if not self._is_own(path))
        if others:
            raise OutputError(
                f"{folder} holds {', '.join(others[:3])}{' and more' if len(others) > 3 else ''}, which is not a "
                f"{self.kind}, and is left alone. Name another folder."
            )

    def _is_own(self, path: Path) -> bool:
        left_over = path.name.startswith(f".{self.files[0]}.") and path.name.endswith(".part")
        return path.is_file() and (path.name in self.files or left_over)

    def write(self, folder: Path, values: Mapping[str, Any], *contents: bytes) -> None:
        """Write the manifest, and the contents of the other files, whole or not at all; an older folder is replaced.

        Raises:
            OptionError: the values are not plain.
            OutputError: the folder holds something else, or cannot be written.
        """
        values = {"schema": self.schema, "uncone": __version__, **values}
        try:
            text = json.dumps(values, indent=1, ensure_ascii=False, default=plain_values, allow_nan=False)
        except ValueError as error:
            raise OptionError(f"Only plain values can be saved with a {self.kind}: {error}.") from error
        self.check(folder)
        with replacing(folder, folder=True) as temporary, writing(folder):
            for name, content in zip(self.files, (f"{text}\n".encode(), *contents), strict=True):
                (temporary / name).write_bytes(content)

    def read(self, folder: Path) -> dict[str, Any]:
        """The values of the manifest; the file itself may be named in place of its folder.

        Raises:
            UnconeError: `missing` if there is none, `damaged` if it cannot be used.
        """
        name, folder = self.files[0], path_of(folder)
        path = folder if folder.name == name and folder.is_file() else folder / name
        try:
            values = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise self.missing(
                f"{path.parent} is not a {self.kind}: it has no {name}. Name a folder written by {self.command}."
            ) from error
        except OSError as error:
            raise self.missing(f"{path} cannot be read: {error.strerror}.") from error
        except (ValueError, RecursionError) as error:
            raise self.damage(path, "it is not JSON") from error
        if not isinstance(values, dict):
            raise self.damage(path, "it is JSON of another kind, not an object")
        schema = values.get("schema")
        if type(schema) is int and schema > self.schema:
            raise self.damaged(
                f"{path.parent} was written by a newer uncone ({values.get('uncone')}, schema {schema}; this one reads "
                f"{self.schema}). Update uncone."
            )
        if type(schema) is not int or schema != self.schema:
            raise self.damage(path, "schema cannot be read")
        return values

    def damage(self, path: Path | str, reason: object) -> UnconeError:
        """The error that says what is wrong with a file, and what to try."""
        return self.damaged(f"{path} is damaged: {str(reason).rstrip('.')}. {self.advice}")


def versions(*packages: str) -> dict[str, str]:
    """The versions of uncone, Python and NumPy, and of those of the packages that are installed.

    >>> list(versions("no-such-package"))
    ['uncone', 'python', 'numpy']
    """
    from importlib.metadata import PackageNotFoundError, version  # it takes a while, and most commands do without

    installed = {"uncone": __version__, "python": platform.python_version()}
    for package in ("numpy", *packages):
        with contextlib.suppress(PackageNotFoundError):
            installed[package] = version(package)
    return installed


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")
