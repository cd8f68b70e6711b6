"""Fitted repairs of every kind on a narrow cone with clusters, the rows they are tried on, a model and texts."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from uncone.repairs.chain import Chain
from uncone.repairs.clustered import Clustered
from uncone.repairs.dimensions import Center, Mute, Normalize, Standardize
from uncone.repairs.flow import Flow
from uncone.repairs.spectral import DropTop, Whiten

D = 24
WORDS = "the text go school a cat sat on 3 mats and ran home, why not? yes! old dogs never learn new tricks"
AFFINE = {
    "center": Center,
    "standardize": Standardize,
    "droptop": lambda: DropTop(k=3),
    "whiten": Whiten,
    "whiten-dim": lambda: Whiten(dim=7),
    "whiten-zca": lambda: Whiten(rotation="zca"),
    "mute": lambda: Mute(how="zscore", dimensions=[0, 5]),
    "normalize": Normalize,
    "chain": lambda: Chain([Center(), DropTop(k=2), Whiten(dim=9)]),
    "chain-normalize": lambda: Chain([DropTop(k=2), Whiten(dim=9), Normalize()]),
}
CLUSTERED = {
    "clustered": lambda: Clustered(k=5, p=3),
    "clustered-means": lambda: Clustered(k=5, p=0),
    "clustered-gmm": lambda: Clustered(k=4, p=2, assign="gmm"),
    "clustered-normalize": lambda: Chain([Clustered(k=5, p=3), Normalize()]),
}
FLOW = {
    "flow": lambda: Flow(levels=2, depth=2, hidden=8, epochs=2, seed=0),
    "flow-odd": lambda: Chain([Whiten(dim=7), Flow(levels=3, depth=2, hidden=8, epochs=2, seed=0), Normalize()]),
}
MIXED = {"chain-clustered": lambda: Chain([Whiten(), Clustered(k=5, p=3), Center(), Normalize()])}
KINDS = {**AFFINE, **CLUSTERED, **FLOW, **MIXED}


def clusters(n: int, d: int = D, seed: int = 0) -> np.ndarray:
    """Rows about five places on a cone whose mean is ten times their spread."""
    rng = np.random.default_rng(seed)
    places = np.random.default_rng(9).normal(size=(5, d)) * 3
    spread = np.linspace(1.5, 0.3, d)
    return (10 + places[rng.integers(5, size=n)] + rng.normal(size=(n, d)) * spread).astype(np.float32)


@pytest.fixture(scope="session")
def fitted():
    """A maker of fitted repairs by name, each fitted once."""
    result: dict[str, object] = {}

    def get(name: str):
        if name not in result:
            result[name] = KINDS[name]().fit(clusters(2000))
        return result[name]

    return get


@pytest.fixture(params=["float32", "float16"])
def rows(request) -> np.ndarray:
    """1,000 rows that were not fitted on."""
    return clusters(1000, seed=1).astype(request.param)


@pytest.fixture(params=AFFINE)
def affine(request, fitted):
    """Each repair that is one matrix, perhaps normalized."""
    return fitted(request.param)


@pytest.fixture(params=[*AFFINE, *CLUSTERED])
def simple(request, fitted):
    """Each repair that a few lines of numpy can do."""
    return fitted(request.param)


@pytest.fixture(params=KINDS)
def any_kind(request, fitted):
    """Each repair."""
    return fitted(request.param)


@pytest.fixture(scope="session")
def close():
    """A check that two tables are equal to a share of the largest value."""

    def check(found: np.ndarray, expected: np.ndarray, share: float = 1e-5) -> None:
        assert found.shape == expected.shape
        assert np.abs(found - expected).max() <= share * np.abs(expected).max()

    return check


@pytest.fixture(scope="session")
def model(tiny_model) -> Path:
    """bert-tiny if it is on this machine, else a model that was made up."""
    real = Path(os.environ.get("UNCONE_DATA") or ".") / ".." / "models" / "bert-tiny"
    return real.resolve() if (real / "model.safetensors").is_file() else tiny_model


@pytest.fixture(scope="session")
def texts() -> list[str]:
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS.split(), size=rng.integers(1, 12))) for _ in range(1000)]
