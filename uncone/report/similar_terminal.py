"""A similarity on the terminal: headline, labels, pairs, groups, notes; at most one screen, 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import set_cell_size
from rich.console import Console
from rich.text import Text

from uncone.diagnosis.finding import Level
from uncone.diagnosis.words import count
from uncone.likeness.results import Estimate, Groups, Pair, PerLabel
from uncone.report.columns import WIDTH, cut, labelled, wrapped
from uncone.report.lines import MARKS
from uncone.report.similar import Similarity
from uncone.report.similar_lines import (
    crowded,
    group_title,
    headline,
    level,
    reason,
    sentences,
    subtitle,
    unit,
)
from uncone.report.similar_numbers import above, bounds, exact, mean_of, number
from uncone.report.text import printable

__all__ = ["print_similarity"]

_STYLES = {Level.HEALTHY: "green", Level.CROWDED: "yellow", Level.COLLAPSED: "red", Level.NOTE: "none"}
_NAME = 30
_LABELS, _PAIRS, _NEAR, _GROUPS, _NOTES = 6, 3, 3, 4, 2
"""Lines of each kind that a screen has room for; the report has them all."""


def print_similarity(result: Similarity, console: Console) -> None:
    """Print what texts score against each other, and what it means."""
    for line in _lines(result, console):
        console.print(line, soft_wrap=True, highlight=False)


def _lines(result: Similarity, console: Console) -> list[Text]:
    shown = level(result)
    first, *rest = wrapped(f"{MARKS[shown]} {headline(result)}", console, style=_STYLES[shown])
    lines = [_title(result), Text(""), Text("  ").append_text(first)]
    lines += [Text("    ").append_text(line) for line in rest]
    # The tables below say the rest.
    told = [line for line in [*sentences(result)[:2], crowded(result)] if line]
    lines += [Text("    ").append_text(line) for text in told for line in wrapped(text, console)]
    for part in (_labels(result), _near(result), _pairs(result), _groups(result)):
        lines += [Text(""), *part] if part else []
    notes = [note for note in result.notes if note]
    few = [
        *notes[:_NOTES],
        *([f"and {count(len(notes) - _NOTES, 'more note')}, in the report"] if notes[_NOTES:] else []),
    ]
    lines.append(Text(""))
    for note in few:
        lines += labelled("note", note, console, style="dim")
    others = {what: where for what, where in result.written.items() if what != "report"}
    for what, where in others.items():
        lines += labelled("wrote", f"{where} ({what})", console)
    if result.suggestion:
        # Not wrapped, so that it can be copied.
        lines.append(Text("  next    ", style="bold").append(printable(result.suggestion), style="not bold"))
    if "report" in result.written:
        lines.append(Text("  report  ", style="bold").append(printable(result.written["report"]), style="not bold"))
    return lines if lines[-1].plain else lines[:-1]


def _title(result: Similarity) -> Text:
    name = printable(str(result.source["name"])).rstrip("/").rsplit("/", 1)[-1]
    line = Text(cut(name, 40), style="bold").append(f"  {printable(subtitle(result))}", style="not bold")
    line.truncate(WIDTH, overflow="ellipsis")
    return line


def _labels(result: Similarity) -> list[Text]:
    """Every label with itself, every two labels, then all within against all between."""
    two, labels = result.two_columns, result.per_label
    table: Sequence[PerLabel] = two.table if two is not None else labels.table if labels is not None else ()
    if not table:
        return []
    head = f"  {'labels':<{_NAME}}{'pairs':>11}{'cosine':>8}{'95 % interval':>18}{'above':>8}"
    lines = [Text(head, style="bold")]
    for one in table[:_LABELS]:
        room = _NAME // 2 - 3
        name = (
            one.one if one.one == one.other else f"{cut(printable(one.one), room)} – {cut(printable(one.other), room)}"
        )
        lines.append(_estimate(name, one.cosine, above(one.above)))
    if len(table) > _LABELS:
        lines.append(Text(f"  and {count(len(table) - _LABELS, 'more line')}, in the report", style="dim"))
    if two is None and labels is not None and len(labels.counts) > 1:
        lines.append(_estimate("within a label", labels.within, "", style="italic"))
        lines.append(_estimate("between labels", labels.between, "", style="italic"))
    return lines


def _estimate(name: str, one: Estimate, over: str, style: str = "") -> Text:
    shown = _padded(f"  {printable(name)}", _NAME + 2)
    line = Text(f"{shown}{one.pairs:>11,}{mean_of(one):>8}{bounds(one):>18}{over:>8}", style=style)
    line.rstrip()
    return line


def _pairs(result: Similarity) -> list[Text]:
    pairs = result.pairs
    if not len(pairs.cosines):
        return [
            Text("  pairs", style="bold").append(f"  none{f': {pairs.why}' if pairs.why else ''}", style="not bold")
        ]
    listed = result.listed(pairs, _PAIRS)
    said = [f"{reason(printable(pairs.why)) or 'found'}, of {pairs.found:,}"]
    if result.duplicates.found:
        what = f"of {reason(result.duplicates.why)}" if result.crowd is not None else ""
        said.append(f"{result.duplicates.found:,} {what}" if what else count(result.duplicates.found, "near-duplicate"))
    head = Text("  pairs  ", style="bold").append("; ".join(said), style="not bold dim")
    head.truncate(WIDTH, overflow="ellipsis")
    return [head, *(line for one in listed for line in _pair(one))]


def _pair(one: Pair) -> list[Text]:
    room = WIDTH - 20
    texts = [cut(_labelled_text(text, label), room) for text, label in _sides(one)]
    score = Text(f"  {exact(one.cosine):>7}", style="bold").append(f"{_place(one):>9}  ", style="not bold dim")
    return [score.append(texts[0], style="not bold"), Text(f"{'':20}{texts[1]}")]


def _sides(one: Pair) -> list[tuple[str, str]]:
    same = one.label == one.other_label
    return [(one.text, "" if same else one.label), (one.other_text, "" if same else one.other_label)]


def _labelled_text(text: str, label: str) -> str:
    return printable(f"[{label}] {text}" if label else text)


def _place(one: Pair) -> str:
    """The percentile as an option takes it: p99.9."""
    shown = f"p{one.percentile:.5g}" if one.percentile >= 99 else f"p{one.percentile:.1f}"
    return shown if shown != "p100" or one.percentile >= 100 else "p>99.999"


def _near(result: Similarity) -> list[Text]:
    if result.near is None:
        return []
    asked = cut(printable(result.near_text or ""), WIDTH - 13)
    lines = [Text("  nearest to ", style="bold").append(asked, style="not bold")]
    for one in result.listed(result.near, _NEAR):
        line = Text(f"  {exact(one.cosine):>7}", style="bold").append(f"{_place(one):>9}  ", style="not bold dim")
        lines.append(line.append(cut(_labelled_text(one.other_text, one.other_label), WIDTH - 20), style="not bold"))
    return lines if len(lines) > 1 else [*lines, Text(f"  none{f': {result.near.why}' if result.near.why else ''}")]


def _groups(result: Similarity) -> list[Text]:
    lines: list[Text] = []
    for place, groups in enumerate(result.groups):
        said = [f"silhouette {number(groups.silhouette, 2)}"] if groups.silhouette is not None else []
        said += [f"ARI with labels {number(groups.ari, 2)}"] if groups.ari is not None else []
        said = [] if groups.outliers else said
        lines.append(Text(f"  {printable(group_title(groups))}", style="bold"))
        lines[-1].append(f"  {', '.join(said)}", style="not bold")
        lines += _members(result, groups) if not place else []
    return lines


def _members(result: Similarity, groups: Groups) -> list[Text]:
    """The largest groups by their most central text."""
    by_size = sorted(groups.groups, key=lambda one: -one.size)
    lines = []
    for one in by_size[:_GROUPS]:
        central = cut(printable(result.text(one.central)), WIDTH - 20)
        lines.append(Text(f"  {one.number:>7}").append(f"{one.size:>9,}  ", style="dim").append(central))
    if len(by_size) > _GROUPS:
        rest = sum(one.size for one in by_size[_GROUPS:])
        more = f"and {count(len(by_size) - _GROUPS, 'more group')} with {count(rest, unit(result))}"
        lines.append(Text(f"{'':20}{more}", style="dim"))
    return lines


def _padded(text: str, columns: int) -> str:
    return set_cell_size(cut(text, columns - 1), columns)
