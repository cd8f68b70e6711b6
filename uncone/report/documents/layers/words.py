"""Words of a study: the most and the least contextual, their curves, their heatmap, and all of them as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from uncone.analysis.layers.layer import WordTable
from uncone.analysis.layers.story import contextual_words
from uncone.analysis.measures.finding import finite
from uncone.analysis.number_format import clipped, cosine, count
from uncone.data.batch import Matrix
from uncone.errors import OptionError
from uncone.report.charts.files import Columns, table_file
from uncone.report.charts.model import Axis, Chart, Dash, Heatmap, Line
from uncone.report.charts.theme import CATEGORICAL
from uncone.report.document import Facts, Section, SideBySide, Table, present, table
from uncone.report.documents.layers.curves import LAYER_AXIS
from uncone.report.documents.layers.overview import evenly
from uncone.report.text import number_text, printable

if TYPE_CHECKING:
    from uncone.report.documents.layers import LayerStudy

__all__ = ["extremes", "sentence_table", "word_charts", "word_section", "word_table"]

_TYPES = {
    **dict.fromkeys(("word", "kind", "text"), str),
    **dict.fromkeys(("row", "words", "count", "contexts", "mev_n"), int),
}
_DASHES: tuple[Dash, Dash] = ("solid", "dash")
_CURVES = 8
_NAMED_CURVES = 12
_HEATMAP = 40
_END = 12
"""Words from either end of self-similarity in the heatmap."""
_BRIEF = 8
"""Words at either end that a terminal names."""


def word_charts(study: LayerStudy) -> list[Chart]:
    """MEV of a few words, and self-similarity of many, by layer."""
    words = study.words
    if words is None or not words.n or len(study.layers) < 2:
        return []
    return present(_mev_chart(study, words), _heatmap(study, words))


def word_section(study: LayerStudy, limit: int, *, brief: bool) -> Section | None:
    """The words at both ends of self-similarity; none if all words are equally contextual."""
    table = study.words
    most, least = extremes(study, limit)
    if table is None or not most:
        return None
    ends = {"Most contextual": most, "Least contextual": least}
    # The story may name these words already.
    words = [table.words[i] for i in (*most[:3], *least[:3])]
    repeated = any(all(word in sentence for word in words) for sentence in study.story)
    lists = {name: [clipped(printable(table.words[i]), 24) for i in places[:_BRIEF]] for name, places in ends.items()}
    facts = [Facts([(name.lower(), ", ".join(words)) for name, words in lists.items()])]
    both = SideBySide([_word_table(study, table, places, name) for name, places in ends.items()])
    intro = (
        "By self-similarity in the last layer, also shown minus the baseline (adjusted). The lower it is, the more the "
        "vector of a word changes with its context."
    )
    return Section("Most and least contextual words", [both], intro, facts if brief and not repeated else ())


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


def _word_table(study: LayerStudy, words: WordTable, places: Sequence[int], title: str) -> Table:
    last, baseline = len(study.layers) - 1, study.curve("baseline")[-1]
    landmarks = sorted({0, last // 2, last})
    rows = []
    for i in places:
        values = words.selfsim[i, landmarks].tolist()
        numbers = [*values, None if baseline is None else values[-1] - baseline]
        texts = [number_text(value, lambda number: cosine(number, 3)) for value in numbers]
        rows.append([clipped(printable(words.words[i]), 40), words.kinds[i], f"{int(words.contexts[i]):,}", *texts])
    heads = ["word", "kind", "contexts", *(f"layer {study.layers[place].number}" for place in landmarks), "adjusted"]
    return table(heads, rows, left=2, title=title, compact=True)


def _mev_chart(study: LayerStudy, table: WordTable) -> Chart | None:
    """One curve per word that the user named, else a few across the range."""
    last = np.asarray(table.mev[:, -1], dtype=float)
    candidates = np.flatnonzero((table.mev_n > 0) & np.isfinite(last))
    if not len(candidates):
        return None
    requested = [place for place in _requested_places(table) if place in candidates]
    if requested:
        places, selection = requested[:_NAMED_CURVES], "The words you named"
        selection += f", the first {_NAMED_CURVES} of {len(requested)}" if len(requested) > _NAMED_CURVES else ""
        missing = len(table.user_words) - len(requested)
        selection += f" ({count(missing, 'word')} not measured)" if missing else ""
    else:
        order = candidates[np.argsort(last[candidates], kind="stable")]
        places = [int(order[i]) for i in evenly(len(order), _CURVES)]
        selection = f"{count(len(places), 'word')} across the range of the {len(candidates):,} measured"
    numbers = [float(layer.number) for layer in study.layers]
    lines = []
    for rank, place in enumerate(places):
        word, n = printable(table.words[place]), [int(table.mev_n[place])] * len(numbers)
        color, dash = CATEGORICAL[rank % len(CATEGORICAL)], _DASHES[rank >= len(CATEGORICAL)]
        values = finite(table.mev[place].tolist())
        lines.append(Line(numbers, values, clipped(word, 14), color, dash=dash, n=n, group=word))
    explained = "Share of the variance of a word's occurrences that one vector explains."
    caption = f"{selection}. {explained} The fewer the occurrences, the larger the share."
    y = Axis("share explained, MEV", "mev")
    return Chart("word_mev", "MEV, word by word", caption, lines, LAYER_AXIS, y, direct=True)


def _heatmap(study: LayerStudy, table: WordTable) -> Chart | None:
    last = np.asarray(table.selfsim[:, -1], dtype=float)
    requested = _requested_places(table)
    # A word in two texts has a single pair, so its value is noise, unless the user named it.
    enough = table.contexts >= _least_contexts(study)
    enough[requested] = True
    candidates = np.flatnonzero(np.isfinite(last) & enough).tolist()
    if not candidates:
        return None
    most, least = contextual_words(table, _least_contexts(study), _END)
    # The table is sorted by frequency: the places left go to the most frequent words.
    ranked = dict.fromkeys([*(place for place in requested if place in set(candidates)), *most, *least, *candidates])
    places = sorted(list(ranked)[:_HEATMAP], key=lambda i: (last[i], i), reverse=True)
    selection = count(len(candidates), "word")
    if len(places) < len(candidates):
        yours = "those you named, " if table.user_words else ""
        selection = (
            f"{len(places)} of {len(candidates):,} words: {yours}the most and least contextual and most frequent"
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
    reading = "The least contextual word is on top. The darker a cell, the more a word's vector depends on its context."
    heatmap = Heatmap(values, low=math.floor(10 * low) / 10, high=1, hover=hover, bar="SelfSim", n=contexts)
    x = Axis("layer (0 = embeddings)", "layer", categories=numbers)
    y = Axis(name="word", categories=[clipped(word, 20) for word in words])
    return Chart("words", "Self-similarity, word by word", f"{selection}. {reading}", [heatmap], x, y, wide=True)


def _requested_places(table: WordTable) -> list[int]:
    return [place for word in table.user_words if (place := table.place(word)) >= 0]


def _least_contexts(study: LayerStudy) -> int:
    """In how many texts a word has to occur for its self-similarity to mean something."""
    return int(study.provenance.get("min_contexts", 5))


def word_table(study: LayerStudy, path: Path) -> bytes:
    """Every word with its occurrences, contexts, SelfSim and MEV by layer, in the format of the path.

    Raises:
        OptionError: the path has another ending, or the study has no words.
    """
    words = study.words
    if words is None:
        raise _missing(study, "words")
    columns: Columns = {"word": list(words.words), "kind": list(words.kinds), "count": words.counts.tolist()}
    columns |= {"contexts": words.contexts.tolist(), **_by_layer(study, "selfsim", words.selfsim)}
    columns |= {"mev_n": words.mev_n.tolist(), **_by_layer(study, "mev", words.mev)}
    return table_file(columns, path, _TYPES)


def sentence_table(study: LayerStudy, path: Path) -> bytes:
    """Every sentence with its row, words, and IntraSim by layer beside what unrelated words would have.

    Raises:
        OptionError: the path has another ending, or the study has no sentences of words.
    """
    texts = study.sentences
    if texts is None:
        raise _missing(study, "sentences")
    columns: Columns = {"row": texts.rows.tolist(), "text": list(texts.texts), "words": texts.lengths.tolist()}
    columns |= {**_by_layer(study, "intrasim", texts.intrasim), **_by_layer(study, "expected", texts.expected)}
    return table_file(columns, path, _TYPES)


def _missing(study: LayerStudy, noun: str) -> OptionError:
    return OptionError(f"{study.name} has no table of {noun}: its rows are {study.source['row']}. Use --rows words.")


def _by_layer(study: LayerStudy, name: str, values: Matrix) -> Columns:
    return {f"{name}_{layer.number}": finite(values[:, at].tolist()) for at, layer in enumerate(study.layers)}
