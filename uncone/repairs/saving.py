"""A repair as a folder: `repair.json` says what it is, `repair.safetensors` holds its numbers; nothing is executed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from uncone._version import __version__
from uncone.data.manifest import Described, read_described
from uncone.encoders.encoder import EncoderIdentity
from uncone.errors import DamagedRepairError, OptionError, OtherSpaceError, OutputError, RepairError
from uncone.extras import require
from uncone.repairs.affine.affine import Collapsed
from uncone.repairs.chain import Chain
from uncone.repairs.registry import KINDS, repair_class
from uncone.repairs.repair import Arrays, Repair

__all__ = ["SCHEMA", "Saved", "check_folder", "load", "save"]

SCHEMA = 1
_JSON, _TENSORS = "repair.json", "repair.safetensors"
_DTYPES = {np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.int64)}
_AGAIN = "Copy the folder again, or fit anew with uncone fix."


@dataclass(frozen=True)
class Saved:
    """A repair that was loaded, and what is known of how it was fitted."""

    repair: Repair
    provenance: dict[str, Any]


def save(repair: Repair, folder: Path, provenance: Mapping[str, Any]) -> None:
    """Write a fitted repair to a folder, whole or not at all; a repair that was there before is replaced.

    Raises:
        OptionError: the parameters or the provenance are not plain values.
        OutputError: the folder holds something else, or cannot be written.
    """
    require("safetensors", extra="models")
    from safetensors.numpy import save as to_bytes

    tensors = to_bytes({name: np.array(value, order="C") for name, value in repair.arrays().items()})
    said = {
        "schema": SCHEMA,
        "uncone": __version__,
        **_described(repair),
        "dim_in": int(repair.n_features_in_),
        "dim_out": int(repair._n_features_out),
        "sha256": hashlib.sha256(tensors).hexdigest(),
        "provenance": dict(provenance),
    }
    try:
        text = json.dumps(said, indent=2, ensure_ascii=False, default=_plain, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise OptionError(f"Only plain values can be saved with a repair: {error}.") from error
    folder = Path(folder).resolve()
    check_folder(folder)
    try:
        _write(folder, {_JSON: text.encode() + b"\n", _TENSORS: tensors})
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"Cannot write {folder}: {reason}. What was there before is untouched.") from error


def load(folder: str | os.PathLike[str], *, dim: int | None = None, encoder: EncoderIdentity | None = None) -> Saved:
    """Read a repair; `dim` and `encoder` are those of the vectors it is wanted for.

    Raises:
        DamagedRepairError: it is missing, not whole, tampered with, or from a newer uncone.
        OtherSpaceError: it was fitted for another dimension or encoder.
    """
    require("safetensors", extra="models")
    folder = Path(folder)
    said = _said(folder)
    made_for, content = (said["provenance"].get(key) for key in ("encoder", "encoder_content"))
    if dim is not None and dim != said["dim_in"]:
        raise OtherSpaceError(
            f"{folder} repairs vectors of dimension {said['dim_in']}; these have {dim}. Were they made by the encoder "
            f"it was fitted for{'' if made_for is None else f' ({made_for})'}?"
        )
    if encoder is not None and content is not None and encoder.content != content:
        raise OtherSpaceError(
            f"{folder} was fitted for the encoder {made_for} ({content}); these vectors are from {encoder.name} "
            f"({encoder.content}). Fit a repair for each."
        )
    arrays = _arrays(folder, said["sha256"])
    try:
        repair = _built(said).restore(arrays)
        _remember(repair, said)
        again = repair.arrays()
    except RepairError as error:
        raise DamagedRepairError(f"{folder} does not hold a whole repair: {error} {_AGAIN}") from error
    except (LookupError, ValueError, TypeError, AttributeError, RuntimeError, ArithmeticError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DamagedRepairError(f"{folder} does not hold a whole repair ({reason}). {_AGAIN}") from error
    same = again.keys() == arrays.keys() and all(
        (again[name].dtype, again[name].shape) == (array.dtype, array.shape) for name, array in arrays.items()
    )
    if not same or (repair.n_features_in_, repair._n_features_out) != (said["dim_in"], said["dim_out"]):
        raise DamagedRepairError(f"{folder}: the numbers are not those of what {_JSON} describes. {_AGAIN}")
    return Saved(repair, said["provenance"])


def _described(repair: Repair) -> dict[str, Any]:
    """Kind and parameters; of a chain, those of its steps."""
    if isinstance(repair, Chain):
        return {"kind": repair.kind, "steps": [_described(step) for step in repair.steps_], "note": repair.note_}
    return {"kind": repair.kind, "parameters": repair.get_params(deep=False), "note": repair.note_}


def _built(said: Mapping[str, Any]) -> Repair:
    """The unfitted repair that a description is of."""
    kind = said["kind"]
    if kind == Chain.kind:
        repair: Repair = Chain([_built(step) for step in said["steps"]])
    elif kind == Collapsed.kind:
        repair = Collapsed()
    elif kind in KINDS:
        repair = repair_class(kind)(**said["parameters"])
    else:
        raise DamagedRepairError(f"There is no repair of kind {kind!r}; there are {', '.join(KINDS)}.")
    return repair


def _remember(repair: Repair, said: Mapping[str, Any]) -> None:
    """Give the notes back."""
    repair.note_ = str(said["note"])
    if isinstance(repair, Chain):
        for step, part in zip(repair.steps_, said["steps"], strict=True):
            _remember(step, part)


def _said(folder: Path) -> dict[str, Any]:
    """What repair.json says, of the right form."""
    form = Described("repair", "uncone fix --save", SCHEMA, _AGAIN, DamagedRepairError, DamagedRepairError)
    said = read_described(folder / _JSON, form)
    forms = {"kind": str, "dim_in": int, "dim_out": int, "sha256": str, "provenance": dict}
    wrong = [name for name, kind in forms.items() if type(said.get(name)) is not kind]
    if wrong:
        raise DamagedRepairError(f"{folder / _JSON} is damaged: {', '.join(wrong)} cannot be read. {_AGAIN}")
    return said


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


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever JSON does not know
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} is not one")


def check_folder(folder: Path) -> None:
    """Refuse to replace anything but an older repair or an empty folder."""
    if not folder.parent.is_dir():
        raise OutputError(f"There is no folder {folder.parent} to write {folder.name} to. Make it first.")
    if not os.access(folder.parent, os.W_OK | os.X_OK):
        raise OutputError(f"The folder {folder.parent} cannot be written to. Name a folder elsewhere.")
    if not folder.exists():
        return
    if not folder.is_dir():
        raise OutputError(f"{folder} is a file; a repair is saved as a folder. Name another.")
    others = sorted(path.name for path in folder.iterdir() if path.name not in (_JSON, _TENSORS) or not path.is_file())
    if others:
        raise OutputError(
            f"{folder} holds {', '.join(others[:3])}{' and more' if len(others) > 3 else ''}, which is not a repair, "
            "and is left alone. Name another folder."
        )


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write beside the place, then rename; what was there before goes only when the new one stands."""
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
    aside = temporary.with_suffix(".old")
    try:
        for name, data in files.items():
            with (temporary / name).open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        temporary.chmod(_mode())
        if folder.exists():
            folder.rename(aside)
        try:
            temporary.rename(folder)
        except BaseException:
            if aside.exists():
                aside.rename(folder)
            raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    shutil.rmtree(aside, ignore_errors=True)


def _mode() -> int:
    """The mode a new folder would get: mkdtemp is stricter than a repair has to be."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o777 & ~mask
