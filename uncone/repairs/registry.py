"""Repairs by the name of a method: `whiten`, or a pipe such as `center,droptop,whiten`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from uncone.errors import OptionError
from uncone.repairs.chain import Chain
from uncone.repairs.repair import Repair

__all__ = ["KINDS", "make", "make_seeded", "repair_class"]

KINDS = {
    "center": ("dimensions", "Center"),
    "standardize": ("dimensions", "Standardize"),
    "droptop": ("spectral", "DropTop"),
    "whiten": ("spectral", "Whiten"),
    "zipf": ("weighted", "Zipf"),
    "sif": ("weighted", "Sif"),
    "mute": ("dimensions", "Mute"),
    "clustered": ("clustered", "Clustered"),
    "flow": ("flow", "Flow"),
    "normalize": ("dimensions", "Normalize"),
}
"""The methods a user can name: which module of this room has which class. Flow needs torch, so imports wait."""


def repair_class(kind: str) -> type[Repair]:
    """The class of a method.

    Raises:
        OptionError: there is no such method.
    """
    if kind not in KINDS:
        raise OptionError(f"There is no method {kind!r}; choose from {', '.join(KINDS)}. Join several with commas.")
    module, name = KINDS[kind]
    cls: type[Repair] = getattr(import_module(f"uncone.repairs.{module}"), name)
    return cls


def make(method: str, **options: Any) -> Repair:  # noqa: ANN401 - each step has its own
    """An unfitted repair; each option goes to every step that has it.

    >>> make("droptop,whiten", k=3)
    Chain(steps=[DropTop(k=3), Whiten()])
    >>> make("whiten", dim=2)
    Whiten(dim=2)

    Raises:
        OptionError: an unknown method, an option that no step has, a step behind `normalize`, or beside `sif`.
    """
    names = [name.strip() for name in method.split(",")]
    classes = [repair_class(name) for name in names]
    if "normalize" in names[:-1]:
        raise OptionError(f"normalize has to be the last step: {method} would undo it. Move it to the end.")
    if len(names) > 1 and (alone := next((cls.kind for cls in classes if cls.weighs_tokens), "")):
        raise OptionError(
            f"{alone} weighs tokens before they are pooled, so it can't be a step of {method}. Use it alone."
        )
    parameters = [set(cls._get_param_names()) for cls in classes]
    for option in options:
        if not any(option in own for own in parameters):
            listing = ", ".join(sorted(set().union(*parameters))) or "no options"
            raise OptionError(f"{method} does not take {option!r}; it takes {listing}.")
    steps = [
        cls(**{name: value for name, value in options.items() if name in own})
        for cls, own in zip(classes, parameters, strict=True)
    ]
    if len(steps) > 1 and options.get("frequencies") is not None:
        raise OptionError(f"Frequencies are for zipf or sif alone, not for {method}.")
    return steps[0] if len(steps) == 1 else Chain(steps)


def make_seeded(method: str, options: Mapping[str, Any], seed: int) -> Repair:
    """An unfitted repair whose random steps use `seed`, unless the options have one."""
    repair = make(method, **options)
    for step in getattr(repair, "steps", [repair]):
        if "seed" in step.get_params(deep=False) and "seed" not in options:
            step.set_params(seed=seed)
    return repair
