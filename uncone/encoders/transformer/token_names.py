"""Tokens by the words they stand for: without the marks that a tokenizer puts where a word begins or goes on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

__all__ = ["table_names", "usable_tokens"]

_UNUSED = re.compile(r"[\[<]\|?(?:unused|reserved|extra_id|placeholder)[\w|-]*[\]>]|madeupword\d+", re.IGNORECASE)
_BYTE = re.compile(r"<0x[0-9A-Fa-f]{2}>")
_SHARE = 0.01
"""Of the tokens have a mark that a tokenizer uses."""


def usable_tokens(tokenizer: Any) -> dict[int, str]:  # noqa: ANN401 - the classes of transformers are not typed
    """The tokens that a text can give, as the tokenizer writes them, by their ids in order.

    Special tokens are left out, and those that were put there to be used some day, such as [unused12].
    """
    special = {int(one) for one in tokenizer.all_special_ids}
    special |= {int(i) for i, one in tokenizer.added_tokens_decoder.items() if one.special}
    by_id = sorted((int(i), str(token)) for token, i in tokenizer.get_vocab().items())
    return {i: token for i, token in by_id if i not in special and not _UNUSED.fullmatch(token)}


def table_names(tokens: Mapping[int, str]) -> dict[int, str]:
    """A name for each token: the word that it is or begins, or "##" and the letters with which a word goes on.

    A name that another token has already stays as the tokenizer writes it.

    >>> table_names({5: "▁the", 7: "ing", 8: ",", 9: "▁,"})
    {5: 'the', 7: '##ing', 8: ',', 9: '▁,'}
    """
    named = _naming(tokens)
    taken = {token for token in tokens.values() if named(token) == token}
    found: dict[int, str] = {}
    for i, token in tokens.items():
        name = named(token)
        if not name or name in taken:
            name = token
        taken.add(name)
        found[i] = name
    return found


def _naming(tokens: Mapping[int, str]) -> Callable[[str], str]:
    """How this tokenizer marks its tokens, by looking: not at all, when no mark is common."""
    marks: dict[str, Callable[[str], str]] = {"##": _plain, "▁": _spaced, "Ġ": _byte_level, "</w>": _closed}
    counts = {
        mark: sum(token.endswith(mark) if mark == "</w>" else token.startswith(mark) for token in tokens.values())
        for mark in marks
    }
    mark = max(counts, key=counts.__getitem__)
    return marks[mark] if counts[mark] > _SHARE * len(tokens) else _plain


def _plain(token: str) -> str:
    return token


def _spaced(token: str) -> str:
    """SentencePiece: a word begins with ▁."""
    if _BYTE.fullmatch(token):
        return token
    return _begun(token.replace("▁", " "))


def _byte_level(token: str) -> str:
    """GPT-2 and its kin: every byte is a letter, a space is Ġ; a part of a character stays as it is."""
    if not all(letter in _bytes() for letter in token):
        return token
    try:
        return _begun(bytes(_bytes()[letter] for letter in token).decode("utf-8"))
    except UnicodeDecodeError:
        return token


def _closed(token: str) -> str:
    """GPT and CLIP: a word ends with </w>."""
    return token.removesuffix("</w>") if token.endswith("</w>") else f"{token}##"


def _begun(text: str) -> str:
    word = text.strip()
    inside = text == word and any(letter.isalnum() for letter in word)
    return f"##{word}" if inside else word


@cache
def _bytes() -> dict[str, int]:
    """The byte that each letter stands for: itself where it can be seen, else the next letter from 256 on."""
    seen = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in seen]
    return {**{chr(byte): byte for byte in seen}, **{chr(256 + i): byte for i, byte in enumerate(hidden)}}
