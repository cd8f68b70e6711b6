"""From the vectors of tokens to one of a text, in torch: as uncone pools, for any side of padding."""

from __future__ import annotations

from uncone.extras import require

require("torch", extra="models")

from torch import Tensor  # noqa: E402

__all__ = ["inner_mask", "pooled"]


def inner_mask(mask: Tensor, before: int, after: int) -> Tensor:
    """The mask (b, t) without the special tokens in front and behind; a text of nothing else keeps them.

    >>> import torch
    >>> inner_mask(torch.tensor([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]]), 1, 1)
    tensor([[0, 1, 1, 0, 0],
            [1, 1, 0, 0, 0]])
    """
    place, length = mask.cumsum(dim=1), mask.sum(dim=1, keepdim=True)
    inside = mask * (place > before) * (place <= length - after)
    bare = (inside.sum(dim=1, keepdim=True) == 0).to(mask.dtype)
    return inside + bare * mask


def pooled(states: Tensor, mask: Tensor, kind: str) -> Tensor:
    """Vectors (b, d) of states (b, t, d): the mean or the maximum, or the first or the last, of the tokens that count.

    >>> import torch
    >>> pooled(torch.tensor([[[1.0], [3.0], [9.0]]]), torch.tensor([[1, 1, 0]]), "mean")
    tensor([[2.]])
    """
    if kind == "max":
        return states.masked_fill(mask.unsqueeze(-1) == 0, float("-inf")).amax(dim=1)
    if kind in ("cls", "last"):
        place = mask.cumsum(dim=1)
        wanted = 1 if kind == "cls" else mask.sum(dim=1, keepdim=True)
        mask = mask * (place == wanted)
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1.0)
