"""How a sentence-transformers folder makes one vector of a text: its modules, as far as we do them ourselves."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uncone.errors import ModelError

__all__ = ["Recipe", "read_recipe"]

_MODES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "last",
}
_NAMES = {"cls": "cls", "mean": "mean", "max": "max", "lasttoken": "last", "last": "last"}


@dataclass(frozen=True)
class Recipe:
    """Pooling, whether vectors are normalised at the end, and the tokens it takes of a text.

    `others` are modules beyond these, for which the sentence-transformers package itself is needed.
    """

    pooling: str = "mean"
    normalize: bool = False
    longest: int | None = None
    others: tuple[str, ...] = ()


def read_recipe(folder: Path) -> Recipe | None:
    """The recipe of a folder; None when it is a plain model.

    Raises:
        ModelError: its modules.json cannot be read.
    """
    if not (folder / "modules.json").is_file():
        return None
    try:
        modules = [(one["type"].rsplit(".", 1)[-1], folder / one["path"]) for one in _read(folder / "modules.json")]
        pooling, others = "mean", []
        for kind, place in modules:
            if kind == "Pooling":
                chosen = _pooling(_read(place / "config.json"))
                pooling = chosen or pooling
                others += [] if chosen else ["Pooling"]
            elif kind not in ("Transformer", "Normalize"):
                others.append(kind)
        settings = folder / "sentence_bert_config.json"
        longest = _read(settings).get("max_seq_length") if settings.is_file() else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            f"{folder / 'modules.json'} does not describe a sentence-transformers model ({error})."
        ) from error
    return Recipe(pooling, any(kind == "Normalize" for kind, _ in modules), longest, tuple(others))


def _pooling(config: dict[str, Any]) -> str | None:
    named = config.get("pooling_mode")
    if isinstance(named, str):
        return _NAMES.get(named)
    chosen = [key for key, wanted in config.items() if key.startswith("pooling_mode_") and wanted is True]
    return _MODES.get(chosen[0]) if len(chosen) == 1 else None


def _read(path: Path) -> Any:  # noqa: ANN401 - JSON
    return json.loads(path.read_text(encoding="utf-8"))
