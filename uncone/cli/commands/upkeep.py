"""Commands around the others: the schema of results, and the cache of encoded texts."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from uncone.cli.output import rendered, say
from uncone.data.storage.path import path_of
from uncone.errors import OptionError
from uncone.verbs.options.option import Options, option

if TYPE_CHECKING:
    from rich.console import Console

    from uncone.data.cache import Entry, VectorCache

__all__ = ["CacheOptions", "SchemaOptions", "cache", "schema"]


@dataclass(frozen=True, kw_only=True)
class SchemaOptions(Options):
    """The options of `schema`."""

    GROUP = "Schema"

    verb: str | None = option(None, "Only the results of this verb.", default_text="all verbs")


def schema(
    action: Annotated[
        str | None, Parameter(help="check validates files; without an action, the schema is printed.")
    ] = None,
    /,
    *files: Annotated[str, Parameter(help="JSON files written by --json, or - for standard input.")],
    options: SchemaOptions,
) -> int:
    """Print.

    `uncone schema check result.json` confirms in one line that a file is a valid result, or says what is wrong with it
    (exit code 2).

    Example: uncone schema --verb check
    """
    from uncone.verbs.schema import schema as schemas

    if action is None:
        say(json.dumps(schemas.schema(options.verb), indent=1, ensure_ascii=False) + "\n")
        return 0
    if action != "check" or not files:
        raise OptionError("Write uncone schema check FILE to validate a file, or uncone schema to print the schema.")
    for file in files:
        verb = schemas.validate(_read(file), file, options.verb)
        say(f"{file} is a valid result of uncone {verb} (schema {schemas.VERSION}).\n")
    return 0


def _read(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else path_of(file).read_bytes()
    except OSError as error:
        raise OptionError(f"{file} cannot be read: {error.strerror}.") from error


@dataclass(frozen=True, kw_only=True)
class CacheOptions(Options):
    """The options of `cache`."""

    GROUP = "Cache"

    clear: bool = option(False, "Remove the cached vectors.")
    model: str | None = option(None, "Remove only the vectors of this model.", needs="clear")
    json: bool = option(False, "Print JSON.")


def cache(*, options: CacheOptions) -> int:
    """List.

    The cache is in $UNCONE_CACHE (default: the user's cache) and holds at most $UNCONE_CACHE_SIZE (default: 5GB).

    Example: uncone cache
    """
    from uncone.data.cache import VectorCache

    store, model = VectorCache(), options.model
    if options.clear:
        removed = store.clear(model)
        if model is not None and not removed:
            models = sorted({entry.model for entry in store.entries()})
            raise OptionError(f"Nothing of {model} is cached. Cached models: {', '.join(models) or 'none'}.")
        say(_json(store, removed, "cleared") if options.json else _cleared(removed, store))
        return 0
    entries = store.entries()
    say(_json(store, entries, "entries") if options.json else rendered(partial(_draw, entries, store), []))
    return 0


def _draw(entries: Sequence[Entry], store: VectorCache, console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    if entries:
        table = Table(box=None, padding=(0, 2, 0, 0))
        table.add_column("model", overflow="fold")
        for name in ("layer", "pooling"):
            table.add_column(name)
        for name in ("texts", "size"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("last used", no_wrap=True)
        for entry in entries:
            cells = (entry.model, entry.layer, entry.pooling, f"{entry.rows:,}", _size(entry.bytes), _when(entry.used))
            table.add_row(*map(Text, cells))
        console.print(table)
    total = sum(entry.bytes for entry in entries)
    line = (
        f"{_size(total)} of at most {_size(store.limit)} in {store.folder}"
        if entries
        else f"Nothing is cached in {store.folder}"
    )
    console.print(line, soft_wrap=True, highlight=False, markup=False)


def _cleared(removed: Sequence[Entry], store: VectorCache) -> str:
    if not removed:
        return f"Nothing was cached in {store.folder}\n"
    texts, size = sum(entry.rows for entry in removed), _size(sum(entry.bytes for entry in removed))
    models = ", ".join(sorted({entry.model for entry in removed}))
    return f"Cleared {texts:,} texts of {models}: {size} freed in {store.folder}\n"


def _json(store: VectorCache, entries: Sequence[Entry], name: str) -> str:
    total = sum(entry.bytes for entry in entries)
    values: dict[str, object] = {"folder": str(store.folder), "limit": store.limit, "bytes": total}
    values[name] = [asdict(entry) for entry in entries]
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def _size(size: int) -> str:
    """Bytes for a reader.

    >>> _size(512), _size(5 << 30)
    ('512 B', '5.0 GB')
    """
    number, unit = float(size), "B"
    for larger in ("KB", "MB", "GB", "TB"):
        if number < 1024:
            break
        number, unit = number / 1024, larger
    return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"


def _when(timestamp: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(timestamp)) if timestamp else "-"
