"""The result of `calibrate`: what a score means in a space and which threshold to use, with its document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from uncone.analysis.calibration.calibration import NO_RATIO, STRONG_RATIO
from uncone.analysis.calibration.results import Background, Operating, ScoreMapping, Threshold
from uncone.analysis.calibration.thresholds import threshold
from uncone.analysis.cosine.baseline import Evidence
from uncone.analysis.intervals.resampling import Score
from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.number_format import cosine, percent, plain
from uncone.report.charts.model import Chart, Reference
from uncone.report.document import Block, Card, Cell, Command, Document, Facts, Notes, Section, Table, Verdict, table
from uncone.report.documents.calibrate import sentences as say
from uncone.report.documents.calibrate.charts import background, charts_of_labeled_pairs, histograms, reach
from uncone.report.documents.calibrate.guarantees import guarantee_sentences, guaranteed_thresholds, risk_chart
from uncone.report.result import Result
from uncone.report.text import between, last_name, provenance_facts

if TYPE_CHECKING:
    from uncone.analysis.calibration.calibration import CalibratedScore, Calibration

_TRUST = (
    "Unrelated pairs are random pairs of the corpus. A few of them are related by chance, so a threshold is slightly "
    "stricter than it says.",
    "A calibration holds for this encoder, layer, pooling and repair, and for texts like these. Calibrate again when "
    "one of them changes.",
)
_SAME = "The same false-positive rate means the same number of false hits, whatever the scale."
_SIZES = (10_000, 1_000_000)
"""Corpora that hits are counted in if none was named."""
_LEVELS = {
    Evidence.STRONG: Level.HEALTHY,
    Evidence.WEAK: Level.CROWDED,
    Evidence.NONE: Level.CROWDED,
    Evidence.UNKNOWN: Level.NOTE,
}
_HALF = 0.5
_SHORT = {"unrelated pairs": "unrelated", "similar pairs": "similar", "dissimilar pairs": "different"}


@dataclass(frozen=True)
class Calibrated(Result):
    """A calibration, the scores in question, and how it was made.

    `scores` are those of the user, or the thresholds that people guess. `provenance` says how the calibration came
    to be, `saved` is its folder, where it has one.
    """

    calibration: Calibration
    scores: Sequence[CalibratedScore]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    saved: str | None = None
    topic: Mapping[str, Finding] = field(default_factory=dict)
    """For texts: the model's baseline on many subjects, and the topic's share of that of the texts."""

    @property
    def level(self) -> Level:
        """The level of the main score as a threshold."""
        score = say.main(self)
        return Level.COLLAPSED if score.evidence is Evidence.NONE and score.rate > _HALF else _LEVELS[score.evidence]

    @property
    def headline(self) -> str:
        """A sentence on the worth of the main score, and the threshold to use."""
        worth, limit = say.worth(self, say.main(self)), self.calibration.thresholds[0]
        if limit.value is None:
            return f"{worth} {say.refusal(limit)}"
        rate = f"a false-positive rate of {say.rare(limit.rate)}"
        if not say.is_usable(limit):
            return f"{worth} No threshold gives {rate}: too many unrelated pairs score 1. Run uncone check first."
        return f"{worth} For {rate}, use a threshold of {say.limit_text(self, limit)}."

    def lines(self) -> list[str]:
        """Sentences on what a score means here, why, and what to do."""
        return [*say.meaning(self), *self._reasons(), *say.advice(self), *guarantee_sentences(self)]

    def _reasons(self) -> list[str]:
        """Why scores are what they are, and whose doing that is."""
        findings = [self.topic[name] for name in ("topic_share", "diverse_baseline") if name in self.topic]
        meanings = [finding.meaning for finding in findings if finding.value is not None] or [
            finding.meaning for finding in findings[-1:]
        ]
        return [*say.reasons(self), *meanings[:1]]

    @property
    def usage(self) -> str | None:
        """The Python call that uses the saved calibration; None if it was not saved."""
        return None if self.saved is None else f"uncone.Calibration.load({self.saved!r}).percentile(score)"

    def _values(self) -> dict[str, Any]:
        return {
            "level": self.level,
            "headline": self.headline,
            "lines": self.lines(),
            "scores": self.scores,
            "calibration": self.calibration.to_dict(),
            "saved": self.saved,
            "topic": {name: finding.to_dict() for name, finding in self.topic.items()},
            "provenance": self.provenance,
        }

    def document(self) -> Document:
        """The report: the meaning of each score, thresholds, labeled pairs, and how far to trust them."""
        calibration, headline, moved = self.calibration, self.headline, self.calibration.translation
        notes = [*calibration.notes, *(calibration.labeled.notes if calibration.labeled is not None else ())]
        translated = "" if moved is None else f"{say.translated(self, moved)} {_SAME}"
        saved = [("saved to", self.saved)] if self.saved else []
        usage = [Command(self.usage, "use")] if self.usage else []
        hints = [Notes(calibration.hints, "index")] if calibration.hints else []
        marks = [replace(mark, label=_SHORT.get(mark.label, mark.label)) for mark in histograms(self)]
        lines = [] if calibration.thresholds[0].value is None else [Reference(calibration.thresholds[0].value)]
        sections = [
            Section("", [background(self)], brief=[Chart("background", "", "", marks, references=lines)]),
            _table_section(scores(self), [reach(self)]),
            _table_section(thresholds(self)),
            *([Section("A threshold from another space", [], translated)] if translated else []),
            *_guaranteed(self),
            *_labeled(self),
            *([Section("Quantized indexes", hints, brief=hints)] if hints else []),
            Section("Can I trust this?", [Notes([*_TRUST, *notes])], brief=[Notes(notes, most=2)]),
            _table_section(backgrounds(self), brief=False),
            Section("Provenance", [Facts([*provenance_facts(self.provenance), *saved])], brief=[Facts(saved), *usage]),
            *([Section("In a program", usage)] if usage else []),
        ]
        verdict = Verdict(headline, self.level, say.meaning(self), self._reasons(), _advice(self), _cards(self))
        return Document(headline, last_name(calibration.source.get("name")), say.subtitle(self), [verdict], sections)

    def __repr__(self) -> str:
        """The headline in a line."""
        return f"<Calibrated {self.calibration.source.get('name')}: {self.headline}>"


def _advice(result: Calibrated) -> list[str]:
    """The advice, and the remarks on thresholds that no sentence contains yet."""
    lines = [*say.advice(result), *guarantee_sentences(result)]
    sentences = (result.headline, *lines)
    remarks = thresholds(result).remarks
    return [*lines, *(remark for remark in remarks if not any(remark in sentence for sentence in sentences))]


def _cards(result: Calibrated) -> list[Card]:
    calibration, score = result.calibration, say.main(result)
    limit, labeled = calibration.thresholds[0], calibration.labeled
    cards = [
        Card(say.score(result, calibration.backgrounds[0].mean), "mean score of unrelated pairs"),
        Card(say.share(score), f"of unrelated pairs score {score.score:g} or more"),
        Card(say.cut(result, limit), f"threshold for a false-positive rate of {say.rare(limit.rate)}"),
    ]
    if labeled is not None and labeled.roc_auc.value is not None:
        chance = "chance that a similar pair scores higher than a dissimilar one"
        return [*cards, Card(percent(labeled.roc_auc.value), chance)]
    size = calibration.corpus_size or say.MILLION
    label = f"unrelated hits per query at that threshold, in a corpus of {size:,}"
    return [*cards, Card("–" if limit.value is None else say.hits(limit.rate * size), label)]


def _table_section(table: Table, charts: Sequence[Block] = (), *, brief: bool = True) -> Section:
    """A table under its own title; the terminal has no room for its remarks."""
    bare = replace(table, title="", intro="")
    return Section(table.title, [bare, *charts], table.intro, [replace(bare, remarks=())] if brief else [])


def _labeled(result: Calibrated) -> list[Section]:
    points, probabilities, charts = operating(result), mappings(result), charts_of_labeled_pairs(result)
    sections = [] if points is None else [_table_section(points, charts)]
    sections += [Section("Labeled pairs", charts)] if points is None and charts else []
    return [*sections, *([] if probabilities is None else [_table_section(probabilities, brief=False)])]


def _guaranteed(result: Calibrated) -> list[Section]:
    promised = guaranteed_thresholds(result)
    return [] if promised is None else [_table_section(promised, risk_chart(result))]


def scores(result: Calibrated) -> Table:
    """A table of what each score means; columns without any value are left out."""
    size = result.calibration.corpus_size
    rows = [
        {
            "score": Cell(f"{score.score:g}"),
            "unrelated pairs at or above": Cell(
                say.share(score), between(score.rate_low, score.rate_high, say.rare, " – ") if score.rate else ""
            ),
            "percentile": Cell(_percentile(score.percentile)),
            f"unrelated hits in {size or 0:,}": Cell(say.hits(score.hits) if size else ""),
            "above the background": Cell(say.above(score)),
            "probability": Cell("" if score.probability is None else cosine(score.probability)),
            "similar pairs found": _figure(score.found, percent),
            "dissimilar pairs found": _figure(score.let_through, percent),
            "likelihood ratio": _figure(score.ratio, plain),
        }
        for score in result.scores
    ]
    heads = [head for head in rows[0] if any(row[head].text for row in rows)]
    guessed = all(score.guessed for score in result.scores)
    mean = say.score(result, result.calibration.backgrounds[0].mean, 1)
    remarks = [f"Above the background: (s − b)/(1 − b), with b = {mean}."]
    if "likelihood ratio" in heads:
        remarks.append(
            "Likelihood ratio: how many times as often similar pairs reach the score as unrelated pairs do. Below "
            f"{NO_RATIO:g} the score is not evidence, from {STRONG_RATIO:g} on it is."
        )
    intro = "Common guesses at a threshold." if guessed else "The scores you asked about."
    cells = [[row[head] for head in heads] for row in rows]
    return table(heads, cells, title="What does a score mean?", intro=intro, remarks=remarks)


def thresholds(result: Calibrated) -> Table:
    """The threshold for each false-positive rate, here and against the other backgrounds, and the hits it leaves."""
    calibration = result.calibration
    sizes = (calibration.corpus_size,) if calibration.corpus_size else _SIZES
    others, one_hit = calibration.backgrounds[1:], calibration.one_hit
    limits = [(say.rare(limit.rate), limit) for limit in calibration.thresholds]
    if one_hit is not None and one_hit.rate < 1:
        limits.append(("one hit on average", one_hit))
    rows = []
    for name, limit in limits:
        beside = [_threshold(result, threshold(other, limit.rate, calibration.corpus_size)) for other in others]
        counts = ["–" if limit.value is None else say.hits(limit.rate * size) for size in sizes]
        rows.append([name, _threshold(result, limit), *counts, *beside])
    remarks = [say.refusal(limit) for _, limit in limits if limit.value is None]
    if one_hit is not None and one_hit.spread is not None:
        remarks.append(say.spread(one_hit))
    heads = ["false-positive rate", "threshold", *(f"unrelated hits per query in {size:,}" for size in sizes)]
    heads += [f"threshold by {say.short(other)}" for other in others]
    intro = (
        "A pair passes if it scores at or above the threshold. The sampling units of the 95 % intervals are distinct "
        "vectors (or documents), not pairs."
    )
    return table(heads, rows, title="Thresholds", intro=intro, remarks=list(dict.fromkeys(remarks)))


def operating(result: Calibrated) -> Table | None:
    """The thresholds chosen by labeled pairs; None without any."""
    labeled = result.calibration.labeled
    if labeled is None or not labeled.operating:
        return None
    rows = []
    for point in labeled.operating:
        figures = [_figure(value) for value in (point.precision, point.recall, point.f1)]
        rate = "–" if point.background_rate is None else say.rare(point.background_rate)
        rows.append([point.goal, _threshold(result, point), *figures, rate])
    graded = f" (graded {labeled.cut:g} or more)" if labeled.cut is not None else ""
    heads = ["goal", "threshold", "precision", "recall", "F1", "false-positive rate"]
    intro = f"{labeled.n:,} labeled pairs, {labeled.positives:,} of them similar{graded}."
    missing = [f"{point.goal}: {point.reason}" for point in labeled.operating if point.value is None and point.reason]
    return table(heads, rows, title="Thresholds by labeled pairs", intro=intro, remarks=missing)


def mappings(result: Calibrated) -> Table | None:
    """A table of how good the probabilities are, by cross-validation; None without labeled pairs."""
    labeled = result.calibration.labeled
    if labeled is None or not labeled.mappings:
        return None
    intro = (
        "Measured on pairs that the mapping was not fitted on. The Brier score is the mean squared error of the "
        "probability, the calibration error how far it is off on average; 0 is best for both. probability() uses the "
        "first mapping."
    )
    rows = [[each.kind, _figure(each.brier), _figure(each.ece), _formula(each)] for each in labeled.mappings]
    heads = ["mapping", "Brier score", "calibration error", "form"]
    return table(heads, rows, title="How good are the probabilities?", intro=intro)


def backgrounds(result: Calibrated) -> Table:
    """The unrelated pairs of each corpus, and how many there are."""
    every = result.calibration.backgrounds
    left_out = [(each.name, amount, reason) for each in every for reason, amount in each.left_out.items() if amount]
    heads = ["background", "vectors", "all pairs", "sampled", "mean", "standard deviation"]
    intro = "Mean and standard deviation are exact over all pairs. Rates and thresholds come from the sampled ones."
    remarks = [f"{name}: {amount:,} pairs left out ({reason})." for name, amount, reason in left_out]
    rows = [_background_row(result, each) for each in every]
    return table(heads, rows, title="Unrelated pairs", intro=intro, remarks=remarks)


def _percentile(value: float) -> str:
    """Never 100 if something is above it: as many nines as are true."""
    if value > 99.99:
        return "over 99.99" if value < 100 else "100"
    return f"{value:.2f}" if value >= 99 else f"{value:.1f}"


def _figure(score: Score | None, show: Callable[[float], str] = lambda value: cosine(value, 3)) -> Cell:
    """A value with its interval; a dash if it is unknown, empty if it was not measured."""
    if score is None or score.value is None:
        return Cell("" if score is None else "–")
    return Cell(show(score.value), between(score.low, score.high, show, " – "))


def _threshold(result: Calibrated, limit: Threshold | Operating) -> Cell:
    if limit.value is None:
        minimum = limit.rows_needed if isinstance(limit, Threshold) else None
        return Cell("–", "" if minimum is None else f"needs {minimum:,} vectors")
    return Cell(say.cut(result, limit), say.bounds(result, limit, " – "))


def _formula(mapping: ScoreMapping) -> str:
    if mapping.slope is None or mapping.intercept is None:
        return f"{len(mapping.knots):,} knots"
    sign = "+" if mapping.intercept >= 0 else "−"
    return f"1/(1 + exp(−({mapping.slope:.3g} s {sign} {abs(mapping.intercept):.3g})))"


def _background_row(result: Calibrated, each: Background) -> list[str | Cell]:
    sides = f"{each.rows:,}" if each.documents is None else f"{each.rows:,} x {each.documents:,}"
    values = (each.mean, each.mean_low, each.mean_high, each.sd)
    mean, low, high, sd = (say.score(result, value, 1) for value in values)
    return [each.name, sides, f"{each.all_pairs:,}", f"{each.pairs:,}", Cell(mean, f"{low} – {high}"), sd]
