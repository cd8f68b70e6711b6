"""Checkpoints of long runs: a run resumes where it stopped, and refuses if its input has changed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from uncone import __version__
from uncone.data.storage.path import local_folder
from uncone.encoders.encoder import Encoder
from uncone.errors import StateError
from uncone.stats.statistic import State

__all__ = ["Checkpoint", "Saved", "checkpoints_in", "runs_folder"]

_LONGEST = 60.0
_DAMAGE = (OSError, ValueError, KeyError, EOFError, AttributeError, NotImplementedError, RuntimeError, MemoryError)
_WORDS = {"model_content": "the model", "corpus_content": "the texts"}


@dataclass(frozen=True)
class Saved:
    """Where a run had got to, and what it had measured."""

    position: dict[str, Any]
    arrays: State


def runs_folder() -> Path:
    """Where runs are kept unless the user names a place: the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "uncone" / "runs"


class Checkpoint:
    """The state of one run in a folder: `identity` is everything that its numbers depend on.

    `every` seconds it is due; saving that takes long is done more rarely, but at least once a minute.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any], every: float = 30.0) -> None:
        self.folder = folder
        self.identity = json.loads(json.dumps(identity, sort_keys=True))
        self.every = every
        self.problem: str | None = None
        self.saved = False
        self._last = time.monotonic()
        self._took = 0.0

    @property
    def _state_file(self) -> Path:
        return self.folder / "state.npz"

    def load(self) -> Saved:
        """What was saved.

        Raises:
            StateError: nothing was, it is damaged, or it belongs to other input.
        """
        if not self._state_file.is_file():
            raise StateError(
                f"There is nothing to resume in {self.folder}: no run of this command was interrupted after its first "
                "save. Leave --resume out."
            )
        try:
            with self._state_file.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                arrays = {key: file[key] for key in file.files}
            before, position = (json.loads(arrays.pop(key).tobytes()) for key in ("identity", "position"))
        except (*_DAMAGE, zipfile.BadZipFile, zlib.error) as error:
            raise StateError(
                f"The state in {self.folder} is damaged ({type(error).__name__}). Start again without --resume."
            ) from error
        changed = [key for key in {**before, **self.identity} if before.get(key) != self.identity.get(key)]
        if changed:
            content = [word for key, word in _WORDS.items() if key in changed]
            parts = " and ".join(content or sorted(key.replace("_", " ") for key in changed))
            raise StateError(
                f"The run in {self.folder} was measured on other input: {parts} changed since. Restore it, or start "
                "again without --resume."
            )
        self.saved = True
        return Saved(position, arrays)

    @property
    def due(self) -> bool:
        """Whether it is time to save."""
        wait = min(max(self.every, 20 * self._took), max(_LONGEST - self._took, self.every))
        return time.monotonic() - self._last >= wait

    def save(self, position: Mapping[str, Any], arrays: State) -> None:
        """Replace what was saved before. A disk that is full does not end the run: it is remembered as a problem."""
        began = time.monotonic()
        temporary = self.folder / f"state.{os.getpid()}.part"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                # In one file, so that what was measured and what it was measured on cannot come apart.
                header = {"identity": self.identity, "position": dict(position)}
                plain = {key: np.frombuffer(json.dumps(value).encode(), np.uint8) for key, value in header.items()}
                np.savez(file, allow_pickle=False, **plain, **arrays)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._state_file)
            self.problem, self.saved = None, True
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            self.problem = f"The state of the run could not be saved to {self.folder} ({error.strerror})."
        self._last = time.monotonic()
        self._took = self._last - began

    def clear(self) -> None:
        """Remove it: the run has come to its end."""
        if self.folder.is_dir():
            shutil.rmtree(self.folder, ignore_errors=True)


def checkpoints_in(
    state: str | os.PathLike[str] | None, encoder: Encoder, options: Mapping[str, Any], every: float
) -> Callable[[dict[str, Any], dict[str, Any]], Checkpoint]:
    """A maker of checkpoints: the command names the folder, the content of model and texts the run.

    So the same command finds its run again, and notices when model or texts have changed since.
    """

    def make(settings: dict[str, Any], content: dict[str, Any]) -> Checkpoint:
        command = {**options, **settings}
        key = hashlib.sha256(json.dumps(command, sort_keys=True).encode()).hexdigest()[:16]
        folder = (runs_folder() if state is None else local_folder(state, "--state")) / key
        whole = {**command, **content, "model_content": encoder.fingerprint(), "uncone": __version__}
        return Checkpoint(folder, whole, every)

    return make
