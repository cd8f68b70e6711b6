"""A calibration as sentences: what its terminal, markdown and page share."""

from __future__ import annotations

import math

from uncone.calibration.asked import Asked
from uncone.calibration.results import Operating, Threshold, Translation
from uncone.calibration.thresholds import score_at, threshold
from uncone.diagnosis.finding import Level
from uncone.diagnosis.words import cosine, count, percent, plain
from uncone.report.calibrated import Calibrated

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
    "subtitle",
    "told",
    "translated",
]

MEANS_NOTHING, MEANS_LITTLE = 0.05, 0.01
"""Shares of unrelated pairs beyond which a threshold lets through what it should keep out."""
_HALF = 0.5
_MILLION = 1_000_000
_MOST_DECIMALS = 5
_KNOWN_WITHIN = 2.0
"""A score means something when its share of unrelated pairs is surely within this factor of little."""
_FAR = 100.0


def level(result: Calibrated) -> Level:
    """By the share of unrelated pairs that reach the score that would be taken for a threshold."""
    if _open(main(result)):
        return Level.NOTE
    rate = main(result).rate
    if rate > _HALF:
        return Level.COLLAPSED
    return Level.CROWDED if rate > MEANS_LITTLE else Level.HEALTHY


def main(result: Calibrated) -> Asked:
    """The score that the headline is about: the first that was asked for, else the middle of the guesses."""
    asked = [one for one in result.asked if not one.guessed]
    return asked[0] if asked else result.asked[len(result.asked) // 2]


def headline(result: Calibrated) -> str:
    """What the score means, and where to cut."""
    one, first = main(result), result.calibration.backgrounds[0]
    shown = f"A score of {one.score:g}"
    if _open(one):
        rows = subtitle(result).split(" x ")[0] if _two_sides(result) else count(first.rows, "row")
        said = (
            f"What a score of {one.score:g} means here is open: {_reached(result, one)}, but with {rows} it may be "
            f"{rare(one.rate_low)} to {rare(one.rate_high)} of them."
        )
    elif one.rate > MEANS_NOTHING:
        said = f"{shown} means nothing here: {percent(one.rate)} of unrelated pairs reach it."
    elif one.rate > MEANS_LITTLE:
        said = f"{shown} means little here: {percent(one.rate)} of unrelated pairs reach it."
    else:
        said = f"{shown} means something here: {_reached(result, one)}."
    asked = result.calibration.thresholds[0]
    if asked.value is None:
        return f"{said} {refusal(asked)}"
    if not _can_be_used(asked):
        return (
            f"{said} No cut for {rare(asked.rate)} can be used: so many unrelated pairs score 1 to five decimals. See "
            "what is wrong with the space first: uncone check."
        )
    return f"{said} Cut at {cut(result, asked)} for {rare(asked.rate)}{_interval(result, asked)}."


def _can_be_used(one: Threshold) -> bool:
    """Whether there is a threshold, and it is not 1 to as many decimals as anyone would write."""
    return one.value is not None and one.value <= 1 - 10**-_MOST_DECIMALS / 2


def _open(one: Asked) -> bool:
    """Whether so few rows were seen that the score may mean something or not."""
    if one.rate > MEANS_LITTLE:
        return one.rate > MEANS_NOTHING and one.rate_low <= MEANS_LITTLE
    return one.rate_high > _KNOWN_WITHIN * MEANS_LITTLE


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


def _reached(result: Calibrated, one: Asked) -> str:
    if one.rate:
        return f"{rare(one.rate)} of unrelated pairs reach it"
    return f"none of {result.calibration.backgrounds[0].pairs:,} sampled unrelated pairs reaches it"


def _meaning(result: Calibrated) -> list[str]:
    first = result.calibration.backgrounds[0]
    low, high = (score(result, score_at(first, tail)) for tail in (0.975, 0.025))
    mean = score(result, first.mean)
    lines = [
        f"Two unrelated {_sides(result)} score {mean} on average; 95 % of such pairs lie between {low} and {high}."
    ]
    one = main(result)
    if one.found is not None and one.found.value is not None and one.let_through is not None:
        lines.append(
            f"Of the labelled pairs, {one.score:g} finds {percent(one.found.value)} of those that are alike and lets "
            f"through {percent(one.let_through.value or 0.0)} of the others."
        )
    for other in result.asked:
        if other is not one and not other.guessed:
            lines.append(f"A score of {other.score:g}: {_reached(result, other)}.")
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
            f"All vectors share a common part, so scores begin at {score(result, first.mean)}, not at 0: on a scale "
            f"from there to 1, {one.score:g} is {above(one)}."
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
        return "texts of one subject are alike to begin with. To search among them, take their own threshold."
    return "the corpus itself is the more diverse of the two."


def _todo(result: Calibrated) -> list[str]:
    made = result.calibration
    lines = [_in_a_search(made.thresholds[0], made.corpus_size)] if _can_be_used(made.thresholds[0]) else []
    most = made.at_most_one
    if (
        most is not None
        and (most.value is None or _can_be_used(most))
        and made.corpus_size is not None
        and made.corpus_size > 1
    ):
        at = f"To leave at most one unrelated hit per query among {made.corpus_size:,}"
        found = f"{at}, cut at {cut(result, most)}{_interval(result, most)}."
        lines.append(found if most.value is not None else f"{at} is more than these rows can promise. {refusal(most)}")
    if made.labelled is not None:
        best = next((one for one in made.labelled.operating if one.value is not None), None)
        if best is not None:
            lines.append(_operating(result, best))
    if made.translation is not None:
        lines.append(translated(result, made.translation))
    return lines


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
