"""All findings of one layer, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from uncone.backends.cores import on_all_cores
from uncone.diagnosis.context import baseline_of, intra_sentence, self_similarity
from uncone.diagnosis.finding import Finding, Level
from uncone.diagnosis.isotropy import mean_over_rms, partition
from uncone.diagnosis.layer import Layer
from uncone.diagnosis.layer_geometry import LayerGeometry
from uncone.diagnosis.matched import Matched, matched_intrasim
from uncone.diagnosis.mev import WordMev, mev_findings, mev_of_words
from uncone.diagnosis.norms import norms, outlier_row
from uncone.diagnosis.rogue import rogue
from uncone.diagnosis.spectrum import spectrum
from uncone.diagnosis.types import types
from uncone.diagnosis.words import clipped, count, plain
from uncone.stats.norms import SINK

__all__ = ["ExaminedLayer", "examine_layers"]

_SPECTRUM = ("effective_rank", "participation_ratio", "top1_share", "top10_share", "isoscore", "isoscore_corrected")


@dataclass(frozen=True)
class ExaminedLayer:
    """The findings of a layer, and what the tables of words and sentences need of it."""

    layer: Layer
    mev: WordMev | None
    matched: Matched | None

    def with_findings(self, more: Sequence[Finding]) -> ExaminedLayer:
        """The same with further findings after those that it has."""
        findings = {**self.layer.findings, **{one.name: one for one in more}}
        return replace(self, layer=replace(self.layer, findings=findings))


def examine_layers(layers: Sequence[LayerGeometry]) -> list[ExaminedLayer]:
    """Every finding of every layer by name, on all cores: halves of a layer at a time, so that no core is left over."""
    with on_all_cores() as threads:
        # A sample is put in order when it is first asked for: before two threads ask for the same.
        list(threads.map(lambda one: one.sample.order, layers))
        shapes = [threads.submit(_of_shape, one) for one in layers]
        contexts = [threads.submit(_of_context, one) for one in layers]
        return [context.result().with_findings(shape.result()) for context, shape in zip(contexts, shapes, strict=True)]


def _of_context(geometry: LayerGeometry) -> ExaminedLayer:
    """What the words are to their sentences, and to each other."""
    baseline, finding = baseline_of(geometry)
    found = [finding]
    replicates = {} if baseline.replicates is None else {"baseline": baseline.replicates}
    matched = mev = None
    if geometry.words is not None:
        matched = matched_intrasim(geometry)
        inside, more = intra_sentence(geometry, baseline, matched)
        mev = mev_of_words(geometry)
        found += self_similarity(geometry, baseline) + inside + mev_findings(geometry, mev)
        found += types(geometry)
        replicates |= more
    layer = Layer(geometry.number, {one.name: one for one in found}, replicates)
    return ExaminedLayer(layer, mev, matched)


def _of_shape(geometry: LayerGeometry) -> list[Finding]:
    """How the rows lie in their space, whatever they stand for."""
    return [
        mean_over_rms(geometry),
        *rogue(geometry),
        *(one for one in spectrum(geometry) if one.name in _SPECTRUM),
        *partition(geometry),
        norms(geometry)[0],
        _sinks(geometry),
    ]


def _sinks(geometry: LayerGeometry) -> Finding:
    measured = geometry.norms
    median = measured.quantile(0.5)
    named = [one for one in measured.longest if one.norm > SINK * median]
    # The histogram is a little coarse; the rows kept by name are not.
    found = max(measured.count_over(SINK * median), len(named)) if named else 0
    out = f" {count(geometry.left_out, 'sink')} left out." if geometry.left_out else ""
    if not found:
        meaning = f"No row is over {SINK:g} times the median norm ({plain(median)}).{out}"
        return Finding("sinks", 0, measured.n, meaning, threshold=0, level=Level.HEALTHY)
    examples = "; ".join(f"{clipped(one.text or f'row {one.row:,}', 60)}: {plain(one.norm)}" for one in named[:2])
    return Finding(
        "sinks",
        found,
        measured.n,
        f"{count(found, 'row')} over {SINK:g} times the median norm ({plain(median)}): {examples}.{out}",
        "They can carry a whole layer's geometry: measure again with --no-sinks.",
        threshold=0,
        rows=[outlier_row(one) for one in named],
    )
