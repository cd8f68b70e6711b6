"""LanceDB: a new table, written beside the others and renamed when it is whole."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from uncone.data.writing.atomic import check_output
from uncone.data.writing.databases.spool import SpooledTarget
from uncone.data.writing.databases.target import refuse_existing
from uncone.errors import OutputError

__all__ = ["LanceTarget"]


class LanceTarget(SpooledTarget):
    """A table of a LanceDB folder; the folder is made if there is none."""

    package = extra = "lancedb"

    @property
    def folder(self) -> Path:
        return Path(self.url.path).resolve().parent

    def check(self) -> None:
        self.url.check("table", "column")
        self.url.required("table")
        place = Path(self.url.path)
        if place.exists() and not place.is_dir():
            raise OutputError(f"{place} is a file, not a LanceDB folder. Name another.")
        check_output(self.folder / f".{place.name}")
        refuse_existing(self.name, self._table.exists())

    @property
    def _table(self) -> Path:
        return Path(self.url.path) / f"{self.url.values['table']}.lance"

    def load(self, rows: pa.RecordBatchReader) -> None:
        import lancedb

        with TemporaryDirectory(prefix=".uncone-", dir=self.folder) as room:
            try:
                lancedb.connect(room).create_table(self.url.values["table"], rows)
            except (ValueError, RuntimeError) as error:
                raise OutputError(f"{self.name} can't be written: {str(error).splitlines()[0]}") from error
            Path(self.url.path).mkdir(exist_ok=True)
            (Path(room) / self._table.name).rename(self._table)
