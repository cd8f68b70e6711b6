"""Sentences on many subjects that ship with uncone: what they score is the model's doing, not a topic's."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uncone.data.texts.texts import TextSource

__all__ = ["DIVERSE", "NONE", "SHIPPED", "diverse_texts", "looks_english"]

DIVERSE = Path(__file__).with_name("diverse.txt")
"""English sentences on many subjects, one per line."""

SHIPPED = "the sentences that ship with uncone"
"""What they are called in a report."""

NONE = "none"
"""The name that stands for no diverse text at all."""

_COMMON = frozenset(
    [
        *("a", "about", "all", "and", "are", "as", "at", "be", "but", "by", "can", "for", "from", "had", "has"),
        *("have", "he", "her", "his", "i", "in", "is", "it", "not", "of", "on", "or", "she", "that", "the"),
        *("their", "they", "this", "to", "was", "we", "were", "which", "who", "will", "with", "you"),
    ]
)
"""Words that make up a third of any English text."""
_ENGLISH = 0.03
"""The share of such words below which texts don't look English."""
_LEAST_WORDS = 200
"""Fewer words than that say nothing of a language."""
_WORD = re.compile(r"[^\W\d_]+")
_LETTER = re.compile(r"[^\W\d_]")


def diverse_texts(choice: Any = None) -> TextSource | None:  # noqa: ANN401 - a path, or texts in memory
    """The texts on many subjects: those that ship with uncone, or the user's own; None for "none"."""
    from uncone.data.texts.texts import ListTexts, open_texts

    if choice is None:
        return ListTexts(DIVERSE.read_text(encoding="utf-8").splitlines(), SHIPPED)
    return None if isinstance(choice, str) and choice == NONE else open_texts(choice)


def looks_english(texts: Iterable[str]) -> bool:
    """Whether common English words occur as often as they should; True for texts that are too short to say.

    >>> looks_english(["Der Hund liegt auf der Matte und schläft."] * 50), looks_english(["The dog lies on it."] * 50)
    (False, True)
    """
    words = letters = common = 0
    for text in texts:
        tokens = _WORD.findall(text.lower())
        words += len(tokens)
        letters += len(_LETTER.findall(text))
        common += sum(word in _COMMON for word in tokens)
    # Without spaces, a word is a sentence: letters say whether there is enough to judge by.
    return max(words, letters // 6) < _LEAST_WORDS or common >= _ENGLISH * words
