"""How fast `uncone check` is, against one plain X'X pass over the same file in the same run.

    make bench                                    the table of docs/benchmarks.md: 400,000 x 768, in a few minutes
    python -m benchmarks.check --rows 50000       smaller

Machines differ and are noisy, so everything is a ratio to the yardstick, and the best of several rounds is taken.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

D = 768
BLOCK = 8192


def make(path: Path, n: int, d: int = D) -> None:
    """Rows around a common mean, with a falling spectrum."""
    rng = np.random.default_rng(0)
    rows = np.lib.format.open_memmap(path, "w+", np.float32, (n, d))
    mean = 1.2 * rng.standard_normal(d, dtype=np.float32)
    spread = (10 * np.arange(1, d + 1) ** -0.5).astype(np.float32)
    for start in range(0, n, 20_000):
        block = rows[start : start + 20_000]
        block[:] = rng.standard_normal(block.shape, dtype=np.float32) * spread + mean
    rows.flush()


def warm(path: Path) -> None:
    """Read the file, so that each measurement finds it in the page cache and none pays for the disk."""
    with path.open("rb", buffering=0) as file:
        while file.read(1 << 24):
            pass


def yardstick(path: Path) -> None:
    """One plain float32 X'X pass: numpy turns b.T @ b of one buffer into SYRK, on all cores."""
    rows = np.load(path, mmap_mode="r")
    total = np.zeros((rows.shape[1], rows.shape[1]), np.float32)
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        total += block.T @ block


def measuring_pass(path: Path) -> None:
    """The pass over the rows alone, without findings and report."""
    from uncone.analysis.space.space import measure_space
    from uncone.data.open import open_source
    from uncone.run.measure import Plan

    measure_space(open_source(path), Plan())


def command(path: Path, *options: str) -> tuple[float, float]:
    """Seconds and peak memory in MiB of the whole command, report included."""
    code = (
        "import resource, subprocess, sys, time\n"
        "start = time.perf_counter()\n"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
        "print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
    )
    words = [sys.executable, "-m", "uncone", "check", str(path), "--html", str(path.with_suffix(".html")), *options]
    process = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    seconds, memory = process.stdout.split()
    return float(seconds), float(memory)


def timed(function: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def help_seconds() -> float:
    words = [sys.executable, "-m", "uncone", "--help"]
    return timed(lambda: subprocess.run(words, check=True, stdout=subprocess.DEVNULL))


def measure_all(folder: Path, n: int, rounds: int) -> dict[str, float]:
    best: dict[str, float] = {}

    def note(name: str, value: float) -> None:
        best[name] = min(best.get(name, value), value)

    path = folder / "x.npy"
    make(path, n)
    variants = {"check": [], "exact": ["--exact"], "float64": ["--float64"]}
    for _ in range(rounds):
        note("help", help_seconds())
        for name, function in {"yardstick": yardstick, "pass": measuring_pass}.items():
            warm(path)
            note(name, timed(lambda function=function: function(path)))  # type: ignore[misc]
        for name, options in variants.items():
            warm(path)
            seconds, memory = command(path, *options)
            note(name, seconds)
            if name == "check":
                note("memory", memory)
    best["same seconds"], best["same memory"] = best["check"], best["memory"]
    for name, rows in {"quarter": n // 4, "double": 2 * n}.items():
        make(path, rows)
        for _ in range(rounds):
            warm(path)
            seconds, memory = command(path)
            note(f"{name} seconds", seconds)
            note(f"{name} memory", memory)
    return best


def table(best: dict[str, float], n: int) -> str:
    unit = best["yardstick"]

    def ratio(name: str, bound: str) -> str:
        return f"{best[name] / unit:.2f} | {bound}"

    whole = (best["check"] - 1.0) / unit
    rows = [
        f"| the measuring pass | {ratio('pass', '1.5')} |",
        f"| `uncone check`, report included | {ratio('check', '2 and one second')} |",
        f"| `uncone check --exact` | {ratio('exact', '5')} |",
        f"| `uncone check --float64` | {ratio('float64', '')} |",
    ]
    sizes = ("quarter", "same", "double")
    memory = ", ".join(f"{best[f'{name} memory']:.0f}" for name in sizes)
    seconds = ", ".join(f"{best[f'{name} seconds']:.1f}" for name in sizes)
    return "\n".join(
        [
            f"One XᵀX pass over {n:,} x {D} float32 (the yardstick): {unit:.2f} s on {os.cpu_count()} cores, "
            f"Python {platform.python_version()}, numpy {np.__version__}.",
            "",
            "| what | times the yardstick | bound |",
            "|---|---|---|",
            *rows,
            "",
            f"Without its fixed second the whole command is {whole:.2f} yardsticks. At {n // 4:,}, {n:,} and "
            f"{2 * n:,} rows it takes {seconds} s and {memory} MiB. `uncone --help`: {best['help']:.2f} s.",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        best = measure_all(Path(folder), arguments.rows, arguments.rounds)
    print(table(best, arguments.rows))
    if arguments.json:
        arguments.json.write_text(json.dumps(best, indent=2))


if __name__ == "__main__":
    main()
