import numpy as np
import pytest

from uncone.errors import ExportError
from uncone.exports.export import TARGETS, export, temporary_output
from uncone.repairs.dimensions import Center


def test_an_unknown_target_names_the_known(fitted, tmp_path):
    with pytest.raises(ExportError, match=r"'tensorflow'.*sentence-transformers, onnx, faiss, numpy, sql"):
        export(fitted("center"), "tensorflow", tmp_path / "out")


@pytest.mark.parametrize("to", TARGETS)
def test_an_unfitted_repair_is_refused(to, tmp_path):
    with pytest.raises(ExportError, match="not fitted"):
        export(Center(), to, tmp_path / "out", model=tmp_path if to == "sentence-transformers" else None)


@pytest.mark.parametrize("to", ["numpy", "sql"])
def test_a_folder_of_others_stays(fitted, to, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    export(fitted("center"), to, out)  # an empty folder is as good as none
    export(fitted("whiten"), to, out)  # and ours is replaced
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.md").write_text("precious")
    with pytest.raises(ExportError, match="was not written by this export"):
        export(fitted("center"), to, tmp_path / "thesis")
    (tmp_path / "note").write_text("precious")
    with pytest.raises(ExportError, match="is a file"):
        export(fitted("center"), to, tmp_path / "note")
    with pytest.raises(ExportError, match="There is no folder"):
        export(fitted("center"), to, tmp_path / "nowhere" / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["note", "out", "thesis"]


@pytest.mark.parametrize("to", ["faiss", "onnx"])
def test_a_folder_is_no_file(fitted, to, tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(ExportError, match="is a folder"):
        export(fitted("center"), to, tmp_path / "out")


@pytest.mark.parametrize("folder", [True, False])
def test_nothing_is_left_of_a_failure(tmp_path, folder):
    out = tmp_path / "out"
    with (
        pytest.raises(ExportError, match="disk is full"),
        temporary_output(out, folder=folder, ours=lambda _: True) as inside,
    ):
        (inside / "half" if folder else inside).write_text("half")
        raise OSError("the disk is full")
    assert not list(tmp_path.iterdir())


def test_a_failure_keeps_what_was_there(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "old").write_text("old")
    with pytest.raises(RuntimeError), temporary_output(out, folder=True, ours=lambda _: True) as inside:
        (inside / "new").write_text("new")
        raise RuntimeError("killed")
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "old"]


@pytest.mark.parametrize("to", ["faiss", "numpy", "sql"])
def test_a_model_is_for_those_that_hold_one(fitted, to, tmp_path):
    with pytest.raises(ExportError, match="leave --model out"):
        export(fitted("center"), to, tmp_path / "out", model=tmp_path)


def test_the_model_folder_is_left_alone(fitted, tmp_path):
    with pytest.raises(ExportError, match="own folder"):
        export(fitted("center"), "onnx", tmp_path / "repair.onnx", model=tmp_path)
    with pytest.raises(ExportError, match="There is no model folder"):
        export(fitted("center"), "onnx", tmp_path / "repair.onnx", model=tmp_path / "none")
    with pytest.raises(ExportError, match="name it with --model"):
        export(fitted("center"), "sentence-transformers", tmp_path / "out")


@pytest.mark.parametrize(("asked", "said"), [({"pooling": "min"}, "no pooling 'min'"), ({"level": "word"}, "no level")])
def test_wrong_options(fitted, tmp_path, asked, said):
    with pytest.raises(ExportError, match=said):
        export(fitted("center"), "onnx", tmp_path / "repair.onnx", **asked)


def test_numbers_are_not_changed_by_an_export(fitted, tmp_path):
    rows = np.ones((3, 24), np.float32)
    before = fitted("whiten").transform(rows)
    for to in ("onnx", "numpy", "sql", "faiss"):
        export(fitted("whiten"), to, tmp_path / to)
    assert np.array_equal(before, fitted("whiten").transform(rows))
