"""uncone tells why cosine similarities look random, and what a score really means in an embedding space.

>>> import numpy as np, uncone
>>> uncone.check(np.eye(50)).verdict.level
<Level.HEALTHY: 'healthy'>
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uncone._version import __version__

if TYPE_CHECKING:
    from uncone.analysis.calibration.calibration import Calibration
    from uncone.analysis.measures.finding import Finding, Level
    from uncone.errors import UnconeError
    from uncone.report.results.calibrate import Calibrated
    from uncone.report.results.check import Comparison, Diagnosis
    from uncone.report.results.fix import Repaired
    from uncone.report.results.layers import LayerComparison, LayerStudy
    from uncone.report.results.map import Map
    from uncone.report.results.similarity import Similarity
    from uncone.verbs.calibrate import calibrate
    from uncone.verbs.check import check, compare
    from uncone.verbs.demo import demo
    from uncone.verbs.encode import encode
    from uncone.verbs.evaluate import evaluate, prescribe, reproduce
    from uncone.verbs.fix import apply, export, fix
    from uncone.verbs.layers import compare_layers, layers
    from uncone.verbs.map.map import map
    from uncone.verbs.similarity.similarity import similarity
    from uncone.verbs.space import Space, open

__all__ = [
    "Calibrated",
    "Calibration",
    "Comparison",
    "Diagnosis",
    "Finding",
    "LayerComparison",
    "LayerStudy",
    "Level",
    "Map",
    "Repaired",
    "Similarity",
    "Space",
    "UnconeError",
    "__version__",
    "apply",
    "calibrate",
    "check",
    "compare",
    "compare_layers",
    "demo",
    "encode",
    "evaluate",
    "export",
    "fix",
    "layers",
    "map",
    "open",
    "prescribe",
    "reproduce",
    "similarity",
]

_HOMES = {
    "apply": "uncone.verbs.fix",
    "calibrate": "uncone.verbs.calibrate",
    "check": "uncone.verbs.check",
    "compare": "uncone.verbs.check",
    "compare_layers": "uncone.verbs.layers",
    "demo": "uncone.verbs.demo",
    "encode": "uncone.verbs.encode",
    "evaluate": "uncone.verbs.evaluate",
    "export": "uncone.verbs.fix",
    "prescribe": "uncone.verbs.evaluate",
    "reproduce": "uncone.verbs.evaluate",
    "fix": "uncone.verbs.fix",
    "layers": "uncone.verbs.layers",
    "map": "uncone.verbs.map.map",
    "similarity": "uncone.verbs.similarity.similarity",
    "Calibrated": "uncone.report.results.calibrate",
    "Calibration": "uncone.analysis.calibration.calibration",
    "Comparison": "uncone.report.results.check",
    "Diagnosis": "uncone.report.results.check",
    "Finding": "uncone.analysis.measures.finding",
    "LayerComparison": "uncone.report.results.layers",
    "LayerStudy": "uncone.report.results.layers",
    "Level": "uncone.analysis.measures.finding",
    "Map": "uncone.report.results.map",
    "Repaired": "uncone.report.results.fix",
    "Similarity": "uncone.report.results.similarity",
    "Space": "uncone.verbs.space",
    "UnconeError": "uncone.errors",
    "open": "uncone.verbs.space",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    """Public names are imported when they are first used, so that `import uncone` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'uncone' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
