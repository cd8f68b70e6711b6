"""A study on the terminal: the story first, then a line per layer; at most one screen, 80 columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from uncone.diagnosis.contrast import Contrast
from uncone.diagnosis.measures.registry import measure
from uncone.diagnosis.words import count
from uncone.report.deep_terminal import layer_lines, model_lines, sentences
from uncone.report.lines import number
from uncone.report.overlay_panels import contrast_names
from uncone.report.study import LayerStudy
from uncone.report.study_lines import (
    about_intervals,
    chosen,
    difference,
    entry,
    extremes,
    headline,
    main_measures,
    noted,
    sinks,
    size_table,
    subtitle,
)
from uncone.report.text import fitted, printable

__all__ = ["print_study"]

_WIDTH = 78
_MOST_LAYERS = 30
_CHOSEN = 20
_DEEP = 9
_TOLD = 4
"""Layers and sentences when what lies behind the cone has to stand on the same screen."""
_COMPACT = 14
"""Layers of several studies together."""
_NOTES = 3
_ABREAST = 7
"""Measures that a table has room for."""


def print_study(parts: Sequence[LayerStudy], contrasts: Sequence[Contrast], console: Console) -> None:
    """Print one study, or several one under the other with the differences of their last layers."""
    lines = _one(parts[0], console) if len(parts) == 1 else _several(parts, contrasts, console)
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False)


def _one(study: LayerStudy, console: Console) -> list[Text]:
    lines = [*_title(study, console), Text("")]
    lines += _wrapped(headline(study), console, style="bold")
    for sentence in study.story[1 : None if study.deep is None else _TOLD]:
        lines += _wrapped(sentence, console)
    most = _MOST_LAYERS if study.deep is None else _DEEP
    places = chosen(len(study.layers), len(study.layers) if len(study.layers) <= most else min(most, _CHOSEN))
    lines += [Text(""), *_table(study, places), *_sizes(study, console)]
    if study.deep is not None:
        lines.append(Text(""))
        for sentence in sentences(study):
            lines += _wrapped(sentence, console)
        lines += [Text(""), *layer_lines(study, places)]
    elif not _is_told(study):
        lines += _words(study)
    told = noted(study)
    room = _NOTES if study.deep is None else 1
    notes = told[:room]
    if len(told) > room:
        notes.append(f"and {count(len(told) - room, 'more note')}, in the report")
    lines += [Text("")] * bool(notes)
    return [*lines, *(line for note in notes for line in _wrapped(note, console, style="dim"))]


def _title(study: LayerStudy, console: Console) -> list[Text]:
    name = Text(printable(study.name), style="bold")
    name.truncate(_WIDTH, overflow="ellipsis")
    return [name, *_wrapped(subtitle(study), console, indent=0, style="dim")]


def _wrapped(text: str, console: Console, *, indent: int = 2, style: str = "") -> list[Text]:
    """By columns, not letters: some scripts take two columns a letter."""
    lines = Text(printable(text), style=style).wrap(console, _WIDTH - indent)
    for line in lines:
        line.rstrip()
    return [Text(" " * indent).append_text(line) for line in lines]


def _table(study: LayerStudy, places: Sequence[int]) -> list[Text]:
    """A line per layer; columns that no layer has are left out, and so is the table when there are none."""
    names = [name for name in main_measures() if any(name in layer.findings for layer in study.layers)]
    lines, sunk = [], dict(sinks(study))
    for start in range(0, len(names), _ABREAST):
        lines += _part(study, places, names[start : start + _ABREAST], sunk)
    if not lines:
        return []
    if sunk:
        most = int(max(one.magnitude or 0.0 for one in sunk.values()))
        which = f"{'up to ' * (len(sunk) > 1)}{count(most, 'row')} over 10 times the median norm"
        lines.append(Text(f"      * sinks in {count(len(sunk), 'layer')}: {which}", style="dim"))
    if len(places) < len(study.layers):
        lines.append(Text(f"  {len(places)} of {len(study.layers)} layers; the report has them all", style="dim"))
    return lines


def _part(study: LayerStudy, places: Sequence[int], names: Sequence[str], marked: Collection[int]) -> list[Text]:
    """As many columns as fit; a star at the layers that are marked."""
    heads = ("".join(f"{measure(name).column[row]:>10}" for name in names) for row in (0, 1))
    lines = [Text(f"{start:>7}{head}".rstrip(), style="bold") for start, head in zip(("layer", ""), heads, strict=True)]
    for layer in (study.layers[place] for place in places):
        cells = "".join(f"{number(layer.findings.get(name)):>10}" for name in names)
        lines.append(Text(f"{layer.number:>7}{'*' if layer.number in marked else ' '}{cells[1:]}"))
    return lines


def _sizes(study: LayerStudy, console: Console) -> list[Text]:
    """The measures of the last layer by the number of texts."""
    table = size_table(study)
    if table is None:
        return []
    heads = "".join(f"{head:>9}" for head in table.heads)
    lines = [Text(""), Text(f"  {'texts':<42}{heads}", style="bold")]
    for title, values, change in table.rows:
        moved = "*" if change.endswith("*") else ""
        lines.append(Text(f"  {fitted(title.lower(), 41):<42}{''.join(f'{one:>9}' for one in values)}{moved}"))
    return [*lines, *_wrapped(table.said, console, style="dim")]


def _words(study: LayerStudy) -> list[Text]:
    most, least = extremes(study)
    lines = [Text("")] * bool(most)
    for label, found in (("most contextual", most), ("least contextual", least)):
        names = _fitting([printable(one.word) for one in found], _WIDTH - 20)
        if names:
            lines.append(Text(f"  {label:<18}", style="bold").append(", ".join(names), style="not bold"))
    return lines


def _is_told(study: LayerStudy) -> bool:
    """Whether a sentence of the story names the words at both ends already."""
    most, least = extremes(study, 3)
    return any(all(one.word in sentence for one in (*most, *least)) for sentence in study.story)


def _fitting(words: Sequence[str], width: int) -> list[str]:
    """As many of the words as fit on the line."""
    fitting: list[str] = []
    for word in words:
        if cell_len(", ".join([*fitting, word])) > width:
            break
        fitting.append(word)
    return fitting


def _several(parts: Sequence[LayerStudy], contrasts: Sequence[Contrast], console: Console) -> list[Text]:
    lines: list[Text] = []
    for study in parts:
        lines += [*_title(study, console), *_wrapped(headline(study), console)]
        places = chosen(len(study.layers), max(_COMPACT // len(parts), 2))
        lines += [*_table(study, places), Text("")]
    lines += model_lines(parts)
    lines += _wrapped(about_intervals(parts), console, indent=0, style="dim") if contrasts else []
    for contrast, (of, to) in zip(contrasts, contrast_names(parts, contrasts), strict=True):
        lines += _last(parts[0], contrast, of, to)
    return lines


def _last(study: LayerStudy, contrast: Contrast, of: str, to: str) -> list[Text]:
    """The differences of the last pair of layers."""
    if not contrast.layers:
        return []
    below, above = contrast.layers[-1]
    layers = f"layer {above}" if above == below else f"layers {above} and {below}"
    lines = [Text(f"{fitted(of, 28)} minus {fitted(to, 28)}, {layers}", style="bold")]
    shown_here = [(name, one) for name, one in contrast.findings[-1].items() if name in (*main_measures(), "selfsim")]
    for name, finding in shown_here:
        value, _, bounds = difference(finding).partition(" ")
        line = Text(f"  {entry(name, study).title.lower():<44}{value:>8}  ")
        line.append(bounds, style="dim")
        line.rstrip()
        lines.append(line)
    return lines
