"""Batches of passages of like length, under a budget of tokens: little is padded, and memory is bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from uncone.data.texts.selection import Unit
from uncone.encoders.rows.rows import Laid

__all__ = ["FIRST", "POOL", "TOKENS", "budgeted", "pools", "text_parts"]

POOL = 2048
"""Texts that are sorted by length together."""
TOKENS = 1024
"""Tokens of a batch: more is not faster, and takes more memory."""
FIRST = 256
"""The same at the beginning of a run, so that the model soon has work."""
_LETTERS = 1 << 23
_OPEN = 4
"""Batches of texts with several windows that are open at the same time."""


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


def text_parts(passages: Sequence[Laid], tokens: int, most: int | None = None) -> Iterator[tuple[list[Laid], bool]]:
    """Passages in parts that hold whole texts, and whether a text of the part has several windows.

    Texts of several windows come first, in parts of about four batches of `tokens` or `most` passages: so what is
    known of a text has to be kept open for a short time only. All others are one part.
    """
    windows = Counter(laid.group for laid in passages)
    part: list[Laid] = []
    for _, text in groupby((laid for laid in passages if windows[laid.group] > 1), key=lambda laid: laid.group):
        part += text
        if sum(laid.passage.length for laid in part) >= _OPEN * tokens or len(part) >= _OPEN * (most or tokens):
            yield part, True
            part = []
    if part:
        yield part, True
    if rest := [laid for laid in passages if windows[laid.group] == 1]:
        yield rest, False


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
