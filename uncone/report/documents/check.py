"""The results of `check`: findings, verdict and provenance of a space, or of several, and their document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from uncone.analysis.advice.rules import USE_NAMES, Advice
from uncone.analysis.cosine.baseline import ScoreMeaning
from uncone.analysis.measures.finding import Finding, Level, failures
from uncone.analysis.measures.registry import measure, placed
from uncone.analysis.measures.verdict import Verdict
from uncone.analysis.number_format import clipped, cosine, count, percent
from uncone.analysis.space.chart_data import Pictures
from uncone.report import document as doc
from uncone.report.charts.model import Axis, Bars, Chart, Cloud, CloudView, Coloring, Histogram, Line, Note, Reference
from uncone.report.charts.theme import series_color
from uncone.report.result import Result
from uncone.report.text import interval, last_name, number, number_text, printable, provenance_facts, shorten

__all__ = [
    "Comparison", "Diagnosis", "cosine_chart", "eigenvalue_chart", "findings_table", "shape", "source_facts", "verdict",
]  # fmt: skip

_WIDTH = 66
_LOG_SPAN = 20
"""Norms that differ by more than this factor are drawn on a logarithmic axis."""


@dataclass(frozen=True)
class Diagnosis(Result):
    """One space: what it is, its findings, and what they mean."""

    source: Mapping[str, Any]
    findings: Mapping[str, Finding]
    verdict: Verdict
    scores: Sequence[ScoreMeaning]
    pictures: Pictures
    provenance: Mapping[str, Any]
    suggestion: str | None = None
    """A command that goes on from here, ready to paste."""
    advice: Advice | None = None
    """The rule on repairs that speaks, or why none does; None for repaired vectors."""
    commands: Mapping[str, str] = field(default_factory=dict)
    """The commands that `prove` and `apply` the repair of the advice."""

    def __getitem__(self, name: str) -> Finding:
        """A finding by name."""
        return self.findings[name]

    @property
    def diagnoses(self) -> Sequence[Diagnosis]:
        """The diagnoses of a comparison; here, itself."""
        return [self]

    def _values(self) -> dict[str, Any]:
        verdict = self.verdict
        return {
            "source": self.source,
            "verdict": {
                "level": verdict.level,
                "text": verdict.text,
                "headline": verdict.headline,
                "why": verdict.why,
                "advice": verdict.todo,
                "next": self.suggestion,
            },
            "findings": {name: finding.to_dict() for name, finding in self.findings.items()},
            "scores": self.scores,
            "charts": self.pictures.to_dict(),
            "provenance": self.provenance,
            "advice": None if self.advice is None else self.advice.values(self.source["dimensions"], self.commands),
        }

    def document(self) -> doc.Document:
        """The space in full."""
        own: list[doc.Block] = [_contributions(self), _points(self)]
        own += [_norms(self)] if self.pictures.norm_edges else []  # of vectors scaled by a database there are none
        return doc.Document(
            title=self.verdict.headline,
            name=_name(self),
            subtitle=f"{shape(self)} · {self.source['dtype']}",
            verdicts=[verdict(self)],
            sections=[
                doc.Section("", [cosine_chart([self]), eigenvalue_chart([self]), *own]),
                *_advice(self),
                *_findings(self),
                doc.Section("Provenance", [doc.Facts(source_facts(self))]),
            ],
        )

    def __repr__(self) -> str:
        """The verdict in a line."""
        return f"<Diagnosis of {self.source['name']}: {self.verdict.headline}>"


@dataclass(frozen=True)
class Comparison(Result):
    """Several spaces side by side."""

    diagnoses: Sequence[Diagnosis]

    def _values(self) -> dict[str, Any]:
        return {"sources": [space._values() for space in self.diagnoses]}

    def document(self) -> doc.Document:
        """The verdicts, common charts, and a table with a column for each space."""
        spaces, failed = self.diagnoses, _failures(self.diagnoses)
        every, names = findings_table(spaces), (*placed("check", "check"), *placed("check", "compare"))
        titles = {measure(name).title for name in names}
        main = doc.Table(every.columns, [row for row in every.rows if row.cells[0].text in titles])
        return doc.Document(
            title=spaces[0].verdict.headline,
            name=f"{len(spaces)} spaces side by side",
            subtitle="",
            verdicts=[verdict(space, with_name=True) for space in spaces],
            sections=[
                doc.Section("", [cosine_chart(spaces), eigenvalue_chart(spaces)]),
                doc.Section("Findings", [*failed, every], brief=[main, *failed]),
                doc.Section("Provenance", [doc.Facts(source_facts(space), _name(space)) for space in spaces]),
            ],
        )


def shape(space: Diagnosis) -> str:
    """Rows and dimensions."""
    return f"{space.source['rows']:,} x {space.source['dimensions']:,}"


def verdict(space: Diagnosis, *, with_name: bool = False, with_advice: bool = True, half: bool = False) -> doc.Verdict:
    """The verdict on a space; `named` where there are several, without advice that something has overtaken."""
    summary, name = space.verdict, f"{_name(space)} · {shape(space)}" if with_name else ""
    details, reasons = ([text] if text else [] for text in (summary.details, summary.why))
    advice, cards = [summary.todo] if summary.todo and with_advice else [], [] if half else _cards(space)
    command = "" if with_name or space.suggestion is None else space.suggestion
    return doc.Verdict(summary.headline, summary.level, details, reasons, advice, cards, command, name, half)


def cosine_chart(spaces: Sequence[Diagnosis]) -> Chart:
    """Histograms of the cosines of unrelated pairs; means dotted, requested scores as lines."""
    first, several = spaces[0], len(spaces) > 1
    marks, means = [], []
    for place, space in enumerate(spaces):
        edges, color = space.pictures.cosine_edges, f"{series_color(place)} 60%" if several else series_color(place)
        heights = list(np.array(space.pictures.cosine_density) / np.diff(edges))
        marks.append(Histogram(edges, heights, _name(space), color, unit="% of pairs per 0.01"))
        means.append(Reference(space["baseline"].magnitude or 0.0, "" if several else "mean", "muted", "dot"))
    requested = [Reference(score.score, f"{score.score:g}") for score in first.scores]
    caption = (
        "Dotted lines are the means. The further to the right, the more crowded. Compare a score only with the "
        "histogram of its own space."
        if several
        else first.verdict.details
    )
    x = Axis("cosine of two unrelated vectors, cos(x, y)", "cosine")
    y = Axis("% of pairs per 0.01", "percent_per_0.01", zero=True)
    return Chart("cosines", "Cosines of unrelated pairs", caption, marks, x, y, [*means, *requested], wide=True)


def eigenvalue_chart(spaces: Sequence[Diagnosis]) -> Chart:
    """Variance along each principal direction, on a logarithmic axis; directions without variance are counted."""
    marks, zeros = [], []
    for place, space in enumerate(spaces):
        name, values = _name(space), np.array(space.pictures.eigenvalues)
        shares = 100 * values / (values.sum() or 1.0)
        # Below the precision of float32 a removed direction leaves rounding errors, not variance.
        positive = values > np.finfo(np.float32).eps * values.max(initial=0.0)
        y = [float(share) if has else None for share, has in zip(shares, positive, strict=True)]
        marks.append(Line(list(range(1, len(values) + 1)), y, name, series_color(place)))
        if n := int((~positive).sum()):
            zeros.append(f"{count(n, 'direction')} without variance{f' ({name})' if len(spaces) > 1 else ''}")
    several = len(spaces) > 1
    caption = "A flat line uses all directions equally." if several else spaces[0]["effective_rank"].meaning
    caption += f" Not shown: {', '.join(zeros)}." if zeros else ""
    x = Axis("principal direction", "direction", whole=True)
    up = Axis("share of variance, λ/Σλ (%)", "percent_of_variance", log=True)
    return Chart("eigenvalues", "Variance per direction", caption, marks, x, up, wide=several)


def findings_table(spaces: Sequence[Diagnosis]) -> doc.Table:
    """Every finding that all spaces have, a column for each space."""
    rows = []
    for name in spaces[0].findings:
        if all(name in space.findings for space in spaces):
            findings = [space[name] for space in spaces]
            cells = [doc.Cell(number(each), interval(each), each.level, hover=each.meaning) for each in findings]
            rows.append([doc.Cell(measure(name).title, hover=measure(name).definition), *cells])
    return doc.table(["finding", *(shorten(_name(space), 22) for space in spaces)], rows)


def _name(space: Diagnosis) -> str:
    return last_name(space.source["name"])


def _cards(space: Diagnosis) -> list[doc.Card]:
    rogue, (mean, rank) = _rogue(space), (space[name].magnitude for name in ("baseline", "effective_rank"))
    return [
        doc.Card(number_text(mean, cosine), "mean cosine of unrelated pairs"),
        doc.Card(f"{number_text(rank)} of {space.source['dimensions']:,}", "directions in use"),
        doc.Card(number(space["top1_share"]), "of the variance in one direction"),
        doc.Card(", ".join(map(str, rogue)) or "none", "rogue dimension" if len(rogue) == 1 else "rogue dimensions"),
    ]


def _rogue(space: Diagnosis) -> list[int]:
    value = space["rogue_dimensions"].value
    return value if isinstance(value, list) else []


def _advice(space: Diagnosis) -> list[doc.Section]:
    """The record of the rule that speaks, and the commands that prove and apply its repair."""
    advice, dim = space.advice, int(space.source["dimensions"])
    if advice is None or advice.rule is None or not advice.records:
        return []
    repair = "the named repairs" if advice.repair is None else " ".join(advice.repair.flags(dim)[1:])
    columns = ["use", "measured cases", "gained 1 point or more", "lost 0.5 points or more", "worst"]
    rows = [
        [USE_NAMES[use], f"{r.cases:,}", percent(r.good / r.cases), percent(r.harm / r.cases), f"{r.worst:+.1f} points"]
        for use, r in advice.records.items()
    ]
    intro = (
        f"What {repair} did in measured cases with {advice.rule.because}: an estimate for your vectors, not a proof."
    )
    commands = [doc.Command(text, label) for label, text in space.commands.items()]
    return [doc.Section("Advice", [doc.table(columns, rows), *commands], intro, commands)]


def _contributions(space: Diagnosis) -> Chart:
    values, caption = space.pictures.contributions, space["rogue_dimensions"].meaning
    x = Axis("dimension j", "dimension", whole=True)
    y = Axis("contribution to the mean cosine", "contribution", zero_line=True)
    notes = [Note(j, values[j], str(j)) for j in _rogue(space)]
    bars = [Bars(list(range(len(values))), values)]
    return Chart("contributions", "Contribution per dimension", caption, bars, x, y, notes=notes)


def _points(space: Diagnosis) -> Cloud:
    dots = space.pictures.points
    texts = [f"row {row:,}" for row in dots.rows] if dots.texts is None else dots.texts
    colorings = []
    if dots.labels is not None:
        names = sorted(set(dots.labels) - {"other"})
        codes = {name: code for code, name in enumerate(names)}
        colorings = [Coloring("label", np.array([codes.get(label, -1) for label in dots.labels]), names)]
    caption = f"{len(dots.rows):,} sampled vectors on the two strongest directions."
    views = [CloudView("", np.column_stack([dots.x, dots.y]))]
    axes = ("first principal direction", "second principal direction")
    return Cloud("points", "Map of a sample", caption, views, colorings, texts, axes)


def _norms(space: Diagnosis) -> Chart:
    edges = space.pictures.norm_edges
    bins = [Histogram(edges, space.pictures.norm_counts, color="accent", unit="vectors")]
    x = Axis("length of a vector, |x|", "norm", log=edges[-1] > _LOG_SPAN * edges[0])
    y = Axis("vectors", "vectors", zero=True)
    return Chart("norms", "Vector lengths", space["norm_mean"].meaning, bins, x, y)


def _findings(space: Diagnosis) -> list[doc.Section]:
    intro = (
        "Each finding has its 95 % interval, if there is one, and the number of vectors it was measured on. Open one "
        "to see what it means, what to do, its definition and its paper."
    )
    health, failed = placed("check", "health"), _failures([space])
    names = [name for name in placed("check", "check") if name in space.findings]
    main = doc.Items([_brief_item(space, space[name]) for name in names])
    others = [_item(finding) for name, finding in space.findings.items() if name not in health]
    brief = [main, doc.Sentences([_health(space)], "data"), *_hubs(space), *failed]
    return [
        doc.Section("Findings", [*failed, doc.Items(others)], intro, brief),
        doc.Section("Data health", [doc.Items([_item(space[name]) for name in health])]),
    ]


def _brief_item(space: Diagnosis, finding: Finding) -> doc.Item:
    value, text = finding.value, number(finding)
    if finding.name == "effective_rank":
        text = f"{text} of {space.source['dimensions']:,}"
    elif isinstance(value, list) and len(text) > 18:
        fitting = [k for k in range(len(value)) if len(", ".join(map(str, value[:k]))) <= 16]
        text = ", ".join(map(str, value[: max(fitting)])) + " …"
    return doc.Item(finding.name, measure(finding.name).title, text, interval(finding), finding.level, finding.n)


def _item(finding: Finding) -> doc.Item:
    entry = measure(finding.name)
    threshold = "" if finding.threshold is None else f" Threshold {finding.threshold:.4g}."
    definition = f"{entry.definition}{f' {entry.paper}.' if entry.paper else ''}{threshold}"
    names = ["" if row["text"] is None else f"{row['text']} · " for row in finding.rows]
    examples = [f"{name}row {row['row']:,}, {row['value']:.4g}" for name, row in zip(names, finding.rows, strict=True)]
    more: list[doc.Block] = [doc.Sentences([finding.advice], "What to do")] if finding.advice else []
    more += [doc.Sentences(examples, bulleted=True)] if examples else []
    more += [_quantiles(finding)] if isinstance(finding.value, dict) else []
    parts = (entry.title, number(finding), interval(finding), finding.level, finding.n, finding.meaning)
    return doc.Item(finding.name, *parts, more, definition)


def _quantiles(finding: Finding) -> doc.Table:
    parts = {"cosine": finding.value, "from": finding.low, "to": finding.high}
    lines = {name: part for name, part in parts.items() if isinstance(part, dict) and part}
    rows = [[name, *(cosine(value, 3) for value in part.values())] for name, part in lines.items()]
    return doc.table(["share of pairs below", *(f"{100 * float(share):g} %" for share in lines["cosine"])], rows)


def _health(space: Diagnosis) -> str:
    if any(space[name].failed for name in placed("check", "health")):
        return "–"
    nouns = {"bad_rows": "bad vector", "zero_vectors": "zero vector", "constant_dimensions": "constant dimension"}
    bad, zero, constant = (count(int(space[name].magnitude or 0), noun) for name, noun in nouns.items())
    return f"{bad}, {zero}, {percent(space['duplicate_share'].magnitude or 0.0)} duplicates, {constant}"


def _hubs(space: Diagnosis) -> list[doc.Block]:
    """The vectors that would answer every query, if there are any."""
    finding = space["hubness_skew"]
    if finding.level is not Level.CROWDED or not finding.rows:
        return []
    worst = finding.rows[0]
    if worst["text"] is None:
        hubs = ", ".join(f"row {row['row']:,} ({row['value']:,})" for row in finding.rows)
        return [doc.Sentences([f"nearest neighbors of many of {finding.n:,} vectors: {hubs}"], "hubs")]
    end = f"” (row {worst['row']:,}) is near {worst['value']:,} of {finding.n:,} vectors"
    return [doc.Sentences([f"“{clipped(printable(worst['text']), _WIDTH - len(end))}{end}"], "hubs")]


def _failures(spaces: Sequence[Diagnosis]) -> list[doc.Block]:
    reasons = [reason for space in spaces for reason in failures(space.findings.values())]
    return [doc.Notes(reasons, "failed")] if reasons else []


def source_facts(space: Diagnosis) -> list[tuple[str, str]]:
    """The source of a space, and how it was measured."""
    source = space.source
    description = f"{source['name']} ({source['kind']}, {source['dtype']})"
    return [("source", description), *provenance_facts(space.provenance)]
