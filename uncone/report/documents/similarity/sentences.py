"""The sentences of a similarity and the format of its numbers; the JSON contains `headline` and `sentences`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from uncone.analysis.calibration.results import Background
from uncone.analysis.cosine.baseline import COLLAPSED, CROWDED
from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.measures.finding import Level
from uncone.analysis.number_format import clipped, cosine, count, percent
from uncone.analysis.similarity.per_label import inconclusive
from uncone.analysis.similarity.results import Estimate, Groups, TwoColumns
from uncone.report.text import between, number_text, printable, shorten, signed, source_line

if TYPE_CHECKING:
    from uncone.report.documents.similarity import Similarity

__all__ = [
    "CLEANING", "bounds", "crowding", "duplicates", "exact", "fine", "group_quality", "group_title",
    "largest_difference", "level", "middle_cut", "most_similar", "nearest", "noun", "number", "percentile_text",
    "quantile", "reason", "separable", "signed_number", "size", "spread", "subtitle", "tail_score",
]  # fmt: skip

_HARDLY, _PARTLY = 0.6, 0.8
"""AUC below which labels are hardly separable, and below which partly."""
_QUOTED = 70
CLEANING = {
    "html": "texts with HTML removed",
    "control": "texts with control characters removed",
    "unicode": "texts with Unicode normalized",
    "whitespace": "texts with extra whitespace removed",
    "empty": "empty texts left out",
    "duplicate": "duplicates left out",
}
"""The effect of each kind of cleaning."""
_STRUCTURE = ((0.25, "no substantial"), (0.5, "a weak"), (0.7, "a reasonable"), (np.inf, "a strong"))
"""Words for a silhouette up to each value (Kaufman and Rousseeuw, Finding Groups in Data, 1990)."""


def level(result: Similarity) -> Level:
    """The level of the space, judged as in `check` by the mean of unrelated pairs; a note if there are few texts."""
    if int(result.source.get("distinct", size(result))) < LEAST_UNITS:
        return Level.NOTE
    mean = result.background.mean
    return Level.COLLAPSED if mean >= COLLAPSED else Level.CROWDED if mean >= CROWDED else Level.HEALTHY


def noun(result: Similarity) -> str:
    """The noun for what was compared: text or vector."""
    return "vector" if result.texts is None else "text"


def size(result: Similarity) -> int:
    """The number of texts that were compared, after cleaning and sampling."""
    return int(result.source.get("compared", result.source["rows"]))


def subtitle(result: Similarity) -> str:
    """The shape, encoder, layer, pooling and repair of what was compared."""
    dim, rows = result.source.get("dim"), size(result)
    return source_line(f"{rows:,} x {dim:,}" if dim else count(rows, noun(result)), result.source)


def largest_difference(two: TwoColumns) -> str:
    """The two labels that differ most, the higher one first."""
    if not two.auc:
        return ""
    names = max(two.auc, key=lambda name: abs(two.auc[name][0] - 0.5))
    auc, low, high = two.auc[names]
    higher, _, lower = names.partition(" over ")
    if auc < 0.5:
        auc, low, high, higher, lower = 1 - auc, 1 - high, 1 - low, lower, higher
    units = two.units.get(names, LEAST_UNITS)
    certain = higher and lower and units >= LEAST_UNITS and not low <= 0.5 <= high
    order = ", " + " over ".join(clipped(printable(label), 24) for label in (higher, lower)) if certain else ""
    return f" Labels are {separable(auc, low, high, units)}{order}."


def separable(auc: float, low: float | None, high: float | None, units: int) -> str:
    """A phrase on how separable two kinds of pairs are. An AUC of 0.1 separates as well as one of 0.9."""
    if low is None or high is None or units < LEAST_UNITS or inconclusive(low, high):
        bounds = between(low, high, cosine)
        return f"hard to judge with so few texts: AUC {cosine(auc)}{f' ({bounds})' if bounds else ''}"
    if low <= 0.5 <= high:
        return f"not separable: AUC {cosine(auc)}"
    strength = max(auc, 1 - auc)
    word = "hardly" if strength < _HARDLY else "partly" if strength < _PARTLY else "well"
    return f"{word} separable: AUC {cosine(auc)}"


def spread(result: Similarity) -> str:
    """The range of unrelated pairs, and from where on a score is evidence of similarity."""
    low, high, rare = (tail_score(result, share) for share in (0.975, 0.025, 0.01))
    usual = between(low, high, fine)
    lines = [f"Unrelated pairs score {usual} here (95 %)."] if usual else []
    if rare is not None:
        little = rare >= 0.995
        meaning = "even the highest scores mean little" if little else "a lower score is not evidence of similarity"
        lines.append(f"1 % of {'them' if lines else 'unrelated pairs'} score above {fine(rare)}, so {meaning}.")
    return " ".join(lines)


def most_similar(result: Similarity) -> str:
    """The score of the most similar pair, and how it compares with unrelated pairs."""
    pairs = result.pairs
    if not len(pairs.cosines):
        return f"No pair was found{f': {pairs.why}' if pairs.why else ''}."
    at = int(np.argmax(pairs.cosines))
    value, share = float(pairs.cosines[at]), float(pairs.percentiles[at])
    return f"The most similar of the listed pairs scores {exact(value)}, {_rank(share, result.background)}."


def duplicates(result: Similarity) -> str:
    """The number of near-duplicates, or why cosine can't detect them."""
    pairs = result.duplicates
    has = "has" if pairs.found == 1 or not pairs.found else "have"
    if result.crowd is None:
        kind = "pair is a near-duplicate" if pairs.found == 1 else "pairs are near-duplicates"
        return f"{pairs.found:,} {kind}{f' ({reason(pairs.why)})' if pairs.why else ''}." if pairs.found else ""
    if result.two_columns is not None:
        rows = count(pairs.found, "row") if pairs.found else "No row"
        return f"{crowding(result)} {rows} {has} the same text twice."
    same = f"{count(pairs.found, 'pair')} {has} the same {noun(result)}"
    return f"{crowding(result)} {same if pairs.found else f'No two {noun(result)}s are the same'}."


def crowding(result: Similarity) -> str:
    """A sentence on why cosine can't detect near-duplicates in this space; empty if it can."""
    crowd = result.crowd
    if crowd is None:
        return ""
    few = result.two_columns is not None or crowd.per_row < 1.5
    each = "" if few else f", about {crowd.per_row:,.0f} per {noun(result)}"
    share = f"{percent(crowd.share)} of unrelated pairs score above {number(crowd.bound, 4)}"
    return f"Cosine can't detect near-duplicates in this space: {share}{each}."


def reason(text: str) -> str:
    """The reason why pairs are listed, without the words that the heading repeats."""
    return text.removeprefix("near-duplicates: ").rstrip(".")


def nearest(result: Similarity) -> str:
    """The text nearest to that of `near`, with its score."""
    near = result.near
    if near is None:
        return ""
    query = clipped(printable(result.near_text or ""), _QUOTED)
    if not len(near.cosines):
        return f"Nothing is near “{query}”{f' ({reason(near.why)})' if near.why else ''}."
    value, share = float(near.cosines[0]), float(near.percentiles[0])
    text = clipped(printable(result.text(int(near.other[0]))), _QUOTED)
    return f"Nearest to “{query}”: “{text}” with {exact(value)}, {_rank(share, result.background)}."


def group_title(groups: Groups) -> str:
    """The method and the number of groups."""
    if groups.outliers:
        return f"{groups.method}, one group and {count(groups.outliers, 'outlier')}"
    return f"{groups.method}, {count(groups.k, 'group')}"


def group_quality(groups: Groups) -> str:
    """A phrase on how clear the groups are, and whether they match the labels."""
    parts = []
    if groups.silhouette is not None and not groups.outliers:
        strength = next(word for most, word in _STRUCTURE if groups.silhouette <= most)
        parts.append(f"silhouette {cosine(groups.silhouette)}, {strength} structure")
    if groups.ari is not None and not groups.outliers:
        word = "don't match" if groups.ari < 0.1 else "partly match" if groups.ari < 0.65 else "match"
        parts.append(f"agreement with the labels (ARI) {cosine(groups.ari)}: the groups {word} the labels")
    return "; ".join(parts)


def _rank(percentile: float, background: Background) -> str:
    if percentile >= 100:
        sampled = "" if background.pairs == background.all_pairs else " that were sampled"
        return f"and none of the {background.pairs:,} unrelated pairs{sampled} scores higher"
    return f"higher than {percentile_text(percentile)} of unrelated pairs"


def tail_score(result: Similarity, share: float) -> float | None:
    """The cosine that this share of unrelated pairs reaches; None if that is less than one pair of distinct texts."""
    pairs = result.source.get("distinct_pairs")
    if pairs is not None and min(share, 1 - share) * pairs < 1:
        return None
    return quantile(result.background, share)


def quantile(background: Background, share: float) -> float | None:
    """The cosine that this share of a background reaches; None if fewer than ten sampled pairs lie beyond."""
    tails, scores = np.asarray(background.tails, float), np.asarray(background.scores, float)
    if len(tails) and tails.min() <= share <= tails.max():
        return float(np.interp(share, tails[::-1], scores[::-1]))
    counts, edges = (np.asarray(background.histogram[name], float) for name in ("counts", "edges"))
    total = counts.sum()
    if total * min(share, 1 - share) < 10:
        return None
    return float(np.interp(1 - share, np.concatenate([[0.0], np.cumsum(counts)]) / total, edges))


def percentile_text(percentile: float) -> str:
    """A percentile, with more digits near 100.

    >>> [percentile_text(value) for value in (41.3, 96.44, 99.46, 99.9987, 100.0)]
    ['41 %', '96.4 %', '99.46 %', '99.9987 %', '100 %']
    """
    left = 100 - percentile
    if left >= 10 or percentile >= 100:
        return percent(min(max(percentile, 0.0), 100.0) / 100)
    digits = 1 if left >= 1 else min(1 - math.floor(math.log10(left)), 6)
    return f"{percentile:.{digits}f} %"


def number(value: float | None, digits: int = 3) -> str:
    """A cosine, or a dash if it is unknown."""
    return number_text(value, lambda score: cosine(score, digits))


def exact(value: float) -> str:
    """The cosine of a pair: three digits, or five if three would round it up to 1.

    >>> exact(0.98765), exact(0.99962), exact(1.0)
    ('0.988', '0.99962', '1.000')
    """
    text = number(value)
    return text if text != "1.000" or value > 1 - 5e-6 else f"{value:.5f}"


def fine(value: float) -> str:
    """A cosine in two digits, or three close to 1."""
    return cosine(value, 3 if value >= 0.985 else 2)


def signed_number(value: float | None, digits: int = 3) -> str:
    """A difference, with its sign.

    >>> signed_number(0.0412), signed_number(-0.0004), signed_number(None)
    ('+0.041', '0.000', '–')
    """
    return signed(number(value, digits))


def bounds(estimate: Estimate, show: Callable[[float], str] = number) -> str:
    """The 95 % interval; empty if there is none."""
    return between(estimate.low, estimate.high, show)


def middle_cut(name: str, most: int) -> str:
    """A label shortened in the middle, because labels differ at either end."""
    return shorten(name, most + 1, 2 * most // 5)
