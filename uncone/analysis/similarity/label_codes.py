"""Labels as integer codes, in the order that a reader expects."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

from uncone.data.batch import IntVector

__all__ = ["coded", "label_text"]


def label_text(label: Hashable) -> str | None:
    """A label as text; None if it is missing. Whole numbers may come as text, integers or floats.

    >>> label_text(1.0), label_text("1"), label_text(0.5), label_text(float("nan")), label_text(" "), label_text(True)
    ('1', '1', '0.5', None, None, 'True')
    """
    if label is None or (isinstance(label, float | np.floating) and math.isnan(label)):
        return None
    if isinstance(label, float | np.floating) and float(label).is_integer():
        return str(int(label))
    return str(label).strip() or None


def coded(labels: Sequence[Hashable]) -> tuple[IntVector, list[str]]:
    """The code of each label (n,), -1 if it is missing, and the labels by code: sorted, numbers as numbers.

    >>> codes, names = coded(["10", "9", None, "10"])
    >>> codes.tolist(), names
    ([1, 0, -1, 1], ['9', '10'])
    """
    texts = [label_text(label) for label in labels]
    distinct = {text for text in texts if text is not None}
    try:
        names = sorted(distinct, key=lambda name: (float(name), name))
    except ValueError:
        names = sorted(distinct)
    codes: dict[str | None, int] = {name: code for code, name in enumerate(names)}
    return np.array([codes.get(text, -1) for text in texts], np.int64), names
