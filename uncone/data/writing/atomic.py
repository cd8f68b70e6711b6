"""Atomic output: a file or folder appears whole or not at all.

A local one is written beside its place and then renamed. An object is written to a local file and then uploaded.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from uncone.data.storage.path import ObjectPath, path_of
from uncone.errors import OptionError, OutputError, UnconeError

__all__ = [
    "check_output",
    "check_output_folder",
    "check_outside",
    "read_json",
    "replacing",
    "write_all",
    "write_json",
    "writing",
]

_LONGEST = 240  # bytes of a name, with room for the temporary one


def check_output(out: Path, inputs: Iterable[Path] = (), *, devices: bool = False) -> None:
    """Say early, before anything is read, that a file cannot be written; never over one of the inputs.

    Devices and pipes, which cannot be replaced, are refused unless `devices` is set.

    Raises:
        OptionError: it is one of the inputs, perhaps under another name.
        OutputError: its folder is missing or may not be written to.
    """
    out = path_of(out)
    if isinstance(out, ObjectPath):
        _check_object(out, inputs)
        return
    try:
        exists, is_folder = out.exists(), out.is_dir()
        over = next((path for path in inputs if exists and path.exists() and path.samefile(out)), None)
    except OSError as error:
        raise OutputError(f"{out} cannot be written: {error.strerror}. Name another file.") from error
    if over is not None:
        raise OptionError(f"-o {out} would overwrite the input {over}. Name another file.")
    folder = out.resolve().parent
    if is_folder:
        raise OutputError(f"{out} is a folder; name a file in it.")
    if exists and not out.is_file() and not devices:
        raise OutputError(f"{out} is not a regular file, and would be replaced. Name another.")
    if not folder.is_dir():
        raise OutputError(f"There is no folder {folder} to write {out.name} to. Make it first, or name another.")
    if len(os.fsencode(out.name)) > _LONGEST:
        raise OutputError(f"The file name {out.name[:40]}… is too long. Name another.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"The folder {folder} cannot be written to. Name a file elsewhere.")


def _check_object(out: ObjectPath, inputs: Iterable[Path]) -> None:
    """Whether storage can be reached, and the name is free or that of an object."""
    if over := next((path for path in inputs if str(path) == str(out)), None):
        raise OptionError(f"-o {out} would overwrite the input {over}. Name another file.")
    with writing(out):
        if out.is_dir():
            raise OutputError(f"{out} is a folder; name a file in it.")
        out.check_writable()


def check_outside(option: str, out: Path, folder: Path, role: str) -> None:
    """Refuse a file in a folder that is `what`: read, or written as a whole.

    Raises:
        OptionError: it lies there, perhaps through a link.
    """
    target, inside = path_of(out).resolve(), path_of(folder).resolve()
    if target == inside or inside in target.parents:
        raise OptionError(f"{option} {out} is inside {folder}, which is {role}. Name a file elsewhere.")


def check_output_folder(out: Path) -> None:
    """Say early that a folder cannot be written; one that holds something is never replaced.

    Raises:
        OutputError: it is a file, it holds something, or its place may not be written to.
    """
    out = path_of(out)
    with writing(out):
        if out.exists() and not out.is_dir():
            raise OutputError(f"{out} is a file, not a folder. Name a new folder.")
        if out.is_dir() and any(out.iterdir()):
            raise OutputError(f"The folder {out} holds something else, which is kept. Name a new folder.")
        if isinstance(out, ObjectPath):
            out.check_writable()
            return
    parent = out.resolve().parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"The folder {parent} is missing or cannot be written to. Name a place elsewhere.")


@contextmanager
def replacing(out: Path, *, folder: bool = False, failure: type[UnconeError] = OutputError) -> Iterator[Path]:
    """A temporary file or folder that takes the place of `out` at the end, or is gone if something goes wrong.

    It is beside `out`, or in the folder of temporary files if `out` is in object storage.

    Raises:
        UnconeError: `failure`, if it cannot be written.
    """
    out = path_of(out)
    if isinstance(out, ObjectPath):
        with _uploading(out, folder, failure) as temporary:
            yield temporary
        return
    target = out.resolve()  # through a link: what it points to is replaced, not the link
    temporary = _temporary_name(target)
    try:
        with writing(out, failure):
            if folder:
                temporary.mkdir(mode=0o700)
                (temporary / target.name).mkdir()
            else:
                temporary.touch(mode=0o600, exist_ok=False)
        yield temporary / target.name if folder else temporary
        with writing(out, failure):
            if folder:
                for path in (path for path in temporary.rglob("*") if path.is_file()):
                    with path.open("rb+") as file:
                        os.fsync(file.fileno())
                _swap_folders(temporary / target.name, target, temporary / "old")
            else:
                with temporary.open("rb+") as file:
                    os.fsync(file.fileno())
                temporary.chmod(_mode(target))
                temporary.replace(target)
    finally:
        if folder:
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)


def _temporary_name(target: Path) -> Path:
    """A new name beside the target, known before anything is made: a signal at any moment finds what to delete."""
    return target.with_name(f".{target.name[:80]}.{secrets.token_hex(4)}.part")


@contextmanager
def _uploading(out: ObjectPath, folder: bool, failure: type[UnconeError]) -> Iterator[Path]:
    """A local file or folder that is uploaded at the end; of a folder, every object appears whole."""
    room = Path(tempfile.gettempdir()) / f"uncone-upload-{secrets.token_hex(6)}"
    try:
        with writing(out, failure):
            room.mkdir(mode=0o700)
            temporary = room / out.name
            temporary.mkdir() if folder else temporary.touch()
        yield temporary
        with writing(out, failure):
            if not folder:
                out.upload(temporary)
                return
            files = [path for path in temporary.rglob("*") if path.is_file()]
            # A manifest is JSON, and says what the other files are: who sees it finds them.
            for path in sorted(files, key=lambda path: (path.suffix == ".json", path)):
                (out / path.relative_to(temporary)).upload(path)
            names = {path.name for path in temporary.iterdir()}
            for path in out.iterdir():
                if path.name not in names and path.is_file():
                    path.unlink()
    finally:
        shutil.rmtree(room, ignore_errors=True)


def read_json(path: Path) -> Any:  # noqa: ANN401 - JSON
    """The values of a small JSON file, local or in storage.

    Raises:
        OSError: it is not there, or can't be read.
        ValueError: it is not JSON.
    """
    return json.loads(path_of(path).read_text(encoding="utf-8"))


def write_json(path: Path, values: Any) -> None:  # noqa: ANN401 - JSON
    """Write a small JSON file, local or in storage, whole or not at all.

    Raises:
        OutputError: it could not be written.
    """
    with replacing(path) as temporary, writing(path):
        temporary.write_text(f"{json.dumps(values, indent=1, ensure_ascii=False)}\n", encoding="utf-8")


def write_all(files: Mapping[Path, str | bytes]) -> None:
    """Write every file, or none: what was there before survives a full disk. Text becomes UTF-8.

    Raises:
        OutputError: a file could not be written.
    """
    with contextlib.ExitStack() as stack:
        for path, content in ((path_of(path), content) for path, content in files.items()):
            data = content.encode("utf-8", errors="replace") if isinstance(content, str) else content
            device = path.exists() and not path.is_file()  # a device or a pipe cannot be renamed over
            target = path if device else stack.enter_context(replacing(path))
            with writing(path), target.open("wb") as file:
                file.write(data)
                if not device:  # a full disk shows now, before the first file is replaced
                    file.flush()
                    os.fsync(file.fileno())


@contextmanager
def writing(out: Path, failure: type[UnconeError] = OutputError) -> Iterator[None]:
    """Around whatever writes: a full disk becomes one line.

    Raises:
        UnconeError: `failure`, if the file could not be written.
    """
    try:
        yield
    except OSError as error:
        # Storage says in its own words what is wrong; those of pyarrow about a disk are longer than the system's.
        words = error.strerror if error.errno and isinstance(out, ObjectPath) else None
        reason = words or (os.strerror(error.errno) if error.errno else " ".join(str(error).split())[:160])
        raise failure(f"Cannot write {out}: {reason}. What was there before is untouched.") from error


def _swap_folders(new: Path, target: Path, old: Path) -> None:
    """Put the new folder in the place of the old one; if that fails, the old one comes back."""
    if not target.exists():
        new.rename(target)
        return
    target.rename(old)
    try:
        new.rename(target)
    except OSError:
        old.rename(target)
        raise
    target.chmod(old.stat().st_mode & 0o777)


def _mode(path: Path) -> int:
    """The mode the file has, or would get: a temporary file is stricter than an output has to be."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
