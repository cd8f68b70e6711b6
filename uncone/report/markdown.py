"""The findings as markdown, for a wiki or a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from uncone.diagnosis.measures.registry import measure
from uncone.report.lines import interval, number
from uncone.report.results.check import Diagnosis

__all__ = ["render", "safe"]


def render(spaces: Sequence[Diagnosis]) -> str:
    """One section per space; a table side by side when there are several."""
    parts = [_section(space) for space in spaces]
    parts.append(_table(spaces[0]) if len(spaces) == 1 else _side_by_side(spaces))
    versions = spaces[0].provenance
    parts.append(f"uncone {versions['uncone']}, seed {versions['seed']}, {versions['precision']} products.")
    return "\n\n".join(parts) + "\n"


def _section(space: Diagnosis) -> str:
    source, verdict = space.source, space.verdict
    rest = " ".join(part for part in (verdict.details, verdict.why, verdict.todo) if part)
    shape = f"{source['rows']:,} x {source['dimensions']:,}, {source['dtype']}"
    return f"## {safe(source['name'])}\n\n{shape}\n\n**{safe(verdict.headline)}** {safe(rest)}"


def _table(space: Diagnosis) -> str:
    rows = [
        f"| {measure(name).title} | {number(finding)} | {interval(finding)} | {finding.n:,} | "
        f"{finding.level} | {safe(finding.meaning)} |"
        for name, finding in space.findings.items()
    ]
    return "\n".join(["| finding | value | 95 % interval | n | level | meaning |", "|---|---|---|---|---|---|", *rows])


def _side_by_side(spaces: Sequence[Diagnosis]) -> str:
    head = "| finding | " + " | ".join(safe(space.source["name"]) for space in spaces) + " |"
    rows = [
        f"| {measure(name).title} | " + " | ".join(number(space[name]) for space in spaces) + " |"
        for name in spaces[0].findings
        if all(name in space.findings for space in spaces)
    ]
    return "\n".join([head, "|---" * (len(spaces) + 1) + "|", *rows])


def safe(text: str) -> str:
    """Text that cannot break a table or become markup."""
    for mark in "\\|<>`*_[]":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())
