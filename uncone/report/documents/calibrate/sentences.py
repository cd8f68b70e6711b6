"""What a calibration says, in sentences written from its numbers."""

from __future__ import annotations

import math

from uncone.analysis.calibration.results import Background, Operating, Threshold, Translation
from uncone.analysis.calibration.score_meaning import Asked
from uncone.analysis.calibration.thresholds import score_at, threshold
from uncone.analysis.cosine.baseline import Evidence
from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.intervals.resampling import Score
from uncone.analysis.measures.finding import Level
from uncone.analysis.number_format import cosine, count, percent, plain
from uncone.report.results.calibrate import Calibrated
from uncone.report.text import fitted, last_name

__all__ = [
    "MILLION", "above", "advice", "between", "cut", "digits", "headline", "hits", "level", "main", "meaning", "rare",
    "reasons", "refusal", "score", "sentences", "share", "short", "spread", "subtitle", "translated",
]  # fmt: skip

MILLION = 1_000_000
_HALF = 0.5
_MOST_DECIMALS = 5
_FAR = 100.0
_LEVELS = {
    Evidence.STRONG: Level.HEALTHY,
    Evidence.WEAK: Level.CROWDED,
    Evidence.NONE: Level.CROWDED,
    Evidence.UNKNOWN: Level.NOTE,
}
_WORTH = {
    Evidence.STRONG: "so {score} is evidence of similarity here.",
    Evidence.WEAK: "so {score} is weak evidence of similarity here.",
    Evidence.NONE: "so {score} is not evidence of similarity here.",
    Evidence.UNKNOWN: "too uncertain to say whether {score} is evidence of similarity here.",
}
_Cut = Threshold | Translation | Operating


def level(result: Calibrated) -> Level:
    """How bad it would be to use the main score as a threshold."""
    one = main(result)
    if one.evidence is Evidence.NONE and one.rate > _HALF:
        return Level.COLLAPSED
    return _LEVELS[one.evidence]


def main(result: Calibrated) -> Asked:
    """The score of the headline: the first that the user asked about, else the middle of the guesses."""
    return next((one for one in result.asked if not one.guessed), result.asked[len(result.asked) // 2])


def headline(result: Calibrated) -> str:
    """What the main score is worth, and which threshold to use."""
    worth, limit = _worth(result, main(result)), result.calibration.thresholds[0]
    if limit.value is None:
        return f"{worth} {refusal(limit)}"
    rate = f"a false-positive rate of {rare(limit.rate)}"
    if not _is_usable(limit):
        return f"{worth} No threshold gives {rate}: too many unrelated pairs score 1. Run uncone check first."
    return f"{worth} For {rate}, use a threshold of {cut(result, limit)}{_interval(result, limit)}."


def _worth(result: Calibrated, one: Asked) -> str:
    """What a score is worth as evidence, and by which numbers."""
    first, worth = result.calibration.backgrounds[0], _WORTH[one.evidence].format(score=f"{one.score:g}")
    if first.independent < LEAST_UNITS:
        needed = f"at least {LEAST_UNITS} are needed"
        return f"{_units(result)} are too few to say what {one.score:g} means here ({needed}). {_reach(result, one)}."
    if one.is_judged_by_ratio and one.ratio is not None and one.found is not None:
        similar = f"{percent(one.found.value or 0.0)} of labeled similar pairs do"
        return f"{_reach(result, one)}, and {similar}: {_times(one.ratio)}, {worth}"
    if one.evidence is Evidence.UNKNOWN:
        bounds = f"{rare(one.rate_low)} to {rare(one.rate_high)}"
        return f"{_reach(result, one)}, but with {_units(result)} it may be {bounds}: {worth}"
    return f"{_reach(result, one)}, {worth}"


def _units(result: Calibrated) -> str:
    """The independent units that the intervals rest on, in words."""
    first = result.calibration.backgrounds[0]
    rows, documents, _ = first.counts
    if documents is not None:
        return f"{_queries(rows)} and {count(documents, 'document')}"
    if first.independent < rows:
        return count(first.independent, "document")
    return count(rows, "vector" if rows == first.rows else "distinct vector")


def _queries(n: int) -> str:
    return f"{n:,} {'query' if n == 1 else 'queries'}"


def _times(ratio: Score) -> str:
    """A likelihood ratio with its interval."""
    known = ratio.low is not None and ratio.high is not None
    ends = f" (95 % interval {plain(ratio.low or 0.0)} to {plain(ratio.high or 0.0)})" if known else ""
    return f"{plain(ratio.value or 0.0)} times as often{ends}"


def _is_usable(one: Threshold) -> bool:
    """Whether there is a threshold, and it is not 1 in as many decimals as anyone would write."""
    return one.value is not None and one.value <= 1 - 10**-_MOST_DECIMALS / 2


def sentences(result: Calibrated) -> list[str]:
    """What a score means here, why, and what to do."""
    return [*meaning(result), *reasons(result), *advice(result)]


def digits(result: Calibrated) -> int:
    """Decimals that a score needs here: unrelated pairs that differ little need more."""
    sd = result.calibration.backgrounds[0].sd
    return 2 if sd >= 0.05 else 3 if sd >= 0.005 else 4


def score(result: Calibrated, value: float | None, more: int = 0) -> str:
    """A score with as many decimals as it needs here; a dash where there is none."""
    return "–" if value is None else cosine(value, digits(result) + more)


def cut(result: Calibrated, one: _Cut) -> str:
    """A threshold, with decimals enough to tell it from the ends of its interval."""
    value = one.new if isinstance(one, Translation) else one.value
    return "–" if value is None else cosine(value, _decimals(result, one))


def between(result: Calibrated, one: _Cut) -> tuple[str, str] | None:
    """The ends of the interval of a threshold, with as many decimals as that has."""
    if one.low is None or one.high is None:
        return None
    return cosine(one.low, _decimals(result, one)), cosine(one.high, _decimals(result, one))


def _decimals(result: Calibrated, one: _Cut) -> int:
    least = digits(result) + 1
    if one.low is None or one.high is None or one.high <= one.low:
        return least
    return min(max(least, math.ceil(-math.log10(one.high - one.low))), _MOST_DECIMALS)


def share(one: Asked) -> str:
    """The unrelated pairs that reach a score; if the sample has none, how many there could be."""
    if one.rate:
        return rare(one.rate)
    return "unknown" if one.rate_high >= 1 else f"under {rare(one.rate_high)}"


def above(one: Asked) -> str:
    """A score on the scale from the background to 1, which has no length if unrelated pairs score nearly 1."""
    return cosine(one.rescaled) if one.rescaled >= -_FAR else f"under -{_FAR:.0f}"


def hits(value: float | None) -> str:
    """A number of hits, without digits that are not known.

    >>> [hits(one) for one in (10000.4, 729693.0, 12.3, 0.034, 0.0, None)]
    ['10,000', '730,000', '12', '0.034', '0', '–']
    """
    if value is None:
        return "–"
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 10 or value == 0 else f"{value:.2g}"


def rare(rate: float) -> str:
    """A share of unrelated pairs; a very small one as one in many.

    >>> rare(0.01), rare(1e-6), rare(0.0)
    ('1 %', '1 in 1,000,000', '0 %')
    """
    return percent(rate) if rate >= 1e-5 or not rate else f"1 in {round(1 / rate):,}"


def refusal(one: Threshold) -> str:
    """Why there is no threshold at this rate, and what would be needed."""
    needed = one.rows_needed is not None and f"{one.rows_needed:,}" not in one.reason
    more = f" {count(one.rows_needed or 0, 'vector')} would be needed." if needed else ""
    reason = one.reason or "there are too few vectors."
    return f"There is no threshold for a false-positive rate of {rare(one.rate)}: {reason}{more}"


def subtitle(result: Calibrated) -> str:
    """Vectors and dimensions; the model, layer and pooling if they are known."""
    source, first = result.calibration.source, result.calibration.backgrounds[0]
    rows = f"{first.rows:,}"
    if first.documents is not None:
        rows = f"{_queries(first.rows)}, {count(first.documents, 'document')}"
    parts = [f"{rows} x {source['dim']:,}" if source.get("dim") else rows]
    if source.get("encoder"):
        parts.append(f"{last_name(source['encoder'])}, layer {source.get('layer')}, {source.get('pooling')} pooling")
    parts += [f"repaired by {last_name(source['repair'])}"] if source.get("repair") else []
    return " · ".join(parts)


def translated(result: Calibrated, one: Translation) -> str:
    """A threshold of another space, and the one that corresponds to it here."""
    if one.new is None:
        return f"{one.old:g} in {one.old_name} has no counterpart here: {one.reason}"
    old = f"{one.old:g} in {one.old_name} has a false-positive rate of {rare(one.rate)}"
    return f"{old}. The same rate here is at {cut(result, one)}{_interval(result, one)}."


def _interval(result: Calibrated, one: Threshold | Translation) -> str:
    ends = between(result, one)
    return "" if ends is None else f" (95 % interval {ends[0]} to {ends[1]})"


def _reach(result: Calibrated, one: Asked) -> str:
    if one.rate:
        return f"{rare(one.rate)} of unrelated pairs score {one.score:g} or more"
    return f"None of {result.calibration.backgrounds[0].pairs:,} sampled unrelated pairs scores {one.score:g} or more"


def meaning(result: Calibrated) -> list[str]:
    """What unrelated and labeled pairs score, and what the other scores in question are worth."""
    first, one = result.calibration.backgrounds[0], main(result)
    low, high = (score(result, score_at(first, tail)) for tail in (0.975, 0.025))
    mean = f"average {score(result, first.mean)}"
    lines = [f"{_pairs(result)} score {low} to {high} here (95 %, {mean})."]
    if one.found is not None and one.found.value is not None and one.let_through is not None:
        ratio = one.labelled_ratio
        times = "" if ratio is None or ratio.value is None else f": {_times(ratio)}"
        others = percent(one.let_through.value or 0.0)
        lines.append(
            f"{percent(one.found.value)} of the labeled similar pairs score {one.score:g} or more, and {others} of the "
            f"labeled dissimilar pairs{times}."
        )
        if one.ratio is not None and not one.is_judged_by_ratio:
            lines.append(
                f"{count(one.ratio.n, 'independent similar pair')} are too few to judge a score by (at least "
                f"{LEAST_UNITS} are needed), so unrelated pairs alone decide."
            )
    return [*lines, *(_worth(result, other) for other in result.asked if other is not one and not other.guessed)]


def _pairs(result: Calibrated) -> str:
    if result.calibration.backgrounds[0].documents is not None:
        return "Unrelated pairs of a query and a document"
    return f"Unrelated {'texts' if result.calibration.source.get('encoder') else 'vectors'}"


def reasons(result: Calibrated) -> list[str]:
    """Why unrelated pairs score so high, and how other backgrounds differ."""
    made, one = result.calibration, main(result)
    first, limit = made.backgrounds[0], made.thresholds[0]
    lines = []
    if first.mean > 0.2:
        lines.append(
            f"Unrelated pairs average {score(result, first.mean)} and not 0 because of the model, of a topic that all "
            f"texts share, or both. On a scale from there to 1, {one.score:g} is {above(one)}. Don't reuse a threshold "
            "from another space."
        )
    for other in made.backgrounds[1:]:
        beside = threshold(other, limit.rate)
        if beside.value is not None and limit.value is not None:
            lines.append(
                f"Pairs of {other.name} average {score(result, other.mean)}, and {rare(limit.rate)} of them score "
                f"{cut(result, beside)} or more: {_apart(result, limit.value, beside.value)}"
            )
    return lines


def _apart(result: Calibrated, own: float, other: float) -> str:
    if abs(own - other) < 10 ** -digits(result):
        return "the two corpora agree."
    if own > other:
        return "texts on one subject are similar to begin with. To search among them, use their own threshold."
    return "the corpus itself is the more diverse of the two."


def advice(result: Calibrated) -> list[str]:
    """Which thresholds to use."""
    made = result.calibration
    lines = [_in_a_search(made.thresholds[0], made.corpus_size)] if _is_usable(made.thresholds[0]) else []
    one = made.one_hit
    if one is not None and (one.value is None or _is_usable(one)) and (made.corpus_size or 0) > 1:
        goal = f"one unrelated hit per query on average among {made.corpus_size:,}"
        if one.value is None:
            lines.append(f"There are too few vectors for {goal}. {refusal(one)}")
        else:
            limit = f"{cut(result, one)}{_interval(result, one)}"
            lines.append(f"For {goal}, use a threshold of {limit}. {spread(one)}".rstrip())
    if made.labelled is not None:
        lines += [_operating(result, best) for best in made.labelled.operating if best.value is not None][:1]
    if made.translation is not None:
        lines.append(translated(result, made.translation))
    return lines


def spread(one: Threshold) -> str:
    """How unevenly the hits are spread over queries, if that was measured."""
    hub = one.spread
    if hub is None:
        return ""
    where = f" (measured in a corpus of {hub.corpus_size:,}, at its own threshold)"
    where = "" if hub.corpus_size == one.corpus_size else where
    if not hub.over_one:
        return f"None of {hub.queries:,} sampled queries has more than one unrelated hit{where}."
    return (
        f"Hits are unevenly spread: about {percent(hub.over_one)} of queries have more than one, the worst of "
        f"{hub.queries:,} has {hub.largest:,}{where}."
    )


def _in_a_search(one: Threshold, size: int | None) -> str:
    number = one.hits if size and one.hits is not None else one.rate * (size or MILLION)
    corpus = f"{size:,}" if size and size != MILLION else "a million"
    return f"In a search, {rare(one.rate)} of {corpus} is {hits(number)} unrelated hits per query."


def _operating(result: Calibrated, one: Operating) -> str:
    figures = (("precision", one.precision), ("recall", one.recall))
    shares = [f"{name} {plain(value.value)}" for name, value in figures if value.value is not None]
    shares += [] if one.background_rate is None else [f"false-positive rate {rare(one.background_rate)}"]
    goal = one.goal[:1].upper() + one.goal[1:]
    return f"{goal} on the labeled pairs is at {cut(result, one)} ({', '.join(shares)})."


def short(one: Background) -> str:
    """A background as a chart or a table names it."""
    return fitted(last_name(one.name), 24)
