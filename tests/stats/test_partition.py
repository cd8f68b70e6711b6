import numpy as np
import pytest

from uncone.data.batch import Batch
from uncone.stats.partition import PartitionSums


@pytest.mark.parametrize("scale", [1.0, 50.0, 5_000.0])
def test_partition_sums_do_not_overflow(scale, cone):
    rows = cone(200, 5).astype(np.float64) * scale
    directions = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    sums = PartitionSums(directions, scales=(1.0, 0.01))
    for a in range(0, len(rows), 64):
        sums.update(Batch.of(rows[a : a + 64], first_row=a))
    for place, factor in enumerate((1.0, 0.01)):
        products = rows @ directions * factor
        expected = np.stack([np.logaddexp.reduce(products, axis=0), np.logaddexp.reduce(-products, axis=0)])
        np.testing.assert_allclose(sums.log_sums[place], expected, rtol=1e-12)
