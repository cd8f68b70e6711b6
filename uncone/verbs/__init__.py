"""The verbs, each a short composition of the rooms below."""

from uncone.verbs.calibrate.calibrate import calibrate
from uncone.verbs.check import check, compare
from uncone.verbs.evaluate import evaluate, prescribe, reproduce
from uncone.verbs.fix import apply, export, fix
from uncone.verbs.layers import compare_layers, demo, layers
from uncone.verbs.map.map import map
from uncone.verbs.similarity.similarity import similarity

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
