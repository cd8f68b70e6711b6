"""The options of every verb that takes a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from uncone.encoders.open import Loading

__all__ = [
    "AllowPickle",
    "BatchSize",
    "Data",
    "Device",
    "Dtype",
    "Layer",
    "Model",
    "NoCache",
    "Pooling",
    "Prompt",
    "Revision",
    "TrustRemoteCode",
    "check_encoding",
    "loading_of",
]

Revision = Annotated[str | None, typer.Option(help="Revision of a model on the hub: a branch, tag or commit.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")]
Dtype = Annotated[str, typer.Option(help="Precision of the weights: float32, float16 or bfloat16.")]
AllowPickle = Annotated[
    bool, typer.Option("--allow-pickle", help="Load pickled weights too: they can run code. Only from who you trust.")
]
TrustRemoteCode = Annotated[bool, typer.Option("--trust-remote-code", help="Run code that a model brings along.")]
Data = Annotated[str | None, typer.Option(help="Folder with the named corpora. [default: $UNCONE_DATA]")]
BatchSize = Annotated[int | None, typer.Option(help="Texts encoded at once, at most.")]
Model = Annotated[str | None, typer.Option(help="Encode texts: a model folder, a hub name, or a file of word vectors.")]
Layer = Annotated[str | None, typer.Option(help="Layer of the model: -1 is the last, 1,-1 averages.")]
Pooling = Annotated[str | None, typer.Option(help="Tokens to one vector: mean, cls, max or last.")]
Prompt = Annotated[str, typer.Option(help='Put before every text, such as "query: ".')]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Encode every text anew: neither take vectors from the cache nor keep them.")
]


def check_encoding(model: str | None, **given: object) -> None:
    """Options that only mean something with a model, and numbers that cannot be.

    Raises:
        OptionError: one of them.
    """
    from uncone.errors import OptionError

    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if model is None and value is not None:
            raise OptionError(f"{option} is for texts: name a model with --model.")
        if isinstance(value, int) and value < (2 if name == "limit" else 1):
            raise OptionError(f"{option} {value} is too small.")


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
