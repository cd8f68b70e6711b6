"""The charts of words: MEV of a few, and self-similarity of many by layer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uncone.diagnosis.finding import finite
from uncone.diagnosis.layer import WordTable
from uncone.diagnosis.story import contextual_words
from uncone.diagnosis.words import clipped, count
from uncone.report.panel import OKABE_ITO, Heat, Panel, Series
from uncone.report.study import LayerStudy
from uncone.report.study_lines import chosen, least_contexts
from uncone.report.text import printable

__all__ = ["word_heat", "word_mev"]

_LINES = 8
_ASKED_LINES = 12
_ROWS = 40
_END = 12
"""Words from either end of self-similarity in the heatmap."""


def word_mev(study: LayerStudy) -> Panel | None:
    """One line per word asked for, else a few across the range."""
    table = study.words
    if table is None or not table.n or len(study.layers) < 2:
        return None
    last = np.asarray(table.mev[:, -1], dtype=float)
    known = np.flatnonzero((table.mev_n > 0) & np.isfinite(last))
    if not len(known):
        return None
    asked = [place for place in _asked(table) if place in known]
    if asked:
        places, which = asked[:_ASKED_LINES], "The words asked for"
        which += f", the first {_ASKED_LINES} of {len(asked)}" if len(asked) > _ASKED_LINES else ""
        missing = [word for word in table.asked if table.place(word) not in known]
        which += f" ({count(len(missing), 'word')} not measured)" if missing else ""
    else:
        order = known[np.argsort(last[known], kind="stable")]
        places = [int(order[i]) for i in chosen(len(order), _LINES)]
        which = f"{count(len(places), 'word')} across the range of the {len(known):,} measured"
    caption = f"{which}. Share of a word's occurrences that one vector can stand for; fewer occurrences give more."
    drawn = [_line(study, table, place, rank) for rank, place in enumerate(places)]
    return Panel("word_mev", "MEV, word by word", caption, "share explained, MEV", drawn, tight=True)


def _line(study: LayerStudy, table: WordTable, place: int, rank: int) -> Series:
    numbers = [layer.number for layer in study.layers]
    empty = [None] * len(numbers)
    word = printable(str(table.words[place]))
    return Series(
        study.name,
        "mev",
        clipped(word, 14),
        OKABE_ITO[rank % len(OKABE_ITO)],
        [float(number) for number in numbers],
        finite(table.mev[place].tolist()),
        empty,
        empty,
        [int(table.mev_n[place])] * len(numbers),
        numbers,
        "word" if rank < len(OKABE_ITO) else "word, dashed",
        word,
    )


def word_heat(study: LayerStudy) -> Heat | None:
    """Self-similarity of up to forty words by layer, sorted by the last."""
    table = study.words
    if table is None or not table.n or len(study.layers) < 2:
        return None
    last = np.asarray(table.selfsim[:, -1], dtype=float)
    # A word in two texts has one pair of them: its value is noise, unless it was asked for.
    enough = table.contexts >= least_contexts(study)
    enough[_asked(table)] = True
    known = [int(i) for i in np.flatnonzero(np.isfinite(last) & enough)]
    if not known:
        return None
    places = _heated(study, table, known)
    if len(places) == len(known):
        which = count(len(known), "word")
    else:
        which = (
            f"{len(places)} of {len(known):,} words: {'those asked for, ' * bool(table.asked)}the most and the least "
            "contextual, and the most frequent"
        )
    return Heat(
        "words",
        "Self-similarity, word by word",
        f"{which}; the least contextual on top. The darker, the more a word's vector changes with its context.",
        study.name,
        [printable(str(table.words[i])) for i in places],
        [int(table.contexts[i]) for i in places],
        [layer.number for layer in study.layers],
        [finite(table.selfsim[i].tolist()) for i in places],
    )


def _heated(study: LayerStudy, table: WordTable, known: Sequence[int]) -> list[int]:
    asked = [place for place in _asked(table) if place in set(known)]
    most, least = contextual_words(table, least_contexts(study), _END)
    # The table is sorted by frequency: what is left of the places goes to the first of it.
    wanted = [*asked, *most, *least, *known]
    last = table.selfsim[:, -1]
    return sorted(list(dict.fromkeys(wanted))[:_ROWS], key=lambda i: (last[i], i))


def _asked(table: WordTable) -> list[int]:
    return [place for word in table.asked if (place := table.place(word)) >= 0]
