"""All findings of every layer, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Sequence

from uncone.analysis.layers.geometry import LayerGeometry
from uncone.analysis.layers.layer import Layer
from uncone.analysis.measures.finding import Finding
from uncone.analysis.measures.measure import Family
from uncone.analysis.measures.registry import families
from uncone.run.blas_threads import on_all_cores

__all__ = ["examine_layers"]

_OF_WORDS = {"words", "sentences", "occurrences"}


def examine_layers(layers: Sequence[LayerGeometry]) -> list[Layer]:
    """Every finding of every layer by name, on all cores: halves of a layer at a time, so that no core is left over.

    One half is how the rows lie in their space, the other what words are to their sentences and to each other. The
    families of a half stand on the same intermediates.
    """
    shape = [family for family in families("layers") if not _OF_WORDS & {*family.needs}]
    context = [family for family in families("layers") if _OF_WORDS & {*family.needs}]
    with on_all_cores() as threads:
        # A sample is put in order when it is first asked for: before two threads ask for the same.
        list(threads.map(lambda one: one.sample.order, layers))
        shapes = [threads.submit(_findings, one, shape) for one in layers]
        contexts = [threads.submit(_findings, one, context) for one in layers]
        halves = [one.result() | other.result() for one, other in zip(shapes, contexts, strict=True)]
    return [
        Layer(layer.number, {one.name: one for family in families("layers") for one in found.get(family, ())})
        for layer, found in zip(layers, halves, strict=True)
    ]


def _findings(layer: LayerGeometry, some: Sequence[Family]) -> dict[Family, list[Finding]]:
    """What the statistics of a layer allow."""
    collected = layer.collected
    return {family: family.findings(layer) for family in some if family.wanted <= collected}
