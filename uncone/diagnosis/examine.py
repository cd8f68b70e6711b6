"""All findings of a space, in the order in which they are read."""

from __future__ import annotations

from uncone.diagnosis.baseline import baseline, central_rows, quantiles, uniformity
from uncone.diagnosis.finding import Finding
from uncone.diagnosis.health import health
from uncone.diagnosis.isotropy import mean_over_rms, partition
from uncone.diagnosis.norms import norms
from uncone.diagnosis.rogue import rogue
from uncone.diagnosis.space import Space
from uncone.diagnosis.spectrum import spectrum

__all__ = ["examine"]


def examine(space: Space) -> dict[str, Finding]:
    """Every finding by name."""
    found = [
        baseline(space),
        quantiles(space),
        mean_over_rms(space),
        *rogue(space),
        *spectrum(space),
        *partition(space),
        uniformity(space),
        *norms(space),
        central_rows(space),
        *health(space),
    ]
    return {finding.name: finding for finding in found}
