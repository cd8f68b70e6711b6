"""The package as others get it: built, installed without extras where nothing else is, and used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


def ran(*command, **options):
    process = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def environment(folder, *packages):
    """A fresh virtual environment with these packages, and what they need."""
    ran(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    ran(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-c", ROOT / "constraints.txt", *packages)
    return python


@pytest.mark.exhaustive
def test_the_built_package_works_alone(tmp_path, cone):
    builder = environment(tmp_path / "builder", "hatchling")
    ran(builder, "-m", "hatchling", "build", "-d", tmp_path / "dist", cwd=ROOT)
    (source,), (wheel,) = (list((tmp_path / "dist").glob(ending)) for ending in ("*.tar.gz", "*.whl"))
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        archive.extractall(tmp_path / "unpacked", filter="data")
    assert {"README.md", "LICENSE", "constraints.txt", "tests/conftest.py", "docs/layers.md"} <= names

    # What is built from the archive of sources is what is built from the checkout.
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    ran(builder, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "again", cwd=unpacked)
    (again,) = (tmp_path / "again").glob("*.whl")
    files = [{member.filename: member.CRC for member in zipfile.ZipFile(path).infolist()} for path in (wheel, again)]
    assert files[0] == files[1]
    package = {str(path.relative_to(ROOT)) for path in (ROOT / "uncone").rglob("*") if path.suffix not in (".pyc", "")}
    assert package <= set(files[0]), "every file of the package, templates too"

    # Where there is nothing else: neither this checkout, nor torch, nor matplotlib.
    python = environment(tmp_path / "alone", again)
    np.save("v.npy", cone(500, 16))
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "UNCONE"))}
    outputs = ["--json", "a.json", "--markdown", "a.md"]
    output = ran(python.parent / "uncone", "check", "v.npy", "--score", "0.75", *outputs, env=bare)
    assert "500 x 16" in output and Path("uncone-report.html").stat().st_size > 100_000
    assert json.loads(Path("a.json").read_text())["source"]["rows"] == 500
    where = ran(python, "-c", "import uncone; print(uncone.__file__)", env=bare)
    assert where.startswith(str(tmp_path / "alone"))
    process = subprocess.run(
        [python.parent / "uncone", "layers", "model", "--corpus", "v.npy"], capture_output=True, text=True, env=bare
    )
    assert process.returncode == 2 and process.stderr.count("\n") == 1 and "Traceback" not in process.stderr


PEAK = """
import re, sys
from uncone.cli.main import _run
assert _run(sys.argv[1:]) == 0
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak")
@pytest.mark.parametrize(
    ("rows", "times"), [(60_000, 3), pytest.param(100_000, 6, marks=pytest.mark.exhaustive)], ids=["small", "large"]
)
def test_the_peak_memory_of_check_does_not_grow_with_the_rows(rows, times, tmp_path):
    """The rows are streamed, and a sample of 50,000 is held: several times as many take next to no more."""
    peaks = []
    for n in (rows, times * rows):
        table = np.lib.format.open_memmap(tmp_path / "v.npy", "w+", np.float32, (n, 256))
        rng = np.random.default_rng(0)
        for start in range(0, n, 10_000):
            table[start : start + 10_000] = rng.standard_normal((10_000, 256), dtype=np.float32) + 0.5
        table.flush()
        del table
        output = ran(sys.executable, "-c", PEAK, "check", "v.npy", "--no-html")
        peaks.append(int(output.split()[-1]) / 1024)
    assert max(peaks) < 512, peaks
    assert peaks[1] - peaks[0] < 32, f"{peaks}: the file grew by {(times - 1) * rows * 1024 >> 20} MiB"
