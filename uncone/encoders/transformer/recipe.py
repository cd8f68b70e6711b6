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
    """Where the transformer lies, pooling, whether vectors are normalized, the tokens it takes of a text, its prompt.

    `others` are modules and settings beyond these, for which the sentence-transformers package itself is needed.
    """

    transformer: Path
    pooling: str = "mean"
    normalize: bool = False
    longest: int | None = None
    prompt: str = ""
    others: tuple[str, ...] = ()


def read_recipe(folder: Path) -> Recipe | None:
    """The recipe of a folder; None when it is a plain model.

    Raises:
        ModelError: its modules.json cannot be read.
    """
    if not (folder / "modules.json").is_file():
        return None
    try:
        modules = [(one["type"].strip(), folder / one["path"]) for one in _read(folder / "modules.json")]
        pooling, others, transformer = "mean", [], folder
        for kind, place in modules:
            name = kind.rsplit(".", 1)[-1] if kind.startswith("sentence_transformers.") else kind
            if name == "Pooling":
                config = _read(place / "config.json")
                pooling = _pooling(config) or pooling
                others += [] if _pooling(config) and config.get("include_prompt", True) else ["Pooling"]
            elif name == "Transformer":
                transformer = place
            elif name != "Normalize":
                others.append(name)
        longest = _optional(transformer / "sentence_bert_config.json").get("max_seq_length")
        settings = _optional(folder / "config_sentence_transformers.json")
        prompt = (settings.get("prompts") or {}).get(settings.get("default_prompt_name") or "", "")
        normal = any(kind.endswith(".Normalize") for kind, _ in modules)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            f"{folder / 'modules.json'} does not describe a sentence-transformers model ({error})."
        ) from error
    return Recipe(transformer, pooling, normal, longest, prompt, tuple(others))


def _optional(path: Path) -> dict[str, Any]:
    return dict(_read(path)) if path.is_file() else {}


def _pooling(config: dict[str, Any]) -> str | None:
    named = config.get("pooling_mode")
    if isinstance(named, str):
        return _NAMES.get(named)
    chosen = [key for key, wanted in config.items() if key.startswith("pooling_mode_") and wanted is True]
    return _MODES.get(chosen[0]) if len(chosen) == 1 else None


def _read(path: Path) -> Any:  # noqa: ANN401 - JSON
    return json.loads(path.read_text(encoding="utf-8"))
