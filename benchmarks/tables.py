"""How fast the texts of a CSV are read, against pyarrow's own reader in the same run.

    python -m benchmarks.tables                     1 million texts
    python -m benchmarks.tables --rows 10000        smaller

The yardstick is `pyarrow.csv.open_csv` with the column of texts as Python strings. Ours also checks quotes, line ends
and NUL bytes and knows the line of every row. Both are measured in CPU seconds; the best of several rounds counts.
"""

from __future__ import annotations

import argparse
import csv
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv

from uncone.data.tables.read import open_table
from uncone.data.texts.texts import open_texts

BOUND = 1.5


def make(path: Path, rows: int) -> None:
    """Texts of twelve words; some hold commas or quotes."""
    words = ["alpha", "beta", "gamma", "and", "the", "of", "in", "well", "said", "made", "between", "again", "or,"]
    draw = random.Random(0)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "label"])
        for row in range(rows):
            text = " ".join(draw.choices(words, k=12))
            writer.writerow([row, text + (' "so"' if row % 20 == 0 else ""), row % 7])


def with_pyarrow(path: Path) -> None:
    """The yardstick."""
    convert = arrow_csv.ConvertOptions(include_columns=["text"], column_types={"text": pa.string()})
    parse = arrow_csv.ParseOptions(newlines_in_values=True)
    with arrow_csv.open_csv(path, arrow_csv.ReadOptions(use_threads=False), parse, convert) as reader:
        for batch in reader:
            batch.column(0).to_pylist()


def as_columns(path: Path) -> None:
    """The table reader: columns of strings."""
    for block in open_table(path).blocks(["text"]):
        block.values("text")


def as_texts(path: Path) -> None:
    """The source of texts: one numbered text after the other."""
    for _ in open_texts(path, text="text").read():
        pass


def seconds(path: Path, rounds: int) -> dict[str, float]:
    """CPU seconds of the best round of every reader; they take turns, so that none runs on a warmer machine."""
    best = dict.fromkeys(READERS, float("inf"))
    for _ in range(rounds):
        for name, read in READERS.items():
            start = time.process_time()
            read(path)
            best[name] = min(best[name], time.process_time() - start)
    return best


READERS: dict[str, Callable[[Path], None]] = {
    "pyarrow": with_pyarrow,
    "columns": as_columns,
    "texts, one by one": as_texts,
}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.csv"
        make(path, arguments.rows)
        times = seconds(path, arguments.rounds)
        print(f"{arguments.rows:,} texts, {path.stat().st_size >> 20} MB; bound {BOUND} for columns\n")
        print("| reader | CPU seconds | ratio |\n|---|---|---|")
        for name, own in times.items():
            print(f"| {name} | {own:.3f} | {own / times['pyarrow']:.2f} |")


if __name__ == "__main__":
    main()
