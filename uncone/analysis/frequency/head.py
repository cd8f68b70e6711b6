"""What the logits of a language model are made of: how frequent a token is, and how it goes with its context."""

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
from uncone.encoders.rows import Laid
from uncone.stats.hashing import hash_keys

__all__ = ["LEAST", "MOST", "head_frequency"]

MOST = 50_000
"""Tokens of the texts that are read."""
LEAST = 5
"""How often a pair has to stand in the texts for its PMI to be trusted."""

_LETTERS = 10  # of a token, at most, on average
_MASKED = 7
"""Of so many tokens one is masked, as masked models are trained."""
_FEW = 20
"""Tokens or pairs under which a correlation is not worth telling."""
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
    """How the logits of the model's head go with log-frequency and with PMI; None when it has no head.

    All pairs (y, x) of neighbouring tokens of the texts are counted: p(x) and PMI are theirs, special tokens left out.
    A causal model tells x from its state at y. A masked model tells x from its state where x stands, with x masked;
    every seventh token is masked at once, and y is not. The mean logit of x over all these states is exact, because
    it is linear in t(h). The rest is the mean logit of x over the states with the context y, minus that mean logit,
    and minus the mean of this difference over all tokens x that occur.
    """
    head = encoder.head()
    if head is None:
        return None
    passages = _drawn(encoder, selection, window or Window(), seed, most)
    read = sum(int((~passage.special).sum()) for passage in passages)
    mean, logs, rest, pmi = _measured(encoder, head, passages, seed, least)
    r = pearson(mean, logs).value if len(mean) >= _FEW else None
    r2 = None if r is None else r * r
    low, high = (None, None) if r is None else _squares(*pearson_interval(mean, logs))
    pmi_r, pmi_rho = (pearson(rest, pmi).value, spearman(rest, pmi).value) if len(rest) >= _FEW else (None, None)
    slope = None if r is None else _slope(logs, mean)
    found = HeadFrequency(r2, low, high, slope, len(mean), pmi_r, pmi_rho, len(rest), least, read, "")
    return replace(found, sentence=_sentence(found, head.causal))


def _measured(
    encoder: Encoder, head: Head, passages: Sequence[Passage], seed: int, least: int
) -> tuple[Vector, Vector, Vector, Vector]:
    """Mean logit and log-frequency of every token that occurs; the rest and PMI of every pair that stands often."""
    pairs = _Pairs.of(passages)
    sums = _summed(encoder, head, passages, pairs, seed)
    if not sums.n:
        return (np.empty(0),) * 4
    matrix, bias = head.matrix[pairs.targets], head.bias[pairs.targets].astype(np.float64)
    mean = matrix @ sums.mean + bias
    return mean, np.log(pairs.target_counts / pairs.n), *_rests(matrix, bias, mean, sums, pairs, least)


def _drawn(encoder: Encoder, selection: Selection, window: Window, seed: int, most: int) -> list[Passage]:
    """The passages of a seeded part of the texts, about `most` tokens of them, in the order drawn."""
    kept: list[tuple[int, int, str]] = []
    letters = 0
    for pool in pools(selection.read()):
        keys = hash_keys(np.array([unit.number for unit in pool], np.int64), seed)
        for unit, key in zip(pool, keys.tolist(), strict=True):
            heapq.heappush(kept, (-key, unit.number, unit.text))
            letters += len(unit.text)
            while letters - len(kept[0][2]) >= most * _LETTERS:
                letters -= len(heapq.heappop(kept)[2])
    found: list[Passage] = []
    read = 0
    # No stride: a token that stands in two windows would be counted twice.
    plain = Window(window.size)
    texts = [text for _, _, text in sorted(kept, reverse=True)]
    for start in range(0, len(texts), 256):
        for passages in encoder.passages(texts[start : start + 256], plain):
            if read >= most:
                return found
            found += passages
            read += sum(int((~passage.special).sum()) for passage in passages)
    return found


@dataclass(frozen=True)
class _Pairs:
    """The neighbouring tokens of some passages: `contexts` and `targets` are the tokens that occur, in order.

    A pair is a place in each, `counts` how often it stands; `n` pairs in all.
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
        found = [_neighbours(passage) for passage in passages]
        first = np.concatenate([tokens[places] for tokens, places in found] or [_NOTHING])
        second = np.concatenate([tokens[places + 1] for tokens, places in found] or [_NOTHING])
        contexts, of_context, context_counts = np.unique(first, return_inverse=True, return_counts=True)
        targets, of_target, target_counts = np.unique(second, return_inverse=True, return_counts=True)
        both, counts = np.unique(of_context * max(len(targets), 1) + of_target, return_counts=True)
        pair_contexts, pair_targets = np.divmod(both, max(len(targets), 1))
        return cls(contexts, targets, context_counts, target_counts, pair_contexts, pair_targets, counts, len(first))

    def pmi(self, chosen: IntVector) -> Vector:
        """The log of p(y, x) / (p(y) p(x)) of some pairs."""
        expected = self.context_counts[self.pair_contexts[chosen]] * self.target_counts[self.pair_targets[chosen]]
        return np.log(self.counts[chosen] * float(self.n) / expected)


def _neighbours(passage: Passage) -> tuple[IntVector, IntVector]:
    """The tokens of a passage, and the places of those that, like the next, are not special."""
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
    """Read the passages, and sum the states from which the head tells a token by the token before that."""
    contexts = len(pairs.contexts)
    sums = np.zeros((contexts, head.matrix.shape[1]))
    counts = np.zeros(contexts, np.int64)
    asked = list(_asked(passages, head, seed))
    laid = [Laid(one, _NOTHING, _NOTHING, [], tokens=states, group=i) for i, (one, states, _) in enumerate(asked)]
    for batch in budgeted(laid, TOKENS):
        states = _last(encoder, batch)
        known = np.concatenate([asked[one.group][2] for one in batch])
        usable = np.flatnonzero(np.isfinite(states).all(axis=1))
        places = np.searchsorted(pairs.contexts, known[usable])
        order = np.argsort(places, kind="stable")
        starts = run_starts(places[order])
        if len(starts):
            sums[places[order][starts]] += Bags(order, starts).sums(head.transformed(states[usable]))
        counts += np.bincount(places, minlength=contexts)
    return _Sums(sums, counts)


def _last(encoder: Encoder, batch: Sequence[Laid]) -> Matrix:
    """The states of the last layer at the tokens asked for, passage by passage."""
    lengths = np.array([one.passage.length for one in batch])
    tokens = np.concatenate([one.tokens + base for one, base in zip(batch, np.cumsum(lengths) - lengths, strict=True)])
    states = encoder.encode([one.passage for one in batch])
    return states.pooled(encoder.layers - 1, tokens, np.arange(len(tokens)))


def _asked(passages: Sequence[Passage], head: Head, seed: int) -> Iterator[tuple[Passage, IntVector, IntVector]]:
    """What the model is shown of each passage, the places of its states that tell a token, and their context tokens."""
    before = 0
    for passage in passages:
        tokens, places = _neighbours(passage)
        if head.causal:
            shown, states = passage, places
        else:
            masked = hash_keys(np.arange(len(tokens)) + before, seed) % np.uint64(_MASKED) == 0
            masked &= ~passage.special
            places = places[masked[places + 1] & ~masked[places]]
            covered = np.where(masked, np.int64(head.mask or 0), tokens)
            shown, states = replace(passage, tokens=covered.tolist()), places + 1
        before += len(tokens)
        if len(places):
            yield shown, states, tokens[places]


def _rests(matrix: Matrix, bias: Vector, mean: Vector, sums: _Sums, pairs: _Pairs, least: int) -> tuple[Vector, Vector]:
    """The rest of the logit and the PMI of every pair that stands often enough and whose context was met."""
    chosen = np.flatnonzero((pairs.counts >= least) & (sums.counts[pairs.pair_contexts] > 0))
    y, x = pairs.pair_contexts[chosen], pairs.pair_targets[chosen]
    states = sums.by_context / np.maximum(sums.counts, 1)[:, None]
    logits = np.einsum("ij,ij->i", states[y], matrix[x].astype(np.float64)) + bias[x]
    everywhere = states[y] @ matrix.mean(axis=0, dtype=np.float64) + bias.mean()
    return logits - mean[x] - (everywhere - mean.mean()), pairs.pmi(chosen)


def _slope(x: Vector, y: Vector) -> float:
    centred = x - x.mean()
    return float(centred @ y / (centred @ centred))


def _squares(low: float | None, high: float | None) -> Interval:
    """The interval of a squared correlation from that of the correlation.

    >>> _squares(-0.5, 0.1), _squares(-0.5, -0.1)
    ((0.0, 0.25), (0.010000000000000002, 0.25))
    """
    if low is None or high is None:
        return None, None
    small, large = sorted((low * low, high * high))
    return (0.0 if low < 0 < high else small), large


def _sentence(found: HeadFrequency, causal: bool) -> str:
    read = count(found.read, "token")
    if found.r2 is None and found.tokens >= _FEW:
        return (
            f"The mean logits of {count(found.tokens, 'token')}, or their frequencies, are all equal on {read} of the "
            "texts: nothing can be said of what logits are made of."
        )
    if found.r2 is None:
        return f"The head was tried on {read} of the texts: too few different ones to tell what its logits are made of."
    reach = "" if found.low is None or found.high is None else f" ({percent(found.low)} to {percent(found.high)})"
    said = (
        f"Log-frequency explains {percent(found.r2)}{reach} of the mean logit over {count(found.tokens, 'token')}, "
        f"on {read} of the texts."
    )
    if found.pmi_r is None:
        return f"{said} Too few pairs stand together {found.least} times to compare the rest of the logit with PMI."
    context = "the token before" if causal else f"the token before, with one in {_MASKED} tokens masked at once"
    return (
        f"{said} The rest of the logit correlates with the PMI of token and context by {cosine(found.pmi_r)}, over "
        f"{count(found.pairs, 'pair')} that stand together at least {found.least} times; context is {context}."
    )
