"""Words of a study: the most and the least contextual, their curves and their heatmap."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from uncone.analysis.layers.layer import WordTable
from uncone.analysis.layers.story import contextual_words
from uncone.analysis.measures.finding import finite
from uncone.analysis.number_format import clipped, cosine, count
from uncone.report.charts.model import CATEGORICAL, Axis, Chart, Heatmap, Line
from uncone.report.document import Facts, Section, SideBySide, Table
from uncone.report.documents.layers.curves import LAYER_AXIS
from uncone.report.documents.layers.values import columns, evenly, number_text, text_row
from uncone.report.results.layers import LayerStudy
from uncone.report.text import printable

__all__ = ["extremes", "word_charts", "word_section"]

_CURVES = 8
_NAMED_CURVES = 12
_HEATMAP = 40
_END = 12
"""Words from either end of self-similarity in the heatmap."""
_BRIEF = 8
"""Words at either end that a terminal names."""


def word_charts(study: LayerStudy) -> list[Chart]:
    """MEV of a few words, and self-similarity of many, by layer."""
    table = study.words
    if table is None or not table.n or len(study.layers) < 2:
        return []
    return [chart for chart in (_mev_chart(study, table), _heatmap(study, table)) if chart is not None]


def word_section(study: LayerStudy, title: str, limit: int, *, brief: bool) -> Section | None:
    """The words at both ends of self-similarity; none if all words are equally contextual."""
    table = study.words
    most, least = extremes(study, limit)
    if table is None or not most:
        return None
    ends = {"Most contextual": most, "Least contextual": least}
    # The story may name these words already.
    named = [table.words[i] for i in (*most[:3], *least[:3])]
    repeated = any(all(word in sentence for word in named) for sentence in study.story)
    facts = [
        (name.lower(), ", ".join(clipped(printable(table.words[i]), 24) for i in places[:_BRIEF]))
        for name, places in ends.items()
    ]
    return Section(
        title,
        [SideBySide([_word_table(study, table, places, name) for name, places in ends.items()])],
        intro="By self-similarity in the last layer, also shown minus the baseline (adjusted). The lower it is, the "
        "more the vector of a word changes with its context.",
        brief=[Facts(facts)] if brief and not repeated else (),
    )


def extremes(study: LayerStudy, limit: int = 10) -> tuple[list[int], list[int]]:
    """Places of the most and the least contextual words in the last layer; none if all words are equal."""
    table = study.words
    if table is None or not table.n:
        return [], []
    order, _ = contextual_words(table, _least_contexts(study), table.n)
    # Static vectors give every word a self-similarity of one, so any order would be made up.
    if len(order) < 2 or np.ptp(table.selfsim[order, -1]) < 1e-6:
        return [], []
    k = min(limit, len(order) // 2)
    return order[:k], order[::-1][:k]


def _word_table(study: LayerStudy, table: WordTable, places: Sequence[int], title: str) -> Table:
    last = len(study.layers) - 1
    landmarks = sorted({0, last // 2, last})
    baseline = study.curve("baseline")[-1]
    rows = []
    for i in places:
        values = table.selfsim[i, landmarks].tolist()
        adjusted = None if baseline is None else values[-1] - baseline
        cells = (clipped(printable(table.words[i]), 40), table.kinds[i], f"{int(table.contexts[i]):,}")
        rows.append(text_row(*cells, *(number_text(value, lambda v: cosine(v, 3)) for value in (*values, adjusted))))
    heads = (f"layer {study.layers[place].number}" for place in landmarks)
    return Table(columns("word", "kind", "contexts", *heads, "adjusted", left=2), rows, title=title, compact=True)


def _mev_chart(study: LayerStudy, table: WordTable) -> Chart | None:
    """One curve per word that the user named, else a few across the range."""
    last = np.asarray(table.mev[:, -1], dtype=float)
    known = np.flatnonzero((table.mev_n > 0) & np.isfinite(last))
    if not len(known):
        return None
    named = [place for place in _named(table) if place in known]
    if named:
        places, which = named[:_NAMED_CURVES], "The words you named"
        which += f", the first {_NAMED_CURVES} of {len(named)}" if len(named) > _NAMED_CURVES else ""
        missing = len(table.named) - len(named)
        which += f" ({count(missing, 'word')} not measured)" if missing else ""
    else:
        order = known[np.argsort(last[known], kind="stable")]
        places = [int(order[i]) for i in evenly(len(order), _CURVES)]
        which = f"{count(len(places), 'word')} across the range of the {len(known):,} measured"
    numbers = [float(layer.number) for layer in study.layers]
    lines = [
        Line(
            numbers,
            finite(table.mev[place].tolist()),
            clipped(printable(table.words[place]), 14),
            CATEGORICAL[rank % len(CATEGORICAL)],
            dash="solid" if rank < len(CATEGORICAL) else "dash",
            n=[int(table.mev_n[place])] * len(numbers),
            group=printable(table.words[place]),
        )
        for rank, place in enumerate(places)
    ]
    return Chart(
        "word_mev",
        "MEV, word by word",
        f"{which}. Share of a word's occurrences that one vector explains. The fewer the occurrences, the larger the "
        "share.",
        lines,
        LAYER_AXIS,
        Axis("share explained, MEV", "mev"),
        direct=True,
    )


def _heatmap(study: LayerStudy, table: WordTable) -> Chart | None:
    """Self-similarity of up to forty words by layer, the least contextual first."""
    last = np.asarray(table.selfsim[:, -1], dtype=float)
    named = _named(table)
    # A word in two texts has a single pair, so its value is noise, unless the user named it.
    enough = table.contexts >= _least_contexts(study)
    enough[named] = True
    known = np.flatnonzero(np.isfinite(last) & enough).tolist()
    if not known:
        return None
    most, least = contextual_words(table, _least_contexts(study), _END)
    # The table is sorted by frequency: the places left go to the most frequent words.
    ranked = dict.fromkeys([*(place for place in named if place in set(known)), *most, *least, *known])
    places = sorted(list(ranked)[:_HEATMAP], key=lambda i: (last[i], i), reverse=True)
    which = count(len(known), "word")
    if len(places) < len(known):
        which = (
            f"{len(places)} of {len(known):,} words: {'those you named, ' * bool(table.named)}the most and the least "
            "contextual, and the most frequent"
        )
    values = [finite(table.selfsim[i].tolist()) for i in places]
    words = [printable(table.words[i]) for i in places]
    numbers = [str(layer.number) for layer in study.layers]
    low = min([0.9, *(value for row in values for value in row if value is not None)])
    contexts = [int(table.contexts[i]) for i in places]
    hover = [
        [
            f"{word}, layer {layer}: {'not known' if value is None else cosine(value, 3)}, {count(n, 'context')}"
            for layer, value in zip(numbers, row, strict=True)
        ]
        for n, word, row in zip(contexts, words, values, strict=True)
    ]
    return Chart(
        "words",
        "Self-similarity, word by word",
        f"{which}. The least contextual word is on top. The darker a cell, the more a word's vector changes with its "
        "context.",
        [Heatmap(values, low=math.floor(10 * low) / 10, high=1, hover=hover, bar="SelfSim", n=contexts)],
        Axis("layer (0 = embeddings)", "layer", categories=numbers),
        Axis(name="word", categories=[clipped(word, 20) for word in words]),
        wide=True,
    )


def _named(table: WordTable) -> list[int]:
    return [place for word in table.named if (place := table.place(word)) >= 0]


def _least_contexts(study: LayerStudy) -> int:
    """In how many texts a word has to occur for its self-similarity to mean something."""
    return int(study.provenance.get("min_contexts", 5))
