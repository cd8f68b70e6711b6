"""The flow repair: vectors mapped to a standard normal by an invertible network that is trained on them.

The network is Glow (Kingma and Dhariwal 2018) with the additive coupling of NICE (Dinh et al. 2015).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np

from uncone.data.batch import Matrix, Vector
from uncone.data.source import Source
from uncone.errors import FitError, OptionError, require
from uncone.repairs.repair import Arrays, Progress, Repair, sampled_rows
from uncone.run.measure import Plan

require("torch", extra="models")

import torch  # noqa: E402
from sklearn.utils.validation import check_array, check_is_fitted  # noqa: E402
from torch import Generator, Tensor, nn  # noqa: E402
from torch.nn.functional import linear, relu  # noqa: E402

__all__ = ["NEGATIVE", "Epoch", "Flow", "Glow", "Step"]

NEGATIVE = "below zero is normal: it is the density that is measured, and a density may be above 1"

_AT_ONCE = 2048
"""Rows that are mapped together: they stay in a core's cache through all steps."""
_FIRST_LOOK = 32
"""Rows that actnorm is initialized by, at least: a batch, as in the code that came with the paper."""
_LOOKED_AT = 4096
"""Rows that tell where training begins."""
_REPORTED = 32
"""Batches between two reports of progress."""
_CLIP = 1.0
_THREADS = 1
"""Of torch: more wait for each other in layers this small, and would make the digits those of the machine."""
_CONSTANT = 1e-4
"""A standard deviation, of rows whose overall one is 1, under which a dimension counts as constant."""


class Epoch(NamedTuple):
    """Bits per dimension of the rows that were trained on, and of those held out (NaN if none)."""

    epoch: int
    train: float
    held_out: float

    def __str__(self) -> str:
        holdout = "" if math.isnan(self.held_out) else f", held out {self.held_out:.2f}"
        sign = f" ({NEGATIVE})" if self.train < 0 else ""
        return f"{self.train:.2f} bits per dimension{holdout}{sign}"


class Flow(Repair):
    """Map rows by a Glow-style flow to nearly a standard normal distribution.

    Li et al. 2020, On the Sentence Embeddings from Pre-trained Language Models (BERT-flow). `levels` of `depth` steps
    of actnorm, reversal and additive coupling with two `hidden` layers; Adam with `lr` on batches of `batch` rows for
    at most `epochs`. A share `holdout` of the rows is not trained on: when their likelihood has not grown for
    `patience` epochs training ends, and the weights of the best epoch are taken.

    Rows are centered and divided by one number first, so that their length does not matter. Training is on at most
    `sample` rows, held in memory and shuffled anew in every epoch; of more, a sample drawn by `seed`.

    Learned: `history_`, the learning curve, from epoch 0 (nothing trained but actnorm set) on, in bits per dimension
    of the rows as they were given; `best_`, the epoch that was taken; `note_`, what was done.
    """

    kind: ClassVar[str] = "flow"
    center_: Vector
    scale_: float
    history_: list[Epoch]
    best_: int
    note_: str

    def __init__(
        self,
        levels: int = 2,
        depth: int = 3,
        hidden: int = 32,
        epochs: int = 5,
        batch: int = 32,
        lr: float = 1e-3,
        seed: int = 0,
        patience: int = 2,
        holdout: float = 0.1,
        sample: int = 100_000,
    ) -> None:
        self.levels = levels
        self.depth = depth
        self.hidden = hidden
        self.epochs = epochs
        self.batch = batch
        self.lr = lr
        self.seed = seed
        self.patience = patience
        self.holdout = holdout
        self.sample = sample

    def _learn(self, source: Source, plan: Plan, progress: Progress | None) -> None:
        self._check()
        rows = sampled_rows(source, plan, self.sample, self.seed, "flow, sample", progress)
        self.center_ = rows.mean(axis=0, dtype=np.float64)
        centered = rows - self.center_.astype(rows.dtype)
        self.scale_ = float(np.sqrt(np.vecdot(centered, centered).sum(dtype=np.float64) / rows.size))
        centered *= rows.dtype.type(1.0 / self.scale_)
        z = torch.from_numpy(centered.astype(np.float32, copy=False))
        sampling = "a seeded sample of " if len(z) == self.sample and source.rows != len(z) else ""
        del rows
        with _fixed_threads():
            self._train(z, sampling, progress)

    def _check(self) -> None:
        whole = {"levels": 1, "depth": 1, "hidden": 1, "epochs": 1, "batch": 1, "patience": 1, "seed": 0, "sample": 2}
        for name, least in whole.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise OptionError(f"{name}={value!r} cannot be used. Give a whole number from {least} on.")
        if not (isinstance(self.lr, int | float) and 0 < self.lr < math.inf):
            raise OptionError(f"lr={self.lr!r} is no learning rate. Give a number above 0, such as 0.001.")
        if not (isinstance(self.holdout, int | float) and 0 <= self.holdout < 1):
            raise OptionError(f"holdout={self.holdout!r} is no share of the rows. Give a number from 0 to below 1.")

    def _train(self, z: Tensor, sampling: str, progress: Progress | None) -> None:
        """Train on standardized rows; however training ends, the best weights so far are kept."""
        generator = Generator().manual_seed(int(self.seed))
        order = torch.randperm(len(z), generator=generator)
        n_held_out = round(self.holdout * len(z))
        n_held_out = n_held_out if len(z) - n_held_out >= 2 else 0
        apart, train = z[order[:n_held_out]], z[order[n_held_out:]]
        network = Glow(z.shape[1], self.levels, self.depth, self.hidden, generator)
        network.initialize(train[: max(self.batch, _FIRST_LOOK)])
        self.history_ = [Epoch(0, self._bits(network, train[:_LOOKED_AT]), self._bits(network, apart))]
        self._take(network, 0)
        counts = f"{sampling}{len(train):,} vectors, {f'{n_held_out:,}' if n_held_out else 'none'} held out"
        try:
            self._epochs(network, train, apart, generator, progress)
        finally:
            self.note_ = f"trained on {counts}; epoch {self.best_} of {self.history_[-1].epoch} was taken: "
            self.note_ += f"{self.history_[self.best_]}"

    def _epochs(
        self, network: Glow, train: Tensor, apart: Tensor, generator: Generator, progress: Progress | None
    ) -> None:
        optimizer = torch.optim.Adam(network.parameters(), lr=self.lr, fused=True)
        for epoch in range(1, self.epochs + 1):
            step = f"flow, epoch {epoch} of {self.epochs}: {self.history_[-1]}"
            total = 0.0
            batches = torch.randperm(len(train), generator=generator).split(self.batch)  # type: ignore[no-untyped-call]
            waiting = 0
            for i, places in enumerate(batches):
                total += self._descend(network, optimizer, train[places], epoch) * len(places)
                waiting += len(places)
                if progress is not None and ((i + 1) % _REPORTED == 0 or i + 1 == len(batches)):
                    progress(step, waiting, len(train))
                    waiting = 0
            now = Epoch(epoch, total / len(train) + math.log2(self.scale_), self._bits(network, apart))
            self._check_finite(now.held_out if len(apart) else now.train, epoch)
            self.history_.append(now)
            if not len(apart) or now.held_out < self.history_[self.best_].held_out:
                self._take(network, epoch)
            elif epoch - self.best_ >= self.patience:
                break

    def _descend(self, network: Glow, optimizer: torch.optim.Optimizer, rows: Tensor, epoch: int) -> float:
        """One step of the optimizer; the loss before it."""
        optimizer.zero_grad()
        loss = network.bits(rows)
        value = float(loss.detach())
        self._check_finite(value, epoch)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(network.parameters(), _CLIP)
        optimizer.step()
        return value

    def _check_finite(self, bits: float, epoch: int) -> None:
        if not math.isfinite(bits):
            raise FitError(
                f"flow: the likelihood became {bits} in epoch {epoch}; the weights of epoch {self.best_} are kept. "
                f"Try a learning rate smaller than {self.lr:g}."
            )

    @torch.no_grad()
    def _bits(self, network: Glow, z: Tensor) -> float:
        """Bits per dimension of standardized rows, measured before standardization; NaN without rows."""
        if not len(z):
            return math.nan
        parts = [z[start : start + _AT_ONCE] for start in range(0, len(z), _AT_ONCE)]
        total = sum(float(network.bits(part)) * len(part) for part in parts)
        return total / len(z) + math.log2(self.scale_)

    def _take(self, network: Glow, epoch: int) -> None:
        """Keep a copy of the network in each precision."""
        single = deepcopy(network).eval().requires_grad_(False)
        self._networks: dict[Any, Glow] = {
            np.dtype(np.float32): single,
            np.dtype(np.float64): deepcopy(single).double(),
        }
        self.best_ = epoch
        self._n_features_out = network.dim

    @property
    def flops_per_row(self) -> float:
        """The layers of the couplings."""
        weights = (weight.numel() for weight in self.network().parameters() if weight.ndim == 2)
        return 2.0 * sum(weights)

    def _map(self, rows: Matrix) -> Matrix:
        network, center = self._networks[rows.dtype], self.center_.astype(rows.dtype)
        out = np.empty(rows.shape, rows.dtype)
        with torch.no_grad(), _fixed_threads():
            for start in range(0, len(rows), _AT_ONCE):
                z = (rows[start : start + _AT_ONCE] - center) * rows.dtype.type(1.0 / self.scale_)
                out[start : start + _AT_ONCE] = network(torch.from_numpy(z)).numpy()
        return out

    def inverse_transform(self, X: Any) -> Matrix:  # noqa: ANN401 - scikit-learn's contract
        """The rows before `transform`."""
        check_is_fitted(self)
        rows = check_array(X, dtype=[np.float64, np.float32])
        if rows.shape[1] != self._n_features_out:
            raise ValueError(f"X has {rows.shape[1]} features, but {self.kind} gave {self._n_features_out}.")
        network, out = self._networks[rows.dtype], np.empty(rows.shape, rows.dtype)
        with torch.no_grad(), _fixed_threads():
            for start in range(0, len(rows), _AT_ONCE):
                z = network.inverse(torch.from_numpy(rows[start : start + _AT_ONCE].copy())).numpy()
                out[start : start + _AT_ONCE] = z * rows.dtype.type(self.scale_) + self.center_.astype(rows.dtype)
        return out

    def network(self) -> Glow:
        """The trained network, in float32: for rows minus `center_`, divided by `scale_`."""
        check_is_fitted(self)
        return self._networks[np.dtype(np.float32)]

    def arrays(self) -> Arrays:
        """What was learned: the weights in float32; `history` (epochs, 2) of the rows trained on and those held out.

        It has one column when none were held out: a saved repair holds no NaN.
        """
        weights = {f"network.{name}": value.numpy().copy() for name, value in self.network().state_dict().items()}
        history = np.array([[epoch.train, epoch.held_out] for epoch in self.history_])
        history = history[:, ~np.isnan(history[0])]
        best = np.array([float(self.best_)])
        return {"centre": self.center_, "scale": np.array([self.scale_]), "history": history, "best": best, **weights}

    def restore(self, arrays: Arrays) -> Self:
        """Take over what another repair with the same parameters learned."""
        self._check_size(arrays)
        self.center_, self.scale_ = arrays["centre"], float(arrays["scale"][0])
        self.history_ = [Epoch(i, *[*bits, math.nan][:2]) for i, bits in enumerate(arrays["history"].tolist())]
        network = Glow(len(self.center_), self.levels, self.depth, self.hidden)
        prefix = "network."
        weights = {name: torch.tensor(value) for name, value in arrays.items() if name.startswith(prefix)}
        network.load_state_dict({name.removeprefix(prefix): value for name, value in weights.items()})
        self.n_features_in_ = len(self.center_)
        self._take(network, int(arrays["best"][0]))
        return self

    def _check_size(self, arrays: Arrays) -> None:
        """Refuse parameters that were tampered with, before a network of their size is made."""
        sizes = {size for name, value in arrays.items() if ".layers." in name for size in value.shape}
        steps = [name for name in arrays if name.endswith(".shift")]
        whole = all(type(size) is int and size > 0 for size in (self.levels, self.depth, self.hidden))
        inner = self.hidden in sizes or len(arrays["centre"]) == 1
        if not whole or self.levels * self.depth != len(steps) or not inner:
            raise ValueError(
                f"{len(steps)} saved steps are not levels={self.levels} of depth={self.depth}, hidden={self.hidden}"
            )


@contextmanager
def _fixed_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(_THREADS)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Step(nn.Module):
    """Actnorm, reversal, additive coupling: a small network shifts the back of a row by a function of its front.

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
        return torch.cat([front, back + self._shift(front)], 1)

    def inverse(self, rows: Tensor) -> Tensor:
        """The rows before `forward`."""
        front, back = self._halves(rows)
        before = torch.cat([front, back - self._shift(front)], 1)
        return before.flip(1) * (-self.log_scale).exp() - self.shift

    def _halves(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        return rows[:, : self.front], rows[:, self.front :]

    def _shift(self, front: Tensor) -> Tensor | float:
        if not len(self.layers):
            return 0.0  # a single dimension has no front
        weights, biases = list(self.layers[::2]), list(self.layers[1::2])
        for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
            front = relu(linear(front, weight, bias))
        return linear(front, weights[-1], biases[-1])

    @torch.no_grad()
    def initialize(self, rows: Tensor) -> Tensor:
        """Let actnorm bring these rows to mean 0 and deviation 1 in every dimension; a constant one keeps its scale."""
        deviation = rows.std(0, correction=0)
        self.shift.copy_(-rows.mean(0))
        self.log_scale.copy_(-torch.where(deviation > _CONSTANT, deviation, 1.0).log())
        return self.forward(rows)


class Glow(nn.Module):
    """`levels` of `depth` steps each; after every level but the last, half of the dimensions are final.

    The back, which the last coupling shifted, continues; the front is final.
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
        """The steps of every level, and the number of dimensions that continue from it."""
        levels = [[cast(Step, step) for step in cast(nn.ModuleList, steps)] for steps in self.steps]
        return list(zip(levels, [*self.widths[1:], self.widths[-1]], strict=True))

    def forward(self, rows: Tensor) -> Tensor:
        """The rows (n, d) mapped to the standard normal."""
        factored: list[Tensor] = []
        for steps, width_left in self._levels():
            for step in steps:
                rows = step(rows)
            factored.append(rows[:, : rows.shape[1] - width_left])
            rows = rows[:, rows.shape[1] - width_left :]
        return torch.cat([*factored, rows], 1)

    def inverse(self, rows: Tensor) -> Tensor:
        """The rows before `forward`."""
        left = self.dim - self.widths[-1]
        factored, rows = rows[:, :left], rows[:, left:]
        for (steps, width_left), width in zip(reversed(self._levels()), reversed(self.widths), strict=True):
            left -= width - width_left
            factored, rows = factored[:, :left], torch.cat([factored[:, left:], rows], 1)
            for step in reversed(steps):
                rows = step.inverse(rows)
        return rows

    def log_determinant(self) -> Tensor:
        """The log of the volume change, the same everywhere because additive couplings preserve volume."""
        return torch.stack([step.log_scale.sum() for steps, _ in self._levels() for step in steps]).sum()

    def bits(self, rows: Tensor) -> Tensor:
        """The mean negative log2 of the density at the rows, per dimension."""
        z: Tensor = self(rows)
        nats = 0.5 * (z**2).sum(1).mean() + 0.5 * self.dim * math.log(2 * math.pi) - self.log_determinant()
        return nats / (self.dim * math.log(2))

    @torch.no_grad()
    def initialize(self, rows: Tensor) -> None:
        """Initialize every actnorm from these rows."""
        for steps, width_left in self._levels():
            for step in steps:
                rows = step.initialize(rows)
            rows = rows[:, rows.shape[1] - width_left :]
