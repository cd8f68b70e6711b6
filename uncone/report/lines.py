"""Findings as short pieces of text, shared by all documents."""

from __future__ import annotations

from uncone.analysis.measures.finding import Finding
from uncone.analysis.measures.registry import measure

__all__ = ["interval", "number"]


def number(finding: Finding | None) -> str:
    """The value, short; a dash if it is unknown."""
    return "–" if finding is None else measure(finding.name).unit.format(finding.value)


def interval(finding: Finding) -> str:
    """The 95 % interval, short; empty if there is none."""
    return measure(finding.name).unit.interval(finding.low, finding.high)
