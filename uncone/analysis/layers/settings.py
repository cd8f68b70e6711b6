"""What a layer study measures: from the options of `uncone layers`, checked, with words where something is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from uncone.analysis.frequency.word_counts import SOURCES
from uncone.encoders.encoder import Window
from uncone.encoders.rows import POOLINGS, ROWS, WORD_POOLINGS, RowRule
from uncone.encoders.segmentation import Kind
from uncone.errors import OptionError
from uncone.run.memory import GIB, MIB

__all__ = ["StudySettings", "memory_of", "settings_from"]

_DEFAULTS: dict[str, Any] = {
    "rows": "words",
    "word_pooling": "mean",
    "pooling": "mean",
    "kinds": None,
    "cased": False,
    "special": None,
    "window": None,
    "stride": None,
    "words": (),
    "mev_words": 100,
    "min_contexts": 5,
    "seed": 0,
    "memory": None,
    "batch_size": None,
    "no_sinks": False,
    "sentences": False,
    "deep": False,
    "k": None,
    "frequency": "corpus",
    "deep_sample": 50_000,
}
_MEMORY = {False: 2 * GIB, True: 4 * GIB}
"""Without and with a look behind the cone, which keeps ten times as many rows."""
_MOST_CLUSTERS = 1_000
_MOST_SEED = 1 << 32
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


def settings_from(options: Mapping[str, Any], *, limit: int | None = None, sample: int | None = None) -> StudySettings:
    """The settings of a study from named options.

    Raises:
        OptionError: an option that does not exist, or a value that cannot be used.
    """
    unknown = sorted(set(options) - set(_DEFAULTS))
    if unknown:
        raise OptionError(f"There is no option {unknown[0]!r}; there are {', '.join(_DEFAULTS)}.")
    values = {**_DEFAULTS, **options}
    for name, allowed in (("rows", ROWS), ("word_pooling", WORD_POOLINGS), ("pooling", POOLINGS)):
        if values[name] not in allowed:
            raise OptionError(f"--{name.replace('_', '-')} is {', '.join(allowed)}, not {values[name]!r}.")
    least = {"mev_words": 0, "min_contexts": 2, "seed": 0, "window": 4, "stride": 1, "batch_size": 1}
    least |= {"k": 1, "deep_sample": 100}
    for name, smallest in least.items():
        _check_number(name, values[name], smallest)
    _check_number("limit", limit, 2)
    _check_number("sample", sample, 2)
    if values["seed"] >= _MOST_SEED:
        raise OptionError(f"--seed is under {_MOST_SEED:,}, not {values['seed']}.")
    if values["stride"] is not None and values["window"] is not None and values["stride"] > values["window"]:
        raise OptionError(
            f"--stride {values['stride']} is longer than --window {values['window']}: words would be lost."
        )
    _check_deep(values)
    rule = RowRule(
        kinds=_kinds(values["kinds"], values["rows"]),
        cased=bool(values["cased"]),
        **{name: values[name] for name in ("rows", "word_pooling", "pooling", "special")},
    )
    return StudySettings(
        rule=rule,
        window=Window(values["window"], values["stride"], cut=not rule.has_words),
        words=tuple(values["words"]),
        least=values["min_contexts"],
        memory=_MEMORY[bool(values["deep"])] if values["memory"] is None else memory_of(values["memory"]),
        keep_sentences=bool(values["sentences"]) and rule.has_words,
        no_sinks=bool(values["no_sinks"]),
        deep=bool(values["deep"]),
        **{name: values[name] for name in ("mev_words", "seed", "batch_size", "k", "frequency", "deep_sample")},
    )


def _check_deep(values: Mapping[str, Any]) -> None:
    """Refuse what only a look behind the cone can use, and what it cannot."""
    if values["frequency"] not in SOURCES:
        raise OptionError(f"--frequency is {', '.join(SOURCES)}, not {values['frequency']!r}.")
    if values["k"] is not None and values["k"] > _MOST_CLUSTERS:
        raise OptionError(f"--k is at most {_MOST_CLUSTERS:,}, not {values['k']:,}.")
    changed = [name for name in ("k", "frequency", "deep_sample") if values[name] != _DEFAULTS[name]]
    if changed and not values["deep"]:
        raise OptionError(f"--{changed[0].replace('_', '-')} belongs to --deep. Add that.")
    if "frequency" in changed and values["rows"] not in ("words", "tokens"):
        raise OptionError(
            f"--frequency is that of words or tokens, and a row of --rows {values['rows']} is a whole text."
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


def _check_number(name: str, value: Any, smallest: int) -> None:  # noqa: ANN401 - whatever was given
    if value is not None and (not isinstance(value, int) or value < smallest):
        raise OptionError(f"--{name.replace('_', '-')} is a whole number of at least {smallest}, not {value!r}.")


def _kinds(names: Any, rows: str) -> frozenset[Kind]:  # noqa: ANN401 - names, or one text with commas
    """The kinds that count: all that a row can be, but for special tokens, which have an option of their own."""
    can_be = [Kind.WORD, Kind.NUMBER, Kind.SYMBOL, *([Kind.PIECE] if rows == "tokens" else [])]
    known = {kind.name.lower(): kind for kind in can_be}
    if names is None:
        return frozenset(can_be)
    listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    wrong = [name for name in listed if name not in known]
    if wrong or not listed:
        raise OptionError(f"--kinds is some of {', '.join(known)}, not {wrong[0] if wrong else 'nothing'!r}.")
    return frozenset(known[name] for name in listed)
