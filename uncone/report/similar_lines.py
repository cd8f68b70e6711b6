"""What a similarity says, in sentences written from its numbers; and its numbers as all renderings show them."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np

from uncone.calibration.results import Background
from uncone.diagnosis.baseline import COLLAPSED, CROWDED
from uncone.diagnosis.finding import Level
from uncone.diagnosis.intervals import LEAST_UNITS
from uncone.diagnosis.words import clipped, cosine, count, percent
from uncone.likeness.results import Groups, Picture, TwoColumns
from uncone.likeness.separability import left_open
from uncone.report.similar import Similarity
from uncone.report.similar_numbers import exact, fine, number, percentile_text
from uncone.report.text import printable

__all__ = [
    "CLEANED",
    "at_tail",
    "compared",
    "crowded",
    "duplicate_card",
    "group_title",
    "headline",
    "level",
    "pictured",
    "ranked",
    "reason",
    "sentences",
    "subtitle",
    "suggestion",
    "tail_score",
    "unit",
]

_HARDLY, _PARTLY = 0.6, 0.8
"""AUC: below the first labels are hardly separable, below the second partly, else well."""
_QUOTED = 70
CLEANED = {
    "html": "texts with HTML removed",
    "control": "texts with control characters removed",
    "unicode": "texts with Unicode normalised",
    "whitespace": "texts with spare whitespace removed",
    "empty": "empty texts left out",
    "duplicate": "duplicates left out",
}
"""What each kind of cleaning does, in words."""


def level(result: Similarity) -> Level:
    """How crowded the space is, by what unrelated pairs score, as `check` judges it; few texts have no verdict."""
    if distinct(result) < LEAST_UNITS:
        return Level.NOTE
    mean = result.background.mean
    return Level.COLLAPSED if mean >= COLLAPSED else Level.CROWDED if mean >= CROWDED else Level.HEALTHY


def unit(result: Similarity) -> str:
    """What a row is called: a text, or a row where there are only vectors."""
    return "row" if result.texts is None else "text"


def compared(result: Similarity) -> int:
    """The rows that were compared: all, or those that were left after cleaning and sampling."""
    return int(result.source.get("compared", result.source["rows"]))


def distinct(result: Similarity) -> int:
    """The different texts among them, of the column that has fewer."""
    return int(result.source.get("distinct", compared(result)))


def subtitle(result: Similarity) -> str:
    """What was compared, short: shape, encoder, layer and pooling, repair."""
    source = result.source
    rows = compared(result)
    parts = [f"{rows:,} x {source['dim']:,}" if source.get("dim") else count(rows, unit(result))]
    encoder = source.get("encoder")
    if encoder:
        *around, own = str(encoder).rstrip("/").split("/")
        parts.append(around[-1] if own == "model" and around else own)
        parts += [f"layer {source['layer']}"] if source.get("layer") is not None else []
        parts += [str(source["pooling"])] if source.get("pooling") else []
    repair = source.get("repair")
    return " · ".join([*parts, *([f"repaired by {repair}"] if repair else [])])


def headline(result: Similarity) -> str:
    """What two unrelated texts score, and what the labels, the pairs or the columns say."""
    start = f"Two random {unit(result)}s score {cosine(result.background.mean)}"
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
    """How well two kinds of pairs are told apart; an AUC under a half tells them apart as well, the other way round."""
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
    """What a score means here, what the labels say, the pairs, the asked text, the groups, the cleaning."""
    two = result.two_columns
    lines = [
        _spread(result),
        "" if result.per_label is None else result.per_label.sentence,
        "" if two is None else two.differs,
        _alike(result),
        _duplicates(result),
        _nearest(result),
        *(_grouped(one) for one in result.groups),
        _cleaned(result),
    ]
    return [line for line in lines if line]


def _spread(result: Similarity) -> str:
    low, high, one = (tail_score(result, share) for share in (0.975, 0.025, 0.01))
    said = "" if low is None or high is None else f"95 % of unrelated pairs lie between {fine(low)} and {fine(high)}"
    if one is None:
        return f"{said}." if said else ""
    reach = f"1 % of {'them' if said else 'unrelated pairs'} reach {fine(one)}"
    meaning = "even the highest scores mean little" if one >= 0.995 else "below that a score says little"
    return f"{said}; {reach}: {meaning}." if said else f"{reach}: {meaning}."


def _alike(result: Similarity) -> str:
    pairs = result.pairs
    if not len(pairs.cosines):
        return f"No pair was found{f': {pairs.why}' if pairs.why else ''}."
    at = int(np.argmax(pairs.cosines))
    value, share = float(pairs.cosines[at]), float(pairs.percentiles[at])
    return f"The most similar of the listed pairs scores {exact(value)}, {ranked(share, result.background)}."


def _duplicates(result: Similarity) -> str:
    found = result.duplicates.found
    if result.crowd is not None:
        return f"{crowded(result)} {_same(result)}"
    if not found:
        return ""
    said = "pair is a near-duplicate" if found == 1 else "pairs are near-duplicates"
    return f"{found:,} {said}{_because(result.duplicates.why)}."


def crowded(result: Similarity) -> str:
    """That near-duplicates cannot be told by their cosine, and why; nothing where they can."""
    crowd = result.crowd
    if crowd is None:
        return ""
    few = result.two_columns is not None or crowd.per_row < 1.5
    each = "" if few else f", {crowd.per_row:,.0f} for every {unit(result)}"
    return (
        "Near-duplicates cannot be told by cosine here: the scores of unrelated pairs run on beyond "
        f"{number(crowd.bound, 4)}, which {percent(crowd.share)} of them reach{each}."
    )


def _same(result: Similarity) -> str:
    found = result.duplicates.found
    if result.two_columns is not None:
        return f"{count(found, 'row')} {'has' if found == 1 else 'have'} the same text twice."
    what = "text" if result.texts is not None else "vector"
    if not found:
        return f"No two {what}s are the same."
    return f"{count(found, 'pair')} {'has' if found == 1 else 'have'} the same {what}."


def duplicate_card(result: Similarity) -> tuple[str, str]:
    """The number of near-duplicates; where cosines cannot tell them, that of pairs with the same text."""
    found = f"{result.duplicates.found:,}"
    if result.crowd is None:
        return found, "near-duplicate pairs"
    what = reason(result.duplicates.why)
    return found, f"pairs of {what}; near-duplicates cannot be told by cosine here"


def reason(why: str) -> str:
    """Why pairs are listed, without what stands before it anyway."""
    return why.removeprefix("near-duplicates: ").rstrip(".")


def _because(why: str) -> str:
    return f" ({reason(why)})" if why else ""


def _nearest(result: Similarity) -> str:
    near = result.near
    if near is None:
        return ""
    asked = clipped(printable(result.near_text or ""), _QUOTED)
    if not len(near.cosines):
        return f"Nothing is near “{asked}”{_because(near.why)}."
    value, share = float(near.cosines[0]), float(near.percentiles[0])
    text = clipped(printable(result.text(int(near.other[0]))), _QUOTED)
    return f"Nearest to “{asked}”: “{text}” with {exact(value)}, {ranked(share, result.background)}."


def group_title(groups: Groups) -> str:
    """A grouping in a few words."""
    if groups.outliers:
        return f"{groups.method}, one group and {count(groups.outliers, 'outlier')}"
    return f"{groups.method}, {count(groups.k, 'group')}"


def _grouped(groups: Groups) -> str:
    start = group_title(groups)
    start = f"{start[:1].upper()}{start[1:]}"
    if groups.outliers:
        return f"{start}."
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
    said = "; ".join(part for part in (tight, agrees) if part)
    return f"{start}{f': {said}' if said else ''}."


def _cleaned(result: Similarity) -> str:
    done = [f"{CLEANED.get(what, what)} {n:,}" for what, n in result.cleaned.items() if n]
    return f"Cleaned: {', '.join(done)}." if done else ""


def ranked(percentile: float, background: Background) -> str:
    """A place among the unrelated pairs, in words; a pair of the table may be one of them itself."""
    if percentile >= 100:
        sampled = "" if background.pairs == background.all_pairs else " that were sampled"
        return f"and none of the {background.pairs:,} unrelated pairs{sampled} scores higher"
    return f"higher than {percentile_text(percentile)} of unrelated pairs"


def tail_score(result: Similarity, share: float) -> float | None:
    """The cosine that this share of unrelated pairs reaches; None where less than one pair of different texts does."""
    pairs = result.source.get("distinct_pairs")
    if pairs is not None and min(share, 1 - share) * pairs < 1:
        return None
    return at_tail(result.background, share)


def at_tail(background: Background, share: float) -> float | None:
    """The cosine that this share of unrelated pairs reaches; None beyond what was sampled."""
    tails, scores = np.asarray(background.tails, float), np.asarray(background.scores, float)
    if not len(tails) or share < tails.min() or share > tails.max():
        return _from_histogram(background, share)
    return float(np.interp(share, tails[::-1], scores[::-1]))


def _from_histogram(background: Background, share: float) -> float | None:
    """By the bins, where the tails do not go so far; None where fewer than ten pairs lie beyond."""
    counts, edges = np.asarray(background.histogram["counts"], float), np.asarray(background.histogram["edges"], float)
    total = counts.sum()
    if total * min(share, 1 - share) < 10:
        return None
    return float(np.interp(1 - share, np.concatenate([[0.0], np.cumsum(counts)]) / total, edges))


def suggestion(result: Similarity) -> str | None:
    """What to run next on the same rows: the threshold that one in a hundred unrelated pairs reaches."""
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


def pictured(name: str, picture: Picture) -> dict[str, Any]:
    """A heatmap without its cells: what it shows and in which order."""
    return {
        "name": name,
        "order": picture.order,
        "rows": picture.rows,
        "blocks": [{"name": block, "rows": size} for block, size in picture.blocks],
        "linkage": picture.linkage,
        "note": picture.note,
    }
