"""A similarity as markdown, for a wiki or a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from uncone.diagnosis.words import clipped, count
from uncone.likeness.results import Estimate, Group, Pairs, PerLabel
from uncone.report.markdown import safe
from uncone.report.similar import Similarity
from uncone.report.similar_lines import (
    group_title,
    headline,
    reason,
    sentences,
    subtitle,
    unit,
)
from uncone.report.similar_numbers import above, bounds, exact, mean_of, number, percentile_text
from uncone.report.similar_why import folklore, steps_shown
from uncone.report.text import printable, provenance_facts

__all__ = ["render"]

_TEXT = 120
_PAIRS = 20


def render(result: Similarity) -> str:
    """The sentences, the tables of labels, pairs and groups, the walk, notes and provenance."""
    name = str(result.source["name"]).rstrip("/").rsplit("/", 1)[-1]
    notes = [note for note in result.notes if note]
    parts = [
        f"## {safe(printable(name))}",
        safe(printable(subtitle(result))),
        f"**{safe(headline(result))}**",
        _items(sentences(result)),
        f"    {printable(result.suggestion)}" if result.suggestion else "",
        _labels(result),
        _columns(result),
        _near(result),
        _pairs("Pairs", result, result.pairs),
        _pairs(_duplicates_title(result), result, result.duplicates) if result.duplicates.found else "",
        _groups(result),
        _why(result),
        f"### Notes\n\n{_items(notes)}" if notes else "",
        _provenance(result),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _duplicates_title(result: Similarity) -> str:
    why = reason(result.duplicates.why)
    return "Near-duplicates" if result.crowd is None else f"{why[:1].upper()}{why[1:]}"


def _items(lines: Iterable[str]) -> str:
    return "\n".join(f"- {safe(printable(line))}" for line in lines)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _text(text: str) -> str:
    return safe(clipped(printable(text), _TEXT))


def _labels(result: Similarity) -> str:
    labels = result.per_label
    if labels is None or not labels.table:
        return ""
    rows = [_label(one) for one in labels.table]
    rows.append(["*within a label*", *_estimate(labels.within), ""])
    if len(labels.counts) > 1:
        rows.append(["*between labels*", *_estimate(labels.between), ""])
    return f"### Labels\n\n{_table(_HEAD, rows)}"


_HEAD = ("labels", "pairs", "mean cosine", "95 % interval", "standard deviation", "above the background")


def _label(one: PerLabel) -> list[str]:
    name = _text(one.one) if one.one == one.other else f"{_text(one.one)} – {_text(one.other)}"
    return [name, *_estimate(one.cosine), above(one.above)]


def _estimate(one: Estimate) -> list[str]:
    return [f"{one.pairs:,}", mean_of(one), bounds(one), number(one.sd)]


def _columns(result: Similarity) -> str:
    two = result.two_columns
    if two is None:
        return ""
    table = _table(_HEAD, [_label(one) for one in two.table]) if two.table else ""
    aucs = [[_text(key), number(auc), f"{number(low)} to {number(high)}"] for key, (auc, low, high) in two.auc.items()]
    between = _table(("labels", "AUC", "95 % interval"), aucs) if aucs else ""
    return "\n\n".join(part for part in ("### Two texts side by side", table, between) if part)


def _near(result: Similarity) -> str:
    if result.near is None:
        return ""
    rows = [
        [exact(one.cosine), percentile_text(one.percentile), _text(one.other_text)]
        for one in result.listed(result.near, _PAIRS)
    ]
    table = _table(("cosine", "percentile", unit(result)), rows) if rows else "None."
    return f"### Nearest to “{_text(result.near_text or '')}”\n\n{table}"


def _pairs(title: str, result: Similarity, pairs: Pairs) -> str:
    listed = result.listed(pairs, _PAIRS)
    why = f"{safe(printable(pairs.why))}; " if pairs.why else ""
    if not listed:
        return f"### {title}\n\n{why}none."
    rows = [
        [exact(one.cosine), percentile_text(one.percentile), _text(one.text), _text(one.other_text)] for one in listed
    ]
    shown = f"{why}{len(listed)} of {count(pairs.found, 'pair')}."
    return f"### {title}\n\n{shown}\n\n{_table(('cosine', 'percentile', 'one', 'other'), rows)}"


def _groups(result: Similarity) -> str:
    made = []
    for groups in result.groups:
        rows = [
            (str(one.number), f"{one.size:,}", *_tightness(one), _text(result.text(one.central)))
            for one in groups.groups
        ]
        head = ("group", f"{unit(result)}s", "silhouette", "mean cosine", "most central")
        note = f"\n\n{safe(printable(groups.note))}" if groups.note else ""
        made.append(f"### {safe(group_title(groups))}{note}\n\n{_table(head, rows)}")
    return "\n\n".join(made)


def _tightness(one: Group) -> tuple[str, str]:
    return number(one.silhouette, 2), number(one.mean_cosine)


def _why(result: Similarity) -> str:
    if not result.steps:
        return ""
    lines = []
    for one in steps_shown(result):
        numbers = ", ".join(f"{safe(key)} {value}" for key, value in one.numbers)
        told = f"{one.place}. **{safe(one.step.title)}** {safe(one.step.text)}"
        lines.append(f"{told} ({numbers})" if numbers else told)
    often = _items(f"{claim} {fact}" for claim, fact in folklore(result))
    return "### Why do my cosines look random?\n\n" + "\n".join(lines) + (f"\n\n{often}" if often else "")


def _provenance(result: Similarity) -> str:
    lines = [f"{key}: {value}" for key, value in provenance_facts(result.provenance)]
    lines += [f"{what}: {where}" for what, where in result.written.items()]
    return f"### Provenance\n\n{_items(lines)}" if lines else ""
