"""Batches of passages of like length, under a budget of tokens: little is padded, and memory is bounded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from uncone.data.selection import Unit
from uncone.encoders.rows import Laid

__all__ = ["FIRST", "POOL", "TOKENS", "budgeted", "pools"]

POOL = 2048
"""Texts that are sorted by length together."""
TOKENS = 1024
"""Tokens of a batch: more is not faster, and takes more memory."""
FIRST = 256
"""The same at the beginning of a run, so that the model soon has work."""
_LETTERS = 1 << 23


def pools(units: Iterable[Unit], texts: int = POOL, first: int | None = None) -> Iterator[list[Unit]]:
    """Texts in groups that fit in memory: so many, or so many letters; `first` in the first, when given."""
    pool: list[Unit] = []
    letters, most = 0, first or texts
    for unit in units:
        pool.append(unit)
        letters += len(unit.text)
        if len(pool) >= most or letters >= _LETTERS:
            yield pool
            pool, letters, most = [], 0, texts
    if pool:
        yield pool


def budgeted(passages: Sequence[Laid], tokens: int, most: int | None = None) -> list[list[Laid]]:
    """Passages in batches of at most `tokens` tokens with padding (one passage may be longer) and `most` passages.

    The longest come first, so that a model that cannot take them says so at once. Within a batch they keep their
    order.
    """
    ordered = sorted(passages, key=lambda laid: -laid.passage.length)
    batches: list[list[Laid]] = []
    for laid in ordered:
        last = batches[-1] if batches else []
        room = last and (len(last) + 1) * last[0].passage.length <= tokens and len(last) < (most or len(ordered))
        if room:
            last.append(laid)
        else:
            batches.append([laid])
    return [sorted(batch, key=lambda laid: laid.group) for batch in batches]
