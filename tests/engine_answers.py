"""What an engine is asked in its tests: every answer has to be the same text as that of threads."""

from __future__ import annotations

import json
from unittest.mock import patch

import uncone
from uncone.analysis.neighbors import neighborhood

QUERIES = 150
"""Vectors whose neighbors are looked for among all: fewer than usual, to save time."""


def answers(folder, **options):
    """The findings of check with its second passes, the threshold of calibrate and the numbers of repairs, as text."""
    with patch.object(neighborhood, "_MOST_QUERIES", QUERIES):
        seen = uncone.check(folder, exact=True, deep=True, **options).to_dict()["findings"]
    cuts = uncone.calibrate(folder, **options).to_dict()
    whitened = uncone.fix(folder, "whiten", skip_bad=True, **options)
    clustered = uncone.fix(folder, "clustered", p=1, k=3, sample=20_000, skip_bad=True, **options).repair
    cuts.pop("provenance")
    numbers = [whitened.repair.matrix_, clustered.means_, clustered.directions_, clustered.counts_]
    return json.dumps([seen, cuts, whitened.to_dict()["after"], *(array.tolist() for array in numbers)], default=str)
