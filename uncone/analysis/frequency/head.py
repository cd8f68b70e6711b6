"""The logits of a language model as a function of token frequency and of the PMI of token and context."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from uncone.analysis.intervals.correlation import pearson, pearson_interval, spearman
from uncone.analysis.intervals.intervals import Interval
from uncone.analysis.layers.deep_results import HeadFrequency
from uncone.analysis.number_format import cosine, count, percent
from uncone.data.bags import Bags, run_starts
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.data.texts.selection import Selection
from uncone.encoders.batching import TOKENS, budgeted, pools
from uncone.encoders.encoder import Encoder, Passage, Window
from uncone.encoders.head import Head
from uncone.encoders.rows.rows import Laid
from uncone.stats.hashing import hash_keys

__all__ = ["LEAST", "MOST", "head_frequency"]

MOST = 50_000
"""Tokens of the texts that are read."""
LEAST = 5
"""The minimum number of occurrences of a pair whose PMI is trusted."""

_LETTERS = 10  # of a token, at most, on average
_MASKED = 7
"""Every seventh token is masked, as in the training of masked models."""
_FEW = 20
"""The minimum number of tokens or pairs of a correlation."""
_NOTHING = np.empty(0, np.int64)


def head_frequency(
    encoder: Encoder,
    selection: Selection,
    window: Window | None = None,
    *,
    seed: int = 0,
    most: int = MOST,
    least: int = LEAST,
) -> HeadFrequency | None:
    """How the logits of the model's head depend on log-frequency and on PMI; None if it has no head.

    All pairs (y, x) of neighboring tokens of the texts are counted: p(x) and PMI are theirs, special tokens left out.
    A causal model predicts x from its state at y. A masked model predicts x from its state at x, with x masked; every
    seventh token is masked at once, and y is not. The mean logit of x over all these states is exact, because
    it is linear in t(h). The rest is the mean logit of x over the states with the context y, minus that mean logit,
    and minus the mean of this difference over all tokens x that occur.
    """
    head = encoder.head()
    if head is None:
        return None
    passages = _sampled_passages(encoder, selection, window or Window(), seed, most)
    read = sum(int((~passage.special).sum()) for passage in passages)
    mean, logs, rest, pmi = _logit_statistics(encoder, head, passages, seed, least)
    r = pearson(mean, logs).value if len(mean) >= _FEW else None
    r2 = None if r is None else r * r
    low, high = (None, None) if r is None else _squares(*pearson_interval(mean, logs))
    pmi_r, pmi_rho = (pearson(rest, pmi).value, spearman(rest, pmi).value) if len(rest) >= _FEW else (None, None)
    slope = None if r is None else _slope(logs, mean)
    result = HeadFrequency(r2, low, high, slope, len(mean), pmi_r, pmi_rho, len(rest), least, read, "")
    return replace(result, sentence=_sentence(result, head.causal))


def _logit_statistics(
    encoder: Encoder, head: Head, passages: Sequence[Passage], seed: int, least: int
) -> tuple[Vector, Vector, Vector, Vector]:
    """Mean logit and log-frequency of every token that occurs; the rest and PMI of every frequent pair."""
    pairs = _Pairs.of(passages)
    sums = _summed(encoder, head, passages, pairs, seed)
    if not sums.n:
        return (np.empty(0),) * 4
    matrix, bias = head.matrix[pairs.targets], head.bias[pairs.targets].astype(np.float64)
    mean = matrix @ sums.mean + bias
    return mean, np.log(pairs.target_counts / pairs.n), *_rests(matrix, bias, mean, sums, pairs, least)


def _sampled_passages(encoder: Encoder, selection: Selection, window: Window, seed: int, most: int) -> list[Passage]:
    """The passages of a seeded sample of the texts, about `most` tokens of them, in random order."""
    heap: list[tuple[int, int, str]] = []
    letters = 0
    for pool in pools(selection.read()):
        keys = hash_keys(np.array([unit.number for unit in pool], np.int64), seed)
        for unit, key in zip(pool, keys.tolist(), strict=True):
            heapq.heappush(heap, (-key, unit.number, unit.text))
            letters += len(unit.text)
            while letters - len(heap[0][2]) >= most * _LETTERS:
                letters -= len(heapq.heappop(heap)[2])
    sampled: list[Passage] = []
    read = 0
    # No stride: a token in two windows would be counted twice.
    plain = Window(window.size)
    texts = [text for _, _, text in sorted(heap, reverse=True)]
    for start in range(0, len(texts), 256):
        for passages in encoder.passages(texts[start : start + 256], plain):
            if read >= most:
                return sampled
            sampled += passages
            read += sum(int((~passage.special).sum()) for passage in passages)
    return sampled


@dataclass(frozen=True)
class _Pairs:
    """The neighboring tokens of some passages: `contexts` and `targets` are the tokens that occur, in order.

    A pair is a place in each, and `counts` how often it occurs; `n` is the number of all pairs.
    """

    contexts: IntVector
    targets: IntVector
    context_counts: IntVector
    target_counts: IntVector
    pair_contexts: IntVector
    pair_targets: IntVector
    counts: IntVector
    n: int

    @classmethod
    def of(cls, passages: Sequence[Passage]) -> _Pairs:
        places_of = [_neighbors(passage) for passage in passages]
        first = np.concatenate([tokens[places] for tokens, places in places_of] or [_NOTHING])
        second = np.concatenate([tokens[places + 1] for tokens, places in places_of] or [_NOTHING])
        contexts, of_context, context_counts = np.unique(first, return_inverse=True, return_counts=True)
        targets, of_target, target_counts = np.unique(second, return_inverse=True, return_counts=True)
        both, counts = np.unique(of_context * max(len(targets), 1) + of_target, return_counts=True)
        pair_contexts, pair_targets = np.divmod(both, max(len(targets), 1))
        return cls(contexts, targets, context_counts, target_counts, pair_contexts, pair_targets, counts, len(first))

    def pmi(self, pairs: IntVector) -> Vector:
        """The log of p(y, x) / (p(y) p(x)) of some pairs."""
        expected = self.context_counts[self.pair_contexts[pairs]] * self.target_counts[self.pair_targets[pairs]]
        return np.log(self.counts[pairs] * float(self.n) / expected)


def _neighbors(passage: Passage) -> tuple[IntVector, IntVector]:
    """The tokens of a passage, and the places at which neither the token nor the next is special."""
    tokens = np.asarray(passage.tokens, np.int64)
    return tokens, np.flatnonzero(~passage.special[:-1] & ~passage.special[1:])


@dataclass(frozen=True)
class _Sums:
    """t(h) summed by context (contexts, e), how many states each sum holds, and the mean of all."""

    by_context: Matrix
    counts: IntVector

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def mean(self) -> Vector:
        return np.asarray(self.by_context.sum(axis=0) / self.n)


def _summed(encoder: Encoder, head: Head, passages: Sequence[Passage], pairs: _Pairs, seed: int) -> _Sums:
    """The states from which the head predicts a token, summed by the token before it."""
    contexts = len(pairs.contexts)
    sums = np.zeros((contexts, head.matrix.shape[1]))
    counts = np.zeros(contexts, np.int64)
    prompts = list(_prompts(passages, head, seed))
    laid = [
        Laid(passage, _NOTHING, _NOTHING, [], tokens=states, group=i) for i, (passage, states, _) in enumerate(prompts)
    ]
    for batch in budgeted(laid, TOKENS):
        states = _last(encoder, batch)
        context_tokens = np.concatenate([prompts[part.group][2] for part in batch])
        usable = np.flatnonzero(np.isfinite(states).all(axis=1))
        places = np.searchsorted(pairs.contexts, context_tokens[usable])
        order = np.argsort(places, kind="stable")
        starts = run_starts(places[order])
        if len(starts):
            sums[places[order][starts]] += Bags(order, starts).sums(head.transformed(states[usable]))
        counts += np.bincount(places, minlength=contexts)
    return _Sums(sums, counts)


def _last(encoder: Encoder, batch: Sequence[Laid]) -> Matrix:
    """The states of the last layer at the chosen tokens, passage by passage."""
    lengths = np.array([part.passage.length for part in batch])
    bases = np.cumsum(lengths) - lengths
    tokens = np.concatenate([part.tokens + base for part, base in zip(batch, bases, strict=True)])
    states = encoder.encode([part.passage for part in batch])
    return states.pooled(encoder.layers - 1, tokens, np.arange(len(tokens)))


def _prompts(passages: Sequence[Passage], head: Head, seed: int) -> Iterator[tuple[Passage, IntVector, IntVector]]:
    """Each passage as the model reads it, the places of the states that predict a token, and their context tokens."""
    before = 0
    for passage in passages:
        tokens, places = _neighbors(passage)
        if head.causal:
            prompt, states = passage, places
        else:
            masked = hash_keys(np.arange(len(tokens)) + before, seed) % np.uint64(_MASKED) == 0
            masked &= ~passage.special
            places = places[masked[places + 1] & ~masked[places]]
            covered = np.where(masked, np.int64(head.mask or 0), tokens)
            prompt, states = replace(passage, tokens=covered.tolist()), places + 1
        before += len(tokens)
        if len(places):
            yield prompt, states, tokens[places]


def _rests(matrix: Matrix, bias: Vector, mean: Vector, sums: _Sums, pairs: _Pairs, least: int) -> tuple[Vector, Vector]:
    """The rest of the logit and the PMI of every pair that occurs often enough and whose context was read."""
    frequent = np.flatnonzero((pairs.counts >= least) & (sums.counts[pairs.pair_contexts] > 0))
    y, x = pairs.pair_contexts[frequent], pairs.pair_targets[frequent]
    states = sums.by_context / np.maximum(sums.counts, 1)[:, None]
    logits = np.einsum("ij,ij->i", states[y], matrix[x].astype(np.float64)) + bias[x]
    everywhere = states[y] @ matrix.mean(axis=0, dtype=np.float64) + bias.mean()
    return logits - mean[x] - (everywhere - mean.mean()), pairs.pmi(frequent)


def _slope(x: Vector, y: Vector) -> float:
    centered = x - x.mean()
    return float(centered @ y / (centered @ centered))


def _squares(low: float | None, high: float | None) -> Interval:
    """The interval of a squared correlation from that of the correlation.

    >>> _squares(-0.5, 0.1), _squares(-0.5, -0.1)
    ((0.0, 0.25), (0.010000000000000002, 0.25))
    """
    if low is None or high is None:
        return None, None
    small, large = sorted((low * low, high * high))
    return (0.0 if low < 0 < high else small), large


def _sentence(result: HeadFrequency, causal: bool) -> str:
    read = count(result.read, "token")
    if result.r2 is None and result.tokens >= _FEW:
        return (
            f"The mean logits of {count(result.tokens, 'token')}, or their frequencies, are all equal on {read} of the "
            "texts: nothing can be sentence of what logits are made of."
        )
    if result.r2 is None:
        return f"The head was measured on {read} of the texts. There are too few distinct tokens to explain its logits."
    reach = "" if result.low is None or result.high is None else f" ({percent(result.low)} to {percent(result.high)})"
    sentence = (
        f"Log-frequency explains {percent(result.r2)}{reach} of the mean logit over {count(result.tokens, 'token')}, "
        f"on {read} of the texts."
    )
    if result.pmi_r is None:
        return f"{sentence} Too few pairs occur {result.least} times to compare the rest of the logit with PMI."
    context = "the token before" if causal else f"the token before, with one in {_MASKED} tokens masked at once"
    return (
        f"{sentence} The rest of the logit correlates with the PMI of token and context by {cosine(result.pmi_r)}, "
        f"over {count(result.pairs, 'pair')} that occur at least {result.least} times; the context is {context}."
    )
