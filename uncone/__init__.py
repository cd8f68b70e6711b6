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
    from uncone.verbs import (
        apply,
        calibrate,
        check,
        compare,
        compare_layers,
        demo,
        evaluate,
        export,
        fix,
        layers,
        map,
        prescribe,
        reproduce,
        similarity,
    )

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
    "UnconeError",
    "__version__",
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

_HOMES = {
    "apply": "uncone.verbs",
    "calibrate": "uncone.verbs",
    "check": "uncone.verbs",
    "compare": "uncone.verbs",
    "compare_layers": "uncone.verbs",
    "demo": "uncone.verbs",
    "evaluate": "uncone.verbs",
    "export": "uncone.verbs",
    "prescribe": "uncone.verbs",
    "reproduce": "uncone.verbs",
    "fix": "uncone.verbs",
    "layers": "uncone.verbs",
    "map": "uncone.verbs",
    "similarity": "uncone.verbs",
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
    "UnconeError": "uncone.errors",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    """Public names are imported when they are first used, so that `import uncone` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'uncone' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
