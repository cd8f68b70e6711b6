"""The vectors of a model that a repair was fitted on: layer, pooling and level, which an export reproduces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uncone.encoders.rows.rows import LEVELS, POOLINGS
from uncone.encoders.sentence_transformer import Recipe, read_recipe
from uncone.errors import ExportError

__all__ = ["VectorSpec", "Vectors", "vectors_of"]

_OWN = ("all modules", "its own")  # how a whole sentence-transformers pipeline is recorded


@dataclass(frozen=True)
class VectorSpec:
    """Layer, pooling and level; None stands for the model's own recipe: its last layer and its pooling.

    `normalize` says that the model's own vectors are brought to length one; `prompt` stands before a text. `level`
    "token": the repair was fitted on the vectors of tokens, the special ones left out, and pooled afterwards.
    """

    layer: str | int | None = None
    pooling: str | None = None
    level: str = "sentence"
    normalize: bool | None = None
    prompt: str | None = None

    def __post_init__(self) -> None:
        if self.pooling is not None and self.pooling not in POOLINGS:
            raise ExportError(f"There is no pooling {self.pooling!r}; choose from {', '.join(POOLINGS)}.")
        if self.level not in LEVELS:
            raise ExportError(f"There is no level {self.level!r}; choose from {' and '.join(LEVELS)}.")

    @classmethod
    def of(
        cls,
        provenance: Mapping[str, Any] | None,
        *,
        layer: str | int | None = None,
        pooling: str | None = None,
        level: str | None = None,
    ) -> VectorSpec:
        """The spec in the provenance of a saved repair, overridden by the arguments."""
        metadata = provenance or {}
        return cls(
            layer if layer is not None else _layer(_saved_value(metadata.get("layer"))),
            pooling if pooling is not None else _saved_value(metadata.get("pooling")),
            level or metadata.get("level") or "sentence",
            metadata.get("normalize"),
            metadata.get("prompt"),
        )


@dataclass(frozen=True)
class Vectors:
    """A spec resolved for one model: the folder of its transformer, the averaged layers (None: the last), the rest.

    `own` says that all modules of a sentence-transformers folder are kept, its normalization too; `others` are those
    beyond a transformer, a pooling and a normalization. At token level `normalize` comes after repair and pooling.
    """

    transformer: Path
    layers: tuple[int, ...] | None
    pooling: str
    level: str
    normalize: bool
    own: bool
    prompt: str = ""
    others: tuple[str, ...] = ()


def vectors_of(model: Path, spec: VectorSpec) -> Vectors:
    """The spec resolved for a model folder.

    Raises:
        ExportError: there is no such folder, or it holds no model.
    """
    if not model.is_dir():
        raise ExportError(f"There is no model folder {model}: an export needs the model's files here.")
    recipe = read_recipe(model)
    plain = Recipe(model) if recipe is None else recipe
    if not (plain.transformer / "config.json").is_file():
        raise ExportError(f"The folder {model} has no config.json, so it is no model; name the folder that holds one.")
    default = recipe is not None and spec.layer is None and spec.pooling is None
    own = default and spec.level == "sentence" and spec.normalize in (None, plain.normalize)
    pooling = spec.pooling or (plain.pooling if spec.layer is None else "mean")
    return Vectors(
        plain.transformer,
        _numbers(spec.layer),
        pooling,
        spec.level,
        normalize=default and plain.normalize if spec.normalize is None else spec.normalize,
        own=own,
        prompt=(plain.prompt if default else "") if spec.prompt is None else spec.prompt,
        others=plain.others if own else (),
    )


def _saved_value(value: Any) -> Any:  # noqa: ANN401 - whatever the JSON holds
    return None if value in _OWN else value


def _layer(value: Any) -> str | int | None:  # noqa: ANN401 - whatever the JSON holds
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else value


def _numbers(layer: str | int | None) -> tuple[int, ...] | None:
    if layer is None:
        return None
    try:
        return tuple(int(part) for part in str(layer).split(","))
    except ValueError as error:
        raise ExportError(f"A layer is a number such as 12, -1 or 1,-1, not {layer!r}.") from error
