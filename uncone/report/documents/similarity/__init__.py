"""The document of `similarity`: what a score means here, labels, pairs, groups, maps and the walk-through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from uncone.analysis.number_format import clipped, cosine, count
from uncone.analysis.similarity.results import Estimate, Groups, Pair, PerLabel
from uncone.report.document import (
    Block,
    Card,
    Cell,
    Clouds,
    Column,
    Document,
    Facts,
    Fold,
    Notes,
    Row,
    Section,
    Sentences,
    Table,
    Verdict,
)
from uncone.report.documents.similarity import charts
from uncone.report.documents.similarity import sentences as say
from uncone.report.documents.similarity.heatmap import heatmap, walkthrough
from uncone.report.results.similarity import Similarity
from uncone.report.text import last_name, printable, provenance_facts

__all__ = ["document"]

_MOST_PAIRS, _OPEN_PAIRS = 200, 20
_OPEN_ROWS = 24
"""Lines of a table that stand open; the others are folded."""
_BRIEF = 52
"""Letters of a text on a terminal; the files have all of it."""
_BRIEF_LABELS, _BRIEF_PAIRS, _BRIEF_GROUPS, _BRIEF_NOTES = 6, 3, 4, 2
"""Lines of each kind on a terminal."""
_WALK = (
    "From the heatmap as it comes out of the model to a readable one, on these {noun}s. All heatmaps of cosines share "
    "one color scale, so that a change of color is a change of the cosine. The heatmap of differences to unrelated "
    "pairs is blue below their mean and orange above it."
)


def document(result: Similarity) -> Document:
    """Everything there is to say of a similarity."""
    sections = (
        _near(result),
        _heatmaps(result),
        Section("What a score means here", [charts.histogram(result)]),
        _labels(result),
        _columns(result),
        _pairs(result),
        _groups(result),
        _maps(result),
        _walk(result),
        _health(result),
        _provenance(result),
    )
    return Document(
        f"Similarity of {say.noun(result)}s",
        last_name(result.source["name"]),
        say.subtitle(result),
        [_verdict(result)],
        [section for section in sections if section is not None],
    )


def _verdict(result: Similarity) -> Verdict:
    labels, two = result.per_label, result.two_columns
    differences = (labels.sentence if labels is not None else "", two.differs if two is not None else "")
    details = [line for line in (say.spread(result), *differences, say.duplicates(result)) if line]
    return Verdict(
        result.headline,
        say.level(result),
        details,
        cards=list(_cards(result))[:4],
        command=result.suggestion or "",
        bulleted=True,
    )


def _cards(result: Similarity) -> Iterator[Card]:
    background, labels, two = result.background, result.per_label, result.two_columns
    interval = f"({say.number(background.mean_low)} to {say.number(background.mean_high)})"
    yield Card(say.number(background.mean), f"mean cosine of unrelated pairs {interval}")
    one = say.tail_score(result, 0.01)
    if one is not None:
        yield Card(say.number(one), "1 % of unrelated pairs score this or more")
    if two is not None and np.isfinite(two.cosines).any():
        mean = float(np.nanmean(two.cosines))
        yield Card(
            say.number(mean), f"mean cosine side by side, {say.signed(mean - background.mean)} above unrelated pairs"
        )
    if labels is not None and labels.auc is not None:
        low, high = labels.auc_low, labels.auc_high
        interval = "" if low is None or high is None else f" ({cosine(low)} to {cosine(high)})"
        yield Card(
            cosine(labels.auc), f"AUC of pairs within a label over pairs between labels{interval}; 0.5 is chance"
        )
    what = "near-duplicate pairs"
    if result.crowd is not None:
        what = f"pairs of {say.reason(result.duplicates.why)}; cosine can't detect near-duplicates here"
    yield Card(f"{result.duplicates.found:,}", what)
    yield Card(f"{say.size(result):,}", f"{say.noun(result)}s compared")


def _near(result: Similarity) -> Section | None:
    near = result.near
    if near is None:
        return None
    listed, query = result.listed(near, _MOST_PAIRS), printable(result.near_text or "")
    head = [_COSINE, _PERCENTILE, _text_column(say.noun(result))]
    rows = [Row([*_score(pair), _side(result, pair.other_text, pair.other_label, pair.other)]) for pair in listed]
    blocks = _folded(Table(head, rows, name="near", stacked=True), 10, "more")
    more = f" The table has the first {len(rows):,} of {near.found:,}." if near.found > len(rows) else ""
    first = [Row([*_score(pair), Cell(_short(pair.other_text, pair.other_label))]) for pair in listed[:_BRIEF_PAIRS]]
    nearest = say.nearest(result)
    brief = Table(head, first, f"Nearest to “{clipped(query, _BRIEF)}”") if listed else Sentences([nearest])
    return Section("Nearest to your text", blocks, nearest + more, [brief], "near")


def _heatmaps(result: Similarity) -> Section | None:
    if not result.pictures:
        return None
    return Section(f"Every {say.noun(result)} compared with every other", [heatmap(result)], name="heatmap")


def _labels(result: Similarity) -> Section | None:
    labels = result.per_label
    if labels is None:
        return None
    totals = [_estimate("all pairs within a label", labels.within)]
    totals += [_estimate("all pairs between labels", labels.between)] if len(labels.counts) > 1 else []
    texts = ", ".join(f"{printable(label)}: {count(n, say.noun(result))}" for label, n in labels.counts.items())
    blocks: list[Block] = [*charts.label_charts(result)]
    blocks += _label_table(labels.table, totals, remarks=[f"{texts}."] if texts else [])
    return Section("Labels", blocks, labels.sentence, _brief_labels(labels.table, totals), "labels")


def _columns(result: Similarity) -> Section | None:
    two = result.two_columns
    if two is None:
        return None
    chart = charts.columns(result)
    blocks: list[Block] = [*([] if chart is None else [chart]), *_label_table(two.table)]
    if two.auc:
        rows = [
            Row([Cell(printable(names)), Cell(say.number(auc)), Cell(f"{say.number(low)} to {say.number(high)}")])
            for names, (auc, low, high) in two.auc.items()
        ]
        head = [Column("labels", align="left"), Column("AUC"), Column("95 % interval")]
        blocks += _folded(Table(head, rows, "Which label scores higher", name="label-auc"), _OPEN_ROWS, "more lines")
    return Section(
        f"Two {say.noun(result)}s side by side", blocks, two.differs, _brief_labels(two.table, []), "columns"
    )


_LABEL_COLUMNS = (
    Column("labels", align="left"),
    Column("pairs"),
    Column("mean cosine"),
    Column("95 % interval"),
    Column("standard deviation"),
    Column("above unrelated pairs"),
)


def _label_table(table: Sequence[PerLabel], totals: Sequence[Row] = (), remarks: Sequence[str] = ()) -> list[Block]:
    if not table:
        return []
    rows = [_estimate(_two(line), line.cosine, line.above, strong=line.one == line.other) for line in table]
    first = Table(_LABEL_COLUMNS, [*rows[:_OPEN_ROWS], *totals], remarks=remarks, name="label-table")
    rest = rows[_OPEN_ROWS:]
    return [first, *([Fold(count(len(rest), "more line"), [Table(_LABEL_COLUMNS, rest)])] if rest else [])]


def _brief_labels(table: Sequence[PerLabel], totals: Sequence[Row]) -> list[Block]:
    """Without the standard deviation, for which a terminal has no room."""
    if not table:
        return []
    rows = [_estimate(_two(line, 14), line.cosine, line.above) for line in table[:_BRIEF_LABELS]]
    left = len(table) - _BRIEF_LABELS
    remarks = [f"and {count(left, 'more line')} in the report"] if left > 0 else []
    rows = [Row([*row.cells[:4], Cell(row.cells[5].text)], row.muted) for row in (*rows, *totals)]
    return [Table([*_LABEL_COLUMNS[:4], Column("above unrelated")], rows, remarks=remarks)]


def _two(line: PerLabel, most: int = 60) -> str:
    first, second = (clipped(printable(name), most) for name in (line.one, line.other))
    return clipped(printable(line.one), 2 * most) if line.one == line.other else f"{first} – {second}"


def _estimate(name: str, cosines: Estimate, above: Estimate | None = None, *, strong: bool = False) -> Row:
    difference = Cell("") if above is None else Cell(say.signed(above.mean), say.bounds(above, difference=True))
    texts = (f"{cosines.pairs:,}", say.number(cosines.mean), say.bounds(cosines), say.number(cosines.sd))
    return Row([Cell(name, strong=strong), *map(Cell, texts), difference], muted=above is None)


_COSINE, _PERCENTILE, _GROUP = Column("cosine", align="left"), Column("percentile"), Column("group", align="left")


def _text_column(title: str) -> Column:
    return Column(title, align="left", wrap=True)


def _pairs(result: Similarity) -> Section:
    pairs = result.pairs
    listed = result.listed(pairs, _MOST_PAIRS)
    blocks: list[Block] = _folded(_pair_table(result, listed, "pairs"), _OPEN_PAIRS, "more pairs")
    every = f" of {count(pairs.found, 'pair')}" if pairs.found > len(listed) else ""
    intro = (
        [say.capitalized(f"{printable(say.reason(pairs.why)) or count(len(listed), 'pair')}{every}")] if listed else []
    )
    intro += [say.most_similar(result), "The percentile is the share of unrelated pairs that score lower."]
    title = f"Pairs: {printable(say.reason(pairs.why)) or 'most similar'}, of {pairs.found:,}"
    if result.duplicates.found:
        title += f"; {_duplicate_title(result)}"
    head = [_COSINE, _PERCENTILE, _text_column(f"{say.noun(result)}s")]
    rows = [row for pair in listed[:_BRIEF_PAIRS] for row in _brief_pair(pair)]
    brief = Table(head, rows, title) if listed else Sentences([say.most_similar(result)])
    return Section("Pairs", [*blocks, *_duplicates(result)], " ".join(intro), [brief], "pairs")


def _brief_pair(pair: Pair) -> Iterator[Row]:
    """The two texts of a pair one under the other; labels only if they differ."""
    labels = ("", "") if pair.label == pair.other_label else (pair.label, pair.other_label)
    yield Row([*_score(pair), Cell(_short(pair.text, labels[0]))])
    yield Row([Cell(""), Cell(""), Cell(_short(pair.other_text, labels[1]))])


def _duplicate_title(result: Similarity) -> str:
    found = result.duplicates
    if result.crowd is None:
        return count(found.found, "near-duplicate")
    return f"{count(found.found, 'pair')} of {printable(say.reason(found.why))}"


def _duplicates(result: Similarity) -> list[Block]:
    """Near-duplicates; if cosine can't detect them, pairs that are equal but for case and white space."""
    listed = result.listed(result.duplicates, _MOST_PAIRS)
    lines = [say.crowding(result)] if result.crowd is not None else []
    if not listed:
        return [Sentences([" ".join([*lines, f"No two {say.noun(result)}s are equal."])])] if lines else []
    summary = (
        printable(say.reason(result.duplicates.why))
        if result.crowd is None
        else "equal except for case and white space"
    )
    if result.duplicates.found > len(listed):
        summary += f"; the first {len(listed):,} here"
    fold = Fold(
        _duplicate_title(result), [_pair_table(result, listed, "duplicates")], open=len(listed) <= 5, summary=summary
    )
    return [*([Sentences(lines)] if lines else []), fold]


def _pair_table(result: Similarity, listed: Sequence[Pair], name: str) -> Table:
    rows = []
    for pair in listed:
        sides = ((pair.text, pair.label, pair.one), (pair.other_text, pair.other_label, pair.other))
        rows.append(Row([*_score(pair), *(_side(result, *side) for side in sides)]))
    texts = map(_text_column, (say.noun(result), f"other {say.noun(result)}"))
    return Table([_COSINE, _PERCENTILE, *texts], rows, name=name, stacked=True)


def _score(pair: Pair) -> list[Cell]:
    return [Cell(say.exact(pair.cosine), strong=True), Cell(say.percentile_text(pair.percentile))]


def _side(result: Similarity, text: str, label: str, row: int) -> Cell:
    known = [f"label {printable(label)}"] if label else []
    return Cell(
        clipped(text, charts.LONGEST_TEXT), ", ".join([*known, *([f"row {row:,}"] if result.texts is not None else [])])
    )


def _short(text: str, label: str) -> str:
    return clipped(printable(f"[{label}] {text}" if label else text), _BRIEF)


def _folded(table: Table, most: int, more: str) -> list[Block]:
    """The first rows of a table, and the others behind a line that opens them."""
    if not table.rows:
        return []
    rest = Table(table.columns, table.rows[most:], stacked=table.stacked)
    fold = [Fold(f"{len(rest.rows):,} {more}", [rest])] if rest.rows else []
    return [replace(table, rows=table.rows[:most]), *fold]


def _groups(result: Similarity) -> Section | None:
    if not result.groups:
        return None
    blocks: list[Block] = []
    for place, groups in enumerate(result.groups, 1):
        rows = []
        for group in groups.groups:
            numbers = (f"{group.number}", f"{group.size:,}", say.number(group.silhouette, 2))
            text = clipped(result.text(group.central), charts.LONGEST_TEXT)
            rows.append(Row([*map(Cell, (*numbers, say.number(group.mean_cosine), text))]))
        heads = map(Column, (f"{say.noun(result)}s", "silhouette", "mean cosine"))
        intro = " ".join(filter(None, (say.capitalized(say.group_quality(groups)), groups.note)))
        title = say.capitalized(say.group_title(groups)).rstrip(".")
        table = Table([_GROUP, *heads, _text_column("most central")], rows, title, intro, stacked=True)
        blocks += _folded(replace(table, name=f"groups-{place}"), _OPEN_ROWS, "more groups")
        chart = charts.group_chart(groups, place)
        blocks += [] if chart is None else [chart]
    others = [Sentences([_scores(groups) for groups in result.groups[1:]])] if len(result.groups) > 1 else []
    return Section("Groups", blocks, brief=[_brief_groups(result, result.groups[0]), *others], name="groups")


def _brief_groups(result: Similarity, groups: Groups) -> Table:
    """The largest groups by their most central text."""
    by_size = sorted(groups.groups, key=lambda group: -group.size)
    rows = [
        Row([*map(Cell, (f"{group.number}", f"{group.size:,}", _short(result.text(group.central), "")))])
        for group in by_size[:_BRIEF_GROUPS]
    ]
    rest = by_size[_BRIEF_GROUPS:]
    texts = count(sum(group.size for group in rest), say.noun(result))
    head = [_GROUP, Column(f"{say.noun(result)}s"), _text_column("most central")]
    remarks = [f"and {count(len(rest), 'more group')} with {texts}"] if rest else []
    return Table(head, rows, _scores(groups), remarks=remarks)


def _scores(groups: Groups) -> str:
    """The grouping with its scores, on a line."""
    scores = {"silhouette": groups.silhouette, "ARI with labels": groups.ari}
    known = {name: value for name, value in scores.items() if value is not None and not groups.outliers}
    quality = ", ".join(f"{name} {say.number(value, 2)}" for name, value in known.items())
    return ": ".join(filter(None, (say.capitalized(say.group_title(groups)).rstrip("."), quality)))


def _maps(result: Similarity) -> Section | None:
    if not result.projections:
        return None
    intro = (
        "Maps keep neighbors together but distort distances: read what is near, not how far. Point at a dot to read it."
    )
    maps = charts.maps(result)
    together = [Clouds(same) for dims in (2, 3) if (same := [one for one in maps if one.dims == dims])]
    return Section("Maps", together, intro, name="maps")


def _walk(result: Similarity) -> Section | None:
    if not result.steps:
        return None
    intro = _WALK.format(noun=say.noun(result))
    if result.two_columns is not None:
        intro += f" These are the texts of column {result.source.get('text') or 1} compared with each other."
    return Section("Why do my cosines look random?", [walkthrough(result)], intro, name="why")


def _health(result: Similarity) -> Section | None:
    facts = [(say.CLEANING.get(what, what), f"{n:,}") for what, n in result.cleaned.items()]
    facts += [(f"{why}, not among unrelated pairs", count(n, "pair")) for why, n in result.background.left_out.items()]
    notes = [note for note in result.notes if note]
    blocks: list[Block] = [*([Facts(facts)] if facts else []), *([Notes(notes)] if notes else [])]
    return Section("Data health", blocks, brief=[Notes(notes, most=_BRIEF_NOTES)]) if blocks else None


def _provenance(result: Similarity) -> Section:
    hidden = ("in_memory", "path")
    source = {key: value for key, value in result.source.items() if key not in hidden}
    facts = provenance_facts({**source, **result.provenance})
    return Section("Provenance", [Facts([*facts, *result.written.items()])])
