"""The document of `check`: how crowded a space is, what a score means in it, and every finding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uncone.analysis.measures.finding import Finding, Level, failures
from uncone.analysis.measures.registry import measure, placed
from uncone.analysis.number_format import clipped, cosine, count, percent, plain
from uncone.report.charts.model import (
    Axis,
    Bars,
    Chart,
    Cloud,
    CloudView,
    Coloring,
    Histogram,
    Line,
    Note,
    Reference,
    series_color,
)
from uncone.report.document import (
    Block,
    Card,
    Cell,
    Column,
    Document,
    Facts,
    Item,
    Items,
    Notes,
    Row,
    Section,
    Sentences,
    Table,
    Verdict,
)
from uncone.report.results.check import Comparison, Diagnosis
from uncone.report.text import fitted, interval, last_name, number, printable, provenance_facts

__all__ = ["cosine_chart", "document", "eigenvalue_chart", "findings_table", "shape", "source_facts", "verdict"]

_WIDTH = 66
_LOG_SPAN = 20
"""Norms that differ by more than this factor are drawn on a logarithmic axis."""


def document(result: Diagnosis | Comparison) -> Document:
    """One space in full, or several side by side."""
    spaces = result.diagnoses
    first, several = spaces[0], len(spaces) > 1
    name = f"{len(spaces)} spaces side by side" if several else _name(first)
    subtitle = "" if several else f"{shape(first)} · {first.source['dtype']}"
    own: list[Block] = [] if several else [_contributions(first), _points(first), _norms(first)]
    return Document(
        title=first.verdict.headline,
        name=name,
        subtitle=subtitle,
        verdicts=[verdict(space, named=several) for space in spaces],
        sections=[
            Section("", [cosine_chart(spaces), eigenvalue_chart(spaces), *own]),
            *([_side_by_side(spaces)] if several else _findings(first)),
            Section("Provenance", [Facts(source_facts(space), _name(space) if several else "") for space in spaces]),
        ],
    )


def shape(space: Diagnosis) -> str:
    """Rows and dimensions."""
    return f"{space.source['rows']:,} x {space.source['dimensions']:,}"


def verdict(space: Diagnosis, *, named: bool = False, advised: bool = True, half: bool = False) -> Verdict:
    """The verdict on a space; `named` where there are several, without advice that something has overtaken."""
    judged = space.verdict
    return Verdict(
        judged.headline,
        judged.level,
        details=[judged.details] if judged.details else [],
        why=[judged.why] if judged.why else [],
        advice=[judged.todo] if judged.todo and advised else [],
        cards=[] if half else _cards(space),
        command="" if named or space.suggestion is None else space.suggestion,
        name=f"{_name(space)} · {shape(space)}" if named else "",
        half=half,
    )


def cosine_chart(spaces: Sequence[Diagnosis]) -> Chart:
    """Histograms of the cosines of unrelated pairs; means dotted, requested scores as lines."""
    first, several = spaces[0], len(spaces) > 1
    marks = [
        Histogram(
            space.pictures.cosine_edges,
            list(np.array(space.pictures.cosine_density) / np.diff(space.pictures.cosine_edges)),
            label=_name(space),
            color=f"{series_color(place)} 60%" if several else series_color(place),
            unit="% of pairs per 0.01",
        )
        for place, space in enumerate(spaces)
    ]
    means = [
        Reference(space["baseline"].magnitude or 0.0, "" if several else "mean", "muted", "dot") for space in spaces
    ]
    asked = [Reference(score.score, f"{score.score:g}") for score in first.scores]
    caption = (
        "Dotted lines are the means. The further to the right, the more crowded. Compare a score with the histogram of "
        "its own space."
        if several
        else first.verdict.details
    )
    return Chart(
        "cosines",
        "Cosines of unrelated pairs",
        caption,
        marks,
        Axis("cosine of two unrelated vectors, cos(x, y)", "cosine"),
        Axis("% of pairs per 0.01", "percent_per_0.01", zero=True),
        [*means, *asked],
        wide=True,
    )


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
    return Chart(
        "eigenvalues",
        "Variance per direction",
        caption,
        marks,
        Axis("principal direction", "direction", whole=True),
        Axis("share of variance, λ/Σλ (%)", "percent_of_variance", log=True),
        wide=several,
    )


def findings_table(spaces: Sequence[Diagnosis]) -> Table:
    """Every finding that all spaces have, a column for each space."""
    shared = [name for name in spaces[0].findings if all(name in space.findings for space in spaces)]
    rows = []
    for name in shared:
        found = [space[name] for space in spaces]
        cells = [Cell(number(one), interval(one), one.level, hover=one.meaning) for one in found]
        rows.append(Row([Cell(measure(name).title, hover=measure(name).definition), *cells]))
    return Table([Column("finding", align="left"), *(Column(fitted(_name(space), 22)) for space in spaces)], rows)


def _name(space: Diagnosis) -> str:
    return last_name(space.source["name"])


def _cards(space: Diagnosis) -> list[Card]:
    rogue = _rogue(space)
    mean, rank = (space[name].magnitude for name in ("baseline", "effective_rank"))
    return [
        Card("–" if mean is None else cosine(mean), "mean cosine of unrelated pairs"),
        Card(f"{'–' if rank is None else plain(rank)} of {space.source['dimensions']:,}", "directions in use"),
        Card(number(space["top1_share"]), "of the variance in one direction"),
        Card(", ".join(map(str, rogue)) or "none", "rogue dimension" if len(rogue) == 1 else "rogue dimensions"),
    ]


def _rogue(space: Diagnosis) -> list[int]:
    value = space["rogue_dimensions"].value
    return value if isinstance(value, list) else []


def _contributions(space: Diagnosis) -> Chart:
    """What each dimension adds to the baseline; rogue dimensions are named."""
    values = space.pictures.contributions
    return Chart(
        "contributions",
        "Contribution per dimension",
        space["rogue_dimensions"].meaning,
        [Bars(list(range(len(values))), values)],
        Axis("dimension j", "dimension", whole=True),
        Axis("part of the mean cosine", "contribution", zero_line=True),
        notes=[Note(j, values[j], str(j)) for j in _rogue(space)],
    )


def _points(space: Diagnosis) -> Cloud:
    """Sampled vectors on the two strongest directions."""
    dots = space.pictures.points
    texts = [f"row {row:,}" for row in dots.rows] if dots.texts is None else dots.texts
    colorings = []
    if dots.labels is not None:
        names = sorted(set(dots.labels) - {"other"})
        codes = {name: code for code, name in enumerate(names)}
        colorings = [Coloring("label", np.array([codes.get(label, -1) for label in dots.labels]), names)]
    return Cloud(
        "points",
        "Map of a sample",
        f"{len(dots.rows):,} sampled vectors on the two strongest directions.",
        [CloudView("", np.column_stack([dots.x, dots.y]))],
        colorings,
        texts,
        ("first principal direction", "second principal direction"),
    )


def _norms(space: Diagnosis) -> Chart:
    edges = space.pictures.norm_edges
    return Chart(
        "norms",
        "Lengths of the vectors",
        space["norm_mean"].meaning,
        [Histogram(edges, space.pictures.norm_counts, color="accent", unit="vectors")],
        Axis("length of a vector, |x|", "norm", log=edges[-1] > _LOG_SPAN * edges[0]),
        Axis("vectors", "vectors", zero=True),
    )


def _findings(space: Diagnosis) -> list[Section]:
    intro = (
        "Each with its 95 % interval, if it has one, and the number of vectors it was measured on. Open a finding for "
        "what it means, what to do, its definition and paper."
    )
    brief: list[Block] = [
        Items([_brief_item(space, space[name]) for name in placed("check", "check")]),
        _health_line(space),
    ]
    measured = [_item(one) for name, one in space.findings.items() if name not in placed("check", "health")]
    failed = _failures([space])
    return [
        Section("Findings", [*failed, Items(measured)], intro, [*brief, *_hubs(space), *failed]),
        Section("Data health", [Items([_item(space[name]) for name in placed("check", "health")])]),
    ]


def _brief_item(space: Diagnosis, finding: Finding) -> Item:
    value, shown = finding.value, number(finding)
    if finding.name == "effective_rank":
        shown = f"{shown} of {space.source['dimensions']:,}"
    elif isinstance(value, list) and len(shown) > 18:
        fitting = [k for k in range(len(value)) if len(", ".join(map(str, value[:k]))) <= 16]
        shown = ", ".join(map(str, value[: max(fitting)])) + " …"
    return Item(finding.name, measure(finding.name).title, shown, interval(finding), finding.level, finding.n)


def _item(finding: Finding) -> Item:
    entry = measure(finding.name)
    threshold = "" if finding.threshold is None else f" Threshold {finding.threshold:.4g}."
    more: list[Block] = [Sentences([finding.advice], "What to do")] if finding.advice else []
    if finding.rows:
        more.append(Sentences([_named_row(row) for row in finding.rows], bulleted=True))
    if isinstance(finding.value, dict):
        more.append(_quantiles(finding))
    return Item(
        finding.name,
        entry.title,
        number(finding),
        interval(finding),
        finding.level,
        finding.n,
        finding.meaning,
        more,
        f"{entry.definition}{f' {entry.paper}.' if entry.paper else ''}{threshold}",
    )


def _named_row(row: dict[str, object]) -> str:
    text = f"{row['text']} · " if row["text"] is not None else ""
    return f"{text}row {row['row']:,}, {row['value']:.4g}"


def _quantiles(finding: Finding) -> Table:
    assert isinstance(finding.value, dict)
    rows = [Row([Cell("cosine"), *(Cell(cosine(one, 3)) for one in finding.value.values())])]
    for label, ends in (("from", finding.low), ("to", finding.high)):
        if ends:
            rows.append(Row([Cell(label), *(Cell(cosine(one, 3)) for one in ends.values())]))
    heads = [Column(f"{100 * float(share):g} %") for share in finding.value]
    return Table([Column("share of pairs below", align="left"), *heads], rows)


def _health_line(space: Diagnosis) -> Sentences:
    if any(space[name].failed for name in placed("check", "health")):
        return Sentences(["–"], "data")
    parts = [
        count(int(space["bad_rows"].magnitude or 0), "bad vector"),
        count(int(space["zero_vectors"].magnitude or 0), "zero vector"),
        f"{percent(space['duplicate_share'].magnitude or 0.0)} duplicates",
        count(int(space["constant_dimensions"].magnitude or 0), "constant dimension"),
    ]
    return Sentences([", ".join(parts)], "data")


def _hubs(space: Diagnosis) -> list[Block]:
    """The vectors that would answer every query, if there are any."""
    finding = space["hubness_skew"]
    if finding.level is not Level.CROWDED or not finding.rows:
        return []
    worst = finding.rows[0]
    if worst["text"] is None:
        named = ", ".join(f"row {row['row']:,} ({row['value']:,})" for row in finding.rows)
        return [Sentences([f"nearest of many of {finding.n:,} vectors: {named}"], "hubs")]
    end = f"” (row {worst['row']:,}) is near {worst['value']:,} of {finding.n:,} vectors"
    return [Sentences([f"“{clipped(printable(worst['text']), _WIDTH - len(end))}{end}"], "hubs")]


def _side_by_side(spaces: Sequence[Diagnosis]) -> Section:
    table = findings_table(spaces)
    titles = {measure(name).title for name in (*placed("check", "check"), *placed("check", "compare"))}
    brief = [row for row in table.rows if row.cells[0].text in titles]
    failed = _failures(spaces)
    return Section("Findings", [*failed, table], brief=[Table(table.columns, brief), *failed])


def _failures(spaces: Sequence[Diagnosis]) -> list[Block]:
    """What could not be measured, and why."""
    reasons = [reason for space in spaces for reason in failures(space.findings.values())]
    return [Notes(reasons, "failed")] if reasons else []


def source_facts(space: Diagnosis) -> list[tuple[str, str]]:
    """The source of a space, and how it was measured."""
    source = space.source
    named = f"{source['name']} ({source['kind']}, {source['dtype']})"
    return [("source", named), *provenance_facts(space.provenance)]
