"""The options of every verb that takes a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from uncone.encoders.open import Loading

__all__ = ["AllowPickle", "BatchSize", "Data", "Device", "Dtype", "Revision", "TrustRemoteCode", "loading_of"]

Revision = Annotated[str | None, typer.Option(help="Revision of a model on the hub: a branch, tag or commit.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")]
Dtype = Annotated[str, typer.Option(help="Precision of the weights: float32, float16 or bfloat16.")]
AllowPickle = Annotated[
    bool, typer.Option("--allow-pickle", help="Load pickled weights too: they can run code. Only from who you trust.")
]
TrustRemoteCode = Annotated[bool, typer.Option("--trust-remote-code", help="Run code that a model brings along.")]
Data = Annotated[str | None, typer.Option(help="Folder with the named corpora. [default: $UNCONE_DATA]")]
BatchSize = Annotated[int | None, typer.Option(help="Texts encoded at once, at most.")]


def loading_of(revision: str | None, device: str, dtype: str, allow_pickle: bool, trust_remote_code: bool) -> Loading:
    """How to load a model, checked.

    Raises:
        OptionError: there is no such device or precision.
    """
    from uncone.encoders.open import DEVICES, DTYPES, Loading
    from uncone.errors import OptionError

    for option, value, allowed in (("--device", device, DEVICES), ("--dtype", dtype, DTYPES)):
        if value not in allowed:
            raise OptionError(f"{option} is {', '.join(allowed)}, not {value!r}.")
    return Loading(revision, device, dtype, allow_pickle, trust_remote_code)
