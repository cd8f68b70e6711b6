"""95 % intervals cover the truth in 93 to 99 % of 300 simulated spaces; of 60, in 86 % or more.

A space is a few hundred random directions with known probabilities, so the truth is a finite sum and not an estimate;
the rows are drawn from it with replacement, each a little off, because copies would count as one. Copies have their own
simulation in `test_copies.py`.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from simulations import without_neighborhoods

from uncone.analysis.cosine.baseline import score_meaning
from uncone.analysis.intervals.intervals import student
from uncone.analysis.measures.verdict import examine
from uncone.analysis.space.space import measure_space
from uncone.data.vectors.memory import ArrayVectors
from uncone.run.measure import Plan

ATOMS, D = 700, 8
SPACES = [60, pytest.param(300, marks=pytest.mark.exhaustive)]


def bounds_of(spaces, room=0.0):
    """Where the share of a true 95 % lies: of 300 draws nineteen times in twenty, of 60 all but always."""
    return (0.93 - room, 0.99 + room) if spaces == 300 else (0.86 - room, 1.0)


def truth_of(atoms):
    units = atoms / np.linalg.norm(atoms, axis=1, keepdims=True)
    cosines = np.sort((units @ units.T).ravel())
    mean, norms = atoms.mean(axis=0), np.linalg.norm(atoms, axis=1)
    values = np.linalg.eigvalsh(np.cov(atoms.T, bias=True))[::-1]
    shares = values / values.sum()
    ratio = 1 / (shares**2).sum()
    _, directions = np.linalg.eigh(atoms.T @ atoms)
    products = atoms @ directions / norms.mean()
    contributions = np.sort(units.mean(axis=0) ** 2)[::-1]
    z = np.log(np.concatenate([np.exp(products).mean(axis=0), np.exp(-products).mean(axis=0)]))
    return {
        "baseline": float((units.mean(axis=0) ** 2).sum()),
        "uniformity": float(np.log(np.exp(-4 * (1 - cosines)).mean())),
        "norm_mean": float(norms.mean()),
        "mean_over_rms": float(np.linalg.norm(mean) / np.sqrt((norms**2).mean())),
        "effective_rank": float(np.exp(-(shares * np.log(shares)).sum())),
        "participation_ratio": float(ratio),
        "top1_share": float(shares[0]),
        "condition_number": float(values[0] / values[-1]),
        "rogue_share_1": float(contributions[0] / contributions.sum()),
        "rogue_share_3": float(contributions[:3].sum() / contributions.sum()),
        "isoscore_corrected": float((ratio - 1) / (D - 1)),
        "partition_isotropy_unit_log10": float((z.min() - z.max()) / np.log(10)),
        "median": float(np.quantile(cosines, 0.5)),
        "97.5 %": float(np.quantile(cosines, 0.975)),
        "over 0.5": float((cosines > 0.5).mean()),
    }


def drawn(atoms, n, rng):
    rows = atoms[rng.integers(0, ATOMS, n)]
    return (rows * (1 + 1e-4 * rng.normal(size=rows.shape))).astype(np.float32)


def intervals_of(rows, sample):
    space = measure_space(ArrayVectors(rows), Plan(), sample=sample)
    with without_neighborhoods():
        found = examine(space)
    quantiles, score = found["pair_cosine_quantiles"], score_meaning(space, 0.5)
    bounds = {name: (finding.low, finding.high) for name, finding in found.items()}
    bounds["median"] = quantiles.low["0.5"], quantiles.high["0.5"]
    bounds["97.5 %"] = quantiles.low["0.975"], quantiles.high["0.975"]
    bounds["over 0.5"] = score.low, score.high
    return bounds


@pytest.fixture(scope="module", params=SPACES)
def spaces(request):
    return request.param


@pytest.fixture(scope="module", params=[(400, 50_000), (2_600, 2_300)], ids=["all pairs", "sampled rows and pairs"])
def covered(request, spaces):
    n, sample = request.param
    hits, given = Counter(), Counter()
    for seed in range(spaces):
        rng = np.random.default_rng(seed)
        spread = np.exp(0.5 * rng.normal(size=D))
        atoms = rng.normal(size=(ATOMS, D)) * spread + rng.uniform(0, 2) * rng.normal(size=D)
        truth = truth_of(atoms)
        bounds = intervals_of(drawn(atoms, n, rng), sample)
        for name, value in truth.items():
            low, high = bounds[name]
            if low is not None:
                given[name] += 1
                hits[name] += low <= value <= high
    return {name: (hits[name] / given[name], given[name]) for name in given}


NAMES = list(truth_of(np.random.default_rng(0).normal(size=(20, D))))


@pytest.mark.parametrize("name", NAMES)
def test_coverage(covered, spaces, name):
    share, given = covered[name]
    assert given >= spaces // 3, f"only {given} of {spaces} spaces had an interval"
    low, high = bounds_of(spaces, room=0.0 if given == spaces else 0.01)  # a little room for those with fewer
    assert low <= share <= high, f"{share:.3f} of {given}"


def test_ten_rows_have_wide_but_honest_intervals(spaces):
    hits = 0
    for seed in range(spaces):
        rng = np.random.default_rng(10_000 + seed)
        atoms = rng.normal(size=(ATOMS, D)) + rng.uniform(0.3, 2) * rng.normal(size=D)
        low, high = intervals_of(drawn(atoms, 10, rng), 50_000)["baseline"]
        hits += low <= truth_of(atoms)["baseline"] <= high
    low, high = bounds_of(spaces)
    assert low <= hits / spaces <= high


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 6, 9, 30, 1e3])
def test_student(freedom):
    from scipy import stats

    assert student(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=2e-3)
