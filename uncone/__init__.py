"""uncone tells why cosine similarities look random, and what a score really means in an embedding space.

>>> import numpy as np, uncone
>>> uncone.check(np.eye(50)).verdict.level
<Level.HEALTHY: 'healthy'>
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

_MODULES = {
    "analysis.calibration.calibration": "Calibration",
    "analysis.measures.finding": "Finding Level",
    "errors": "UnconeError",
    "report.documents.ablate.data": "DataAblation",
    "report.documents.ablate.layers": "LayerAblation",
    "report.documents.ablate.repair": "RepairAblation",
    "report.documents.calibrate": "Calibrated",
    "report.documents.check": "Comparison Diagnosis",
    "report.documents.fix": "Repaired",
    "report.documents.layers": "LayerComparison LayerStudy",
    "report.documents.layers.papers": "LayerPapers",
    "report.documents.map": "Map",
    "report.documents.plan": "Planned",
    "report.documents.similarity": "Similarity",
    "report.documents.tune": "Tuned",
    "verbs.calibrate": "calibrate",
    "verbs.check": "check compare",
    "verbs.demo": "demo",
    "verbs.encode": "encode",
    "verbs.evaluate": "evaluate prescribe reproduce",
    "verbs.fix": "apply export fix",
    "verbs.layers": "compare_layers layer_papers layers",
    "verbs.map.map": "map",
    "verbs.plan": "plan",
    "verbs.schema.schema": "schema validate",
    "verbs.similarity.similarity": "similarity",
    "verbs.spaces.verb": "Space open",
    "verbs.training.ablate": "ablate_data ablate_layers ablate_repair",
    "verbs.training.tune": "tune",
}
_HOMES = {name: f"uncone.{module}" for module, names in _MODULES.items() for name in names.split()}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    """Public names are imported when they are first used, so that `import uncone` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'uncone' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
