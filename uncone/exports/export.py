"""Exports of a fitted repair: the targets, and how one is written: whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from uncone import __version__
from uncone.data.storage.path import ObjectPath, path_of
from uncone.data.writing.atomic import replacing, writing
from uncone.errors import ExportError
from uncone.exports.vector_spec import VectorSpec
from uncone.repairs.repair import Repair

__all__ = ["MARK", "TARGETS", "Exported", "export", "is_export", "sign", "temporary_output"]


@dataclass(frozen=True)
class Exported:
    """The files and folders that were written, and notes for the user."""

    paths: tuple[Path, ...]
    notes: tuple[str, ...]


TARGETS = {
    "sentence-transformers": "sentence_transformers:export_sentence_transformers",
    "onnx": "onnx:export_onnx",
    "faiss": "faiss:export_faiss",
    "numpy": "plain:export_numpy",
    "sql": "sql:export_sql",
}
"""Every target by its name on the command line: the module of this room, which is imported when needed, and what writes
the export and returns notes for the user."""

MARK = "uncone_export.json"
"""The file in a folder that says that uncone wrote it, and so may write it again."""
_WITH_MODEL = ("onnx", "sentence-transformers")


def export(
    repair: Repair,
    to: str,
    out: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] | None = None,
    provenance: Mapping[str, Any] | None = None,
    layer: str | int | None = None,
    pooling: str | None = None,
    level: str | None = None,
) -> Exported:
    """Write a fitted repair as something that a system without uncone can run; whole or not at all.

    Args:
        repair: fitted, of any kind.
        to: one of `TARGETS`.
        out: a folder, or for onnx and faiss a file. An earlier export is replaced, anything else is not.
        model: the folder of the model before it, for sentence-transformers and, to have both in one graph, for onnx.
        provenance: the metadata of a saved repair; `layer`, `pooling` and `level` override it.
        layer: the layer of the model that it was fitted on, such as 12, -1 or "1,-1".
        pooling: mean, cls, max or last.
        level: sentence, or token for a repair of tokens that are pooled afterwards.

    Raises:
        ExportError: there is no such target, the repair does not fit in it, or it cannot be written.
    """
    if to not in TARGETS:
        raise ExportError(f"There is no export to {to!r}; choose from {', '.join(TARGETS)}.")
    if not hasattr(repair, "_n_features_out"):  # set last when a repair learns
        raise ExportError(f"This {repair.kind} is not fitted, so there is nothing to export. Fit it first.")
    if repair.has_weights:
        raise ExportError(
            f"{repair.kind} weighs every token by its frequency, which no {to} export holds. Use uncone apply, or "
            "uncone.apply in Python."
        )
    spec = VectorSpec.of(provenance, layer=layer, pooling=pooling, level=level)
    out, folder = path_of(out), None if model is None else Path(model)
    if folder is not None:
        _check_model(folder, out, to)
    elif to == "sentence-transformers":
        raise ExportError("An export to sentence-transformers is a model with the repair in it: name it with --model.")
    module, _, function = TARGETS[to].partition(":")
    write = getattr(import_module(f"uncone.exports.{module}"), function)
    notes = write(repair, out, **({"model": folder, "spec": spec} if to in _WITH_MODEL else {}))
    if folder is None and spec.level == "token":
        notes.append("The repair was fitted on the vectors of tokens: apply it to those, and pool afterwards.")
    return Exported((out,), tuple(notes))


def _check_model(model: Path, out: Path, to: str) -> None:
    if to not in _WITH_MODEL:
        raise ExportError(f"An export to {to} holds the repair alone: leave --model out.")
    if not model.is_dir():
        raise ExportError(f"There is no model folder {model}: an export needs the model's files here.")
    if out.resolve() == model.resolve() or model.resolve() in out.resolve().parents:
        raise ExportError(f"{out} lies in the model's own folder, which stays as it is. Name another place.")


def sign(folder: Path, target: str, kind: str) -> None:
    """Write a marker file, so that a later export may replace the folder."""
    content = {"target": target, "kind": kind, "uncone": __version__}
    (folder / MARK).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def is_export(folder: Path) -> bool:
    """Whether an export wrote this folder."""
    return (folder / MARK).is_file()


@contextmanager
def temporary_output(out: Path, *, folder: bool, ours: Callable[[Path], bool]) -> Iterator[Path]:
    """A temporary file or folder that becomes `out` on success and is removed on failure.

    Raises:
        ExportError: something of another kind is there, or it cannot be written to.
    """
    _check_place(out, folder, ours)
    with replacing(out, folder=folder, failure=ExportError) as inside, writing(out, ExportError):
        yield inside


def _check_place(out: Path, folder: bool, ours: Callable[[Path], bool]) -> None:
    if isinstance(out, ObjectPath):
        out.check_writable()
    elif not out.parent.is_dir():
        raise ExportError(f"There is no folder {out.parent} to write {out.name} to. Make it first, or name another.")
    if out.is_symlink() and not out.exists():
        raise ExportError(f"{out} is a link to nothing. Name another place.")
    if not out.exists() or (folder and out.is_dir() and not any(out.iterdir())):
        return
    if folder != out.is_dir():
        present, expected = ("folder", "file") if out.is_dir() else ("file", "folder")
        raise ExportError(f"{out} is a {present}, and this export writes a {expected}. Name another place.")
    if not ours(out):
        raise ExportError(f"{out} is there and was not written by this export; it stays. Name another place.")
