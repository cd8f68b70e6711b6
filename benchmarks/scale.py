"""How much one machine works on large files, as ratios of CPU time to plain numpy in the same run.

    make bench                                          the table of docs/benchmarks.md: some minutes, 15 GB of disk
    python -m benchmarks.scale --rows 200000 --only pass check apply    smaller, and a part of it

A ratio of CPU time (user and system, of all threads) says what the work costs; unlike seconds, it does not depend on
what else the machine does. Everything runs in processes of its own, in turns, and the best of each counts. One XᵀX
pass is numpy's, over the same rows in a .npy, with a BLAS thread for every core as numpy does it by default.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.check import make, measuring_pass, warm, yardstick
from benchmarks.page import put

MEASURES = ("pass", "check", "apply", "memory")
D_PASS, D_CHECK, D_MEMORY = 768, 384, 128
BLOCK = 8192
ROW_GROUP = 1 << 17


def to_parquet(path: Path) -> Path:
    """The rows of a .npy as lists of a fixed size, in row groups of 131,072."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = np.load(path, mmap_mode="r")
    schema = pa.schema([("vector", pa.list_(pa.float32(), rows.shape[1]))])
    out = path.with_suffix(".parquet")
    with pq.ParquetWriter(out, schema) as writer:
        for start in range(0, len(rows), ROW_GROUP):
            block = np.ascontiguousarray(rows[start : start + ROW_GROUP])
            lists = pa.FixedSizeListArray.from_arrays(pa.array(block.reshape(-1)), rows.shape[1])
            writer.write_batch(pa.record_batch([lists], schema=schema))
    return out


def product_pass(path: Path) -> None:
    """Read the rows, multiply them by a square matrix, and write them."""
    n, d = np.load(path, mmap_mode="r").shape
    matrix = np.random.default_rng(0).standard_normal((d, d), dtype=np.float32)
    rows, product = np.empty((BLOCK, d), np.float32), np.empty((BLOCK, d), np.float32)
    with path.open("rb", buffering=0) as source, path.with_suffix(".product").open("wb") as target:
        source.seek(128)
        for start in range(0, n, BLOCK):
            m = min(BLOCK, n - start)
            source.readinto(rows[:m].data.cast("B"))  # type: ignore[attr-defined]
            target.write(np.matmul(rows[:m], matrix, out=product[:m]).data.cast("B"))


WORK: dict[str, Callable[[Path], None]] = {"XᵀX": yardstick, "pass": measuring_pass, "product": product_pass}


def work_seconds(work: Callable[[Path], None], path: Path) -> float:
    """CPU seconds of all threads, after a run over a few rows in which modules are imported."""
    with tempfile.TemporaryDirectory() as folder:
        few = Path(folder) / "few.npy"
        make(few, 100, 8)
        work(few)
    start = time.process_time()
    work(path)
    return time.process_time() - start


class Costs:
    """The least CPU seconds and the most memory (MiB) of each piece of work, over several rounds."""

    def __init__(self, blas_threads: int) -> None:
        self.seconds: dict[str, float] = {}
        self.memory: dict[str, float] = {}
        limits = {name: str(blas_threads) for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS") if blas_threads}
        # Modules are compiled once, as in an installed package.
        compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": tempfile.gettempdir() + "/uncone-bench-pyc"}
        own = {
            name: value for name, value in os.environ.items() if name not in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        }
        self.environment = {**own, **limits, **compiled}

    def note(self, name: str, *words: str) -> None:
        """Run a command, and keep what it cost if that is less than before."""
        code = (
            "import resource, subprocess, sys\n"
            "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
            "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
            "print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)"
        )
        process = subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, text=True, env=self.environment
        )
        if process.returncode:
            raise SystemExit(f"{' '.join(words)}\n{process.stderr}")
        seconds, memory = map(float, process.stdout.split())
        self.seconds[name] = min(self.seconds.get(name, seconds), seconds)
        self.memory[name] = max(self.memory.get(name, memory), memory)

    def work(self, name: str, path: Path, key: str = "") -> None:
        """One of `WORK` in a process of its own, without what Python and imports cost."""
        words = [sys.executable, "-m", "benchmarks.scale", "--work", name, "--path", str(path)]
        seconds = float(subprocess.run(words, capture_output=True, check=True, env=self.environment).stdout)
        self.seconds[key or name] = min(self.seconds.get(key or name, seconds), seconds)

    def command(self, name: str, *words: str) -> None:
        """An uncone command, with all that it costs."""
        self.note(name, sys.executable, "-m", "uncone", *words)

    def ratio(self, name: str, base: str) -> float:
        return self.seconds[name] / self.seconds[base]


def pass_rows(costs: Costs, folder: Path, n: int, rounds: int) -> list[tuple[str, str]]:
    path = folder / "pass.npy"
    make(path, n, D_PASS)
    warm(path)
    for _ in range(rounds):
        costs.work("XᵀX", path, "XᵀX of pass")
        costs.work("pass", path)
    path.unlink()
    what = f"measuring pass over {n:,} x {D_PASS}, to one XᵀX pass ({costs.seconds['XᵀX of pass']:.2f} s)"
    return [(what, f"{costs.ratio('pass', 'XᵀX of pass'):.2f} | at most 1.3")]


def check_rows(costs: Costs, folder: Path, n: int, rounds: int) -> list[tuple[str, str]]:
    path = folder / "check.npy"
    make(path, n, D_CHECK)
    parquet = to_parquet(path)
    for _ in range(rounds):
        warm(path)
        costs.work("XᵀX", path, "XᵀX of check")
        costs.command("check .npy", "check", str(path))
        warm(parquet)
        costs.command("check .parquet", "check", str(parquet))
    path.unlink()
    parquet.unlink()
    base = f"to one XᵀX pass over the .npy ({costs.seconds['XᵀX of check']:.2f} s)"
    return [
        (
            f"`uncone check` of {n:,} x {D_CHECK}{suffix}, {base}",
            f"{costs.ratio(f'check {suffix}', 'XᵀX of check'):.2f} | at most {bound}",
        )
        for suffix, bound in ((".npy", 1.5), (".parquet", 2.1))
    ]


def apply_rows(costs: Costs, folder: Path, n: int, rounds: int) -> list[tuple[str, str]]:
    path, few, out = folder / "apply.npy", folder / "few.npy", folder / "out.npy"
    make(path, n, D_CHECK)
    np.save(few, np.load(path, mmap_mode="r")[: min(n, 50_000)])
    methods = ("whiten", "clustered")
    for method in methods:
        costs.command("fit", "fix", str(few), "--method", method, "--save", str(folder / method))
    for _ in range(rounds):
        warm(path)
        costs.work("product", path)
        for method in methods:
            costs.command(f"apply {method}", "apply", str(folder / method), str(path), "-o", str(out))
    base = f"to reading, one product and writing ({costs.seconds['product']:.2f} s)"
    for leftover in (path, out, path.with_suffix(".product")):
        leftover.unlink()
    return [
        (
            f"`uncone apply` of {method} to {n:,} x {D_CHECK}, {base}",
            f"{costs.ratio(f'apply {method}', 'product'):.2f} | at most 1.5",
        )
        for method in methods
    ]


def memory_rows(costs: Costs, folder: Path, n: int, rounds: int) -> list[tuple[str, str]]:
    path = folder / "memory.npy"
    peaks: dict[str, list[str]] = {".npy": [], ".parquet": []}
    sizes = (n // 10, n // 3, n)
    for rows in sizes:
        make(path, rows, D_MEMORY)
        for file in (path, to_parquet(path)):
            costs.command(f"{rows} {file.suffix}", "check", str(file))
            peaks[file.suffix].append(f"{costs.memory[f'{rows} {file.suffix}']:.0f}")
            file.unlink()
    listed = ", ".join(f"{rows:,}" for rows in sizes)
    return [
        (f"peak MiB of `uncone check` at {listed} x {D_MEMORY}, {suffix}", f"{', '.join(values)} | at most 500")
        for suffix, values in peaks.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, help="rows of everything; by default those of the table")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=MEASURES, default=MEASURES)
    parser.add_argument("--blas-threads", type=int, default=0, help="threads of BLAS in the baselines; 0: all cores")
    parser.add_argument("--folder", type=Path, help="where the files are made")
    parser.add_argument("--work", choices=WORK, help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        print(work_seconds(WORK[arguments.work], arguments.path))
        return
    costs, results = Costs(arguments.blas_threads), []
    defaults = {"pass": 400_000, "check": 2_000_000, "apply": 2_000_000, "memory": 10_000_000}
    parts = {"pass": pass_rows, "check": check_rows, "apply": apply_rows, "memory": memory_rows}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for name in arguments.only:
            rows = arguments.rows or defaults[name]
            results += parts[name](costs, Path(folder), rows, arguments.rounds)
    text = "\n".join(
        [
            f"CPU time on {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}, numpy "
            f"{np.__version__}; BLAS of the baselines on {arguments.blas_threads or 'all'} core(s).",
            "",
            "| what | result | bound |",
            "|---|---|---|",
            *(f"| {what} | {result} |" for what, result in results),
        ]
    )
    print(text)
    if not arguments.rows and tuple(arguments.only) == MEASURES:
        put(text, "bench scale")


if __name__ == "__main__":
    main()
