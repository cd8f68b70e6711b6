"""What a map is colored by: what was asked for first, then all else that is known of its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from uncone.analysis.frequency.word_counts import corpus_frequencies
from uncone.analysis.projections.pictures import Grouping, group
from uncone.analysis.projections.results import Coloring, by_category
from uncone.analysis.projections.word_list import WordList
from uncone.data.batch import IntVector, Vector
from uncone.encoders.segmentation import Kind, find_words
from uncone.errors import OptionError
from uncone.verbs.map.rows import REPAIRED, Gathered

__all__ = ["Colors", "kind_of"]

_ORDER = ("label", "words", "kind", "frequency", "position", "cluster", "norm")
_UNASKED = 60_000
"""Points up to which clusters are looked for although nobody asked."""
_WHY = {
    "label": "needs labels: name their column with --label.",
    "words": "needs a list of words: --words a,b,c.",
    "kind": "is for words and tokens: try --rows words, or word vectors.",
    "frequency": "is for words and tokens: try --rows words, or word vectors.",
    "position": "is for words and tokens: try --rows words.",
}


def kind_of(text: str) -> str:
    """The kind of a word that stands alone.

    >>> kind_of("bank"), kind_of("1984"), kind_of("..."), kind_of("new york")
    ('word', 'number', 'symbol', 'word')
    """
    found = find_words(text)
    return (found[0].kind if found else Kind.SYMBOL).name.lower()


@dataclass(eq=False)
class Colors:
    """The colorings of gathered rows; `groupings` are the clusters of each space, by its name, once they are found."""

    gathered: Gathered
    words: WordList = field(default_factory=WordList)
    k: int | None = None
    seed: int = 0
    groupings: dict[str, Grouping] = field(default_factory=dict)

    def all(self, asked: str | None) -> list[Coloring]:
        """The coloring that was asked for, or the one that tells most, and then the others.

        Raises:
            OptionError: nothing is known of the rows to color them so.
        """
        if asked == "none":
            return []
        makers = self._makers()
        if asked is not None and asked not in makers:
            raise OptionError(f"--color {asked} {_WHY[asked]}")
        first = asked or self._told_most(makers)
        names = [first, *(name for name in _ORDER if name in makers and name != first)]
        many = sum(len(space.places) for space in self.gathered.spaces) > _UNASKED
        if many and first != "cluster" and self.k is None:
            names.remove("cluster")
        return [makers[name]() for name in names]

    def _told_most(self, makers: dict[str, Callable[[], Coloring]]) -> str:
        in_texts = "kind" if self.gathered.facts is not None else "cluster"
        return next(name for name in ("words", "label", in_texts) if name in makers)

    def _makers(self) -> dict[str, Callable[[], Coloring]]:
        """How to make each coloring of which enough is known."""
        rows = self.gathered
        made: dict[str, Callable[[], Coloring]] = {"cluster": self._clusters, "norm": self._norms}
        if rows.labels is not None and any(label.strip() for label in rows.labels):
            made["label"] = lambda: by_category("label", "label", rows.labels or ())
        if len(self.words):
            made["words"] = self._words
        if rows.facts is not None or rows.ranked:
            made |= {"kind": self._kinds, "frequency": self._frequency}
        if rows.facts is not None:
            positions = rows.facts.positions.astype(np.float64)
            made["position"] = lambda: Coloring("position", "position in the text, in tokens", values=positions)
        return made

    def _words(self) -> Coloring:
        rows = self.gathered
        members = self.words.firsts([rows.shown(place) or "" for place in range(rows.n)], rows.n)
        return Coloring("words", "word list", members=members, names=self.words.words)

    def _kinds(self) -> Coloring:
        rows = self.gathered
        if rows.facts is not None:
            names = [Kind(kind).name.lower() for kind in rows.facts.kinds.tolist()]
            return by_category("kind", "kind of token", names)
        return by_category("kind", "kind of word", [kind_of(rows.shown(place) or "") for place in range(rows.n)])

    def _frequency(self) -> Coloring:
        rows = self.gathered
        if rows.facts is None:
            # Files of word vectors begin with the most frequent words.
            return Coloring("frequency", "log10 of the rank in the file", values=np.log10(rows.rows + 1.0))
        shares = corpus_frequencies(rows.counts or {})
        logs = shares.log(rows.facts.words) / np.log(10)
        return Coloring("frequency", f"log10 of the frequency in {shares.name}", values=np.asarray(logs, np.float64))

    def _clusters(self) -> Coloring:
        rows, raw = self.gathered, self.gathered.spaces[0]
        # Both sides of a repair have the clusters of the raw rows, so that one sees where each of them goes.
        repaired = len(rows.spaces) > 1 and rows.spaces[-1].name == REPAIRED
        for space in [raw] if repaired else rows.spaces:
            if space.name not in self.groupings:
                numbers = rows.rows[space.places]
                self.groupings[space.name] = group(space.vectors, k=self.k, numbers=numbers, seed=self.seed)
        if repaired:
            members = np.full(rows.n, -1, np.int64)
            members[raw.places] = self.groupings[raw.name].labels
            return Coloring("cluster", f"cluster of the {raw.name} rows", members, self._named())
        by_panel: dict[str, IntVector] = {}
        for space in rows.spaces:
            members = np.full(rows.n, -1, np.int64)
            members[space.places] = self.groupings[space.name].labels
            by_panel[space.name] = members
        several = by_panel if len(by_panel) > 1 else {}
        return Coloring("cluster", "cluster", by_panel[raw.name], self._named(), by_panel=several)

    def grouping(self, name: str) -> Grouping:
        """The clusters of a space, once they are found; of a repaired one, those of the raw rows."""
        return self.groupings.get(name) or next(iter(self.groupings.values()))

    def _named(self) -> tuple[str, ...]:
        """The names of the clusters, of the picture that has most of them."""
        return tuple(f"cluster {i + 1}" for i in range(max(one.k for one in self.groupings.values())))

    def _norms(self) -> Coloring:
        rows, by_panel = self.gathered, dict[str, Vector]()
        for space in rows.spaces:
            norms = np.full(rows.n, np.nan)
            norms[space.places] = space.norms
            by_panel[space.name] = norms
        first = next(iter(by_panel.values()))
        several = by_panel if len(by_panel) > 1 else {}
        return Coloring("norm", "norm |x|", values=first, values_by_panel=several)
