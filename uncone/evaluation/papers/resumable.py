"""The suite part by part, each kept in a folder: a run that was interrupted goes on where it stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from uncone import __version__
from uncone.data.storage.path import path_of
from uncone.data.writing.atomic import write_all
from uncone.data.writing.manifest import versions
from uncone.data.writing.plain_values import plain_values
from uncone.encoders.open import Loading, model_folder, open_encoder
from uncone.encoders.sentence_transformer import read_recipe
from uncone.errors import OutputError
from uncone.evaluation.papers import suite
from uncone.evaluation.papers.suite import Figure
from uncone.evaluation.spaces import Settings

__all__ = ["SuiteFigures", "measure_parts"]

_PARTS = "parts"
"""The folder of the parts, inside that of the tables."""


@dataclass(frozen=True)
class SuiteFigures:
    """The figures of all parts, the sentence model of the supervised ones, and the parts of an earlier run."""

    figures: list[Figure]
    supervised: str | None
    resumed: list[str]
    provenance: dict[str, Any]


def measure_parts(
    model: str | os.PathLike[str],
    supervised: str | os.PathLike[str] | None,
    folder: Path,
    settings: Settings,
    limit: int | None = None,
) -> SuiteFigures:
    """Measure every part that `folder` does not hold yet, for the same models and settings.

    The supervised tables are those of `supervised`, or of the model itself if it is a sentence model.

    Raises:
        OutputError: the folder cannot be made.
    """
    loading = settings.loading or Loading()
    name, second = os.fspath(model), None if supervised is None else os.fspath(supervised)
    if second is None and read_recipe(model_folder(name, loading)) is not None:
        second = name
    encoder = open_encoder(name, loading)
    sentence_encoder = encoder if second in (None, name) else open_encoder(second, loading)
    try:
        (folder / _PARTS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"The folder {folder} cannot be created: {error.strerror}. Name another with --out."
        ) from error
    shared = _shared_mark(settings, limit)
    figures, resumed = [], []
    parts = suite.parts(supervised=second is not None)
    for part in parts:
        own = sentence_encoder if part.supervised else encoder
        mark = json.loads(json.dumps({**shared, "model": own.fingerprint(), "part": asdict(part)}))  # as it is read
        path = folder / _PARTS / f"{part.name}.json"
        results = _earlier_figures(path, mark)
        if results is None:
            # A sentence model is opened by its name, which brings its own recipe of pooling.
            source = second if part.supervised and second is not None else encoder
            results = suite.run(part, source, own.dim, settings, limit)
            values = plain_values({"made_as": mark, "figures": [asdict(figure) for figure in results]}, otherwise=str)
            write_all({path: json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False) + "\n"})
        else:
            resumed.append(part.name)
        figures += results
        settings.report("parts", 1, len(parts))
    stated = {name: value for name, value in shared.items() if value not in ("", None)}
    return SuiteFigures(figures, second, resumed, {"fingerprint": encoder.fingerprint(), **stated, **versions()})


def _shared_mark(settings: Settings, limit: int | None) -> dict[str, Any]:
    """The settings that all numbers depend on; texts to fit on stand by their hash."""
    fit_on = settings.fit_on
    if not isinstance(fit_on, str | os.PathLike):
        fit_on = sha256("\n".join(fit_on).encode(errors="replace")).hexdigest()
    elif path_of(fit_on).is_file():
        fit_on = f"{fit_on} {sha256(path_of(fit_on).read_bytes()).hexdigest()}"
    dtype = "" if settings.loading is None else str(settings.loading.dtype)
    own = {name: getattr(settings, name) for name in ("prompt", "replicates", "seed")}
    return {"fit_on": str(fit_on), "dtype": dtype, "limit": limit, **own, "uncone": __version__}


def _earlier_figures(path: Path, mark: Mapping[str, Any]) -> list[Figure] | None:
    """The figures of a part that was made with the same settings; None if there are none."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return [Figure.from_dict(each) for each in values["figures"]] if values["made_as"] == mark else None
    except (OSError, ValueError, KeyError, TypeError):  # damaged, or of another version: it is made again
        return None
