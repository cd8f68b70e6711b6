"""The sentences of a similarity and the format of its numbers.

`headline` and `sentences` are part of the JSON, so their wording is part of the schema.
"""

from __future__ import annotations

import math
import shlex

import numpy as np

from uncone.analysis.calibration.results import Background
from uncone.analysis.cosine.baseline import COLLAPSED, CROWDED
from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.measures.finding import Level
from uncone.analysis.number_format import clipped, cosine, count, percent
from uncone.analysis.similarity.labels.separability import left_open
from uncone.analysis.similarity.results import Estimate, Groups, TwoColumns
from uncone.report.results.similarity import Similarity
from uncone.report.text import printable

__all__ = [
    "CLEANING",
    "bounds",
    "crowding",
    "duplicates",
    "exact",
    "fine",
    "group_quality",
    "group_title",
    "grouping",
    "headline",
    "level",
    "middle_cut",
    "most_similar",
    "nearest",
    "noun",
    "number",
    "percentile_text",
    "quantile",
    "reason",
    "sentences",
    "signed",
    "size",
    "spread",
    "subtitle",
    "suggestion",
    "tail_score",
]

_HARDLY, _PARTLY = 0.6, 0.8
"""AUC: below the first labels are hardly separable, below the second partly, else well."""
_QUOTED = 70
CLEANING = {
    "html": "texts with HTML removed",
    "control": "texts with control characters removed",
    "unicode": "texts with Unicode normalised",
    "whitespace": "texts with spare whitespace removed",
    "empty": "empty texts left out",
    "duplicate": "duplicates left out",
}
"""What each kind of cleaning did."""


def level(result: Similarity) -> Level:
    """How crowded the space is, judged as in `check` by the mean of unrelated pairs; a note if there are few texts."""
    if _distinct(result) < LEAST_UNITS:
        return Level.NOTE
    mean = result.background.mean
    return Level.COLLAPSED if mean >= COLLAPSED else Level.CROWDED if mean >= CROWDED else Level.HEALTHY


def noun(result: Similarity) -> str:
    """What was compared: texts, or bare vectors."""
    return "vector" if result.texts is None else "text"


def _noun(result: Similarity) -> str:
    """The same in sentences that are part of the JSON."""
    return "row" if result.texts is None else "text"


def size(result: Similarity) -> int:
    """The number of texts that were compared, after cleaning and sampling."""
    return int(result.source.get("compared", result.source["rows"]))


def _distinct(result: Similarity) -> int:
    """The number of distinct texts, of the column that has fewer."""
    return int(result.source.get("distinct", size(result)))


def subtitle(result: Similarity) -> str:
    """What was compared: shape, encoder, layer and pooling, repair."""
    source = result.source
    rows = size(result)
    parts = [f"{rows:,} x {source['dim']:,}" if source.get("dim") else count(rows, _noun(result))]
    encoder = source.get("encoder")
    if encoder:
        *around, own = str(encoder).rstrip("/").split("/")
        parts.append(around[-1] if own == "model" and around else own)
        parts += [f"layer {source['layer']}"] if source.get("layer") is not None else []
        parts += [str(source["pooling"])] if source.get("pooling") else []
    repair = source.get("repair")
    return " · ".join([*parts, *([f"repaired by {repair}"] if repair else [])])


def headline(result: Similarity) -> str:
    """The score of two unrelated texts, and the main result of the labels, the pairs or the columns."""
    start = f"Two random {_noun(result)}s score {cosine(result.background.mean)}"
    labels, two = result.per_label, result.two_columns
    if two is not None:
        mean = float(np.nanmean(two.cosines)) if np.isfinite(two.cosines).any() else None
        beside = "" if mean is None else f", two side by side {cosine(mean)}"
        return f"{start}{beside}{_farthest(two)}."
    if labels is not None and labels.auc is not None:
        if labels.auc_high is not None and labels.auc_high < 0.5:
            return f"{start}; pairs of one label are less alike than others: AUC {cosine(labels.auc)}."
        return f"{start}; labels are {_apart(labels.auc, labels.auc_low, labels.auc_high, labels.texts)}."
    if len(result.pairs.cosines):
        return f"{start}, the most alike pair {cosine(float(np.max(result.pairs.cosines)))}."
    return f"{start}."


def _farthest(two: TwoColumns) -> str:
    """The two labels that differ most, the higher one first."""
    names, found = max(two.auc.items(), key=lambda one: abs(one[1][0] - 0.5), default=("", None))
    if found is None:
        return ""
    auc, low, high = found
    higher, _, lower = names.partition(" over ")
    if auc < 0.5:
        auc, low, high, higher, lower = 1 - auc, 1 - high, 1 - low, lower, higher
    which = " over ".join(clipped(printable(one), 24) for one in (higher, lower))
    units = two.units.get(names, LEAST_UNITS)
    told = higher and lower and units >= LEAST_UNITS and not low <= 0.5 <= high
    return f"; labels are {_apart(auc, low, high, units)}{f', {which}' if told else ''}"


def _apart(auc: float, low: float | None, high: float | None, units: int) -> str:
    """How separable two kinds of pairs are. An AUC of 0.1 separates as well as one of 0.9."""
    if low is None or high is None:
        return f"hard to judge on so few rows: AUC {cosine(auc)}"
    if units < LEAST_UNITS or left_open(low, high):
        return f"hard to judge on so few rows: AUC {cosine(auc)}, {cosine(low)} to {cosine(high)}"
    if low <= 0.5 <= high:
        return f"not separable: AUC {cosine(auc)}"
    strength = max(auc, 1 - auc)
    word = "hardly" if strength < _HARDLY else "partly" if strength < _PARTLY else "well"
    return f"{word} separable: AUC {cosine(auc)}"


def sentences(result: Similarity) -> list[str]:
    """The main results, in the order of the report."""
    two = result.two_columns
    lines = [
        spread(result),
        "" if result.per_label is None else result.per_label.sentence,
        "" if two is None else two.differs,
        most_similar(result),
        duplicates(result),
        nearest(result),
        *(grouping(one) for one in result.groups),
        _cleaned(result),
    ]
    return [line for line in lines if line]


def spread(result: Similarity) -> str:
    """Where the scores of unrelated pairs lie, and so from where on a score means something."""
    low, high, one = (tail_score(result, share) for share in (0.975, 0.025, 0.01))
    said = "" if low is None or high is None else f"95 % of unrelated pairs lie between {fine(low)} and {fine(high)}"
    if one is None:
        return f"{said}." if said else ""
    reach = f"1 % of {'them' if said else 'unrelated pairs'} reach {fine(one)}"
    meaning = "even the highest scores mean little" if one >= 0.995 else "below that a score says little"
    return f"{said}; {reach}: {meaning}." if said else f"{reach}: {meaning}."


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
    found = result.duplicates.found
    if result.crowd is not None:
        return f"{crowding(result)} {_same(result)}"
    if not found:
        return ""
    said = "pair is a near-duplicate" if found == 1 else "pairs are near-duplicates"
    return f"{found:,} {said}{_because(result.duplicates.why)}."


def crowding(result: Similarity) -> str:
    """Why cosine can't detect near-duplicates in this space; empty if it can."""
    crowd = result.crowd
    if crowd is None:
        return ""
    few = result.two_columns is not None or crowd.per_row < 1.5
    each = "" if few else f", {crowd.per_row:,.0f} for every {_noun(result)}"
    return (
        "Near-duplicates cannot be told by cosine here: the scores of unrelated pairs run on beyond "
        f"{number(crowd.bound, 4)}, which {percent(crowd.share)} of them reach{each}."
    )


def _same(result: Similarity) -> str:
    found = result.duplicates.found
    if result.two_columns is not None:
        return f"{count(found, 'row')} {'has' if found == 1 else 'have'} the same text twice."
    if not found:
        return f"No two {noun(result)}s are the same."
    return f"{count(found, 'pair')} {'has' if found == 1 else 'have'} the same {noun(result)}."


def reason(why: str) -> str:
    """Why pairs are listed, without the words that the heading repeats."""
    return why.removeprefix("near-duplicates: ").rstrip(".")


def _because(why: str) -> str:
    return f" ({reason(why)})" if why else ""


def nearest(result: Similarity) -> str:
    """The text nearest to that of `near`, with its score."""
    near = result.near
    if near is None:
        return ""
    asked = clipped(printable(result.near_text or ""), _QUOTED)
    if not len(near.cosines):
        return f"Nothing is near “{asked}”{_because(near.why)}."
    value, share = float(near.cosines[0]), float(near.percentiles[0])
    text = clipped(printable(result.text(int(near.other[0]))), _QUOTED)
    return f"Nearest to “{asked}”: “{text}” with {exact(value)}, {_rank(share, result.background)}."


def group_title(groups: Groups) -> str:
    """The method and the number of groups."""
    if groups.outliers:
        return f"{groups.method}, one group and {count(groups.outliers, 'outlier')}"
    return f"{groups.method}, {count(groups.k, 'group')}"


def grouping(groups: Groups) -> str:
    """The method, how clear its groups are, and whether they agree with the labels."""
    start, quality = group_title(groups), group_quality(groups)
    return f"{start[:1].upper()}{start[1:]}{f': {quality}' if quality else ''}."


def group_quality(groups: Groups) -> str:
    """How clear the groups are, and whether they agree with the labels."""
    if groups.outliers:
        return ""
    if groups.silhouette is None:
        tight = ""
    else:
        # The words are those of Kaufman and Rousseeuw, Finding Groups in Data, 1990.
        steps = ((0.25, "no substantial"), (0.5, "a weak"), (0.7, "a reasonable"), (np.inf, "a strong"))
        strength = next(word for most, word in steps if groups.silhouette <= most)
        tight = f"silhouette {cosine(groups.silhouette)}, {strength} structure"
    agrees = ""
    if groups.ari is not None:
        word = "not the labels" if groups.ari < 0.1 else "partly the labels" if groups.ari < 0.65 else "the labels"
        agrees = f"agreement with the labels (ARI) {cosine(groups.ari)}: the groups are {word}"
    return "; ".join(part for part in (tight, agrees) if part)


def _cleaned(result: Similarity) -> str:
    done = [f"{CLEANING.get(what, what)} {n:,}" for what, n in result.cleaned.items() if n]
    return f"Cleaned: {', '.join(done)}." if done else ""


def _rank(percentile: float, background: Background) -> str:
    """How a percentile compares with unrelated pairs, in words."""
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
    """The cosine that this share of a background reaches; None beyond its sample."""
    tails, scores = np.asarray(background.tails, float), np.asarray(background.scores, float)
    if not len(tails) or share < tails.min() or share > tails.max():
        return _from_histogram(background, share)
    return float(np.interp(share, tails[::-1], scores[::-1]))


def _from_histogram(background: Background, share: float) -> float | None:
    """By the bins of the histogram; None if fewer than ten pairs lie beyond."""
    counts, edges = np.asarray(background.histogram["counts"], float), np.asarray(background.histogram["edges"], float)
    total = counts.sum()
    if total * min(share, 1 - share) < 10:
        return None
    return float(np.interp(1 - share, np.concatenate([[0.0], np.cumsum(counts)]) / total, edges))


def suggestion(result: Similarity) -> str | None:
    """The next command on the same texts: a threshold at a false-positive rate of 1 %."""
    source = result.source
    path = source.get("path", source.get("name"))
    if source.get("in_memory") or path in (None, "", "-"):
        return None
    words = ["uncone", "calibrate", str(path)]
    if source.get("encoder") is not None:
        asked = (("text", "--text"), ("encoder", "--model"), ("layer", "--layer"), ("pooling", "--pooling"))
        words += [word for key, option in asked if source.get(key) is not None for word in (option, str(source[key]))]
    elif source.get("column") is not None:
        words += ["--column", str(source["column"])]
    words += ["--prompt", str(result.provenance["prompt"])] if result.provenance.get("prompt") else []
    words += ["--repair", str(source["repair"])] if source.get("repair") else []
    return shlex.join([*words, "--fpr", "0.01"])


def percentile_text(percentile: float) -> str:
    """A percentile, with more digits near 100.

    >>> [percentile_text(one) for one in (41.3, 96.44, 99.46, 99.9987, 100.0)]
    ['41 %', '96.4 %', '99.46 %', '99.9987 %', '100 %']
    """
    left = 100 - percentile
    if left >= 10 or percentile >= 100:
        return percent(min(max(percentile, 0.0), 100.0) / 100)
    digits = 1 if left >= 1 else min(1 - math.floor(math.log10(left)), 6)
    return f"{percentile:.{digits}f} %"


def number(value: float | None, digits: int = 3) -> str:
    """A cosine, or a dash if it is unknown."""
    return "–" if value is None or not np.isfinite(value) else cosine(value, digits)


def exact(value: float) -> str:
    """The cosine of a pair: three digits, or five if three would round it up to 1.

    >>> exact(0.98765), exact(0.99962), exact(1.0)
    ('0.988', '0.99962', '1.000')
    """
    shown = number(value)
    return shown if shown != "1.000" or value > 1 - 5e-6 else f"{value:.5f}"


def fine(value: float) -> str:
    """A cosine in two digits, or three close to 1."""
    return cosine(value, 3 if value >= 0.985 else 2)


def signed(value: float | None, digits: int = 3) -> str:
    """A difference, with its sign.

    >>> signed(0.0412), signed(-0.0004), signed(None)
    ('+0.041', '0.000', '–')
    """
    shown = number(value, digits)
    return f"+{shown}" if value is not None and shown != "–" and float(shown) > 0 else shown


def bounds(estimate: Estimate, *, difference: bool = False) -> str:
    """The 95 % interval; empty if there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    shown = signed if difference else number
    return f"{shown(estimate.low)} to {shown(estimate.high)}"


def middle_cut(name: str, most: int) -> str:
    """A label shortened in the middle, because labels differ at either end.

    >>> middle_cut("label number 07", 10), middle_cut("short", 10)
    ('label …r 07', 'short')
    """
    tail = 2 * most // 5
    return name if len(name) <= most else f"{name[: most - tail]}…{name[len(name) - tail :]}"
