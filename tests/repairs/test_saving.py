"""A saved repair is the same in a new process, and a folder that is not whole is refused in one line."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from sklearn.base import clone

import uncone
from uncone.encoders.encoder import EncoderIdentity
from uncone.errors import DamagedRepairError, OptionError, OtherSpaceError, OutputError
from uncone.repairs.chain import Chain
from uncone.repairs.dimensions import Center, Mute, Normalize, Standardize
from uncone.repairs.saving import load, save
from uncone.repairs.spectral import DropTop, Whiten
from uncone.repairs.weighted import Sif, Zipf

REPAIRS = [
    Sif(),
    Zipf(),
    Center(),
    Standardize(),
    DropTop(2),
    Whiten(dim=4),
    Mute("zscore", [0, 3]),
    Normalize(),
    Chain([DropTop(1), Whiten(), Normalize()]),
]
SCRIPT = """
import numpy as np
from pathlib import Path
from uncone.encoders.encoder import EncoderIdentity
from uncone.repairs.saving import load
rows = np.load("rows.npy")
for folder in sorted(Path("saved").iterdir()):
    np.save(f"found-{folder.name}.npy", load(folder).repair.transform(rows))
"""


def test_in_a_new_process_it_is_identical(cone):
    rows = cone()
    np.save("rows.npy", rows)
    Path("saved").mkdir()
    expected = []
    for i, repair in enumerate(REPAIRS):
        original = clone(repair).fit(rows)
        save(original, Path("saved") / str(i), {"n": len(rows)})
        expected.append(original.transform(rows))
    root = Path(uncone.__file__).parents[1]
    # With the kernels of this process: those of another processor round otherwise.
    environment = {**os.environ, "PYTHONPATH": str(root), "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, env=environment)
    for i, array in enumerate(expected):
        np.testing.assert_array_equal(np.load(f"found-{i}.npy"), array)


def test_everything_known_comes_back(cone):
    rows = cone(n=40)
    chain = Chain([DropTop(2), Whiten(shrinkage="ledoit-wolf")]).fit(rows)
    chain.save("repair", encoder="bert-tiny", layer=2, n=np.int64(40), path=Path("a"))
    saved = load("repair", dim=12, encoder=EncoderIdentity("bert-tiny", "any"))
    assert saved.provenance == {"encoder": "bert-tiny", "layer": 2, "n": 40, "path": "a"}
    assert saved.repair.note_ == chain.note_ != ""
    assert saved.repair.steps_[1].shrinkage_ == chain.steps_[1].shrinkage_
    assert [step.get_params() for step in saved.repair.steps] == [step.get_params() for step in chain.steps]
    np.testing.assert_array_equal(saved.repair.collapsed().transform(rows), chain.transform(rows))
    collapsed = chain.collapsed()
    collapsed.steps_[0].save("matrix")
    np.testing.assert_array_equal(load("matrix").repair.transform(rows), chain.transform(rows))
    assert sorted(path.name for path in Path("repair").iterdir()) == ["repair.json", "repair.safetensors"]
    assert {array.dtype for array in load_file("repair/repair.safetensors").values()} == {np.dtype(np.float64)}


@pytest.fixture
def folder(cone) -> Path:
    Whiten(dim=4).fit(cone()).save("repair", encoder="bert-tiny", encoder_content="1f")
    return Path("repair")


def test_another_space_is_refused(folder):
    with pytest.raises(OtherSpaceError, match=r"dimension 12; these have 768.*bert-tiny"):
        load(folder, dim=768)
    with pytest.raises(OtherSpaceError, match=r"bert-tiny \(1f\); these vectors are from bert-tiny \(2e\)"):
        load(folder, encoder=EncoderIdentity("bert-tiny", "2e"))
    load(folder, dim=12, encoder=EncoderIdentity("a-copy-in-another-folder", "1f"))


def change_json(folder, **changes):
    path = folder / "repair.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, **changes}))


def change_tensors(folder, edit, *, sign=True):
    """Tamper with the numbers, and if asked so cleverly that the checksum fits."""
    path = folder / "repair.safetensors"
    arrays = dict(load_file(path))
    edit(arrays)
    save_file(arrays, path)
    if sign:
        change_json(folder, sha256=hashlib.sha256(path.read_bytes()).hexdigest())


def spoil(name, value):
    return lambda folder: change_tensors(folder, lambda arrays: arrays.update({name: value}))


def nan_in_the_mean(arrays):
    arrays["mean"] = np.where(np.arange(12) == 3, np.nan, arrays["mean"])


def cut(name, share):
    def shorten(folder):
        path = folder / name
        path.write_bytes(path.read_bytes()[: int(len(path.read_bytes()) * share)])

    return shorten


def garbage(folder):
    data = b"\xff" * 100
    (folder / "repair.safetensors").write_bytes(data)
    change_json(folder, sha256=hashlib.sha256(data).hexdigest())


def deep(folder):
    (folder / "repair.json").write_text("[" * 100_000)


DAMAGE = {
    "no folder": (shutil.rmtree, "no repair.json"),
    "no json": (lambda f: (f / "repair.json").unlink(), "no repair.json"),
    "no numbers": (lambda f: (f / "repair.safetensors").unlink(), "no repair.safetensors"),
    "json cut": (cut("repair.json", 0.5), "not JSON"),
    "json empty": (cut("repair.json", 0), "not JSON"),
    "json of bytes": (lambda f: (f / "repair.json").write_bytes(b"\xff\xfe\x00"), "not JSON"),
    "json too deep": (deep, "not JSON"),
    "json a list": (lambda f: (f / "repair.json").write_text("[1]"), "kind"),
    "numbers cut": (cut("repair.safetensors", 0.9), "truncated or tampered"),
    "numbers changed": (lambda f: change_tensors(f, nan_in_the_mean, sign=False), "truncated or tampered"),
    "numbers garbage": (garbage, "not a whole .safetensors"),
    "newer": (lambda f: change_json(f, schema=2, uncone="9.0"), "newer uncone .9.0, schema 2; this one reads 1"),
    "schema of words": (lambda f: change_json(f, schema="one"), "schema"),
    "no kind": (lambda f: change_json(f, kind=None), "kind"),
    "dim of words": (lambda f: change_json(f, dim_in="12"), "dim_in"),
    "unknown kind": (lambda f: change_json(f, kind="os.system"), "no repair of kind 'os.system'"),
    "other kind": (lambda f: change_json(f, kind="center", parameters={}), "does not hold a whole repair"),
    "a chain of nothing": (lambda f: change_json(f, kind="chain", steps=[]), "at least one repair"),
    "a chain without steps": (lambda f: change_json(f, kind="chain"), "steps"),
    "unknown parameter": (lambda f: change_json(f, parameters={"command": "rm"}), "command"),
    "no parameters": (lambda f: change_json(f, parameters=None), "does not hold a whole repair"),
    "wrong dimension": (lambda f: change_json(f, dim_in=13), "not those of what repair.json describes"),
    "NaN": (lambda f: change_tensors(f, nan_in_the_mean), "mean holds NaN"),
    "infinite": (spoil("offset", np.full(4, np.inf)), "offset holds NaN or infinite"),
    "wrong shape": (spoil("mean", np.zeros(11)), "do not fit"),
    "wrong axes": (spoil("matrix", np.zeros((12, 4, 1))), "do not fit"),
    "wrong dtype": (spoil("mean", np.zeros(12, np.float32)), "do not fit"),
    "strange dtype": (spoil("mean", np.zeros(12, np.uint8)), "uint8"),
    "too many": (spoil("more", np.zeros(3)), "we got"),
    "too few": (lambda f: change_tensors(f, lambda arrays: arrays.pop("offset")), "we got"),
    "shrinkage of another shape": (spoil("shrinkage", np.zeros(2)), "do not fit"),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_one_line(folder, damage, message):
    damage(folder)
    with pytest.raises(DamagedRepairError, match=message) as error:
        load(folder)
    assert "\n" not in str(error.value)


def test_steps_of_two_chains_are_refused(cone):
    Chain([Whiten(dim=4), Normalize()]).fit(cone()).save("repair")
    change_tensors(Path("repair"), lambda arrays: arrays.update({"1.dim": np.array([5])}))
    with pytest.raises(DamagedRepairError, match="whiten gives 4 dimensions and normalize takes 5"):
        load("repair")
    change_tensors(Path("repair"), lambda arrays: arrays.update({"7.dim": np.array([5])}))
    with pytest.raises(DamagedRepairError, match=r"no array '7.dim'"):
        load("repair")


def test_an_older_repair_is_replaced_and_nothing_else_is(folder, cone):
    Center().fit(cone()).save(folder)
    assert load(folder).repair.kind == "center"
    Path("empty").mkdir()
    Center().fit(cone()).save("empty")
    (folder / "thesis.tex").write_text("years of work")
    with pytest.raises(OutputError, match=r"holds thesis.tex, which is not a repair"):
        Center().fit(cone()).save(folder)
    assert (folder / "thesis.tex").read_text() == "years of work"
    Path("file").write_text("a file")
    with pytest.raises(OutputError, match="is a file"):
        Center().fit(cone()).save("file")
    with pytest.raises(OutputError, match="no folder"):
        Center().fit(cone()).save("missing/repair")
    assert sorted(path.name for path in Path().iterdir()) == ["empty", "file", "repair"]


def test_a_failed_write_leaves_the_older_repair(folder, cone, monkeypatch):
    real = Path.rename

    def full(self, target):
        if self.parent.name.endswith(".part") and self.name != "old":
            raise OSError(28, "No space left on device")
        return real(self, target)

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(OutputError, match="No space left"):
        Center().fit(cone()).save(folder)
    assert load(folder).repair.kind == "whiten"
    assert [path.name for path in Path().iterdir()] == ["repair"]


def test_only_plain_values_are_saved(cone):
    with pytest.raises(OptionError, match=r"plain values.*not a object"):
        Center().fit(cone()).save("repair", encoder=object())
    with pytest.raises(OptionError, match="plain values"):
        Center().fit(cone()).save("repair", score=float("nan"))
    assert not Path("repair").exists()
