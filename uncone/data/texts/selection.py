"""Which texts are taken: blank ones and exact duplicates are left out and counted; the first ones, or a sample."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from uncone.data.texts.sentences import split_sentences
from uncone.data.texts.texts import TextSource
from uncone.errors import ShapeError

__all__ = ["Selection", "Tally", "Unit", "text_key"]


def text_key(text: str) -> int:
    """A 64-bit number that identical texts share."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


class Unit(NamedTuple):
    """A text as it is measured: its number among those taken, from 0, the row it comes from, its label."""

    number: int
    row: int
    text: str
    label: str | None = None


@dataclass
class Tally:
    """What one reading met."""

    taken: int = 0
    blank: int = 0
    duplicates: int = 0
    passed_over: int = 0
    """Left out by `limit` or `sample`; those behind the limit are not read, and not counted."""
    digest: str = ""
    """Of the texts taken, in their order."""


class Selection:
    """The texts of a source that are measured; reading twice gives the same.

    `limit` takes the first texts, `sample` a seeded sample of them, drawn by their content, in their order. `split`
    cuts every text into sentences first.
    """

    def __init__(
        self,
        source: TextSource,
        *,
        limit: int | None = None,
        sample: int | None = None,
        seed: int = 0,
        keep_duplicates: bool = False,
        split: bool = False,
    ) -> None:
        self.source = source
        self.limit = limit
        self.sample = sample
        self.seed = seed
        self.keep_duplicates = keep_duplicates
        self.split = split
        self.tally = Tally()
        self._cutoff: bytes | None = None

    def read(self) -> Iterator[Unit]:
        """The texts taken; `tally` tells what was met once all are read.

        Raises:
            ShapeError: there is no text at all.
        """
        if self.sample is not None and self._cutoff is None:
            self._cutoff = self._drawn(self.sample)
        self.tally = tally = Tally()
        digest = hashlib.sha256()
        for row, text, label in self._distinct(tally):
            drawn = self._cutoff is None or self._key(text) <= self._cutoff
            if not drawn or (self.sample is not None and tally.taken >= self.sample):
                tally.passed_over += 1
                continue
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
            yield Unit(tally.taken, row, text, label)
            tally.taken += 1
        tally.digest = digest.hexdigest()[:32]
        if not tally.taken:
            raise ShapeError(f"{self.source.name} holds no text: we need at least 2 lines or rows that are not blank.")

    def _distinct(self, tally: Tally) -> Iterator[tuple[int, str, str | None]]:
        seen: set[bytes] = set()
        passed = 0
        for row, whole, label in self.source.read():
            for text in (split_sentences(whole) or [""]) if self.split else [whole]:
                text = text.strip()
                if not text:
                    tally.blank += 1
                    continue
                if not self.keep_duplicates:
                    key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
                    if key in seen:
                        tally.duplicates += 1
                        continue
                    seen.add(key)
                if self.limit is not None and passed >= self.limit:
                    return
                passed += 1
                yield row, text, label

    def _key(self, text: str) -> bytes:
        salt = self.seed.to_bytes(8, "little")
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, salt=salt).digest()

    def _drawn(self, k: int) -> bytes | None:
        """The largest of the k smallest keys."""
        keys = (self._key(text) for _, text, _ in self._distinct(Tally()))
        smallest = heapq.nsmallest(k, keys)
        return smallest[-1] if len(smallest) == k else b"\xff" * 16
