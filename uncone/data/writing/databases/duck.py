"""DuckDB: a new table of a file, written in one transaction once the last row is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from uncone.data.vectors.databases.duck import connection_to, quoted
from uncone.data.writing.atomic import check_output
from uncone.data.writing.databases.spool import SpooledTarget
from uncone.data.writing.databases.target import refuse_existing
from uncone.errors import OptionError, OutputError

__all__ = ["DuckTarget"]


class DuckTarget(SpooledTarget):
    """A table of a DuckDB file; the file is made if there is none."""

    package = extra = "duckdb"

    @property
    def folder(self) -> Path:
        return Path(self.url.path).resolve().parent

    def check(self) -> None:
        self.url.check("table", "column")
        table = self.url.required("table")
        if not self.url.path:
            raise OptionError(f"-o {self.name} names no file. Write duckdb://fixed.db?table={table}.")
        check_output(Path(self.url.path))
        if Path(self.url.path).exists():
            with connection_to(self.url) as connection:
                refuse_existing(self.name, self._exists(connection, table))

    @staticmethod
    def _exists(connection: Any, table: str) -> bool:  # noqa: ANN401 - of duckdb
        schema, _, name = table.rpartition(".")
        query = "SELECT count(*) FROM information_schema.tables WHERE table_schema = ? AND table_name = ?"
        row = connection.execute(query, [schema or "main", name]).fetchone()
        return bool(row[0])

    def load(self, rows: pa.RecordBatchReader) -> None:
        table = ".".join(quoted(part) for part in self.url.values["table"].split("."))
        had_file = Path(self.url.path).exists()
        try:
            with connection_to(self.url, OutputError) as connection:
                connection.register("rows", rows)
                connection.execute(f"CREATE TABLE {table} AS SELECT * FROM rows")
        except BaseException:
            if not had_file:
                Path(self.url.path).unlink(missing_ok=True)
            raise
