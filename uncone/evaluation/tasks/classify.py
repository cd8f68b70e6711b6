"""Classification by logistic regression on frozen vectors.

A linear classifier can undo any invertible linear change of the vectors by its weights. So a repair of that kind can
move its figures only through the regularization, which prefers some weights to others, and not by much.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from uncone.analysis.intervals.intervals import student
from uncone.analysis.intervals.pair_units import PairUnits, pair_units
from uncone.analysis.intervals.resampling import REPLICATES, Weights, mean_size, share_score
from uncone.errors import FormatError, OptionError, ShapeError
from uncone.evaluation.table import TaskScores

__all__ = ["Classified", "classify", "cross_classify"]

_STEPS = 1000  # of the optimizer
_NORMAL = 1.959963984540054


@dataclass(frozen=True, eq=False)
class Classified(TaskScores):
    """The accuracy and the mean over the classes of F1 (`macro_f1`), with the prediction for each text."""

    predicted: NDArray[Any]
    folds: int | None = None
    converged: bool = True


def classify(
    train: ArrayLike,
    train_labels: Sequence[str],
    test: ArrayLike,
    test_labels: Sequence[str],
    *,
    regularization: float = 1.0,
    replicates: int = REPLICATES,
    seed: int = 0,
    units: PairUnits | None = None,
) -> Classified:
    """Train on the vectors of `train` (n, d) and score on those of `test`; `regularization` is scikit-learn's C.

    The vectors are standardized with the means and spreads of `train`. The interval is over the texts of the test: it
    does not tell how another train would do. `units` are those of the test (`item_units`), whose copies are drawn
    together; without them every text is one.

    Raises:
        ShapeError: not one label per vector.
        FormatError: a vector is not finite, or there is only one class to learn.
    """
    x, y = _check_labels(train, train_labels, "train")
    other, truth = _check_labels(test, test_labels, "test")
    _classes(y)
    model, converged = _fit(x, y, regularization)
    return _score(truth, model.predict(other), units, replicates, seed, None, converged)


def cross_classify(
    vectors: ArrayLike,
    labels: Sequence[str],
    *,
    folds: int = 5,
    regularization: float = 1.0,
    replicates: int = REPLICATES,
    seed: int = 0,
    units: PairUnits | None = None,
) -> Classified:
    """Predict each text from the other folds; the folds hold the classes in equal shares.

    There are no more folds than texts of the smallest class. Everything is learned inside the folds, the means and
    spreads too. Copies of a text, by its `units`, stand in one fold. The interval is that of such data with other texts
    to learn from too: with k folds the variance over texts is multiplied by 1 + k/(k - 1) (Nadeau and Bengio 2003).

    Raises:
        ShapeError: not one label per vector.
        FormatError: a vector is not finite, there is only one class, or a class has a single text.
        OptionError: fewer than two folds.
    """
    if folds < 2:
        raise OptionError(f"{folds} folds leave nothing to learn from; we need 2 or more.")
    x, y = _check_labels(vectors, labels, "data")
    first = slice(None) if units is None else np.unique(units.unit, return_index=True)[1]
    smallest, count = min(_classes(y[first]).items(), key=lambda item: item[1])
    if count < 2:
        raise FormatError(f"The class {smallest!r} has a single text, and folds need 2. Leave it out, or add some.")
    folds = min(folds, count)
    predicted = np.empty_like(y)
    all_converged = True
    copies = None if units is None or len(units) == len(y) else units.unit
    splitter = (StratifiedKFold if copies is None else StratifiedGroupKFold)(folds, shuffle=True, random_state=seed)
    for train, test in splitter.split(x, y, copies):
        model, converged = _fit(x[train], y[train], regularization)
        predicted[test] = model.predict(x[test])
        all_converged = all_converged and converged
    return _score(y, predicted, units, replicates, seed, folds, all_converged)


def _check_labels(vectors: ArrayLike, labels: Sequence[str], split: str) -> tuple[NDArray[Any], NDArray[Any]]:
    x, y = np.asarray(vectors), np.asarray([str(label) for label in labels])
    if x.ndim != 2 or len(x) != len(y) or not len(x):
        raise ShapeError(f"The {split} needs one label per vector: it has vectors {x.shape} and {len(y):,} labels.")
    bad = int((~np.isfinite(x).all(axis=1)).sum())
    if bad:
        raise FormatError(f"{bad:,} of {len(x):,} vectors of the {split} are not finite. Leave those texts out.")
    return x, y


def _classes(labels: NDArray[Any]) -> dict[str, int]:
    names, counts = np.unique(labels, return_counts=True)
    if len(names) == 1:
        raise FormatError(f"All {len(labels):,} labels are {str(names[0])!r}. We need two classes or more.")
    return dict(zip(names.tolist(), counts.tolist(), strict=True))


def _fit(x: NDArray[Any], y: NDArray[Any], regularization: float) -> tuple[Any, bool]:
    model = make_pipeline(StandardScaler(), LogisticRegression(C=regularization, max_iter=_STEPS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the result says so
        model.fit(x, y)
    return model, bool(max(model[-1].n_iter_) < _STEPS)


def _score(
    truth: NDArray[Any],
    predicted: NDArray[Any],
    units: PairUnits | None,
    replicates: int,
    seed: int,
    folds: int | None,
    converged: bool,
) -> Classified:
    n = len(truth)
    names = np.union1d(truth, predicted)
    is_true, is_predicted = truth[:, None] == names, predicted[:, None] == names
    # Hits, texts and predictions of each class: all that both figures need of a draw.
    table = np.concatenate([is_true & is_predicted, is_true, is_predicted], axis=1).astype(np.float64)

    def figures(counts: Weights) -> NDArray[np.float64]:
        hits, n_true, n_predicted = np.split(counts @ table, 3, axis=1)
        size = n_true + n_predicted
        each = np.divide(2 * hits, size, out=np.zeros_like(hits), where=size > 0)
        # A class that is neither drawn nor predicted does not count, as in scikit-learn.
        return np.stack([hits.sum(axis=1) / counts.sum(axis=1), each.sum(axis=1) / (size > 0).sum(axis=1)])

    point = figures(np.ones((1, n), np.int64))
    units = units or pair_units(n)
    draws = units.replicate(figures, replicates, seed)
    hits = np.any(is_true & is_predicted, axis=1).astype(np.float64)
    size, stretch = _f1_size(table.sum(axis=0).reshape(3, -1), units.effective_items / n)
    sizes = {"accuracy": mean_size(hits, units.effective_items), "macro_f1": size}
    trained = 1.0 if folds is None else math.sqrt(1 + folds / (folds - 1))
    draws = np.clip(point + trained * np.array([[1.0], [stretch]]) * (draws - point), 0.0, 1.0)
    values = dict(zip(sizes, point[:, 0].tolist(), strict=True))
    replicated = dict(zip(sizes, draws, strict=True))
    scores = {name: share_score(values[name], replicated[name], n, size) for name, size in sizes.items()}
    return Classified(scores, replicated, sizes, units.independent, predicted, folds, converged)


def _f1_size(table: NDArray[np.float64], weight: float) -> tuple[float, float]:
    """The effective number of texts behind the macro-F1, and the factor that widens its interval.

    `table` (3, classes) are hits, texts and predictions of each class, `weight` is how many independent texts stand for
    one. Each class has as many as its texts, and two more, one right and one wrong, for what was not seen of it. Where
    most of the variance comes from a small class, it is that of few texts: Student's t with the degrees of freedom of
    Welch and Satterthwaite.
    """
    hits, n_true, n_predicted = table
    own = np.maximum(weight * n_true, 1.0)
    each = np.divide(2 * hits, n_true + n_predicted, out=np.zeros_like(hits), where=n_true + n_predicted > 0)
    mean = (own * each + 1) / (own + 2)
    parts = mean * (1 - mean) / own / len(mean) ** 2
    variance = float(parts.sum())
    freedom = variance**2 / float((parts**2 / np.maximum(own - 1, 1.0)).sum())
    stretch = student(freedom) / _NORMAL
    return float(mean.mean() * (1 - mean.mean())) / variance / stretch**2, stretch
