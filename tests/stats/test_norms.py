import numpy as np
import pytest

from uncone.data.batch import Batch
from uncone.stats.norms import Norms


def test_norms_against_numpy():
    rows = np.random.default_rng(2).lognormal(size=(4_000, 3))
    norms = Norms(keep=4)
    for a in range(0, len(rows), 512):
        norms.update(Batch.of(rows[a : a + 512], first_row=a))
    norms.finish()
    lengths = np.linalg.norm(rows, axis=1)
    assert norms.mean == pytest.approx(lengths.mean(), rel=1e-12)
    assert norms.spread == pytest.approx(lengths.std(ddof=1), rel=1e-9)
    assert norms.quantile(0.5) == pytest.approx(np.median(lengths), rel=0.02)
    assert [one.row for one in norms.longest] == list(np.argsort(-lengths)[:4])
    assert [one.row for one in norms.shortest] == list(np.argsort(lengths)[:4])
    assert norms.count_over(10.0) == pytest.approx((lengths > 10).sum(), rel=0.03)
