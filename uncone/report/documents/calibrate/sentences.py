"""What a calibration says, in sentences written from its numbers."""

from __future__ import annotations

import math

from uncone.analysis.calibration.results import Operating, Threshold, Translation
from uncone.analysis.calibration.score_meaning import Asked
from uncone.analysis.calibration.thresholds import score_at, threshold
from uncone.analysis.cosine.evidence import Evidence
from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.intervals.resampling import Score
from uncone.analysis.measures.finding import Level
from uncone.analysis.number_format import cosine, count, percent, plain
from uncone.report.results.calibrate import Calibrated

__all__ = [
    "above",
    "between",
    "cut",
    "digits",
    "headline",
    "hits",
    "level",
    "main",
    "rare",
    "refusal",
    "score",
    "share",
    "spread",
    "subtitle",
    "told",
    "translated",
]

_HALF = 0.5
_MILLION = 1_000_000
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


def level(result: Calibrated) -> Level:
    """By what the score that would be taken for a threshold is worth."""
    one = main(result)
    if one.evidence is Evidence.NONE and one.rate > _HALF:
        return Level.COLLAPSED
    return _LEVELS[one.evidence]


def main(result: Calibrated) -> Asked:
    """The score that the headline is about: the first that was asked for, else the middle of the guesses."""
    asked = [one for one in result.asked if not one.guessed]
    return asked[0] if asked else result.asked[len(result.asked) // 2]


def headline(result: Calibrated) -> str:
    """What the score is worth, and where to cut."""
    said, asked = _worth(result, main(result)), result.calibration.thresholds[0]
    if asked.value is None:
        return f"{said} {refusal(asked)}"
    if not _can_be_used(asked):
        return (
            f"{said} No cut for {rare(asked.rate)} can be used: so many unrelated pairs score 1 to five decimals. "
            "Examine the space first: uncone check."
        )
    return f"{said} Cut at {cut(result, asked)} for {rare(asked.rate)}{_interval(result, asked)}."


def _worth(result: Calibrated, one: Asked) -> str:
    """What a score is worth as evidence, and by which numbers."""
    first, worth = result.calibration.backgrounds[0], _WORTH[one.evidence].format(score=f"{one.score:g}")
    if first.independent < LEAST_UNITS:
        return (
            f"{_units(result)} are too few to say what {one.score:g} means here (at least {LEAST_UNITS} are needed). "
            f"{_reach(result, one)}."
        )
    if one.is_judged_by_ratio and one.ratio is not None and one.found is not None:
        return (
            f"{_reach(result, one)}, and {percent(one.found.value or 0.0)} of the labeled similar pairs do: "
            f"{_times(one.ratio)}, {worth}"
        )
    if one.evidence is Evidence.UNKNOWN:
        return (
            f"{_reach(result, one)}, but with {_units(result)} it may be {rare(one.rate_low)} to "
            f"{rare(one.rate_high)}: {worth}"
        )
    return f"{_reach(result, one)}, {worth}"


def _units(result: Calibrated) -> str:
    """The independent units that the intervals rest on, in words."""
    first = result.calibration.backgrounds[0]
    rows, documents, _ = first.counts
    if documents is not None:
        return f"{rows:,} {'query' if rows == 1 else 'queries'} and {count(documents, 'document')}"
    if first.independent < rows:
        return count(first.independent, "document")
    return count(rows, "vector" if rows == first.rows else "distinct vector")


def _times(ratio: Score) -> str:
    """A likelihood ratio with its interval."""
    known = ratio.low is not None and ratio.high is not None
    ends = f" (95 % interval {plain(ratio.low or 0.0)} to {plain(ratio.high or 0.0)})" if known else ""
    return f"{plain(ratio.value or 0.0)} times as often{ends}"


def _can_be_used(one: Threshold) -> bool:
    """Whether there is a threshold, and it is not 1 to as many decimals as anyone would write."""
    return one.value is not None and one.value <= 1 - 10**-_MOST_DECIMALS / 2


def told(result: Calibrated) -> dict[str, list[str]]:
    """The sentences by question: what it means, why, what to do."""
    return {"meaning": _meaning(result), "why": _why(result), "todo": _todo(result)}


def digits(result: Calibrated) -> int:
    """Decimals that a score needs here: unrelated pairs that differ little need more."""
    sd = result.calibration.backgrounds[0].sd
    return 2 if sd >= 0.05 else 3 if sd >= 0.005 else 4


def score(result: Calibrated, value: float | None, more: int = 0) -> str:
    """A score with as many decimals as it needs here; a dash where there is none."""
    return "–" if value is None else cosine(value, digits(result) + more)


def cut(result: Calibrated, one: Threshold | Translation | Operating) -> str:
    """A threshold, with decimals enough to tell it from the ends of its interval."""
    value = one.new if isinstance(one, Translation) else one.value
    return "–" if value is None else cosine(value, _decimals(result, one))


def between(result: Calibrated, one: Threshold | Translation | Operating) -> tuple[str, str] | None:
    """The ends of the interval of a threshold, with as many decimals as that has."""
    if one.low is None or one.high is None:
        return None
    return cosine(one.low, _decimals(result, one)), cosine(one.high, _decimals(result, one))


def _decimals(result: Calibrated, one: Threshold | Translation | Operating) -> int:
    least = digits(result) + 1
    if one.low is None or one.high is None or one.high <= one.low:
        return least
    return min(max(least, math.ceil(-math.log10(one.high - one.low))), _MOST_DECIMALS)


def share(one: Asked) -> str:
    """The unrelated pairs that reach a score; where the sample has none, how many there could be."""
    if not one.rate and one.rate_high >= 1:
        return "not known"
    return rare(one.rate) if one.rate else f"under {rare(one.rate_high)}"


def above(one: Asked) -> str:
    """A score on the scale from the background to 1; far below it the number says nothing.

    Where unrelated pairs score nearly 1, that scale has no length.
    """
    return cosine(one.rescaled) if one.rescaled >= -_FAR else f"under -{_FAR:.0f}"


def hits(value: float | None) -> str:
    """So many hits: whole where there are many, and no digits that are not known.

    >>> [hits(one) for one in (10000.4, 729693.0, 12.3, 0.034, 0.0, None)]
    ['10,000', '730,000', '12', '0.034', '0', '–']
    """
    if value is None:
        return "–"
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 10 or value == 0 else f"{value:.2g}"


def rare(rate: float) -> str:
    """A share of unrelated pairs; a very small one as one in so many.

    >>> rare(0.01), rare(1e-6), rare(0.0)
    ('1 %', '1 in 1,000,000', '0 %')
    """
    return percent(rate) if rate >= 1e-5 or not rate else f"1 in {round(1 / rate):,}"


def refusal(one: Threshold) -> str:
    """Why there is no threshold at this rate, and what would be needed."""
    needed = one.rows_needed is not None and f"{one.rows_needed:,}" not in one.reason
    more = f" {count(one.rows_needed or 0, 'row')} would be needed." if needed else ""
    return f"There is no cut for {rare(one.rate)}: {one.reason or 'the rows cannot support it.'}{more}"


def subtitle(result: Calibrated) -> str:
    """Rows and dimensions; the model, layer and pooling where they are known."""
    source, first = result.calibration.source, result.calibration.backgrounds[0]
    rows = f"{first.rows:,}"
    if first.documents is not None:
        rows += f" {'query' if first.rows == 1 else 'queries'}, {count(first.documents, 'document')}"
    parts = [f"{rows} x {source['dim']:,}" if source.get("dim") else rows]
    if source.get("encoder"):
        model = str(source["encoder"]).rstrip("/").rsplit("/", 1)[-1]
        parts.append(f"{model}, layer {source.get('layer')}, {source.get('pooling')} pooling")
    parts += [f"repaired by {str(source['repair']).rstrip('/').rsplit('/', 1)[-1]}"] if source.get("repair") else []
    return " · ".join(parts)


def translated(result: Calibrated, one: Translation) -> str:
    """A threshold of another space, and its place here."""
    if one.new is None:
        return f"{one.old:g} of {one.old_name} cannot be translated: {one.reason}"
    start = f"{one.old:g} in {one.old_name} is reached by {rare(one.rate)} of unrelated pairs there"
    return f"{start}; here the same share reaches {cut(result, one)}{_interval(result, one)}."


def _interval(result: Calibrated, one: Threshold | Translation) -> str:
    ends = between(result, one)
    return "" if ends is None else f" (95 % interval {ends[0]} to {ends[1]})"


def _reach(result: Calibrated, one: Asked) -> str:
    if one.rate:
        return f"{rare(one.rate)} of unrelated pairs score {one.score:g} or more"
    return f"None of {result.calibration.backgrounds[0].pairs:,} sampled unrelated pairs scores {one.score:g} or more"


def _meaning(result: Calibrated) -> list[str]:
    first = result.calibration.backgrounds[0]
    low, high = (score(result, score_at(first, tail)) for tail in (0.975, 0.025))
    mean = score(result, first.mean)
    lines = [f"Two unrelated {_sides(result)} score {mean} on average; 95 % of such pairs score {low} to {high}."]
    one = main(result)
    if one.found is not None and one.found.value is not None and one.let_through is not None:
        ratio = one.labelled_ratio
        times = "" if ratio is None or ratio.value is None else f": {_times(ratio)}"
        lines.append(
            f"Of the labeled pairs, {one.score:g} finds {percent(one.found.value)} of the similar ones and lets "
            f"through {percent(one.let_through.value or 0.0)} of the others{times}."
        )
    if one.ratio is not None and not one.is_judged_by_ratio and one.found is not None and one.found.value is not None:
        lines.append(
            f"{count(one.ratio.n, 'independent similar pair')} are too few to judge a score by (at least {LEAST_UNITS} "
            "are needed), so unrelated pairs alone decide."
        )
    lines += [_worth(result, other) for other in result.asked if other is not one and not other.guessed]
    return lines


def _two_sides(result: Calibrated) -> bool:
    return result.calibration.backgrounds[0].documents is not None


def _sides(result: Calibrated) -> str:
    if _two_sides(result):
        return "sides, a query and a document,"
    return "texts" if result.calibration.source.get("encoder") else "rows"


def _why(result: Calibrated) -> list[str]:
    made = result.calibration
    first, others = made.backgrounds[0], made.backgrounds[1:]
    lines = []
    if first.mean > 0.2:
        one = main(result)
        lines.append(
            f"Unrelated pairs score {score(result, first.mean)} on average, not 0, because of the model, of a topic "
            f"that all texts share, or of both: on a scale from there to 1, {one.score:g} is {above(one)}. A threshold "
            "of another space does not carry over."
        )
    at = made.thresholds[0].rate
    for other in others:
        other_cut = threshold(other, at)
        if other_cut.value is not None and made.thresholds[0].value is not None:
            lines.append(
                f"Pairs of {other.name} score {score(result, other.mean)} on average, and {rare(at)} of them reach "
                f"{cut(result, other_cut)}: {_apart(result, made.thresholds[0].value, other_cut.value)}"
            )
    return lines


def _apart(result: Calibrated, own: float, other: float) -> str:
    if abs(own - other) < 10 ** -digits(result):
        return "the two corpora agree."
    if own > other:
        return "texts on one subject are similar to begin with. To search among them, use their own threshold."
    return "the corpus itself is the more diverse of the two."


def _todo(result: Calibrated) -> list[str]:
    made = result.calibration
    lines = [_in_a_search(made.thresholds[0], made.corpus_size)] if _can_be_used(made.thresholds[0]) else []
    one = made.one_hit
    if one is not None and (one.value is None or _can_be_used(one)) and (made.corpus_size or 0) > 1:
        at = f"For one unrelated hit per query on average among {made.corpus_size:,}"
        if one.value is None:
            lines.append(f"{at} these rows are too few. {refusal(one)}")
        else:
            lines.append(f"{at}, cut at {cut(result, one)}{_interval(result, one)}. {spread(one)}".rstrip())
    if made.labelled is not None:
        best = next((one for one in made.labelled.operating if one.value is not None), None)
        if best is not None:
            lines.append(_operating(result, best))
    if made.translation is not None:
        lines.append(translated(result, made.translation))
    return lines


def spread(one: Threshold) -> str:
    """How unevenly the hits are spread over queries, where that was measured."""
    found = one.spread
    if found is None:
        return ""
    at = (
        ""
        if found.corpus_size == one.corpus_size
        else f" (measured in a corpus of {found.corpus_size:,}, at its own cut)"
    )
    if not found.over_one:
        return f"None of {found.queries:,} sampled queries has more than one unrelated hit{at}."
    return (
        f"Unrelated hits are not spread evenly: about {percent(found.over_one)} of queries have more than one, the "
        f"worst of {found.queries:,} has {found.largest:,}{at}."
    )


def _in_a_search(one: Threshold, size: int | None) -> str:
    among = size or _MILLION
    number = one.hits if size and one.hits is not None else one.rate * among
    named = "a million" if among == _MILLION else f"{among:,}"
    return f"{rare(one.rate)} of {named} is {hits(number)} unrelated hits per query in a search."


def _operating(result: Calibrated, one: Operating) -> str:
    shares = [
        f"{name} {plain(value.value)}"
        for name, value in (("precision", one.precision), ("recall", one.recall))
        if value.value is not None
    ]
    let = "" if one.background_rate is None else f"; {rare(one.background_rate)} of unrelated pairs reach it"
    name = one.goal[:1].upper() + one.goal[1:]
    return f"{name} on the labelled pairs is at {cut(result, one)} ({', '.join(shares)}{let})."
