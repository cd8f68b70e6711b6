"""The laws of a repair, checked for our own classes and for those of third parties."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from sklearn.base import clone

from uncone.data.batch import Matrix
from uncone.data.vectors.memory import ArrayVectors
from uncone.repairs.registry import KINDS
from uncone.repairs.repair import Repair
from uncone.repairs.saving import load
from uncone.stats.laws import LawBroken, assert_same_state

__all__ = ["check_repair"]


def check_repair(repair: Repair, rows: Matrix | None = None, *, rtol: float = 1e-6) -> None:
    """Check the laws of `Repair` on some rows, or on a cone of 240 x 8; scikit-learn's are in its `check_estimator`.

    >>> from uncone.repairs.spectral import Whiten
    >>> check_repair(Whiten(dim=3))

    Raises:
        LawBroken: a law does not hold; the message says which.
    """
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(240, 8)) * np.linspace(2, 0.5, 8) + 3 * rng.normal(size=8) if rows is None else rows
    rows = np.asarray(rows, np.float32)
    before = rows.copy()
    estimator = clone(repair).fit(rows)
    whole = estimator.transform(rows)
    _require(repair, "float32 stays float32", whole.dtype == np.float32)
    _require(repair, "float64 stays float64", estimator.transform(rows.astype(np.float64)).dtype == np.float64)
    _require(repair, "the rows it is given are left alone", np.array_equal(rows, before))
    width = len(estimator.get_feature_names_out())
    _require(repair, "every column has a name", whole.shape == (len(rows), width))
    streamed = clone(repair).fit_source(ArrayVectors(rows)).transform(rows)
    _require(repair, "a stream teaches what a table does", _near(streamed, whole, rtol))
    singly = np.concatenate([estimator.transform(rows[i : i + 1]) for i in range(min(len(rows), 50))])
    _require(repair, "a row is repaired alone as among others", _near(singly, whole[: len(singly)], 10 * rtol))
    arrays = {name: np.array(value) for name, value in estimator.arrays().items()}
    restored = clone(repair).restore(arrays)
    _require(repair, "restoring its arrays changes nothing", np.array_equal(restored.transform(rows), whole))
    assert_same_state(
        restored.arrays(), arrays, rtol=0.0, law=f"{type(repair).__name__}: its arrays are all it learned"
    )
    if repair.kind in {*KINDS, "affine", "chain"}:  # a third party's own kind is known only to itself
        loaded = _reloaded(estimator).transform(rows)
        _require(repair, "saving and loading changes nothing", np.array_equal(loaded, whole))


def _reloaded(repair: Repair) -> Repair:
    with tempfile.TemporaryDirectory() as folder:
        repair.save(Path(folder) / "repair", checked=True)
        return load(Path(folder) / "repair").repair


def _near(actual: Matrix, expected: Matrix, rtol: float) -> bool:
    return np.allclose(actual, expected, rtol=rtol, atol=rtol * float(np.abs(expected).max(initial=0.0)))


def _require(repair: Repair, law: str, condition: bool) -> None:
    if not condition:
        raise LawBroken(f"{type(repair).__name__} breaks the law “{law}”")
