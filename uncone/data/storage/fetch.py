"""Folders of object storage on this machine, for what reads only local files, such as a language model."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from uncone.data.cache import cache_folder
from uncone.data.storage.path import ObjectPath, on_network
from uncone.data.writing.atomic import replacing
from uncone.errors import MissingModelError

__all__ = ["fetched"]


def fetched(folder: ObjectPath) -> Path:
    """A copy of the folder of a model in the cache; it is fetched again when an object has changed.

    Raises:
        MissingModelError: there is no such folder.
    """
    files = (folder / "**").matches()
    if not files:
        raise MissingModelError(f"There is no model folder {folder}. Check the path.")
    names = [str(file).removeprefix(f"{folder}/") for file in files]
    stamps = [(name, *stamp) for name, stamp in zip(names, on_network(ObjectPath.stamp, files), strict=True)]
    key = hashlib.sha256(json.dumps([str(folder), stamps]).encode()).hexdigest()[:32]
    copy = cache_folder() / "fetched" / key
    if copy.is_dir():
        return copy
    copy.parent.mkdir(parents=True, exist_ok=True)
    with replacing(copy, folder=True) as temporary:
        for name, file in zip(names, files, strict=True):
            (temporary / name).parent.mkdir(parents=True, exist_ok=True)
            with file.open("rb") as source, (temporary / name).open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 23)
    return copy
