"""Which rows may be exact copies of another: a quick look that spares most sources a thorough one."""

from __future__ import annotations

import numpy as np

from uncone.data.batch import Batch
from uncone.stats.samples.fingerprints import Fingerprints
from uncone.stats.samples.hashing import fingerprints

__all__ = ["Sketches"]

_NUMBERS = 16


class Sketches(Fingerprints):
    """Fingerprints of the norm and about sixteen numbers of each row, at a tenth of the cost of all of them.

    Copies share a sketch; other rows do so only where they are sparse, coarse or nearly alike. Where no two sketches
    are equal there are no copies.

    >>> sketches = Sketches()
    >>> sketches.update(Batch.of(np.array([[1.0, 2.0], [1.0, 2.5], [1.0, 2.0]])))
    >>> sketches.may_hold_copies
    True
    """

    def update(self, batch: Batch) -> None:
        some = batch.vectors[:, :: -(-batch.dim // _NUMBERS)]
        cells = np.empty((batch.n, some.shape[1] + 1), batch.vectors.dtype)
        cells[:, :-1] = some
        cells[:, -1] = batch.norms
        self._add(fingerprints(cells))

    @property
    def may_hold_copies(self) -> bool:
        """Whether two sketches are equal, or not all were kept."""
        kept = self.state()["kept"]
        return self.level > 0 or bool((kept[1:] == kept[:-1]).any())
