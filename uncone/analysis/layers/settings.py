"""Settings of a layer study: what a row is, what is measured of it, and within how much memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from uncone.encoders.encoder import Window
from uncone.encoders.rows.rows import RowRule
from uncone.encoders.rows.segmentation import Kind
from uncone.errors import OptionError
from uncone.run.memory import GIB, MIB

__all__ = ["StudySettings", "kinds_of", "memory_of", "settings_from"]

_MEMORY = {False: 2 * GIB, True: 4 * GIB}
"""Without and with a look behind the cone, which keeps ten times as many rows."""
_MOST_MEMORY = 1 << 50
_UNITS = {"": 1, "k": 1 << 10, "m": MIB, "g": GIB, "t": 1 << 40}


@dataclass(frozen=True)
class StudySettings:
    """What to measure and how; see `uncone.layers` for the meaning of each."""

    rule: RowRule = field(default_factory=RowRule)
    window: Window = field(default_factory=Window)
    words: tuple[str, ...] = ()
    mev_words: int = 100
    least: int = 5
    seed: int = 0
    memory: int = 2 * GIB
    batch_size: int | None = None
    no_sinks: bool = False
    keep_sentences: bool = False
    deep: bool = False
    k: int | None = None
    frequency: str = "corpus"
    deep_sample: int = 50_000
    keep_vectors: bool = False
    """Whether the vectors behind the frequencies of the last layer are kept; no number depends on it."""

    def to_dict(self) -> dict[str, Any]:
        """All that the numbers depend on, as plain JSON values."""
        rule, window = self.rule, self.window
        return {
            "rows": rule.rows,
            "word_pooling": rule.word_pooling,
            "pooling": rule.pooling,
            "kinds": sorted(kind.name.lower() for kind in rule.kinds),
            "cased": rule.cased,
            "special": rule.keeps_special,
            "window": window.size,
            "stride": window.stride,
            "truncated": window.cut,
            "words": list(self.words),
            "mev_words": self.mev_words,
            "min_contexts": self.least,
            "seed": self.seed,
            "memory": self.memory,
            "batch_size": self.batch_size,
            "no_sinks": self.no_sinks,
            "sentences": self.keep_sentences,
            **({"deep": True, "deep_sample": self.deep_sample} if self.deep else {}),
            **({"k": self.k, "frequency": self.frequency} if self.deep else {}),
        }


def settings_from(options: Mapping[str, Any]) -> StudySettings:
    """The settings of a study from the options of `layers`, which are checked but for memory and kinds.

    Raises:
        OptionError: a size or a kind that does not exist.
    """
    of_rows = ("rows", "word_pooling", "pooling", "cased", "special")
    others = ("mev_words", "seed", "batch_size", "no_sinks", "deep", "k", "frequency", "deep_sample", "keep_vectors")
    rule = RowRule(kinds=kinds_of(options["kinds"], options["rows"]), **{name: options[name] for name in of_rows})
    return StudySettings(
        rule=rule,
        window=Window(options["window"], options["stride"], cut=not rule.has_words),
        words=tuple(options["words"]),
        least=options["min_contexts"],
        memory=_MEMORY[options["deep"]] if options["memory"] is None else memory_of(options["memory"]),
        keep_sentences=options["sentences"] and rule.has_words,
        **{name: options[name] for name in others},
    )


def memory_of(text: str | int) -> int:
    """Bytes from "2GB", "500 MB" or a number.

    >>> memory_of("1.5GB") == 1.5 * 2**30
    True

    Raises:
        OptionError: not of that form.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", str(text).lower())
    size = float(match[1]) * _UNITS[match[2]] if match is not None else 0.0
    if not 0 < size < _MOST_MEMORY:
        raise OptionError(f"--memory is a size such as 2GB or 500MB, not {str(text)[:40]!r}.")
    return int(size)


def kinds_of(names: Any, rows: str) -> frozenset[Kind]:  # noqa: ANN401 - names, or one text with commas
    """The kinds that count: all that a row can be, except special tokens, which have an option of their own.

    >>> sorted(kind.name for kind in kinds_of("symbols,words", "words"))
    ['SYMBOL', 'WORD']
    """
    possible = [Kind.WORD, Kind.NUMBER, Kind.SYMBOL, *([Kind.PIECE] if rows == "tokens" else [])]
    by_name = {kind.name.lower(): kind for kind in possible}
    if names is None:
        return frozenset(possible)
    listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    listed = [name if name in by_name else name.removesuffix("s") for name in listed]
    wrong = [name for name in listed if name not in by_name]
    if wrong or not listed:
        raise OptionError(f"--kinds is some of {', '.join(by_name)}, not {wrong[0] if wrong else 'nothing'!r}.")
    return frozenset(by_name[name] for name in listed)
