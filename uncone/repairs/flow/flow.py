"""The flow repair: rows mapped to a standard normal by an invertible network that is trained on them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from uncone.data.batch import Matrix, Vector
from uncone.data.source import Source
from uncone.errors import FitError, OptionError
from uncone.extras import require
from uncone.repairs.repair import Arrays, Progress, Repair
from uncone.repairs.sampled_rows import drawn_rows
from uncone.run.measure import Plan

require("torch", extra="models")

import torch  # noqa: E402
from sklearn.utils.validation import check_array, check_is_fitted  # noqa: E402
from torch import Generator, Tensor, nn  # noqa: E402

from uncone.repairs.flow.glow import Glow  # noqa: E402

__all__ = ["NEGATIVE", "Epoch", "Flow"]

NEGATIVE = "below zero is normal: it is the density that is measured, and a density may be above 1"

_AT_ONCE = 2048
"""Rows that are mapped together: they stay in a core's cache through all steps."""
_FIRST_LOOK = 32
"""Rows that actnorm is initialised by, at least: a batch, as in the code that came with the paper."""
_LOOKED_AT = 4096
"""Rows that tell where training begins."""
_REPORTED = 32
"""Batches between two reports of progress."""
_CLIP = 1.0
_THREADS = 1
"""Of torch: more wait for each other in layers this small, and would make the digits those of the machine."""


class Epoch(NamedTuple):
    """Bits per dimension of the rows that were trained on, and of those held out (NaN: none were)."""

    epoch: int
    train: float
    held_out: float

    def __str__(self) -> str:
        held = "" if math.isnan(self.held_out) else f", held out {self.held_out:.2f}"
        sign = f" ({NEGATIVE})" if self.train < 0 else ""
        return f"{self.train:.2f} bits per dimension{held}{sign}"


class Flow(Repair):
    """Map rows by a Glow-style flow to what is, for the rows it was trained on, nearly a standard normal.

    Li et al. 2020, On the Sentence Embeddings from Pre-trained Language Models (BERT-flow). `levels` of `depth` steps
    of actnorm, reversal and additive coupling with two `hidden` layers; Adam with `lr` on batches of `batch` rows for
    at most `epochs`. A share `holdout` of the rows is not trained on: when their likelihood has not grown for
    `patience` epochs training ends, and the weights of the best epoch are taken.

    Rows are centred and divided by one number first, so that their length does not matter. Training is on at most
    `sample` rows, held in memory and shuffled anew in every epoch; of more, a sample drawn by `seed`.

    Learnt: `history_`, the learning curve, from epoch 0 (nothing trained but actnorm set) on, in bits per dimension
    of the rows as they were given; `best_`, the epoch that was taken; `note_`, what was done.
    """

    kind: ClassVar[str] = "flow"
    centre_: Vector
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
        rows = drawn_rows(source, plan, self.sample, self.seed, "flow, sample", progress)
        self.centre_ = rows.mean(axis=0, dtype=np.float64)
        centred = rows - self.centre_.astype(rows.dtype)
        self.scale_ = float(np.sqrt(np.vecdot(centred, centred).sum(dtype=np.float64) / rows.size))
        centred *= rows.dtype.type(1.0 / self.scale_)
        z = torch.from_numpy(centred.astype(np.float32, copy=False))
        drawn = "a seeded sample of " if len(z) == self.sample and source.rows != len(z) else ""
        del rows
        with _fixed_threads():
            self._train(z, drawn, progress)

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

    def _train(self, z: Tensor, drawn: str, progress: Progress | None) -> None:
        """Train on standardised rows; whatever ends the training, the best weights so far are taken."""
        generator = Generator().manual_seed(int(self.seed))
        order = torch.randperm(len(z), generator=generator)
        held = round(self.holdout * len(z))
        held = held if len(z) - held >= 2 else 0
        apart, train = z[order[:held]], z[order[held:]]
        network = Glow(z.shape[1], self.levels, self.depth, self.hidden, generator)
        network.initialise(train[: max(self.batch, _FIRST_LOOK)])
        self.history_ = [Epoch(0, self._bits(network, train[:_LOOKED_AT]), self._bits(network, apart))]
        self._take(network, 0)
        told = f"{drawn}{len(train):,} rows, {f'{held:,}' if held else 'none'} held out"
        try:
            self._epochs(network, train, apart, generator, progress)
        finally:
            self.note_ = f"trained on {told}; epoch {self.best_} of {self.history_[-1].epoch} was taken: "
            self.note_ += f"{self.history_[self.best_]}"

    def _epochs(
        self, network: Glow, train: Tensor, apart: Tensor, generator: Generator, progress: Progress | None
    ) -> None:
        optimiser = torch.optim.Adam(network.parameters(), lr=self.lr, fused=True)
        for epoch in range(1, self.epochs + 1):
            step = f"flow, epoch {epoch} of {self.epochs}: {self.history_[-1]}"
            total = 0.0
            batches = torch.randperm(len(train), generator=generator).split(self.batch)  # type: ignore[no-untyped-call]
            waiting = 0
            for i, places in enumerate(batches):
                total += self._descend(network, optimiser, train[places], epoch) * len(places)
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

    def _descend(self, network: Glow, optimiser: torch.optim.Optimizer, rows: Tensor, epoch: int) -> float:
        """One step of the optimiser; the loss before it."""
        optimiser.zero_grad()
        loss = network.bits(rows)
        value = float(loss.detach())
        self._check_finite(value, epoch)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(network.parameters(), _CLIP)
        optimiser.step()
        return value

    def _check_finite(self, bits: float, epoch: int) -> None:
        if not math.isfinite(bits):
            raise FitError(
                f"flow: the likelihood became {bits} in epoch {epoch}; the weights of epoch {self.best_} are kept. "
                f"Try a learning rate smaller than {self.lr:g}."
            )

    @torch.no_grad()
    def _bits(self, network: Glow, z: Tensor) -> float:
        """Bits per dimension of standardised rows, as they were before they were standardised; NaN of none."""
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

    def _map(self, rows: Matrix) -> Matrix:
        network, centre = self._networks[rows.dtype], self.centre_.astype(rows.dtype)
        out = np.empty(rows.shape, rows.dtype)
        with torch.no_grad(), _fixed_threads():
            for start in range(0, len(rows), _AT_ONCE):
                z = (rows[start : start + _AT_ONCE] - centre) * rows.dtype.type(1.0 / self.scale_)
                out[start : start + _AT_ONCE] = network(torch.from_numpy(z)).numpy()
        return out

    def inverse_transform(self, X: Any) -> Matrix:  # noqa: ANN401 - scikit-learn's contract
        """The rows that `transform` made these of."""
        check_is_fitted(self)
        rows = check_array(X, dtype=[np.float64, np.float32])
        if rows.shape[1] != self._n_features_out:
            raise ValueError(f"X has {rows.shape[1]} features, but {self.kind} gave {self._n_features_out}.")
        network, out = self._networks[rows.dtype], np.empty(rows.shape, rows.dtype)
        with torch.no_grad(), _fixed_threads():
            for start in range(0, len(rows), _AT_ONCE):
                z = network.inverse(torch.from_numpy(rows[start : start + _AT_ONCE].copy())).numpy()
                out[start : start + _AT_ONCE] = z * rows.dtype.type(self.scale_) + self.centre_.astype(rows.dtype)
        return out

    def network(self) -> Glow:
        """The trained network, in float32: for rows minus `centre_`, divided by `scale_`."""
        check_is_fitted(self)
        return self._networks[np.dtype(np.float32)]

    def arrays(self) -> Arrays:
        """What was learnt: the weights in float32; `history` (epochs, 2) of the rows trained on and those held out.

        It has one column when none were held out: a saved repair holds no NaN.
        """
        weights = {f"network.{name}": value.numpy().copy() for name, value in self.network().state_dict().items()}
        history = np.array([[epoch.train, epoch.held_out] for epoch in self.history_])
        history = history[:, ~np.isnan(history[0])]
        best = np.array([float(self.best_)])
        return {"centre": self.centre_, "scale": np.array([self.scale_]), "history": history, "best": best, **weights}

    def restore(self, arrays: Arrays) -> Self:
        """Take what another repair with the same parameters learnt."""
        self._check_size(arrays)
        self.centre_, self.scale_ = arrays["centre"], float(arrays["scale"][0])
        self.history_ = [Epoch(i, *[*bits, math.nan][:2]) for i, bits in enumerate(arrays["history"].tolist())]
        network = Glow(len(self.centre_), self.levels, self.depth, self.hidden)
        prefix = "network."
        weights = {name: torch.tensor(value) for name, value in arrays.items() if name.startswith(prefix)}
        network.load_state_dict({name.removeprefix(prefix): value for name, value in weights.items()})
        self.n_features_in_ = len(self.centre_)
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
