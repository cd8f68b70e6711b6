"""The verdict on the terminal: the same order as the page, at most one screen, 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from uncone.diagnosis.catalogue import CATALOGUE
from uncone.diagnosis.finding import Finding, Level
from uncone.diagnosis.words import count, percent
from uncone.report.diagnosis import Diagnosis
from uncone.report.lines import MARKS, interval, number, title

__all__ = ["print_report"]

_STYLES = {Level.HEALTHY: "green", Level.CROWDED: "yellow", Level.COLLAPSED: "red", Level.NOTE: "dim"}
_WIDTH = 78
_SHOWN = (
    "baseline",
    "pair_cosine_quantiles",
    "mean_over_rms",
    "rogue_dimensions",
    "effective_rank",
    "top1_share",
    "isoscore_corrected",
    "partition_isotropy_unit_log10",
    "norm_mean",
)


def print_report(spaces: Sequence[Diagnosis], console: Console) -> None:
    """Print one diagnosis, or several side by side."""
    lines = _one(spaces[0]) if len(spaces) == 1 else _several(spaces)
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False)


def _one(space: Diagnosis) -> list[Text]:
    verdict = space.verdict
    lines = [Text(_title(space), style="bold"), Text(""), *_verdict(space), Text("")]
    lines += [_line(space, space[name]) for name in _SHOWN]
    lines += [_health(space), Text("")]
    for word, text in (("why", verdict.why), ("do", verdict.todo), ("next", space.suggestion or "")):
        lines += _labelled(word, text)
    return lines


def _verdict(space: Diagnosis) -> list[Text]:
    verdict, style = space.verdict, _STYLES[space.verdict.level]
    headline = Text(f"  {MARKS[verdict.level]} ", style=style)
    wrapped = textwrap.wrap(verdict.headline, _WIDTH - 4)
    lines = [headline.append(wrapped[0], style=f"bold {style}")]
    lines += [Text(f"    {line}", style="bold") for line in wrapped[1:]]
    return [*lines, *(Text(f"    {line}") for line in textwrap.wrap(verdict.details, _WIDTH - 4))]


def _line(space: Diagnosis, finding: Finding) -> Text:
    name = CATALOGUE[finding.name].title.lower()
    level = "" if finding.level is Level.NOTE else str(finding.level)
    line = Text(f"  {name:<29}{number(finding):>13}  ")
    line.append(f"{interval(finding):<15} ", style="dim")
    line.append(f"{level:<10}", style=_STYLES[finding.level])
    line.append(_note(space, finding)[: _WIDTH - 71], style="dim")
    line.rstrip()
    return line


def _note(space: Diagnosis, finding: Finding) -> str:
    return f"of {space.source['dimensions']:,}" if finding.name == "effective_rank" else ""


def _health(space: Diagnosis) -> Text:
    parts = [
        count(int(space["bad_rows"].value or 0), "bad row"),  # type: ignore[arg-type]
        count(int(space["zero_vectors"].value or 0), "zero vector"),  # type: ignore[arg-type]
        f"{percent(space['duplicate_share'].magnitude or 0.0)} duplicates",
        count(int(space["constant_dimensions"].magnitude or 0), "constant dimension"),
    ]
    return Text(f"  {'data':<10}{', '.join(parts)}")


def _labelled(word: str, text: str) -> list[Text]:
    if not text:
        return []
    wrapped = textwrap.wrap(text, _WIDTH - 8)
    first = Text(f"  {word:<6}", style="bold").append(wrapped[0], style="not bold")
    return [first, *(Text(f"        {line}") for line in wrapped[1:])]


def _title(space: Diagnosis) -> str:
    source = space.source
    name = title(space)
    shown = name if len(name) <= 46 else f"…{name[-45:]}"
    return f"{shown}  {source['rows']:,} x {source['dimensions']:,}  {source['dtype']}"


def _several(spaces: Sequence[Diagnosis]) -> list[Text]:
    width = max(min((_WIDTH - 31) // len(spaces), 24), 12)
    lines = []
    for letter, space in zip(_letters(len(spaces)), spaces, strict=True):
        lines.append(Text(f"{letter}  ", style="bold").append(_title(space), style="not bold"))
        lines.append(Text("   ").append_text(_verdict(space)[0][2:]))
    letters = "".join(f"{letter:>{width}}" for letter in _letters(len(spaces)))
    lines += [Text(""), Text(f"{'':31}{letters}", style="bold")]
    for name in (*_SHOWN, "uniformity", "duplicate_share", "bad_rows"):
        line = Text(f"  {CATALOGUE[name].title.lower():<29}")
        for space in spaces:
            line.append(f"{number(space[name]):>{width}}", style=_STYLES[space[name].level].replace("dim", "none"))
        lines.append(line)
    for letter, space in zip(_letters(len(spaces)), spaces, strict=True):
        lines += [Text(""), *_labelled(letter, space.verdict.details)]
    return lines


def _letters(n: int) -> list[str]:
    return [chr(ord("A") + i) if i < 26 else str(i + 1) for i in range(n)]
