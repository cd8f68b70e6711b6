"""Arrays in a .npz, with a README of a few lines of numpy that apply them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from uncone.errors import ExportError
from uncone.exports.affine_form import affine_form, primitive_steps
from uncone.exports.export import is_export, sign, temporary_output
from uncone.repairs.clustered import Clustered
from uncone.repairs.repair import Arrays, Repair

__all__ = ["export_numpy"]

_START = """\
import numpy as np
repair = np.load("repair.npz")
rows = np.load("rows.npy")  # the vectors as the model gives them, (n, {d})
"""
_AFFINE = 'fixed = (rows - repair["mean"]) @ repair["matrix"] + repair["offset"]\n'
_CLUSTERED = """\
z = (rows - repair["centre"]) / repair["scale"]
cluster = (z @ repair["linear"].T + z**2 @ repair["quadratic"].T + repair["bias"]).argmax(axis=1)
fixed = rows - repair["means"][cluster]
for k, directions in enumerate(repair["directions"]):
    fixed[cluster == k] -= fixed[cluster == k] @ directions.T @ directions
"""
_UNIT = "fixed /= np.maximum(np.linalg.norm(fixed, axis=1, keepdims=True), 1e-12)\n"
_README = """\
# A repair ({kind}) of vectors of {d} dimensions

```python
{lines}```

Raw and repaired vectors do not mix: repair every stored vector and every query.
"""


def export_numpy(repair: Repair, out: Path) -> list[str]:
    """Write a folder with `repair.npz` (float64) and `README.md`; the notes for the user.

    Raises:
        ExportError: it takes more than a few lines of numpy.
    """
    arrays, lines = _content(repair)
    d = int(repair.n_features_in_)
    with temporary_output(out, folder=True, ours=is_export) as folder:
        np.savez(folder / "repair.npz", allow_pickle=False, **arrays)
        content = _README.format(kind=repair.kind, d=d, lines=_START.format(d=d) + lines)
        (folder / "README.md").write_text(content, encoding="utf-8")
        sign(folder, "numpy", repair.kind)
    return [f"{out / 'README.md'} holds the lines of numpy that apply it."]


def _content(repair: Repair) -> tuple[Arrays, str]:
    form = affine_form(repair)
    if form is not None:
        arrays: Arrays = {"mean": form.mean, "matrix": form.matrix, "offset": form.offset}
        return arrays, _AFFINE + (_UNIT if form.normalize else "")
    steps = primitive_steps(repair)
    normalize = len(steps) == 2 and steps[-1].kind == "normalize"
    if not isinstance(steps[0], Clustered) or len(steps) > 1 + normalize:
        names = ", ".join(step.kind for step in steps)
        raise ExportError(f"{names} is more than a few lines of numpy. Export to onnx, which takes every repair.")
    return _clustered(steps[0]), _CLUSTERED + (_UNIT if normalize else "")


def _clustered(step: Clustered) -> Arrays:
    cells = step.cells_
    quadratic = np.zeros_like(cells.linear) if cells.quadratic is None else cells.quadratic
    return {
        "centre": cells.center,
        "scale": np.array(cells.scale),
        "linear": cells.linear,
        "quadratic": quadratic,
        "bias": cells.bias,
        "means": step.means_,
        "directions": step.directions_,
    }
