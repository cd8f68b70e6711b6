"""The document of `similarity`: what a score means here, labels, pairs, groups, maps and the walk-through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.analysis.number_format import clipped, cosine, count
from uncone.analysis.similarity.results import Estimate, Groups, Pair, PerLabel
from uncone.report import document as doc
from uncone.report.document import Block, Cell, Column, Row, Section, Sentences, Table
from uncone.report.documents.similarity import charts
from uncone.report.documents.similarity import sentences as say
from uncone.report.documents.similarity.heatmap import heatmap, walkthrough
from uncone.report.text import between, capitalized, last_name, printable, provenance_facts

if TYPE_CHECKING:
    from uncone.report.documents.similarity import Similarity

__all__ = ["document"]

_HIDDEN = ("in_memory", "path")
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


def document(result: Similarity) -> doc.Document:
    """Everything there is to say of a similarity."""
    noun, source = say.noun(result), {key: value for key, value in result.source.items() if key not in _HIDDEN}
    facts = doc.Facts([*provenance_facts({**source, **result.provenance}), *result.written.items()])
    grid = [heatmap(result)] if result.pictures else []
    sections = doc.present(
        _near(result),
        Section(f"Every {noun} compared with every other", grid, name="heatmap") if grid else None,
        Section("What a score means here", [charts.histogram(result)]),
        *(_labels(result), _columns(result), _pairs(result), _groups(result), _maps(result), _walk(result)),
        _health(result),
        Section("Provenance", [facts]),
    )
    labels, two = result.per_label, result.two_columns
    differences = (labels.sentence if labels is not None else "", two.differs if two is not None else "")
    details = [line for line in (say.spread(result), *differences, say.duplicates(result)) if line]
    cards, command = list(_cards(result))[:4], result.suggestion or ""
    verdict = doc.Verdict(result.headline, say.level(result), details, cards=cards, command=command, bulleted=True)
    name, subtitle = last_name(result.source["name"]), say.subtitle(result)
    return doc.Document(f"Similarity of {noun}s", name, subtitle, [verdict], sections)


def _cards(result: Similarity) -> Iterator[doc.Card]:
    background, labels, two = result.background, result.per_label, result.two_columns
    bounds = between(background.mean_low, background.mean_high, say.number)
    yield doc.Card(say.number(background.mean), f"mean cosine of unrelated pairs ({bounds})")
    score = say.tail_score(result, 0.01)
    if score is not None:
        yield doc.Card(say.number(score), "1 % of unrelated pairs score this or more")
    if two is not None and np.isfinite(two.cosines).any():
        mean = float(np.nanmean(two.cosines))
        above = f"{say.signed_number(mean - background.mean)} above unrelated pairs"
        yield doc.Card(say.number(mean), f"mean cosine side by side, {above}")
    if labels is not None and labels.auc is not None:
        bounds = between(labels.auc_low, labels.auc_high, cosine)
        pairs = f"AUC of pairs within a label over pairs between labels{f' ({bounds})' if bounds else ''}"
        yield doc.Card(cosine(labels.auc), f"{pairs}; 0.5 is chance")
    label = "near-duplicate pairs"
    if result.crowd is not None:
        label = f"pairs of {say.reason(result.duplicates.why)}; cosine can't detect near-duplicates here"
    yield doc.Card(f"{result.duplicates.found:,}", label)
    yield doc.Card(f"{say.size(result):,}", f"{say.noun(result)}s compared")


def _near(result: Similarity) -> Section | None:
    near = result.near
    if near is None:
        return None
    listed, query = result.listed(near, _MOST_PAIRS), printable(result.near_text or "")
    head = [_COSINE, _PERCENTILE, _text_column(say.noun(result))]
    rows = [[*_score(pair), _side(result, pair.other_text, pair.other_label, pair.other)] for pair in listed]
    blocks = _folded(doc.table(head, rows, name="near", stacked=True), 10, "more")
    more = f" The table has the first {len(rows):,} of {near.found:,}." if near.found > len(rows) else ""
    first = [[*_score(pair), _short(pair.other_text, pair.other_label)] for pair in listed[:_BRIEF_PAIRS]]
    nearest, title = say.nearest(result), f"Nearest to “{clipped(query, _BRIEF)}”"
    brief = doc.table(head, first, title=title) if listed else Sentences([nearest])
    return Section("Nearest to your text", blocks, nearest + more, [brief], "near")


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
    blocks: list[Block] = [*doc.present(charts.columns(result)), *_label_table(two.table)]
    rows = [
        [printable(names), say.number(auc), between(low, high, say.number)]
        for names, (auc, low, high) in two.auc.items()
    ]
    higher = doc.table(["labels", "AUC", "95 % interval"], rows, title="Which label scores higher", name="label-auc")
    blocks += _folded(higher, _OPEN_ROWS, "more lines")
    title = f"Two {say.noun(result)}s side by side"
    return Section(title, blocks, two.differs, _brief_labels(two.table, []), "columns")


_LABEL_COLUMNS = (
    Column("labels", align="left"),
    *map(Column, ("pairs", "mean cosine", "95 % interval", "standard deviation", "above unrelated pairs")),
)


def _label_table(table: Sequence[PerLabel], totals: Sequence[Row] = (), remarks: Sequence[str] = ()) -> list[Block]:
    rows = [_estimate(_two(line), line.cosine, line.above, strong=line.one == line.other) for line in table]
    lines = Table(_LABEL_COLUMNS, rows, remarks=remarks, name="label-table")
    noun = "more line" if len(rows) == _OPEN_ROWS + 1 else "more lines"
    return _folded(lines, _OPEN_ROWS, noun, totals)


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
    difference = (
        Cell("") if above is None else Cell(say.signed_number(above.mean), say.bounds(above, say.signed_number))
    )
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
    reason = printable(say.reason(pairs.why))
    intro = [f"{capitalized(reason or count(len(listed), 'pair'))}{every}."] if listed else []
    intro += [say.most_similar(result), "The percentile is the share of unrelated pairs that score lower."]
    title = f"Pairs: {reason or 'most similar'}, of {pairs.found:,}"
    title += f"; {_duplicate_title(result)}" if result.duplicates.found else ""
    head = [_COSINE, _PERCENTILE, _text_column(f"{say.noun(result)}s")]
    rows = [row for pair in listed[:_BRIEF_PAIRS] for row in _brief_pair(pair)]
    brief = doc.table(head, rows, title=title) if listed else Sentences([say.most_similar(result)])
    return Section("Pairs", [*blocks, *_duplicates(result)], " ".join(intro), [brief], "pairs")


def _brief_pair(pair: Pair) -> Iterator[list[str | Cell]]:
    """The two texts of a pair one under the other; labels only if they differ."""
    labels = ("", "") if pair.label == pair.other_label else (pair.label, pair.other_label)
    yield [*_score(pair), _short(pair.text, labels[0])]
    yield ["", "", _short(pair.other_text, labels[1])]


def _duplicate_title(result: Similarity) -> str:
    pairs = result.duplicates
    if result.crowd is None:
        return count(pairs.found, "near-duplicate")
    return f"{count(pairs.found, 'pair')} of {printable(say.reason(pairs.why))}"


def _duplicates(result: Similarity) -> list[Block]:
    """Near-duplicates; if cosine can't detect them, pairs that are equal but for case and white space."""
    listed = result.listed(result.duplicates, _MOST_PAIRS)
    lines = [say.crowding(result)] if result.crowd is not None else []
    if not listed:
        return [Sentences([" ".join([*lines, f"No two {say.noun(result)}s are equal."])])] if lines else []
    summary = printable(say.reason(result.duplicates.why)) if not lines else "equal except for case and white space"
    summary += f"; the first {len(listed):,} here" if result.duplicates.found > len(listed) else ""
    pairs = _pair_table(result, listed, "duplicates")
    fold = doc.Fold(_duplicate_title(result), [pairs], open=len(listed) <= 5, summary=summary)
    return [*([Sentences(lines)] if lines else []), fold]


def _pair_table(result: Similarity, listed: Sequence[Pair], name: str) -> Table:
    rows = []
    for pair in listed:
        sides = ((pair.text, pair.label, pair.one), (pair.other_text, pair.other_label, pair.other))
        rows.append([*_score(pair), *(_side(result, *side) for side in sides)])
    texts = map(_text_column, (say.noun(result), f"other {say.noun(result)}"))
    return doc.table([_COSINE, _PERCENTILE, *texts], rows, name=name, stacked=True)


def _score(pair: Pair) -> list[Cell]:
    return [Cell(say.exact(pair.cosine), strong=True), Cell(say.percentile_text(pair.percentile))]


def _side(result: Similarity, text: str, label: str, row: int) -> Cell:
    details = [f"label {printable(label)}"] if label else []
    details += [f"row {row:,}"] if result.texts is not None else []
    return Cell(clipped(text, charts.LONGEST_TEXT), ", ".join(details))


def _short(text: str, label: str) -> str:
    return clipped(printable(f"[{label}] {text}" if label else text), _BRIEF)


def _folded(table: Table, most: int, more: str, totals: Sequence[Row] = ()) -> list[Block]:
    """The first rows of a table with `totals` below them, and the others behind a line that opens them."""
    if not table.rows:
        return []
    rest = Table(table.columns, table.rows[most:], stacked=table.stacked)
    fold = [doc.Fold(f"{len(rest.rows):,} {more}", [rest])] if rest.rows else []
    return [replace(table, rows=[*table.rows[:most], *totals]), *fold]


def _groups(result: Similarity) -> Section | None:
    if not result.groups:
        return None
    blocks: list[Block] = []
    for place, groups in enumerate(result.groups, 1):
        rows = []
        for group in groups.groups:
            numbers = (f"{group.number}", f"{group.size:,}", say.number(group.silhouette, 2))
            text = clipped(result.text(group.central), charts.LONGEST_TEXT)
            rows.append([*numbers, say.number(group.mean_cosine), text])
        heads = [_GROUP, f"{say.noun(result)}s", "silhouette", "mean cosine", _text_column("most central")]
        quality = say.group_quality(groups)
        intro = " ".join(filter(None, (f"{capitalized(quality)}." if quality else "", groups.note)))
        look: dict[str, Any] = {"intro": intro, "name": f"groups-{place}", "stacked": True}
        table = doc.table(heads, rows, title=capitalized(say.group_title(groups)), **look)
        blocks += [*_folded(table, _OPEN_ROWS, "more groups"), *doc.present(charts.group_chart(groups, place))]
    others = [Sentences([_scores(groups) for groups in result.groups[1:]])] if len(result.groups) > 1 else []
    return Section("Groups", blocks, brief=[_brief_groups(result, result.groups[0]), *others], name="groups")


def _brief_groups(result: Similarity, groups: Groups) -> Table:
    by_size = sorted(groups.groups, key=lambda group: -group.size)
    rows = [
        [f"{group.number}", f"{group.size:,}", _short(result.text(group.central), "")]
        for group in by_size[:_BRIEF_GROUPS]
    ]
    rest = by_size[_BRIEF_GROUPS:]
    texts = count(sum(group.size for group in rest), say.noun(result))
    remarks = [f"and {count(len(rest), 'more group')} with {texts}"] if rest else []
    heads = [_GROUP, f"{say.noun(result)}s", _text_column("most central")]
    return doc.table(heads, rows, title=_scores(groups), remarks=remarks)


def _scores(groups: Groups) -> str:
    scores = {"silhouette": groups.silhouette, "ARI with labels": groups.ari}
    measures = {name: value for name, value in scores.items() if value is not None and not groups.outliers}
    quality = ", ".join(f"{name} {say.number(value, 2)}" for name, value in measures.items())
    return ": ".join(filter(None, (capitalized(say.group_title(groups)), quality)))


def _maps(result: Similarity) -> Section | None:
    if not result.projections:
        return None
    intro = "Maps preserve neighbors but distort distances: trust what is near, not how far. Point at a dot to read it."
    maps = charts.maps(result)
    together = [doc.Clouds(same) for dims in (2, 3) if (same := [cloud for cloud in maps if cloud.dims == dims])]
    return Section("Maps", together, intro, name="maps")


def _walk(result: Similarity) -> Section | None:
    if not result.steps:
        return None
    intro = _WALK.format(noun=say.noun(result))
    if result.two_columns is not None:
        intro += f" These are the texts of column {result.source.get('text') or 1} compared with each other."
    return Section("Why do my cosines look random?", [walkthrough(result)], intro, name="why")


def _health(result: Similarity) -> Section | None:
    facts = [(say.CLEANING.get(kind, kind), f"{n:,}") for kind, n in result.cleaned.items()]
    left_out = result.background.left_out.items()
    facts += [(f"{reason}, not among unrelated pairs", count(n, "pair")) for reason, n in left_out]
    notes = [note for note in result.notes if note]
    blocks: list[Block] = [*([doc.Facts(facts)] if facts else []), *([doc.Notes(notes)] if notes else [])]
    return Section("Data health", blocks, brief=[doc.Notes(notes, most=_BRIEF_NOTES)]) if blocks else None
