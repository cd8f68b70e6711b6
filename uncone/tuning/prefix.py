"""The lower blocks of a transformer as a prefix: what they give is taken out once, and put in again later."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from uncone.errors import ModelError, require
from uncone.tuning.surgery import blocks_of, embeddings_of

require("torch", "transformers", extra="tune")

import torch  # noqa: E402
from torch import nn  # noqa: E402

__all__ = ["block_inputs", "from_states"]


@contextmanager
def from_states(encoder: Any, first: int, states: torch.Tensor) -> Iterator[None]:  # noqa: ANN401
    """Let the blocks from `first` on work on these states; everything below is left out."""
    stack = blocks_of(encoder)
    below = list(stack[:first])
    skipped = [*embeddings_of(encoder), *below]

    def replaced(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if "hidden_states" in kwargs:
            return args, {**kwargs, "hidden_states": states}
        return (states, *args[1:]), kwargs

    hook = stack[first].register_forward_pre_hook(replaced, with_kwargs=True)
    for part in skipped:
        # What these give is replaced before the first block that runs; only its shape is looked at.
        part.forward = lambda *_args, **_kwargs: states
    try:
        yield
    finally:
        hook.remove()
        for part in skipped:
            del part.forward


class _Reached(Exception):
    """The forward pass has come to the block."""


def block_inputs(encoder: Any, block: int, run: Callable[[], object]) -> torch.Tensor:  # noqa: ANN401
    """The states (b, t, d) that a block is given while `run` runs the encoder, which goes no further.

    Raises:
        ModelError: the block is never run.
    """
    inputs: list[torch.Tensor] = []

    def stop(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        inputs.append(kwargs["hidden_states"] if "hidden_states" in kwargs else args[0])
        raise _Reached

    hook = blocks_of(encoder)[block].register_forward_pre_hook(stop, with_kwargs=True)
    try:
        run()
    except _Reached:
        return inputs[0]
    finally:
        hook.remove()
    raise ModelError("The first trained layer of this model is never run. Try it without frozen layers.")
