"""Findings as short pieces of text: what terminal, markdown and page share."""

from __future__ import annotations

from uncone.diagnosis.finding import Finding, Level
from uncone.diagnosis.words import cosine, percent
from uncone.report.results.check import Diagnosis

__all__ = ["MARKS", "interval", "number", "title"]

MARKS = {Level.HEALTHY: "✓", Level.CROWDED: "▲", Level.COLLAPSED: "✗", Level.NOTE: "·"}
"""Never colour alone: a mark for each level."""

_SHARES = {
    "rogue_share_1",
    "rogue_share_3",
    "rogue_share_5",
    "top1_share",
    "top10_share",
    "duplicate_share",
    "antihub_share",
}
_COSINES = {"baseline", "central_rows"}
_NEAR_ONE = {
    "mean_over_rms",
    "isoscore",
    "isoscore_corrected",
    "uniformity",
    "partition_isotropy_log10",
    "partition_isotropy_unit_log10",
    "hubness_skew",
}
_COUNTS = {"bad_rows", "zero_vectors", "norm_outliers"}


def title(space: Diagnosis) -> str:
    """The source by its last name; the whole path stands with the provenance."""
    return str(space.source["name"]).rstrip("/").rsplit("/", 1)[-1]


def number(finding: Finding) -> str:
    """The value, short."""
    value = finding.value
    if value is None:
        return "–"
    if isinstance(value, list):
        return (", ".join(map(str, value[:5])) + (" …" if len(value) > 5 else "")) or "none"
    if isinstance(value, dict):
        return f"{cosine(value['0.025'])} to {cosine(value['0.975'])}"
    if finding.name == "looks_transposed":
        return "yes" if value else "no"
    if finding.name in _COSINES:
        return cosine(float(value), 3)
    if finding.name in _COUNTS:
        return f"{value:,}"
    return _share(float(value)) if finding.name in _SHARES else _digits(float(value), finding.name in _NEAR_ONE)


def interval(finding: Finding) -> str:
    """The 95 % interval, short; empty when there is none."""
    low, high = finding.low, finding.high
    if low is None or isinstance(low, dict):
        return ""
    if high is None:
        return f"{_digits(low, False)} or more"
    if finding.name in _SHARES:
        return f"{_share(max(low, 0.0))} – {_share(min(high, 1.0))}"
    if finding.name in _COSINES:
        return f"{cosine(low, 3)} – {cosine(high, 3)}"
    near = finding.name in _NEAR_ONE
    return f"{_digits(low, near)} – {_digits(high, near)}"


def _share(value: float) -> str:
    return f"{100 * value:.1f} %" if value >= 0.01 else percent(value)


def _digits(value: float, near_one: bool) -> str:
    """Four digits; near one, what is too small for three decimals is zero, without a minus."""
    size = abs(value)
    if size >= 10_000_000 or (0 < size < 0.0001 and not near_one):
        return f"{value:.2e}"
    return f"{value:,.0f}" if size >= 1000 else f"{value:.1f}" if size >= 10 else cosine(value, 3)
