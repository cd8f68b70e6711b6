"""The door of this room: a repair, the form that is wanted, and where it goes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uncone.errors import ExportError
from uncone.exports.fitted import Fitted
from uncone.repairs.repair import Repair

__all__ = ["TARGETS", "Exported", "export"]


@dataclass(frozen=True)
class Exported:
    """The files and folders that were written, and what has to be known of them."""

    paths: tuple[Path, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Wish:
    repair: Repair
    out: Path
    model: Path | None
    fitted: Fitted


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
        provenance: what a saved repair says of its vectors; `layer`, `pooling` and `level` say it here instead.
        layer: the layer of the model that it was fitted on, such as 12, -1 or "1,-1".
        pooling: mean, cls, max or last.
        level: sentence, or token for a repair of tokens that are pooled afterwards.

    Raises:
        ExportError: there is no such target, the repair does not fit in it, or it cannot be written.
    """
    if to not in TARGETS:
        raise ExportError(f"There is no export to {to!r}; there are {', '.join(TARGETS)}.")
    if not hasattr(repair, "_n_features_out"):  # set last when a repair learns
        raise ExportError(f"This {repair.kind} is not fitted, so there is nothing to export. Fit it first.")
    fitted = Fitted.of(provenance, layer=layer, pooling=pooling, level=level)
    wish = _Wish(repair, Path(out), None if model is None else Path(model), fitted)
    if wish.model is not None:
        _check_model(wish.model, wish.out, to)
    notes = TARGETS[to](wish)
    if wish.model is None and fitted.level == "token":
        notes.append("The repair was fitted on the vectors of tokens: apply it to those, and pool afterwards.")
    return Exported((wish.out,), tuple(notes))


def _check_model(model: Path, out: Path, to: str) -> None:
    if to not in ("onnx", "sentence-transformers"):
        raise ExportError(f"An export to {to} holds the repair alone: leave --model out.")
    if not model.is_dir():
        raise ExportError(f"There is no model folder {model}: an export needs the model's files here.")
    if out.resolve() == model.resolve() or model.resolve() in out.resolve().parents:
        raise ExportError(f"{out} lies in the model's own folder, which stays as it is. Name another place.")


def _sentence_transformers(wish: _Wish) -> list[str]:
    from uncone.exports.sentence_transformers.export import export_sentence_transformers

    if wish.model is None:
        raise ExportError("An export to sentence-transformers is a model with the repair in it: name it with --model.")
    return export_sentence_transformers(wish.repair, wish.model, wish.out, fitted=wish.fitted)


def _onnx(wish: _Wish) -> list[str]:
    from uncone.exports.onnx.export import export_onnx

    return export_onnx(wish.repair, wish.out, model=wish.model, fitted=wish.fitted)


def _faiss(wish: _Wish) -> list[str]:
    from uncone.exports.faiss import export_faiss

    return export_faiss(wish.repair, wish.out)


def _numpy(wish: _Wish) -> list[str]:
    from uncone.exports.plain import export_numpy

    return export_numpy(wish.repair, wish.out)


def _sql(wish: _Wish) -> list[str]:
    from uncone.exports.sql import export_sql

    return export_sql(wish.repair, wish.out)


TARGETS: dict[str, Callable[[_Wish], list[str]]] = {
    "sentence-transformers": _sentence_transformers,
    "onnx": _onnx,
    "faiss": _faiss,
    "numpy": _numpy,
    "sql": _sql,
}
"""Every form, by the name that it has on the command line."""
