"""Tables of measures for the documentation, written from the registry.

`python -m uncone.analysis.measures.table` prints every measure, those of installed packages included. With files
(README.md, pages), it renews what stands there between `<!-- measures VERB -->` and
`<!-- /measures -->`, with uncone's own measures alone.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from uncone.analysis.measures.measure import VERBS, Family
from uncone.analysis.measures.registry import all_families

__all__ = ["family_table", "main", "measure_table", "renewed"]

_MARKED = re.compile(r"(<!-- measures (\w+) -->\n).*?(<!-- /measures -->)", re.S)
_TITLES = {
    "check": "## `check`",
    "layers": "## `layers`, for every layer",
    "deep": "## `layers --deep`, on a sample of every layer",
    "training": "## `tune` and `ablate`, on held-out texts",
}


def family_table(families: Sequence[Family]) -> str:
    """A line per family: its names, what they are, where they come from."""
    lines = ["| finding | what it is | paper |", "|---|---|---|"]
    for summary, group in groupby(families, key=lambda family: family.summary or family.measures[0].definition):
        measures = [measure for family in group for measure in family.measures]
        names = ", ".join(f"`{measure.name}`" for measure in measures)
        papers = "; ".join(dict.fromkeys(measure.paper.partition(",")[0] for measure in measures if measure.paper))
        lines.append(f"| {names} | {_cell(summary)} | {papers} |")
    return "\n".join(lines)


def measure_table(families: Sequence[Family]) -> str:
    """A line per measure: its name, title, unit, definition and paper."""
    lines = ["| finding | title | unit | definition | paper |", "|---|---|---|---|---|"]
    for measure in (measure for family in families for measure in family.measures):
        texts = (measure.title, measure.unit.name, measure.definition, measure.paper)
        lines.append(f"| `{measure.name}` | {' | '.join(map(_cell, texts))} |")
    return "\n".join(lines)


def renewed(path: Path) -> str:
    """The text of a file with its tables as they are today."""
    own = [family for family in all_families() if not family.package]

    def table(match: re.Match[str]) -> str:
        start, name, end = match.groups()
        return f"{start}{_everything(own) if name == 'all' else family_table(_of(name, own))}\n{end}"

    return _MARKED.sub(table, path.read_text(encoding="utf-8"))


def _everything(families: Sequence[Family]) -> str:
    return "\n\n".join(f"{_TITLES[verb]}\n{measure_table(_of(verb, families))}" for verb in VERBS)


def _of(verb: str, families: Sequence[Family]) -> list[Family]:
    return [family for family in families if verb in family.verbs]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(files: Sequence[str]) -> None:
    """Renew the files; without any, print the tables."""
    if not files:
        sys.stdout.write(_everything(all_families()) + "\n")
    for path in map(Path, files):
        path.write_text(renewed(path), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
