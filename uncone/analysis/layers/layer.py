"""What is known of one layer of a model, and of the words and sentences across its layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from uncone.analysis.measures.finding import Finding
from uncone.data.batch import IntVector, Matrix

__all__ = ["Layer", "SentenceTable", "WordTable"]


@dataclass(frozen=True)
class Layer:
    """One layer: 0 is the output of the embeddings, 1 to L the blocks."""

    number: int
    findings: Mapping[str, Finding]

    def __getitem__(self, name: str) -> Finding:
        """A finding by name."""
        return self.findings[name]

    def with_findings(self, more: Sequence[Finding]) -> Layer:
        """The same with further findings after those that it has."""
        return Layer(self.number, {**self.findings, **{one.name: one for one in more}})

    def value(self, name: str) -> float:
        """The number a curve is drawn through; NaN where it is not known."""
        magnitude = self.findings[name].magnitude if name in self.findings else None
        return float("nan") if magnitude is None else magnitude


@dataclass(frozen=True)
class WordTable:
    """The words that were measured, most frequent first: occurrences, sentences, and curves over the layers.

    `selfsim` and `mev` are (words, layers), NaN where a word was not measured; `mev_n` (words,) says on how many
    occurrences MEV stands. `asked` are the words that the user named.
    """

    words: Sequence[str]
    counts: IntVector
    contexts: IntVector
    selfsim: Matrix
    mev: Matrix
    mev_n: IntVector
    asked: Sequence[str] = ()
    kinds: Sequence[str] = ()
    """Word, number, symbol; for tokens also piece and special."""

    @property
    def n(self) -> int:
        """Words in the table."""
        return len(self.words)

    def place(self, word: str) -> int:
        """The row of a word; -1 when it is not there."""
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
