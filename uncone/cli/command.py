"""Commands from options classes: every field becomes a flag, in its group of --help."""

from __future__ import annotations

import functools
import inspect
import operator
import types
from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from cyclopts import Group, Parameter, Token, convert

from uncone.cli.settings import DASH
from uncone.verbs.options.option import Options, flag_of, group_of, option

__all__ = ["ORDER", "CommandOptions", "command", "default_text"]

ORDER = ("Source", "Model", "", "Sampling", "Output", "Running")
"""The order of the groups in --help; the empty name stands for a verb's own."""


@dataclass(frozen=True, kw_only=True)
class CommandOptions(Options):
    """Options of every command, beside those of its verb."""

    GROUP = "Running"

    config: Path | None = option(None, "TOML file with options: in [VERB] tables, or at the top for every verb.")
    debug: bool = option(False, "Show the traceback of an error, and where each option was set.")


def command(function: Callable[..., int]) -> Callable[..., int]:
    """Wrap a function for cyclopts: parameters that are options classes become the flags of their fields."""
    hints = get_type_hints(function, include_extras=True)
    kinds = {name: hint for name, hint in hints.items() if inspect.isclass(hint) and issubclass(hint, Options)}
    plain = [parameter for name, parameter in inspect.signature(function).parameters.items() if name not in kinds]
    parameters = [parameter.replace(annotation=hints[parameter.name]) for parameter in plain]
    first = [name for kind in kinds.values() for name in kind.FIRST]
    for kind in (*kinds.values(), CommandOptions):
        parameters += [_parameter(kind, field, first) for field in fields(kind) if field.metadata["cli"]]
    ranks = {name: place for place, name in enumerate(first)}
    order = sorted(parameters, key=lambda parameter: (parameter.kind, ranks.get(parameter.name, len(ranks))))

    @functools.wraps(function)
    def run(*arguments: Any, **keywords: Any) -> int:  # noqa: ANN401 - what cyclopts has parsed
        keywords = {name: _with_dash(value) for name, value in keywords.items()}
        values = {name: keywords[name] for name in hints if name in keywords}
        for name, kind in kinds.items():
            names = [field.name for field in fields(kind)]
            values[name] = kind(**{name: keywords[name] for name in names if name in keywords})
        return function(*map(_with_dash, arguments), **values)

    run.__signature__ = inspect.Signature(order, return_annotation=int)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _with_dash(value: Any) -> Any:  # noqa: ANN401 - any value of the command line
    if isinstance(value, list):
        return [_with_dash(item) for item in value]
    return type(value)("-") if isinstance(value, str | Path) and str(value) == DASH else value


def _parameter(kind: type[Options], declared: Field[Any], first: Sequence[str]) -> inspect.Parameter:
    group = "Most used" if declared.name in first else group_of(kind, declared.name)
    is_list, of = _type(kind, declared)
    metadata, default, is_scalar = declared.metadata, declared.default, not is_list
    choices = (metadata["rule"].choices if metadata["rule"] is not None else ()) or None
    text = default_text(declared)
    parameter = Parameter(
        name=[flag_of(declared), *(metadata["flag"] or "").split()[1:]],
        help=metadata["help"] if is_scalar or not choices else f"{metadata['help']} [choices: {', '.join(choices)}]",
        group=Group(group, sort_key=_rank(group)),
        converter=_splitter(of) if is_list and metadata["split"] else None,
        choices=choices if is_scalar else None,  # of a list, each part is checked by its rule
        allow_repeating=True if is_scalar else None,
        show_default=bool(text) and (lambda _: text),
        negative=_negative(declared, of),
        negative_iterable=(),
        allow_leading_hyphen=of is not bool,
    )
    annotation = Annotated[_annotation(of, default, is_list), parameter]  # type: ignore[valid-type]
    default = list(default) if isinstance(default, tuple) else default
    return inspect.Parameter(declared.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def default_text(declared: Field[Any]) -> str:
    """The default of an option as --help shows it; empty if there is nothing to show."""
    default = declared.default
    if default in (None, (), "") or isinstance(default, bool):
        return str(declared.metadata["default_text"] or "")
    listed = ", ".join(map(str, default)) if isinstance(default, tuple) else str(default)
    return str(declared.metadata["default_text"] or listed)


def _rank(name: str) -> int:
    if name == "Most used":
        return 1
    return 2 + 2 * ORDER.index(name if name in ORDER else "")


def _negative(declared: Field[Any], of: type) -> tuple[str, ...]:
    """A flag that switches off what is on by default."""
    has_file = of is Path and declared.default is not None
    return (f"--no-{flag_of(declared)[2:]}",) if has_file or (of is bool and declared.default is not False) else ()


def _type(kind: type[Options], declared: Field[Any]) -> tuple[bool, type]:
    """Whether a field is a list, and the type of a value on the command line."""
    hint = get_type_hints(kind)[declared.name] if isinstance(declared.type, str) else declared.type
    options = list(get_args(hint)) if get_origin(hint) in (Union, types.UnionType) else [hint]
    is_list = bool(declared.metadata["many"])
    if is_list:
        options = [part for member in options for part in get_args(member)]
    return is_list, next((kind for kind in (bool, float, int, Path) if set(options) - {type(None)} == {kind}), str)


def _annotation(of: type, default: Any, is_list: bool) -> Any:  # noqa: ANN401 - a type, and any value
    """The type of a parameter. Where pydantic is imported, cyclopts validates defaults too, so they have to fit it."""
    if not is_list:
        return of | None
    members = functools.reduce(operator.or_, {of, *(type(value) for value in default or ())})
    return list[members] | None if default is None else list[members]  # type: ignore[valid-type]


def _splitter(of: type) -> Callable[[Any, Sequence[Token]], Any]:
    """A converter to a list of a type, from `a,b` and repeated flags."""

    def split(_: Any, tokens: Sequence[Token]) -> Any:  # noqa: ANN401 - the annotation, and a list of any type
        parts = [token.evolve(value=part.strip()) for token in tokens for part in token.value.split(",")]
        parts = [part for part in parts if part.value] or parts[:1]
        return [convert(of, [part]) for part in parts]

    return split
