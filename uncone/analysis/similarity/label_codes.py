"""Labels as numbers, in an order that a reader expects."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from uncone.data.batch import IntVector

__all__ = ["coded", "label_text"]


def label_text(label: Hashable) -> str | None:
    """A label as it is shown; None where there is none. Numbers may come as text or as numbers, whole or not.

    >>> label_text(1.0), label_text("1"), label_text(0.5), label_text(float("nan")), label_text(" "), label_text(True)
    ('1', '1', '0.5', None, None, 'True')
    """
    if label is None or (isinstance(label, float | np.floating) and math.isnan(label)):
        return None
    if isinstance(label, float | np.floating) and float(label).is_integer():
        return str(int(label))
    return str(label).strip() or None


def coded(labels: Sequence[Hashable]) -> tuple[IntVector, list[str]]:
    """The number of each label (n,), -1 where there is none, and the labels by number: sorted, numbers as numbers.

    >>> codes, names = coded(["10", "9", None, "10"])
    >>> codes.tolist(), names
    ([1, 0, -1, 1], ['9', '10'])
    """
    texts = [label_text(label) for label in labels]
    names = _ordered({text for text in texts if text is not None})
    numbers: dict[str | None, int] = {name: i for i, name in enumerate(names)}
    return np.array([numbers.get(text, -1) for text in texts], np.int64), names


def _ordered(names: Iterable[str]) -> list[str]:
    try:
        return sorted(names, key=lambda name: (float(name), name))
    except ValueError:
        return sorted(names)
