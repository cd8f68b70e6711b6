"""Files and folders are written beside their place and then renamed: they appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from uncone.errors import OptionError, OutputError

__all__ = ["check_output", "check_outside", "replacing", "replacing_folder", "writing"]

_LONGEST = 240  # bytes of a name, with room for the temporary one


def check_output(out: Path, inputs: Iterable[Path]) -> None:
    """Say early, before anything is read, that a file cannot be written; never over one of the inputs.

    Raises:
        OptionError: it is one of the inputs, perhaps under another name.
        OutputError: its folder is missing or may not be written to.
    """
    try:
        exists, is_folder = out.exists(), out.is_dir()
        over = next((one for one in inputs if exists and one.exists() and one.samefile(out)), None)
    except OSError as error:
        raise OutputError(f"{out} cannot be written: {error.strerror}. Name another file.") from error
    if over is not None:
        raise OptionError(f"-o {out} would write over the input {over}. Name another file.")
    folder = out.resolve().parent
    if is_folder:
        raise OutputError(f"{out} is a folder; name a file in it.")
    if exists and not out.is_file():
        raise OutputError(f"{out} is no ordinary file, and would be replaced by one. Name another.")
    if not folder.is_dir():
        raise OutputError(f"There is no folder {folder} to write {out.name} to. Make it first, or name another.")
    if len(os.fsencode(out.name)) > _LONGEST:
        raise OutputError(f"{out.name[:40]}… is too long a name for a file. Name another.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"The folder {folder} cannot be written to. Name a file elsewhere.")


def check_outside(option: str, out: Path, folder: Path, what: str) -> None:
    """Refuse a file in a folder that is `what`: read, or written as a whole.

    Raises:
        OptionError: it lies there, perhaps through a link.
    """
    target, place = out.resolve(), folder.resolve()
    if target == place or place in target.parents:
        raise OptionError(f"{option} {out} lies in {folder}, which is {what} and stays whole. Name a file elsewhere.")


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """A temporary file beside `out` that takes its place at the end, or is gone when something goes wrong."""
    target = out.resolve()  # through a link: what it points to is replaced, not the link
    with writing(out):
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
        os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        with writing(out):
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.chmod(_mode(target))
            temporary.replace(target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()


@contextmanager
def replacing_folder(out: Path) -> Iterator[Path]:
    """A temporary folder beside `out` that takes its place at the end; if anything fails, the old folder stays."""
    target = out.resolve()
    with writing(out):
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name[:80]}.", suffix=".part", dir=target.parent))
    aside = temporary.with_suffix(".old")
    try:
        yield temporary
        with writing(out):
            for path in temporary.rglob("*"):
                if path.is_file():
                    with path.open("rb+") as file:
                        os.fsync(file.fileno())
            temporary.chmod(_mode(target, new=0o777))
            if target.exists():
                target.rename(aside)
            try:
                temporary.rename(target)
            except BaseException:
                if aside.exists():
                    aside.rename(target)
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Around whatever writes: a full disk becomes one line.

    Raises:
        OutputError: the file could not be written.
    """
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else " ".join(str(error).split())[:160]
        raise OutputError(f"Cannot write {out}: {reason}. What was there before is untouched.") from error


def _mode(path: Path, new: int = 0o666) -> int:
    """The mode that is there, or that a new one would get: temporary files and folders are stricter than outputs."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return new & ~mask
