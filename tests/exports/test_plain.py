import numpy as np
import pytest

from uncone.errors import ExportError
from uncone.exports.export import export


def run_readme(folder, rows):
    """What a user does: the lines of the README, in the folder."""
    np.save("rows.npy", rows)
    (folder / "repair.npz").rename("repair.npz")
    text = (folder / "README.md").read_text()
    names: dict[str, object] = {}
    exec(text.split("```python\n")[1].split("```")[0], names)
    return names["fixed"]


def test_the_readme_does_what_transform_does(simple, rows, tmp_path, close):
    result = export(simple, "numpy", tmp_path / "out")
    assert result.paths == (tmp_path / "out",)
    expected = simple.transform(rows.astype(np.float64))
    close(run_readme(tmp_path / "out", rows), expected)


def test_five_lines_are_enough(fitted, tmp_path):
    export(fitted("chain-normalize"), "numpy", tmp_path / "out")
    lines = (tmp_path / "out" / "README.md").read_text().split("```")[1].splitlines()[1:]
    assert len(lines) <= 5


def test_a_longer_chain_goes_to_onnx(fitted, tmp_path):
    with pytest.raises(ExportError, match="Export to onnx"):
        export(fitted("chain-clustered"), "numpy", tmp_path / "out")
    assert not list(tmp_path.iterdir())
