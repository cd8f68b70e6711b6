"""All findings of a space, in the order in which they are read."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from uncone.backends.cores import one_blas_thread
from uncone.diagnosis.baseline import baseline, central_rows, quantiles, uniformity
from uncone.diagnosis.finding import Finding
from uncone.diagnosis.health import health
from uncone.diagnosis.isotropy import mean_over_rms, partition
from uncone.diagnosis.neighbourhood import Neighbourhood, neighbourhood_findings, neighbourhood_of
from uncone.diagnosis.norms import norms
from uncone.diagnosis.rogue import rogue
from uncone.diagnosis.space import Space
from uncone.diagnosis.spectrum import spectrum

__all__ = ["examine"]


def examine(space: Space, near: Neighbourhood | None = None) -> dict[str, Finding]:
    """Every finding by name; the neighbourhoods are those of the sample unless they are given."""
    # One BLAS thread: eigenvalues of a few hundred dimensions take longer on two that wait for each other.
    with one_blas_thread():
        near = near or _sampled(space)
        found = [
            baseline(space),
            quantiles(space),
            mean_over_rms(space),
            *rogue(space),
            *spectrum(space),
            *partition(space),
            uniformity(space),
            *neighbourhood_findings(near.dimensions, near.hubness, pairs=False),
            *norms(space),
            central_rows(space),
            *health(space),
        ]
    return {finding.name: finding for finding in found}


def _sampled(space: Space) -> Neighbourhood:
    """The neighbourhoods of the sample, while other threads take what the findings begin with."""
    space.sample.order  # noqa: B018 - all of them need it
    with ThreadPoolExecutor(2) as threads:
        begun = [threads.submit(getattr, space, name) for name in ("cosines", "directions")]
        near = neighbourhood_of(space)
        for one in begun:
            one.result()
    return near
