"""What `tune` and `ablate` measure beside the findings of `check` and `layers`."""

from __future__ import annotations

from uncone.analysis.layers.representations import TrainedVectors
from uncone.analysis.measures.check import WANG
from uncone.analysis.measures.measure import Family, Measure
from uncone.analysis.measures.unit import RATIO, SCORE, SHARE

__all__ = ["FAMILIES"]

# A table: one argument per line would make it three times as long.
# fmt: off
ALIGNMENT = Measure("alignment", "Alignment", RATIO,
    "E|u − v|² over unit vectors of texts that belong together: positive pairs, or two dropout views of a text.", WANG,
    shown_in="")
CKA = Measure("cka", "CKA", SCORE,
    "Linear CKA of a layer in two models on the same texts: |YᵀX|²/(|XᵀX| |YᵀY|), X and Y centered. 1 if a rotation "
    "and a scale turn one into the other.",
    "Kornblith et al. 2019, Similarity of Neural Network Representations Revisited", shown_in="")
PROBE = Measure("linear_probe", "Linear probe", SHARE,
    "Accuracy on held-out texts of logistic regression on the standardized vectors of a layer.",
    "Alain and Bengio 2016, Understanding intermediate layers using linear classifier probes", shown_in="")

FAMILIES = (
    Family((ALIGNMENT,), TrainedVectors.alignment, ("training",), summary="how close texts are that belong together"),
    Family((CKA,), TrainedVectors.cka, ("training",), summary="how much a layer of two models has in common"),
    Family((PROBE,), TrainedVectors.probe, ("training",), summary="what a linear classifier finds in a layer"),
)
