"""Finished trainings of a study, kept on disk: an interrupted study goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uncone import __version__
from uncone.data.writing.atomic import write_all, writing
from uncone.data.writing.plain_values import plain_values
from uncone.encoders.open import Loading
from uncone.tuning.tasks import ClassTask

__all__ = ["RunContext", "RunStore", "task_digest"]


class RunStore:
    """One JSON file per training, in a folder named by everything that its numbers depend on.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = RunStore(Path(folder), {"model": "a"})
    ...     store.remember("none", 0, {"accuracy": 0.5})
    ...     store.recall("none", 0), store.recall("none", 1), RunStore(Path(folder), {"model": "b"}).recall("none", 0)
    ({'accuracy': 0.5}, None, None)
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        text = json.dumps({**identity, "uncone": __version__}, sort_keys=True, default=str)
        self.folder = folder / hashlib.sha256(text.encode()).hexdigest()[:16]

    def recall(self, name: str, seed: int) -> dict[str, Any] | None:
        """The values of a finished training; None if there is none, or if its file is damaged."""
        try:
            values = json.loads(self._file(name, seed).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return values if isinstance(values, dict) else None

    def remember(self, name: str, seed: int, values: Mapping[str, Any]) -> None:
        """Keep the values of a training.

        Raises:
            OutputError: they cannot be written.
        """
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        write_all({self._file(name, seed): json.dumps(plain_values(dict(values), otherwise=str))})

    def _file(self, name: str, seed: int) -> Path:
        return self.folder / f"{name.replace('/', '-').replace(' ', '-')}-seed-{seed}.json"


@dataclass(frozen=True)
class RunContext:
    """What every training of a study needs: where finished ones are kept, who is told, and how the model is loaded."""

    store: RunStore
    progress: Callable[..., None] | None = None
    loading: Loading | None = None


def task_digest(task: ClassTask) -> str:
    """A digest of the items of a task, of both sides."""
    parts = [(side.left, side.right, side.labels, dict(side.columns)) for side in (task.train, task.test)]
    return hashlib.sha256(json.dumps(parts, default=list).encode()).hexdigest()
