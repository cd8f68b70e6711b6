"""A map as markdown, for a wiki or a pull request: what it shows, how far to trust it, and its colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from uncone.diagnosis.words import clipped, cosine
from uncone.maps.results import Colouring
from uncone.report.mapped import Map
from uncone.report.mapped_lines import headline, held_of, sentences, source_name, subtitle
from uncone.report.mapped_palette import scale_of, shades_of, values_of
from uncone.report.markdown import safe
from uncone.report.text import printable, provenance_facts

__all__ = ["render"]


def render(result: Map) -> str:
    """The sentences, the trust of every picture, the counts of every colour, notes and provenance."""
    notes = [note for note in result.notes if note]
    parts = [
        f"## {safe(printable(source_name(result)))}",
        safe(subtitle(result)),
        f"**{safe(printable(headline(result)))}**",
        _items(sentences(result)),
        f"    {printable(result.suggestion)}" if result.suggestion else "",
        _trust(result),
        *(_colouring(result, one) for one in result.colourings),
        f"### Notes\n\n{_items(notes)}" if notes else "",
        _provenance(result),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _items(lines: Iterable[str]) -> str:
    return "\n".join(f"- {safe(printable(line))}" for line in lines)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _trust(result: Map) -> str:
    def shown(value: float | None) -> str:
        return "–" if value is None else cosine(value, 3)

    rows = []
    for one in result.panels:
        trust = one.trust
        share = "–" if trust.explained is None else f"{100 * trust.explained:.1f} %"
        measured = f"{trust.n:,}, k = {trust.k}"
        name = safe(clipped(printable(one.name), 60))
        rows.append(
            (name, f"{len(one.points):,}", shown(trust.trustworthiness), shown(trust.continuity), share, measured)
        )
    head = ("picture", "points", "trustworthiness", "continuity", f"{held_of(result)} on the axes", "measured on")
    return f"### How far to trust it\n\n{_table(head, rows)}"


def _colouring(result: Map, colouring: Colouring) -> str:
    title = f"### Coloured by {safe(printable(colouring.title))}"
    if colouring.values is not None:
        values = values_of(colouring)
        scale = scale_of(values)
        known = len(values) - scale.unknown
        if not known:
            return f"{title}\n\nNot known of any point."
        return f"{title}\n\n{scale.least:.4g} to {scale.most:.4g}; known of {known:,} points."
    shades = shades_of(result, colouring)
    if shades.counts is None:
        return f"{title}\n\n{len(colouring.names)} categories, found anew in every picture."
    rows = [(safe(name), f"{n:,}") for name, n in zip(shades.names, shades.counts, strict=True) if n]
    return f"{title}\n\n{_table(('category', 'points'), rows)}"


def _provenance(result: Map) -> str:
    lines = [f"{key}: {value}" for key, value in provenance_facts({"seed": result.seed, **result.provenance})]
    lines += [f"{what}: {where}" for what, where in result.written.items()]
    return f"### Provenance\n\n{_items(lines)}"
