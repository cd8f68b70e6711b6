"""The sentences of a calibration, written from its numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from uncone.analysis.calibration.calibration import CalibratedScore
from uncone.analysis.calibration.results import Background, Operating, Threshold, Translation
from uncone.analysis.calibration.thresholds import score_at, threshold
from uncone.analysis.cosine.baseline import Evidence
from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.intervals.resampling import Score
from uncone.analysis.number_format import cosine, count, percent, plain
from uncone.report.text import between, capitalized, last_name, shorten, source_line

if TYPE_CHECKING:
    from uncone.report.documents.calibrate import Calibrated

__all__ = [
    "MILLION", "above", "advice", "bounds", "cut", "digits", "hits", "is_usable", "limit_text", "main", "meaning",
    "rare", "reasons", "refusal", "score", "share", "short", "spread", "subtitle", "translated", "worth",
]  # fmt: skip

MILLION = 1_000_000
_MOST_DECIMALS = 5
_FAR = 100.0
_WORTH = {
    Evidence.STRONG: "so {score} is evidence of similarity here.",
    Evidence.WEAK: "so {score} is weak evidence of similarity here.",
    Evidence.NONE: "so {score} is not evidence of similarity here.",
    Evidence.UNKNOWN: "too uncertain to say whether {score} is evidence of similarity here.",
}
_Cut = Threshold | Translation | Operating


def main(result: Calibrated) -> CalibratedScore:
    """The score of the headline: the first that the user asked about, else the middle of the guesses."""
    return next((score for score in result.scores if not score.guessed), result.scores[len(result.scores) // 2])


def worth(result: Calibrated, entry: CalibratedScore) -> str:
    """A sentence on the worth of a score as evidence, with the numbers behind it."""
    first, evidence = result.calibration.backgrounds[0], _WORTH[entry.evidence].format(score=f"{entry.score:g}")
    if first.independent < LEAST_UNITS:
        few = f"{_units(result)} are too few to say what {entry.score:g} means here (at least {LEAST_UNITS} are needed)"
        return f"{few}. {_reach(result, entry)}."
    if entry.is_judged_by_ratio and entry.ratio is not None and entry.found is not None:
        similar = f"{percent(entry.found.value or 0.0)} of labeled similar pairs do"
        return f"{_reach(result, entry)}, and {similar}: {_times(entry.ratio)}, {evidence}"
    if entry.evidence is Evidence.UNKNOWN:
        bounds = between(entry.rate_low, entry.rate_high, rare)
        return f"{_reach(result, entry)}, but with {_units(result)} it may be {bounds}: {evidence}"
    return f"{_reach(result, entry)}, {evidence}"


def _units(result: Calibrated) -> str:
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
    bounds = between(ratio.low, ratio.high)
    return f"{plain(ratio.value or 0.0)} times as often{f' (95 % interval {bounds})' if bounds else ''}"


def is_usable(limit: Threshold) -> bool:
    """Whether there is a threshold, and it is not 1 in as many decimals as anyone would write."""
    return limit.value is not None and limit.value <= 1 - 10**-_MOST_DECIMALS / 2


def digits(result: Calibrated) -> int:
    """Decimals that a score needs here: unrelated pairs that differ little need more."""
    sd = result.calibration.backgrounds[0].sd
    return 2 if sd >= 0.05 else 3 if sd >= 0.005 else 4


def score(result: Calibrated, value: float | None, more: int = 0) -> str:
    """A score with as many decimals as it needs here; a dash where there is none."""
    return "–" if value is None else cosine(value, digits(result) + more)


def cut(result: Calibrated, limit: _Cut) -> str:
    """A threshold, with decimals enough to tell it from the ends of its interval."""
    value = limit.new if isinstance(limit, Translation) else limit.value
    return "–" if value is None else cosine(value, _decimals(result, limit))


def bounds(result: Calibrated, limit: _Cut, to: str = " to ") -> str:
    """The interval of a threshold, with as many decimals as that has; empty if it is unknown."""
    return between(limit.low, limit.high, lambda value: cosine(value, _decimals(result, limit)), to)


def limit_text(result: Calibrated, limit: _Cut) -> str:
    """A threshold with its interval."""
    interval = bounds(result, limit)
    return f"{cut(result, limit)}{f' (95 % interval {interval})' if interval else ''}"


def _decimals(result: Calibrated, limit: _Cut) -> int:
    least = digits(result) + 1
    if limit.low is None or limit.high is None or limit.high <= limit.low:
        return least
    return min(max(least, math.ceil(-math.log10(limit.high - limit.low))), _MOST_DECIMALS)


def share(entry: CalibratedScore) -> str:
    """The unrelated pairs that reach a score; if the sample has none, how many there could be."""
    if entry.rate:
        return rare(entry.rate)
    return "unknown" if entry.rate_high >= 1 else f"under {rare(entry.rate_high)}"


def above(entry: CalibratedScore) -> str:
    """A score on the scale from the background to 1, which has no length if unrelated pairs score nearly 1."""
    return cosine(entry.rescaled) if entry.rescaled >= -_FAR else f"under -{_FAR:.0f}"


def hits(value: float | None) -> str:
    """A number of hits, without digits that are not known.

    >>> [hits(value) for value in (10000.4, 729693.0, 12.3, 0.034, 0.0, None)]
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


def refusal(limit: Threshold) -> str:
    """A sentence on why there is no threshold at this rate, and what would be needed."""
    is_new = limit.rows_needed is not None and f"{limit.rows_needed:,}" not in limit.reason
    more = f" {count(limit.rows_needed or 0, 'vector')} would be needed." if is_new else ""
    reason = limit.reason or "there are too few vectors."
    return f"There is no threshold for a false-positive rate of {rare(limit.rate)}: {reason}{more}"


def subtitle(result: Calibrated) -> str:
    """Vectors and dimensions; the model, layer and pooling if they are known."""
    source, first = result.calibration.source, result.calibration.backgrounds[0]
    rows = f"{first.rows:,}"
    if first.documents is not None:
        rows = f"{_queries(first.rows)}, {count(first.documents, 'document')}"
    return source_line(f"{rows} x {source['dim']:,}" if source.get("dim") else rows, source)


def translated(result: Calibrated, translation: Translation) -> str:
    """A threshold of another space, and the one that corresponds to it here."""
    old = f"{translation.old:g} in {translation.old_name}"
    if translation.new is None:
        return f"{old} has no counterpart here: {translation.reason}"
    rate = f"a false-positive rate of {rare(translation.rate)}"
    return f"{old} has {rate}. The same rate here is at {limit_text(result, translation)}."


def _reach(result: Calibrated, entry: CalibratedScore) -> str:
    if entry.rate:
        return f"{rare(entry.rate)} of unrelated pairs score {entry.score:g} or more"
    pairs = result.calibration.backgrounds[0].pairs
    return f"None of {pairs:,} sampled unrelated pairs scores {entry.score:g} or more"


def meaning(result: Calibrated) -> list[str]:
    """Sentences on the scores of unrelated and labeled pairs, and on the other scores in question."""
    first, entry = result.calibration.backgrounds[0], main(result)
    low, high = (score(result, score_at(first, tail)) for tail in (0.975, 0.025))
    noun = "texts" if result.calibration.source.get("encoder") else "vectors"
    pairs = f"Unrelated {noun}" if first.documents is None else "Unrelated pairs of a query and a document"
    lines = [f"{pairs} score {low} to {high} here (95 %, average {score(result, first.mean)})."]
    if entry.found is not None and entry.found.value is not None and entry.let_through is not None:
        ratio = entry.labeled_ratio
        times = "" if ratio is None or ratio.value is None else f": {_times(ratio)}"
        lines.append(
            f"{percent(entry.found.value)} of the labeled similar pairs score {entry.score:g} or more, and "
            f"{percent(entry.let_through.value or 0.0)} of the labeled dissimilar pairs do{times}."
        )
        if entry.ratio is not None and not entry.is_judged_by_ratio:
            lines.append(
                f"{count(entry.ratio.n, 'independent similar pair')} are too few to judge a score by (at least "
                f"{LEAST_UNITS} are needed), so unrelated pairs alone decide."
            )
    return [*lines, *(worth(result, other) for other in result.scores if other is not entry and not other.guessed)]


def reasons(result: Calibrated) -> list[str]:
    """Sentences on why unrelated pairs score so high, and how other backgrounds differ."""
    calibration, entry = result.calibration, main(result)
    first, limit = calibration.backgrounds[0], calibration.thresholds[0]
    lines = []
    if first.mean > 0.2:
        lines.append(
            f"Unrelated pairs average {score(result, first.mean)}, not 0, because of the model, a topic that all "
            f"texts share, or both. On a scale from there to 1, {entry.score:g} is {above(entry)}. Don't reuse a "
            "threshold from another space."
        )
    for other in calibration.backgrounds[1:]:
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
    """Sentences on which thresholds to use."""
    calibration, size = result.calibration, result.calibration.corpus_size
    first, limit = calibration.thresholds[0], calibration.one_hit
    lines = []
    if is_usable(first):
        number = first.hits if size and first.hits is not None else first.rate * (size or MILLION)
        corpus = f"{size:,}" if size and size != MILLION else "a million"
        lines.append(f"In a search, {rare(first.rate)} of {corpus} is {hits(number)} unrelated hits per query.")
    if limit is not None and (limit.value is None or is_usable(limit)) and (size or 0) > 1:
        goal = f"one unrelated hit per query on average among {size:,}"
        if limit.value is None:
            lines.append(f"There are too few vectors for {goal}. {refusal(limit)}")
        else:
            lines.append(f"For {goal}, use a threshold of {limit_text(result, limit)}. {spread(limit)}".rstrip())
    if calibration.labeled is not None:
        lines += [_operating(result, best) for best in calibration.labeled.operating if best.value is not None][:1]
    return [*lines, *([] if calibration.translation is None else [translated(result, calibration.translation)])]


def spread(limit: Threshold) -> str:
    """A sentence on how unevenly hits are spread over queries; empty if that was not measured."""
    hub = limit.spread
    if hub is None:
        return ""
    elsewhere = f" (measured in a corpus of {hub.corpus_size:,}, at its own threshold)"
    where = "" if hub.corpus_size == limit.corpus_size else elsewhere
    if not hub.over_one:
        return f"None of {hub.queries:,} sampled queries has more than one unrelated hit{where}."
    return (
        f"Hits are unevenly spread: about {percent(hub.over_one)} of queries have more than one, the worst of "
        f"{hub.queries:,} has {hub.largest:,}{where}."
    )


def _operating(result: Calibrated, point: Operating) -> str:
    figures = (("precision", point.precision), ("recall", point.recall))
    shares = [f"{name} {plain(value.value)}" for name, value in figures if value.value is not None]
    shares += [] if point.background_rate is None else [f"false-positive rate {rare(point.background_rate)}"]
    return f"{capitalized(point.goal)} on the labeled pairs is at {cut(result, point)} ({', '.join(shares)})."


def short(each: Background) -> str:
    """A background as a chart or a table names it."""
    return shorten(last_name(each.name), 24)
