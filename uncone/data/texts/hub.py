"""Texts of datasets on the Hugging Face hub, or in its local cache; quiet, and quick to give up without a network."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from uncone.data.tables.fields import clipped
from uncone.data.texts.texts import TextRow, TextSource
from uncone.errors import MissingPackageError, SourceError, require

__all__ = ["HubPart", "HubTexts"]

_PATIENCE = 5.0  # seconds for the hub to answer at all
_LOUD = ("datasets", "huggingface_hub", "filelock", "fsspec", "httpx", "urllib3")


class HubPart(NamedTuple):
    """One split of a dataset on the hub."""

    path: str
    split: str
    config: str | None = None
    revision: str | None = None


class HubTexts(TextSource):
    """Columns of datasets that follow each other; rows whose `label` column is -1 can be left out.

    Raises:
        SourceError: the hub or a dataset is out of reach; the message is a clause that says why.
    """

    kind = "corpus"

    def __init__(self, name: str, parts: Sequence[HubPart], columns: Sequence[str], *, labeled: bool = False) -> None:
        self.name = name
        self.columns = columns
        self.labeled = labeled
        self.tables = _load(parts)
        required = [*columns, *(["label"] if labeled else [])]
        for part, table in zip(parts, self.tables, strict=True):
            missing = [column for column in required if column not in table.column_names]
            if missing:
                raise SourceError(f"{part.path} on the Hugging Face hub no longer has a column {missing[0]!r}")

    def read(self) -> Iterator[TextRow]:
        row = 0
        for batch in (batch for table in self.tables for batch in table.iter(batch_size=1000)):
            for place, texts in enumerate(zip(*(batch[column] for column in self.columns), strict=True)):
                if self.labeled and batch["label"][place] == -1:
                    continue
                for text in texts:
                    yield row, (text or "").removesuffix("\n"), None
                    row += 1


def _load(parts: Sequence[HubPart]) -> list[Any]:
    try:
        require("datasets", extra="models")
    except MissingPackageError as error:
        raise SourceError(f"the Hugging Face hub could not be queried ({error})") from error
    import datasets

    with _quiet():
        unreachable = _why_unreachable()
        # Offline, the cache answers at once, where each request would be repeated for half a minute.
        with _offline(unreachable is not None):
            tables = []
            for path, split, config, revision in parts:
                try:
                    tables.append(datasets.load_dataset(path, config, split=split, revision=revision))
                except Exception as error:  # what the packages of the hub raise differs between versions
                    if unreachable is not None:
                        raise SourceError(f"the Hugging Face hub could not be reached ({unreachable})") from error
                    raise SourceError(f"the Hugging Face hub did not return {path} ({_short(error)})") from error
    return tables


def _why_unreachable() -> str | None:
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=_PATIENCE)
    except Exception as error:  # the HTTP package of the hub, and its errors, differ between versions
        return _short(error)
    return None


def _short(error: Exception) -> str:
    reason = re.sub(r"^\[Errno -?\d+\] ", "", " ".join(str(error).split()))
    return clipped(reason or type(error).__name__, 100).rstrip(".")


@contextmanager
def _offline(enabled: bool) -> Iterator[None]:
    import datasets.config
    from huggingface_hub import constants

    before = datasets.config.HF_HUB_OFFLINE, constants.HF_HUB_OFFLINE
    if enabled:
        datasets.config.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        datasets.config.HF_HUB_OFFLINE, constants.HF_HUB_OFFLINE = before


@contextmanager
def _quiet() -> Iterator[None]:
    """No logs, no warnings and no progress bars of the hub's packages meanwhile."""
    import datasets
    from huggingface_hub import utils as hub

    levels = {name: logging.getLogger(name).level for name in _LOUD}
    active_bars = [bars for bars in (datasets, hub) if not bars.are_progress_bars_disabled()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for name in _LOUD:
                logging.getLogger(name).setLevel(logging.CRITICAL)
            for bars in active_bars:
                bars.disable_progress_bars()
            yield
        finally:
            for bars in active_bars:
                bars.enable_progress_bars()
            for name, level in levels.items():
                logging.getLogger(name).setLevel(level)
