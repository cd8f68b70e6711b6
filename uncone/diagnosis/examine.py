"""All findings of a space, in the order in which they are read."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from uncone.backends.cores import one_blas_thread
from uncone.diagnosis.baseline import baseline, central_rows, quantiles, uniformity
from uncone.diagnosis.catalogue import HEALTH
from uncone.diagnosis.finding import Finding, Level
from uncone.diagnosis.health import health
from uncone.diagnosis.intervals import LEAST_UNITS
from uncone.diagnosis.isotropy import mean_over_rms, partition
from uncone.diagnosis.neighbourhood import Neighbourhood, neighbourhood_findings, neighbourhood_of
from uncone.diagnosis.norms import norms
from uncone.diagnosis.rogue import rogue
from uncone.diagnosis.space import Space
from uncone.diagnosis.spectrum import spectrum

__all__ = ["examine"]


def examine(space: Space, near: Neighbourhood | None = None) -> dict[str, Finding]:
    """Every finding by name; the neighbourhoods are those of the sample unless they are given."""
    space.sample.order  # noqa: B018 - taken before two threads ask for it
    # One BLAS thread: eigenvalues of a few hundred dimensions take longer on two that wait for each other. So there is
    # a core left, for the neighbourhoods.
    with one_blas_thread(), ThreadPoolExecutor(1) as aside:
        waiting = aside.submit(neighbourhood_of, space) if near is None else None
        found = [
            baseline(space),
            quantiles(space),
            mean_over_rms(space),
            *rogue(space),
            *spectrum(space),
        ]
        rest = [*norms(space), central_rows(space), *health(space)]
        around = near if waiting is None else waiting.result()
        assert around is not None
        found += [*partition(space), uniformity(space)]
        found += neighbourhood_findings(around.dimensions, around.hubness, pairs=False)
    # Of few rows the numbers are shown, and not judged; that all are the same is plain.
    few = 1 < space.distinct < LEAST_UNITS
    judged = [replace(one, level=Level.NOTE) if few and one.name not in HEALTH else one for one in [*found, *rest]]
    return {finding.name: finding for finding in judged}
