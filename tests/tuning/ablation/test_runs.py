"""Finished trainings on disk: what they depend on, and files that are damaged."""

from __future__ import annotations

import numpy as np
import pytest

from uncone.errors import OutputError
from uncone.tuning.ablation.runs import RunStore, task_digest
from uncone.tuning.tasks import open_task


def test_values_come_back(tmp_path):
    store = RunStore(tmp_path, {"model": "m", "lr": 0.1})
    store.remember("layer 1 frozen", 0, {"predictions": np.array([0, 1]), "seconds": np.float32(0.5)})
    assert RunStore(tmp_path, {"lr": 0.1, "model": "m"}).recall("layer 1 frozen", 0) == {
        "predictions": [0, 1],
        "seconds": 0.5,
    }
    assert store.recall("layer 1 frozen", 1) is None
    assert RunStore(tmp_path, {"model": "m", "lr": 0.2}).recall("layer 1 frozen", 0) is None


@pytest.mark.parametrize("content", ["", "{", "[1]", "\x00"])
def test_damaged_files_count_as_missing(tmp_path, content):
    store = RunStore(tmp_path, {})
    store.remember("a", 0, {"x": 1})
    (file,) = store.folder.iterdir()
    file.write_text(content)
    assert store.recall("a", 0) is None


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="Cannot write"):
        RunStore(tmp_path / "file", {}).remember("a", 0, {})


def test_the_digest_of_a_task_is_that_of_its_items():
    rows = {"text": [f"t {i}" for i in range(20)], "label": list("ab") * 10}
    first, again = (task_digest(open_task(rows)) for _ in range(2))
    other = task_digest(open_task({**rows, "label": list("ba") * 10}))
    assert first == again != other
