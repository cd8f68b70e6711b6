"""A repair as a folder: `repair.json` says what it is, `repair.safetensors` holds its numbers; nothing is executed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from uncone.data.storage.path import path_of
from uncone.data.writing.manifest import SavedFolder
from uncone.data.writing.plain_values import plain_values
from uncone.encoders.encoder import EncoderIdentity
from uncone.errors import DamagedRepairError, OtherSpaceError, RepairError, require
from uncone.repairs.affine import Collapsed
from uncone.repairs.chain import Chain
from uncone.repairs.registry import KINDS, repair_class
from uncone.repairs.repair import Arrays, Repair

__all__ = ["FOLDER", "Saved", "digest_of", "load", "save"]

_JSON, _TENSORS = "repair.json", "repair.safetensors"
_AGAIN = "Copy the folder again, or fit a new repair with uncone fix."
FOLDER = SavedFolder(
    "repair", (_JSON, _TENSORS), "uncone fix --save", 1, _AGAIN, DamagedRepairError, DamagedRepairError
)
_DTYPES = {np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.int64), np.dtype(np.uint8)}


@dataclass(frozen=True)
class Saved:
    """A loaded repair, and the provenance of its fit."""

    repair: Repair
    provenance: dict[str, Any]


def save(repair: Repair, folder: Path, provenance: Mapping[str, Any]) -> None:
    """Write a fitted repair to a folder, whole or not at all; a repair that was there before is replaced.

    Raises:
        OptionError: the parameters or the provenance are not plain values.
        OutputError: the folder holds something else, or cannot be written.
    """
    tensors = _tensors(repair)
    values = {
        **_description(repair),
        "dim_in": int(repair.n_features_in_),
        "dim_out": int(repair._n_features_out),
        "sha256": hashlib.sha256(tensors).hexdigest(),
        "provenance": dict(provenance),
    }
    FOLDER.write(path_of(folder), values, tensors)


def digest_of(repair: Repair) -> str:
    """A name for exactly this repair: its kind, its parameters and its numbers."""
    text = json.dumps(_description(repair), sort_keys=True, default=plain_values)
    return hashlib.sha256(text.encode() + _tensors(repair)).hexdigest()[:32]


def load(folder: str | os.PathLike[str], *, dim: int | None = None, encoder: EncoderIdentity | None = None) -> Saved:
    """Read a repair; `dim` and `encoder` describe the vectors it will be applied to.

    Raises:
        DamagedRepairError: it is missing, not whole, tampered with, or from a newer uncone.
        OtherSpaceError: it was fitted for another dimension or encoder.
    """
    require("safetensors", extra="models")
    folder = path_of(folder)
    values = _manifest(folder)
    made_for, content = (values["provenance"].get(key) for key in ("encoder", "encoder_content"))
    if dim is not None and dim != values["dim_in"]:
        raise OtherSpaceError(
            f"{folder} repairs vectors of dimension {values['dim_in']}; these have {dim}. Were they made by the "
            f"encoder it was fitted for{'' if made_for is None else f' ({made_for})'}?"
        )
    if encoder is not None and content is not None and encoder.content != content:
        raise OtherSpaceError(
            f"{folder} was fitted for the encoder {made_for} ({content}); these vectors are from {encoder.name} "
            f"({encoder.content}). Fit a repair for each."
        )
    arrays = _arrays(folder, values["sha256"])
    try:
        repair = _build(values).restore(arrays)
        _remember(repair, values)
        again = repair.arrays()
    except RepairError as error:
        raise DamagedRepairError(f"{folder} does not hold a whole repair: {error} {_AGAIN}") from error
    except (LookupError, ValueError, TypeError, AttributeError, RuntimeError, ArithmeticError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DamagedRepairError(f"{folder} does not hold a whole repair ({reason}). {_AGAIN}") from error
    same = again.keys() == arrays.keys() and all(
        (again[name].dtype, again[name].shape) == (array.dtype, array.shape) for name, array in arrays.items()
    )
    if not same or (repair.n_features_in_, repair._n_features_out) != (values["dim_in"], values["dim_out"]):
        raise DamagedRepairError(f"{folder}: the numbers are not those of what {_JSON} describes. {_AGAIN}")
    return Saved(repair, values["provenance"])


def _tensors(repair: Repair) -> bytes:
    require("safetensors", extra="models")
    from safetensors.numpy import save as to_bytes

    return to_bytes({name: np.array(value, order="C") for name, value in repair.arrays().items()})


def _description(repair: Repair) -> dict[str, Any]:
    """Kind and parameters; of a chain, those of its steps."""
    if isinstance(repair, Chain):
        return {"kind": repair.kind, "steps": [_description(step) for step in repair.steps_], "note": repair.note_}
    return {"kind": repair.kind, "parameters": repair.get_params(deep=False), "note": repair.note_}


def _build(values: Mapping[str, Any]) -> Repair:
    """The unfitted repair of a description."""
    kind = values["kind"]
    if kind == Chain.kind:
        repair: Repair = Chain([_build(step) for step in values["steps"]])
    elif kind == Collapsed.kind:
        repair = Collapsed()
    elif kind in KINDS:
        repair = repair_class(kind)(**values["parameters"])
    else:
        raise DamagedRepairError(f"There is no repair of kind {kind!r}; choose from {', '.join(KINDS)}.")
    return repair


def _remember(repair: Repair, values: Mapping[str, Any]) -> None:
    """Restore the notes."""
    repair.note_ = str(values["note"])
    if isinstance(repair, Chain):
        for step, part in zip(repair.steps_, values["steps"], strict=True):
            _remember(step, part)


def _manifest(folder: Path) -> dict[str, Any]:
    """The values of repair.json, of the right types."""
    values = FOLDER.read(folder)
    types = {"kind": str, "dim_in": int, "dim_out": int, "sha256": str, "provenance": dict}
    wrong = [name for name, kind in types.items() if type(values.get(name)) is not kind]
    if wrong:
        raise FOLDER.damage(folder / _JSON, f"{', '.join(wrong)} cannot be read")
    return values


def _arrays(folder: Path, digest: str) -> Arrays:
    """The numbers, checked: what was written, of known types, finite."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_bytes

    path = folder / _TENSORS
    try:
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != digest:
            raise DamagedRepairError(f"{path} is not the file that was saved: truncated or tampered with. {_AGAIN}")
        arrays: Arrays = from_bytes(data)
    except FileNotFoundError as error:
        raise DamagedRepairError(f"{folder} has no {_TENSORS}, which holds the numbers. {_AGAIN}") from error
    except OSError as error:
        raise DamagedRepairError(f"{path} cannot be read: {error.strerror}.") from error
    except (SafetensorError, KeyError, ValueError, TypeError) as error:
        raise DamagedRepairError(f"{path} is damaged: not a whole .safetensors file. {_AGAIN}") from error
    for name, array in arrays.items():
        if array.dtype not in _DTYPES:
            raise DamagedRepairError(f"{path}: {name} holds {array.dtype} numbers, which no repair does. {_AGAIN}")
        if not np.isfinite(array).all():
            raise DamagedRepairError(f"{path}: {name} holds NaN or infinite numbers. {_AGAIN}")
    return arrays
