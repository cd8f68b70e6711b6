"""Layer surgery before training: layers that are frozen, removed or re-initialized. Layer 0 is the embeddings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from uncone.errors import ModelError, OptionError, require

require("torch", "transformers", extra="tune")

import torch  # noqa: E402
from torch import nn  # noqa: E402

__all__ = [
    "Surgery",
    "blocks_of",
    "embeddings_of",
    "frozen_depth",
    "layer_module",
    "operate",
    "parse_layers",
    "planned_surgery",
]

_DEPTH = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
_ALL_BUT = "all-but"


@dataclass(frozen=True)
class Surgery:
    """Layers by their numbers in the untouched model: 0 is the embeddings, 1 to L the blocks."""

    freeze: frozenset[int] = frozenset()
    drop: frozenset[int] = frozenset()
    reinit: frozenset[int] = frozenset()


def parse_layers(text: str | Iterable[str], n_layers: int, flag: str) -> frozenset[int]:
    """Layers of a list such as `embeddings,1-4`; `all-but 4` is every layer except 4.

    >>> sorted(parse_layers("embeddings,1-2", 4, "--freeze")), sorted(parse_layers("all-but 3-4", 4, "--freeze"))
    ([0, 1, 2], [0, 1, 2])

    Raises:
        OptionError: a layer that the model does not have, or not a list of layers.
    """
    whole = text if isinstance(text, str) else ",".join(map(str, text))
    rest = whole.strip().removeprefix(_ALL_BUT)
    is_complement = rest != whole.strip()
    layers: set[int] = set()
    for part in filter(None, (part.strip() for part in rest.lstrip("= :").split(","))):
        first, dash, last = part.partition("-")
        ends = [0 if end == "embeddings" else int(end) if end.isdecimal() else -1 for end in (first, last or first)]
        if -1 in ends or (dash and not last) or ends[0] > ends[1]:
            raise OptionError(f"{flag} {whole!r}: {part!r} is not a layer. Write embeddings,1-4 or 'all-but 4'.")
        if ends[1] > n_layers:
            raise OptionError(f"{flag}: there is no layer {ends[1]}; the model has layers 1 to {n_layers}.")
        layers.update(range(ends[0], ends[1] + 1))
    if is_complement and not layers:
        raise OptionError(f"{flag} {whole!r} names no layer to leave out. Write 'all-but 4'.")
    return frozenset(range(n_layers + 1)) - layers if is_complement else frozenset(layers)


def planned_surgery(model: Any, freeze: str = "", drop: str = "", reinit: str = "") -> Surgery:  # noqa: ANN401
    """The surgery that options ask for, checked against the layers of the model.

    Raises:
        OptionError: a layer that is not there, one that is named twice, or nothing left to train.
    """
    n = len(blocks_of(model))
    frozen, dropped = parse_layers(freeze, n, "--freeze"), parse_layers(drop, n, "--drop-layers")
    fresh = parse_layers(reinit, n, "--reinit")
    if 0 in dropped or 0 in fresh:
        flag = "--drop-layers" if 0 in dropped else "--reinit"
        raise OptionError(f"{flag} is for the layers 1 to {n}: the embeddings can only be frozen.")
    if len(dropped) == n:
        raise OptionError(f"--drop-layers removes all {n} layers. Leave at least one.")
    for first, second, names in (
        (dropped, fresh, "dropped and re-initialized"),
        (dropped, frozen - {0}, "dropped and frozen"),
    ):
        if both := sorted(first & second):
            raise OptionError(f"Layer {both[0]} can't be both {names}. Name it once.")
    if frozen | dropped >= set(range(n + 1)):
        raise OptionError(f"Every layer is frozen, so nothing would be trained. Leave one of 0 to {n} free.")
    return Surgery(frozen, dropped, fresh)


def blocks_of(model: Any) -> nn.ModuleList:  # noqa: ANN401 - the classes of transformers are not typed
    """The stack of blocks of a transformers model.

    Raises:
        ModelError: it has no such stack, or several.
    """
    count = next((int(getattr(model.config, name)) for name in _DEPTH if getattr(model.config, name, None)), 0)
    lists = [part for part in model.modules() if isinstance(part, nn.ModuleList) and len(part) == count]
    stacks = [part for part in lists if not any(part is not other and _holds(other, part) for other in lists)]
    if len(stacks) != 1:
        raise ModelError(
            f"The layers of this {model.config.model_type} model can't be told apart: we found {len(stacks)} stacks of "
            f"{count} blocks, and need one."
        )
    return stacks[0]


def embeddings_of(model: Any) -> list[nn.Module]:  # noqa: ANN401
    """The modules of layer 0: outside the stack, with a table of embeddings in them."""
    stack = blocks_of(model)
    outside = [part for part in model.modules() if not _holds(stack, part) and not _holds(part, stack)]
    tables = [part for part in outside if any(isinstance(child, nn.Embedding) for child in part.modules())]
    return [part for part in tables if not any(part is not other and _holds(other, part) for other in tables)]


def _holds(module: nn.Module, part: nn.Module) -> bool:
    return any(child is part for child in module.modules())


def layer_module(model: Any, layer: int) -> list[nn.Module]:  # noqa: ANN401
    """The modules of a layer: 0 is the embeddings."""
    return embeddings_of(model) if layer == 0 else [blocks_of(model)[layer - 1]]


def operate(model: Any, surgery: Surgery, seed: int = 0) -> None:  # noqa: ANN401
    """Re-initialize and freeze layers, then remove those to drop; the config follows.

    New weights are drawn as the model itself draws them, from `seed` alone.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for layer in sorted(surgery.reinit):
            for part in layer_module(model, layer):
                _reinitialize(model, part)
    for layer in sorted(surgery.freeze):
        for part in layer_module(model, layer):
            part.requires_grad_(False)
    if surgery.drop:
        _drop(model, surgery.drop)


def _reinitialize(model: Any, part: nn.Module) -> None:  # noqa: ANN401
    for child in part.modules():
        for holder in (child, *child.parameters(recurse=False)):
            setattr(holder, "_is_hf_initialized", False)  # noqa: B010 - else transformers leaves it as it is
    part.apply(model._init_weights)


def _drop(model: Any, layers: frozenset[int]) -> None:  # noqa: ANN401
    stack, config = blocks_of(model), model.config
    blocks = [block for number, block in enumerate(stack, 1) if number not in layers]
    if getattr(config, "layer_types", None):
        config.layer_types = [kind for number, kind in enumerate(config.layer_types, 1) if number not in layers]
    for name in _DEPTH:
        if getattr(config, name, None):
            setattr(config, name, len(blocks))
    del stack[:]
    stack.extend(blocks)
    _renumber(stack)


def _renumber(stack: nn.ModuleList) -> None:
    """Blocks of causal models know their number, which is their place in the key-value cache."""
    for number, block in enumerate(stack):
        for part in block.modules():
            if isinstance(getattr(part, "layer_idx", None), int):
                part.layer_idx = number  # type: ignore[assignment]


def frozen_depth(model: Any, surgery: Surgery) -> int:  # noqa: ANN401
    """The number of layers from the bottom, embeddings included, that are frozen without a gap, after surgery."""
    n = len(blocks_of(model)) + len(surgery.drop)
    layers = [layer for layer in range(n + 1) if layer not in surgery.drop]
    return next((depth for depth, layer in enumerate(layers) if layer not in surgery.freeze), len(layers))
