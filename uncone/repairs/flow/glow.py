"""The network of the flow: an invertible map of rows to a standard normal, whose log-determinant is known.

Kingma and Dhariwal 2018, Glow, with the additive coupling of Dinh et al. 2015, NICE, as Li et al. 2020 use it.
"""

from __future__ import annotations

import math
from typing import cast

from uncone.extras import require

require("torch", extra="models")

import torch  # noqa: E402
from torch import Generator, Tensor, nn  # noqa: E402
from torch.nn.functional import linear, relu  # noqa: E402

__all__ = ["Glow", "Step"]

_CONSTANT = 1e-4
"""A standard deviation, of rows whose overall one is 1, under which a dimension counts as constant."""


class Step(nn.Module):
    """Actnorm, reversal, additive coupling: the front of the row moves its back by what a small network says.

    Of an odd number of dimensions the one in the middle belongs to the back of `even` steps and to the front of the
    others; otherwise it would stay in the same part for ever. The last layer begins at zero: the coupling does nothing.
    """

    def __init__(self, dim: int, hidden: int, *, even: bool, generator: Generator) -> None:
        super().__init__()
        self.front = (dim if even else dim + 1) // 2
        self.shift = nn.Parameter(torch.zeros(dim))
        self.log_scale = nn.Parameter(torch.zeros(dim))
        self.layers = nn.ParameterList()
        if 0 < self.front < dim:
            widths = (self.front, hidden, hidden)
            for width, after in zip(widths, (hidden, hidden, dim - self.front), strict=True):
                weight, bias = torch.zeros(after, width), torch.zeros(after)
                if len(self.layers) < 4:
                    # By the width: the fixed 0.05 of the code that came with the paper suits layers of 512, not of 32.
                    bound = 1 / math.sqrt(width)
                    weight.uniform_(-bound, bound, generator=generator)
                    bias.uniform_(-bound, bound, generator=generator)
                self.layers.extend([weight, bias])

    def forward(self, rows: Tensor) -> Tensor:
        """The rows (n, d) one step nearer to the normal."""
        front, back = self._halves(((rows + self.shift) * self.log_scale.exp()).flip(1))
        return torch.cat([front, back + self._moved(front)], 1)

    def inverse(self, rows: Tensor) -> Tensor:
        """The rows that `forward` made these of."""
        front, back = self._halves(rows)
        before = torch.cat([front, back - self._moved(front)], 1)
        return before.flip(1) * (-self.log_scale).exp() - self.shift

    def _halves(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        return rows[:, : self.front], rows[:, self.front :]

    def _moved(self, front: Tensor) -> Tensor | float:
        if not len(self.layers):
            return 0.0  # one dimension has nothing to be moved by
        weights, biases = list(self.layers[::2]), list(self.layers[1::2])
        for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
            front = relu(linear(front, weight, bias))
        return linear(front, weights[-1], biases[-1])

    @torch.no_grad()
    def initialise(self, rows: Tensor) -> Tensor:
        """Let actnorm bring these rows to mean 0 and deviation 1 in every dimension; a constant one keeps its scale."""
        deviation = rows.std(0, correction=0)
        self.shift.copy_(-rows.mean(0))
        self.log_scale.copy_(-torch.where(deviation > _CONSTANT, deviation, 1.0).log())
        return self.forward(rows)


class Glow(nn.Module):
    """`levels` of `depth` steps each; after every level but the last, half of the dimensions are done.

    What goes on is the back, which the last coupling moved; the front, which moved it, is done.
    """

    def __init__(self, dim: int, levels: int, depth: int, hidden: int, generator: Generator | None = None) -> None:
        super().__init__()
        generator = generator or Generator()
        self.dim = dim
        self.widths: list[int] = []
        self.steps = nn.ModuleList()
        width = dim
        for _ in range(levels):
            self.widths.append(width)
            steps = [Step(width, hidden, even=i % 2 == 0, generator=generator) for i in range(depth)]
            self.steps.append(nn.ModuleList(steps))
            width -= width // 2

    def _levels(self) -> list[tuple[list[Step], int]]:
        """The steps of every level, and how many dimensions go on from it: of the last, all it has."""
        levels = [[cast(Step, step) for step in cast(nn.ModuleList, steps)] for steps in self.steps]
        return list(zip(levels, [*self.widths[1:], self.widths[-1]], strict=True))

    def forward(self, rows: Tensor) -> Tensor:
        """The rows (n, d) as the model would have them: standard normal."""
        done: list[Tensor] = []
        for steps, going_on in self._levels():
            for step in steps:
                rows = step(rows)
            done.append(rows[:, : rows.shape[1] - going_on])
            rows = rows[:, rows.shape[1] - going_on :]
        return torch.cat([*done, rows], 1)

    def inverse(self, rows: Tensor) -> Tensor:
        """The rows that `forward` made these of."""
        left = self.dim - self.widths[-1]
        done, rows = rows[:, :left], rows[:, left:]
        for (steps, going_on), width in zip(reversed(self._levels()), reversed(self.widths), strict=True):
            left -= width - going_on
            done, rows = done[:, :left], torch.cat([done[:, left:], rows], 1)
            for step in reversed(steps):
                rows = step.inverse(rows)
        return rows

    def log_determinant(self) -> Tensor:
        """The log of the volume that a unit of volume becomes: the same everywhere, because couplings only move."""
        return torch.stack([step.log_scale.sum() for steps, _ in self._levels() for step in steps]).sum()

    def bits(self, rows: Tensor) -> Tensor:
        """The mean negative log2 of the density at the rows, per dimension."""
        z: Tensor = self(rows)
        nats = 0.5 * (z**2).sum(1).mean() + 0.5 * self.dim * math.log(2 * math.pi) - self.log_determinant()
        return nats / (self.dim * math.log(2))

    @torch.no_grad()
    def initialise(self, rows: Tensor) -> None:
        """Set every actnorm by what reaches it of these rows."""
        for steps, going_on in self._levels():
            for step in steps:
                rows = step.initialise(rows)
            rows = rows[:, rows.shape[1] - going_on :]
