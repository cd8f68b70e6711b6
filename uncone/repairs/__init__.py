"""Repairs: scikit-learn transformers that are fitted once, by streaming, saved without pickle, and run anywhere.

>>> from uncone.repairs import Whiten
>>> Whiten(dim=2)
Whiten(dim=2)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uncone.repairs.affine.center import Center
    from uncone.repairs.affine.droptop import DropTop
    from uncone.repairs.affine.mute import Mute
    from uncone.repairs.affine.normalize import Normalize
    from uncone.repairs.affine.standardize import Standardize
    from uncone.repairs.affine.whiten import Whiten
    from uncone.repairs.chain import Chain
    from uncone.repairs.clustered import Clustered
    from uncone.repairs.flow.flow import Flow
    from uncone.repairs.registry import make
    from uncone.repairs.repair import Repair
    from uncone.repairs.saving import load, save

__all__ = [
    "Center",
    "Chain",
    "Clustered",
    "DropTop",
    "Flow",
    "Mute",
    "Normalize",
    "Repair",
    "Standardize",
    "Whiten",
    "load",
    "make",
    "save",
]

_AFFINE = ("Center", "DropTop", "Mute", "Normalize", "Standardize", "Whiten")
_MODULES = {name: f"affine.{name.lower()}" for name in _AFFINE} | {
    "Flow": "flow.flow",
    "load": "saving",
    "make": "registry",
    "save": "saving",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    """Imported when first used: the flow needs torch, the others do not."""
    if name not in __all__:
        raise AttributeError(f"module 'uncone.repairs' has no attribute {name!r}")
    return getattr(import_module(f"uncone.repairs.{_MODULES.get(name, name.lower())}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
