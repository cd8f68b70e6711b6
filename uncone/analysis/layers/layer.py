"""What is known of one layer of a model, of words and sentences across its layers, and by the number of texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.measures.finding import Finding
from uncone.analysis.measures.registry import placed
from uncone.data.batch import IntVector, Matrix
from uncone.errors import ShapeError

__all__ = ["Layer", "SentenceTable", "StudySize", "WordTable", "sizes_up_to"]

_PARTS = (8, 4, 2)
"""Shares of the texts that `--curve` measures too."""


@dataclass(frozen=True)
class Layer:
    """One layer: 0 is the output of the embeddings, 1 to L the blocks."""

    number: int
    findings: Mapping[str, Finding]

    def __getitem__(self, name: str) -> Finding:
        """A finding by name."""
        return self.findings[name]

    def with_findings(self, more: Iterable[Finding]) -> Layer:
        """The same with further findings after those that it has."""
        return Layer(self.number, {**self.findings, **{finding.name: finding for finding in more}})

    def value(self, name: str) -> float:
        """The number a curve is drawn through; NaN where it is not known."""
        magnitude = self.findings[name].magnitude if name in self.findings else None
        return float("nan") if magnitude is None else magnitude


@dataclass(frozen=True)
class WordTable:
    """The words that were measured, most frequent first: occurrences, sentences, and curves over the layers.

    `selfsim` and `mev` are (words, layers), NaN where a word was not measured; `mev_n` (words,) says on how many
    occurrences MEV stands. `user_words` are the words that the user chose to follow.
    """

    words: Sequence[str]
    counts: IntVector
    contexts: IntVector
    selfsim: Matrix
    mev: Matrix
    mev_n: IntVector
    user_words: Sequence[str] = ()
    kinds: Sequence[str] = ()
    """Word, number, symbol; for tokens also piece and special."""

    @property
    def n(self) -> int:
        """Words in the table."""
        return len(self.words)

    def place(self, word: str) -> int:
        """The vector of a word; -1 when it is not there."""
        return list(self.words).index(word) if word in self.words else -1


@dataclass(frozen=True)
class SentenceTable:
    """Every sentence with its number in the corpus, its words and its IntraSim by layer (sentences, layers)."""

    rows: IntVector
    texts: Sequence[str]
    lengths: IntVector
    intrasim: Matrix
    expected: Matrix
    """IntraSim of as many unrelated words: the length-matched baseline."""


@dataclass(frozen=True)
class StudySize:
    """The layers of a study as they were measured on a part of its texts."""

    texts: int
    layers: Sequence[Layer]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        names = placed("layers", "sizes")
        findings = [{n: layer[n].to_dict() for n in names if n in layer.findings} for layer in self.layers]
        pairs = zip(self.layers, findings, strict=True)
        return {"texts": self.texts, "layers": [{"layer": layer.number, "findings": own} for layer, own in pairs]}


def sizes_up_to(
    texts: int, layers: Sequence[Layer], measure: Callable[[int], Sequence[Layer]]
) -> tuple[list[StudySize], list[str]]:
    """An eighth, a quarter and half of the texts, each part of the next, then all; and what could not be measured."""
    sizes: list[StudySize] = []
    missing: list[str] = []
    for size in (texts // part for part in _PARTS):
        try:
            if size < LEAST_UNITS:
                raise ShapeError(f"we need at least {LEAST_UNITS}")
            sizes.append(StudySize(size, measure(size)))
        except ShapeError:
            missing = [f"{size:,} texts are too few for --curve."]
    return [*sizes, StudySize(texts, layers)], missing
