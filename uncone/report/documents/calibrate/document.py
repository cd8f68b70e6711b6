"""The document of `calibrate`: what a score means in a space, and which threshold to use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from uncone.analysis.number_format import percent
from uncone.report.charts.model import Chart, Reference
from uncone.report.document import Block, Card, Command, Document, Facts, Notes, Section, Table, Verdict
from uncone.report.documents.calibrate.charts import background, charts_of_labeled_pairs, histograms, reach
from uncone.report.documents.calibrate.sentences import (
    MILLION,
    cut,
    headline,
    hits,
    level,
    main,
    rare,
    score,
    sentences,
    share,
    subtitle,
    translated,
)
from uncone.report.documents.calibrate.tables import backgrounds, mappings, operating, scores, thresholds
from uncone.report.results.calibrate import Calibrated
from uncone.report.text import last_name, provenance_facts

__all__ = ["document"]

_TRUST = (
    "Unrelated pairs are random pairs of the corpus. A few of them are related by chance, so a threshold is slightly "
    "stricter than it says.",
    "A calibration holds for this encoder, layer, pooling and repair, and for texts like these. Calibrate again when "
    "one of them changes.",
)


def document(result: Calibrated) -> Document:
    """What each score means, thresholds, labeled pairs, and how far to trust them."""
    made, lines = result.calibration, sentences(result)
    notes = [*made.notes, *(made.labelled.notes if made.labelled is not None else ())]
    saved = [("saved to", result.saved)] if result.saved else []
    advice = _advice(result, lines["todo"])
    verdict = Verdict(headline(result), level(result), lines["meaning"], lines["why"], advice, _cards(result))
    sections = [
        Section("", [background(result)], brief=[_histograms(result)]),
        _table(scores(result), [reach(result)]),
        _table(thresholds(result)),
        *_translation(result),
        *_labeled(result),
    ]
    if made.hints:
        sections.append(Section("Quantized indexes", [Notes(made.hints)], brief=[Notes(made.hints, "index")]))
    usage = [Command(result.usage, "use")] if result.usage else []
    facts = Facts([*provenance_facts(result.provenance), *saved])
    sections += [
        Section("Can I trust this?", [Notes([*_TRUST, *notes])], brief=[Notes(notes, most=2)]),
        _table(backgrounds(result), brief=False),
        Section("Provenance", [facts], brief=[Facts(saved), *usage]),
    ]
    if result.usage:
        sections.append(Section("In a program", [Command(result.usage)]))
    return Document(headline(result), last_name(made.source.get("name")), subtitle(result), [verdict], sections)


def _advice(result: Calibrated, lines: Sequence[str]) -> list[str]:
    """What to do, and the remarks on thresholds that no sentence has made yet."""
    made = (result.headline, *lines)
    return [*lines, *(one for one in thresholds(result).remarks if not any(one in line for line in made))]


def _cards(result: Calibrated) -> list[Card]:
    """Four numbers, each with its meaning under it."""
    made, one = result.calibration, main(result)
    first, limit = made.backgrounds[0], made.thresholds[0]
    cards = [
        Card(score(result, first.mean), "mean score of unrelated pairs"),
        Card(share(one), f"of unrelated pairs score {one.score:g} or more"),
        Card(cut(result, limit), f"threshold for a false-positive rate of {rare(limit.rate)}"),
    ]
    if made.labelled is not None and made.labelled.roc_auc.value is not None:
        auc = percent(made.labelled.roc_auc.value)
        return [*cards, Card(auc, "chance that a similar pair scores higher than a dissimilar one")]
    size = made.corpus_size or MILLION
    label = f"unrelated hits per query at that threshold, in a corpus of {size:,}"
    return [*cards, Card("–" if limit.value is None else hits(limit.rate * size), label)]


def _histograms(result: Calibrated) -> Chart:
    """Histograms alone with the main threshold, for a terminal."""
    first = result.calibration.thresholds[0].value
    names = {"unrelated pairs": "unrelated", "similar pairs": "similar", "dissimilar pairs": "different"}
    marks = [replace(one, label=names.get(one.label, one.label)) for one in histograms(result)]
    return Chart("background", "", "", marks, references=[] if first is None else [Reference(first)])


def _table(table: Table, charts: Sequence[Block] = (), *, brief: bool = True) -> Section:
    """A table under its own title; the terminal has no room for its remarks."""
    plain = replace(table, title="", intro="")
    return Section(table.title, [plain, *charts], table.intro, [replace(plain, remarks=())] if brief else [])


def _translation(result: Calibrated) -> list[Section]:
    moved = result.calibration.translation
    if moved is None:
        return []
    same = "The same false-positive rate means the same number of false hits, whatever the scale."
    return [Section("A threshold from another space", [], f"{translated(result, moved)} {same}")]


def _labeled(result: Calibrated) -> list[Section]:
    points, probabilities = operating(result), mappings(result)
    charts = charts_of_labeled_pairs(result)
    sections = [] if points is None else [_table(points, charts)]
    if points is None and charts:
        sections.append(Section("Labeled pairs", charts))
    return [*sections, *([_table(probabilities, brief=False)] if probabilities is not None else [])]
