"""Intervals of layer measures cover the truth, with sentences and words as sampling units.

A made-up language: a word is a vector, a sentence moves all of its words in one direction, and there is a cone. The
truth is measured once on very many sentences.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest
from simulations import exhaustive

from uncone.analysis.layers import study as layer_study
from uncone.analysis.layers.study import examine_layers
from uncone.analysis.space.geometry import LayerGeometry
from uncone.data.batch import Batch
from uncone.stats.moments import Moments
from uncone.stats.norms import Norms
from uncone.stats.occurrences import Occurrences
from uncone.stats.row_sample import RowSample
from uncone.stats.sentence_similarity import SentenceSimilarity
from uncone.stats.statistic import Bundle
from uncone.stats.unit_vectors import GroupedUnitSum
from uncone.stats.word_sums import WordSums

D, WORDS = 12, 60
RUNS = [60, pytest.param(200, marks=pytest.mark.exhaustive)]


@pytest.fixture(scope="module", params=RUNS)
def runs(request):
    return request.param


def least(runs, share):
    """The share of hits that so many runs must have; that of 60 strays twice as far as that of 200."""
    return share if runs == 200 else share - 0.07


def measured(*given, **settings):
    return examine_layers([geometry_of(*given, **settings)])[0]


def geometry_of(rows, groups, words, count, sample=10_000, drawn=30):
    bundle = Bundle(
        moments=Moments(D),
        units=GroupedUnitSum(D),
        norms=Norms(),
        rows=RowSample(D, sample),
        words=WordSums(D, count),
        sentences=SentenceSimilarity(),
        occurrences=Occurrences(D, followed=range(drawn)),
    )
    bundle.update(Batch.of(rows.astype(np.float32), groups=groups, words=words))
    bundle.finish()
    return LayerGeometry(bundle.members, 0, tuple(range(drawn)))


def language(rng, sentences, vocabulary, together):
    """Sentences of 3 to 12 words; `together` is how far a sentence moves its words."""
    lengths = rng.integers(3, 13, sentences)
    groups = np.repeat(np.arange(sentences), lengths)
    words = rng.integers(len(vocabulary), size=len(groups))
    moved = rng.normal(size=(sentences, D))[groups]
    cone = np.full(D, 0.5)
    cone[0] = 2.0
    noise = rng.normal(size=(len(groups), D)) * np.linspace(0.6, 0.2, D)
    return cone + vocabulary[words] + together * moved + noise, groups, words


VOCABULARY = np.random.default_rng(99).normal(size=(WORDS, D)) * 0.7
SENTENCES = (
    "baseline",
    "intrasim",
    "intrasim_adjusted",
    "norm_mean",
    "mean_over_rms",
    "rogue_share_1",
    "rogue_share_3",
    "participation_ratio",
    "effective_rank",
    "isoscore_corrected",
)


@cache
def truth(together):
    rng = np.random.default_rng(7)
    parts = [measured(*language(rng, 20_000, VOCABULARY, together), WORDS) for _ in range(4)]
    return {name: float(np.mean([part.value(name) for part in parts])) for name in SENTENCES}


@cache
def covered(together, sample, runs):
    hits, given = Counter(), Counter()
    for seed in range(runs):
        rows, groups, words = language(np.random.default_rng(1_000 + seed), 400, VOCABULARY, together)
        found = measured(rows, groups, words, WORDS, sample)
        for name in SENTENCES:
            if found[name].low is not None:
                given[name] += 1
                hits[name] += found[name].low <= truth(together)[name] <= found[name].high
    return {name: (hits[name] / given[name], given[name]) for name in given}


@pytest.mark.parametrize("name", SENTENCES)
@pytest.mark.parametrize(("together", "sample"), [(0.8, 10_000), (0.8, 1_000), *exhaustive((0.0, 10_000))])
def test_sentences_are_the_units(together, sample, name, runs):
    share, given = covered(together, sample, runs)[name]
    assert given >= runs // 3
    assert share >= least(runs, 0.90), f"{share:.3f} of {given}"


def test_counting_words_as_independent_would_not_cover(runs):
    """The same intervals without groups: what happens when the words of a sentence are taken for independent."""
    hits = 0
    for seed in range(runs // 2):
        rows, _, words = language(np.random.default_rng(1_000 + seed), 400, VOCABULARY, 0.8)
        found = measured(rows, np.arange(len(rows)), words, WORDS)
        hits += found["norm_mean"].low <= truth(0.8)["norm_mean"] <= found["norm_mean"].high
    assert hits < 0.85 * (runs // 2)


def test_the_words_of_unrelated_sentences_are_no_more_alike_than_chance(runs):
    hits, published = 0, []
    for seed in range(runs):
        rows, groups, words = language(np.random.default_rng(5_000 + seed), 300, VOCABULARY, 0.0)
        found = measured(rows, groups, words, WORDS)
        hits += found["intrasim_adjusted_matched"].low <= 0 <= found["intrasim_adjusted_matched"].high
        published.append(found.value("intrasim_adjusted"))
    assert hits / runs >= least(runs, 0.93)
    assert min(published) > 0.1, "the published adjustment does not give zero"


def test_related_words_are_more_alike_than_chance():
    rows, groups, words = language(np.random.default_rng(0), 300, VOCABULARY, 0.8)
    assert measured(rows, groups, words, WORDS)["intrasim_adjusted_matched"].low > 0.05


def planted(rng, share, contexts):
    """Occurrences with SelfSim `share` exactly: a common direction and one of its own for each, all at right angles."""
    basis = np.linalg.qr(rng.normal(size=(64, 64)))[0]
    return np.sqrt(share) * basis[0] + np.sqrt(1 - share) * basis[1 : contexts + 1]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("contexts", [5, 12, 40])
def test_planted_words_are_recovered(share, contexts):
    from uncone.analysis.context.mev import explained_variance

    rows = planted(np.random.default_rng(1), share, contexts) * np.linspace(1, 3, contexts)[:, None]
    sums = WordSums(64, 1)
    sums.update(Batch.of(rows, groups=np.arange(contexts), words=np.zeros(contexts, np.int64)))
    assert sums.selfsim()[0] == pytest.approx(share, abs=1e-12)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    # n unit vectors with all cosines s have the largest eigenvalue 1 + (n - 1) s.
    assert explained_variance(units)[0] == pytest.approx((1 + (contexts - 1) * share) / contexts, abs=1e-12)


def test_self_similarity_covers_the_mean_over_words(runs):
    """Words with a random share of their own: the truth is the mean share."""
    rng = np.random.default_rng(3)
    hits = adjusted_hits = 0
    for _ in range(runs):
        shares = rng.beta(4, 2, size=80)
        words = np.repeat(np.arange(80), rng.integers(5, 30, 80))
        rng.shuffle(words)
        base = rng.normal(size=(80, D))
        base /= np.linalg.norm(base, axis=1, keepdims=True)
        own = rng.normal(size=(len(words), D))
        own -= np.vecdot(own, base[words])[:, None] * base[words]
        own /= np.linalg.norm(own, axis=1, keepdims=True)
        rows = np.sqrt(shares[words])[:, None] * base[words] + np.sqrt(1 - shares[words])[:, None] * own
        found = measured(rows, np.arange(len(words)) // 6, words, 80)
        hits += found["selfsim"].low <= 4 / 6 <= found["selfsim"].high
        # Random words are at right angles on average, but for pairs of the same word: 1/80 of 2/3.
        adjusted_hits += found["selfsim_adjusted"].low <= 4 / 6 - 0.0089 <= found["selfsim_adjusted"].high
    assert hits / runs >= least(runs, 0.92)
    assert adjusted_hits / runs >= least(runs, 0.92)


def test_mev_is_at_least_what_self_similarity_forces():
    """For unit vectors MEV >= SelfSim + (1 - SelfSim)/n."""
    from uncone.analysis.context.mev import explained_variance

    rng = np.random.default_rng(0)
    for n in (2, 5, 30):
        rows = rng.normal(size=(n, 9)) + rng.normal(size=9)
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        selfsim = (np.linalg.norm(units.sum(axis=0)) ** 2 - n) / (n * n - n)
        assert explained_variance(units)[0] >= selfsim + (1 - selfsim) / n - 1e-12


def test_the_sample_is_in_order_before_two_threads_look_at_a_layer(monkeypatch):
    ready, look = [], layer_study._findings

    def spy(geometry, some):
        kept = vars(geometry).get("sample")
        ready.append(kept is not None and "order" in vars(kept))
        return look(geometry, some)

    monkeypatch.setattr(layer_study, "_findings", spy)
    rng = np.random.default_rng(0)
    rows, groups, words = language(rng, 60, rng.normal(size=(WORDS, D)), 0.3)
    examine_layers([geometry_of(rows, groups, words, WORDS)])
    assert ready == [True, True]
