"""The colors of a map: the coloring of --color first, then all others that its points allow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.frequency.word_counts import corpus_frequencies
from uncone.analysis.projections.pictures import Grouping, Space, group
from uncone.analysis.projections.results import Coloring, by_category
from uncone.data.batch import IntVector
from uncone.encoders.rows.segmentation import Kind, find_words
from uncone.errors import OptionError
from uncone.verbs.map.rows import REPAIRED, MapRows

__all__ = ["Colors", "kind_of"]

_ORDER = ("label", "words", "kind", "frequency", "position", "cluster", "norm")
_UNASKED = 60_000
"""Points up to which clusters are computed without --color cluster."""
_REQUIREMENTS = {
    "label": "needs labels: name their column with --label.",
    "words": "needs a list of words: --words a,b,c.",
    "kind": "is for words and tokens: try --rows words, or word vectors.",
    "frequency": "is for words and tokens: try --rows words, or word vectors.",
    "norm": "means nothing here: the database scaled every vector to length 1.",
    "position": "is for words and tokens: try --rows words.",
}


def kind_of(text: str) -> str:
    """The kind of a word that stands alone.

    >>> kind_of("bank"), kind_of("1984"), kind_of("..."), kind_of("new york")
    ('word', 'number', 'symbol', 'word')
    """
    words = find_words(text)
    return (words[0].kind if words else Kind.SYMBOL).name.lower()


@dataclass(eq=False)
class Colors:
    """The colorings of the points of a map; `groupings` are the clusters of each space, once they are computed."""

    rows: MapRows
    k: int | None = None
    seed: int = 0
    groupings: dict[str, Grouping] = field(default_factory=dict)

    def all(self, name: str | None) -> list[Coloring]:
        """The coloring of that name, or the most telling one, and then the others.

        Raises:
            OptionError: the points lack what this coloring needs.
        """
        if name == "none":
            return []
        makers = self._makers()
        if name is not None and name not in makers:
            raise OptionError(f"--color {name} {_REQUIREMENTS[name]}")
        in_texts = "cluster" if self.rows.facts is None else "kind"
        first = name or next(name for name in ("words", "label", in_texts) if name in makers)
        names = [first, *(name for name in _ORDER if name in makers and name != first)]
        many = sum(len(space.places) for space in self.rows.spaces) > _UNASKED
        if many and first != "cluster" and self.k is None:
            names.remove("cluster")
        return [makers[name]() for name in names]

    def _makers(self) -> dict[str, Callable[[], Coloring]]:
        """The constructors of all available colorings."""
        rows = self.rows
        makers: dict[str, Callable[[], Coloring]] = {"cluster": self._clusters}
        if not rows.unit_length:
            makers["norm"] = self._norms
        if rows.labels is not None and any(label.strip() for label in rows.labels):
            makers["label"] = lambda: by_category("label", "label", rows.labels or ())
        if len(rows.words):
            makers["words"] = self._words
        if rows.facts is not None or rows.ranked:
            makers |= {"kind": self._kinds, "frequency": self._frequency}
        if rows.facts is not None:
            positions = rows.facts.positions.astype(np.float64)
            makers["position"] = lambda: Coloring("position", "position in the text, in tokens", values=positions)
        return makers

    def _words(self) -> Coloring:
        words = self.rows.words
        members = words.firsts(self.rows.shown_texts(), self.rows.n)
        return Coloring("words", "word list", members=members, names=words.words)

    def _kinds(self) -> Coloring:
        if self.rows.facts is None:
            return by_category("kind", "kind of word", [kind_of(text) for text in self.rows.shown_texts()])
        names = [Kind(kind).name.lower() for kind in self.rows.facts.kinds.tolist()]
        return by_category("kind", "kind of token", names)

    def _frequency(self) -> Coloring:
        rows = self.rows
        if rows.facts is None:
            # Files of word vectors begin with the most frequent words.
            return Coloring("frequency", "log10 of the rank in the file", values=np.log10(rows.rows + 1.0))
        shares = corpus_frequencies(rows.counts or {})
        logs = shares.log(rows.facts.words) / np.log(10)
        return Coloring("frequency", f"log10 of the frequency in {shares.name}", values=np.asarray(logs, np.float64))

    def _clusters(self) -> Coloring:
        rows, raw = self.rows, self.rows.spaces[0]
        # Both sides of a repair have the clusters of the raw vectors, to show where each of them goes.
        repaired = rows.spaces[-1].name == REPAIRED
        spaces = [raw] if repaired else rows.spaces
        by_panel: dict[str, IntVector] = {}
        for space in spaces:
            grouping = group(space.vectors, k=self.k, numbers=rows.rows[space.places], seed=self.seed)
            self.groupings[space.name] = grouping
            by_panel[space.name] = self._over_map(space, grouping.labels, -1)
        title = f"cluster of the {raw.name} rows" if repaired else "cluster"
        names = tuple(f"cluster {i + 1}" for i in range(max(grouping.k for grouping in self.groupings.values())))
        return Coloring("cluster", title, by_panel[raw.name], names, by_panel=by_panel if len(spaces) > 1 else {})

    def grouping(self, name: str) -> Grouping:
        """The clusters of a space, once they are computed; of a repaired one, those of the raw vectors."""
        return self.groupings.get(name) or next(iter(self.groupings.values()))

    def _norms(self) -> Coloring:
        by_panel = {space.name: self._over_map(space, space.norms, np.nan) for space in self.rows.spaces}
        values = by_panel[self.rows.spaces[0].name]
        return Coloring("norm", "norm |x|", values=values, values_by_panel=by_panel if len(by_panel) > 1 else {})

    def _over_map(self, space: Space, values: NDArray[Any], missing: float) -> NDArray[Any]:
        """The values of a space for all points of the map."""
        whole = np.full(self.rows.n, missing, values.dtype)
        whole[space.places] = values
        return whole
