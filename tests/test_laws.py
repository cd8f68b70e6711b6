"""Every statistic keeps the laws of the contract: one property test for all."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import uncone.stats
from uncone.analysis.neighbors.top_k import NearestDistances, NearestRows
from uncone.data.batch import Batch
from uncone.errors import MergeError
from uncone.stats.cluster_moments import ClusterMoments
from uncone.stats.hashing import Fingerprints, Sketches
from uncone.stats.laws import LawBroken, check_statistic
from uncone.stats.moments import Moments
from uncone.stats.norms import Norms
from uncone.stats.occurrences import Occurrences
from uncone.stats.partition import PartitionSums
from uncone.stats.row_sample import PairCosines, RowSample
from uncone.stats.sentence_similarity import SentenceSimilarity
from uncone.stats.statistic import Bundle, Statistic
from uncone.stats.unit_vectors import GroupedUnitSum, UnitScatter, UnitSum
from uncone.stats.unusable import Unusable
from uncone.stats.word_sums import WordSums

D = 5
_QUERIES = np.random.default_rng(3).normal(size=(4, 8)) * 5
MAKERS = {
    "Moments": lambda d: Moments(d, dtype=np.float64),
    "Moments about a point": lambda d: Moments(d, dtype=np.float64, reference=np.full(d, 0.25)),
    "UnitSum": UnitSum,
    "UnitScatter": lambda d: UnitScatter(d, dtype=np.float64),
    "UnitScatter about a point": lambda d: UnitScatter(d, dtype=np.float64, reference=np.full(d, 0.25)),
    "GroupedUnitSum": lambda d: GroupedUnitSum(d, buckets=7),
    "Norms": lambda d: Norms(keep=3),
    "RowSample": lambda d: RowSample(d, k=6),
    "RowSample with a cutoff": lambda d: RowSample(d, k=6, cutoff=2**63),
    "PairCosines": lambda d: PairCosines(d, k=8, shifts=2),
    "Fingerprints": lambda d: Fingerprints(),
    "Fingerprints beyond their limit": lambda d: Fingerprints(limit=5),
    "Sketches": lambda d: Sketches(),
    "Unusable": lambda d: Unusable(keep=2),
    "PartitionSums": lambda d: PartitionSums(np.eye(d), scales=(1.0, 0.5)),
    "WordSums": lambda d: WordSums(d, 4),
    "SentenceSimilarity": lambda d: SentenceSimilarity(buckets=7),
    "SentenceSimilarity of every sentence": lambda d: SentenceSimilarity(buckets=7, keep=True),
    "Occurrences": lambda d: Occurrences(d, followed=(0, 2), most=3),
    "ClusterMoments": lambda d: ClusterMoments(np.full(d, 0.5), np.eye(d)[:3], dtype=np.float64),
    "ClusterMoments of Gaussians": lambda d: ClusterMoments(
        np.zeros(d), np.eye(d)[:3], 2.0, np.full((3, d), 1.5), np.array([0.2, 0.5, 0.3]), dtype=np.float64, last=2
    ),
    "NearestDistances": lambda d: NearestDistances(_QUERIES[:, :d], 3),
    "NearestRows": lambda d: NearestRows(_QUERIES[:, :d], 3),
    "NearestDistances without copies": lambda d: NearestDistances(_QUERIES[:, :d], 3, copies=True),
    "NearestDistances with limits": lambda d: NearestDistances(
        _QUERIES[:, :d], 3, limits=np.tile([[200.0], [1.5]], 4), copies=True
    ),
    "Bundle": lambda d: Bundle(units=UnitSum(d), moments=Moments(d, dtype=np.float64), counts=Unusable()),
}


def rows_with_flaws(seed: int, n: int) -> np.ndarray:
    """Rows of different lengths around a mean, some of them bad, zero or copies."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, D)) * rng.uniform(0.1, 10, size=(n, 1)) + rng.normal(size=D)
    rows[rng.random(n) < 0.1] = 0.0
    rows[rng.random(n) < 0.1, 0] = np.nan
    copied = rng.random(n) < 0.2
    rows[copied] = rows[0]
    return rows


def cut(rows: np.ndarray, cuts: list[int]) -> list[Batch]:
    """The rows in pieces; every other row shares a group with the one before, and no cut splits a group."""
    edges = sorted({0, len(rows), *(2 * c % (len(rows) + 1) // 2 * 2 for c in cuts)})
    texts = [f"row {i}" for i in range(len(rows))]
    groups, words = np.arange(len(rows)) // 2, np.arange(len(rows)) * 7 % 9 % 6 - 2
    return [
        Batch.of(rows[a:b], first_row=a, texts=texts[a:b], groups=groups[a:b], words=words[a:b])
        for a, b in pairwise(edges)
    ]


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@given(seed=st.integers(0, 2**20), n=st.integers(6, 60), cuts=st.lists(st.integers(0, 60), min_size=2, max_size=6))
def test_laws(make, seed, n, cuts):
    check_statistic(make(D), cut(rows_with_flaws(seed, n), cuts))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_other_spaces_are_refused(make):
    left, right = make(3), make(4)
    # Without a dimension, they differ in other settings.
    if isinstance(left, Norms | Fingerprints | SentenceSimilarity | Unusable):
        (name, value), *_ = left.settings.items()
        right = type(left)(**{name: value + 1})
    with pytest.raises(MergeError, match="Cannot merge"):
        left.merge(right)


@pytest.mark.parametrize(
    "make",
    [
        Moments,
        UnitSum,
        UnitScatter,
        lambda d: RowSample(d, k=5_000),
        lambda d: PairCosines(d, k=3_000),
        lambda d: Norms(),
    ],
    ids=["Moments", "UnitSum", "UnitScatter", "RowSample", "PairCosines", "Norms"],
)
def test_laws_with_many_rows_in_single_precision(make):
    """Beyond every size at which something is put aside, trimmed or multiplied together."""
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(24_000, D)) + 2).astype(np.float32)
    check_statistic(make(D), [Batch.of(rows[a : a + 6_000], first_row=a) for a in range(0, 24_000, 6_000)], rtol=2e-6)


def test_every_statistic_is_tested():
    infos = pkgutil.walk_packages(uncone.stats.__path__, "uncone.stats.")
    modules = [importlib.import_module(info.name) for info in infos]
    classes = {
        cls
        for module in modules
        for cls in vars(module).values()
        if inspect.isclass(cls) and issubclass(cls, Statistic) and not inspect.isabstract(cls)
    }
    assert classes == {type(make(D)) for make in MAKERS.values()} - {NearestDistances, NearestRows}


def test_a_statistic_that_breaks_a_law_is_caught():
    class Forgetful(UnitSum):
        def absorb(self, other):
            self.total = other.total.copy()
            self.n = other.n

    batches = cut(rows_with_flaws(0, 20), [3, 7])
    with pytest.raises(LawBroken):
        check_statistic(Forgetful(D), batches)


def test_the_message_says_what_differs():
    with pytest.raises(MergeError, match=r"dim 3 and 4\. Were they measured with the same encoder and layer"):
        UnitSum(3).merge(UnitSum(4))
