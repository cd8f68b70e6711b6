"""A folder of vectors: a file for every part of a source, each whole or absent, and a manifest that tells when all are.

While the folder is being written, every file that is done has a record. Whoever goes on with an interrupted run, or
with the work of a worker that died, skips what has a record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from uncone import __version__
from uncone.data.source import Source
from uncone.data.storage.files import MANIFEST, read_manifest
from uncone.data.storage.path import ObjectPath
from uncone.data.texts.texts import ManyTexts, TextSlice, TextSource
from uncone.data.vectors.shards import NamedRows, Shards, Slice
from uncone.data.writing.atomic import check_output_folder, read_json, write_json, writing
from uncone.data.writing.rewrite import OUTPUTS
from uncone.data.writing.side_columns import SideColumns, file_columns, files_of
from uncone.errors import OutputError

__all__ = ["OutputFolder", "Part", "parts_to_write"]

_RECORDS = "_uncone"
_SCHEMA = 1
_ROWS = 1 << 20
"""Vectors in a file, where the source is a single one."""
_TEXTS = 1 << 14
"""Texts in a file: at most so many are encoded again after an interruption."""
_STEM = "part"
"""The name of files that are made of no file, before their number."""


@dataclass(frozen=True)
class Part:
    """Rows of a source for a file of their own, `name`; the columns beside them, if files hold any."""

    source: Source
    name: str
    columns: SideColumns | None = None
    rows: int | None = None


def parts_to_write(source: Source) -> list[Part]:
    """A part for every file of a source, and several for a large one.

    Files of vectors keep their names, and their kind if we write it. Texts become Parquet.
    """
    encoded: Any = getattr(source, "source", source)  # without a cache, whose digits depend on what was encoded before
    texts = getattr(encoded, "texts", None)
    return _of_texts(encoded, texts) if isinstance(texts, TextSource) else _of_vectors(source)


def _of_texts(encoded: Any, texts: TextSource) -> list[Part]:  # noqa: ANN401 - texts through a model
    columns = file_columns(encoded)
    if columns is not None:
        columns.fields()  # of all files, once: it may take to read them, and each part would read its own
    files = list(texts.parts) if isinstance(texts, ManyTexts) else [texts]
    remaining, parts = encoded.limit, []
    for place, (file, stem) in enumerate(zip(files, _stems([file.files for file in files]), strict=True)):
        n_texts = sum(1 for _ in islice(file.read(), remaining))
        remaining = None if remaining is None else remaining - n_texts
        for name, start, stop in _cut(stem, n_texts, _TEXTS):
            beside = columns and columns.part(place, start)
            parts.append(Part(encoded.over(TextSlice(file, start, stop)), f"{name}.parquet", beside, stop - start))
    return parts


def _of_vectors(source: Source) -> list[Part]:
    columns = file_columns(source)
    shards = _shards(source)
    if shards:
        files = [files_of(shard)[:1] for shard in shards]
        names = [f"{stem}{_ending(paths)}" for stem, paths in zip(_stems(files), files, strict=True)]
        return [
            Part(shard, name, columns and columns.part(place, 0), shard.rows)
            for place, (shard, name) in enumerate(zip(shards, names, strict=True))
        ]
    files_read, n_rows = files_of(source), source.rows or 0
    (stem,), ending = _stems([files_read]), _ending(files_read)
    if n_rows <= _ROWS or not (source.random_access or source.divisible):
        ((name, _, _),) = _cut(stem, 1, 1)
        return [Part(source, f"{name}{ending}", columns, source.rows)]
    return [
        Part(Slice(source, start, stop), f"{name}{ending}", columns and columns.part(None, start), stop - start)
        for name, start, stop in _cut(stem, n_rows, _ROWS)
    ]


def _cut(stem: str, n_rows: int, size: int) -> list[tuple[str, int, int]]:
    """Parts of so many rows, each with a name: that of the file if there is one part, else with a number.

    >>> _cut("new", 5, 9), _cut("new", 5, 4)
    ([('new', 0, 5)], [('new-00000', 0, 4), ('new-00001', 4, 5)])
    """
    starts = range(0, n_rows, size)
    names = [stem] if len(starts) == 1 and stem != _STEM else [f"{stem}-{number:05}" for number in range(len(starts))]
    return [(name, start, min(start + size, n_rows)) for name, start in zip(names, starts, strict=True)]


def _shards(source: Source) -> list[Source]:
    """The files of a folder, each with its own names; none if the source is a single file, or can't be cut."""
    inner = source.source if isinstance(source, NamedRows) else source
    if not isinstance(inner, Shards) or inner is source:
        return list(inner.parts) if isinstance(inner, Shards) else []
    assert isinstance(source, NamedRows)
    shards, first = [], 0
    for shard in inner.parts if inner.rows is not None else ():
        last = first + (shard.rows or 0)
        lists = (names and names[first:last] for names in (source.texts, source.labels))
        shards.append(NamedRows.of(shard, *lists))
        first = last
    return shards


def _stems(files: Sequence[Sequence[Path]]) -> list[str]:
    """The names of files without endings; numbered if two would be the same."""
    stems = [paths[0].name.removesuffix(".gz").removesuffix(".zst") if paths else _STEM for paths in files]
    stems = [stem.removesuffix(Path(stem).suffix) for stem in stems]
    if max(Counter(stems).values()) == 1:
        return stems
    return [f"part-{number:05}" for number in range(len(stems))]


def _ending(files: Sequence[Path]) -> str:
    """The ending of a file that is made of these."""
    ending = Path(files[0].name.removesuffix(".gz").removesuffix(".zst")).suffix.lower() if len(files) == 1 else ""
    return ending if ending in OUTPUTS else ".parquet"


@dataclass(frozen=True)
class OutputFolder:
    """A folder that is being written by a run of this `identity`: everything that its bytes depend on."""

    path: Path
    identity: str

    def begin(self) -> Mapping[str, Any] | None:
        """Start or go on; the manifest if the folder is complete already.

        Raises:
            OutputError: it holds something else, or cannot be written.
        """
        manifest = read_manifest(self.path)
        if manifest is None:
            check_output_folder(self.path)
            with writing(self.path):
                (self.path / _RECORDS).mkdir(parents=True, exist_ok=True)
            self._write_manifest({"complete": False})
            return None
        if manifest.get("identity") != self.identity:
            state = "vectors" if manifest.get("complete") else "the unfinished output"
            raise OutputError(
                f"The folder {self.path} holds {state} of another command or of other files, which are kept. "
                "Name a new folder."
            )
        return manifest if manifest.get("complete") else None

    def check(self) -> None:
        """Refuse to write where the folder can't be seen.

        Raises:
            OutputError: this machine doesn't see it, or it is no longer ours.
        """
        manifest = read_manifest(self.path)
        if manifest is None or manifest.get("identity") != self.identity:
            raise OutputError(f"A worker doesn't see the folder {self.path}. Name a folder that all machines share.")

    def record(self, name: str) -> dict[str, Any] | None:
        """What was noted of a file that is done."""
        path = self.path / _RECORDS / f"{name}.json"
        try:
            values: dict[str, Any] = read_json(path)
        except FileNotFoundError:
            return None
        return values

    def note(self, name: str, values: Mapping[str, Any]) -> None:
        """Note that a file is done."""
        write_json(self.path / _RECORDS / f"{name}.json", values)

    def finish(self, values: Mapping[str, Any], files: Sequence[Mapping[str, Any]]) -> None:
        """Say that the folder is complete.

        Raises:
            OutputError: a file that a worker wrote can't be seen here.
        """
        for file in files:
            path = self.path / file["name"]
            if not path.is_file() or path.stat().st_size != file["bytes"]:
                raise OutputError(
                    f"{path} was written by a worker, but isn't there. Name a folder that all machines share."
                )
        self._write_manifest({"complete": True, **values, "files": list(files)})
        with writing(self.path):
            for record in (self.path / _RECORDS).iterdir():
                record.unlink()
            (self.path / _RECORDS).rmdir()
            if not isinstance(self.path, ObjectPath):
                for file in files:  # what a killed worker left
                    for rest in self.path.glob(f".{file['name']}.*.part"):
                        rest.unlink()

    def _write_manifest(self, values: Mapping[str, Any]) -> None:
        head = {"schema": _SCHEMA, "uncone": __version__, "identity": self.identity}
        write_json(self.path / MANIFEST, {**head, **values})
