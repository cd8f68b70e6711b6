"""The models of a study side by side: the checkpoints of each, and the same architecture with random weights."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from uncone.encoders.open import check_fresh
from uncone.errors import MissingModelError, OptionError
from uncone.verbs.options.layers import LayersOptions

__all__ = ["Variant", "model_variants"]

_LISTED = 6
"""Subfolders that a message names."""


@dataclass(frozen=True)
class Variant:
    """A model to measure, the options that differ for it, and the name of the checkpoint if it is one of several."""

    model: Any
    options: dict[str, Any] = field(default_factory=dict)
    revision: str = ""


def model_variants(models: Sequence[Any], options: LayersOptions) -> list[Variant]:
    """Each model, or its checkpoints in the order of `--revisions`; each followed by its random control.

    Raises:
        OptionError: checkpoints of what has none.
        MissingModelError: a folder has no such checkpoint.
    """
    variants: list[Variant] = []
    for model in models:
        own = list(_checkpoints(model, options.revisions)) if options.revisions else [Variant(model)]
        variants += own
        if options.control is not None:
            check_fresh(
                own[0].model, replace(options.loading, revision=own[0].options.get("revision", options.revision))
            )
            # All checkpoints have the same architecture, so one control serves all.
            variants.append(Variant(own[0].model, {**own[0].options, "model_name": None, "fresh": options.seed}))
    return variants


def _checkpoints(model: Any, revisions: Sequence[str]) -> Iterator[Variant]:  # noqa: ANN401 - as `layers` takes it
    if not isinstance(model, str | os.PathLike):
        raise OptionError("--revisions needs a folder or a name on the hub; this model is in memory. Name them apart.")
    name = os.fspath(model)
    if os.path.isfile(name):  # noqa: PTH113 - unlike pathlib's, it does not raise for a name that cannot be
        raise OptionError(
            f"{name} is a file, which has no checkpoints: leave --revisions out, or name the files apart."
        )
    is_folder = os.path.isdir(name)  # noqa: PTH112
    for revision in revisions:
        if is_folder:
            _check_folder(Path(name), revision)
            yield Variant(Path(name, revision).as_posix(), revision=revision)
        else:
            yield Variant(model, {"revision": revision, "model_name": f"{name}@{revision}"}, revision)


def _check_folder(folder: Path, revision: str) -> None:
    """Refuse a checkpoint that is no subfolder with a model."""
    if ".." in Path(revision).parts or Path(revision).is_absolute():
        raise OptionError(f"--revisions names subfolders of {folder}, such as checkpoint-100, not {revision!r}.")
    if (folder / revision / "config.json").is_file():
        return
    present = sorted(path.parent.name for path in folder.glob("*/config.json"))
    listed = ", ".join(present[:_LISTED]) + (", …" if len(present) > _LISTED else "")
    hint = f"It has {listed}." if present else "It has no subfolder with a config.json."
    raise MissingModelError(f"The folder {folder} has no checkpoint {revision!r}. {hint}")
