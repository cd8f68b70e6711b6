"""Copies of a vector are copies after a repair, on processors whose products round a row by its place too."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import numpy as np
import uncone
from uncone.repairs.directions import product
from uncone.repairs.registry import make
from uncone.run.threads import one_blas_thread

rng = np.random.default_rng(0)
distinct = (rng.normal(size=(150, 32)) + 0.5).astype(np.float32)
rows = rng.permutation(np.repeat(distinct, 4, axis=0))
_, which = np.unique(rows, axis=0, return_inverse=True)
for dtype in (np.float32, np.float64):
    for method in ("center", "droptop", "whiten", "clustered", "droptop,whiten,normalize"):
        options = {"k": 3, "p": 2} if method == "clustered" else {}
        mapped = make(method, **options).fit(distinct.astype(dtype)).map(rows.astype(dtype))
        first = np.unique(which, return_index=True)[1]
        assert (mapped == mapped[first][which]).all(), (method, dtype)

# A factor so large that float32 is worth it, and rows that are no dozens.
wide = rng.normal(size=(400, 160)).astype(np.float32)
factor = rng.normal(size=(160, 200)).astype(np.float32)
places = rng.permutation(np.repeat(np.arange(400), 21))
with one_blas_thread():
    mapped = product(wide[places], factor)
first = np.unique(places, return_index=True)[1]
assert (mapped == mapped[first][places]).all()
expected = wide.astype(np.float64) @ factor
assert np.abs(mapped[first] - expected).max() < 1e-6 * np.abs(expected).max()

fixed = uncone.fix(rows, "whiten", save="repair", out="fixed.npy")
np.save("rows.npy", rows)
copies = fixed.before["duplicate_share"].value
assert 0.7 < copies < 0.8
again = (fixed.after, uncone.check("fixed.npy"), uncone.check(rows, repair="repair"))
assert [one["duplicate_share"].value for one in again] == [copies] * 3
calibrated = uncone.calibrate("rows.npy", repair="repair").calibration
assert calibrated.backgrounds[0].distinct == 150, calibrated.backgrounds[0].distinct
assert uncone.similarity("rows.npy", repair="repair").duplicates.found == uncone.similarity("rows.npy").duplicates.found
"""


@pytest.mark.parametrize("processor", ["Haswell", "SkylakeX", "Prescott"])
def test_copies_stay_copies(processor, tmp_path):
    environment = {**os.environ, "OPENBLAS_CORETYPE": processor, "UNCONE_CACHE": str(tmp_path)}
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
