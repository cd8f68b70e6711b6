"""How much one machine works on large files, as ratios of CPU time to plain numpy in the same run.

    make bench                                          the table of docs/benchmarks.md: some minutes, 15 GB of disk
    python -m benchmarks.scale --rows 200000 --only pass check apply    smaller, and a part of it

A ratio of CPU time (user and system, of all threads) says what the work costs; unlike seconds, it hardly depends on
what else the machine does. Everything runs in processes of its own, in turns, and the best of each counts: all of a
process, with the start of Python and imports on both sides. The bounds of `check` are those of plain XᵀX in one loop,
with the threads of numpy's default: on an idle machine only, because elsewhere those threads burn time.

One XᵀX pass is what one would write by hand: a thread for every core, as `check` has, reads blocks of 8,192 rows of the
same file (a .npy through a memory map, Parquet through pyarrow, each thread its own row groups) and adds up their
products in float32. Each thread has one BLAS thread, because those of numpy's default burn time while they wait for
each other, up to six times as much on a busy machine: a baseline that it would be easy to beat.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

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


def on_all_cores(work: Callable[[int, int], None]) -> None:
    """Run `work` in a thread for every core, told its number and how many there are."""
    n = len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(n) as threads:
        list(threads.map(work, range(n), [n] * n))


def products_pass(path: Path) -> None:
    """One XᵀX pass over a .npy or a Parquet file."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        def add(number: int, threads: int) -> None:
            file = pq.ParquetFile(path)
            total: Any = 0
            for group in range(number, file.num_row_groups, threads):
                for batch in file.iter_batches(BLOCK, row_groups=[group]):
                    block = batch.column(0).flatten().to_numpy().reshape(batch.num_rows, -1)
                    total = total + block.T @ block
    else:
        rows = np.load(path, mmap_mode="r")

        def add(number: int, threads: int) -> None:
            total: Any = 0
            for start in range(number * BLOCK, len(rows), threads * BLOCK):
                block = rows[start : start + BLOCK]
                total = total + block.T @ block

    on_all_cores(add)


def rewriting_pass(path: Path) -> None:
    """Read the rows, multiply them by a square matrix, and write them."""
    n, d = np.load(path, mmap_mode="r").shape
    matrix = np.random.default_rng(0).standard_normal((d, d), dtype=np.float32)
    with path.open("rb", buffering=0) as source, path.with_suffix(".product").open("wb", buffering=0) as target:

        def multiply(number: int, threads: int) -> None:
            rows, product = np.empty((BLOCK, d), np.float32), np.empty((BLOCK, d), np.float32)
            for start in range(number * BLOCK, n, threads * BLOCK):
                m, place = min(BLOCK, n - start), 4 * d * start
                os.preadv(source.fileno(), [rows[:m].data.cast("B")], 128 + place)
                np.matmul(rows[:m], matrix, out=product[:m])
                os.pwrite(target.fileno(), product[:m].data.cast("B"), place)

        on_all_cores(multiply)


WORK: dict[str, Callable[[Path], None]] = {
    "products": products_pass,
    "numpy": yardstick,
    "pass": measuring_pass,
    "rewriting": rewriting_pass,
}


class Costs:
    """The least CPU seconds and the most memory (MiB) of each piece of work, over several rounds."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.memory: dict[str, float] = {}
        # Modules are compiled once, as in an installed package.
        compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": tempfile.gettempdir() + "/uncone-bench-pyc"}
        own = {
            name: value for name, value in os.environ.items() if name not in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        }
        self.environment = {**own, **compiled}

    def note(self, name: str, *words: str, **environment: str) -> None:
        """Run a command, and keep what it cost if that is less than before."""
        code = (
            "import resource, subprocess, sys\n"
            "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
            "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
            "print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)"
        )
        process = subprocess.run(
            [sys.executable, "-c", code, *words],
            capture_output=True,
            text=True,
            env={**self.environment, **environment},
        )
        if process.returncode:
            raise SystemExit(f"{' '.join(words)}\n{process.stderr}")
        seconds, memory = map(float, process.stdout.split())
        self.seconds[name] = min(self.seconds.get(name, seconds), seconds)
        self.memory[name] = max(self.memory.get(name, memory), memory)

    def work(self, name: str, work: str, path: Path) -> None:
        """One of `WORK`; what multiplies in threads of its own has one BLAS thread in each."""
        words = [sys.executable, "-m", "benchmarks.scale", "--work", work, "--path", str(path)]
        one = {} if work in ("numpy", "pass") else {"OPENBLAS_NUM_THREADS": "1"}
        self.note(name, *words, **one)

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
        costs.work("XᵀX of pass", "products", path)
        costs.work("pass", "pass", path)
    path.unlink()
    what = f"measuring pass over {n:,} x {D_PASS}, to one XᵀX pass ({costs.seconds['XᵀX of pass']:.2f} s)"
    return [(what, f"{costs.ratio('pass', 'XᵀX of pass'):.2f} | at most 1.3")]


def check_rows(costs: Costs, folder: Path, n: int, rounds: int) -> list[tuple[str, str]]:
    path = folder / "check.npy"
    make(path, n, D_CHECK)
    parquet = to_parquet(path)
    for _ in range(rounds):
        warm(path)
        costs.work("XᵀX of .npy", "products", path)
        costs.work("XᵀX by default", "numpy", path)
        costs.command("check .npy", "check", str(path))
        warm(parquet)
        costs.work("XᵀX of .parquet", "products", parquet)
        costs.command("check .parquet", "check", str(parquet))
    path.unlink()
    parquet.unlink()
    rows = [
        (
            f"`uncone check` of {n:,} x {D_CHECK}, {suffix} ({costs.seconds[f'check {suffix}']:.2f} s), to {what}",
            f"{costs.ratio(f'check {suffix}', base):.2f} | {bound}",
        )
        for base, what in (
            ("XᵀX by default", "XᵀX of the .npy in one loop, with numpy's default threads"),
            ("XᵀX of .npy", "one XᵀX pass over the .npy"),
        )
        for suffix, bound in (
            (".npy", "at most 1.5" if base == "XᵀX by default" else ""),
            (".parquet", "at most 2.1" if base == "XᵀX by default" else ""),
        )
    ]
    own = f"{costs.ratio('check .parquet', 'XᵀX of .parquet'):.2f} | "
    seconds = ", ".join(f"{costs.seconds[name]:.2f}" for name in ("XᵀX by default", "XᵀX of .npy"))
    return [
        *rows,
        ("`uncone check` of the .parquet, to one XᵀX pass over the .parquet", own),
        ("the two passes over the .npy, in seconds", f"{seconds} | "),
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
        costs.work("product", "rewriting", path)
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
    parser.add_argument("--folder", type=Path, help="where the files are made")
    parser.add_argument("--work", choices=WORK, help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        WORK[arguments.work](arguments.path)
        return
    costs, results = Costs(), []
    defaults = {"pass": 400_000, "check": 2_000_000, "apply": 2_000_000, "memory": 10_000_000}
    parts = {"pass": pass_rows, "check": check_rows, "apply": apply_rows, "memory": memory_rows}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for name in arguments.only:
            rows = arguments.rows or defaults[name]
            results += parts[name](costs, Path(folder), rows, arguments.rounds)
    text = "\n".join(
        [
            f"CPU time on {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}, numpy "
            f"{np.__version__}.",
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
