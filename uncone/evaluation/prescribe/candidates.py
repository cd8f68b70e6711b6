"""The repairs that are tried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from uncone.evaluation.table import Method

__all__ = ["candidates_for"]

_TOPS = (1, 3, 7, 15)
_NARROW = 256
_PER_CLUSTER = 100
_FEWEST_CLUSTERS = 5


def candidates_for(dim: int, n: int, *, with_flow: bool = False) -> list[Method]:
    """The family for `n` rows of `dim` dimensions, simplest first: of two that do equally well the first is taken.

    The clusters are as many as 100 rows each allow, at most the 27 of the paper, and there are none under 500 rows. A
    flow takes minutes, so it is tried only when asked for.

    >>> [method.name for method in candidates_for(8, 300)]
    ['center', 'standardize', 'mute', 'droptop 1', 'droptop 3', 'droptop 7', 'whiten']
    """
    asked: list[tuple[str, str, dict[str, Any]]] = [(kind, kind, {}) for kind in ("center", "standardize", "mute")]
    asked += [(f"droptop {k}", "droptop", {"k": k}) for k in _TOPS if k < dim]
    asked += [("whiten", "whiten", {})]
    if dim > _NARROW:
        asked += [(f"whiten {_NARROW}", "whiten", {"dim": _NARROW})]
    if n >= _FEWEST_CLUSTERS * _PER_CLUSTER:
        k, p = min(27, n // _PER_CLUSTER), min(12, dim // 8)
        asked += [(f"clustered {k}, {p}", "clustered", {"k": k, "p": p})]
    if with_flow:
        asked += [("flow", "flow", {})]
    return _methods(asked)


def _methods(asked: Sequence[tuple[str, str, dict[str, Any]]]) -> list[Method]:
    return [Method(name, repair, options, protocol="inductive") for name, repair, options in asked]
