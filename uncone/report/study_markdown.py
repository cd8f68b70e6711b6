"""A study as markdown, for a wiki or a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from uncone.diagnosis.contrast import Contrast
from uncone.diagnosis.measures.registry import measures as measures_of
from uncone.report.deep_lines import MEASURES
from uncone.report.deep_markdown import behind, dimensions
from uncone.report.lines import number
from uncone.report.markdown import safe
from uncone.report.overlay_panels import contrast_names
from uncone.report.study import LayerStudy
from uncone.report.study_lines import (
    WordLine,
    about_intervals,
    difference,
    entry,
    extremes,
    headline,
    landmarks,
    measures,
    noted,
    short_names,
    size_table,
    subtitle,
)
from uncone.report.text import printable

__all__ = ["render"]

_ABREAST = 6
"""Differences with their intervals that a table has room for."""
_HALF = 11
"""Of the measures behind the cone, those of neighbourhoods and of frequency in a table of their own."""
_TYPES = ("mev", "mev_matched", "mev_adjusted", "s_intra", "s_inter")
_LENGTHS = (
    "mean_over_rms",
    "rogue_share_1",
    "rogue_share_3",
    "rogue_share_5",
    "rogue_dimensions",
    "norm_mean",
    "sinks",
)


def render(parts: Sequence[LayerStudy], contrasts: Sequence[Contrast]) -> str:
    """A section per study with its curves as tables, then the differences."""
    sections = [_section(study) for study in parts] + dimensions(parts)
    names = contrast_names(parts, contrasts)
    sections += [_contrast(parts, contrast, of, to) for contrast, (of, to) in zip(contrasts, names, strict=True)]
    sections += [_provenance(study, name) for study, name in zip(parts, short_names(parts), strict=True)]
    return "\n\n".join(sections) + "\n"


def _section(study: LayerStudy) -> str:
    rest = " ".join(_line(sentence) for sentence in study.story[1:])
    parts = [f"## {_line(study.name)}", subtitle(study), f"**{_line(headline(study))}** {rest}".rstrip()]
    parts += [_table(study, names) for names in _groups(study)]
    parts += _sizes(study)
    parts += _words(study)
    parts += [] if study.deep is None else behind(study.deep)
    if notes := noted(study):
        parts.append("Left out:\n\n" + "\n".join(f"- {_line(note)}" for note in notes))
    return "\n\n".join(parts)


def _groups(study: LayerStudy) -> list[list[str]]:
    """Tables that are not too wide: context, types, what stands out, the shape of the space, and behind it."""
    there = measures(study)
    shape = measures_of("check").keys() - {"baseline"}
    groups = (
        [name for name in there if name not in (*shape, *_TYPES, *_LENGTHS, *MEASURES)],
        [name for name in there if name in _TYPES],
        [name for name in there if name in _LENGTHS],
        [name for name in there if name in shape and name not in (*_LENGTHS, *MEASURES)],
        [name for name in there if name in MEASURES[:_HALF]],
        [name for name in there if name in MEASURES[_HALF:]],
    )
    return [group for group in groups if group]


def _table(study: LayerStudy, names: Sequence[str]) -> str:
    head = "| layer | " + " | ".join(entry(name, study).title for name in names) + " |"
    rows = [
        f"| {layer.number} | " + " | ".join(number(layer.findings.get(name)) for name in names) + " |"
        for layer in study.layers
    ]
    return "\n".join([head, "|---:" * (len(names) + 1) + "|", *rows])


def _sizes(study: LayerStudy) -> list[str]:
    """The measures of the last layer by the number of texts."""
    table = size_table(study)
    if table is None:
        return []
    half, every = table.heads[-2:]
    head = f"| measure | {' | '.join(table.heads)} | {half} to {every} |\n|---{'|---:' * (len(table.heads) + 1)}|"
    rows = [f"| {title} | {' | '.join(values)} | {_line(change)} |" for title, values, change in table.rows]
    return [f"{_line(table.said)}\n\n" + "\n".join([head, *rows])]


def _words(study: LayerStudy) -> list[str]:
    most, least = extremes(study)
    numbers = [f"layer {study.layers[place].number}" for place in landmarks(study)]
    head = f"| word | kind | contexts | {' | '.join(numbers)} | adjusted |\n|---|---{'|---:' * (len(numbers) + 2)}|"
    tables = (("Most contextual words", most), ("Least contextual words", least))
    return [f"{title}:\n\n{head}\n" + "\n".join(map(_word, found)) for title, found in tables if found]


def _word(one: WordLine) -> str:
    return f"| {_line(one.word)} | {one.kind} | {one.contexts:,} | {' | '.join(one.values)} | {one.adjusted} |"


def _contrast(parts: Sequence[LayerStudy], contrast: Contrast, of: str, to: str) -> str:
    names = list(dict.fromkeys(name for found in contrast.findings for name in found))
    groups = [names[start : start + _ABREAST] for start in range(0, len(names), _ABREAST)]
    tables = "\n\n".join(_differences(parts[0], contrast, group) for group in groups)
    return f"## {_line(of)} minus {_line(to)}\n\nWith 95 % intervals. {about_intervals(parts)}\n\n{tables}"


def _differences(study: LayerStudy, contrast: Contrast, names: Sequence[str]) -> str:
    head = "| layer | " + " | ".join(entry(name, study).title for name in names) + " |"
    rows = [
        f"| {above if above == below else f'{above} vs {below}'} | "
        + " | ".join(difference(found[name]) if name in found else "" for name in names)
        + " |"
        for (below, above), found in zip(contrast.layers, contrast.findings, strict=True)
    ]
    return "\n".join([head, "|---:" * (len(names) + 1) + "|", *rows])


def _provenance(study: LayerStudy, name: str) -> str:
    known = ", ".join(
        f"{key.replace('_', ' ')} {value}" for key, value in study.provenance.items() if value is not None
    )
    return _line(f"{name}: {study.source['model']} on {study.source['corpus']}; {known}.")


def _line(text: str) -> str:
    return safe(printable(text))
