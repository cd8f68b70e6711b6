"""The document of `calibrate`: what a score means in a space, and which threshold to use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from uncone.analysis.calibration.results import Background, Operating, ScoreMapping, Threshold
from uncone.analysis.calibration.score_meaning import NO_RATIO, STRONG_RATIO
from uncone.analysis.calibration.thresholds import threshold
from uncone.analysis.intervals.resampling import Score
from uncone.analysis.number_format import cosine, percent, plain
from uncone.report.charts.model import Chart, Reference
from uncone.report.document import (
    Block,
    Card,
    Cell,
    Column,
    Command,
    Document,
    Facts,
    Notes,
    Row,
    Section,
    Table,
    Verdict,
)
from uncone.report.documents.calibrate import sentences as say
from uncone.report.documents.calibrate.charts import background, charts_of_labeled_pairs, histograms, reach
from uncone.report.results.calibrate import Calibrated
from uncone.report.text import last_name, provenance_facts

_TRUST = (
    "Unrelated pairs are random pairs of the corpus. A few of them are related by chance, so a threshold is slightly "
    "stricter than it says.",
    "A calibration holds for this encoder, layer, pooling and repair, and for texts like these. Calibrate again when "
    "one of them changes.",
)


def document(result: Calibrated) -> Document:
    """What each score means, thresholds, labeled pairs, and how far to trust them."""
    made = result.calibration
    notes = [*made.notes, *(made.labelled.notes if made.labelled is not None else ())]
    saved = [("saved to", result.saved)] if result.saved else []
    verdict = Verdict(
        say.headline(result),
        say.level(result),
        say.meaning(result),
        say.reasons(result),
        _advice(result),
        _cards(result),
    )
    sections = [
        Section("", [background(result)], brief=[_histograms(result)]),
        _table_section(scores(result), [reach(result)]),
        _table_section(thresholds(result)),
        *_translation(result),
        *_labeled(result),
    ]
    if made.hints:
        sections.append(Section("Quantized indexes", [Notes(made.hints)], brief=[Notes(made.hints, "index")]))
    usage = [Command(result.usage, "use")] if result.usage else []
    facts = Facts([*provenance_facts(result.provenance), *saved])
    sections += [
        Section("Can I trust this?", [Notes([*_TRUST, *notes])], brief=[Notes(notes, most=2)]),
        _table_section(backgrounds(result), brief=False),
        Section("Provenance", [facts], brief=[Facts(saved), *usage]),
    ]
    if result.usage:
        sections.append(Section("In a program", [Command(result.usage)]))
    return Document(say.headline(result), last_name(made.source.get("name")), say.subtitle(result), [verdict], sections)


def _advice(result: Calibrated) -> list[str]:
    """What to do, and the remarks on thresholds that no sentence has made yet."""
    lines = say.advice(result)
    made = (result.headline, *lines)
    return [*lines, *(one for one in thresholds(result).remarks if not any(one in line for line in made))]


def _cards(result: Calibrated) -> list[Card]:
    """Four numbers, each with its meaning under it."""
    made, one = result.calibration, say.main(result)
    first, limit = made.backgrounds[0], made.thresholds[0]
    cards = [
        Card(say.score(result, first.mean), "mean score of unrelated pairs"),
        Card(say.share(one), f"of unrelated pairs score {one.score:g} or more"),
        Card(say.cut(result, limit), f"threshold for a false-positive rate of {say.rare(limit.rate)}"),
    ]
    if made.labelled is not None and made.labelled.roc_auc.value is not None:
        auc = percent(made.labelled.roc_auc.value)
        return [*cards, Card(auc, "chance that a similar pair scores higher than a dissimilar one")]
    size = made.corpus_size or say.MILLION
    label = f"unrelated hits per query at that threshold, in a corpus of {size:,}"
    return [*cards, Card("–" if limit.value is None else say.hits(limit.rate * size), label)]


def _histograms(result: Calibrated) -> Chart:
    """Histograms alone with the main threshold, for a terminal."""
    first = result.calibration.thresholds[0].value
    names = {"unrelated pairs": "unrelated", "similar pairs": "similar", "dissimilar pairs": "different"}
    marks = [replace(one, label=names.get(one.label, one.label)) for one in histograms(result)]
    return Chart("background", "", "", marks, references=[] if first is None else [Reference(first)])


def _table_section(table: Table, charts: Sequence[Block] = (), *, brief: bool = True) -> Section:
    """A table under its own title; the terminal has no room for its remarks."""
    plain = replace(table, title="", intro="")
    return Section(table.title, [plain, *charts], table.intro, [replace(plain, remarks=())] if brief else [])


def _translation(result: Calibrated) -> list[Section]:
    moved = result.calibration.translation
    if moved is None:
        return []
    same = "The same false-positive rate means the same number of false hits, whatever the scale."
    return [Section("A threshold from another space", [], f"{say.translated(result, moved)} {same}")]


def _labeled(result: Calibrated) -> list[Section]:
    points, probabilities = operating(result), mappings(result)
    charts = charts_of_labeled_pairs(result)
    sections = [] if points is None else [_table_section(points, charts)]
    if points is None and charts:
        sections.append(Section("Labeled pairs", charts))
    return [*sections, *([_table_section(probabilities, brief=False)] if probabilities is not None else [])]


_SIZES = (10_000, 1_000_000)
"""Corpora that hits are counted in if none was named."""


def _table(
    title: str, intro: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]], remarks: Sequence[str] = ()
) -> Table:
    columns = [Column(head, align="right" if place else "left") for place, head in enumerate(heads)]
    return Table(columns, [Row(cells) for cells in rows], title, intro, remarks)


def scores(result: Calibrated) -> Table:
    """What each score means; columns without any value are left out."""
    size, asked = result.calibration.corpus_size, result.asked
    columns = {
        "score": [Cell(f"{one.score:g}") for one in asked],
        "unrelated pairs at or above": [
            Cell(say.share(one), f"{say.rare(one.rate_low)} – {say.rare(one.rate_high)}" if one.rate else "")
            for one in asked
        ],
        "percentile": [Cell(_percentile(one.percentile)) for one in asked],
        f"unrelated hits in {size or 0:,}": [Cell(say.hits(one.hits) if size else "") for one in asked],
        "above the background": [Cell(say.above(one)) for one in asked],
        "probability": [Cell("" if one.probability is None else cosine(one.probability)) for one in asked],
        "similar pairs found": [_figure(one.found, percent) for one in asked],
        "dissimilar pairs found": [_figure(one.let_through, percent) for one in asked],
        "likelihood ratio": [_figure(one.ratio, plain) for one in asked],
    }
    shown = {name: cells for name, cells in columns.items() if any(cell.text for cell in cells)}
    guessed = all(one.guessed for one in asked)
    intro = "Common guesses at a threshold." if guessed else "The scores you asked about."
    mean = say.score(result, result.calibration.backgrounds[0].mean, 1)
    remarks = [f"Above the background: (s − b)/(1 − b), with b = {mean}."]
    if "likelihood ratio" in shown:
        remarks.append(
            "Likelihood ratio: how many times as often similar pairs reach the score as unrelated pairs do. Below "
            f"{NO_RATIO:g} the score is not evidence, from {STRONG_RATIO:g} on it is."
        )
    return _table("What does a score mean?", intro, list(shown), list(zip(*shown.values(), strict=True)), remarks)


def thresholds(result: Calibrated) -> Table:
    """The threshold for each false-positive rate, here and against the other backgrounds, and the hits it leaves."""
    made = result.calibration
    sizes = (made.corpus_size,) if made.corpus_size else _SIZES
    others = made.backgrounds[1:]
    rates = [(say.rare(one.rate), one) for one in made.thresholds]
    if made.one_hit is not None and made.one_hit.rate < 1:
        rates.append(("one hit on average", made.one_hit))
    rows = []
    for name, one in rates:
        beside = [_threshold(result, threshold(other, one.rate, made.corpus_size)) for other in others]
        counts = [Cell(say.hits(one.rate * size) if one.value is not None else "–") for size in sizes]
        rows.append([Cell(name), _threshold(result, one), *counts, *beside])
    remarks = [say.refusal(one) for _, one in rates if one.value is None]
    if made.one_hit is not None and made.one_hit.spread is not None:
        remarks.append(say.spread(made.one_hit))
    heads = ["false-positive rate", "threshold", *(f"unrelated hits per query in {size:,}" for size in sizes)]
    return _table(
        "Thresholds",
        "A pair passes if it scores at or above the threshold. The sampling units of the 95 % intervals are distinct "
        "vectors (or documents), not pairs.",
        [*heads, *(f"threshold by {say.short(other)}" for other in others)],
        rows,
        list(dict.fromkeys(remarks)),
    )


def operating(result: Calibrated) -> Table | None:
    """The thresholds chosen by labeled pairs; None without any."""
    labeled = result.calibration.labelled
    if labeled is None or not labeled.operating:
        return None
    graded = f" (graded {labeled.cut:g} or more)" if labeled.cut is not None else ""
    return _table(
        "Thresholds by labeled pairs",
        f"{labeled.n:,} labeled pairs, {labeled.positives:,} of them similar{graded}.",
        ["goal", "threshold", "precision", "recall", "F1", "false-positive rate"],
        [_operating_row(result, one) for one in labeled.operating],
        [f"{one.goal}: {one.reason}" for one in labeled.operating if one.value is None and one.reason],
    )


def mappings(result: Calibrated) -> Table | None:
    """How good the probabilities are, by cross-validation; None without labeled pairs."""
    labeled = result.calibration.labelled
    if labeled is None or not labeled.mappings:
        return None
    return _table(
        "How good are the probabilities?",
        "Judged on pairs that each mapping was not fitted on. The Brier score is the mean squared error of the "
        "probability, the calibration error how far it is off on average; 0 is best for both. probability() uses the "
        "first mapping.",
        ["mapping", "Brier score", "calibration error", "form"],
        [[Cell(one.kind), _figure(one.brier), _figure(one.ece), Cell(_formula(one))] for one in labeled.mappings],
    )


def backgrounds(result: Calibrated) -> Table:
    """The unrelated pairs of each corpus, and how many there are."""
    made = result.calibration.backgrounds
    return _table(
        "Unrelated pairs",
        "Mean and standard deviation are exact over all pairs; rates and thresholds are those of the sampled ones.",
        ["background", "vectors", "all pairs", "sampled", "mean", "standard deviation"],
        [_background_row(result, one) for one in made],
        [
            f"{one.name}: {amount:,} pairs left out ({reason})."
            for one in made
            for reason, amount in one.left_out.items()
            if amount
        ],
    )


def _percentile(value: float) -> str:
    """Never 100 if something is above it: as many nines as are true."""
    if value > 99.99:
        return "over 99.99" if value < 100 else "100"
    return f"{value:.2f}" if value >= 99 else f"{value:.1f}"


def _figure(one: Score | None, show: Callable[[float], str] = lambda value: cosine(value, 3)) -> Cell:
    """A value with its interval; a dash if it is unknown, empty if it was not measured."""
    if one is None or one.value is None:
        return Cell("" if one is None else "–")
    known = one.low is not None and one.high is not None
    return Cell(show(one.value), f"{show(one.low or 0.0)} – {show(one.high or 0.0)}" if known else "")


def _threshold(result: Calibrated, one: Threshold | Operating) -> Cell:
    if one.value is None:
        needed = one.rows_needed if isinstance(one, Threshold) else None
        return Cell("–", "" if needed is None else f"needs {needed:,} vectors")
    return Cell(say.cut(result, one), " – ".join(say.between(result, one) or ()))


def _operating_row(result: Calibrated, one: Operating) -> list[Cell]:
    figures = [_figure(value) for value in (one.precision, one.recall, one.f1)]
    rate = "–" if one.background_rate is None else say.rare(one.background_rate)
    return [Cell(one.goal), _threshold(result, one), *figures, Cell(rate)]


def _formula(one: ScoreMapping) -> str:
    if one.slope is None or one.intercept is None:
        return f"{len(one.knots):,} knots"
    sign = "+" if one.intercept >= 0 else "−"
    return f"1/(1 + exp(−({one.slope:.3g} s {sign} {abs(one.intercept):.3g})))"


def _background_row(result: Calibrated, one: Background) -> list[Cell]:
    sides = f"{one.rows:,}" if one.documents is None else f"{one.rows:,} x {one.documents:,}"
    mean, low, high, sd = (say.score(result, value, 1) for value in (one.mean, one.mean_low, one.mean_high, one.sd))
    counts = [Cell(sides), Cell(f"{one.all_pairs:,}"), Cell(f"{one.pairs:,}")]
    return [Cell(one.name), *counts, Cell(mean, f"{low} – {high}"), Cell(sd)]
