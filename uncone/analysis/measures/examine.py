"""All findings of a space, in the order in which they are read."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.measures.registry import families, placed
from uncone.analysis.space.space import Space
from uncone.run.blas_threads import one_blas_thread

__all__ = ["examine"]


def examine(space: Space) -> dict[str, Finding]:
    """Every finding by name."""
    space.sample.order  # noqa: B018 - taken before two threads ask for it
    every = families("check")
    # One BLAS thread: eigenvalues of a few hundred dimensions take longer on two that wait for each other. So there is
    # a core left, for the neighbourhoods.
    with one_blas_thread(), ThreadPoolExecutor(1) as thread:
        waiting = {family: thread.submit(family.findings, space) for family in every if family.turn == "aside"}
        found = {family: family.findings(space) for family in every if family.turn == "first"}
        found |= {family: future.result() for family, future in waiting.items()}
        found |= {family: family.findings(space) for family in every if family.turn == "last"}
    # Of few rows the numbers are shown, and not judged; that all are the same is plain.
    few, health = 1 < space.distinct < LEAST_UNITS, placed("check", "health")
    findings = [one for family in every for one in found[family]]
    judged = [replace(one, level=Level.NOTE) if few and one.name not in health else one for one in findings]
    return {finding.name: finding for finding in judged}
