"""Texts that repeat, and texts in windows: copies weigh in values and never in certainty, a text is one text.

A made-up language: topics move whole texts, words follow Zipf's law, lengths and noise have heavy tails. The truth at
a number of texts is the mean over many corpora of that number.
"""

from __future__ import annotations

import numpy as np
import pytest

import uncone
from uncone.analysis.intervals.intervals import mean_spread
from uncone.analysis.layers.study import examine_layers
from uncone.analysis.space.geometry import LayerGeometry
from uncone.data.batch import Batch, Keys
from uncone.run import memory
from uncone.run.checkpoint import Checkpoint
from uncone.stats.moments import Moments
from uncone.stats.norms import Norms
from uncone.stats.occurrences import Occurrences
from uncone.stats.partition import PartitionSums
from uncone.stats.row_sample import RowSample
from uncone.stats.sentence_similarity import SentenceSimilarity
from uncone.stats.statistic import Bundle
from uncone.stats.unit_vectors import GroupedUnitSum
from uncone.stats.word_sums import WordSums

D, WORDS, DRAWN, RUNS = 10, 200, 25, 60
NAMES = (
    *("baseline", "selfsim", "selfsim_adjusted", "intrasim", "intrasim_adjusted", "intrasim_matched"),
    *("intrasim_adjusted_matched", "mev", "mev_matched", "mev_adjusted", "s_intra", "s_inter", "norm_mean"),
    *("mean_over_rms", "rogue_share_1", "rogue_share_3"),
)
VOCABULARY = np.random.default_rng(5).normal(size=(WORDS, D)) * 0.7
TOPICS = np.random.default_rng(6).normal(size=(4, D))
ZIPF = 1 / np.arange(1, WORDS + 1)


def corpus(rng, texts, longest=40):
    """Rows, the text and the word of each."""
    lengths = np.minimum((3 + rng.pareto(1.5, texts) * 5).astype(int), longest)
    groups = np.repeat(np.arange(texts), lengths)
    words = rng.choice(WORDS, len(groups), p=ZIPF / ZIPF.sum())
    moved = 0.5 * rng.normal(size=(texts, D)) + TOPICS[rng.integers(4, size=texts)]
    cone = np.append(2.0, np.full(D - 1, 0.5))
    return cone + VOCABULARY[words] + moved[groups] + 0.4 * rng.standard_t(3, size=(len(groups), D)), groups, words


def measured(rows, groups, words, copies=1):
    """The findings of a layer whose texts stand there so many times."""
    n, texts = len(rows), int(groups.max()) + 1
    counts = np.bincount(words, minlength=WORDS) * copies
    words = np.where(counts[words] > 1, words, -1)
    keys = Keys(
        np.concatenate([groups + texts * copy for copy in range(copies)]),
        np.tile(words, copies),
        np.tile(groups, copies),
        np.full(n * copies, copies) if copies > 1 else None,
        np.tile(np.arange(n), copies) if copies > 1 else None,
        np.append(np.arange(n), np.full(n * (copies - 1), -1)) if copies > 1 else None,
    )
    bundle = Bundle(
        moments=Moments(D),
        units=GroupedUnitSum(D),
        norms=Norms(),
        rows=RowSample(D, 50_000),
        words=WordSums(D, WORDS, copied=copies > 1),
        sentences=SentenceSimilarity(),
        occurrences=Occurrences(D, followed=range(DRAWN)),
    )
    bundle.update(Batch.of(np.tile(rows, (copies, 1)).astype(np.float32), keys=keys))
    bundle.finish()
    geometry = LayerGeometry(bundle.members, 0, tuple(range(DRAWN)), distinct_share=1 / copies)
    return examine_layers([geometry])[0]


@pytest.fixture(scope="module", params=[(60, 10), pytest.param((150, 3), marks=pytest.mark.exhaustive)], ids=str)
def repeated(request):
    texts, copies = request.param
    return [measured(*corpus(np.random.default_rng(seed), texts), copies) for seed in range(RUNS)]


@pytest.mark.parametrize("name", NAMES)
def test_intervals_cover_when_texts_repeat(repeated, name):
    truth = np.mean([found.value(name) for found in repeated])
    hits = [found[name].low <= truth <= found[name].high for found in repeated if found[name].low is not None]
    assert len(hits) >= RUNS // 2
    assert np.mean(hits) >= 0.9, f"{np.mean(hits):.2f} of {len(hits)}"


@pytest.mark.parametrize(("texts", "copies"), [(60, 10), (150, 3)])
def test_copies_leave_intervals_as_wide_as_they_are(texts, copies):
    rows = corpus(np.random.default_rng(3), texts)
    once, often = measured(*rows), measured(*rows, copies)
    for name in NAMES:
        widths = [one[name].high - one[name].low for one in (once, often)]
        assert widths[1] == pytest.approx(widths[0], rel=0.15), name


def test_unrelated_words_are_matched_at_every_length():
    """Texts of 80 to 200 words: IntraSim of as many words of different texts, drawn naively."""
    rng = np.random.default_rng(1)
    texts = 260
    lengths = rng.integers(80, 201, texts)
    groups = np.repeat(np.arange(texts), lengths)
    words = rng.choice(WORDS, len(groups), p=ZIPF / ZIPF.sum())
    rows = 0.25 + VOCABULARY[words] + 0.5 * rng.normal(size=(texts, D))[groups] + rng.normal(size=(len(groups), D))
    found = measured(rows, groups, words)
    naive = []
    for n in rng.choice(lengths, 400):
        text = rng.choice(texts, n, replace=False, p=lengths / lengths.sum())
        picked = rows[(np.cumsum(lengths) - lengths)[text] + (rng.random(n) * lengths[text]).astype(int)]
        mean = picked.mean(axis=0)
        naive.append(np.mean(picked @ mean / np.linalg.norm(picked, axis=1) / np.linalg.norm(mean)))
    matched = found["intrasim_matched"]
    assert matched.value == pytest.approx(np.mean(naive), abs=0.004)
    assert matched.low < np.mean(naive) < matched.high


@pytest.mark.parametrize("copied", [False, True])
def test_a_text_in_several_batches_counts_as_in_one(copied):
    rows, groups, words = corpus(np.random.default_rng(2), 30)
    copies = np.full(len(rows), 2) if copied else None
    statistics = {
        "units": GroupedUnitSum(D),
        "sentences": SentenceSimilarity(keep=True),
        "words": WordSums(D, WORDS, copied=copied),
    }
    whole, cut = Bundle(**statistics), Bundle(**statistics).empty()
    whole.update(Batch.of(rows, keys=Keys(groups, words, copies=copies)))
    parts = np.random.default_rng(0).integers(3, size=len(rows))
    for part in range(3):
        kept = np.flatnonzero(parts == part)
        keys = Keys(groups, words, copies=copies, open=True).where(kept)
        cut.update(Batch.of(rows[kept], keys=keys))
    cut.close()
    for name, column in whole.state().items():
        np.testing.assert_allclose(cut.state()[name], column, rtol=1e-9, atol=1e-9, err_msg=name)


WORD_LIST = ["the", "text", "go", "school", "a", "b", "c", "d", "e", "f"]


def texts_of(n, longest, seed=1):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORD_LIST, rng.integers(4, longest))) + f" {i}" for i in range(n)]


def test_the_windows_of_a_text_are_one_text(tiny_model):
    texts = texts_of(20, 40)
    found = uncone.layers(tiny_model, texts, window=10, sentences=True)
    assert any("cut into windows" in note for note in found.notes)
    assert found.words.contexts.max() <= 20
    for word, contexts in zip(found.words.words, found.words.contexts, strict=True):
        assert contexts <= sum(word in text.split() for text in texts)
    assert sorted(found.sentences.rows.tolist()) == list(range(20)), "a line for every text, not for every window"
    assert found[0]["intrasim"].n == 20


def test_a_run_over_windows_is_resumed_where_it_stood(tiny_model, tmp_path):
    texts = texts_of(60, 40)
    plain = uncone.layers(tiny_model, texts, window=10)
    saved = uncone.layers(tiny_model, texts, window=10, state=tmp_path, save_every=0, keep_state=True)
    again = uncone.layers(tiny_model, texts, window=10, state=tmp_path, resume=True)
    for name in ("baseline", "selfsim", "intrasim", "s_inter"):
        assert plain.curve(name) == saved.curve(name) == again.curve(name)


@pytest.mark.parametrize("order", ["one corpus after the other", "one text after the other"])
def test_kept_copies_change_nothing_that_is_sampled(tiny_model, order, monkeypatch):
    """Far more words than the sample holds: the same ones are drawn, and each stands for its copies."""
    monkeypatch.setattr(memory, "_MOST_ROWS", 1_000)
    texts = texts_of(300, 12)
    copied = texts * 3 if order.startswith("one corpus") else [text for text in texts for _ in range(3)]
    once, often = uncone.layers(tiny_model, texts), uncone.layers(tiny_model, copied, keep_duplicates=True)
    for first, second in zip(once.layers, often.layers, strict=True):
        for name, finding in first.findings.items():
            if finding.low is not None and finding.high is not None:
                again = second[name]
                assert again.high - again.low == pytest.approx(finding.high - finding.low, rel=0.15, abs=1e-6), name


def test_texts_that_repeat_unevenly_weigh_as_if_each_stood_alone():
    """Values from the sample equal those of all rows with their copies; more copies of some leave less evidence."""
    rng = np.random.default_rng(4)
    rows, groups, words = corpus(rng, 200)
    copies = rng.geometric(0.4, 200)[groups]
    places = np.repeat(np.arange(len(rows)), copies)
    sample, expanded = (RowSample(D), RowSample(D))
    sample.update(Batch.of(rows, keys=Keys(groups, words, groups, copies)))
    expanded.update(Batch.of(rows[places], keys=Keys(groups[places], words[places], groups[places])))
    each = rows[:, 0]
    weighted = mean_spread(each, len(rows), groups, weights=sample.sampled.weights)
    as_rows = mean_spread(each[places], len(places), groups[places])
    assert weighted.variance == pytest.approx(as_rows.variance, rel=1e-9)
    assert weighted.variance > 1.2 * mean_spread(each, len(rows), groups).variance
    sums, all_sums = (PartitionSums(np.eye(D)) for _ in range(2))
    sums.update(Batch.of(rows, keys=Keys(copies=copies)))
    all_sums.update(Batch.of(rows[places]))
    np.testing.assert_allclose(sums.log_sums, all_sums.log_sums, rtol=1e-9)


def test_a_run_over_copies_is_resumed_where_it_stood(tiny_model, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_MOST_ROWS", 1_000)
    texts = texts_of(300, 12) * 3
    options = {"keep_duplicates": True, "state": tmp_path, "batch_size": 64}
    plain = uncone.layers(tiny_model, texts, keep_duplicates=True, batch_size=64)

    class Stop(Exception):
        pass

    def save(self, position, arrays, save=Checkpoint.save):
        save(self, position, arrays)
        if position["pool"] == 1 and position["batch"] >= 3:
            raise Stop

    with monkeypatch.context() as patch, pytest.raises(Stop):
        patch.setattr(Checkpoint, "save", save)
        patch.setattr(Checkpoint, "due", True)
        uncone.layers(tiny_model, texts, **options)
    again = uncone.layers(tiny_model, texts, resume=True, **options)
    for name in ("baseline", "selfsim", "mev_matched", "effective_rank", "partition_isotropy_unit_log10"):
        assert [layer[name].high for layer in plain.layers] == [layer[name].high for layer in again.layers], name


def test_kept_copies_change_no_interval_of_layers(tiny_model):
    texts = texts_of(60, 12)
    once = uncone.layers(tiny_model, texts, deep=True)
    order = np.random.default_rng(0).permutation(240)
    often = uncone.layers(tiny_model, [(texts * 4)[i] for i in order], deep=True, keep_duplicates=True)
    plain = [name for name in NAMES if once[1][name].low is not None]
    deep = ["lid_euclidean", "lid_cosine", "frequency_norm_r", "frequency_vector_norm_r"]
    for name in [*plain, *deep]:
        one, other = once[1][name], often[1][name]
        assert other.high - other.low == pytest.approx(one.high - one.low, rel=0.15, abs=1e-6), name
    assert once.words.contexts.max() == often.words.contexts.max(), "contexts are different texts"


def test_copies_of_one_text_are_too_few(tiny_model):
    from uncone.errors import ShapeError

    with pytest.raises(ShapeError, match="at least 2 different"):
        uncone.layers(tiny_model, ["the same text again"] * 50, keep_duplicates=True)
    with pytest.raises(ShapeError, match="No word"):
        uncone.layers(tiny_model, texts_of(3, 9) * 20, keep_duplicates=True)
