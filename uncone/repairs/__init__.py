"""Repairs: scikit-learn transformers that are fitted once, by streaming, saved without pickle, and run anywhere.

>>> from uncone.repairs import Whiten
>>> Whiten(dim=2)
Whiten(dim=2)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uncone.repairs.chain import Chain
    from uncone.repairs.clustered import Clustered
    from uncone.repairs.dimensions import Center, Mute, Normalize, Standardize
    from uncone.repairs.flow import Flow
    from uncone.repairs.registry import make
    from uncone.repairs.repair import Repair
    from uncone.repairs.saving import load, save
    from uncone.repairs.spectral import DropTop, Whiten
    from uncone.repairs.weighted import Sif, Zipf

__all__ = [
    "Center",
    "Chain",
    "Clustered",
    "DropTop",
    "Flow",
    "Mute",
    "Normalize",
    "Repair",
    "Sif",
    "Standardize",
    "Whiten",
    "Zipf",
    "load",
    "make",
    "save",
]

_MODULES = dict.fromkeys(("Center", "Mute", "Normalize", "Standardize"), "dimensions")
_MODULES |= {"DropTop": "spectral", "Whiten": "spectral", "Sif": "weighted", "Zipf": "weighted"}
_MODULES |= {"load": "saving", "make": "registry", "save": "saving"}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    """Imported when first used: the flow needs torch, the others do not."""
    if name not in __all__:
        raise AttributeError(f"module 'uncone.repairs' has no attribute {name!r}")
    return getattr(import_module(f"uncone.repairs.{_MODULES.get(name, name.lower())}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
