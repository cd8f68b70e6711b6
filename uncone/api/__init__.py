"""The verbs, each a short composition of the rooms below."""

from uncone.api.calibrating import calibrate
from uncone.api.checking import check, compare
from uncone.api.evaluating import evaluate, prescribe, reproduce
from uncone.api.fixing import apply, export, fix
from uncone.api.layering import compare_layers, demo, layers
from uncone.api.mapping import map
from uncone.api.similar import similarity

__all__ = [
    "apply",
    "calibrate",
    "check",
    "compare",
    "compare_layers",
    "demo",
    "evaluate",
    "export",
    "fix",
    "layers",
    "map",
    "prescribe",
    "reproduce",
    "similarity",
]
