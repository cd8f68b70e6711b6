"""A job: work in parts that any engine can run, here or on other machines.

A part is a range. What a worker makes of it travels as safetensors bytes, with the kernel that computed it; never as a
pickle. An error of ours travels the same way, so that no engine tries again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Protocol, TypeVar

import numpy as np

import uncone.errors
from uncone import __version__
from uncone.errors import MissingSourceError, OptionError, UnconeError, WorkerError
from uncone.run.threads import blas_kernels, one_blas_thread

__all__ = [
    "Executor",
    "Job",
    "Progress",
    "Range",
    "answer",
    "check_answer",
    "check_kernel",
    "common_kernel",
    "first_failure",
    "header",
    "kernel",
    "packed",
]

S_co = TypeVar("S_co", covariant=True)
S = TypeVar("S")
Range = tuple[int, int]
"""The first row (or other item), and the one after the last."""
Progress = Callable[[int], None]


class Job(Protocol[S_co]):
    """Work on ranges. It is sent to workers as it is; the driver takes the results of groups of ranges.

    A job with an attribute `gpus` needs so many for each range.
    """

    def fold(self, chunk: Range) -> bytes:
        """What a worker makes of a range."""

    def join(self, parts: Iterable[bytes]) -> bytes:
        """The results of a group of ranges as one, by a worker, who takes one after the other."""

    def received(self, state: bytes) -> S_co:
        """The result of a group, on the driver."""


class Executor(Protocol):
    """Where a job is run: it gives the result of each group of ranges, in their order."""

    def groups(self, job: Job[S], groups: Sequence[Sequence[Range]], progress: Progress | None) -> Iterator[S]:
        """Fold every range, join those of a group, and report the size of the ranges that are done."""


def answer(name: str, work: Callable[[], tuple[dict[str, Any], dict[str, Any]]]) -> bytes:
    """The arrays and the header that `work` gives, computed with one BLAS thread, or its error; `name` is read."""
    try:
        with one_blas_thread():
            return packed(*work())
    except UnconeError as error:
        return packed({}, {"error": {"kind": type(error).__name__, "message": str(error)}})
    except OSError as error:
        message = f"A worker can't read {name}: {error.strerror or error}. Do all machines see its files?"
        return packed({}, {"error": {"kind": MissingSourceError.__name__, "message": message}})


def first_failure(parts: Sequence[bytes]) -> bytes | None:
    """The first of the results that is an error."""
    return next((part for part in parts if "error" in header(part)), None)


def check_answer(state: bytes, any_kernel: bool) -> dict[str, Any]:
    """The header of a result that came from a worker.

    Raises:
        UnconeError: what a worker met; it is raised here again.
        OptionError: a worker computes with other versions or another BLAS kernel.
    """
    values = header(state)
    if "error" in values:
        kind = getattr(uncone.errors, values["error"]["kind"], WorkerError)
        raise kind(values["error"]["message"])
    check_kernel(kernel(), values["kernel"], any_kernel)
    return values


def check_kernel(driver: Mapping[str, str], worker: Mapping[str, str], any_kernel: bool) -> None:
    """Refuse a worker whose last digits would differ from those of the driver.

    Raises:
        OptionError: it computes with other versions or another BLAS kernel.
    """
    differences = [
        f"{name} {worker[name]} instead of {driver[name]}" for name in driver if driver[name] != worker[name]
    ]
    if differences and not any_kernel:
        raise OptionError(
            f"Workers differ from this machine: {'; '.join(differences)}. The last digits would differ. Install "
            "the same versions, or allow it with --any-kernel."
        )


@cache
def kernel() -> dict[str, str]:
    """What the last digits of this process depend on: versions, and the kernel that BLAS has chosen."""
    return {"uncone": __version__, "numpy": np.__version__, "BLAS": ", ".join(sorted(set(blas_kernels())))}


def common_kernel(kernels: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """One kernel for several; where they differ, every value."""
    return {name: " and ".join(sorted({each[name] for each in kernels})) for name in kernels[0]}


_TYPES = {"f8": "F64", "f4": "F32", "f2": "F16", "b1": "BOOL"}
_TYPES |= {f"{sign}{size}": f"{sign.upper()}{8 * size}" for sign in "iu" for size in (1, 2, 4, 8)}
"""The names of types in safetensors."""


def packed(state: dict[str, Any], values: dict[str, Any]) -> bytes:
    """Arrays and plain values as safetensors bytes, written here because `save` would copy every array three times."""
    # Shapes are kept as they are, those of 0-d arrays too; contents in C order.
    arrays = {name: np.asarray(value, order="C") for name, value in state.items()}
    heading: dict[str, Any] = {"__metadata__": {name: json.dumps(value) for name, value in values.items()}}
    end = 0
    for name, array in arrays.items():
        start, end = end, end + array.nbytes
        heading[name] = {"dtype": _TYPES[array.dtype.str[1:]], "shape": array.shape, "data_offsets": [start, end]}
    text = json.dumps(heading).encode()
    text += b" " * (-len(text) % 8)
    contents: list[Any] = [array.reshape(-1).view(np.uint8) for array in arrays.values()]
    return b"".join([len(text).to_bytes(8, "little"), text, *contents])


def header(state: bytes) -> dict[str, Any]:
    """The plain values."""
    size = int.from_bytes(state[:8], "little")
    metadata = json.loads(state[8 : 8 + size]).get("__metadata__", {})
    return {name: json.loads(value) for name, value in metadata.items()}
