"""The verdict on the terminal: the same order as the page, at most one screen, 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from uncone.diagnosis.finding import Finding, Level, failures
from uncone.diagnosis.measures.registry import measure, placed
from uncone.diagnosis.words import clipped, count, percent
from uncone.report.diagnosis import Diagnosis
from uncone.report.lines import MARKS, interval, number, title

__all__ = ["print_report"]

_STYLES = {Level.HEALTHY: "green", Level.CROWDED: "yellow", Level.COLLAPSED: "red", Level.NOTE: "dim"}
_WIDTH = 78
_ABREAST = 3


def print_report(spaces: Sequence[Diagnosis], console: Console) -> None:
    """Print one diagnosis, or several side by side."""
    lines = _one(spaces[0]) if len(spaces) == 1 else _several(spaces)
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False)


def _one(space: Diagnosis) -> list[Text]:
    verdict = space.verdict
    lines = [Text(_title(space), style="bold")]
    lines += [Text(f"{line}", style="dim") for line in textwrap.wrap(space.provenance.get("reading", ""), _WIDTH)]
    lines += [Text(""), *_verdict(space), Text("")]
    lines += [_line(space, space[name]) for name in placed("check", "check")]
    lines += [_health(space), *_hubs(space), *_failed(space), Text("")]
    for word, text in (("why", verdict.why), ("do", verdict.todo)):
        lines += _labelled(word, text)
    if space.suggestion:
        # Not wrapped, so that it can be copied.
        lines.append(Text("  next  ", style="bold").append(space.suggestion, style="not bold"))
    return lines


def _verdict(space: Diagnosis) -> list[Text]:
    verdict, style = space.verdict, _STYLES[space.verdict.level]
    headline = Text(f"  {MARKS[verdict.level]} ", style=style)
    wrapped = textwrap.wrap(verdict.headline, _WIDTH - 4)
    lines = [headline.append(wrapped[0], style=f"bold {style}")]
    lines += [Text(f"    {line}", style="bold") for line in wrapped[1:]]
    return [*lines, *(Text(f"    {line}") for line in textwrap.wrap(verdict.details, _WIDTH - 4))]


def _line(space: Diagnosis, finding: Finding) -> Text:
    name = measure(finding.name).title.lower()
    level = "" if finding.level is Level.NOTE else str(finding.level)
    line = Text(f"  {name:<28}{_value(space, finding):>18}  ")
    line.append(f"{interval(finding):<16} ", style="dim")
    line.append(level, style=_STYLES[finding.level])
    line.rstrip()
    return line


def _value(space: Diagnosis, finding: Finding, width: int = 18) -> str:
    value = finding.value
    if finding.name == "effective_rank":
        return f"{number(finding)} of {space.source['dimensions']:,}"
    if isinstance(value, list) and len(number(finding)) > width:
        fitting = [k for k in range(len(value)) if len(", ".join(map(str, value[:k]))) <= width - 2]
        return ", ".join(map(str, value[: max(fitting)])) + " …"
    return number(finding)


def _health(space: Diagnosis) -> Text:
    if any(finding.failed for finding in space.findings.values() if finding.name in placed("check", "health")):
        return Text(f"  {'data':<10}–")
    parts = [
        count(int(space["bad_rows"].value or 0), "bad row"),  # type: ignore[arg-type]
        count(int(space["zero_vectors"].value or 0), "zero vector"),  # type: ignore[arg-type]
        f"{percent(space['duplicate_share'].magnitude or 0.0)} duplicates",
        count(int(space["constant_dimensions"].magnitude or 0), "constant dimension"),
    ]
    return Text(f"  {'data':<10}{', '.join(parts)}")


def _failed(space: Diagnosis) -> list[Text]:
    """What could not be measured, and why."""
    return [
        Text(line, style="yellow")
        for reason in failures(space.findings.values())
        for line in textwrap.wrap(reason, _WIDTH, initial_indent="  ", subsequent_indent="  ")
    ]


def _hubs(space: Diagnosis) -> list[Text]:
    """The rows that would answer everything, where there are some."""
    finding = space["hubness_skew"]
    if finding.level is not Level.CROWDED or not finding.rows:
        return []
    worst, start = finding.rows[0], f"  {'hubs':<10}"
    if worst["text"] is None:
        named = [f"row {row['row']:,} ({row['value']:,})" for row in finding.rows]
        line = f"{start}nearest of many of {finding.n:,} rows: "
        fitting = [k for k in range(1, len(named) + 1) if len(line + ", ".join(named[:k])) <= _WIDTH]
        return [Text(line + ", ".join(named[: max(fitting, default=1)]))]
    shown = "".join(letter if letter.isprintable() else "�" for letter in " ".join(worst["text"].split()))
    end = f"” (row {worst['row']:,}) is near {worst['value']:,} of {finding.n:,} rows"
    return [Text(f"{start}“{clipped(shown, _WIDTH - len(start) - len(end) - 2)}{end}")]


def _labelled(word: str, text: str) -> list[Text]:
    if not text:
        return []
    wrapped = textwrap.wrap(text, _WIDTH - 8)
    first = Text(f"  {word:<6}", style="bold").append(wrapped[0], style="not bold")
    return [first, *(Text(f"        {line}") for line in wrapped[1:])]


def _title(space: Diagnosis) -> str:
    source = space.source
    name = "".join(letter if letter.isprintable() else "�" for letter in title(space))
    shown = name if len(name) <= 46 else f"…{name[-45:]}"
    return f"{shown}  {source['rows']:,} x {source['dimensions']:,}  {source['dtype']}"


def _several(spaces: Sequence[Diagnosis]) -> list[Text]:
    named = list(zip(_letters(len(spaces)), spaces, strict=True))
    lines = []
    for letter, space in named:
        lines.append(Text(f"{letter}  ", style="bold").append(_title(space), style="not bold"))
        style = _STYLES[space.verdict.level]
        wrapped = textwrap.wrap(f"{MARKS[space.verdict.level]} {space.verdict.headline}", _WIDTH - 3)
        lines += [Text(f"   {line}", style=style) for line in wrapped]
    for start in range(0, len(named), _ABREAST):
        lines += [Text(""), *_columns(named[start : start + _ABREAST])]
    for letter, space in named:
        lines += [Text(""), *_labelled(letter, space.verdict.details)]
    return lines


def _columns(named: Sequence[tuple[str, Diagnosis]]) -> list[Text]:
    """A table of at most three spaces, which is what fits."""
    width = 22 if len(named) < _ABREAST else 16
    lines = [Text(f"{'':30}" + "".join(f"{letter:>{width}}" for letter, _ in named), style="bold")]
    for name in (*placed("check", "check"), *placed("check", "compare")):
        line = Text(f"  {measure(name).title.lower():<28}")
        for _, space in named:
            shown = number(space[name]) if name == "effective_rank" else _value(space, space[name], width - 2)
            line.append(f"{shown:>{width}}", style=_STYLES[space[name].level].replace("dim", "none"))
        lines.append(line)
    return lines


def _letters(n: int) -> list[str]:
    return [chr(ord("A") + i) if i < 26 else str(i + 1) for i in range(n)]
