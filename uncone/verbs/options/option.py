"""Options as dataclasses: a field is the flag, the Python keyword, its help, its default and its check."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from uncone.data.storage.path import path_of
from uncone.errors import OptionError

__all__ = ["Options", "Rule", "among", "at_least", "between", "flag_of", "group_of", "option"]


OptionsType = TypeVar("OptionsType", bound="Options")


@dataclass(frozen=True)
class Rule:
    """A check of a value and its description; `choices` are offered by the shell completion."""

    valid: Callable[[Any], bool]
    text: str
    choices: tuple[str, ...] = ()


def at_least(minimum: float, text: str = "") -> Rule:
    """Numbers from a minimum on."""
    return Rule(lambda value: value >= minimum, text or f"at least {minimum:,}")


def between(low: float, high: float, text: str = "") -> Rule:
    """Numbers of a closed range."""
    return Rule(lambda value: low <= value <= high, text or f"{low:,} to {high:,}")


def among(*choices: str) -> Rule:
    """One of the given words."""
    text = " or ".join(filter(None, (", ".join(choices[:-1]), choices[-1])))
    return Rule(lambda value: value in choices, text, choices)


def option(
    default: Any,  # noqa: ANN401 - any value
    help: str,
    *,
    flag: str | None = None,
    rule: Rule | None = None,
    default_text: str | None = None,
    many: bool = False,
    split: bool = True,
    cli: bool = True,
    needs: str | None = None,
    group: str | None = None,
) -> Any:  # noqa: ANN401 - the type of the field
    """Declare a field of an options class.

    Args:
        default: the default; a tuple makes it a list, given as `a,b` and repeatedly.
        many: whether it is a list although the default is None.
        help: a phrase that stands alone.
        flag: the flag, where it is not the name of the field, such as `--score` for `scores`, or `--out -o`.
        rule: what a value (of a list: each value) must be.
        default_text: shown as the default, where the value itself does not say it.
        split: whether commas separate the values of a list.
        cli: False for keywords of Python alone.
        group: the group of --help, if it is not that of the class.
        needs: the option without which this one means nothing.
    """
    metadata = {
        "many": many or isinstance(default, tuple),
        "help": help,
        "flag": flag,
        "rule": rule,
        "default_text": default_text,
    }
    return field(default=default, metadata={**metadata, "split": split, "cli": cli, "needs": needs, "group": group})


def flag_of(declared: Field[Any]) -> str:
    """The flag of a field."""
    return str(declared.metadata["flag"] or f"--{declared.name.replace('_', '-')}").split()[0]


def group_of(kind: type[Options], name: str) -> str:
    """The group of --help that an option is shown in: its own, or that of the class that first declares it."""
    own = next(declared.metadata["group"] for declared in fields(kind) if declared.name == name)
    home = next(cls for cls in reversed(kind.__mro__) if name in inspect.get_annotations(cls))
    return str(own or home.GROUP)  # type: ignore[attr-defined]


@dataclass(frozen=True, kw_only=True)
class Options:
    """Values of options, checked on creation."""

    GROUP = "Options"
    """The group of --help that the fields of a class are shown in."""
    FIRST: ClassVar[tuple[str, ...]] = ()
    """The most used options, shown first in --help."""

    def __post_init__(self) -> None:
        """Split lists, and check every value, then every combination.

        Raises:
            OptionError: a value or a combination that cannot be used.
        """
        for declared in fields(self):
            value = getattr(self, declared.name)
            if isinstance(value, Path):
                object.__setattr__(self, declared.name, value := path_of(value))
            if declared.metadata["many"] and value is not declared.default:
                value = _as_tuple(value, declared)
                object.__setattr__(self, declared.name, value)
            _check(declared, value)
            requirement = declared.metadata.get("needs")
            if requirement and self.is_given(declared.name) and not self.is_given(requirement):
                raise OptionError(f"{flag_of(declared)} {self._requirement(requirement)}")
        self.check()

    def check(self) -> None:
        """Refuse combinations that cannot be used; a subclass calls its parents."""

    @classmethod
    def field_names(cls) -> list[str]:
        """The names of all options."""
        return [declared.name for declared in fields(cls)]

    def is_given(self, name: str) -> bool:
        """Whether an option differs from its default."""
        declared = next(declared for declared in fields(self) if declared.name == name)
        value = getattr(self, name)
        return value is not declared.default and not (
            isinstance(value, str | int | tuple) and value == declared.default
        )

    def cast(self, kind: type[OptionsType], **others: Any) -> OptionsType:  # noqa: ANN401 - values of the fields
        """The options that another verb shares; `others` replace some."""
        shared = {name: getattr(self, name) for name in kind.field_names() if hasattr(self, name)}
        return kind(**{**shared, **others})

    def flag(self, name: str) -> str:
        """The flag of an option."""
        return flag_of(next(declared for declared in fields(self) if declared.name == name))

    def _requirement(self, name: str) -> str:
        return f"needs {self.flag(name)}: name it too."


def _as_tuple(value: Any, declared: Field[Any]) -> tuple[Any, ...]:  # noqa: ANN401 - whatever the field holds
    """A list, whether it came as `a,b`, as one value or as several."""
    if value is None:
        return ()
    if isinstance(value, Mapping):
        raise OptionError(f"{flag_of(declared)} takes a value or a list of values, not a {type(value).__name__}.")
    values = [value] if isinstance(value, str | os.PathLike) or not hasattr(value, "__iter__") else list(value)
    if declared.metadata["split"]:
        values = [part for entry in values for part in (entry.split(",") if isinstance(entry, str) else [entry])]
        values = [entry.strip() if isinstance(entry, str) else entry for entry in values]
    listed = tuple(entry for entry in values if entry != "")
    if values and not listed:
        raise OptionError(f"{flag_of(declared)} must be a list such as a,b, not {value!r}.")
    return listed


def _check(declared: Field[Any], value: Any) -> None:  # noqa: ANN401 - whatever the field holds
    rule = declared.metadata.get("rule")
    if rule is None or value is None:
        return
    values: Sequence[Any] = value if declared.metadata["many"] else [value]
    for entry in values:
        try:
            valid = rule.valid(entry)
        except TypeError:
            valid = False
        if not valid:
            text = f"{entry:,}" if isinstance(entry, int) else repr(entry)[:60]
            text = f"{entry:g}" if isinstance(entry, float) else text
            raise OptionError(f"{flag_of(declared)} must be {rule.text}, not {text}.")
