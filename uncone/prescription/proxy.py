"""Pairs made from the texts alone, for those who have none that are labelled: an indication, never a proof."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from uncone.data.sentences import split_sentences
from uncone.data.tasks import FEWEST
from uncone.errors import OptionError, ShapeError
from uncone.prescription.problem import PairProblem

__all__ = ["Proxy", "halves", "proxy_pairs"]

Proxy = Literal["halves", "neighbours"]

_TOGETHER = 4  # documents whose parts are compared with each other
_FEWEST_WORDS = 6
_LONG_WORDS = 30  # of a text whose halves tell what labelled pairs tell
_FEWEST_LETTERS = 20  # of a text without spaces between words


def proxy_pairs(
    texts: Sequence[str], seed: int = 0, *, kind: Proxy = "halves", most: int = 2000
) -> tuple[list[str], PairProblem]:
    """Texts to encode, and pairs of them: two parts of one document are alike (1), parts of two are not (0).

    "halves" cuts every text in the middle. "neighbours" takes texts that follow each other, for texts that are one
    document in order. At most `most` documents are drawn by `seed`; they are compared in groups of four, each first
    part with the four second parts, so that the groups share no text. The measure is ROC-AUC.

    Halves of paragraphs order repairs much as STS-B does; halves of sentences do not: they favour the weakest repairs
    (measured by benchmarks/proxy.py). Below a median of 30 words the problem has a note that says so.

    Raises:
        OptionError: there is no such kind.
        ShapeError: too few of the texts can be used.
    """
    if kind not in ("halves", "neighbours"):
        raise OptionError(f"There is no proxy {kind!r}; there are halves and neighbours.")
    distinct = list(dict.fromkeys(text.strip() for text in texts if text.strip()))
    if kind == "halves":
        found = [parts for text in distinct if (parts := halves(text)) is not None]
    else:
        found = list(zip(distinct[::2], distinct[1::2], strict=False))
    documents = _without_repeats(found)
    rng = np.random.default_rng(seed)
    taken = rng.permutation(len(documents))[:most]
    usable = len(taken) - len(taken) % _TOGETHER
    if usable < 2 * FEWEST:
        what = "texts are distinct and long enough to cut in two" if kind == "halves" else "pairs of texts are distinct"
        raise ShapeError(f"{len(taken)} {what}, and we need at least {2 * FEWEST} to compare repairs by. Add some.")
    first = 2 * np.arange(usable)
    blocks = first.reshape(-1, _TOGETHER)
    left = np.repeat(blocks, _TOGETHER, axis=1).ravel()
    right = np.tile(blocks + 1, (1, _TOGETHER)).ravel()
    new = [part for at in taken[:usable] for part in documents[at]]
    alike, note = (right == left + 1).astype(np.float64), _caution(new) if kind == "halves" else ""
    return new, PairProblem(left, right, alike, proven=False, name=kind, note=note)


def halves(text: str) -> tuple[str, str] | None:
    """A text cut between the sentences, else between the words, that are nearest to its middle; None if it is short.

    >>> halves("It rained all day. We stayed at home.")
    ('It rained all day.', 'We stayed at home.')
    >>> halves("A man is playing a guitar")
    ('A man is playing', 'a guitar')
    """
    words = text.split()
    if len(words) < _FEWEST_WORDS:
        if len(words) > 1 or len(text) < _FEWEST_LETTERS:
            return None
        return text[: len(text) // 2], text[len(text) // 2 :]
    sentences = split_sentences(text)
    for parts in (sentences, words):
        cut = _nearest_cut([len(part) for part in parts])
        one, other = " ".join(parts[:cut]), " ".join(parts[cut:])
        if min(len(one.split()), len(other.split())) * 4 >= len(words):
            return one, other
    cut = len(words) // 2
    return " ".join(words[:cut]), " ".join(words[cut:])


def _caution(parts: Sequence[str]) -> str:
    words = 2 * float(np.median([len(part.split()) for part in parts]))
    if words >= _LONG_WORDS:
        return ""
    return (
        f"The texts are short, {words:.0f} words: halves of such texts were seen to favour weak repairs that labelled "
        f"pairs hardly confirm. Texts of {_LONG_WORDS} words or more, or labelled pairs, tell more."
    )


def _nearest_cut(lengths: Sequence[int]) -> int:
    """How many parts make the first half."""
    ends = np.cumsum(lengths)
    return int(np.abs(ends - ends[-1] / 2).argmin()) + 1


def _without_repeats(documents: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The documents both of whose parts are new: a part that stands in two would be alike to both."""
    seen: set[str] = set()
    kept = []
    for one, other in documents:
        if one != other and one not in seen and other not in seen:
            kept.append((one, other))
            seen |= {one, other}
    return kept
