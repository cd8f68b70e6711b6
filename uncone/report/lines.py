"""Findings as short pieces of text: what terminal, markdown and page share."""

from __future__ import annotations

from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.measures.registry import measure
from uncone.report.results.check import Diagnosis

__all__ = ["MARKS", "interval", "number", "title"]

MARKS = {Level.HEALTHY: "✓", Level.CROWDED: "▲", Level.COLLAPSED: "✗", Level.NOTE: "·"}
"""Never colour alone: a mark for each level."""


def title(space: Diagnosis) -> str:
    """The source by its last name; the whole path stands with the provenance."""
    return str(space.source["name"]).rstrip("/").rsplit("/", 1)[-1]


def number(finding: Finding | None) -> str:
    """The value, short; a dash where it is not known."""
    return "–" if finding is None else measure(finding.name).unit.format(finding.value)


def interval(finding: Finding) -> str:
    """The 95 % interval, short; empty when there is none."""
    return measure(finding.name).unit.interval(finding.low, finding.high)
