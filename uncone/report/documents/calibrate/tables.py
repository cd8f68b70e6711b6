"""The tables of a calibration."""

from __future__ import annotations

from collections.abc import Sequence

from uncone.analysis.calibration.results import Background, Operating, ScoreMapping, Threshold
from uncone.analysis.calibration.score_meaning import NO_RATIO, STRONG_RATIO
from uncone.analysis.calibration.thresholds import threshold
from uncone.analysis.intervals.resampling import Score
from uncone.analysis.number_format import cosine, percent, plain
from uncone.report.document import Cell, Column, Row, Table
from uncone.report.documents.calibrate.sentences import above, between, cut, hits, rare, refusal, score, share, spread
from uncone.report.results.calibrate import Calibrated
from uncone.report.text import fitted, printable

__all__ = ["backgrounds", "mappings", "operating", "scores", "thresholds"]

_SIZES = (10_000, 1_000_000)
"""Corpora that hits are counted in when none was named."""


def _table(
    title: str, intro: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]], remarks: Sequence[str]
) -> Table:
    columns = [Column(head, align="right" if place else "left") for place, head in enumerate(heads)]
    return Table(columns, [Row(cells) for cells in rows], title, intro, remarks)


def scores(result: Calibrated) -> Table:
    """What each asked score means; columns that nothing is known for are left out."""
    made, size = result.calibration, result.calibration.corpus_size
    columns = {
        "score": [Cell(f"{one.score:g}") for one in result.asked],
        "unrelated pairs that reach it": [
            Cell(share(one), f"{rare(one.rate_low)} – {rare(one.rate_high)}" if one.rate else "")
            for one in result.asked
        ],
        "percentile": [Cell(_percentile(one.percentile)) for one in result.asked],
        f"unrelated hits in {size or 0:,}": [Cell(hits(one.hits) if size else "") for one in result.asked],
        "above the background": [Cell(above(one)) for one in result.asked],
        "probability": [Cell("" if one.probability is None else cosine(one.probability)) for one in result.asked],
        "alike pairs found": [_in_percent(one.found) for one in result.asked],
        "unlike pairs let through": [_in_percent(one.let_through) for one in result.asked],
        "likelihood ratio": [_ratio(one.ratio) for one in result.asked],
    }
    kept = {name: cells for name, cells in columns.items() if any(cell.text for cell in cells)}
    guessed = all(one.guessed for one in result.asked)
    intro = "The thresholds that people guess, and what they would let through." if guessed else "As asked."
    remarks = [f"Above the background: (s − b)/(1 − b), with b = {score(result, made.backgrounds[0].mean, 1)}."]
    if "likelihood ratio" in kept:
        remarks.append(
            "Likelihood ratio: how many times as often alike pairs reach the score as unrelated pairs do; below "
            f"{NO_RATIO:g} the score is not evidence, from {STRONG_RATIO:g} on it is."
        )
    rows = list(zip(*kept.values(), strict=True))
    return _table("What does a score mean?", intro, list(kept), rows, remarks)


def thresholds(result: Calibrated) -> Table:
    """Where to cut for each rate, here and against the other backgrounds, and the hits that this leaves."""
    made = result.calibration
    sizes = (made.corpus_size,) if made.corpus_size else _SIZES
    others = made.backgrounds[1:]
    asked = [(rare(one.rate), one) for one in made.thresholds]
    if made.one_hit is not None and made.one_hit.rate < 1:
        asked.append(("one hit on average", made.one_hit))
    rows = []
    for name, one in asked:
        beside = [_cut(result, threshold(other, one.rate, made.corpus_size)) for other in others]
        counted = [Cell(hits(one.rate * size) if one.value is not None else "–") for size in sizes]
        rows.append([Cell(name), _cut(result, one), *counted, *beside])
    head = ["unrelated pairs let through", "cut at", *(f"unrelated hits per query in {size:,}" for size in sizes)]
    remarks = [refusal(one) for _, one in asked if one.value is None]
    if made.one_hit is not None and made.one_hit.spread is not None:
        remarks.append(spread(made.one_hit))
    intro = (
        "A score at or above the cut is taken. Each cut has a 95 % interval, whose units are distinct rows (or "
        "documents), not pairs."
    )
    return _table(
        "Where to cut",
        intro,
        [*head, *(f"cut by {_named(other)}" for other in others)],
        rows,
        list(dict.fromkeys(remarks)),
    )


def operating(result: Calibrated) -> Table | None:
    """The thresholds that labelled pairs choose; nothing without any."""
    labelled = result.calibration.labelled
    if labelled is None or not labelled.operating:
        return None
    rows = [_operating_row(result, one) for one in labelled.operating]
    remarks = [f"{one.goal}: {one.reason}" for one in labelled.operating if one.value is None and one.reason]
    graded = f"; alike means a grade of {labelled.cut:g} or more" if labelled.cut is not None else ""
    intro = f"{labelled.n:,} labelled pairs, {labelled.positives:,} of them alike{graded}."
    head = ["goal", "cut at", "precision", "recall", "F1", "unrelated pairs let through"]
    return _table("Where labelled pairs would cut", intro, head, rows, remarks)


def mappings(result: Calibrated) -> Table | None:
    """How well scores become probabilities, judged by cross-validation; nothing without labelled pairs."""
    labelled = result.calibration.labelled
    if labelled is None or not labelled.mappings:
        return None
    rows = [_mapping_row(one) for one in labelled.mappings]
    intro = (
        "Judged on pairs that each was not fitted on. Brier score: the mean squared error of the probability; "
        "calibration error: how far it is off on average. 0 is best for both. The first is what probability() uses."
    )
    return _table(
        "How good are the probabilities?", intro, ["mapping", "Brier score", "calibration error", "form"], rows, []
    )


def backgrounds(result: Calibrated) -> Table:
    """What the unrelated pairs are, and how many there were."""
    rows = [_background_row(result, one) for one in result.calibration.backgrounds]
    head = ["background", "rows", "all pairs", "sampled", "mean", "standard deviation"]
    left = [
        f"{one.name}: {amount:,} pairs left out ({reason})."
        for one in result.calibration.backgrounds
        for reason, amount in one.left_out.items()
        if amount
    ]
    intro = "Mean and standard deviation are exact over all pairs; shares and thresholds are those of the sampled ones."
    return _table("Unrelated pairs", intro, head, rows, left)


def _percentile(value: float) -> str:
    """Never 100 where something is above it: as many nines as are true."""
    if value > 99.99:
        return "over 99.99" if value < 100 else "100"
    return f"{value:.2f}" if value >= 99 else f"{value:.1f}"


def _in_percent(one: Score | None) -> Cell:
    if one is None:
        return Cell("")
    if one.value is None:
        return Cell("–")
    return Cell(percent(one.value), f"{percent(one.low or 0.0)} – {percent(1.0 if one.high is None else one.high)}")


def _ratio(one: Score | None) -> Cell:
    if one is None or one.value is None:
        return Cell("" if one is None else "–")
    known = one.low is not None and one.high is not None
    return Cell(plain(one.value), f"{plain(one.low or 0.0)} – {plain(one.high or 0.0)}" if known else "")


def _named(one: Background) -> str:
    return fitted(printable(one.name.rstrip("/").rsplit("/", 1)[-1]), 24)


def _cut(result: Calibrated, one: Threshold) -> Cell:
    if one.value is None:
        needed = "" if one.rows_needed is None else f"needs {one.rows_needed:,} rows"
        return Cell("–", needed)
    return Cell(cut(result, one), _ends(result, one))


def _ends(result: Calibrated, one: Threshold | Operating) -> str:
    return " – ".join(between(result, one) or ())


def _between(result: Calibrated, low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{score(result, low, 1)} – {score(result, high, 1)}"


def _operating_row(result: Calibrated, one: Operating) -> list[Cell]:
    if one.value is None:
        return [Cell(one.goal), *(Cell("–") for _ in range(5))]
    rate = one.background_rate
    return [
        Cell(one.goal),
        Cell(cut(result, one), _ends(result, one)),
        *(_figure(value) for value in (one.precision, one.recall, one.f1)),
        Cell("–" if rate is None else rare(rate)),
    ]


def _figure(one: Score, more: int = 3) -> Cell:
    if one.value is None:
        return Cell("–")
    known = one.low is not None and one.high is not None
    return Cell(cosine(one.value, more), f"{cosine(one.low, more)} – {cosine(one.high, more)}" if known else "")  # type: ignore[arg-type]


def _mapping_row(one: ScoreMapping) -> list[Cell]:
    steps = f"{len(one.knots):,} knots"
    if one.slope is not None and one.intercept is not None:
        sign = "+" if one.intercept >= 0 else "−"
        steps = f"1/(1 + exp(−({one.slope:.3g} s {sign} {abs(one.intercept):.3g})))"
    return [Cell(one.kind), _figure(one.brier), _figure(one.ece), Cell(steps)]


def _background_row(result: Calibrated, one: Background) -> list[Cell]:
    rows = f"{one.rows:,}" if one.documents is None else f"{one.rows:,} x {one.documents:,}"
    bounds = _between(result, one.mean_low, one.mean_high)
    return [
        Cell(one.name),
        Cell(rows),
        Cell(f"{one.all_pairs:,}"),
        Cell(f"{one.pairs:,}"),
        Cell(score(result, one.mean, 1), bounds),
        Cell(score(result, one.sd, 1)),
    ]
