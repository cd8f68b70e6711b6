"""Copies add nothing to the certainty of `check`: its intervals cover the truth, and repeating all rows changes none.

A space is drawn from a known distribution, and its rows are repeated. The truth is that of the distribution, in which a
share c of the pairs are copies with a cosine of 1, as the data have them. UNCONE_SIMULATIONS sets the number of draws.
"""

from __future__ import annotations

import os
from collections import defaultdict

import numpy as np
import pytest
from simulations import without_neighborhoods

from uncone import check
from uncone.analysis.cosine.baseline import score_meaning
from uncone.analysis.measures.verdict import examine
from uncone.analysis.space.space import measure_space
from uncone.data.vectors.memory import ArrayVectors
from uncone.run.measure import Plan

SIMULATIONS = int(os.environ.get("UNCONE_SIMULATIONS", "60"))
D, POPULATION, PAIRED = 8, 20_000, 1_500
QUANTILES = ("0.025", "0.5", "0.975", "0.99")
ALWAYS = ("baseline", "uniformity", "norm_mean", "mean_over_rms", "effective_rank", "isoscore_corrected", *QUANTILES)
"""What has an interval in every space; others have none where directions tie, or a few rows carry a sum."""


def heavy(rng):
    spread, offset = np.exp(0.5 * rng.normal(size=D)), rng.uniform(0, 2) * rng.normal(size=D)
    return lambda n: rng.normal(size=(n, D)) * spread / np.sqrt(rng.chisquare(5, size=(n, 1)) / 5) + offset


def clusters(rng):
    spread, offset = np.exp(0.5 * rng.normal(size=D)), rng.uniform(0, 2) * rng.normal(size=D)
    centers = 2 * rng.normal(size=(6, D)) * spread + offset
    return lambda n: centers[rng.integers(0, 6, n)] + 0.5 * rng.normal(size=(n, D)) * spread


def truth_of(rows, copies):
    """The figures of a large sample of the distribution; `copies` is the share of pairs that are copies."""
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = (units[:PAIRED] @ units[PAIRED : 2 * PAIRED].T).ravel()
    norms = np.linalg.norm(rows, axis=1)
    values = np.linalg.eigvalsh(np.cov(rows.T))[::-1]
    shares = values / values.sum()
    ratio = 1 / (shares**2).sum()
    each = np.sort(units.mean(axis=0) ** 2)[::-1]
    _, directions = np.linalg.eigh(rows.T @ rows)
    products = rows @ directions / norms.mean()
    z = np.log(np.concatenate([np.exp(products).mean(axis=0), np.exp(-products).mean(axis=0)]))
    ranks = [min(float(p) / (1 - copies), 1.0) for p in QUANTILES]
    return {
        "baseline": copies + (1 - copies) * float(each.sum()),
        "uniformity": float(np.log(copies + (1 - copies) * np.exp(-4 * (1 - cosines)).mean())),
        "norm_mean": float(norms.mean()),
        "mean_over_rms": float(np.linalg.norm(rows.mean(axis=0)) / np.sqrt((norms**2).mean())),
        "effective_rank": float(np.exp(-(shares * np.log(shares)).sum())),
        "participation_ratio": float(ratio),
        "top1_share": float(shares[0]),
        "condition_number": float(values[0] / values[-1]),
        "rogue_share_1": float(each[0] / each.sum()),
        "rogue_share_3": float(each[:3].sum() / each.sum()),
        "isoscore_corrected": float((ratio - 1) / (D - 1)),
        "partition_isotropy_unit_log10": float((z.min() - z.max()) / np.log(10)),
        "over 0.5": copies + (1 - copies) * float((cosines >= 0.5).mean()),
        **{
            p: 1.0 if rank == 1 else float(value)
            for p, rank, value in zip(QUANTILES, ranks, np.quantile(cosines, ranks), strict=True)
        },
    }


def intervals_of(rows):
    space = measure_space(ArrayVectors(rows.astype(np.float32)), Plan())
    with without_neighborhoods():
        found = examine(space)
    bounds = {name: (finding.low, finding.high) for name, finding in found.items()}
    quantiles, score = found["pair_cosine_quantiles"], score_meaning(space, 0.5)
    bounds |= {p: (quantiles.low[p], quantiles.high[p]) for p in QUANTILES}
    return bounds | {"over 0.5": (score.low, score.high)}


@pytest.fixture(
    scope="module",
    params=[
        (heavy, 60, 10),
        *(
            pytest.param(one, marks=pytest.mark.exhaustive)
            for one in ((heavy, 150, 3), (clusters, 60, 10), (clusters, 150, 3))
        ),
    ],
)
def covered(request):
    family, distinct, k = request.param
    hits = defaultdict(list)
    for seed in range(SIMULATIONS):
        rng = np.random.default_rng([seed, 7])
        draw = family(rng)
        rows, n = np.repeat(draw(distinct), k, axis=0), distinct * k
        truth, bounds = truth_of(draw(POPULATION), (k - 1) / (n - 1)), intervals_of(rng.permutation(rows))
        for name, value in truth.items():
            low, high = bounds[name]
            if low is not None:
                hits[name].append(low - 1e-6 <= value <= high + 1e-6)
    return hits


def test_intervals_cover_where_rows_repeat(covered):
    assert all(len(covered[name]) == SIMULATIONS for name in ALWAYS)
    for name, hits in covered.items():
        # A true 93 % gives so many or more 39 times in 40.
        least = 0.93 - 2 * np.sqrt(0.93 * 0.07 / len(hits))
        assert np.mean(hits) >= least, f"{name}: {np.mean(hits):.3f} of {len(hits)}"


@pytest.mark.parametrize("family", [heavy, clusters])
@pytest.mark.parametrize(("distinct", "k"), [(60, 10), (400, 3), (1_500, 4)])
def test_repeating_all_rows_changes_no_interval(family, distinct, k):
    rng = np.random.default_rng(distinct)
    rows = family(rng)(distinct)
    once, often = check(rows, scores=[0.5, 0.9]), check(np.tile(rows, (k, 1)), scores=[0.5, 0.9])
    for name, finding in once.findings.items():
        other = often[name]
        if isinstance(finding.low, float) and finding.high is not None:
            assert other.low is not None, name
            assert other.high - other.low == pytest.approx(finding.high - finding.low, rel=0.15), name
    for p in ("0.025", "0.5"):  # further up there are pairs of copies
        widths = [one["pair_cosine_quantiles"].high[p] - one["pair_cosine_quantiles"].low[p] for one in (once, often)]
        assert widths[1] == pytest.approx(widths[0], rel=0.15, abs=1e-3), p
    for one, other in zip(once.scores, often.scores, strict=True):
        assert one.evidence == other.evidence
        assert other.high - other.low == pytest.approx(one.high - one.low, rel=0.15)
    assert once.verdict.level == often.verdict.level and once.verdict.todo == often.verdict.todo


def test_unequal_copies_are_weighed_by_their_number():
    """One vector that stands there 1,000 times beside 60 others carries the baseline, and its interval says so."""
    rng = np.random.default_rng(0)
    others = heavy(rng)(60)
    found = check(np.concatenate([others, np.repeat(others[:1], 1_000, axis=0)]))["baseline"]
    assert found.high - found.low > 0.2
